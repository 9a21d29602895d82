/** Rows of datums as columns and batches, and back: what is written or read row by row (DML, logs, results). */
import { type Batch, diffAt } from './batch.ts';
import { type Column, ColumnBuilder } from './column.ts';
import { datumAt, pushDatum } from './datum.ts';
import { kindOf, type Row, type SqlType } from './types.ts';

/** One column a type. */
export function columnsOfRows(types: readonly SqlType[], rows: readonly Row[]): Column[] {
  return types.map((t, k) => {
    const builder = new ColumnBuilder(kindOf(t), rows.length);
    for (const row of rows) pushDatum(t, builder, row[k]!);
    return builder.finish();
  });
}

/** One row at time 0 each, once, unless said otherwise. */
export function batchOf(
  types: readonly SqlType[],
  rows: readonly Row[],
  { times, diffs }: { readonly times?: readonly number[]; readonly diffs?: readonly number[] } = {},
): Batch {
  return {
    length: rows.length,
    columns: columnsOfRows(types, rows),
    times: times === undefined ? 0 : Float64Array.from(times),
    diffs: diffs === undefined ? 1 : Float64Array.from(diffs),
  };
}

const rowAt = (types: readonly SqlType[], batch: Batch, i: number): Row =>
  types.map((t, k) => datumAt(t, batch.columns[k]!, i));

/** Every row, as often as its multiplicity says. */
export function* expandedRows(types: readonly SqlType[], batch: Batch): Iterable<Row> {
  for (let i = 0; i < batch.length; i++) {
    const row = rowAt(types, batch, i);
    for (let m = diffAt(batch, i); m > 0; m--) yield row;
  }
}
