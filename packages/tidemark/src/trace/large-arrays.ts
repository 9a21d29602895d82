/**
 * Large arrays in small steps. The first write to a page of a fresh array costs 1.6 µs (the kernel clears it), so
 * that the first random writes into 40 MB took 16 ms at a stretch; copies cost the same. These touch and copy page
 * by page, with fuel. Small arrays go through at once.
 */
import { type Column, NO_OFFSETS, type Values } from '../repr/column.ts';
import type { Pace, Steps } from './fuel.ts';
import type { MutableColumn } from './kernels.ts';

type Numbers = Uint8Array<ArrayBuffer> | Int32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

const PAGE = 4096;
/** Pages cleared between two looks at the fuel, and what one costs in units. */
const PAGES = 64;
const PAGE_UNITS = 40;
/** Below a quarter of a megabyte nothing is worth a step of its own. */
const SMALL = 1 << 18;

/** Has every page of a fresh array in memory, so that random writes cost what they seem to. */
export function* touched<A extends Numbers>(pace: Pace, a: A): Steps<A> {
  if (a.byteLength <= SMALL) return a;
  const step = PAGE / a.BYTES_PER_ELEMENT;
  for (let at = 0; at < a.length; ) {
    const to = Math.min(a.length, at + PAGES * step);
    for (; at < to; at += step) a[at] = 0;
    if (pace.spend(PAGES * PAGE_UNITS)) yield;
  }
  return a;
}

/** The first n elements in an array of their own. */
export function* copied<A extends Numbers>(pace: Pace, a: A, n: number): Steps<A> {
  if (n * a.BYTES_PER_ELEMENT <= SMALL) return a.slice(0, n) as A;
  const out = new (a.constructor as new (n: number) => A)(n);
  const step = (PAGES * PAGE) / a.BYTES_PER_ELEMENT;
  for (let at = 0; at < n; at += step) {
    out.set(a.subarray(at, Math.min(n, at + step)) as Uint8Array<ArrayBuffer>, at);
    if (pace.spend(PAGES * PAGE_UNITS)) yield;
  }
  return out;
}

/** A grown column without its spare room, where that is more than a quarter. */
export function* trimmed(pace: Pace, c: MutableColumn): Steps<Column> {
  const n = c.length;
  const used = c.kind === 'bytes' ? c.offsets[n]! : c.kind === 'i64' ? 2 * n : n;
  const wasteful = (a: Numbers, size: number): boolean => a.length * 3 > size * 4;
  return {
    kind: c.kind,
    length: n,
    validity: c.validity === null ? null : c.validity.slice(0, (n + 7) >> 3),
    values: wasteful(c.values, used) ? ((yield* copied(pace, c.values, used)) as Values) : c.values,
    offsets:
      c.kind !== 'bytes'
        ? NO_OFFSETS
        : wasteful(c.offsets, n + 1)
          ? yield* copied(pace, c.offsets, n + 1)
          : c.offsets,
  };
}
