import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Batch, concatBatches, consolidate, diffAt, timeAt } from '../repr/batch.ts';
import { Correction } from './correction.ts';

const batchOf = (rows: readonly (readonly [value: number, time: number, diff: number])[]): Batch => ({
  length: rows.length,
  columns: [
    {
      kind: 'i32',
      length: rows.length,
      validity: null,
      values: Int32Array.from(rows, (r) => r[0]),
      offsets: new Int32Array(0),
    },
  ],
  times: Float64Array.from(rows, (r) => r[1]),
  diffs: Float64Array.from(rows, (r) => r[2]),
});

/** (value, time) -> sum, of what `before` gives over all buckets. */
function contents(c: Correction, lower: number, upper: number): Map<string, number> {
  const out = new Map<string, number>();
  for (let b = 0; b < c.buckets; b++) {
    const part = c.before(b, lower, upper);
    for (let i = 0; i < (part?.length ?? 0); i++) {
      const key = `${part!.columns[0]!.values[i]}@${timeAt(part!, i)}`;
      assert(!out.has(key), `${key} is in one bucket, once`);
      out.set(key, diffAt(part!, i));
    }
  }
  return out;
}

test('what is due before a time is the naive sum, for any inserts, signs and bounds', () => {
  const row = fc.tuple(fc.nat(20), fc.nat(9), fc.constantFrom(-2, -1, 1, 2));
  const insert = fc.tuple(fc.array(row, { maxLength: 12 }), fc.constantFrom(1 as const, -1 as const));
  fc.assert(
    fc.property(fc.array(insert, { maxLength: 12 }), fc.nat(9), fc.nat(10), (inserts, lower, upper) => {
      const c = new Correction();
      const naive = new Map<string, number>();
      for (const [rows, sign] of inserts) {
        c.insert(batchOf(rows), sign);
        for (const [v, t, d] of rows)
          if (t < upper) {
            const key = `${v}@${Math.max(t, lower)}`;
            naive.set(key, (naive.get(key) ?? 0) + sign * d);
          }
      }
      for (const [k, d] of naive) if (d === 0) naive.delete(k);
      assert.deepEqual(contents(c, lower, upper), naive);
    }),
  );
});

test('growth keeps every row, and read-back empties it', () => {
  const c = new Correction();
  const chunk = (k: number) => batchOf(Array.from({ length: 5000 }, (_, i) => [k * 5000 + i, 3, 1] as const));
  for (let k = 0; k < 20; k++) c.insert(chunk(k), 1);
  assert(c.buckets > 8, 'a hundred thousand rows are spread over buckets');
  let n = 0;
  for (let b = 0; b < c.buckets; b++) n += c.before(b, 3, 4)?.length ?? 0;
  assert.equal(n, 100_000);
  for (let k = 19; k >= 0; k--) c.insert(chunk(k), -1);
  assert.equal(contents(c, 0, 9).size, 0);
  assert.equal(c.rows, 0);
});

test('rows that cancel while it grows need no buckets', () => {
  const c = new Correction();
  const rows = Array.from({ length: 4000 }, (_, i) => [i, 1, 1] as const);
  for (let k = 0; k < 10; k++) {
    c.insert(batchOf(rows), 1);
    c.insert(batchOf(rows), -1);
  }
  assert.equal(
    consolidate(concatBatches([batchOf(rows), batchOf(rows.map(([v, t]) => [v, t, -1] as const))])).length,
    0,
  );
  assert.equal(contents(c, 0, 9).size, 0);
  assert(c.buckets <= 2);
});

test('once times before a bound are the same, contents of different times cancel', () => {
  const c = new Correction();
  c.insert(batchOf([[7, 2, 1]]), 1);
  c.insert(batchOf([[7, 9, 1]]), -1);
  c.advanceTo(10);
  assert.equal(contents(c, 10, 11).size, 0);
  assert.equal(c.rows, 0);
});
