/**
 * The column kernels of arrangements: scatter (a chunk's rows to their places), gather from two sources (merging),
 * append (new keys). Each does a range, so that its caller can stop between ranges. One loop per kind over typed
 * arrays taken out first.
 */
import { assert } from '../base/assert.ts';
import { allValid, type Column, isNull, NO_OFFSETS, type Values, zeroValues } from '../repr/column.ts';
import type { Kind } from '../repr/types.ts';

/** A column under construction: the shape of `Column`, writable. */
export interface MutableColumn extends Column {
  length: number;
  validity: Uint8Array<ArrayBuffer> | null;
  values: Values;
  offsets: Int32Array<ArrayBuffer>;
}

/** Room for n values; for `bytes` the offsets alone, since the data's size is known later. */
export function roomFor(kind: Kind, n: number): MutableColumn {
  return {
    kind,
    length: n,
    validity: null,
    values: zeroValues(kind, kind === 'bytes' ? 0 : n),
    offsets: kind === 'bytes' ? new Int32Array(n + 1) : NO_OFFSETS,
  };
}

function clearBit(dst: MutableColumn, i: number): void {
  dst.validity ??= allValid(dst.length);
  dst.validity[i >> 3]! &= ~(1 << (i & 7));
}

/** Row i of `src` goes to row `dest[i]`; of `bytes` the length alone, to be summed up before `scatterBytes`. */
export function scatter(dst: MutableColumn, src: Column, dest: Int32Array): void {
  const n = src.length;
  if (src.validity !== null) for (let i = 0; i < n; i++) if (isNull(src, i)) clearBit(dst, dest[i]!);
  switch (src.kind) {
    case 'i32':
      scatterI32(dst.values as Int32Array, src.values as Int32Array, dest, n);
      break;
    case 'i64':
      scatterI64(dst.values as Int32Array, src.values as Int32Array, dest, n);
      break;
    case 'bytes': {
      const to = dst.offsets;
      const from = src.offsets;
      for (let i = 0; i < n; i++) to[dest[i]! + 1] = from[i + 1]! - from[i]!;
      break;
    }
    case 'f64':
      scatterNumbers(dst.values as Float64Array, src.values as Float64Array, dest, n);
      break;
    case 'bool': {
      const to = dst.values as Uint8Array;
      const from = src.values as Uint8Array;
      for (let i = 0; i < n; i++) to[dest[i]!] = from[i]!;
    }
  }
}

function scatterI32(to: Int32Array, from: Int32Array, dest: Int32Array, n: number): void {
  for (let i = 0; i < n; i++) to[dest[i]!] = from[i]!;
}

function scatterI64(to: Int32Array, from: Int32Array, dest: Int32Array, n: number): void {
  for (let i = 0; i < n; i++) {
    const d = dest[i]!;
    to[2 * d] = from[2 * i]!;
    to[2 * d + 1] = from[2 * i + 1]!;
  }
}

export function scatterNumbers(to: Float64Array, from: Float64Array, dest: Int32Array, n: number): void {
  for (let i = 0; i < n; i++) to[dest[i]!] = from[i]!;
}

/** Lengths at [from, to) become offsets: each is added to the one before. */
export function sumOffsets(offsets: Int32Array, from: number, to: number): void {
  let at = offsets[from]!;
  for (let i = from; i < to; i++) {
    at += offsets[i + 1]!;
    assert(at <= 0x7fffffff, 'a column of an arrangement has at most 2^31 - 1 bytes');
    offsets[i + 1] = at;
  }
}

/** The data of a `bytes` column whose offsets stand. */
export function scatterBytes(dst: MutableColumn, src: Column, dest: Int32Array): void {
  const to = dst.values as Uint8Array;
  const from = src.values as Uint8Array;
  const so = src.offsets;
  const to0 = dst.offsets;
  for (let i = 0; i < src.length; i++) copyBytes(to, to0[dest[i]!]!, from, so[i]!, so[i + 1]!);
}

/** Short strings dominate: a byte loop beats TypedArray.set below about 30 bytes. */
function copyBytes(to: Uint8Array, at: number, from: Uint8Array, start: number, end: number): void {
  if (end - start < 32) for (let q = start, p = at; q < end; q++) to[p++] = from[q]!;
  else to.set(from.subarray(start, end), at);
}

/**
 * Two columns of one kind seen as one: rows of `a`, then rows of `b`. `rows[i]` of it goes to row i, for i in
 * [from, to); ranges come in order. Of `bytes` the offsets alone; `gatherBytes2` follows over the same ranges.
 */
export interface TwoColumns {
  readonly a: Column;
  readonly b: Column;
}

export function gather2(
  dst: MutableColumn,
  src: TwoColumns,
  rows: Int32Array,
  from: number,
  to: number,
): void {
  const { a, b } = src;
  const na = a.length;
  if (a.validity !== null || b.validity !== null)
    for (let i = from; i < to; i++) {
      const r = rows[i]!;
      if (r < na ? isNull(a, r) : isNull(b, r - na)) clearBit(dst, i);
    }
  switch (dst.kind) {
    case 'bytes':
      return gatherOffsetsFrom2(dst.offsets, src, rows, from, to);
    case 'i64':
      return gatherI64From2(dst.values as Int32Array, src, rows, from, to);
    // A loop for each kind: one that saw arrays of several classes would be compiled for all of them.
    case 'i32': {
      const d = dst.values as Int32Array;
      const av = a.values as Int32Array;
      const bv = b.values as Int32Array;
      for (let i = from; i < to; i++) d[i] = rows[i]! < na ? av[rows[i]!]! : bv[rows[i]! - na]!;
      break;
    }
    case 'f64': {
      const d = dst.values as Float64Array;
      const av = a.values as Float64Array;
      const bv = b.values as Float64Array;
      for (let i = from; i < to; i++) d[i] = rows[i]! < na ? av[rows[i]!]! : bv[rows[i]! - na]!;
      break;
    }
    case 'bool': {
      const d = dst.values as Uint8Array;
      const av = a.values as Uint8Array;
      const bv = b.values as Uint8Array;
      for (let i = from; i < to; i++) d[i] = rows[i]! < na ? av[rows[i]!]! : bv[rows[i]! - na]!;
    }
  }
}

function gatherOffsetsFrom2(
  offsets: Int32Array,
  { a, b }: TwoColumns,
  rows: Int32Array,
  from: number,
  to: number,
): void {
  const na = a.length;
  const ao = a.offsets;
  const bo = b.offsets;
  let at = offsets[from]!;
  for (let i = from; i < to; i++) {
    const r = rows[i]!;
    at += r < na ? ao[r + 1]! - ao[r]! : bo[r - na + 1]! - bo[r - na]!;
    assert(at <= 0x7fffffff, 'a column of an arrangement has at most 2^31 - 1 bytes');
    offsets[i + 1] = at;
  }
}

function gatherI64From2(
  d: Int32Array,
  { a, b }: TwoColumns,
  rows: Int32Array,
  from: number,
  to: number,
): void {
  const na = a.length;
  const av = a.values as Int32Array;
  const bv = b.values as Int32Array;
  for (let i = from; i < to; i++) {
    const r = rows[i]!;
    const v = r < na ? av : bv;
    const k = 2 * (r < na ? r : r - na);
    d[2 * i] = v[k]!;
    d[2 * i + 1] = v[k + 1]!;
  }
}

export function gatherBytes2(
  dst: MutableColumn,
  src: TwoColumns,
  rows: Int32Array,
  from: number,
  to: number,
): void {
  const { a, b } = src;
  const na = a.length;
  const d = dst.values as Uint8Array;
  const { offsets } = dst;
  for (let i = from; i < to; i++) {
    const r = rows[i]!;
    if (r < na) copyBytes(d, offsets[i]!, a.values as Uint8Array, a.offsets[r]!, a.offsets[r + 1]!);
    else copyBytes(d, offsets[i]!, b.values as Uint8Array, b.offsets[r - na]!, b.offsets[r - na + 1]!);
  }
}

/** A column that grows cell by cell; `length` counts, the arrays have room to spare. */
export function growable(kind: Kind): MutableColumn {
  return {
    kind,
    length: 0,
    validity: null,
    values: zeroValues(kind, kind === 'bytes' ? 64 : 8),
    offsets: kind === 'bytes' ? new Int32Array(9) : NO_OFFSETS,
  };
}

/** Appends row `row` of `src`. */
export function appendCell(dst: MutableColumn, src: Column, row: number): void {
  const i = dst.length;
  const { kind } = dst;
  const room =
    kind === 'bytes' ? dst.offsets.length - 1 : kind === 'i64' ? dst.values.length >> 1 : dst.values.length;
  if (i === room) grow(dst, room * 2);
  dst.length = i + 1;
  if (dst.validity !== null) dst.validity[i >> 3]! |= 1 << (i & 7);
  if (isNull(src, row)) {
    dst.validity ??= allValid(room * 2);
    dst.validity[i >> 3]! &= ~(1 << (i & 7));
  }
  if (kind === 'bytes') {
    const start = src.offsets[row]!;
    const end = src.offsets[row + 1]!;
    const at = dst.offsets[i]!;
    const total = at + end - start;
    if (total > dst.values.length) {
      assert(total <= 0x7fffffff, 'a column of an arrangement has at most 2^31 - 1 bytes');
      const v = new Uint8Array(Math.min(0x7fffffff, Math.max(total, dst.values.length * 2)));
      v.set(dst.values as Uint8Array);
      dst.values = v;
    }
    copyBytes(dst.values as Uint8Array, at, src.values as Uint8Array, start, end);
    dst.offsets[i + 1] = total;
  } else if (kind === 'i64') {
    dst.values[2 * i] = src.values[2 * row]!;
    dst.values[2 * i + 1] = src.values[2 * row + 1]!;
  } else dst.values[i] = src.values[row]!;
}

function grow(dst: MutableColumn, room: number): void {
  if (dst.kind === 'bytes') {
    const o = new Int32Array(room + 1);
    o.set(dst.offsets);
    dst.offsets = o;
  } else {
    const v = zeroValues(dst.kind, room);
    v.set(dst.values);
    dst.values = v;
  }
  if (dst.validity !== null && dst.validity.length * 8 < room) {
    const v = new Uint8Array((room + 7) >> 3);
    v.set(dst.validity);
    dst.validity = v;
  }
}
