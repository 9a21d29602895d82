/** The accumulator of `sum`, `min` and `max` for SQL types: the one place that maps types to them. */
import { AssertionError, assert } from '../../../base/assert.ts';
import { comparator } from '../../../repr/compare.ts';
import { kindOf, type SqlType, type TypeName, typeToString } from '../../../repr/types.ts';
import type { Accumulator } from './accumulator.ts';
import { max, min } from './extreme.ts';
import { sumFloat } from './sum-float.ts';
import { type IntegerArgument, type IntegerResult, sumInteger } from './sum-integer.ts';
import { sumInterval } from './sum-interval.ts';
import { sumNumeric } from './sum-numeric.ts';

const INTEGERS: Readonly<Partial<Record<TypeName, IntegerArgument>>> = {
  int2: 'i32',
  int4: 'i32',
  int8: 'i64',
  uint2: 'i32',
  uint4: 'f64',
  uint8: 'u64',
};
const RESULTS: ReadonlySet<string> = new Set<IntegerResult>(['int8', 'uint8', 'numeric']);

/** `sum` over an argument type; `result` chooses among int8, uint8 and numeric for the integers. */
export function sumOf(arg: SqlType, result: SqlType): Accumulator {
  const integer = INTEGERS[arg.name];
  if (integer !== undefined) {
    assert(RESULTS.has(result.name), `a sum of ${arg.name} is no ${result.name}`);
    return sumInteger(integer, result.name as IntegerResult);
  }
  switch (arg.name) {
    case 'float4':
    case 'float8':
      return sumFloat(arg.name);
    case 'numeric':
      return sumNumeric();
    case 'interval':
      return sumInterval();
    default:
      throw new AssertionError(`there is no sum of ${typeToString(arg)}`);
  }
}

export const minOf = (t: SqlType): Accumulator => min(kindOf(t), comparator(t));
export const maxOf = (t: SqlType): Accumulator => max(kindOf(t), comparator(t));
