/** What a state holds, as the arrangement relations count it; and growth of the typed arrays that hold it. */
import { assert } from '../../base/assert.ts';

/** Filled by adding: each part of a state adds its share to one object, so that measuring allocates nothing. */
export interface StateSize {
  /** Groups that live, and the rows and distinct values that are kept for them. */
  records: number;
  /** Bytes that hold something. */
  used: number;
  /** Bytes of the typed arrays. */
  allocated: number;
  /** Typed arrays that live. */
  buffers: number;
}

export const emptySize = (): StateSize => ({ records: 0, used: 0, allocated: 0, buffers: 0 });

/** Room for n elements: the next size in doublings, so that growing by ones costs amortised nothing. */
export function roomFor(n: number): number {
  let size = 16;
  while (size < n) size *= 2;
  return size;
}

/** From here on an array is given room to grow in place. */
const RESERVE_FROM = 1 << 20;
/** Enough that the allocator maps fresh pages, which cost nothing before they are written. */
const LEAST_RESERVE = 1 << 28;
const RESERVED = 16;
const reserves = new WeakSet<ArrayBufferLike>();

/**
 * A buffer of at least so many bytes with the contents of `a` and zeros behind them. The arrays of a state all grow in
 * one step, and copying them took 60 ms at two million groups: so a large one takes address space to spare, and grows
 * by a wider view until that is used up. Memory is what was written, as ever; V8 counts the whole as external.
 */
function room(a: Int32Array | Float64Array | Uint8Array, bytes: number): ArrayBuffer {
  const { buffer } = a;
  assert(a.byteOffset === 0, 'a whole array grows, not a part of one');
  if (reserves.has(buffer) && bytes <= buffer.byteLength) return buffer as ArrayBuffer;
  const made = bytes < RESERVE_FROM ? new ArrayBuffer(bytes) : reserved(bytes);
  new Uint8Array(made).set(new Uint8Array(buffer, a.byteOffset, a.byteLength));
  return made;
}

function reserved(bytes: number): ArrayBuffer {
  let made: ArrayBuffer;
  try {
    made = new ArrayBuffer(Math.max(LEAST_RESERVE, bytes * RESERVED));
  } catch {
    // A machine that counts address space as memory: what is needed, and no more.
    made = new ArrayBuffer(bytes);
  }
  reserves.add(made);
  return made;
}

export const growI32 = (a: Int32Array, n: number): Int32Array<ArrayBuffer> =>
  new Int32Array(room(a, 4 * n), 0, n);
export const growF64 = (a: Float64Array, n: number): Float64Array<ArrayBuffer> =>
  new Float64Array(room(a, 8 * n), 0, n);
export const growU8 = (a: Uint8Array, n: number): Uint8Array<ArrayBuffer> => new Uint8Array(room(a, n), 0, n);

/** Adds arrays of which `live` elements are in use. */
export function addArray(
  size: StateSize,
  a: Int32Array | Float64Array | Uint8Array,
  live: number = a.length,
): void {
  if (a.length === 0) return;
  size.used += live * a.BYTES_PER_ELEMENT;
  size.allocated += a.byteLength;
  size.buffers += 1;
}
