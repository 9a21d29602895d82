import assert from 'node:assert/strict';
import { test } from 'node:test';
import { crc32 as nodeCrc32 } from 'node:zlib';
import fc from 'fast-check';
import { SqlError } from '../base/error.ts';
import { type Batch, batchBuffers, emptyBatch, sliceBatch } from '../repr/batch.ts';
import { ColumnBuilder, i64ToBigInt, isNull } from '../repr/column.ts';
import type { Kind } from '../repr/types.ts';
import { crc32 } from './crc32.ts';
import { ints, SCHEMA, texts } from './fixtures.ts';
import { decodePart, encodePart, MAX_PART_BYTES, MAX_PART_ROWS, splitUpdates, timeRange } from './part.ts';
import type { ShardSchema } from './shard-types.ts';

const KINDS: readonly Kind[] = ['bool', 'i32', 'i64', 'f64', 'bytes'];
const ERRS: readonly Kind[] = ['bytes'];

type Cell = null | number | bigint | Uint8Array;
const cell = (kind: Kind): fc.Arbitrary<Cell> => {
  const values: Record<Kind, fc.Arbitrary<Cell>> = {
    bool: fc.nat(1),
    i32: fc.integer(),
    i64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }),
    f64: fc.double(),
    bytes: fc.uint8Array({ maxLength: 40 }),
  };
  return fc.oneof({ weight: 4, arbitrary: values[kind] }, { weight: 1, arbitrary: fc.constant(null) });
};

function build(
  kinds: readonly Kind[],
  table: readonly (readonly Cell[])[],
  times: Batch['times'],
  diffs: Batch['diffs'],
): Batch {
  const columns = kinds.map((kind, k) => {
    const b = new ColumnBuilder(kind);
    for (const row of table) {
      const v = row[k]!;
      if (v === null) b.pushNull();
      else if (typeof v === 'bigint') b.pushI64(v);
      else if (typeof v === 'number') b.pushNumber(v);
      else b.pushBytes(v);
    }
    return b.finish();
  });
  return { length: table.length, columns, times, diffs };
}

/** The cells as plain values, by the meaning of the columns and not by their layout. */
function cells(b: Batch): unknown[][] {
  return Array.from({ length: b.length }, (_, i) => [
    ...b.columns.map((c) => {
      if (isNull(c, i)) return null;
      if (c.kind === 'bytes') return [...c.values.subarray(c.offsets[i]!, c.offsets[i + 1]!)];
      return c.kind === 'i64' ? i64ToBigInt(c.values as Int32Array, i) : c.values[i];
    }),
    typeof b.times === 'number' ? b.times : b.times[i],
    typeof b.diffs === 'number' ? b.diffs : b.diffs[i],
  ]);
}

const batchOf = fc
  .tuple(
    fc.array(fc.constantFrom(...KINDS), { minLength: 0, maxLength: 5 }),
    fc.nat(30),
    fc.boolean(),
    fc.boolean(),
  )
  .chain(([kinds, n, timeARow, diffARow]) =>
    fc.record({
      kinds: fc.constant(kinds),
      batch: fc
        .tuple(
          fc.array(fc.tuple(...kinds.map(cell)), { minLength: n, maxLength: n }),
          fc.array(fc.nat(1e9), { minLength: n + 1, maxLength: n + 1 }),
          fc.array(fc.integer({ min: -3, max: 3 }), { minLength: n + 1, maxLength: n + 1 }),
        )
        .map(([table, t, d]) =>
          build(
            kinds,
            table,
            timeARow ? Float64Array.from(t.slice(0, n)) : t[0]!,
            diffARow ? Float64Array.from(d.slice(0, n)) : d[0]!,
          ),
        ),
      from: fc.nat(n),
    }),
  );

const seed = process.env['SEED'] === undefined ? {} : { seed: Number(process.env['SEED']) };

test('a part reads as what was written, sliced or whole, wherever its bytes stand', () => {
  fc.assert(
    fc.property(batchOf, fc.nat(9), ({ kinds, batch, from }, shift) => {
      const schema: ShardSchema = { oks: kinds, errs: ERRS };
      for (const oks of [batch, sliceBatch(batch, from, batch.length)]) {
        const encoded = encodePart({ oks, errs: texts([['bad', 4, -2]]) });
        const moved = new Uint8Array(encoded.length + shift);
        moved.set(encoded, shift);
        const read = decodePart(moved.subarray(shift), 'p', schema);
        assert.deepEqual(cells(read.oks), cells(oks));
        assert.deepEqual(cells(read.errs), [[[98, 97, 100], 4, -2]]);
        assert.deepEqual(
          read.oks.columns.map((c) => c.kind),
          kinds,
        );
      }
    }),
    { numRuns: Number(process.env['RUNS'] ?? 300), ...seed },
  );
});

test('whichever byte is changed or missing, the part is corrupt and named', () => {
  const encoded = encodePart({
    oks: ints([
      [1, 2, 1],
      [7, 3, -1],
    ]),
    errs: texts([['x', 2, 1]]),
  });
  const corrupt = (e: unknown) =>
    e instanceof SqlError && e.code === 'data_corrupted' && e.message === 'part u1/x is corrupt';
  for (let i = 0; i < encoded.length; i++) {
    const changed = encoded.slice();
    changed[i]! ^= 1 << (i % 8);
    assert.throws(() => decodePart(changed, 'u1/x', SCHEMA), corrupt, `byte ${i} changed`);
    assert.throws(() => decodePart(encoded.slice(0, i), 'u1/x', SCHEMA), corrupt, `cut to ${i} bytes`);
  }
  assert.throws(() => decodePart(encoded, 'u1/x', { oks: ['f64'], errs: ERRS }), corrupt);
  assert.throws(() => decodePart(encoded, 'u1/x', { oks: ['i64', 'i64'], errs: ERRS }), corrupt);
});

test('rows are views of the given bytes; errors are not, so that rows can be transferred', () => {
  const encoded = encodePart({ oks: ints([[1, 2, 1]]), errs: texts([['x', 2, 1]]) });
  const { oks, errs } = decodePart(encoded, 'p', SCHEMA);
  assert.equal(oks.columns[0]!.values.buffer, encoded.buffer);
  structuredClone(oks, { transfer: batchBuffers(oks) });
  assert.equal(errs.columns[0]!.values[0], 'x'.charCodeAt(0));
});

test('updates split into parts within the bounds, nothing lost', () => {
  const n = 300_000;
  const oks: Batch = {
    ...ints([]),
    length: n,
    times: 7,
    diffs: 1,
    columns: [build(['i64'], [], 0, 1).columns[0]!],
  };
  const values = new Int32Array(2 * n).map((_, i) => (i % 2 === 0 ? i / 2 : 0));
  const wide = { ...oks, columns: [{ ...oks.columns[0]!, length: n, values }] };
  const pieces = splitUpdates({ oks: wide, errs: texts([['x', 7, 1]]) });
  assert.equal(pieces.length, 3);
  for (const p of pieces) {
    assert.ok(p.oks.length <= MAX_PART_ROWS);
    assert.ok(encodePart(p).length <= MAX_PART_BYTES + 1024);
  }
  assert.equal(
    pieces.reduce((m, p) => m + p.oks.length, 0),
    n,
  );
  assert.deepEqual(
    pieces.map((p) => p.errs.length),
    [0, 0, 1],
  );
  assert.deepEqual(
    pieces.map((p) => i64ToBigInt(p.oks.columns[0]!.values as Int32Array, 0)),
    [0n, 100_000n, 200_000n],
  );
  assert.deepEqual(splitUpdates({ oks: emptyBatch(['i64']), errs: emptyBatch(ERRS) }), []);
  assert.deepEqual(timeRange(pieces[0]!), [7, 7]);
});

test('the checksum is the usual CRC-32, in pieces too', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), fc.uint8Array({ maxLength: 100 }), (a, b) => {
      assert.equal(crc32(a), nodeCrc32(a));
      assert.equal(crc32(b, crc32(a)), nodeCrc32(Buffer.concat([a, b])));
    }),
    seed,
  );
});
