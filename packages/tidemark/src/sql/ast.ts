/**
 * The syntax tree: what a statement says, before any name is resolved.
 *
 * - Discriminated by `kind`; every node has `pos`, a 0-based character offset into the statement's text (an error's
 *   `position` is `pos + 1`). As in PostgreSQL a binary operator and `::` stand at the operator, all else at its
 *   first token; `exprStart` (walk.ts) gives the leftmost token.
 * - Identifiers are case-folded already; quoting is gone. Optional parts are present and `undefined`, never missing.
 * - What PostgreSQL's grammar rewrites is rewritten here: `DATE '…'`, `CAST`, `::` are `cast`; `TABLE t` is a select;
 *   EXTRACT, POSITION, SUBSTRING, OVERLAY, TRIM, AT TIME ZONE, COALESCE, CURRENT_DATE … are `call`; `-1` is a number;
 *   `!=` is `<>`; `NOT (a)` keeps its node, parentheses do not.
 * - Printing a tree and parsing the text gives the same tree but for `pos`.
 */
export interface Node {
  readonly pos: number;
}

export interface Ident extends Node {
  readonly name: string;
}

/** One to four parts, database first. */
export interface ObjectName extends Node {
  readonly parts: readonly Ident[];
}

/**
 * A type as written, keywords already replaced by the names of pg_type: `int` is `int4`, `double precision` `float8`,
 * `char` `bpchar` with modifier 1, `timestamp with time zone` `timestamptz`. `"char"` stays `char`.
 * `t list` is `{name: ['list'], params: [t]}`, `map[k => v]` is `{name: ['map'], params: [k, v]}`.
 */
export interface TypeName extends Node {
  readonly name: ObjectName;
  readonly params: readonly TypeName[];
  readonly modifiers: readonly Expr[];
  /** One entry a dimension, the declared length or undefined; empty: not an array. */
  readonly arrayBounds: readonly (number | undefined)[];
  /** `year to month`, `second` …: only for interval. */
  readonly intervalFields: string | undefined;
  /** Recognised, to be refused. */
  readonly setof: boolean;
}

// ---- Expressions

interface Kind<K extends string> extends Node {
  readonly kind: K;
}

export interface NullLiteral extends Kind<'null'> {}
export interface BooleanLiteral extends Kind<'boolean'> {
  readonly value: boolean;
}
/** Plain decimal notation, `-?digits[.digits][e±n]`: hex, octal, binary and underscores are gone. */
export interface NumberLiteral extends Kind<'number'> {
  readonly text: string;
}
export interface StringLiteral extends Kind<'string'> {
  readonly value: string;
}
/** `B'01'`, `X'1F'`. */
export interface BitStringLiteral extends Kind<'bitString'> {
  readonly base: 'b' | 'x';
  readonly value: string;
}
export interface ParameterExpr extends Kind<'parameter'> {
  readonly index: number;
}
/** `DEFAULT`, meaningful in INSERT … VALUES and UPDATE … SET only. */
export interface DefaultExpr extends Kind<'default'> {}
/** `a`, `t.a`, `s.t.a`, `d.s.t.a`; a lone name may also be a whole row. */
export interface ColumnExpr extends Kind<'column'> {
  readonly name: ObjectName;
}
/** `*` or `t.*`. */
export interface WildcardExpr extends Kind<'wildcard'> {
  readonly qualifier: ObjectName | undefined;
}
/** `(e).f` */
export interface FieldExpr extends Kind<'field'> {
  readonly expr: Expr;
  readonly field: Ident;
}
/** `(e).*` */
export interface FieldStarExpr extends Kind<'fieldStar'> {
  readonly expr: Expr;
}
export interface Subscript extends Node {
  /** For an index `lower` alone is set. */
  readonly slice: boolean;
  readonly lower: Expr | undefined;
  readonly upper: Expr | undefined;
}
/** `a[1][2:3]`: consecutive brackets are one node. */
export interface SubscriptExpr extends Kind<'subscript'> {
  readonly expr: Expr;
  readonly subscripts: readonly Subscript[];
}
/** Prefix operator other than NOT: `-`, `+`, `~`, `@`, … */
export interface UnaryExpr extends Kind<'unary'> {
  readonly op: string;
  readonly schema: string | undefined;
  readonly expr: Expr;
}
/** Any infix operator, comparisons included. `schema` only from `OPERATOR(schema.op)`. */
export interface BinaryExpr extends Kind<'binary'> {
  readonly op: string;
  readonly schema: string | undefined;
  readonly left: Expr;
  readonly right: Expr;
}
/** At least two operands; `a AND b AND c` is one node, `pos` at the first AND. */
export interface AndExpr extends Kind<'and'> {
  readonly operands: readonly Expr[];
}
export interface OrExpr extends Kind<'or'> {
  readonly operands: readonly Expr[];
}
export interface NotExpr extends Kind<'not'> {
  readonly expr: Expr;
}
export interface IsNullExpr extends Kind<'isNull'> {
  readonly negated: boolean;
  readonly expr: Expr;
}
export interface IsBooleanExpr extends Kind<'isBoolean'> {
  readonly value: 'true' | 'false' | 'unknown';
  readonly negated: boolean;
  readonly expr: Expr;
}
/** `left IS [NOT] DISTINCT FROM right` */
export interface IsDistinctExpr extends Kind<'isDistinct'> {
  readonly negated: boolean;
  readonly left: Expr;
  readonly right: Expr;
}
export interface BetweenExpr extends Kind<'between'> {
  readonly negated: boolean;
  readonly symmetric: boolean;
  readonly expr: Expr;
  readonly low: Expr;
  readonly high: Expr;
}
export interface LikeExpr extends Kind<'like'> {
  readonly op: 'like' | 'ilike' | 'similar to';
  readonly negated: boolean;
  readonly expr: Expr;
  readonly pattern: Expr;
  readonly escape: Expr | undefined;
}
export interface InListExpr extends Kind<'inList'> {
  readonly negated: boolean;
  readonly expr: Expr;
  readonly list: readonly Expr[];
}
export interface InQueryExpr extends Kind<'inQuery'> {
  readonly negated: boolean;
  readonly expr: Expr;
  readonly query: Query;
}
/** `left op ANY (array)`; SOME is ANY; LIKE is `~~`, NOT LIKE `!~~`, ILIKE `~~*`, NOT ILIKE `!~~*`. */
export interface QuantifiedArrayExpr extends Kind<'quantifiedArray'> {
  readonly op: string;
  readonly schema: string | undefined;
  readonly quantifier: 'any' | 'all';
  readonly left: Expr;
  readonly array: Expr;
}
export interface QuantifiedQueryExpr extends Kind<'quantifiedQuery'> {
  readonly op: string;
  readonly schema: string | undefined;
  readonly quantifier: 'any' | 'all';
  readonly left: Expr;
  readonly query: Query;
}
export interface ExistsExpr extends Kind<'exists'> {
  readonly query: Query;
}
/** A query as a scalar. */
export interface SubqueryExpr extends Kind<'subquery'> {
  readonly query: Query;
}
/** `ARRAY(query)`, `LIST(query)` */
export interface ArrayQueryExpr extends Kind<'arrayQuery'> {
  readonly constructorName: 'array' | 'list';
  readonly query: Query;
}
/** `ARRAY[…]`; a nested `[…]` is an array too. */
export interface ArrayExpr extends Kind<'array'> {
  readonly elements: readonly Expr[];
}
export interface ListExpr extends Kind<'list'> {
  readonly elements: readonly Expr[];
}
/** `MAP[k => v, …]` */
export interface MapExpr extends Kind<'map'> {
  readonly entries: readonly { readonly key: Expr; readonly value: Expr }[];
}
/** `ROW(…)` or `(a, b)`. */
export interface RowExpr extends Kind<'row'> {
  readonly elements: readonly Expr[];
}
export interface CaseBranch extends Node {
  readonly when: Expr;
  readonly result: Expr;
}
export interface CaseExpr extends Kind<'case'> {
  readonly operand: Expr | undefined;
  readonly branches: readonly CaseBranch[];
  readonly otherwise: Expr | undefined;
}
export interface CastExpr extends Kind<'cast'> {
  readonly expr: Expr;
  readonly type: TypeName;
}
export interface CollateExpr extends Kind<'collate'> {
  readonly expr: Expr;
  readonly collation: ObjectName;
}
/** `name => value` among the arguments of a call. */
export interface NamedArgExpr extends Kind<'namedArg'> {
  readonly name: Ident;
  readonly value: Expr;
}
export interface CallExpr extends Kind<'call'> {
  readonly name: ObjectName;
  readonly args: readonly Expr[];
  /** `count(*)`: no args. */
  readonly star: boolean;
  readonly distinct: boolean;
  /** The last argument is `VARIADIC`. */
  readonly variadic: boolean;
  readonly orderBy: readonly OrderItem[];
  /** `WITHIN GROUP (ORDER BY …)`; empty: none. */
  readonly withinGroup: readonly OrderItem[];
  readonly filter: Expr | undefined;
  readonly over: WindowRef | undefined;
}

export type Expr =
  | NullLiteral
  | BooleanLiteral
  | NumberLiteral
  | StringLiteral
  | BitStringLiteral
  | ParameterExpr
  | DefaultExpr
  | ColumnExpr
  | WildcardExpr
  | FieldExpr
  | FieldStarExpr
  | SubscriptExpr
  | UnaryExpr
  | BinaryExpr
  | AndExpr
  | OrExpr
  | NotExpr
  | IsNullExpr
  | IsBooleanExpr
  | IsDistinctExpr
  | BetweenExpr
  | LikeExpr
  | InListExpr
  | InQueryExpr
  | QuantifiedArrayExpr
  | QuantifiedQueryExpr
  | ExistsExpr
  | SubqueryExpr
  | ArrayQueryExpr
  | ArrayExpr
  | ListExpr
  | MapExpr
  | RowExpr
  | CaseExpr
  | CastExpr
  | CollateExpr
  | NamedArgExpr
  | CallExpr;

export interface OrderItem extends Node {
  readonly expr: Expr;
  readonly descending: boolean;
  readonly nulls: 'first' | 'last' | undefined;
}

export type FrameBound =
  | Kind<'unboundedPreceding'>
  | Kind<'currentRow'>
  | Kind<'unboundedFollowing'>
  | (Kind<'preceding'> & { readonly offset: Expr })
  | (Kind<'following'> & { readonly offset: Expr });

export interface WindowFrame extends Node {
  readonly units: 'rows' | 'range' | 'groups';
  readonly start: FrameBound;
  /** CURRENT ROW when not written. */
  readonly end: FrameBound;
  readonly exclude: 'no others' | 'current row' | 'group' | 'ties';
}
export interface WindowSpec extends Kind<'windowSpec'> {
  readonly base: Ident | undefined;
  readonly partitionBy: readonly Expr[];
  readonly orderBy: readonly OrderItem[];
  readonly frame: WindowFrame | undefined;
}
export interface WindowName extends Kind<'windowName'> {
  readonly name: Ident;
}
export type WindowRef = WindowName | WindowSpec;

// ---- Queries

export interface Query extends Kind<'query'> {
  readonly with: With | WithMutuallyRecursive | undefined;
  readonly body: QueryBody;
  readonly orderBy: readonly OrderItem[];
  /** undefined: none, or LIMIT ALL. */
  readonly limit: Expr | undefined;
  readonly withTies: boolean;
  readonly offset: Expr | undefined;
  readonly locking: readonly LockingClause[];
}
/** A `Query` as a body: parenthesised, with clauses of its own (ORDER BY, LIMIT, WITH …), under a set operation. */
export type QueryBody = Select | Values | SetOperation | Query;

export interface With extends Kind<'with'> {
  readonly recursive: boolean;
  readonly ctes: readonly Cte[];
}
export interface Cte extends Node {
  readonly name: Ident;
  readonly columns: readonly Ident[];
  readonly materialized: boolean | undefined;
  readonly query: Query;
}
export interface WithMutuallyRecursive extends Kind<'withMutuallyRecursive'> {
  readonly limit:
    | { readonly count: number; readonly onReached: 'error' | 'return'; readonly pos: number }
    | undefined;
  readonly bindings: readonly RecursiveBinding[];
}
export interface RecursiveBinding extends Node {
  readonly name: Ident;
  readonly columns: readonly TypedColumn[];
  readonly query: Query;
}
export interface TypedColumn extends Node {
  readonly name: Ident;
  readonly type: TypeName;
}
/** FOR UPDATE and the like: recognised. */
export interface LockingClause extends Node {
  readonly strength: 'update' | 'no key update' | 'share' | 'key share';
  readonly of: readonly ObjectName[];
  readonly wait: 'nowait' | 'skip locked' | undefined;
}
export interface SetOperation extends Kind<'setOperation'> {
  readonly op: 'union' | 'intersect' | 'except';
  readonly all: boolean;
  readonly left: QueryBody;
  readonly right: QueryBody;
}
/** Rows of equal length. */
export interface Values extends Kind<'values'> {
  readonly rows: readonly (readonly Expr[])[];
}
export interface Select extends Kind<'select'> {
  /** DISTINCT without ON. */
  readonly distinct: boolean;
  /** DISTINCT ON (…); empty: none. */
  readonly distinctOn: readonly Expr[];
  /** May be empty, as in PostgreSQL. */
  readonly items: readonly SelectItem[];
  readonly from: readonly TableRef[];
  readonly where: Expr | undefined;
  readonly groupBy: readonly GroupItem[];
  readonly having: Expr | undefined;
  readonly windows: readonly { readonly name: Ident; readonly spec: WindowSpec; readonly pos: number }[];
}
export interface SelectItem extends Node {
  readonly expr: Expr;
  readonly alias: Ident | undefined;
}
/** `empty` is `()`; `columns` is `(a, b)`, only within another set (elsewhere it is two items). */
export interface GroupingSet extends Kind<'groupingSet'> {
  readonly form: 'empty' | 'columns' | 'rollup' | 'cube' | 'sets';
  readonly items: readonly GroupItem[];
}
export type GroupItem = Expr | GroupingSet;

export interface TableAlias extends Node {
  readonly name: Ident;
  readonly columns: readonly Ident[];
}
export interface NamedTable extends Kind<'table'> {
  readonly name: ObjectName;
  readonly alias: TableAlias | undefined;
}
export interface DerivedTable extends Kind<'derived'> {
  readonly lateral: boolean;
  readonly query: Query;
  readonly alias: TableAlias | undefined;
}
export interface FunctionTable extends Kind<'function'> {
  readonly lateral: boolean;
  /** More than one: ROWS FROM (…). */
  readonly functions: readonly TableFunction[];
  readonly withOrdinality: boolean;
  readonly alias: TableAlias | undefined;
}
export interface TableFunction extends Node {
  readonly call: CallExpr;
  /** `AS (a int, …)`; empty: none. */
  readonly columns: readonly TypedColumn[];
}
export interface JoinedTable extends Kind<'join'> {
  readonly type: 'inner' | 'left' | 'right' | 'full' | 'cross';
  readonly natural: boolean;
  readonly left: TableRef;
  readonly right: TableRef;
  readonly on: Expr | undefined;
  readonly using: { readonly columns: readonly Ident[]; readonly alias: Ident | undefined } | undefined;
  /** `(a JOIN b …) AS x` */
  readonly alias: TableAlias | undefined;
}
export type TableRef = NamedTable | DerivedTable | FunctionTable | JoinedTable;

/** `AS OF [AT LEAST] e` */
export interface AsOf extends Node {
  readonly atLeast: boolean;
  readonly time: Expr;
}

// ---- Options: `(NAME [=] value, …)`, one shape for every statement

export interface OptionWord extends Kind<'word'> {
  readonly text: string;
}
export interface OptionList extends Kind<'optionList'> {
  readonly items: readonly OptionValue[];
}
/** `SECRET s` among a connection's options. */
export interface OptionSecret extends Kind<'secret'> {
  readonly name: ObjectName;
}
export type OptionValue =
  | StringLiteral
  | NumberLiteral
  | BooleanLiteral
  | OptionWord
  | OptionList
  | OptionSecret;
export interface SqlOption extends Node {
  /** Lower case, words joined by one space: `replication factor`. */
  readonly name: string;
  readonly value: OptionValue | undefined;
}

export type ObjectType =
  | 'table'
  | 'view'
  | 'materialized view'
  | 'index'
  | 'source'
  | 'sink'
  | 'schema'
  | 'database'
  | 'connection'
  | 'secret'
  | 'cluster'
  | 'cluster replica'
  | 'type'
  | 'function'
  | 'role';
