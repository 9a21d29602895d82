/** Batches against a map from (row, time) to diff; hashes against equality. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  type Batch,
  batchBuffers,
  concatBatches,
  consolidate,
  diffAt,
  emptyBatch,
  gatherBatch,
  sliceBatch,
  timeAt,
} from './batch.ts';
import { ColumnBuilder } from './column.ts';
import { datumAt, pushDatum } from './datum.ts';
import { cellsEqual, hashRows, rowsEqual } from './hash.ts';
import { packedBatch } from './packed.ts';
import { kindOf, type } from './types.ts';

const params = { seed: Number(process.env['SEED'] ?? 13), numRuns: Number(process.env['RUNS'] ?? 200) };
const TYPES = [type('int4'), type('text'), type('int8')];

interface Update {
  readonly row: readonly [number | null, string | null, bigint | null];
  readonly time: number;
  readonly diff: number;
}
const update: fc.Arbitrary<Update> = fc.record({
  row: fc.tuple(
    fc.option(fc.integer({ min: 0, max: 2 }), { nil: null }),
    fc.option(fc.constantFrom('', 'a', 'abcde'), { nil: null }),
    fc.option(fc.bigInt({ min: 0n, max: 1n }), { nil: null }),
  ),
  time: fc.constantFrom(0, 1, 2 ** 32, 2 ** 32 + 1),
  diff: fc.integer({ min: -2, max: 2 }),
});
/** `flat` has one time and one diff for all. */
const updates = fc.oneof(
  fc.array(update, { maxLength: 30 }),
  fc.array(update, { maxLength: 30 }).map((us) => us.map((u) => ({ ...u, time: 5, diff: 1 }))),
);

function batch(us: readonly Update[], flat = false): Batch {
  const builders = TYPES.map((t) => new ColumnBuilder(kindOf(t)));
  for (const u of us) for (let k = 0; k < TYPES.length; k++) pushDatum(TYPES[k]!, builders[k]!, u.row[k]!);
  return {
    length: us.length,
    columns: builders.map((b) => b.finish()),
    times: flat ? 5 : Float64Array.from(us, (u) => u.time),
    diffs: flat ? 1 : Float64Array.from(us, (u) => u.diff),
  };
}
const rowKey = (b: Batch, i: number): string =>
  `${TYPES.map((t, k) => String(datumAt(t, b.columns[k]!, i))).join('|')}@${timeAt(b, i)}`;
function sums(b: Batch): Map<string, number> {
  const out = new Map<string, number>();
  for (let i = 0; i < b.length; i++) out.set(rowKey(b, i), (out.get(rowKey(b, i)) ?? 0) + diffAt(b, i));
  for (const [k, v] of out) if (v === 0) out.delete(k);
  return out;
}

test('consolidation sums equal updates, drops zeros, keeps the rest once', () => {
  fc.assert(
    fc.property(updates, (us) => {
      const flat = us.length > 0 && us.every((u) => u.time === 5);
      const b = batch(us, flat);
      const c = consolidate(b);
      assert.deepEqual(sums(c), sums(b));
      assert.equal(c.length, sums(b).size);
      for (let i = 0; i < c.length; i++) assert.notEqual(diffAt(c, i), 0);
      assert.deepEqual(sums(consolidate(c)), sums(c));
    }),
    params,
  );
});

test('concat, slice and gather keep updates', () => {
  fc.assert(
    fc.property(updates, updates, fc.nat(30), (a, b, at) => {
      const x = batch(a);
      const y = batch(b, b.length > 0 && b.every((u) => u.time === 5));
      const both = concatBatches([x, y]);
      const n = both.length;
      const keys = (z: Batch): string[] =>
        Array.from({ length: z.length }, (_, i) => `${rowKey(z, i)} ${diffAt(z, i)}`);
      assert.deepEqual(keys(both), [...keys(x), ...keys(y)]);
      const cut = Math.min(at, n);
      assert.deepEqual([...keys(sliceBatch(both, 0, cut)), ...keys(sliceBatch(both, cut, n))], keys(both));
      const back = Int32Array.from({ length: n }, (_, i) => n - 1 - i);
      assert.deepEqual(keys(gatherBatch(both, back, n)), keys(both).reverse());
    }),
    params,
  );
});

test('equal rows hash alike; equality is that of the values', () => {
  fc.assert(
    fc.property(updates, (us) => {
      const b = batch(us);
      const h = hashRows(b.columns, b.length);
      for (let i = 0; i < us.length; i++)
        for (let j = 0; j < us.length; j++) {
          const same = us[i]!.row.every((v, k) => v === us[j]!.row[k]);
          assert.equal(rowsEqual(b.columns, i, b.columns, j), same);
          if (same) assert.equal(h[i], h[j]);
        }
    }),
    params,
  );
});

test('every NaN is one value', () => {
  const values = new Float64Array(2);
  new Uint32Array(values.buffer).set([0, 0x7ff80000, 0, 0xfff80000]);
  const c = { ...new ColumnBuilder('f64').finish(), length: 2, values };
  assert.ok(cellsEqual(c, 0, c, 1));
  const h = hashRows([c], 2);
  assert.equal(h[0], h[1]);
});

test('a hash spreads: few of 4096 consecutive integers share their low 12 bits', () => {
  const b = new ColumnBuilder('i64');
  for (let i = 0; i < 4096; i++) b.pushI64Number(i * 4096);
  const h = hashRows([b.finish()], 4096);
  const slots = new Set([...h].map((x) => x & 4095));
  // Random placement fills 63 %.
  assert.ok(slots.size > 2400, `${slots.size} slots`);
});

test('an empty batch, and the buffers of a batch', () => {
  const e = emptyBatch(['bool', 'i32', 'i64', 'f64', 'bytes']);
  assert.equal(e.length, 0);
  assert.equal(consolidate(e), e);
  const b = batch([{ row: [1, null, 2n], time: 0, diff: 1 }]);
  const buffers = batchBuffers(b);
  assert.equal(new Set(buffers).size, buffers.length);
  // Three columns' values, the text's offsets and bitmap, times and diffs.
  assert.equal(buffers.length, 7);
});

test('a packed batch has the same updates in one buffer, of its own', () => {
  fc.assert(
    fc.property(updates, fc.nat(30), fc.nat(30), fc.boolean(), (us, a, b, flat) => {
      const whole = batch(us, flat);
      const [from, to] = [Math.min(a, b, us.length), Math.min(Math.max(a, b), us.length)];
      const slice = sliceBatch(whole, from, to);
      const packed = packedBatch(slice);
      assert.equal(packed.length, to - from);
      for (let i = 0; i < packed.length; i++) {
        assert.equal(rowKey(packed, i), rowKey(slice, i));
        assert.equal(diffAt(packed, i), diffAt(slice, i));
      }
      const [buffer, ...others] = batchBuffers(packed).filter((x) => x.byteLength > 0);
      assert.equal(others.length, 0);
      assert.ok(buffer === undefined || !batchBuffers(whole).includes(buffer));
    }),
    params,
  );
});
