/** What a state holds, as the arrangement relations count it; and growth of the typed arrays that hold it. */

/** Filled by adding: each part of a state adds its share to one object, so that measuring allocates nothing. */
export interface StateSize {
  /** Rows or groups that live. */
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

export function growI32(a: Int32Array, n: number): Int32Array<ArrayBuffer> {
  const grown = new Int32Array(n);
  grown.set(a);
  return grown;
}

export function growF64(a: Float64Array, n: number): Float64Array<ArrayBuffer> {
  const grown = new Float64Array(n);
  grown.set(a);
  return grown;
}

export function growU8(a: Uint8Array, n: number): Uint8Array<ArrayBuffer> {
  const grown = new Uint8Array(n);
  grown.set(a);
  return grown;
}

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
