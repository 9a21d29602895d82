/**
 * Comparison kernels, a loop for each operator and layout: the operator is chosen outside of the loop. A constant
 * side is read through a mask of 0 instead of being written out n times.
 */
import type { Column } from '../../repr/column.ts';
import { byBytes } from '../../repr/compare.ts';
import type { Kernel, Vec } from '../functions.ts';
import { fixedColumn } from '../vec.ts';

export type Comparison = 'eq' | 'ne' | 'lt' | 'le' | 'gt' | 'ge';

const mask = (v: Vec): number => (v.constant ? 0 : -1);

/** bool, i32, and f64 columns that hold integers. */
export function compareNumbers(op: Comparison): Kernel {
  return ({ args: [l, r], n }) => {
    const a = l!.column.values;
    const b = r!.column.values;
    const out = new Uint8Array(n);
    numberLoop(op, a, mask(l!), b, mask(r!), out, n);
    return fixedColumn('bool', n, out);
  };
}

type Numbers = Uint8Array | Int32Array | Float64Array;

function numberLoop(
  op: Comparison,
  a: Numbers,
  p: number,
  b: Numbers,
  q: number,
  out: Uint8Array,
  n: number,
) {
  switch (op) {
    case 'eq':
      for (let i = 0; i < n; i++) out[i] = a[i & p] === b[i & q] ? 1 : 0;
      break;
    case 'ne':
      for (let i = 0; i < n; i++) out[i] = a[i & p] === b[i & q] ? 0 : 1;
      break;
    case 'lt':
      for (let i = 0; i < n; i++) out[i] = a[i & p]! < b[i & q]! ? 1 : 0;
      break;
    case 'le':
      for (let i = 0; i < n; i++) out[i] = a[i & p]! <= b[i & q]! ? 1 : 0;
      break;
    case 'gt':
      for (let i = 0; i < n; i++) out[i] = a[i & p]! > b[i & q]! ? 1 : 0;
      break;
    case 'ge':
      for (let i = 0; i < n; i++) out[i] = a[i & p]! >= b[i & q]! ? 1 : 0;
      break;
  }
}

/** Turned around so that three loops serve six operators: which loop, whether sides swap, whether it negates. */
const REDUCED: Readonly<Record<Comparison, { lt: boolean; swap: boolean; negate: boolean }>> = {
  eq: { lt: false, swap: false, negate: false },
  ne: { lt: false, swap: false, negate: true },
  lt: { lt: true, swap: false, negate: false },
  ge: { lt: true, swap: false, negate: true },
  gt: { lt: true, swap: true, negate: false },
  le: { lt: true, swap: true, negate: true },
};

/** Floats: NaN equals itself and is greater than all else; 0 equals -0. */
export function compareFloats(op: Comparison): Kernel {
  const { lt, swap, negate } = REDUCED[op];
  const yes = negate ? 0 : 1;
  return ({ args, n }) => {
    const l = args[swap ? 1 : 0]!;
    const r = args[swap ? 0 : 1]!;
    const a = l.column.values as Float64Array;
    const b = r.column.values as Float64Array;
    const p = mask(l);
    const q = mask(r);
    const out = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      const x = a[i & p]!;
      const y = b[i & q]!;
      const holds = lt
        ? x < y || (Number.isNaN(y) && !Number.isNaN(x))
        : x === y || (Number.isNaN(x) && Number.isNaN(y));
      out[i] = holds ? yes : 1 - yes;
    }
    return fixedColumn('bool', n, out);
  };
}

/** 64-bit integers as pairs of words, signed or not. */
export function compareI64(op: Comparison, signed = true): Kernel {
  const { lt, swap, negate } = REDUCED[op];
  const yes = negate ? 0 : 1;
  const no = 1 - yes;
  // Flipping the sign bit orders unsigned high words as signed ones.
  const flip = signed ? 0 : -0x80000000;
  return ({ args, n }) => {
    const l = args[swap ? 1 : 0]!;
    const r = args[swap ? 0 : 1]!;
    const a = l.column.values as Int32Array;
    const b = r.column.values as Int32Array;
    const p = mask(l);
    const q = mask(r);
    const out = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      const x = (i & p) * 2;
      const y = (i & q) * 2;
      const ah = a[x + 1]! ^ flip;
      const bh = b[y + 1]! ^ flip;
      const al = a[x]!;
      const bl = b[y]!;
      const holds = lt ? ah < bh || (ah === bh && al >>> 0 < bl >>> 0) : al === bl && ah === bh;
      out[i] = holds ? yes : no;
    }
    return fixedColumn('bool', n, out);
  };
}

/** Text, bytea, uuid: order of bytes. Equality looks at the lengths first. */
export function compareBytesKernel(op: Comparison): Kernel {
  const { lt, swap, negate } = REDUCED[op];
  const yes = negate ? 0 : 1;
  return ({ args, n }) => {
    const l = args[swap ? 1 : 0]!;
    const r = args[swap ? 0 : 1]!;
    const a = l.column;
    const b = r.column;
    const p = mask(l);
    const q = mask(r);
    const out = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      const holds = lt ? byBytes(a, i & p, b, i & q) < 0 : equalBytes(a, i & p, b, i & q);
      out[i] = holds ? yes : 1 - yes;
    }
    return fixedColumn('bool', n, out);
  };
}

function equalBytes(a: Column, i: number, b: Column, j: number): boolean {
  const p = a.offsets[i]!;
  const q = b.offsets[j]!;
  const len = a.offsets[i + 1]! - p;
  if (b.offsets[j + 1]! - q !== len) return false;
  const av = a.values as Uint8Array;
  const bv = b.values as Uint8Array;
  for (let k = 0; k < len; k++) if (av[p + k] !== bv[q + k]) return false;
  return true;
}

/** Any order, one call a row; rows that are NULL are not compared. */
export function compareCells(
  op: Comparison,
  comparator: (a: Column, i: number, b: Column, j: number) => number,
): Kernel {
  const holds = SIGN_TEST[op];
  return ({ args: [l, r], n, validity }) => {
    const a = l!.column;
    const b = r!.column;
    const p = mask(l!);
    const q = mask(r!);
    const out = new Uint8Array(n);
    for (let i = 0; i < n; i++)
      if (validity === null || (validity[i >> 3]! & (1 << (i & 7))) !== 0)
        out[i] = holds(comparator(a, i & p, b, i & q)) ? 1 : 0;
    return fixedColumn('bool', n, out);
  };
}

/** From the sign of a comparison to the truth of an operator. */
export const SIGN_TEST: Readonly<Record<Comparison, (sign: number) => boolean>> = {
  eq: (s) => s === 0,
  ne: (s) => s !== 0,
  lt: (s) => s < 0,
  le: (s) => s <= 0,
  gt: (s) => s > 0,
  ge: (s) => s >= 0,
};
