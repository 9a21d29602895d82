/**
 * From an aggregate of the plan to the accumulator that maintains it. The Reduce operator reads argument columns by
 * position, so arguments that are not columns are computed by a map before it.
 */

import { assert } from '../base/assert.ts';
import type { AccumulatorState, BasicFinish } from '../expr/functions.ts';
import { aggregateById } from '../expr/registry.ts';
import type { AggregateExpr, ScalarExpr } from '../expr/scalar.ts';
import type { AccumulatorFactory } from '../operators/state/accumulators/accumulator.ts';
import { basic, type FinishRows } from '../operators/state/accumulators/basic.ts';
import { boolAnd, boolOr } from '../operators/state/accumulators/bool.ts';
import { count } from '../operators/state/accumulators/count.ts';
import { distinct } from '../operators/state/accumulators/distinct.ts';
import { max, min } from '../operators/state/accumulators/extreme.ts';
import { sumFloat } from '../operators/state/accumulators/sum-float.ts';
import {
  type IntegerArgument,
  type IntegerResult,
  sumInteger,
} from '../operators/state/accumulators/sum-integer.ts';
import { sumInterval } from '../operators/state/accumulators/sum-interval.ts';
import { sumNumeric } from '../operators/state/accumulators/sum-numeric.ts';
import type { AggregateSpec } from '../operators/state/reduce-rule.ts';
import { comparator } from '../repr/compare.ts';
import { pushDatum } from '../repr/datum.ts';
import { kindOf, type SqlType } from '../repr/types.ts';

/** Aggregates over columns, and the expressions that make the columns that are not there yet. */
export interface LoweredAggregates {
  readonly specs: readonly AggregateSpec[];
  /** Appended to the input, in order. */
  readonly map: readonly ScalarExpr[];
}

export function lowerAggregates(inputArity: number, aggregates: readonly AggregateExpr[]): LoweredAggregates {
  const map: ScalarExpr[] = [];
  const column = (e: ScalarExpr): number => {
    if (e.kind === 'column') return e.index;
    map.push(e);
    return inputArity + map.length - 1;
  };
  const specs = aggregates.map((a): AggregateSpec => {
    const exprs = [...a.args, ...a.orderBy.map((o) => o.expr)];
    return { accumulator: accumulatorFor(a), args: exprs.map(column) };
  });
  return { specs, map };
}

function accumulatorFor(a: AggregateExpr): AccumulatorFactory {
  const def = aggregateById(a.func);
  const argType = a.args[0]?.type;
  const { plan } = def;
  let inner: AccumulatorFactory;
  switch (plan.kind) {
    case 'accumulable':
      inner = () => ACCUMULATORS[plan.state](argType, a.type);
      break;
    case 'hierarchical':
      // A duplicate changes neither extreme, so DISTINCT says nothing here.
      return () => (plan.direction === 'min' ? min : max)(kindOf(argType!), comparator(argType!));
    case 'basic':
      inner = () => basicAccumulator(a, plan.finish);
      break;
    case 'composite':
      assert(false, `the planner has lowered ${a.func} into its parts`);
  }
  if (!a.distinct) return inner;
  const kinds = [...a.args, ...a.orderBy.map((o) => o.expr)].map((e) => kindOf(e.type));
  return () => distinct(inner(), kinds);
}

type Make = (arg: SqlType | undefined, result: SqlType) => ReturnType<AccumulatorFactory>;

const ACCUMULATORS: Readonly<Record<AccumulatorState, Make>> = {
  count: () => count(),
  count_star: () => count(),
  sum_int: (arg, result) => sumInteger(integerArgument(arg!), result.name as IntegerResult),
  sum_float: (_, result) => sumFloat(result.name as 'float4' | 'float8'),
  sum_numeric: () => sumNumeric(),
  sum_interval: () => sumInterval(),
  bool_and: () => boolAnd(),
  bool_or: () => boolOr(),
};

function integerArgument(t: SqlType): IntegerArgument {
  if (t.name === 'uint8') return 'u64';
  const kind = kindOf(t);
  assert(kind === 'i32' || kind === 'i64' || kind === 'f64', `integers of type ${t.name} are summed`);
  return kind;
}

function basicAccumulator(a: AggregateExpr, finish: BasicFinish): ReturnType<AccumulatorFactory> {
  const argTypes = a.args.map((e) => e.type);
  const order = a.orderBy.map((o, i) => ({
    column: a.args.length + i,
    compare: comparator(o.expr.type),
    desc: o.desc,
    nullsFirst: o.nullsFirst,
  }));
  const finishRows: FinishRows = (columns, n, out) => {
    const indices = new Int32Array(n);
    for (let i = 0; i < n; i++) indices[i] = i;
    const value = finish({ length: n, column: (k) => columns[k]!, indices, argTypes, type: a.type });
    pushDatum(a.type, out, value);
  };
  return basic({
    outKind: kindOf(a.type),
    kinds: [...a.args, ...a.orderBy.map((o) => o.expr)].map((e) => kindOf(e.type)),
    order,
    finish: finishRows,
  });
}
