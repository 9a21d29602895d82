/**
 * A column: values of one physical kind, and which of them are NULL. Arrow's memory layout except for booleans
 * (a byte each: a bit-packed boolean costs more in every kernel than it saves), so that a column is transferred
 * between threads and written to a part as the buffers it already is.
 *
 * Columns are immutable once built. All kinds share one object shape, which keeps property reads monomorphic in
 * code that walks columns of several kinds; kernels take the typed array out before their loop.
 *
 * The value under a NULL is always zero (an empty string for `bytes`): hashing and comparing need no branch to be
 * deterministic, and a NULL never carries what stood there before.
 */
import { assert } from '../base/assert.ts';
import type { Kind } from './types.ts';

export type Values = Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

export interface Column {
  readonly kind: Kind;
  readonly length: number;
  /** Arrow validity bitmap (bit i set: row i is not NULL), or null when no row is NULL. */
  readonly validity: Uint8Array<ArrayBuffer> | null;
  /**
   * `bool`: Uint8Array(n); `i32`: Int32Array(n); `i64`: Int32Array(2n), low word first; `f64`: Float64Array(n);
   * `bytes`: the data, Uint8Array. May be longer than needed; `length` counts.
   */
  readonly values: Values;
  /** `bytes` only: Int32Array(n + 1), offsets into `values`. An empty array otherwise. */
  readonly offsets: Int32Array<ArrayBuffer>;
}

export const NO_OFFSETS: Int32Array<ArrayBuffer> = new Int32Array(0);

export function isNull(c: Column, i: number): boolean {
  const v = c.validity;
  return v !== null && (v[i >> 3]! & (1 << (i & 7))) === 0;
}

/** 2^32; the high word of an i64 weighs this much. */
export const TWO32 = 4294967296;

/**
 * An i64 as a double; exact iff |value| <= 2^53, which the caller checks by `Number.isSafeInteger` where it
 * matters. Costs 0.9 ns a value; BigInt64Array reads cost 12.
 */
export function i64ToNumber(values: Int32Array, i: number): number {
  return values[2 * i + 1]! * TWO32 + (values[2 * i]! >>> 0);
}

export function i64ToBigInt(values: Int32Array, i: number): bigint {
  return (BigInt(values[2 * i + 1]!) << 32n) | BigInt(values[2 * i]! >>> 0);
}

/** Unsigned reading of the same 64 bits (uint8). */
export function u64ToBigInt(values: Int32Array, i: number): bigint {
  return BigInt.asUintN(64, i64ToBigInt(values, i));
}

/** Stores a safe integer as i64. */
export function setI64Number(values: Int32Array, i: number, v: number): void {
  values[2 * i] = v | 0; // ToInt32 is modulo 2^32, also beyond 2^31
  values[2 * i + 1] = Math.floor(v / TWO32);
}

export function setI64BigInt(values: Int32Array, i: number, v: bigint): void {
  values[2 * i] = Number(BigInt.asIntN(32, v));
  values[2 * i + 1] = Number(BigInt.asIntN(32, v >> 32n));
}

/** A column of n NULLs. */
export function nullColumn(kind: Kind, n: number): Column {
  return {
    kind,
    length: n,
    validity: new Uint8Array((n + 7) >> 3),
    values: zeroValues(kind, kind === 'bytes' ? 0 : n),
    offsets: kind === 'bytes' ? new Int32Array(n + 1) : NO_OFFSETS,
  };
}

/** Zeroed storage for n values (`bytes`: n bytes of data). */
export function zeroValues(kind: Kind, n: number): Values {
  switch (kind) {
    case 'bool':
    case 'bytes':
      return new Uint8Array(n);
    case 'i32':
      return new Int32Array(n);
    case 'i64':
      return new Int32Array(2 * n);
    case 'f64':
      return new Float64Array(n);
  }
}

/** All-valid bitmap for n rows with the bits past n clear. */
export function allValid(n: number): Uint8Array<ArrayBuffer> {
  const v = new Uint8Array((n + 7) >> 3).fill(0xff);
  if (n & 7) v[v.length - 1] = (1 << (n & 7)) - 1;
  return v;
}

/**
 * Rows `indices[0..n)` of a column, in that order, repeats allowed: the one gather kernel of the engine.
 * A negative index gives NULL (the padded side of an outer join, a missing lookup).
 */
export function gather(c: Column, indices: Int32Array, n: number): Column {
  let validity: Uint8Array<ArrayBuffer> | null = null;
  const src = c.validity;
  for (let i = 0; i < n; i++) {
    const j = indices[i]!;
    if (j >= 0 && (src === null || (src[j >> 3]! & (1 << (j & 7))) !== 0)) {
      if (validity !== null) validity[i >> 3]! |= 1 << (i & 7);
    } else if (validity === null) {
      validity = new Uint8Array((n + 7) >> 3);
      for (let k = 0; k < i; k++) validity[k >> 3]! |= 1 << (k & 7);
    }
  }
  if (c.kind === 'bytes') {
    const { values, offsets } = gatherBytes(c, indices, n);
    return { kind: 'bytes', length: n, validity, values, offsets };
  }
  return { kind: c.kind, length: n, validity, values: gatherFixed(c, indices, n), offsets: NO_OFFSETS };
}

function gatherFixed(c: Column, indices: Int32Array, n: number): Values {
  switch (c.kind) {
    case 'bool': {
      const s = c.values as Uint8Array;
      const d = new Uint8Array(n);
      for (let i = 0; i < n; i++) {
        const j = indices[i]!;
        if (j >= 0) d[i] = s[j]!;
      }
      return d;
    }
    case 'i32': {
      const s = c.values as Int32Array;
      const d = new Int32Array(n);
      for (let i = 0; i < n; i++) {
        const j = indices[i]!;
        if (j >= 0) d[i] = s[j]!;
      }
      return d;
    }
    case 'i64': {
      const s = c.values as Int32Array;
      const d = new Int32Array(2 * n);
      for (let i = 0; i < n; i++) {
        const j = indices[i]!;
        if (j >= 0) {
          d[2 * i] = s[2 * j]!;
          d[2 * i + 1] = s[2 * j + 1]!;
        }
      }
      return d;
    }
    default: {
      const s = c.values as Float64Array;
      const d = new Float64Array(n);
      for (let i = 0; i < n; i++) {
        const j = indices[i]!;
        if (j >= 0) d[i] = s[j]!;
      }
      return d;
    }
  }
}

function gatherBytes(
  c: Column,
  indices: Int32Array,
  n: number,
): { values: Uint8Array<ArrayBuffer>; offsets: Int32Array<ArrayBuffer> } {
  const src = c.values as Uint8Array;
  const so = c.offsets;
  const offsets = new Int32Array(n + 1);
  let total = 0;
  for (let i = 0; i < n; i++) {
    const j = indices[i]!;
    if (j >= 0) total += so[j + 1]! - so[j]!;
    offsets[i + 1] = total;
  }
  assert(total <= 0x7fffffff, 'a gathered column has at most 2^31 - 1 bytes');
  const values = new Uint8Array(total);
  for (let i = 0, p = 0; i < n; i++) {
    const j = indices[i]!;
    if (j < 0) continue;
    const end = so[j + 1]!;
    // Short strings dominate: a byte loop beats TypedArray.set below about 30 bytes.
    if (end - so[j]! < 32) for (let q = so[j]!; q < end; q++) values[p++] = src[q]!;
    else {
      values.set(src.subarray(so[j]!, end), p);
      p += end - so[j]!;
    }
  }
  return { values, offsets };
}

/** The columns laid end to end. All have the same kind; at least one. */
export function concatColumns(parts: readonly Column[]): Column {
  if (parts.length === 1) return parts[0]!;
  const kind = parts[0]!.kind;
  let n = 0;
  let bytes = 0;
  let nulls = false;
  for (const c of parts) {
    assert(c.kind === kind, `concatenated columns have one kind: ${c.kind} and ${kind}`);
    n += c.length;
    if (kind === 'bytes') bytes += c.offsets[c.length]! - c.offsets[0]!;
    if (c.validity !== null) nulls = true;
  }
  assert(bytes <= 0x7fffffff, 'a concatenated column has at most 2^31 - 1 bytes');
  const values = zeroValues(kind, kind === 'bytes' ? bytes : n);
  const offsets = kind === 'bytes' ? new Int32Array(n + 1) : NO_OFFSETS;
  const validity = nulls ? allValid(n) : null;
  const width = kind === 'i64' ? 2 : 1;
  let at = 0;
  let byteAt = 0;
  for (const c of parts) {
    if (kind === 'bytes') {
      const from = c.offsets[0]!;
      values.set(c.values.subarray(from, c.offsets[c.length]!), byteAt);
      for (let i = 0; i < c.length; i++) offsets[at + i + 1] = byteAt + c.offsets[i + 1]! - from;
      byteAt += c.offsets[c.length]! - from;
    } else values.set(c.values.subarray(0, c.length * width), at * width);
    if (c.validity !== null && validity !== null)
      for (let i = 0; i < c.length; i++) if (isNull(c, i)) validity[(at + i) >> 3]! &= ~(1 << ((at + i) & 7));
    at += c.length;
  }
  return { kind, length: n, validity, values, offsets };
}

/** Rows [from, to) as a column of its own; `bytes` data is shared, not copied. */
export function sliceColumn(c: Column, from: number, to: number): Column {
  if (from === 0 && to === c.length) return c;
  const n = to - from;
  let validity: Uint8Array<ArrayBuffer> | null = null;
  if (c.validity !== null) {
    validity = new Uint8Array((n + 7) >> 3);
    for (let i = 0; i < n; i++) if (!isNull(c, from + i)) validity[i >> 3]! |= 1 << (i & 7);
  }
  const width = c.kind === 'i64' ? 2 : 1;
  if (c.kind === 'bytes')
    return {
      kind: 'bytes',
      length: n,
      validity,
      values: c.values,
      offsets: c.offsets.subarray(from, to + 1) as Int32Array<ArrayBuffer>,
    };
  return {
    kind: c.kind,
    length: n,
    validity,
    values: c.values.subarray(from * width, to * width) as Values,
    offsets: NO_OFFSETS,
  };
}

/** Bytes in use and bytes allocated, for arrangement accounting; buffers = typed arrays that live. */
export function columnBytes(c: Column): { used: number; allocated: number; buffers: number } {
  const width = c.kind === 'i64' ? 2 : 1;
  const used =
    c.kind === 'bytes'
      ? c.offsets[c.length]! - c.offsets[0]! + 4 * (c.length + 1)
      : c.length * width * c.values.BYTES_PER_ELEMENT;
  const v = c.validity;
  return {
    used: used + (v === null ? 0 : (c.length + 7) >> 3),
    allocated: c.values.byteLength + c.offsets.byteLength + (v === null ? 0 : v.byteLength),
    buffers: 1 + (c.kind === 'bytes' ? 1 : 0) + (v === null ? 0 : 1),
  };
}

/** Builds a column value by value; grows by doubling. For edges (parsing, decoding): kernels write typed arrays. */
export class ColumnBuilder {
  readonly kind: Kind;
  #n = 0;
  #cap: number;
  #values: Values;
  #offsets: Int32Array<ArrayBuffer>;
  #validity: Uint8Array<ArrayBuffer> | null = null;
  #bytes = 0;

  constructor(kind: Kind, capacity = 16) {
    this.kind = kind;
    this.#cap = Math.max(capacity, 8);
    this.#values = zeroValues(kind, kind === 'bytes' ? this.#cap * 8 : this.#cap);
    this.#offsets = kind === 'bytes' ? new Int32Array(this.#cap + 1) : NO_OFFSETS;
  }

  get length(): number {
    return this.#n;
  }

  #next(): number {
    if (this.#n === this.#cap) this.#grow();
    const i = this.#n++;
    if (this.#validity !== null) this.#validity[i >> 3]! |= 1 << (i & 7);
    return i;
  }

  #grow(): void {
    this.#cap *= 2;
    if (this.kind === 'bytes') {
      const o = new Int32Array(this.#cap + 1);
      o.set(this.#offsets);
      this.#offsets = o;
    } else {
      const v = zeroValues(this.kind, this.#cap);
      v.set(this.#values);
      this.#values = v;
    }
    if (this.#validity !== null) {
      const w = new Uint8Array((this.#cap + 7) >> 3);
      w.set(this.#validity);
      this.#validity = w;
    }
  }

  pushNull(): void {
    if (this.#validity === null) {
      this.#validity = new Uint8Array((this.#cap + 7) >> 3);
      for (let k = 0; k < this.#n; k++) this.#validity[k >> 3]! |= 1 << (k & 7);
    }
    const i = this.#next();
    this.#validity![i >> 3]! &= ~(1 << (i & 7));
    if (this.kind === 'bytes') this.#offsets[i + 1] = this.#bytes;
  }

  /** bool (0 or 1), i32 and f64 values. */
  pushNumber(v: number): void {
    const i = this.#next();
    this.#values[i] = v;
  }

  pushI64(v: bigint): void {
    const i = this.#next();
    setI64BigInt(this.#values as Int32Array, i, v);
  }

  /** A safe integer into an i64 column. */
  pushI64Number(v: number): void {
    const i = this.#next();
    setI64Number(this.#values as Int32Array, i, v);
  }

  pushBytes(src: Uint8Array, from = 0, to = src.length): void {
    const i = this.#next();
    const n = to - from;
    if (this.#bytes + n > this.#values.length) {
      assert(this.#bytes + n <= 0x7fffffff, 'a column has at most 2^31 - 1 bytes');
      const v = new Uint8Array(Math.min(0x7fffffff, Math.max(this.#bytes + n, this.#values.length * 2)));
      v.set((this.#values as Uint8Array).subarray(0, this.#bytes));
      this.#values = v;
    }
    if (n < 32) for (let q = from, p = this.#bytes; q < to; q++) this.#values[p++] = src[q]!;
    else
      (this.#values as Uint8Array).set(
        from === 0 && to === src.length ? src : src.subarray(from, to),
        this.#bytes,
      );
    this.#bytes += n;
    this.#offsets[i + 1] = this.#bytes;
  }

  /** Row i of a column of the same kind. */
  pushFrom(c: Column, i: number): void {
    if (isNull(c, i)) this.pushNull();
    else if (this.kind === 'bytes') this.pushBytes(c.values as Uint8Array, c.offsets[i]!, c.offsets[i + 1]!);
    else if (this.kind === 'i64') {
      const k = this.#next();
      this.#values[2 * k] = c.values[2 * i]!;
      this.#values[2 * k + 1] = c.values[2 * i + 1]!;
    } else this.pushNumber(c.values[i]!);
  }

  /** The column; the builder starts over, empty. */
  finish(): Column {
    const n = this.#n;
    const width = this.kind === 'i64' ? 2 : 1;
    const c: Column = {
      kind: this.kind,
      length: n,
      validity: this.#validity === null ? null : this.#validity.slice(0, (n + 7) >> 3),
      values:
        this.kind === 'bytes'
          ? (this.#values as Uint8Array<ArrayBuffer>).slice(0, this.#bytes)
          : (this.#values.slice(0, n * width) as Values),
      offsets: this.kind === 'bytes' ? this.#offsets.slice(0, n + 1) : NO_OFFSETS,
    };
    this.#n = 0;
    this.#bytes = 0;
    this.#validity = null;
    this.#values = zeroValues(this.kind, this.kind === 'bytes' ? this.#cap * 8 : this.#cap);
    if (this.kind === 'bytes') this.#offsets = new Int32Array(this.#cap + 1);
    return c;
  }
}
