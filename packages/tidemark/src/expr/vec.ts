/**
 * Operations on the values of one expression over a number of rows: spreading constants, joining the errors of
 * arguments, validity bitmaps, and clearing what lies under a NULL.
 */
import { assert } from '../base/assert.ts';
import {
  type Column,
  gather,
  isNull,
  NO_OFFSETS,
  nullColumn,
  type Values,
  zeroValues,
} from '../repr/column.ts';
import type { RowErrors, Vec } from './functions.ts';
import type { RowError } from './scalar.ts';

export type Bitmap = Uint8Array<ArrayBuffer>;

export const vec = (column: Column, errors: RowErrors | null = null): Vec => ({
  column,
  constant: false,
  errors,
});

/** One row that stands for all. */
export function constantVec(column: Column, error?: RowError): Vec {
  assert(column.length === 1, 'a constant has one row');
  return { column, constant: true, errors: error === undefined ? null : new Map([[0, error]]) };
}

/** The one value written out n times; other vectors as they are. */
export function spread(v: Vec, n: number): Vec {
  if (!v.constant) return v;
  const { column } = v;
  if (v.errors !== null || isNull(column, 0)) {
    const e = v.errors?.get(0);
    return vec(nullColumn(column.kind, n), e === undefined ? null : everyRow(e, n));
  }
  if (column.kind === 'bytes') {
    const from = column.offsets[0]!;
    const width = column.offsets[1]! - from;
    const cell = (column.values as Uint8Array).subarray(from, from + width);
    const values = new Uint8Array(n * width);
    const offsets = new Int32Array(n + 1);
    for (let i = 0; i < n; i++) {
      if (width > 0) values.set(cell, i * width);
      offsets[i + 1] = (i + 1) * width;
    }
    return vec({ kind: 'bytes', length: n, validity: null, values, offsets });
  }
  const values = zeroValues(column.kind, n);
  if (column.kind === 'i64')
    for (let i = 0; i < n; i++) {
      values[2 * i] = column.values[0]!;
      values[2 * i + 1] = column.values[1]!;
    }
  else values.fill(column.values[0]!);
  return vec({ kind: column.kind, length: n, validity: null, values, offsets: NO_OFFSETS });
}

function everyRow(e: RowError, n: number): RowErrors {
  const m: RowErrors = new Map();
  for (let i = 0; i < n; i++) m.set(i, e);
  return m;
}

/** Rows `indices[0..n)`, errors with them. */
export function gatherVec(v: Vec, indices: Int32Array, n: number): Vec {
  if (v.constant) return v;
  return vec(gather(v.column, indices, n), gatherErrors(v.errors, indices, n));
}

function gatherErrors(errors: RowErrors | null, indices: Int32Array, n: number): RowErrors | null {
  if (errors === null || errors.size === 0) return null;
  const out: RowErrors = new Map();
  for (let i = 0; i < n; i++) {
    const e = errors.get(indices[i]!);
    if (e !== undefined) out.set(i, e);
  }
  return out.size === 0 ? null : out;
}

/** Errors of the arguments by row; the leftmost of a row counts. */
export function argumentErrors(args: readonly Vec[], n: number): RowErrors | null {
  let out: RowErrors | null = null;
  for (const a of args) {
    if (a.errors === null) continue;
    out ??= new Map();
    if (a.constant) {
      const e = a.errors.get(0)!;
      for (let i = 0; i < n; i++) if (!out.has(i)) out.set(i, e);
    } else for (const [i, e] of a.errors) if (!out.has(i)) out.set(i, e);
  }
  return out;
}

/** Rows where all arguments are valid; null where no argument has a NULL, `'none'` when a constant is NULL. */
export function commonValidity(args: readonly Vec[], n: number): Bitmap | null | 'none' {
  let out: Bitmap | null = null;
  let owned = false;
  for (const a of args) {
    const v = a.column.validity;
    if (v === null) continue;
    if (a.constant) {
      if ((v[0]! & 1) === 0) return 'none';
      continue;
    }
    if (out === null) out = v;
    else {
      if (!owned) out = out.slice(0, (n + 7) >> 3);
      owned = true;
      for (let k = 0; k < out.length; k++) out[k]! &= v[k]!;
    }
  }
  return out;
}

export const bitAt = (v: Bitmap | null, i: number): boolean =>
  v === null || (v[i >> 3]! & (1 << (i & 7))) !== 0;

/** The column with further rows NULL, and zero under every NULL. */
export function withValidity(c: Column, validity: Bitmap | null, errors: RowErrors | null): Column {
  const n = c.length;
  if (validity === null && (errors === null || errors.size === 0))
    return c.validity === null ? c : cleared(c, c.validity);
  let v: Bitmap;
  if (validity !== null) {
    v = validity.slice(0, (n + 7) >> 3);
    if (c.validity !== null) for (let k = 0; k < v.length; k++) v[k]! &= c.validity[k]!;
  } else if (c.validity !== null) v = c.validity.slice(0, (n + 7) >> 3);
  else {
    v = new Uint8Array((n + 7) >> 3).fill(0xff);
    if (n & 7) v[v.length - 1] = (1 << (n & 7)) - 1;
  }
  if (errors !== null) for (const i of errors.keys()) v[i >> 3]! &= ~(1 << (i & 7));
  return cleared(c, v);
}

/**
 * Kernels own the arrays they return, so fixed width values are cleared in place. Bytes are rewritten when a cell
 * under a NULL is not empty, which kernels over bytes avoid.
 */
function cleared(c: Column, validity: Bitmap): Column {
  const n = c.length;
  const values: Values = c.values;
  if (c.kind === 'bytes') {
    let dirty = false;
    for (let i = 0; i < n && !dirty; i++)
      dirty = (validity[i >> 3]! & (1 << (i & 7))) === 0 && c.offsets[i] !== c.offsets[i + 1];
    if (!dirty) return { ...c, validity };
    const keep = new Int32Array(n);
    for (let i = 0; i < n; i++) keep[i] = bitAt(validity, i) ? i : -1;
    return { ...gather(c, keep, n), validity };
  }
  if (c.kind === 'i64') {
    for (let i = 0; i < n; i++)
      if ((validity[i >> 3]! & (1 << (i & 7))) === 0) {
        values[2 * i] = 0;
        values[2 * i + 1] = 0;
      }
  } else for (let i = 0; i < n; i++) if ((validity[i >> 3]! & (1 << (i & 7))) === 0) values[i] = 0;
  return { ...c, validity };
}

/** A fixed width column without NULLs over values that the caller has just made. */
export const fixedColumn = (kind: Column['kind'], n: number, values: Values): Column => ({
  kind,
  length: n,
  validity: null,
  values,
  offsets: NO_OFFSETS,
});
