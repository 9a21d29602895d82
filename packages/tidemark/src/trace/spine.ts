/**
 * The batches of a trace, oldest first, merged in the background so that their number stays logarithmic in the
 * rows.
 *
 * Two neighbours are merged when the older is at most twice the newer and no reader may still cut between them
 * (`physical`). A merge advances times to `since`, sums equal updates and drops what cancels. Each inserted row
 * owes four rows of merging (`debt`): a merge of sizes a <= 2b is paid before another 3b/4 rows have come, so
 * merges end before the next one of their size begins.
 */
import type { Column } from '../repr/column.ts';
import { type Frontier, MIN_TIME } from '../time/timestamp.ts';
import { type ArrangedBatch, type ArrangementSpec, heapSize } from './arranged-batch.ts';
import { BatchMerger } from './batch-merger.ts';
import type { Fuel } from './fuel.ts';
import type { TraceEvents } from './trace-events.ts';

/** Rows of merging that an inserted row owes. */
const MERGE_EFFORT = 4;
/** So that a trickle of tiny batches still merges. */
const MERGE_BASE = 64;

interface Layer {
  batch: ArrangedBatch;
  /** The merge that joins this layer and the next one. */
  merge: BatchMerger | undefined;
}

export interface SpineOptions {
  readonly spec: ArrangementSpec;
  readonly operatorId: number;
  readonly events: TraceEvents;
}

export class Spine {
  readonly #spec: ArrangementSpec;
  readonly #operatorId: number;
  readonly #events: TraceEvents;
  #layers: Layer[] = [];
  #listed: ArrangedBatch[] | undefined;
  #since: Frontier = MIN_TIME;
  #physical: Frontier = MIN_TIME;
  #open = true;
  #debt = 0;

  constructor(options: SpineOptions) {
    this.#spec = options.spec;
    this.#operatorId = options.operatorId;
    this.#events = options.events;
  }

  /** Not yet given up by its last reader. */
  get open(): boolean {
    return this.#open;
  }

  get since(): Frontier {
    return this.#since;
  }

  get physical(): Frontier {
    return this.#physical;
  }

  get debt(): number {
    return this.#debt;
  }

  get hasMergeWork(): boolean {
    return this.#layers.some((l) => l.merge !== undefined);
  }

  /** Oldest first, contiguous. */
  batches(): readonly ArrangedBatch[] {
    this.#listed ??= this.#layers.map((l) => l.batch);
    return this.#listed;
  }

  insert(batch: ArrangedBatch): void {
    if (batch.length === 0 && this.#extend(batch.upper)) return;
    this.#layers.push({ batch, merge: undefined });
    this.#listed = undefined;
    this.#events.batchAdded(this.#operatorId, batch.length);
    this.#heap(batch, 1);
    this.#debt += MERGE_EFFORT * batch.length + MERGE_BASE;
    this.#plan();
  }

  /** Without updates it is the last batch's bound that moves, unless a reader may cut there or that batch is in a merge. */
  #extend(upper: Frontier): boolean {
    const n = this.#layers.length;
    const last = this.#layers[n - 1];
    if (last === undefined || upper > this.#physical || last.merge !== undefined) return false;
    if (n > 1 && this.#layers[n - 2]!.merge !== undefined) return false;
    last.batch = { ...last.batch, upper };
    this.#listed = undefined;
    return true;
  }

  /**
   * Contents as of times before `since` and cuts before `physical` are not asked for. A new reader may bring
   * `physical` back to the present upper bound, where nothing is merged across yet.
   */
  setCompaction(since: Frontier, physical: Frontier): void {
    if (!this.#open) return;
    if (since > this.#since) this.#since = since;
    const further = physical > this.#physical;
    this.#physical = physical;
    if (further) this.#plan();
  }

  /** Forgets everything. */
  close(): void {
    this.#open = false;
    for (const l of this.#layers) {
      this.#events.batchDropped(this.#operatorId, l.batch.length);
      this.#heap(l.batch, -1);
    }
    this.#layers = [];
    this.#listed = undefined;
    this.#debt = 0;
  }

  /** Goes on with merges, the newest first: they are the small ones that others wait for. */
  work(fuel: Fuel): void {
    while (!fuel.exhausted) {
      let at = this.#layers.length - 2;
      while (at >= 0 && this.#layers[at]!.merge === undefined) at--;
      if (at < 0) {
        this.#debt = 0;
        return;
      }
      const before = fuel.remaining;
      const merged = this.#layers[at]!.merge!.work(fuel);
      this.#debt = Math.max(0, this.#debt - (Number.isFinite(before) ? before - fuel.remaining : this.#debt));
      if (merged !== undefined) {
        this.#install(at, merged);
        this.#plan();
      }
    }
  }

  /** The merged batch takes the place of its two parts. */
  #install(at: number, merged: ArrangedBatch): void {
    const older = this.#layers[at]!.batch;
    const newer = this.#layers[at + 1]!.batch;
    this.#heap(older, -1);
    this.#heap(newer, -1);
    this.#heap(merged, 1);
    this.#events.batchesMerged(this.#operatorId, older.length, newer.length, merged.length);
    this.#layers.splice(at, 2, {
      batch: { ...merged, lower: older.lower, upper: newer.upper },
      merge: undefined,
    });
    this.#listed = undefined;
  }

  /** Starts the merges that are due; with an empty batch it is a matter of bounds, done at once. */
  #plan(): void {
    const layers = this.#layers;
    for (let i = layers.length - 2; i >= 0; i--) {
      const a = layers[i]!;
      const b = layers[i + 1]!;
      if (b.batch.upper > this.#physical) continue;
      if (a.merge !== undefined || b.merge !== undefined) continue;
      if (i > 0 && layers[i - 1]!.merge !== undefined) continue;
      if (a.batch.length === 0 || b.batch.length === 0)
        this.#install(i, a.batch.length === 0 ? b.batch : a.batch);
      else if (a.batch.length <= 2 * b.batch.length && fitTogether(a.batch, b.batch))
        a.merge = new BatchMerger(this.#spec, a.batch, b.batch, this.#since);
    }
  }

  #heap(batch: ArrangedBatch, sign: 1 | -1): void {
    const h = heapSize(batch);
    this.#events.heap(this.#operatorId, sign * h.size, sign * h.capacity, sign * h.allocations);
  }
}

/** Offsets are 32 bits wide: two batches whose texts would need more stay apart. */
function fitTogether(a: ArrangedBatch, b: ArrangedBatch): boolean {
  const fits = (x: readonly Column[], y: readonly Column[]): boolean =>
    x.every(
      (c, i) => c.kind !== 'bytes' || c.offsets[c.length]! + y[i]!.offsets[y[i]!.length]! <= 0x7fffffff,
    );
  return a.length + b.length <= 0x7fffffff && fits(a.keys, b.keys) && fits(a.values, b.values);
}
