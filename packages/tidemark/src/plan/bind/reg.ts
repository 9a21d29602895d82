/** `'name'::regclass` and its family: the name is looked up while planning, the value is an OID. */
import { SqlError } from '../../base/error.ts';
import { functionOids } from '../../catalog/builtins/engine-rows.ts';
import { SqlArray } from '../../repr/array.ts';
import { parseText } from '../../repr/format.ts';
import { arrayOf, oidOf, type SqlType, type } from '../../repr/types.ts';
import { parseTypeName } from '../../sql/parse.ts';
import type { HExpr } from '../hir.ts';
import { type BindContext, missingRelation } from './context.ts';
import { resolveType } from './types.ts';

/** The literal's OID, or undefined for another type than these. */
export function regLiteral(context: BindContext, text: string, to: SqlType, pos: number): HExpr | undefined {
  if (to.name === 'array' && to.elem!.name.startsWith('reg')) {
    const names = parseText(arrayOf(type('text')), text) as SqlArray;
    const oids = names.items.map((n) => (n === null ? null : regOid(context, n as string, to.elem!, pos)));
    return { kind: 'literal', value: new SqlArray(names.dims, names.lowers, oids), type: to };
  }
  if (!to.name.startsWith('reg')) return undefined;
  return { kind: 'literal', value: regOid(context, text, to, pos), type: type(to.name) };
}

function regOid(context: BindContext, text: string, to: SqlType, pos: number): number {
  if (/^\d+$/.test(text)) return Number(text);
  if (text === '-') return 0;
  if (to.name === 'regtype') return oidOf(namedType(text, pos));
  const parts = splitName(text, pos);
  if (to.name === 'regclass') {
    const item = context.options.catalog.resolve(parts, context.options.names);
    if (item === undefined) throw missingRelation([parts.join('.')], pos + 1);
    return item.oid;
  }
  const name = parts[parts.length - 1];
  if (to.name === 'regproc') {
    const [oid, another] = functionOids(name);
    if (oid === undefined)
      throw new SqlError('undefined_function', `function "${text}" does not exist`, { position: pos + 1 });
    if (another !== undefined)
      throw new SqlError('ambiguous_function', `more than one function named "${text}"`, {
        position: pos + 1,
      });
    return oid;
  }
  const schema = context.options.catalog.schemaOid(parts, context.options.names);
  if (schema === undefined)
    throw new SqlError('invalid_schema_name', `schema "${text}" does not exist`, { position: pos + 1 });
  return schema;
}

/** As a type is written: `int`, `pg_catalog.text`, `numeric(10,2)[]`. */
function namedType(text: string, pos: number): SqlType {
  try {
    return resolveType(parseTypeName(text));
  } catch {
    throw new SqlError('undefined_object', `type "${text}" does not exist`, { position: pos + 1 });
  }
}

/** `a."B c".d` into its parts, unquoted ones folded. */
function splitName(text: string, pos: number): readonly string[] {
  const parts: string[] = [];
  const pattern = /\s*(?:"((?:[^"]|"")+)"|([\p{L}_][\p{L}\p{N}_$]*))\s*(\.|$)/uy;
  for (;;) {
    const m = pattern.exec(text);
    if (m === null) throw new SqlError('invalid_name', 'invalid name syntax', { position: pos + 1 });
    parts.push(m[1] === undefined ? m[2].toLowerCase() : m[1].replaceAll('""', '"'));
    if (m[3] === '') return parts;
  }
}
