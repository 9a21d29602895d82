/** The updates of an arranged batch as batches of whole rows, at most 16 K at a time. */
import { type Batch, gatherBatch } from '../repr/batch.ts';
import { type Column, gather, sliceColumn } from '../repr/column.ts';
import type { ArrangedBatch, ColumnPlace } from './arranged-batch.ts';
import type { Fuel } from './fuel.ts';

const ROWS = 16_384;

export interface BatchRows {
  /** The next rows, or undefined at the end. */
  next(fuel: Fuel): Batch | undefined;
  readonly done: boolean;
}

export function rowsOf(b: ArrangedBatch, places: readonly ColumnPlace[]): BatchRows {
  let at = 0;
  let key = 0;
  return {
    get done() {
      return at === b.length;
    },
    next(fuel) {
      if (at === b.length) return undefined;
      const from = at;
      const to = from + Math.min(b.length - from, ROWS, fuel.portion(ROWS));
      const keyRows = new Int32Array(to - from);
      for (let r = from; r < to; r++) {
        while (b.keyOffsets[key + 1]! <= r) key++;
        keyRows[r - from] = key;
      }
      at = to;
      fuel.spend(to - from);
      const columns = places.map(
        (p): Column =>
          p.from === 'key'
            ? gather(b.keys[p.column]!, keyRows, to - from)
            : sliceColumn(b.values[p.column]!, from, to),
      );
      return withoutZeros({
        length: to - from,
        columns,
        times: typeof b.times === 'number' ? b.times : b.times.subarray(from, to),
        diffs: typeof b.diffs === 'number' ? b.diffs : b.diffs.subarray(from, to),
      });
    },
  };
}

/** Without the updates of diff zero that `restrictTimes` leaves. */
export function withoutZeros(b: Batch): Batch {
  const { diffs } = b;
  if (typeof diffs === 'number') return b;
  let zeros = 0;
  for (let i = 0; i < b.length; i++) if (diffs[i] === 0) zeros++;
  if (zeros === 0) return b;
  const keep = new Int32Array(b.length - zeros);
  for (let i = 0, n = 0; i < b.length; i++) if (diffs[i] !== 0) keep[n++] = i;
  return gatherBatch(b, keep, keep.length);
}
