/** Rows of datums as batches, and back: for DML, catalog relations, and results that are made here. */
import { type Batch, diffAt } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { datumAt, pushDatum } from '../repr/format.ts';
import { kindOf, type Row, type SqlType } from '../repr/types.ts';

/** Diffs default to 1. */
export function batchOf(types: readonly SqlType[], rows: readonly Row[], diffs?: readonly number[]): Batch {
  const builders = types.map((t) => new ColumnBuilder(kindOf(t), rows.length));
  for (const row of rows) for (let k = 0; k < types.length; k++) pushDatum(types[k]!, builders[k]!, row[k]!);
  return {
    length: rows.length,
    columns: builders.map((b) => b.finish()),
    times: 0,
    diffs: diffs === undefined ? 1 : Float64Array.from(diffs),
  };
}

export const rowAt = (types: readonly SqlType[], batch: Batch, i: number): Row =>
  types.map((t, k) => datumAt(t, batch.columns[k]!, i));

/** Every row, as often as its multiplicity says. */
export function* expandedRows(types: readonly SqlType[], batch: Batch): Iterable<Row> {
  for (let i = 0; i < batch.length; i++) {
    const row = rowAt(types, batch, i);
    for (let m = diffAt(batch, i); m > 0; m--) yield row;
  }
}
