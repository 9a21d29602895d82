/**
 * Pending updates of an arrangement: takes batches in any order of time, and gives out what lies before a frontier
 * as one arranged batch.
 *
 * What will probably be sealed next is absorbed (hashed and keyed) at once, so that sealing has little left to do:
 * the first batch decides up to which time. Everything later waits as it came. A waiting batch that a frontier cuts
 * is sorted by time once and sliced from then on; small waiting batches are laid together, so that there are
 * logarithmically many. When a frontier cuts what was absorbed, that is given up and absorbed anew: once a batch.
 */
import { assert } from '../base/assert.ts';
import { type Batch, concatBatches, gatherBatch, sliceBatch } from '../repr/batch.ts';
import { columnBytes } from '../repr/column.ts';
import type { Frontier } from '../time/timestamp.ts';
import type { ArrangedBatch, ArrangementSpec } from './arranged-batch.ts';
import { BatchBuilder, type Bounds } from './batch-builder.ts';
import type { Fuel } from './fuel.ts';

interface Waiting {
  readonly batch: Batch;
  readonly min: number;
  readonly max: number;
  readonly sorted: boolean;
}

/** Records, bytes used, bytes allocated, buffers: changes of what is pending. */
export type BatcherReport = (records: number, size: number, capacity: number, allocations: number) => void;

export class Batcher {
  readonly #spec: ArrangementSpec;
  readonly #report: BatcherReport;
  #builder: BatchBuilder;
  /** Batches with no time after it are absorbed at once; the others wait. */
  #horizon = Number.NEGATIVE_INFINITY;
  #waiting: Waiting[] = [];
  #waitingMin = Number.POSITIVE_INFINITY;
  /** What is left to absorb for the batch that is being sealed. */
  #toAbsorb: Batch[] = [];
  #sealing: Bounds | undefined;
  /** What was reported as pending. */
  #pending = { records: 0, size: 0, capacity: 0, allocations: 0 };

  constructor(spec: ArrangementSpec, report: BatcherReport) {
    this.#spec = spec;
    this.#report = report;
    this.#builder = new BatchBuilder(spec);
  }

  /** Rows that would be sealed next without more ado. */
  get absorbed(): number {
    return this.#builder.length;
  }

  /** The least time of what is pending. */
  get minTime(): number {
    return Math.min(this.#waitingMin, this.#builder.minTime);
  }

  /** Whether there is nothing to seal before `upper`. */
  isEmptyBefore(upper: Frontier): boolean {
    return this.#builder.length === 0 && !this.#builder.hasPending && this.#waitingMin >= upper;
  }

  get sealing(): boolean {
    return this.#sealing !== undefined;
  }

  /** Takes a batch; what was pushed before must have been absorbed, and nothing is being sealed. */
  push(batch: Batch): void {
    assert(this.#sealing === undefined, 'a batch is pushed while nothing is being sealed');
    if (batch.length === 0) return;
    this.#account(batch, 1);
    const { min, max } = timeRange(batch);
    if (this.#builder.length === 0 && min === max) this.#horizon = max;
    if (max <= this.#horizon) this.#builder.add(batch);
    else this.#wait({ batch, min, max, sorted: min === max });
  }

  /** Goes on with absorbing. Whether it is done. */
  absorb(fuel: Fuel): boolean {
    return this.#builder.absorb(fuel);
  }

  /** Begins to seal [lower, upper). */
  startSeal(bounds: Bounds): void {
    assert(this.#sealing === undefined, 'one batch is sealed at a time');
    this.#sealing = bounds;
    if (this.#builder.maxTime >= bounds.upper) {
      for (const batch of this.#builder.chunks()) this.#wait({ batch, ...timeRange(batch), sorted: false });
      this.#builder = new BatchBuilder(this.#spec);
    }
    if (this.#waitingMin < bounds.upper) this.#release(bounds.upper);
  }

  /** Goes on with sealing; the batch once it is done. */
  seal(fuel: Fuel): ArrangedBatch | undefined {
    assert(this.#sealing !== undefined, 'sealing has begun');
    while (this.#builder.absorb(fuel)) {
      const next = this.#toAbsorb.pop();
      if (next === undefined) break;
      this.#builder.add(next);
      if (fuel.exhausted) return undefined;
    }
    if (this.#builder.hasPending) return undefined;
    const sealed = this.#builder.seal(this.#sealing, fuel);
    if (sealed === undefined) return undefined;
    this.#builder = new BatchBuilder(this.#spec);
    this.#horizon = Number.NEGATIVE_INFINITY;
    this.#sealing = undefined;
    this.#recount();
    return sealed;
  }

  /** Gives up everything. */
  clear(): void {
    this.#builder = new BatchBuilder(this.#spec);
    this.#waiting = [];
    this.#toAbsorb = [];
    this.#sealing = undefined;
    this.#recount();
  }

  #wait(w: Waiting): void {
    const list = this.#waiting;
    list.push(w);
    if (w.min < this.#waitingMin) this.#waitingMin = w.min;
    for (let n = list.length; n >= 2; n--) {
      const a = list[n - 2]!;
      const b = list[n - 1]!;
      if (a.batch.length > 2 * b.batch.length) break;
      list.length = n - 2;
      list.push({
        batch: concatBatches([a.batch, b.batch]),
        min: Math.min(a.min, b.min),
        max: Math.max(a.max, b.max),
        sorted: false,
      });
    }
  }

  /** Moves what lies before `upper` from the waiting to the batch that is being sealed. */
  #release(upper: Frontier): void {
    const keep: Waiting[] = [];
    for (const w of this.#waiting) {
      if (w.max < upper) this.#toAbsorb.push(w.batch);
      else if (w.min >= upper) keep.push(w);
      else {
        const sorted = w.sorted ? w.batch : sortByTime(w.batch);
        const times = sorted.times as Float64Array;
        let cut = 0;
        for (let to = sorted.length; cut < to; ) {
          const mid = (cut + to) >> 1;
          if (times[mid]! < upper) cut = mid + 1;
          else to = mid;
        }
        this.#toAbsorb.push(sliceBatch(sorted, 0, cut));
        keep.push({
          batch: sliceBatch(sorted, cut, sorted.length),
          min: times[cut]!,
          max: w.max,
          sorted: true,
        });
      }
    }
    this.#waiting = keep;
    this.#waitingMin = keep.reduce((m, w) => Math.min(m, w.min), Number.POSITIVE_INFINITY);
  }

  #account(batch: Batch, sign: 1 | -1): void {
    const s = pendingSize(batch);
    const p = this.#pending;
    p.records += sign * batch.length;
    p.size += sign * s.size;
    p.capacity += sign * s.capacity;
    p.allocations += sign * s.allocations;
    this.#report(sign * batch.length, sign * s.size, sign * s.capacity, sign * s.allocations);
  }

  /** After sealing: what still waits is what is pending. */
  #recount(): void {
    const now = { records: 0, size: 0, capacity: 0, allocations: 0 };
    for (const { batch } of this.#waiting) {
      const s = pendingSize(batch);
      now.records += batch.length;
      now.size += s.size;
      now.capacity += s.capacity;
      now.allocations += s.allocations;
    }
    const p = this.#pending;
    this.#pending = now;
    this.#report(
      now.records - p.records,
      now.size - p.size,
      now.capacity - p.capacity,
      now.allocations - p.allocations,
    );
  }
}

/** Pending batches are often slices of larger ones, whose buffers are not counted here: allocated is what is used. */
function pendingSize(b: Batch): { size: number; capacity: number; allocations: number } {
  let size = 0;
  let capacity = 0;
  let allocations = 0;
  for (const c of b.columns) {
    const s = columnBytes(c);
    size += s.used;
    capacity += s.used;
    allocations += s.buffers;
  }
  for (const v of [b.times, b.diffs])
    if (typeof v !== 'number') {
      size += v.byteLength;
      capacity += v.byteLength;
      allocations++;
    }
  return { size, capacity, allocations };
}

function timeRange(b: Batch): { min: number; max: number } {
  const { times } = b;
  if (typeof times === 'number') return { min: times, max: times };
  let min = Number.POSITIVE_INFINITY;
  let max = Number.NEGATIVE_INFINITY;
  for (let i = 0; i < b.length; i++) {
    const t = times[i]!;
    if (t < min) min = t;
    if (t > max) max = t;
  }
  return { min, max };
}

function sortByTime(b: Batch): Batch {
  const times = b.times as Float64Array;
  const order = new Int32Array(b.length);
  for (let i = 0; i < order.length; i++) order[i] = i;
  order.sort((i, j) => times[i]! - times[j]!);
  return gatherBatch(b, order, b.length);
}
