/**
 * Reads an index's trace: everything, or the rows of given keys. The batches are taken at once (they are immutable), the rows come
 * with fuel.
 */
import { type Batch, gatherBatch } from '../repr/batch.ts';
import { type Column, gather } from '../repr/column.ts';
import { columnsOfRows } from '../repr/rows.ts';
import type { Row, SqlType } from '../repr/types.ts';
import {
  type ArrangedBatch,
  type ArrangementSpec,
  findKey,
  rowPermutation,
} from '../trace/arranged-batch.ts';
import { type BatchRows, rowsOf } from '../trace/batch-rows.ts';
import type { Fuel } from '../trace/fuel.ts';

/** Key values as columns, for lookups; each distinct key once. */
export interface KeyLookup {
  readonly columns: readonly Column[];
  readonly count: number;
}

export function keyLookup(types: readonly SqlType[], keys: readonly Row[]): KeyLookup {
  return { columns: columnsOfRows(types, keys), count: keys.length };
}

export class IndexScan {
  readonly #spec: ArrangementSpec;
  readonly #batches: readonly ArrangedBatch[];
  readonly #keys: KeyLookup | null;
  #at = 0;
  #current: BatchRows | undefined;

  constructor(spec: ArrangementSpec, batches: readonly ArrangedBatch[], keys: KeyLookup | null) {
    this.#spec = spec;
    this.#batches = batches.filter((b) => b.length > 0);
    this.#keys = keys;
  }

  /** The next rows, whole and in their original column order; undefined at the end. */
  next(fuel: Fuel): Batch | undefined {
    if (this.#keys !== null) {
      const batch = this.#batches[this.#at++];
      return batch === undefined ? undefined : lookup(batch, this.#spec, this.#keys, fuel);
    }
    for (;;) {
      if (this.#current !== undefined) {
        const rows = this.#current.next(fuel);
        if (rows !== undefined) return rows;
        this.#current = undefined;
        this.#at++;
      }
      const batch = this.#batches[this.#at];
      if (batch === undefined) return undefined;
      this.#current = rowsOf(batch, rowPermutation(this.#spec));
    }
  }
}

function lookup(b: ArrangedBatch, spec: ArrangementSpec, keys: KeyLookup, fuel: Fuel): Batch {
  const hashes = spec.hash(keys.columns, keys.count);
  const keyRows: number[] = [];
  const valueRows: number[] = [];
  for (let i = 0; i < keys.count; i++) {
    const k = findKey(b, hashes[i]!, keys.columns, i);
    if (k < 0) continue;
    for (let r = b.keyOffsets[k]!; r < b.keyOffsets[k + 1]!; r++) {
      keyRows.push(k);
      valueRows.push(r);
    }
  }
  fuel.spend(keys.count + valueRows.length);
  const n = valueRows.length;
  const values = gatherBatch(
    { length: b.length, columns: b.values, times: b.times, diffs: b.diffs },
    Int32Array.from(valueRows),
    n,
  );
  const rows = Int32Array.from(keyRows);
  const columns = rowPermutation(spec).map((p) =>
    p.from === 'key' ? gather(b.keys[p.column]!, rows, n) : values.columns[p.column]!,
  );
  return { ...values, columns };
}
