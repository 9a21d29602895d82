import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ColumnBuilder, isNull } from '../../../repr/column.ts';
import { column, forSeeds, type XorShift } from '../test-support.ts';
import { type Accumulator, GroupErrors } from './accumulator.ts';
import { sumFloat } from './sum-float.ts';

const view = new DataView(new ArrayBuffer(8));
/** A double in units of 2^-1074. */
function units(x: number): bigint {
  view.setFloat64(0, x);
  const bits = view.getBigUint64(0);
  const e = (bits >> 52n) & 0x7ffn;
  const f = bits & ((1n << 52n) - 1n);
  const m = e === 0n ? f : (f | (1n << 52n)) << (e - 1n);
  return x < 0 ? -m : m;
}
const step = (x: number, by: bigint): number => {
  view.setFloat64(0, x);
  view.setBigUint64(0, view.getBigUint64(0) + by);
  return view.getFloat64(0);
};
const bitsOf = (x: number): bigint => {
  view.setFloat64(0, x);
  return view.getBigUint64(0);
};
const abs = (b: bigint): bigint => (b < 0n ? -b : b);
/** Half a unit beyond the greatest double: from here the sum rounds to infinity. */
const LIMIT = units(Number.MAX_VALUE) + (1n << 2044n);

function read(acc: Accumulator, gid: number): { value: number | null; error: string | undefined } {
  const out = new ColumnBuilder('f64');
  const errors = new GroupErrors('v');
  acc.write(Int32Array.of(gid), 1, out, errors);
  const c = out.finish();
  return { value: isNull(c, 0) ? null : c.values[0]!, error: errors.byPosition.get(0)?.code };
}

function add(acc: Accumulator, gid: number, v: number, diff: number): void {
  acc.update(Int32Array.of(gid), [column('f64', [v])], Float64Array.of(diff), 1);
}

function randomDouble(random: XorShift): number {
  const kind = random.below(6);
  if (kind === 0) return random.below(200) - 100;
  if (kind === 1) return random.pick([1e308, -1e308, 1.7e308, Number.MAX_VALUE, 2 ** 960, -(2 ** 959)]);
  if (kind === 2) return random.pick([5e-324, -5e-324, 2.2250738585072014e-308, 1e-310]);
  if (kind === 3) return random.pick([0.1, 0.2, 0.3, -0.1, 1 / 3]);
  const m = (random.below(2 ** 30) * 2 ** 22 + random.below(2 ** 22)) * (random.below(2) === 0 ? 1 : -1);
  return m * 2 ** (random.below(600) - 300);
}

/** The exact sum, against the double that was told for it: no double is nearer, ties are even. */
function checkNearest(sum: bigint, got: number): void {
  const distance = abs(sum - units(got));
  if (got === 0) {
    assert.equal(sum, 0n);
    return;
  }
  for (const by of [1n, -1n]) {
    const other = step(got, by);
    if (!Number.isFinite(other)) continue;
    const d = abs(sum - units(other));
    assert.ok(distance <= d, `${got} is nearest to its sum`);
    if (distance === d) assert.equal(bitsOf(got) & 1n, 0n, 'a tie goes to the even double');
  }
}

test('a sum is the nearest double to the exact sum, whatever the order, and returns exactly', () => {
  forSeeds(
    process.env,
    (random) => {
      const acc = sumFloat('float8');
      acc.resize(2);
      const live: { v: number; d: number }[] = [];
      let sum = 0n;
      for (let k = 0; k < 60; k++) {
        let v: number;
        let d: number;
        if (live.length > 0 && random.below(3) === 0) {
          const [gone] = live.splice(random.below(live.length), 1);
          v = gone!.v;
          d = -gone!.d;
        } else {
          v = randomDouble(random);
          d = random.pick([1, 1, 1, 3, 2 ** 40 + 1]);
          live.push({ v, d });
        }
        add(acc, 1, v, d);
        sum += units(v) * BigInt(d);
        const got = read(acc, 1);
        if (live.length === 0) assert.equal(got.value, null);
        else if (abs(sum) >= LIMIT) assert.equal(got.error, 'numeric_value_out_of_range');
        else checkNearest(sum, got.value!);
      }
      for (const { v, d } of live) add(acc, 1, v, -d);
      assert.ok(acc.isZero(1));
      assert.equal(read(acc, 1).value, null);
    },
    200,
  );
});

test('the order of rows does not matter to the last bit', () => {
  forSeeds(process.env, (random) => {
    const values = Array.from({ length: 40 }, () => randomDouble(random));
    const told = [0, 1].map(() => {
      const acc = sumFloat('float8');
      acc.resize(1);
      for (const v of values.sort(() => random.below(3) - 1)) add(acc, 0, v, 1);
      return read(acc, 0);
    });
    assert.deepEqual(told[0], told[1]);
  });
});

test('NaN and infinities are undone', () => {
  const acc = sumFloat('float8');
  acc.resize(1);
  add(acc, 0, 0.1, 1);
  add(acc, 0, Number.POSITIVE_INFINITY, 1);
  assert.equal(read(acc, 0).value, Number.POSITIVE_INFINITY);
  add(acc, 0, Number.NEGATIVE_INFINITY, 1);
  assert.equal(read(acc, 0).value, Number.NaN);
  add(acc, 0, Number.POSITIVE_INFINITY, -1);
  assert.equal(read(acc, 0).value, Number.NEGATIVE_INFINITY);
  add(acc, 0, Number.NEGATIVE_INFINITY, -1);
  assert.equal(read(acc, 0).value, 0.1);
});

test('float4 overflows at its own range', () => {
  const acc = sumFloat('float4');
  acc.resize(1);
  add(acc, 0, Math.fround(3e38), 2);
  assert.equal(read(acc, 0).error, 'numeric_value_out_of_range');
  add(acc, 0, Math.fround(3e38), -1);
  assert.equal(read(acc, 0).value, Math.fround(3e38));
});
