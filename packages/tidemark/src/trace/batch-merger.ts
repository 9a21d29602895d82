/**
 * Merges two neighbouring batches with fuel: keys of the older one in their order, then those only the newer one
 * has; rows of a key that both have are laid together and summed, times advanced to `since` first. Keys are found
 * by their stored hashes, so none is hashed again. Cost: about 100 ns a row, all resumable.
 */

import { type Frontier, MIN_TIME } from '../time/timestamp.ts';
import {
  type ArrangedBatch,
  type ArrangementSpec,
  emptyArranged,
  findKey,
  tableOf,
} from './arranged-batch.ts';
import { type Fuel, type Pace, Paced, type Steps } from './fuel.ts';
import { gathered } from './gathered.ts';
import { GroupSums } from './group-sums.ts';
import { copied, touched } from './large-arrays.ts';

export class BatchMerger {
  readonly #steps: Paced<ArrangedBatch>;

  constructor(spec: ArrangementSpec, older: ArrangedBatch, newer: ArrangedBatch, since: Frontier) {
    this.#steps = new Paced((pace) => merged(pace, spec, { a: older, b: newer, since }));
  }

  /** The merged batch once it is done. */
  work(fuel: Fuel): ArrangedBatch | undefined {
    return this.#steps.work(fuel);
  }
}

/** What is merged: the older batch, the newer one, and the time that earlier ones advance to. */
interface Pair {
  readonly a: ArrangedBatch;
  readonly b: ArrangedBatch;
  readonly since: Frontier;
}

function* merged(pace: Pace, spec: ArrangementSpec, pair: Pair): Steps<ArrangedBatch> {
  const { a, b, since } = pair;
  // For each key of the older batch its key in the newer one + 1, and which keys of the newer one are in both.
  const partner = yield* touched(pace, new Int32Array(a.keyCount));
  const shared = new Uint8Array(b.keyCount);
  for (let k = 0; k < b.keyCount; k++) {
    const j = findKey(a, b.keyHashes[k]!, b.keys, k);
    if (j >= 0) {
      partner[j] = k + 1;
      shared[k] = 1;
    }
    if (pace.spend(1)) yield;
  }
  const groups = new MergedGroups(pair);
  for (let k = 0; k < a.keyCount; k++) {
    const other = partner[k]! - 1;
    groups.begin(other >= 0);
    while (!groups.take(a, k, 0, pace)) yield;
    if (other >= 0) while (!groups.take(b, other, a.length, pace)) yield;
    groups.end(k, a.keyHashes[k]!);
    if (pace.spend(0)) yield;
  }
  for (let k = 0; k < b.keyCount; k++) {
    if (shared[k] === 1) continue;
    groups.begin(false);
    while (!groups.take(b, k, a.length, pace)) yield;
    groups.end(a.keyCount + k, b.keyHashes[k]!);
    if (pace.spend(0)) yield;
  }
  const bounds = { lower: a.lower, upper: b.upper, since: Math.max(since, a.since, b.since) };
  if (groups.sums.length === 0) return emptyArranged(spec, bounds);
  return { ...bounds, ...(yield* groups.columns(pace)) };
}

/**
 * Any number of batches into one, all times advanced to `since`; updates of diff zero, as `restrictTimes` leaves
 * them, are dropped even where there is only one batch.
 */
export function* folded(
  pace: Pace,
  spec: ArrangementSpec,
  parts: readonly ArrangedBatch[],
  since: Frontier,
): Steps<ArrangedBatch> {
  let all = emptyArranged(spec, { lower: MIN_TIME, upper: MIN_TIME, since: MIN_TIME });
  for (const p of parts) all = yield* merged(pace, spec, { a: all, b: p, since });
  return all;
}

/** The output of a merge: groups as lists of source rows, then columns. */
class MergedGroups {
  readonly a: ArrangedBatch;
  readonly b: ArrangedBatch;
  readonly since: Frontier;
  readonly sums: GroupSums;
  readonly #keyRows: Int32Array;
  readonly #keyHashes: Int32Array<ArrayBuffer>;
  readonly #keyOffsets: Int32Array<ArrayBuffer>;
  #keyCount = 0;
  #summing = false;
  /** Rows of the current piece already taken. */
  #taken = 0;

  constructor({ a, b, since }: Pair) {
    this.a = a;
    this.b = b;
    this.since = since;
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
  take(batch: ArrangedBatch, k: number, offset: number, pace: Pace): boolean {
    const { times, diffs } = batch;
    const { since, sums } = this;
    // A key that only one batch has is already summed, unless advancing makes different times equal: then rows may cancel, and where there
    // is nothing but the key they are the same.
    const falls = typeof times !== 'number' && batch.minTime < since;
    const add = this.#summing || (falls && (batch.negatives || batch.values.length === 0));
    const from = batch.keyOffsets[k]! + this.#taken;
    const end = batch.keyOffsets[k + 1]!;
    const to = from + pace.portion(end - from);
    for (let r = from; r < to; r++) {
      const t = typeof times === 'number' ? times : times[r]!;
      const d = typeof diffs === 'number' ? diffs : diffs[r]!;
      if (add) sums.add(r + offset, Math.max(t, since), d);
      else sums.append(r + offset, Math.max(t, since), d);
    }
    pace.spend(to - from);
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

  *columns(pace: Pace): Steps<Omit<ArrangedBatch, 'lower' | 'upper' | 'since'>> {
    const { a, b, sums } = this;
    const n = this.#keyCount;
    const keys = yield* gathered(pace, { a: a.keys, b: b.keys }, this.#keyRows, n);
    const values = yield* gathered(pace, { a: a.values, b: b.values }, sums.rows, sums.length);
    const keyHashes = yield* copied(pace, this.#keyHashes, n);
    return {
      length: sums.length,
      keyCount: n,
      keys,
      keyHashes,
      keyOffsets: yield* copied(pace, this.#keyOffsets, n + 1),
      table: yield* tableOf(pace, keyHashes),
      values,
      ...(yield* sums.scalars(pace)),
    };
  }
}
