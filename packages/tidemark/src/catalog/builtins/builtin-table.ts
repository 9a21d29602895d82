/** How a catalog table is declared: one literal, with how each kind of thing becomes rows of it. */

import type { GlobalId } from '../../base/ids.ts';
import { systemOid } from '../../base/ids.ts';
import type { TypeName } from '../../repr/types.ts';
import type {
  ClusterEntity,
  CommentEntity,
  DatabaseEntity,
  LoadedItem,
  ReplicaEntity,
  SchemaEntity,
} from '../entities.ts';
import { type BuiltinBase, type BuiltinRow, keyOf, type SystemSchema } from './declare.ts';

/** What a builtin relation says about itself; empty texts are no comments. */
export interface BuiltinDoc {
  readonly id: GlobalId;
  readonly oid: number;
  readonly objectType: string;
  readonly doc: string;
  readonly columns: readonly string[];
}

/** Comments as `[sub id, text]`; NULL: of the relation itself. */
export function* commentsOf(d: BuiltinDoc): Iterable<readonly [column: number | null, comment: string]> {
  if (d.doc !== '') yield [null, d.doc];
  for (const [i, doc] of d.columns.entries()) if (doc !== '') yield [i + 1, doc];
}

/** What rows are made of, by kind. */
export interface RowSources {
  readonly database: DatabaseEntity;
  readonly schema: SchemaEntity;
  readonly cluster: ClusterEntity;
  readonly replica: ReplicaEntity;
  readonly item: LoadedItem;
  readonly comment: CommentEntity;
  readonly type: TypeName;
  /** Once, at start: what the engine itself is made of. */
  readonly engine: null;
  readonly builtin: BuiltinDoc;
}

export type RowSourceKind = keyof RowSources;

export interface BuiltinTable extends BuiltinBase {
  readonly rows: { readonly [K in RowSourceKind]?: (source: RowSources[K]) => readonly BuiltinRow[] };
  /**
   * Where its rows come from. `derived`: from what the catalog holds, in memory, anew at each start. `live`: from controllers, about
   * the present, in memory. `durable`: from the history, in a shard that outlives the environment.
   */
  readonly kept: 'derived' | 'live' | 'durable';
}

type Spec = Omit<BuiltinTable, 'oid' | 'keys' | 'kept' | 'rows' | 'schema'> & {
  readonly schema?: SystemSchema;
  readonly key?: readonly string[];
  readonly rows?: BuiltinTable['rows'];
  readonly durable?: true;
};

export function table({ key, schema = 'mz_catalog', rows, durable, ...rest }: Spec): BuiltinTable {
  return {
    ...rest,
    schema,
    oid: systemOid(rest.number),
    rows: rows ?? {},
    keys: keyOf(rest.columns, key),
    kept: durable === true ? 'durable' : rows === undefined ? 'live' : 'derived',
  };
}
