/** Order, cut and projection of a result, by multiplicity: a million equal rows stay one row with a count. */
import type { RowSetFinishing } from '../plan/lir.ts';
import { type Batch, diffAt, gatherBatch } from '../repr/batch.ts';
import { sortIndices } from '../repr/compare.ts';
import type { SqlType } from '../repr/types.ts';

/** Rows must be consolidated and at multiplicities above zero. The projection is not applied. */
export function orderAndCut(
  rows: Batch,
  types: readonly SqlType[],
  f: Omit<RowSetFinishing, 'project'>,
): Batch {
  if (f.orderBy.length === 0 && f.limit === null && f.offset === 0) return rows;
  const keys = f.orderBy.map(({ column, desc, nullsFirst }) => ({
    column: rows.columns[column]!,
    type: types[column]!,
    desc,
    nullsFirst,
  }));
  const order = sortIndices(keys, rows.length);
  const indices = new Int32Array(rows.length);
  const diffs = new Float64Array(rows.length);
  let skip = f.offset;
  let left = f.limit ?? Number.POSITIVE_INFINITY;
  let n = 0;
  for (let k = 0; k < rows.length && left > 0; k++) {
    const i = order[k]!;
    let m = diffAt(rows, i);
    const skipped = Math.min(skip, m);
    skip -= skipped;
    m = Math.min(m - skipped, left);
    if (m <= 0) continue;
    left -= m;
    indices[n] = i;
    diffs[n++] = m;
  }
  return { ...gatherBatch(rows, indices, n), diffs: diffs.slice(0, n) };
}

export const projected = (rows: Batch, project: readonly number[]): Batch => ({
  ...rows,
  columns: project.map((p) => rows.columns[p]!),
});
