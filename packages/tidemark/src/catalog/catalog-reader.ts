/**
 * What the planner may ask of the catalog: one immutable snapshot, names to items, items to shapes.
 * The durable catalog, the builtins and tests implement it.
 */
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import type { RelationDesc } from '../repr/types.ts';
import type { Query } from '../sql/ast.ts';
import type { RefreshSchedule } from '../time/refresh-schedule.ts';

export interface QualifiedName {
  /** Null for the system schemas, which belong to every database. */
  readonly database: string | null;
  readonly schema: string;
  readonly item: string;
}

interface ItemBase {
  readonly id: GlobalId;
  readonly oid: number;
  readonly name: QualifiedName;
  /** Normalised: every name written out. Empty for builtins. */
  readonly createSql: string;
  readonly dependsOn: readonly GlobalId[];
  /** For a session's own temporary objects. */
  readonly temporaryFor?: number;
}

/** Columns, and what a read of it touches. */
export interface RelationItem extends ItemBase {
  /**
   * - `table`: rows by INSERT; `source`: rows from outside; both are shards
   * - `builtin-table`: catalog and controller relations, shards that the environment writes
   * - `view`: inlined; `materialized-view`: a shard
   * - `log`: a per-replica log relation, read through the index that each replica maintains; it has no shard
   */
  readonly kind: 'table' | 'source' | 'builtin-table' | 'view' | 'materialized-view' | 'log';
  readonly desc: RelationDesc;
  /** view and materialized-view. */
  readonly query?: Query;
  /** Tables: the default of each column as an expression over no input, null for NULL. */
  readonly defaults?: readonly (ScalarExpr | null)[];
  /** Their text, where there is one. */
  readonly defaultSql?: readonly (string | null)[];
  /** materialized-view. */
  readonly cluster?: ClusterId;
  /** materialized-view: when it refreshes; absent: on each commit. */
  readonly refresh?: RefreshSchedule;
  /** materialized-view: the one whose place it is to take; until then it has no rows of its own to read. */
  readonly replaces?: GlobalId;
}

export interface IndexItem extends ItemBase {
  readonly kind: 'index';
  readonly on: GlobalId;
  readonly cluster: ClusterId;
  /** Over the columns of `on`. A plain column list is what a Get can use as an arrangement. */
  readonly keys: readonly ScalarExpr[];
  /** Whether each key may be NULL. */
  readonly keysNullable: readonly boolean[];
}

export interface SinkItem extends ItemBase {
  readonly kind: 'sink';
  readonly into: 'metrics';
  readonly from: GlobalId;
  readonly cluster: ClusterId;
}

export type CatalogItem = RelationItem | IndexItem | SinkItem;
export interface ReplicaEntry {
  readonly id: ReplicaId;
  readonly name: string;
  readonly workers: number;
  readonly size: string;
  /** Whether introspection is on. */
  readonly logs: boolean;
}

export interface ClusterEntry {
  readonly id: ClusterId;
  readonly name: string;
  readonly replicas: readonly ReplicaEntry[];
}

/** How a session resolves names. */
export interface NameContext {
  readonly database: string;
  readonly searchPath: readonly string[];
  readonly sessionId?: number;
}

export interface CatalogReader {
  /** By 1 to 3 name parts. Undefined when nothing has that name (an unknown schema or database too). */
  resolve(parts: readonly string[], context: NameContext): CatalogItem | undefined;
  /** Whether a schema of that name is there; for error messages that name what is missing. */
  hasSchema(parts: readonly string[], context: NameContext): boolean;
  /** What `'name'::regnamespace` is. */
  schemaOid(parts: readonly string[], context: NameContext): number | undefined;
  item(id: GlobalId): CatalogItem | undefined;
  /** What maintains an object: itself, unless it was replaced. */
  exportOf(id: GlobalId): GlobalId;
  indexesOn(id: GlobalId): readonly IndexItem[];
  items(): Iterable<CatalogItem>;
  cluster(name: string): ClusterEntry | undefined;
  clusterById(id: ClusterId): ClusterEntry | undefined;
  clusters(): Iterable<ClusterEntry>;
}

export const isRelation = (item: CatalogItem): item is RelationItem =>
  item.kind !== 'index' && item.kind !== 'sink';
