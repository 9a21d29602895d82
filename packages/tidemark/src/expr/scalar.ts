/**
 * Scalar expressions over the columns of one input, as the planner hands them to rendering. Plain data: they are
 * compared, printed, sent to workers and evaluated, and hold no code. Functions are named by the id of their row
 * in the function table.
 */
import type { Datum, SqlType } from '../repr/types.ts';

export type ScalarExpr = ColumnRef | Literal | Call | Special | ErrorExpr;

/** Position in the input row. */
export interface ColumnRef {
  readonly kind: 'column';
  readonly index: number;
  readonly type: SqlType;
}

export interface Literal {
  readonly kind: 'literal';
  readonly value: Datum;
  readonly type: SqlType;
}

/** An eager function: every argument is evaluated for every row, an error in any of them is the row's error. */
export interface Call {
  readonly kind: 'call';
  /** `FunctionDef.id`, unique for an overload, e.g. `add_int4_int4`, `cast_text_int4`. */
  readonly func: string;
  readonly args: readonly ScalarExpr[];
  readonly type: SqlType;
}

/**
 * Forms whose arguments are evaluated only for the rows that need them, so that `CASE WHEN b <> 0 THEN a / b END`
 * never divides by zero.
 * - `and`, `or`: three-valued; a decided row does not evaluate further. An error loses against a deciding
 *   FALSE (and) or TRUE (or), whichever side it stands on.
 * - `if`: args = [condition, then, else]
 * - `coalesce`: args in order
 */
export interface Special {
  readonly kind: 'and' | 'or' | 'if' | 'coalesce';
  readonly args: readonly ScalarExpr[];
  readonly type: SqlType;
}

/** Always the given error; what constant folding of `1 / 0` leaves behind. */
export interface ErrorExpr {
  readonly kind: 'error';
  readonly error: RowError;
  readonly type: SqlType;
}

/** The error of evaluating one row: data, not an exception. It goes to `errs` and goes away with the row. */
export interface RowError {
  /** A key of SQLSTATE. */
  readonly code: string;
  readonly message: string;
  readonly detail?: string;
  readonly hint?: string;
}

/**
 * Map, filter and project as one step. Row = input columns, then the values of `map` in order (each may read the
 * input columns and the map columns before it); rows where every predicate is TRUE remain; `project` picks the
 * output columns. A predicate is evaluated as soon as the columns it reads exist, so that later map expressions
 * do not run (and do not fail) for rows that are gone.
 */
export interface Mfp {
  readonly inputArity: number;
  readonly map: readonly ScalarExpr[];
  readonly filter: readonly ScalarExpr[];
  readonly project: readonly number[];
}

export function identityMfp(arity: number): Mfp {
  return { inputArity: arity, map: [], filter: [], project: Array.from({ length: arity }, (_, i) => i) };
}

export function isIdentity(m: Mfp): boolean {
  return (
    m.map.length === 0 &&
    m.filter.length === 0 &&
    m.project.length === m.inputArity &&
    m.project.every((p, i) => p === i)
  );
}

/** One aggregate of a Reduce. */
export interface AggregateExpr {
  /** `AggregateDef.id` in the aggregate table, e.g. `sum_int4`, `count`, `count_star`, `array_agg`. */
  readonly func: string;
  /**
   * Over the Reduce's input row. FILTER has been lowered into the arguments (NULL where it does not hold), or into the
   * input of a Reduce of its own for an aggregate that sees NULL, such as `array_agg`.
   */
  readonly args: readonly ScalarExpr[];
  readonly distinct: boolean;
  /** For ordered aggregates. */
  readonly orderBy: readonly {
    readonly expr: ScalarExpr;
    readonly desc: boolean;
    readonly nullsFirst: boolean;
  }[];
  readonly type: SqlType;
}

/** A sort key over the columns of a row. */
export interface OrderKey {
  readonly column: number;
  readonly desc: boolean;
  readonly nullsFirst: boolean;
}
