/** What each builtin relation and its columns mean, as they were declared: the comments that `\d+` and `mz_comments` show. */
import { systemId } from '../../base/ids.ts';
import { LOG_NAMES, LOG_RELATIONS } from '../../introspection/relations.ts';
import type { BuiltinDoc } from './builtin-table.ts';
import { BUILTIN_VIEWS } from './builtins.ts';
import { BUILTIN_TABLES } from './tables.ts';

interface Documented extends Pick<BuiltinDoc, 'oid' | 'doc'> {
  readonly number: number;
  readonly columns: readonly { readonly doc: string }[];
}

const docOf =
  (objectType: string) =>
  ({ number, oid, doc, columns }: Documented): BuiltinDoc => ({
    id: systemId(number),
    oid,
    objectType,
    doc,
    columns: columns.map((c) => c.doc),
  });

export function builtinDocs(): readonly BuiltinDoc[] {
  return [
    ...LOG_NAMES.map((name) => docOf('source')(LOG_RELATIONS[name])),
    ...BUILTIN_TABLES.map(docOf('table')),
    ...BUILTIN_VIEWS.map(docOf('view')),
  ];
}
