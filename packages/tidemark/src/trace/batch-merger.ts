/**
 * Merges two neighbouring batches with fuel: keys of the older one in their order, then those only the newer one
 * has; rows of a key that both have are laid together and summed, times advanced to `since` first. Keys are found
 * by their stored hashes, so none is hashed again. Cost: about 100 ns a row, all resumable.
 */

import type { Frontier } from '../time/timestamp.ts';
import {
  type ArrangedBatch,
  type ArrangementSpec,
  emptyArranged,
  fillTable,
  findKey,
  tableSize,
} from './arranged-batch.ts';
import type { Fuel } from './fuel.ts';
import { Gatherer } from './gatherer.ts';
import { GroupSums } from './group-sums.ts';

export class BatchMerger {
  readonly #spec: ArrangementSpec;
  readonly #older: ArrangedBatch;
  readonly #newer: ArrangedBatch;
  readonly #since: Frontier;
  readonly #steps: Generator<void, ArrangedBatch, Fuel>;

  constructor(spec: ArrangementSpec, older: ArrangedBatch, newer: ArrangedBatch, since: Frontier) {
    this.#spec = spec;
    this.#older = older;
    this.#newer = newer;
    this.#since = since;
    this.#steps = this.#merge();
    this.#steps.next();
  }

  /** The merged batch once it is done. */
  work(fuel: Fuel): ArrangedBatch | undefined {
    for (;;) {
      const r = this.#steps.next(fuel);
      if (r.done) return r.value;
      if (fuel.exhausted) return undefined;
    }
  }

  *#merge(): Generator<void, ArrangedBatch, Fuel> {
    const a = this.#older;
    const b = this.#newer;
    let fuel: Fuel = yield;
    // For each key of the older batch its key in the newer one + 1, and which keys of the newer one are in both.
    const partner = new Int32Array(a.keyCount);
    const shared = new Uint8Array(b.keyCount);
    for (let k = 0; k < b.keyCount; k++) {
      const j = findKey(a, b.keyHashes[k]!, b.keys, k);
      if (j >= 0) {
        partner[j] = k + 1;
        shared[k] = 1;
      }
      fuel.spend(1);
      if (fuel.exhausted) fuel = yield;
    }
    const groups = new MergedGroups(a, b, this.#since);
    for (let k = 0; k < a.keyCount; k++) {
      const other = partner[k]! - 1;
      groups.begin(other >= 0);
      while (!groups.take(a, k, 0, fuel)) fuel = yield;
      if (other >= 0) while (!groups.take(b, other, a.length, fuel)) fuel = yield;
      groups.end(k, a.keyHashes[k]!);
      if (fuel.exhausted) fuel = yield;
    }
    for (let k = 0; k < b.keyCount; k++) {
      if (shared[k] === 1) continue;
      groups.begin(false);
      while (!groups.take(b, k, a.length, fuel)) fuel = yield;
      groups.end(a.keyCount + k, b.keyHashes[k]!);
      if (fuel.exhausted) fuel = yield;
    }
    const bounds = { lower: a.lower, upper: b.upper, since: Math.max(this.#since, a.since, b.since) };
    if (groups.sums.length === 0) return emptyArranged(this.#spec, bounds);
    return { ...bounds, ...(yield* groups.columns()) };
  }
}

/** The output of a merge: groups as lists of source rows, then columns. */
class MergedGroups {
  readonly #a: ArrangedBatch;
  readonly #b: ArrangedBatch;
  readonly #since: Frontier;
  readonly sums: GroupSums;
  readonly #keyRows: Int32Array;
  readonly #keyHashes: Int32Array<ArrayBuffer>;
  readonly #keyOffsets: Int32Array<ArrayBuffer>;
  #keyCount = 0;
  #summing = false;
  /** Rows of the current piece already taken. */
  #taken = 0;

  constructor(a: ArrangedBatch, b: ArrangedBatch, since: Frontier) {
    this.#a = a;
    this.#b = b;
    this.#since = since;
    this.sums = new GroupSums({ a: a.values, b: b.values, split: a.length }, a.length + b.length);
    const keys = a.keyCount + b.keyCount;
    this.#keyRows = new Int32Array(keys);
    this.#keyHashes = new Int32Array(keys);
    this.#keyOffsets = new Int32Array(keys + 1);
  }

  begin(both: boolean): void {
    this.sums.beginGroup();
    this.#summing = both;
  }

  /** Rows of key k of one batch. Whether all are taken. */
  take(batch: ArrangedBatch, k: number, offset: number, fuel: Fuel): boolean {
    const { times, diffs } = batch;
    const since = this.#since;
    const { sums } = this;
    // A key that only one batch has is already summed, unless advancing makes different times equal.
    const add = this.#summing || (batch.negatives && typeof times !== 'number' && batch.minTime < since);
    const from = batch.keyOffsets[k]! + this.#taken;
    const end = batch.keyOffsets[k + 1]!;
    const to = from + fuel.portion(end - from);
    for (let r = from; r < to; r++) {
      const t = typeof times === 'number' ? times : times[r]!;
      const d = typeof diffs === 'number' ? diffs : diffs[r]!;
      if (add) sums.add(r + offset, Math.max(t, since), d);
      else sums.append(r + offset, Math.max(t, since), d);
    }
    fuel.spend(to - from);
    this.#taken += to - from;
    if (to < end) return false;
    this.#taken = 0;
    return true;
  }

  end(keyRow: number, hash: number): void {
    if (this.sums.endGroup() === 0) return;
    const k = this.#keyCount++;
    this.#keyRows[k] = keyRow;
    this.#keyHashes[k] = hash;
    this.#keyOffsets[k + 1] = this.sums.length;
  }

  *columns(): Generator<void, Omit<ArrangedBatch, 'lower' | 'upper' | 'since'>, Fuel> {
    let fuel: Fuel = yield;
    const n = this.#keyCount;
    const keys = new Gatherer(this.#a.keys, this.#b.keys, this.#keyRows, n);
    while (!keys.work(fuel)) fuel = yield;
    const values = new Gatherer(this.#a.values, this.#b.values, this.sums.rows, this.sums.length);
    while (!values.work(fuel)) fuel = yield;
    const table = new Int32Array(tableSize(n));
    for (let at = 0; at < n; ) {
      const to = at + fuel.portion(n - at);
      fillTable(table, this.#keyHashes, at, to);
      fuel.spend((to - at + 1) >> 1);
      at = to;
      if (fuel.exhausted) fuel = yield;
    }
    return {
      length: this.sums.length,
      keyCount: n,
      keys: keys.columns,
      keyHashes: this.#keyHashes.slice(0, n),
      keyOffsets: this.#keyOffsets.slice(0, n + 1),
      table,
      values: values.columns,
      ...this.sums.scalars(),
    };
  }
}
