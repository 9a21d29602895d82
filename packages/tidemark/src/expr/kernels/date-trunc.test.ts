/** The kernel over columns against the function of one timestamp, at the edges of units, of safe integers and of the range. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ColumnBuilder } from '../../repr/column.ts';
import { truncTimestamp } from '../../repr/datetime-functions.ts';
import { datumAt, pushDatum } from '../../repr/datum.ts';
import { type Datum, type } from '../../repr/types.ts';
import type { Vec } from '../functions.ts';
import { dateTruncTimestamp } from './date-trunc.ts';

const DAY = 86_400_000_000n;
const INFINITY = 0x7fffffffffffffffn;
const EDGES = [
  0n,
  DAY,
  -DAY,
  365n * 4000n * DAY,
  2n ** 53n,
  -(2n ** 53n),
  -2_440_588n * DAY,
  106_751_982n * DAY,
];
const TIMES: readonly (bigint | null)[] = [
  ...EDGES.flatMap((t) => [t, t + 1n, t + 999n, t + 59_999_999n, t + DAY - 1n]),
  ...EDGES.slice(0, 6).map((t) => t - 1n),
  INFINITY,
  -INFINITY - 1n,
  null,
];

function vec(name: 'text' | 'timestamp', values: readonly Datum[], constant: boolean): Vec {
  const b = new ColumnBuilder(name === 'text' ? 'bytes' : 'i64', values.length);
  for (const v of values) pushDatum(type(name), b, v);
  return { column: b.finish(), constant, errors: null };
}

const argTypes = [type('text'), type('timestamp')];

for (const unit of [
  'microseconds',
  'milliseconds',
  'second',
  'minute',
  'HOUR',
  'day',
  'week',
  'month',
  'year',
])
  test(`date_trunc to the ${unit} over a column is date_trunc of each`, () => {
    const t = vec('timestamp', TIMES, false);
    const failures = new Map<number, string>();
    const column = dateTruncTimestamp({
      args: [vec('text', [unit], true), t],
      argTypes,
      type: type('timestamp'),
      n: TIMES.length,
      validity: t.column.validity,
      context: { timeZone: 'UTC' },
      fail: (row, e) => failures.set(row, e.message),
    });
    for (const [i, time] of TIMES.entries()) {
      if (time === null) continue;
      let expected: string;
      let got: string;
      try {
        expected = `${truncTimestamp(unit, time)}`;
        got = `${datumAt(type('timestamp'), column, i)}`;
      } catch (error) {
        expected = (error as Error).message;
        got = failures.get(i) ?? 'no error';
      }
      assert.equal(got, expected, `${time}`);
    }
  });
