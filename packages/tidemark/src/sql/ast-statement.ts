/**
 * The statements, over the expressions and queries of `ast.ts`. What PostgreSQL's grammar knows and this engine does
 * not (GRANT, MERGE, TRIGGER …) never becomes a node: the parser refuses it with 0A000 and its position.
 */
import type {
  AsOf,
  Expr,
  Ident,
  Node,
  ObjectName,
  ObjectType,
  OptionValue,
  OrderItem,
  Query,
  SelectItem,
  SqlOption,
  TableRef,
  TypedColumn,
  TypeName,
  With,
} from './ast.ts';

interface Kind<K extends string> extends Node {
  readonly kind: K;
}

// ---- Queries and data

export interface SelectStatement extends Kind<'selectStatement'> {
  readonly query: Query;
  readonly asOf: AsOf | undefined;
}
export interface InsertStatement extends Kind<'insert'> {
  readonly with: With | undefined;
  readonly table: ObjectName;
  readonly alias: Ident | undefined;
  /** Empty: not written. */
  readonly columns: readonly Ident[];
  /** undefined: DEFAULT VALUES. VALUES may hold `default` expressions. */
  readonly source: Query | undefined;
  /** Empty: no RETURNING. */
  readonly returning: readonly SelectItem[];
}
export interface Assignment extends Node {
  readonly column: Ident;
  readonly value: Expr;
}
/** `SET (a, b) = (1, 2)` is two assignments. */
export interface UpdateStatement extends Kind<'update'> {
  readonly with: With | undefined;
  readonly table: ObjectName;
  readonly alias: Ident | undefined;
  readonly assignments: readonly Assignment[];
  readonly from: readonly TableRef[];
  readonly where: Expr | undefined;
  readonly returning: readonly SelectItem[];
}
export interface DeleteStatement extends Kind<'delete'> {
  readonly with: With | undefined;
  readonly table: ObjectName;
  readonly alias: Ident | undefined;
  readonly using: readonly TableRef[];
  readonly where: Expr | undefined;
  readonly returning: readonly SelectItem[];
}
/** COPY to a client or a place; options of the old syntax (`CSV HEADER`) have the new one's names. */
export interface CopyStatement extends Kind<'copy'> {
  readonly direction: 'from' | 'to';
  readonly source: CopyTable | Query | SubscribeStatement;
  /** undefined: STDIN or STDOUT. */
  readonly location: Expr | undefined;
  readonly options: readonly SqlOption[];
}
export interface CopyTable extends Kind<'copyTable'> {
  readonly table: ObjectName;
  readonly columns: readonly Ident[];
}

export interface SubscribeStatement extends Kind<'subscribe'> {
  readonly relation: ObjectName | Query;
  readonly options: readonly SqlOption[];
  readonly asOf: AsOf | undefined;
  readonly upTo: Expr | undefined;
  readonly output: SubscribeOutput | undefined;
}
export type SubscribeOutput =
  | (Kind<'envelopeUpsert'> & { readonly key: readonly Ident[] })
  | (Kind<'withinTimestampOrderBy'> & { readonly orderBy: readonly OrderItem[] });

export interface DeclareCursorStatement extends Kind<'declareCursor'> {
  readonly name: Ident;
  readonly binary: boolean;
  readonly scroll: boolean | undefined;
  readonly hold: boolean;
  readonly statement: SelectStatement | SubscribeStatement;
}
export interface FetchStatement extends Kind<'fetch'> {
  readonly cursor: Ident;
  readonly count: number | 'all';
  readonly options: readonly SqlOption[];
}
/** undefined: CLOSE ALL. */
export interface CloseStatement extends Kind<'close'> {
  readonly cursor: Ident | undefined;
}

// ---- Creating

export interface CreateClusterStatement extends Kind<'createCluster'> {
  readonly name: Ident;
  readonly ifNotExists: boolean;
  readonly options: readonly SqlOption[];
  /** undefined: managed. */
  readonly replicas: readonly ClusterReplicaDef[] | undefined;
}
export interface ClusterReplicaDef extends Node {
  readonly name: Ident;
  readonly options: readonly SqlOption[];
}
export interface CreateClusterReplicaStatement extends Kind<'createClusterReplica'> {
  readonly cluster: Ident;
  readonly ifNotExists: boolean;
  readonly replica: ClusterReplicaDef;
}
export interface CreateTableStatement extends Kind<'createTable'> {
  readonly temporary: boolean;
  readonly ifNotExists: boolean;
  readonly name: ObjectName;
  readonly columns: readonly ColumnDef[];
  readonly constraints: readonly TableConstraint[];
  readonly options: readonly SqlOption[];
}
export interface ColumnDef extends Node {
  readonly name: Ident;
  readonly type: TypeName;
  readonly collation: ObjectName | undefined;
  readonly constraints: readonly ColumnConstraint[];
}
/** Constraints are recognised; which of them hold is the planner's to say. */
export type ColumnConstraint =
  | (Kind<'notNull'> & Named)
  | (Kind<'nullable'> & Named)
  | (Kind<'columnDefault'> & Named & { readonly expr: Expr })
  | (Kind<'columnUnique'> & Named & { readonly primary: boolean })
  | (Kind<'check'> & Named & { readonly expr: Expr })
  | (Kind<'columnReferences'> & Named & { readonly table: ObjectName; readonly columns: readonly Ident[] });
export type TableConstraint =
  | (Kind<'unique'> & Named & { readonly primary: boolean; readonly columns: readonly Ident[] })
  | (Kind<'check'> & Named & { readonly expr: Expr })
  | (Kind<'foreignKey'> &
      Named & {
        readonly columns: readonly Ident[];
        readonly table: ObjectName;
        readonly foreignColumns: readonly Ident[];
      });
interface Named {
  readonly name: Ident | undefined;
}

export interface CreateSourceStatement extends Kind<'createSource'> {
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
  readonly cluster: Ident | undefined;
  readonly columns: readonly TypedColumn[];
  readonly from: SourceOrigin;
  readonly tables: SourceTables | undefined;
  readonly options: readonly SqlOption[];
}
export type SourceOrigin =
  /** `generator` in lower case: `counter`, `auction`, `tpch`, `clock` … */
  | (Kind<'loadGenerator'> & { readonly generator: Ident; readonly options: readonly SqlOption[] })
  | (Kind<'file'> & { readonly path: string; readonly options: readonly SqlOption[] })
  | (Kind<'postgres'> & { readonly connection: ObjectName; readonly options: readonly SqlOption[] });
/** `FOR ALL TABLES`, `FOR TABLES (a AS b, …)`, `FOR SCHEMAS (s, …)`; empty `tables` and `schemas`: all. */
export interface SourceTables extends Node {
  readonly tables: readonly { readonly name: ObjectName; readonly as: ObjectName | undefined }[];
  readonly schemas: readonly Ident[];
}
export interface CreateViewStatement extends Kind<'createView'> {
  readonly temporary: boolean;
  readonly orReplace: boolean;
  readonly ifNotExists: boolean;
  readonly name: ObjectName;
  readonly columns: readonly Ident[];
  readonly query: Query;
}
export interface CreateMaterializedViewStatement extends Kind<'createMaterializedView'> {
  readonly orReplace: boolean;
  readonly ifNotExists: boolean;
  readonly name: ObjectName;
  readonly columns: readonly Ident[];
  /** `CREATE REPLACEMENT MATERIALIZED VIEW name FOR replaces`. */
  readonly replaces: ObjectName | undefined;
  readonly cluster: Ident | undefined;
  readonly refresh: readonly RefreshOption[];
  /** The other WITH options, in order. */
  readonly options: readonly SqlOption[];
  readonly query: Query;
  readonly asOf: AsOf | undefined;
}
export type RefreshOption =
  | Kind<'refreshOnCommit'>
  | Kind<'refreshAtCreation'>
  | (Kind<'refreshAt'> & { readonly time: Expr })
  | (Kind<'refreshEvery'> & { readonly interval: string; readonly alignedTo: Expr | undefined });
export interface CreateIndexStatement extends Kind<'createIndex'> {
  readonly isDefault: boolean;
  readonly ifNotExists: boolean;
  readonly name: Ident | undefined;
  readonly cluster: Ident | undefined;
  readonly on: ObjectName;
  /** undefined: the default key. */
  readonly key: readonly Expr[] | undefined;
  readonly options: readonly SqlOption[];
}
export interface CreateSinkStatement extends Kind<'createSink'> {
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
  readonly cluster: Ident | undefined;
  readonly from: ObjectName;
  readonly into: Kind<'metrics'> & { readonly options: readonly SqlOption[] };
  readonly options: readonly SqlOption[];
}
export interface CreateSchemaStatement extends Kind<'createSchema'> {
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
}
export interface CreateDatabaseStatement extends Kind<'createDatabase'> {
  readonly name: Ident;
  readonly ifNotExists: boolean;
}
export interface CreateConnectionStatement extends Kind<'createConnection'> {
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
  /** `TO POSTGRES (…)`: `postgres`, in lower case. */
  readonly connectionType: Ident;
  readonly options: readonly SqlOption[];
}
export interface CreateSecretStatement extends Kind<'createSecret'> {
  readonly name: ObjectName;
  readonly ifNotExists: boolean;
  readonly value: Expr;
}

// ---- Altering, dropping, commenting

interface Altering<K extends string> extends Kind<K> {
  readonly objectType: ObjectType;
  readonly ifExists: boolean;
  /** Clusters, databases and roles: one part; cluster replicas: cluster, replica. */
  readonly name: ObjectName;
}
export interface AlterRenameStatement extends Altering<'alterRename'> {
  readonly to: Ident;
}
export interface AlterSetSchemaStatement extends Altering<'alterSetSchema'> {
  readonly schema: ObjectName;
}
export interface AlterSwapStatement extends Altering<'alterSwap'> {
  readonly with: Ident;
}
export interface AlterOwnerStatement extends Altering<'alterOwner'> {
  readonly owner: Ident;
}
/** `ALTER … SET (…)`; of a cluster, an index, a materialized view, a source … */
export interface AlterSetStatement extends Altering<'alterSet'> {
  readonly options: readonly SqlOption[];
}
export interface AlterResetStatement extends Altering<'alterReset'> {
  readonly options: readonly string[];
}
export interface AlterApplyReplacementStatement extends Altering<'alterApplyReplacement'> {
  readonly replacement: ObjectName;
}
export interface AlterSecretStatement extends Altering<'alterSecret'> {
  readonly value: Expr;
}
export interface DropStatement extends Kind<'drop'> {
  readonly objectType: ObjectType;
  readonly ifExists: boolean;
  readonly names: readonly ObjectName[];
  readonly behavior: 'cascade' | 'restrict' | undefined;
}
export interface CommentStatement extends Kind<'comment'> {
  readonly objectType: ObjectType | 'column';
  readonly name: ObjectName;
  /** undefined: NULL, which removes it. */
  readonly comment: string | undefined;
}

// ---- Looking

export type ShowObjectsType =
  | 'clusters'
  | 'cluster replicas'
  | 'objects'
  | 'tables'
  | 'views'
  | 'materialized views'
  | 'indexes'
  | 'sources'
  | 'sinks'
  | 'schemas'
  | 'databases'
  | 'connections'
  | 'secrets'
  | 'columns';
/** `SHOW tables [FROM schema] [IN CLUSTER c] [LIKE '…' | WHERE …]`; columns and indexes have `on`. */
export interface ShowObjectsStatement extends Kind<'showObjects'> {
  readonly objectType: ShowObjectsType;
  readonly schema: ObjectName | undefined;
  readonly on: ObjectName | undefined;
  readonly cluster: Ident | undefined;
  readonly like: string | undefined;
  readonly where: Expr | undefined;
}
export interface ShowCreateStatement extends Kind<'showCreate'> {
  readonly objectType: ObjectType;
  readonly name: ObjectName;
}
/** `name` in lower case; `TIME ZONE` is `timezone`, `TRANSACTION ISOLATION LEVEL` `transaction_isolation`. */
export interface ShowVariableStatement extends Kind<'showVariable'> {
  readonly name: string;
}
export interface ShowAllStatement extends Kind<'showAll'> {}

export type Explainee =
  | SelectStatement
  | SubscribeStatement
  | InsertStatement
  | UpdateStatement
  | DeleteStatement
  | CreateViewStatement
  | CreateMaterializedViewStatement
  | CreateIndexStatement
  | ExplainedObject;
export interface ExplainedObject extends Kind<'explainedObject'> {
  readonly objectType: 'view' | 'materialized view' | 'index';
  readonly name: ObjectName;
}
/** `EXPLAIN [stage PLAN] [WITH (…)] [AS format] FOR e`, and PostgreSQL's `EXPLAIN [(…)] e`. */
export interface ExplainPlanStatement extends Kind<'explainPlan'> {
  readonly stage: 'raw' | 'decorrelated' | 'optimized' | 'physical' | undefined;
  readonly options: readonly SqlOption[];
  readonly format: 'text' | 'json';
  readonly explainee: Explainee;
}
export interface ExplainTimestampStatement extends Kind<'explainTimestamp'> {
  readonly format: 'text' | 'json';
  readonly explainee: SelectStatement;
}
export interface ExplainAnalyzeStatement extends Kind<'explainAnalyze'> {
  readonly properties: readonly ('memory' | 'cpu' | 'hydration')[];
  readonly skew: boolean;
  /** `AS SQL`: the query instead of its answer. */
  readonly asSql: boolean;
  readonly object: ExplainedObject;
}

// ---- Session

export interface TransactionModes {
  readonly isolation:
    | 'serializable'
    | 'strict serializable'
    | 'repeatable read'
    | 'read committed'
    | 'read uncommitted'
    | undefined;
  readonly readOnly: boolean | undefined;
  readonly deferrable: boolean | undefined;
}
export interface BeginStatement extends Kind<'begin'> {
  readonly modes: TransactionModes;
}
export interface CommitStatement extends Kind<'commit'> {
  readonly chain: boolean;
}
export interface RollbackStatement extends Kind<'rollback'> {
  readonly chain: boolean;
}
export interface SetTransactionStatement extends Kind<'setTransaction'> {
  readonly scope: 'transaction' | 'session';
  readonly modes: TransactionModes;
}
/** `name` in lower case, dotted parts joined by a dot; `values` undefined: TO DEFAULT. */
export interface SetStatement extends Kind<'set'> {
  readonly scope: 'session' | 'local';
  readonly name: string;
  readonly values: readonly OptionValue[] | undefined;
}
/** undefined: RESET ALL. */
export interface ResetStatement extends Kind<'reset'> {
  readonly name: string | undefined;
}
export interface DiscardStatement extends Kind<'discard'> {
  readonly what: 'all' | 'plans' | 'sequences' | 'temp';
}
export interface PrepareStatement extends Kind<'prepare'> {
  readonly name: Ident;
  readonly types: readonly TypeName[];
  readonly statement: PreparableStatement;
}
export type PreparableStatement =
  | SelectStatement
  | InsertStatement
  | UpdateStatement
  | DeleteStatement
  | SubscribeStatement;
export interface ExecuteStatement extends Kind<'execute'> {
  readonly name: Ident;
  readonly args: readonly Expr[];
}
/** undefined: DEALLOCATE ALL. */
export interface DeallocateStatement extends Kind<'deallocate'> {
  readonly name: Ident | undefined;
}
export interface AlterSystemSetStatement extends Kind<'alterSystemSet'> {
  readonly name: string;
  readonly values: readonly OptionValue[] | undefined;
}
/** undefined: RESET ALL. */
export interface AlterSystemResetStatement extends Kind<'alterSystemReset'> {
  readonly name: string | undefined;
}

export type Statement =
  | SelectStatement
  | InsertStatement
  | UpdateStatement
  | DeleteStatement
  | CopyStatement
  | SubscribeStatement
  | DeclareCursorStatement
  | FetchStatement
  | CloseStatement
  | CreateClusterStatement
  | CreateClusterReplicaStatement
  | CreateTableStatement
  | CreateSourceStatement
  | CreateViewStatement
  | CreateMaterializedViewStatement
  | CreateIndexStatement
  | CreateSinkStatement
  | CreateSchemaStatement
  | CreateDatabaseStatement
  | CreateConnectionStatement
  | CreateSecretStatement
  | AlterRenameStatement
  | AlterSetSchemaStatement
  | AlterSwapStatement
  | AlterOwnerStatement
  | AlterSetStatement
  | AlterResetStatement
  | AlterApplyReplacementStatement
  | AlterSecretStatement
  | DropStatement
  | CommentStatement
  | ShowObjectsStatement
  | ShowCreateStatement
  | ShowVariableStatement
  | ShowAllStatement
  | ExplainPlanStatement
  | ExplainTimestampStatement
  | ExplainAnalyzeStatement
  | BeginStatement
  | CommitStatement
  | RollbackStatement
  | SetTransactionStatement
  | SetStatement
  | ResetStatement
  | DiscardStatement
  | PrepareStatement
  | ExecuteStatement
  | DeallocateStatement
  | AlterSystemSetStatement
  | AlterSystemResetStatement;
