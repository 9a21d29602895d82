/** Batches in one buffer, as they cross to another thread. */
import type { Batch } from './batch.ts';
import { type Column, NO_OFFSETS } from './column.ts';

/** A copy whose arrays are views of one buffer of its own: one crosses to another thread for a fraction of what a dozen take. */
export function packedBatch(b: Batch): Batch {
  let bytes = 0;
  for (const c of b.columns) bytes += packedBytes(c);
  for (const s of [b.times, b.diffs]) if (typeof s !== 'number') bytes += Packing.room(s.length, 8);
  const to = new Packing(bytes);
  return {
    length: b.length,
    columns: b.columns.map((c) => packedColumn(c, to)),
    times: typeof b.times === 'number' ? b.times : to.f64(b.times),
    diffs: typeof b.diffs === 'number' ? b.diffs : to.f64(b.diffs),
  };
}

/** Hands out the room of one buffer, array by array, each from a multiple of 8. */
class Packing {
  readonly #buffer: ArrayBuffer;
  #at = 0;

  constructor(bytes: number) {
    this.#buffer = new ArrayBuffer(bytes);
  }

  /** Bytes that an array of `n` takes. */
  static room(n: number, width: number): number {
    return (n * width + 7) & ~7;
  }

  i32(from: Int32Array): Int32Array<ArrayBuffer> {
    const to = new Int32Array(this.#buffer, this.#take(from.length, 4), from.length);
    to.set(from);
    return to;
  }

  f64(from: Float64Array): Float64Array<ArrayBuffer> {
    const to = new Float64Array(this.#buffer, this.#take(from.length, 8), from.length);
    to.set(from);
    return to;
  }

  u8(from: Uint8Array): Uint8Array<ArrayBuffer> {
    const to = new Uint8Array(this.#buffer, this.#take(from.length, 1), from.length);
    to.set(from);
    return to;
  }

  #take(n: number, width: number): number {
    const at = this.#at;
    this.#at += Packing.room(n, width);
    return at;
  }
}

/** What a column takes of a packing. */
function packedBytes(c: Column): number {
  const validity = c.validity === null ? 0 : Packing.room((c.length + 7) >> 3, 1);
  if (c.kind !== 'bytes') return validity + Packing.room(usedOf(c), c.values.BYTES_PER_ELEMENT);
  return validity + Packing.room(usedOf(c), 1) + Packing.room(c.length + 1, 4);
}

/** Array elements of the rows. */
function usedOf(c: Column): number {
  if (c.kind === 'bytes') return c.offsets[c.length]! - c.offsets[0]!;
  return c.kind === 'i64' ? 2 * c.length : c.length;
}

function packedColumn(c: Column, to: Packing): Column {
  const { kind, length } = c;
  const validity = c.validity === null ? null : to.u8(c.validity.subarray(0, (length + 7) >> 3));
  const start = kind === 'bytes' ? c.offsets[0]! : 0;
  const used = c.values.subarray(start, start + usedOf(c));
  const values =
    used instanceof Float64Array ? to.f64(used) : used instanceof Int32Array ? to.i32(used) : to.u8(used);
  if (kind !== 'bytes') return { kind, length, validity, values, offsets: NO_OFFSETS };
  const offsets = to.i32(c.offsets.subarray(0, length + 1));
  if (start !== 0) for (let i = 0; i <= length; i++) offsets[i]! -= start;
  return { kind, length, validity, values, offsets };
}
