/**
 * What a function, an aggregate and a table function are: one literal per overload, from which resolution,
 * evaluation, `\df`, the documentation and EXPLAIN derive. The literals stand in `functions/*.ts`,
 * `aggregates.ts` and `table-functions.ts`; `registry.ts` is the lookup over them.
 *
 * An operator is a function whose name is the operator's symbol; unary or binary by the number of its arguments.
 * An id is unique over all overloads and stable: plans in the catalog and on the wire name functions by it.
 */
import type { Column } from '../repr/column.ts';
import type { Datum, SqlType, TypeName } from '../repr/types.ts';
import type { RowError, ScalarExpr } from './scalar.ts';

/**
 * An argument type or a family of them.
 * - a type name, or `t[]` for the array of it
 * - `any`: each such argument on its own, whatever it is
 * - `anyelement`, `anynonarray`, `anyarray`, `anylist`: all of one call agree on the element type (exactly)
 * - `anycompatible`, `anycompatiblearray`: likewise, after casting to a common type
 */
export type Pattern =
  | Exclude<TypeName, 'array' | 'list'>
  | `${Exclude<TypeName, 'array' | 'list'>}[]`
  | 'any'
  | 'anyelement'
  | 'anynonarray'
  | 'anyarray'
  | 'anylist'
  | 'anycompatible'
  | 'anycompatiblearray'
  | 'anycompatiblelist';

/** The result type: a pattern over the same element type, or computed from the argument types after casts. */
export type ResultType = Pattern | ((args: readonly SqlType[]) => SqlType);

/**
 * - `immutable`: a function of its arguments alone
 * - `stable`: also of the session's settings (`EvalContext.timeZone`), which a maintained dataflow fixes at creation
 * - `contextual`: now(), current_user …; folded to a literal by whoever knows the context, before rendering
 * - `catalog`: asks `EvalContext.catalog`; only in one-off queries, folded or evaluated in the environment
 */
export type Volatility = 'immutable' | 'stable' | 'contextual' | 'catalog';

/** What evaluation may know besides its input. */
export interface EvalContext {
  /** IANA name or offset, as SET TimeZone took it. */
  readonly timeZone: string;
  /** now(), in microseconds since the epoch. */
  readonly nowMicros?: bigint;
  /** mz_now(), in milliseconds. */
  readonly mzNow?: number;
  readonly session?: SessionFacts;
  /** Answers the functions of volatility `catalog`, by function id. */
  readonly catalog?: (func: string, args: readonly Datum[]) => Datum;
}

export interface SessionFacts {
  readonly user: string;
  readonly database: string;
  /** The schemas of search_path that exist, in order. */
  readonly schemas: readonly string[];
  readonly backendPid: number;
  /** Another process writes. */
  readonly standsBy: boolean;
  readonly version: string;
  setting(name: string): string | undefined;
}

/**
 * Values of one expression over n rows. `constant`: the column has one row, which stands for all of them.
 * A row with an error has NULL in the column.
 */
export interface Vec {
  readonly column: Column;
  readonly constant: boolean;
  readonly errors: RowErrors | null;
}

/** Errors by row number. */
export type RowErrors = Map<number, RowError>;

/** One call of a kernel over n rows. */
export interface KernelCall {
  readonly args: readonly Vec[];
  readonly argTypes: readonly SqlType[];
  readonly type: SqlType;
  readonly n: number;
  /**
   * Rows that are NULL by strictness or by an error of an argument, as a validity bitmap (null: none). A strict
   * kernel computes every row or only the valid ones; what it leaves under a NULL is cleared after it. It raises
   * errors for valid rows only. For functions that are not strict it is null.
   */
  readonly validity: Uint8Array<ArrayBuffer> | null;
  readonly context: EvalContext;
  /** Records the error of a row; the first of a row counts. */
  fail(row: number, error: RowError): void;
}

/** Yields n rows of the kind of `call.type`. */
export type Kernel = (call: KernelCall) => Column;

export interface FunctionDef {
  readonly id: string;
  /** As SQL calls it; an operator's symbol; null for what only the planner builds (casts, canonical forms). */
  readonly name: string | null;
  readonly args: readonly Pattern[];
  /** Any number (also none) of further arguments of this pattern. */
  readonly variadic?: Pattern;
  readonly returns: ResultType;
  /** NULL in, NULL out, without a call. */
  readonly strict: boolean;
  readonly volatility: Volatility;
  /** Whether a row can fail. */
  readonly fallible: boolean;
  /** Whether the result may be NULL though no argument is. Not strict and `false`: never NULL at all. */
  readonly nullable: boolean;
  readonly kernel: Kernel;
  readonly doc: string;
}

/** One aggregate call as a definition's `lower` sees it. */
export interface AggregateCall {
  readonly args: readonly ScalarExpr[];
  readonly type: SqlType;
}

/**
 * How an aggregate is maintained.
 * - `accumulable`: `state` names the accumulator; exact under retraction
 * - `hierarchical`: min and max over an ordered type
 * - `basic`: from all rows of the group, in order
 * - `composite`: other aggregates and an expression over their results
 */
export type AggregatePlan =
  | { readonly kind: 'accumulable'; readonly state: AccumulatorState }
  | { readonly kind: 'hierarchical'; readonly direction: 'min' | 'max' }
  | { readonly kind: 'basic'; readonly finish: BasicFinish }
  | { readonly kind: 'composite'; readonly lower: (call: AggregateCall) => CompositeAggregate };

/**
 * - `count`: rows whose argument is not NULL; `count_star`: all rows (no argument)
 * - `sum_int`: exact sum of i32 or i64 values, any width; the result overflows with an error where it is bounded
 * - `sum_float`, `sum_numeric`, `sum_interval`
 * - `bool_and`, `bool_or`: from the numbers of true and false values
 * NULL for a group without a value, except for the counts.
 */
export type AccumulatorState =
  | 'count'
  | 'count_star'
  | 'sum_int'
  | 'sum_float'
  | 'sum_numeric'
  | 'sum_interval'
  | 'bool_and'
  | 'bool_or';

/** The rows of one group, each with its multiplicity written out, in the order that the call asks for. */
export interface GroupRows {
  readonly length: number;
  /** Argument k of the aggregate. */
  column(k: number): Column;
  /** Rows of the columns that belong to the group, in order. */
  readonly indices: Int32Array;
  readonly argTypes: readonly SqlType[];
  readonly type: SqlType;
}

/** Throws SqlError; the group's row is that error then. */
export type BasicFinish = (rows: GroupRows) => Datum;

/** `final` reads column i as the result of `aggregates[i]`. */
export interface CompositeAggregate {
  readonly aggregates: readonly {
    /** `AggregateDef.id`; may itself be composite. */
    readonly func: string;
    /** Those past the aggregate's own only tell values apart under DISTINCT. */
    readonly args: readonly ScalarExpr[];
    readonly type: SqlType;
  }[];
  readonly final: ScalarExpr;
}

export interface AggregateDef {
  readonly id: string;
  readonly name: string;
  readonly args: readonly Pattern[];
  readonly returns: ResultType;
  /** Rows with a NULL first argument do not count. */
  readonly skipsNull: boolean;
  /** Whether ORDER BY in the call changes the result. */
  readonly ordered: boolean;
  /** Whether an empty group gives NULL (else `count`'s 0). */
  readonly nullable: boolean;
  readonly plan: AggregatePlan;
  readonly doc: string;
}

export interface TableFunctionColumn {
  readonly name: string;
  readonly type: SqlType;
  readonly nullable: boolean;
}

/** Rows of a table function as columns, at most `CHUNK_ROWS` a piece; fuel is checked between pieces. */
export interface RowsChunk {
  readonly length: number;
  readonly columns: readonly Column[];
}

export interface TableFunctionDef {
  readonly id: string;
  readonly name: string;
  readonly args: readonly Pattern[];
  readonly variadic?: Pattern;
  /** From the argument types after casts. */
  readonly columns: (args: readonly SqlType[]) => readonly TableFunctionColumn[];
  /** A NULL argument gives no rows. */
  readonly strict: boolean;
  readonly volatility: Volatility;
  readonly fallible: boolean;
  /** Lazily, in order; throws SqlError (at the first step or a later one). Rows of `repeat_row` carry their count in `multiplicity`. */
  readonly rows: (
    args: readonly Datum[],
    argTypes: readonly SqlType[],
    context: EvalContext,
  ) => Iterable<RowsChunk>;
  /** `repeat_row`: its first argument multiplies the diff of the one row that it yields. */
  readonly multiplies?: true;
  readonly doc: string;
}

export const CHUNK_ROWS = 8192;

/** Whether a function name is an operator's symbol. */
export const isOperatorName = (name: string): boolean => /^[+\-*/<>=~!@#%^&|`?]+$/.test(name);
