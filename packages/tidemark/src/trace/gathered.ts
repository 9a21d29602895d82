/** A gather from two lists of columns in steps: one column after the other, by ranges. */
import type { Column } from '../repr/column.ts';
import type { Pace, Steps } from './fuel.ts';
import { gather2, gatherBytes2, type MutableColumn, roomFor } from './kernels.ts';

/** Rows `rows[0..n)` of the columns `a` followed by the columns `b`. */
export function* gathered(
  pace: Pace,
  src: { readonly a: readonly Column[]; readonly b: readonly Column[] },
  rows: Int32Array,
  n: number,
): Steps<Column[]> {
  const out: Column[] = [];
  for (let c = 0; c < src.a.length; c++) {
    const two = { a: src.a[c]!, b: src.b[c]! };
    const dst: MutableColumn = roomFor(two.a.kind, n);
    for (let at = 0; at < n; ) {
      const to = at + pace.portion(n - at);
      gather2(dst, two, rows, at, to);
      const units = (to - at + 1) >> 1;
      at = to;
      if (pace.spend(units)) yield;
    }
    if (dst.kind === 'bytes') {
      dst.values = new Uint8Array(dst.offsets[n]!);
      for (let at = 0; at < n; ) {
        const to = at + pace.portion(n - at);
        gatherBytes2(dst, two, rows, at, to);
        const units = to - at;
        at = to;
        if (pace.spend(units)) yield;
      }
    }
    out.push(dst);
  }
  return out;
}
