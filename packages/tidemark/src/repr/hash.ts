/**
 * Row hashing and byte equality over columns. One hash for exchange, arrangements and distinct: 32 bits, fixed
 * seed, murmur3's finaliser, column at a time. Equal bytes give equal hashes; different bytes may collide, so
 * every user of a hash also compares (`rowsEqual`).
 */
import { type Column, isNull } from './column.ts';

const C1 = 0xcc9e2d51 | 0;
const C2 = 0x1b873593 | 0;
const SEED = 0x9747b28c | 0;
/** Stands for NULL, so that NULL and zero differ. */
const NULL_WORD = 0x5bd1e995 | 0;
const NAN_WORD = 0x7ff80000;

function mix(h: number, w: number): number {
  let k = Math.imul(w, C1);
  k = (k << 15) | (k >>> 17);
  h ^= Math.imul(k, C2);
  h = (h << 13) | (h >>> 19);
  return (Math.imul(h, 5) + 0xe6546b64) | 0;
}

function avalanche(h: number): number {
  h ^= h >>> 16;
  h = Math.imul(h, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return h ^ (h >>> 16);
}

/** FNV-1a: the same number for a name in every process. */
export function hashName(name: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < name.length; i++) h = Math.imul(h ^ name.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

/** Hash of rows [0, n) over the given columns, as unsigned-agnostic int32, into `out`. */
export function hashRows(
  columns: readonly Column[],
  n: number,
  out: Int32Array = new Int32Array(n),
): Int32Array {
  out.fill(SEED, 0, n);
  for (const c of columns) hashColumn(c, n, out);
  for (let i = 0; i < n; i++) out[i] = avalanche(out[i]!);
  return out;
}

function hashColumn(c: Column, n: number, out: Int32Array): void {
  switch (c.kind) {
    case 'bool':
    case 'i32': {
      const v = c.values as Int32Array | Uint8Array;
      for (let i = 0; i < n; i++) out[i] = mix(out[i]!, v[i]!);
      break;
    }
    case 'i64': {
      const v = c.values as Int32Array;
      for (let i = 0; i < n; i++) out[i] = mix(mix(out[i]!, v[2 * i]!), v[2 * i + 1]!);
      break;
    }
    case 'f64': {
      const f = c.values as Float64Array;
      const w = new Int32Array(f.buffer, f.byteOffset, f.length * 2);
      // Arithmetic leaves NaNs of several bit patterns, and `cellsEqual` calls them one value.
      for (let i = 0; i < n; i++)
        out[i] = Number.isNaN(f[i]!) ? mix(out[i]!, NAN_WORD) : mix(mix(out[i]!, w[2 * i]!), w[2 * i + 1]!);
      break;
    }
    case 'bytes':
      hashBytesColumn(c, n, out);
      break;
  }
  if (c.validity !== null) for (let i = 0; i < n; i++) if (isNull(c, i)) out[i] = mix(out[i]!, NULL_WORD);
}

function hashBytesColumn(c: Column, n: number, out: Int32Array): void {
  const d = c.values as Uint8Array;
  const o = c.offsets;
  for (let i = 0; i < n; i++) {
    const from = o[i]!;
    const to = o[i + 1]!;
    let h = mix(out[i]!, to - from);
    let p = from;
    for (; p + 4 <= to; p += 4) h = mix(h, d[p]! | (d[p + 1]! << 8) | (d[p + 2]! << 16) | (d[p + 3]! << 24));
    let tail = 0;
    for (let s = 0; p < to; p++, s += 8) tail |= d[p]! << s;
    out[i] = mix(h, tail);
  }
}

/** Whether row i of `a` and row j of `b` are byte-identical; the columns pair up by position and kind. */
export function rowsEqual(a: readonly Column[], i: number, b: readonly Column[], j: number): boolean {
  for (let k = 0; k < a.length; k++) if (!cellsEqual(a[k]!, i, b[k]!, j)) return false;
  return true;
}

export function cellsEqual(a: Column, i: number, b: Column, j: number): boolean {
  if (a.validity !== null || b.validity !== null) {
    const na = isNull(a, i);
    if (na !== isNull(b, j)) return false;
    if (na) return true;
  }
  const va = a.values;
  const vb = b.values;
  switch (a.kind) {
    case 'i64':
      return va[2 * i] === vb[2 * j] && va[2 * i + 1] === vb[2 * j + 1];
    case 'f64':
      // NaN is one value here, and the canonical form has no -0.
      return Object.is(va[i], vb[j]);
    case 'bytes': {
      const p = a.offsets[i]!;
      const q = b.offsets[j]!;
      const len = a.offsets[i + 1]! - p;
      if (b.offsets[j + 1]! - q !== len) return false;
      for (let k = 0; k < len; k++) if (va[p + k] !== vb[q + k]) return false;
      return true;
    }
    default:
      return va[i] === vb[j];
  }
}
