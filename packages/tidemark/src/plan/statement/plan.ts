/**
 * What a statement is after planning: data for the adapter, which alone knows time, storage and sessions. Names are
 * resolved as far as the catalog's snapshot tells; what is created carries its normalised SQL.
 */
import type { ClusterId, GlobalId } from '../../base/ids.ts';
import type { QualifiedName } from '../../catalog/catalog-reader.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import type { ColumnDesc, RelationDesc, SqlType } from '../../repr/types.ts';
import type { ObjectType, Query } from '../../sql/ast.ts';
import type {
  PreparableStatement,
  SourceOrigin,
  SourceTables,
  TransactionModes,
} from '../../sql/ast-statement.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { PlanOptions, QueryPlan } from '../plan-query.ts';

/** What planning a statement may know. */
export interface StatementContext extends PlanOptions {
  /** The session's cluster, where it exists. */
  readonly cluster: ClusterId | undefined;
}

/** A value of an option as written: a word or string, a number, a boolean, a list. */
export type OptionDatum =
  | string
  | number
  | boolean
  | readonly OptionDatum[]
  | { readonly secret: string }
  | null;
/** By option name, in lower case. */
export type Options = Readonly<Record<string, OptionDatum>>;

/** `creation`: the time that a view's contents begin at. */
export type RefreshTime = Timestamp | 'creation';

/** A refresh schedule whose beginning is still to be chosen. */
export interface RefreshPlan {
  readonly every: readonly { readonly intervalMs: number; readonly alignedTo: RefreshTime }[];
  readonly at: readonly RefreshTime[];
}

export interface AsOfPlan {
  /** A constant of type mz_timestamp. */
  readonly time: ScalarExpr;
  readonly atLeast: boolean;
}

/** Over the columns of the row inserted, updated (new) or deleted (old). */
export interface ReturningPlan {
  readonly exprs: readonly ScalarExpr[];
  readonly desc: RelationDesc;
}

export interface InsertPlan {
  readonly kind: 'insert';
  readonly target: GlobalId;
  /** Whole rows of the target's columns, defaults filled in. */
  readonly source: QueryPlan;
  /** Columns that must not be NULL: null_value_not_allowed is the adapter's to raise, with the row. */
  readonly notNull: readonly number[];
  readonly returning: ReturningPlan | undefined;
}
export interface UpdatePlan {
  readonly kind: 'update';
  readonly target: GlobalId;
  /** The old row's columns, then the new row's. */
  readonly read: QueryPlan;
  readonly arity: number;
  readonly notNull: readonly number[];
  readonly returning: ReturningPlan | undefined;
}
export interface DeletePlan {
  readonly kind: 'delete';
  readonly target: GlobalId;
  /** The rows to delete. */
  readonly read: QueryPlan;
  readonly returning: ReturningPlan | undefined;
}

export interface SubscribePlan {
  readonly kind: 'subscribe';
  /** Maintained; of a named relation it reads that relation whole. */
  readonly query: QueryPlan;
  /** The relation, where one is named. */
  readonly from: GlobalId | undefined;
  readonly snapshot: boolean;
  readonly progress: boolean;
  readonly asOf: AsOfPlan | undefined;
  readonly upTo: ScalarExpr | undefined;
  readonly output:
    | { readonly kind: 'diffs' }
    | { readonly kind: 'upsert'; readonly key: readonly number[] }
    /** Within a timestamp; the column after the query's last one is mz_diff. */
    | { readonly kind: 'ordered'; readonly orderBy: QueryPlan['finishing']['orderBy'] };
  /** What comes back: the time, what happened, and the query's columns; of an upsert the key's first. */
  readonly desc: RelationDesc;
}

/** COPY (SUBSCRIBE …) TO STDOUT. */
export interface CopySubscribePlan {
  readonly kind: 'copySubscribe';
  readonly plan: SubscribePlan;
  readonly options: Options;
}

export interface ReplicaPlan {
  readonly name: string;
  readonly options: Options;
}

interface Creates {
  readonly name: QualifiedName;
  readonly ifNotExists: boolean;
  /** Every name written out. */
  readonly createSql: string;
  readonly dependsOn: readonly GlobalId[];
}

export type CreatePlan =
  | (Creates & {
      readonly kind: 'createTable';
      readonly temporary: boolean;
      readonly desc: RelationDesc;
      readonly defaults: readonly (ScalarExpr | null)[];
      readonly defaultSql: readonly (string | null)[];
      readonly options: Options;
    })
  | (Creates & {
      readonly kind: 'createView';
      readonly temporary: boolean;
      readonly orReplace: boolean;
      /** Normalised. */
      readonly query: Query;
      readonly desc: RelationDesc;
    })
  | (Creates & {
      readonly kind: 'createMaterializedView';
      readonly orReplace: boolean;
      readonly query: Query;
      readonly plan: QueryPlan;
      readonly desc: RelationDesc;
      readonly cluster: ClusterId;
      /** Null: on each commit. */
      readonly refresh: RefreshPlan | null;
      readonly options: Options;
      readonly asOf: AsOfPlan | undefined;
      readonly replaces: GlobalId | undefined;
    })
  | (Creates & {
      readonly kind: 'createIndex';
      readonly on: GlobalId;
      readonly cluster: ClusterId;
      readonly keys: readonly ScalarExpr[];
      readonly keysNullable: readonly boolean[];
      readonly options: Options;
    })
  | (Creates & {
      readonly kind: 'createSource';
      readonly cluster: ClusterId | undefined;
      readonly columns: readonly ColumnDesc[];
      readonly from: SourceOrigin;
      readonly originOptions: Options;
      readonly tables: SourceTables | undefined;
      readonly options: Options;
    })
  | (Creates & {
      readonly kind: 'createSink';
      readonly from: GlobalId;
      readonly cluster: ClusterId;
      readonly into: 'metrics';
      readonly intoOptions: Options;
      readonly options: Options;
    })
  | (Creates & {
      readonly kind: 'createConnection';
      readonly connectionType: string;
      readonly options: Options;
    })
  | (Creates & { readonly kind: 'createSecret'; readonly value: ScalarExpr });

export type ClusterPlan =
  | {
      readonly kind: 'createCluster';
      readonly name: string;
      readonly ifNotExists: boolean;
      readonly options: Options;
      /** Undefined: managed by SIZE and REPLICATION FACTOR. */
      readonly replicas: readonly ReplicaPlan[] | undefined;
    }
  | {
      readonly kind: 'createClusterReplica';
      readonly cluster: ClusterId;
      readonly ifNotExists: boolean;
      readonly replica: ReplicaPlan;
    };

/** An object as a statement names it. `id` for items and clusters that the snapshot has. */
export interface ObjectRef {
  readonly objectType: ObjectType;
  readonly parts: readonly string[];
  readonly name: QualifiedName | undefined;
  readonly id: GlobalId | ClusterId | undefined;
}

export type AlterPlan = { readonly object: ObjectRef; readonly ifExists: boolean } & (
  | { readonly kind: 'alterRename'; readonly to: string }
  | { readonly kind: 'alterSetSchema'; readonly schema: readonly string[] }
  | { readonly kind: 'alterSwap'; readonly with: string }
  | { readonly kind: 'alterSet'; readonly options: Options }
  | { readonly kind: 'alterReset'; readonly options: readonly string[] }
  | { readonly kind: 'alterApplyReplacement'; readonly replacement: GlobalId }
  | { readonly kind: 'alterSecret'; readonly value: ScalarExpr }
);

export type SessionPlan =
  | { readonly kind: 'begin'; readonly modes: TransactionModes }
  | { readonly kind: 'commit'; readonly chain: boolean }
  | { readonly kind: 'rollback'; readonly chain: boolean }
  | {
      readonly kind: 'setTransaction';
      readonly scope: 'transaction' | 'session';
      readonly modes: TransactionModes;
    }
  /** `values` undefined: to the default. */
  | {
      readonly kind: 'set';
      readonly scope: 'session' | 'local';
      readonly name: string;
      readonly values: readonly string[] | undefined;
    }
  | { readonly kind: 'reset'; readonly name: string | undefined }
  | { readonly kind: 'showVariable'; readonly name: string }
  | { readonly kind: 'showAll' }
  | { readonly kind: 'discard'; readonly what: 'all' | 'plans' | 'sequences' | 'temp' }
  | {
      readonly kind: 'prepare';
      readonly name: string;
      readonly paramTypes: readonly SqlType[];
      readonly statement: PreparableStatement;
    }
  | { readonly kind: 'execute'; readonly name: string; readonly args: readonly ScalarExpr[] }
  | { readonly kind: 'deallocate'; readonly name: string | undefined }
  | { readonly kind: 'alterSystemSet'; readonly name: string; readonly values: readonly string[] | undefined }
  | { readonly kind: 'alterSystemReset'; readonly name: string | undefined }
  | {
      readonly kind: 'declareCursor';
      readonly name: string;
      readonly hold: boolean;
      readonly plan: SelectPlan | SubscribePlan;
    }
  | {
      readonly kind: 'fetch';
      readonly cursor: string;
      readonly count: number | 'all';
      /** Undefined: no longer than for the first row. */
      readonly timeoutMs: number | undefined;
    }
  | { readonly kind: 'closeCursor'; readonly cursor: string | undefined };

export interface SelectPlan {
  readonly kind: 'select';
  readonly query: QueryPlan;
  readonly asOf: AsOfPlan | undefined;
}

export type Plan =
  | SelectPlan
  | InsertPlan
  | UpdatePlan
  | DeletePlan
  | SubscribePlan
  | CopySubscribePlan
  | CreatePlan
  | ClusterPlan
  | AlterPlan
  | SessionPlan
  | {
      readonly kind: 'copyFrom';
      readonly target: GlobalId;
      /** Positions of the columns that the data has, in its order. */
      readonly columns: readonly number[];
      readonly types: readonly SqlType[];
      /** For the other columns. */
      readonly defaults: readonly (ScalarExpr | null)[];
      readonly notNull: readonly number[];
      readonly options: Options;
    }
  /** `location` undefined: to the client. */
  | {
      readonly kind: 'copyTo';
      readonly query: QueryPlan;
      readonly location: ScalarExpr | undefined;
      readonly options: Options;
    }
  | { readonly kind: 'createSchema'; readonly name: readonly string[]; readonly ifNotExists: boolean }
  | { readonly kind: 'createDatabase'; readonly name: string; readonly ifNotExists: boolean }
  | {
      readonly kind: 'drop';
      readonly objectType: ObjectType;
      readonly objects: readonly ObjectRef[];
      /** Named with IF EXISTS and not there: a notice each. */
      readonly missing: readonly string[];
      readonly cascade: boolean;
    }
  | {
      readonly kind: 'comment';
      readonly object: ObjectRef;
      /** Of a column: its position. */
      readonly column: number | undefined;
      readonly comment: string | undefined;
    }
  | { readonly kind: 'showCreate'; readonly object: ObjectRef; readonly name: string; readonly sql: string }
  /** Rows of text, ready. */
  | { readonly kind: 'explain'; readonly column: string; readonly lines: readonly string[] }
  | { readonly kind: 'explainTimestamp'; readonly query: QueryPlan; readonly format: 'text' | 'json' };
