/**
 * A batch of updates: rows in columns, each with a time and a diff. This is what flows between operators, crosses
 * threads, and lies in a shard's part. No order, repeats allowed; `consolidate` makes it canonical.
 */
import { assert } from '../base/assert.ts';
import { type Column, concatColumns, gather, sliceColumn } from './column.ts';
import { hashRows, rowsEqual } from './hash.ts';
import type { Kind } from './types.ts';

export interface Batch {
  readonly length: number;
  readonly columns: readonly Column[];
  /** One time for all rows, or one a row. A snapshot is at one time: that value is stored once. */
  readonly times: number | Float64Array<ArrayBuffer>;
  /** Signed multiplicities, exact to 2^53; one for all rows, or one a row. */
  readonly diffs: number | Float64Array<ArrayBuffer>;
}

export const timeAt = (b: Batch, i: number): number => (typeof b.times === 'number' ? b.times : b.times[i]!);
export const diffAt = (b: Batch, i: number): number => (typeof b.diffs === 'number' ? b.diffs : b.diffs[i]!);

export function emptyBatch(kinds: readonly Kind[]): Batch {
  return { length: 0, columns: kinds.map((k) => emptyColumn(k)), times: 0, diffs: 1 };
}

function emptyColumn(kind: Kind): Column {
  return {
    kind,
    length: 0,
    validity: null,
    values:
      kind === 'f64'
        ? new Float64Array(0)
        : kind === 'i32' || kind === 'i64'
          ? new Int32Array(0)
          : new Uint8Array(0),
    offsets: new Int32Array(kind === 'bytes' ? 1 : 0),
  };
}

/** Rows `indices[0..n)`. */
export function gatherBatch(b: Batch, indices: Int32Array, n: number): Batch {
  return {
    length: n,
    columns: b.columns.map((c) => gather(c, indices, n)),
    times: typeof b.times === 'number' ? b.times : gatherF64(b.times, indices, n),
    diffs: typeof b.diffs === 'number' ? b.diffs : gatherF64(b.diffs, indices, n),
  };
}

function gatherF64(s: Float64Array, indices: Int32Array, n: number): Float64Array<ArrayBuffer> {
  const d = new Float64Array(n);
  for (let i = 0; i < n; i++) d[i] = s[indices[i]!]!;
  return d;
}

export function sliceBatch(b: Batch, from: number, to: number): Batch {
  if (from === 0 && to === b.length) return b;
  return {
    length: to - from,
    columns: b.columns.map((c) => sliceColumn(c, from, to)),
    times: typeof b.times === 'number' ? b.times : b.times.subarray(from, to),
    diffs: typeof b.diffs === 'number' ? b.diffs : b.diffs.subarray(from, to),
  };
}

/** Batches of one shape end to end; at least one. */
export function concatBatches(parts: readonly Batch[]): Batch {
  assert(parts.length > 0, 'at least one batch is concatenated');
  if (parts.length === 1) return parts[0]!;
  let n = 0;
  for (const p of parts) n += p.length;
  const width = parts[0]!.columns.length;
  const columns: Column[] = [];
  for (let k = 0; k < width; k++) columns.push(concatColumns(parts.map((p) => p.columns[k]!)));
  return {
    length: n,
    columns,
    times: concatScalars(parts, 'times', n),
    diffs: concatScalars(parts, 'diffs', n),
  };
}

function concatScalars(
  parts: readonly Batch[],
  field: 'times' | 'diffs',
  n: number,
): number | Float64Array<ArrayBuffer> {
  const first = parts[0]![field];
  if (typeof first === 'number' && parts.every((p) => p[field] === first)) return first;
  const out = new Float64Array(n);
  let at = 0;
  for (const p of parts) {
    const v = p[field];
    if (typeof v === 'number') out.fill(v, at, at + p.length);
    else out.set(v, at);
    at += p.length;
  }
  return out;
}

/**
 * The same updates with equal (row, time) summed and zero sums gone. Order of the result is that of first
 * appearance. Linear: a hash table over rows, full comparison on each hit. A row whose sum leaves ±2^53 is a
 * broken promise of the engine (diffs are exact), so it asserts.
 */
export function consolidate(b: Batch): Batch {
  if (b.length === 0) return b;
  const n = b.length;
  const hashes = hashRows(b.columns, n);
  if (typeof b.times !== 'number')
    for (let i = 0; i < n; i++) hashes[i] = (hashes[i]! ^ Math.imul(b.times[i]! | 0, 0x9e3779b1)) | 0;
  let size = 16;
  while (size < n * 2) size *= 2;
  const mask = size - 1;
  const table = new Int32Array(size); // index of the representative + 1
  const sums = new Float64Array(n); // by representative
  const reps = new Int32Array(n);
  let distinct = 0;
  for (let i = 0; i < n; i++) {
    let s = hashes[i]! & mask;
    for (;;) {
      const e = table[s]!;
      if (e === 0) {
        table[s] = ++distinct;
        reps[distinct - 1] = i;
        sums[distinct - 1] = diffAt(b, i);
        break;
      }
      const r = reps[e - 1]!;
      if (hashes[r] === hashes[i] && timeAt(b, r) === timeAt(b, i) && rowsEqual(b.columns, r, b.columns, i)) {
        sums[e - 1]! += diffAt(b, i);
        break;
      }
      s = (s + 1) & mask;
    }
  }
  let live = 0;
  let same = true;
  for (let k = 0; k < distinct; k++) {
    const d = sums[k]!;
    assert(Number.isSafeInteger(d), 'a multiplicity stays within 2^53');
    if (d === 0) continue;
    reps[live] = reps[k]!;
    sums[live] = d;
    if (d !== sums[0]) same = false;
    live++;
  }
  if (live === n && typeof b.diffs === 'number') return b;
  const out = gatherBatch(b, reps, live);
  return { ...out, diffs: live > 0 && same ? sums[0]! : sums.slice(0, live) };
}

/** Every ArrayBuffer of a batch, for transfer between threads. The batch is dead afterwards. */
export function batchBuffers(b: Batch): ArrayBuffer[] {
  const out = new Set<ArrayBuffer>();
  for (const c of b.columns) {
    out.add(c.values.buffer);
    if (c.offsets.length > 0) out.add(c.offsets.buffer);
    if (c.validity !== null) out.add(c.validity.buffer);
  }
  if (typeof b.times !== 'number') out.add(b.times.buffer);
  if (typeof b.diffs !== 'number') out.add(b.diffs.buffer);
  return [...out];
}
