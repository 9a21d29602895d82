/**
 * LIR: the plan that becomes operators. A tree of nodes, each with an id (unique within its dataflow, children
 * before parents), so that introspection can say which operators, bytes and hydration belong to which node of
 * the plan. Plain data: it is compared at reconciliation, sent to workers, printed by EXPLAIN PHYSICAL PLAN.
 *
 * Every node yields a collection of rows (oks) and of errors (errs). Rendering decides arrangements from `ArrangeBy`,
 * `Join`, `Reduce`; it chooses nothing else.
 */
import type { GlobalId } from '../base/ids.ts';
import type { AggregateExpr, Mfp, OrderKey, RowError, ScalarExpr } from '../expr/scalar.ts';
import type { Row, SqlType } from '../repr/types.ts';

export type LirId = number;

interface NodeBase {
  readonly lirId: LirId;
  /** Types of the output columns. */
  readonly types: readonly SqlType[];
}

export type Lir =
  | LirConstant
  | LirGet
  | LirLocalGet
  | LirLet
  | LirMfp
  | LirFlatMap
  | LirJoin
  | LirReduce
  | LirTopK
  | LirNegate
  | LirThreshold
  | LirUnion
  | LirArrangeBy;

export interface LirConstant extends NodeBase {
  readonly op: 'Constant';
  readonly rows: readonly { readonly row: Row; readonly diff: number }[] | { readonly error: RowError };
}

/**
 * An imported collection. `index` names an imported index to read through, and `key` its key columns; when the
 * parent is a Join or Reduce that wants exactly this arrangement it is used as it is, else its rows are read.
 */
export interface LirGet extends NodeBase {
  readonly op: 'Get';
  readonly id: GlobalId;
  readonly index?: { readonly id: GlobalId; readonly key: readonly number[] };
}

/** A binding of an enclosing Let. */
export interface LirLocalGet extends NodeBase {
  readonly op: 'LocalGet';
  readonly local: number;
}

export interface LirLet extends NodeBase {
  readonly op: 'Let';
  readonly local: number;
  readonly value: Lir;
  readonly body: Lir;
}

export interface LirMfp extends NodeBase {
  readonly op: 'Mfp';
  readonly input: Lir;
  readonly mfp: Mfp;
}

/** Each input row joined with the rows of a table function of it; output = input columns, function columns. */
export interface LirFlatMap extends NodeBase {
  readonly op: 'FlatMap';
  readonly input: Lir;
  /** `TableFunctionDef.id`. */
  readonly func: string;
  readonly args: readonly ScalarExpr[];
  /** One more column at the end: the number of the row within its call, from 1, as int8. */
  readonly ordinality?: true;
}

/**
 * Inner equi-join of several inputs as a chain: the first stage joins inputs[0] with inputs[1], each further one
 * the result so far (columns of the inputs so far, laid end to end, after the stage's `mfp`) with the next input.
 * Keys are columns; rows with a NULL key column have been filtered out by the planner where SQL's `=` asks for it (and are
 * kept where it planned IS NOT DISTINCT FROM). An empty key is a cross join. Inputs arranged by the stage's key
 * (ArrangeBy, Get through an index) are used as they stand.
 */
export interface LirJoin extends NodeBase {
  readonly op: 'Join';
  readonly inputs: readonly Lir[];
  readonly stages: readonly LirJoinStage[];
}

export interface LirJoinStage {
  /** Key columns of the result so far. */
  readonly streamKey: readonly number[];
  /** Key columns of inputs[stage + 1], pairwise equal to streamKey. */
  readonly lookupKey: readonly number[];
  /** Over (result so far ++ input columns); its projection is the result of the stage. */
  readonly mfp: Mfp;
}

/** Output = key columns in order, then one column an aggregate. No row for an empty input, also without a key. */
export interface LirReduce extends NodeBase {
  readonly op: 'Reduce';
  readonly input: Lir;
  /** Columns of the input, in canonical form already. */
  readonly key: readonly number[];
  readonly aggregates: readonly AggregateExpr[];
}

export interface LirTopK extends NodeBase {
  readonly op: 'TopK';
  readonly input: Lir;
  readonly groupKey: readonly number[];
  readonly orderBy: readonly OrderKey[];
  /** Null: no limit. */
  readonly limit: number | null;
  readonly offset: number;
}

export interface LirNegate extends NodeBase {
  readonly op: 'Negate';
  readonly input: Lir;
}

/** max(0, count) of each row. */
export interface LirThreshold extends NodeBase {
  readonly op: 'Threshold';
  readonly input: Lir;
}

/** Sum of multiplicities. */
export interface LirUnion extends NodeBase {
  readonly op: 'Union';
  readonly inputs: readonly Lir[];
}

/** The input, arranged by each of the keys: made once, used by every parent that wants one of them. */
export interface LirArrangeBy extends NodeBase {
  readonly op: 'ArrangeBy';
  readonly input: Lir;
  readonly keys: readonly (readonly number[])[];
}

export type LirOp = Lir['op'];

/** What is applied to the final result of a one-off query, where it is collected: order, then cut, then project. */
export interface RowSetFinishing {
  readonly orderBy: readonly OrderKey[];
  readonly limit: number | null;
  readonly offset: number;
  readonly project: readonly number[];
}
