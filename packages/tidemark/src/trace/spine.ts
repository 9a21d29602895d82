/**
 * The batches of a trace, oldest first, merged so that their number stays logarithmic in the rows, and the rows in proportion to what
 * there is to say as of `since`, also on a worker that never has nothing else to do.
 *
 * Two neighbours are merged when the older is at most twice the newer, three times if the newer takes rows back, and no reader may
 * still cut between them (`physical`). A merge advances times to `since`, sums equal updates and drops what cancels. What came later
 * than `since` stays apart until `since` has passed it: a batch of which that was half (`loose`) is merged again then, with its
 * neighbour or alone. So once `since` has passed, all batches together hold at most eight times what is left when everything is summed:
 * less than half of each is not summed, all that take rows back have at most half as many rows as the first, and all others as many.
 *
 * A merge is paid for by the rows that come while it goes on: in step with them, whole when half as many have come as its newer batch
 * has, or some intervals are over (`debt`, `pay`). So it ends before the next one of its size begins, whatever a row costs to merge. What `since` has passed was
 * paid for when it came, and is owed at once. Each row is merged some log2(rows) times by size, and at most as often again by `since`.
 */
import type { Column } from '../repr/column.ts';
import { type Frontier, MIN_TIME } from '../time/timestamp.ts';
import { type ArrangedBatch, type ArrangementSpec, emptyArranged, heapSize } from './arranged-batch.ts';
import { BatchMerger } from './batch-merger.ts';
import { Fuel } from './fuel.ts';
import type { TraceEvents } from './trace-events.ts';

/** Fuel that merging a row takes, about: only how evenly a merge is paid for depends on it. */
const ROW_FUEL = 4;

/** After so many intervals a merge is done, whatever came. */
const GRACE_INTERVALS = 8;

interface Layer {
  batch: ArrangedBatch;
  /** At most so many of its rows are later than `since` was when it was made. */
  loose: number;
  /** The merge of this layer, and of the next one if it is `both`. */
  merge: Merge | undefined;
}

/** A merge under way. */
interface Merge {
  readonly merger: BatchMerger;
  readonly both: boolean;
  readonly loose: number;
  /** What it takes, about. */
  readonly cost: number;
  /** Rows in whose course it is to be done, and those that came. */
  readonly grace: number;
  came: number;
  spent: number;
}

/** Fuel that is due. */
function owed(m: Merge): number {
  if (m.came >= m.grace) return Math.max(m.cost - m.spent, 1);
  return Math.max(0, Math.ceil((m.cost * m.came) / m.grace) - m.spent);
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

  /** Fuel that merges are owed by the rows that have come. */
  get debt(): number {
    let debt = 0;
    for (const l of this.#layers) if (l.merge !== undefined) debt += owed(l.merge);
    return debt;
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
    if (batch.length > 0 || !this.#extend(batch.upper)) {
      this.#layers.push({ batch, loose: batch.length, merge: undefined });
      this.#listed = undefined;
      this.#events.batchAdded(this.#operatorId, batch.length);
      this.#heap(batch, 1);
    }
    for (const { merge: m } of this.#layers)
      if (m !== undefined) m.came += Math.max(batch.length, Math.ceil(m.grace / GRACE_INTERVALS));
    this.plan();
  }

  /** Without updates it is the last batch's bound that moves, unless a reader may cut there or that batch is in a merge. */
  #extend(upper: Frontier): boolean {
    const n = this.#layers.length;
    const last = this.#layers[n - 1];
    if (last === undefined || upper > this.#physical || this.#busy(n - 1)) return false;
    last.batch = { ...last.batch, upper };
    this.#listed = undefined;
    return true;
  }

  /** Whether the layer is in a merge. */
  #busy(i: number): boolean {
    return this.#layers[i]?.merge !== undefined || this.#layers[i - 1]?.merge?.both === true;
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
    if (further) this.#joinNeighbours();
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
  }

  /** Goes on with merges, the newest first: they are the small ones that others wait for. */
  work(fuel: Fuel): void {
    this.#workOn(fuel, () => Number.POSITIVE_INFINITY);
  }

  /** Goes on with what merges are owed. */
  pay(fuel: Fuel): void {
    this.#workOn(fuel, owed);
  }

  #workOn(fuel: Fuel, share: (m: Merge) => number): void {
    while (!fuel.exhausted) {
      const at = this.#layers.findLastIndex((l) => l.merge !== undefined && share(l.merge) > 0);
      if (at < 0) return;
      const m = this.#layers[at]!.merge!;
      const part = new Fuel(Math.min(fuel.remaining, share(m)));
      const given = part.remaining;
      const merged = m.merger.work(part);
      // Without a bound nothing is left to account for: it is done.
      const spent = Number.isFinite(given) ? given - part.remaining : 0;
      m.spent += spent;
      fuel.spend(spent);
      if (merged === undefined) continue;
      this.#install(at, { batch: merged, loose: m.loose, layers: m.both ? 2 : 1 });
      this.plan();
    }
  }

  /** The merged batch takes the place of its parts. */
  #install(
    at: number,
    merged: { readonly batch: ArrangedBatch; readonly loose: number; readonly layers: 1 | 2 },
  ): void {
    const older = this.#layers[at]!.batch;
    const newer = merged.layers === 2 ? this.#layers[at + 1]!.batch : undefined;
    this.#heap(older, -1);
    if (newer !== undefined) this.#heap(newer, -1);
    this.#heap(merged.batch, 1);
    const { length } = merged.batch;
    if (newer !== undefined) this.#events.batchesMerged(this.#operatorId, older.length, newer.length, length);
    else {
      this.#events.batchAdded(this.#operatorId, length);
      this.#events.batchDropped(this.#operatorId, older.length);
    }
    this.#layers.splice(at, merged.layers, {
      batch: { ...merged.batch, lower: older.lower, upper: (newer ?? older).upper },
      loose: Math.min(merged.loose, length),
      merge: undefined,
    });
    this.#listed = undefined;
  }

  /** Starts the merges that are due: at an interval with updates or without. */
  plan(): void {
    this.#joinNeighbours();
    for (let i = this.#layers.length - 1; i >= 0; i--)
      if (!this.#busy(i) && this.#isStale(this.#layers[i]!)) this.#begin(i, undefined);
  }

  /** With an empty batch it is a matter of bounds, done at once. */
  #joinNeighbours(): void {
    const layers = this.#layers;
    for (let i = layers.length - 2; i >= 0; i--) {
      const a = layers[i]!;
      const b = layers[i + 1]!;
      if (b.batch.upper > this.#physical || this.#busy(i) || this.#busy(i + 1)) continue;
      if (a.batch.length === 0 || b.batch.length === 0) {
        const { batch, loose } = a.batch.length === 0 ? b : a;
        this.#install(i, { batch, loose, layers: 2 });
      } else if (
        (a.batch.length <= (b.batch.negatives ? 3 : 2) * b.batch.length || this.#isStale(a)) &&
        fitTogether(a.batch, b.batch)
      )
        this.#begin(i, b);
    }
  }

  /** Whether half of it would not be told apart any more, and something may cancel or be the same. */
  #isStale({ batch: b, loose }: Layer): boolean {
    return (
      b.minTime < b.maxTime &&
      b.maxTime <= this.#since &&
      2 * loose >= b.length &&
      (b.negatives || (b.values.length === 0 && b.keyCount < b.length))
    );
  }

  #begin(i: number, next: Layer | undefined): void {
    const layer = this.#layers[i]!;
    const since = this.#since;
    const parts = next === undefined ? [layer] : [layer, next];
    let loose = 0;
    let rows = 0;
    for (const p of parts) {
      rows += p.batch.length;
      if (p.batch.maxTime > since) loose += p.loose;
    }
    const newer = next?.batch ?? emptyArranged(this.#spec, layer.batch);
    layer.merge = {
      merger: new BatchMerger(this.#spec, layer.batch, newer, since),
      both: next !== undefined,
      loose,
      cost: ROW_FUEL * rows,
      grace: next === undefined || this.#isStale(layer) ? 0 : next.batch.length >> 1,
      came: 0,
      spent: 0,
    };
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
