/** Integer, numeric and interval sums against BigInt, over the whole range of values and multiplicities. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, ColumnBuilder, isNull } from '../../../repr/column.ts';
import { decodeInterval, encodeInterval, Interval } from '../../../repr/interval.ts';
import { decodeNumeric, numericToText } from '../../../repr/numeric.ts';
import { cell, column, forSeeds, type XorShift } from '../test-support.ts';
import { type Accumulator, GroupErrors } from './accumulator.ts';
import { type IntegerArgument, type IntegerResult, sumInteger } from './sum-integer.ts';
import { sumInterval } from './sum-interval.ts';

function read(acc: Accumulator, gid: number): { column: Column; error: string | undefined } {
  const out = new ColumnBuilder(acc.outKind);
  const errors = new GroupErrors('v');
  acc.write(Int32Array.of(gid), 1, out, errors);
  return { column: out.finish(), error: errors.byPosition.get(0)?.message };
}

const KIND = { i32: 'i32', i64: 'i64', u64: 'i64', f64: 'f64' } as const;

function randomInteger(arg: IntegerArgument, random: XorShift): bigint {
  const word = BigInt(random.below(2 ** 32));
  const small = BigInt(random.below(100));
  if (arg === 'i32') return random.pick([BigInt.asIntN(32, word), small, -(1n << 31n), (1n << 31n) - 1n]);
  if (arg === 'f64') return random.pick([word, small, (1n << 32n) - 1n]);
  const long = (word << 32n) | BigInt(random.below(2 ** 32));
  if (arg === 'u64') return random.pick([long, small, (1n << 64n) - 1n]);
  return random.pick([BigInt.asIntN(64, long), small, -small, -(1n << 63n), (1n << 63n) - 1n]);
}

for (const [arg, result, min, max] of [
  ['i32', 'int8', -(1n << 63n), (1n << 63n) - 1n],
  ['i32', 'uint8', 0n, (1n << 64n) - 1n],
  ['f64', 'uint8', 0n, (1n << 64n) - 1n],
  ['i64', 'numeric', -(10n ** 39n) + 1n, 10n ** 39n - 1n],
  ['u64', 'numeric', -(10n ** 39n) + 1n, 10n ** 39n - 1n],
] as const satisfies readonly (readonly [IntegerArgument, IntegerResult, bigint, bigint])[])
  test(`sum of ${arg} as ${result} is exact at every size`, () => {
    let outside = 0;
    forSeeds(process.env, (random) => {
      const acc = sumInteger(arg, result);
      acc.resize(3);
      const live: { v: bigint; d: number }[] = [];
      let sum = 0n;
      for (let k = 0; k < 80; k++) {
        let change: { v: bigint; d: number };
        if (live.length > 0 && random.below(3) === 0) {
          const [gone] = live.splice(random.below(live.length), 1);
          change = { v: gone!.v, d: -gone!.d };
        } else {
          change = {
            v: randomInteger(arg, random),
            d: random.pick([1, 1, 1, 2 ** 20, 2 ** 20 + 1, 2 ** 36, 2 ** 46]),
          };
          live.push(change);
        }
        const stored = arg === 'u64' ? BigInt.asIntN(64, change.v) : change.v;
        const value = arg === 'i32' || arg === 'f64' ? Number(stored) : stored;
        acc.update(Int32Array.of(2), [column(KIND[arg], [value])], Float64Array.of(change.d), 1);
        sum += change.v * BigInt(change.d);
        const got = read(acc, 2);
        if (live.length === 0) assert.ok(isNull(got.column, 0));
        else if (sum < min || sum > max) {
          outside++;
          assert.match(got.error ?? '', /out of range|overflows/);
        } else {
          const c = cell(got.column, 0);
          assert.equal(got.error, undefined);
          if (typeof c === 'bigint') assert.equal(result === 'uint8' ? BigInt.asUintN(64, c) : c, sum);
          else {
            const o = got.column.offsets;
            assert.equal(
              numericToText(decodeNumeric(got.column.values as Uint8Array, o[0]!, o[1]!)),
              String(sum),
            );
          }
        }
      }
      for (const { v, d } of live) {
        const stored = arg === 'u64' ? BigInt.asIntN(64, v) : v;
        const value = arg === 'i32' || arg === 'f64' ? Number(stored) : stored;
        acc.update(Int32Array.of(2), [column(KIND[arg], [value])], Float64Array.of(-d), 1);
      }
      assert.ok(acc.isZero(2));
    });
    assert.ok(result === 'numeric' || outside > 0, 'the range was left');
  });

test('sum of interval: each field exactly, out of range is an error that heals', () => {
  const acc = sumInterval();
  acc.resize(1);
  const put = (v: Interval, diff: number): void => {
    const b = new ColumnBuilder('bytes');
    encodeInterval(b, v);
    acc.update(Int32Array.of(0), [b.finish()], Float64Array.of(diff), 1);
  };
  put(new Interval(1, -2, 9_000_000_000_000_000), 1);
  put(new Interval(5, 7, 9_000_000_000_000_000), 1);
  assert.equal(read(acc, 0).error, 'interval out of range');
  put(new Interval(1, -2, 9_000_000_000_000_000), -1);
  const got = decodeInterval(read(acc, 0).column.values as Uint8Array);
  assert.deepEqual([got.months, got.days, got.micros], [5, 7, 9_000_000_000_000_000]);
  put(new Interval(5, 7, 9_000_000_000_000_000), -1);
  assert.ok(acc.isZero(0));
});
