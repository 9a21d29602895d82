/**
 * An aggregate of rows computed from scratch, by what its literal says: the reference for the operators that
 * maintain it, and what constant folding of an aggregate over constant rows uses. Linear, in datums.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { datumComparator } from '../repr/compare.ts';
import { columnOf } from '../repr/datum.ts';
import { addInterval, Interval } from '../repr/interval.ts';
import { addNumeric, type Numeric, numericFromBig, numericFromInt } from '../repr/numeric.ts';
import { outOfRange } from '../repr/scalars.ts';
import { type Datum, kindOf, type Row, type SqlType } from '../repr/types.ts';
import { evalConstant } from './eval.ts';
import { isEvalError, sqlErrorOf } from './eval-error.ts';
import { substituteColumns } from './expr-tree.ts';
import type { AccumulatorState, AggregateDef, EvalContext } from './functions.ts';
import { aggregateById } from './registry.ts';
import type { ScalarExpr } from './scalar.ts';

/** `rows` hold the arguments, in the order that ORDER BY asks for. Throws SqlError where the aggregate fails. */
export function aggregateRows(
  def: AggregateDef,
  rows: readonly Row[],
  argTypes: readonly SqlType[],
  type: SqlType,
  context: EvalContext,
): Datum {
  const { plan } = def;
  const counted = def.skipsNull ? rows.filter((r) => r[0] !== null) : rows;
  switch (plan.kind) {
    case 'accumulable':
      return accumulate(
        plan.state,
        counted.map((r) => r[0] ?? null),
        type,
      );
    case 'hierarchical': {
      const compare = datumComparator(argTypes[0]!);
      const sign = plan.direction === 'min' ? -1 : 1;
      let best: Datum = null;
      for (const [v] of counted) if (best === null || sign * compare(v!, best) >= 0) best = v!;
      return best;
    }
    case 'basic': {
      const indices = Int32Array.from(counted, (_, i) => i);
      const column = (k: number) =>
        columnOf(
          argTypes[k]!,
          counted.map((r) => r[k]!),
          new ColumnBuilder(kindOf(argTypes[k]!)),
        );
      return plan.finish({ length: counted.length, column, indices, argTypes, type });
    }
    case 'composite': {
      const args = argTypes.map((t, index): ScalarExpr => ({ kind: 'column', index, type: t }));
      const { aggregates, final } = plan.lower({ args, type });
      const results = aggregates.map((a): ScalarExpr => {
        const inner = rows.map((r) => a.args.map((e) => constant(bind(e, r, argTypes), context)));
        const value = aggregateRows(
          aggregateById(a.func),
          inner,
          a.args.map((e) => e.type),
          a.type,
          context,
        );
        return { kind: 'literal', value, type: a.type };
      });
      return constant(
        substituteColumns(final, (i) => results[i]),
        context,
      );
    }
  }
}

const bind = (e: ScalarExpr, row: Row, types: readonly SqlType[]): ScalarExpr =>
  substituteColumns(e, (i) => ({ kind: 'literal', value: row[i]!, type: types[i]! }));

function constant(e: ScalarExpr, context: EvalContext): Datum {
  const v = evalConstant(e, context);
  if (isEvalError(v)) throw sqlErrorOf(v.error);
  return v;
}

function accumulate(state: AccumulatorState, values: readonly Datum[], type: SqlType): Datum {
  if (state === 'count' || state === 'count_star') return BigInt(values.length);
  if (values.length === 0) return null;
  switch (state) {
    case 'bool_and':
      return values.every((v) => v === true);
    case 'bool_or':
      return values.some((v) => v === true);
    case 'sum_int':
      return boundedSum(
        values.reduce((s: bigint, v) => s + BigInt(v as number | bigint), 0n),
        type,
      );
    case 'sum_float': {
      let s = 0;
      for (const v of values) s += v as number;
      if (!Number.isFinite(s) && values.every((v) => Number.isFinite(v as number)))
        throw new SqlError('numeric_value_out_of_range', 'value out of range: overflow');
      return type.name === 'float4' ? Math.fround(s) : s;
    }
    case 'sum_numeric':
      return values.reduce((s: Numeric, v) => addNumeric(s, v as Numeric), numericFromInt(0));
    case 'sum_interval':
      return values.reduce((s: Interval, v) => addInterval(s, v as Interval), new Interval(0, 0, 0));
  }
}

function boundedSum(sum: bigint, type: SqlType): Datum {
  if (type.name === 'numeric') return numericFromBig(sum);
  assert(type.name === 'int8' || type.name === 'uint8', 'sums of integers are int8, uint8 or numeric');
  const max = type.name === 'int8' ? 0x7fffffffffffffffn : 0xffffffffffffffffn;
  if (sum > max || sum < (type.name === 'int8' ? -max - 1n : 0n)) throw outOfRange(type.name);
  return sum;
}
