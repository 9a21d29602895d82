/**
 * A trace: the history of one arrangement on one worker, written by its arrange operator and read through handles
 * by any number of dataflows. Contents as of t are right for every handle whose logical frontier is at most t;
 * the trace compacts up to the least of them. It lives as long as a handle does, whatever becomes of its writer.
 *
 * Cost: inserting a batch is O(1) plus merge work in proportion to its rows, done with fuel by `work`.
 */
import { assert } from '../base/assert.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import type { ArrangedBatch, ArrangementSpec } from './arranged-batch.ts';
import type { Fuel } from './fuel.ts';
import { Spine } from './spine.ts';
import type { TraceEvents } from './trace-events.ts';

/** Reading rights on a trace, capability style: what a handle holds back is released by moving or disposing it. */
export interface TraceReader {
  readonly spec: ArrangementSpec;
  /** Sealed up to here: contents at every earlier time are complete. */
  readonly upper: Frontier;
  /** Reads at this time or later are right. */
  readonly since: Frontier;
  /** Cuts at this frontier or later are right. */
  readonly physical: Frontier;
  /** Gives up reads before `frontier`. */
  setLogicalCompaction(frontier: Frontier): void;
  /** Gives up cutting (`batchesThrough`) before `frontier`; EMPTY for a reader that never cuts. */
  setPhysicalCompaction(frontier: Frontier): void;
  /** The batches that make up the updates before `upper`, oldest first; batches end exactly there. */
  batchesThrough(upper: Frontier): readonly ArrangedBatch[];
  /** Every sealed batch. */
  batches(): readonly ArrangedBatch[];
  clone(rights?: CloneRights): TraceReader;
  dispose(): void;
}

export interface CloneRights {
  /**
   * Whether the clone may cut (`batchesThrough`): its owner then has to move its physical frontier, or nothing
   * merges. By default it may not, and holds back times alone: an index, a peek.
   */
  readonly cuts: boolean;
}

/** Follows a trace as its writer does. Called synchronously: activate something, do no work. */
export interface TraceListener {
  batchSealed(batch: ArrangedBatch): void;
  /** The writer is gone (its dataflow was dropped) without having reached the empty frontier. */
  writerGone(): void;
}

export interface TraceOptions {
  readonly spec: ArrangementSpec;
  readonly operatorId: number;
  readonly events: TraceEvents;
  /** Handles that live changed by `diff`. */
  readonly onShared?: (diff: number) => void;
  /** There are merges to go on with (`work`); called whenever there may be. */
  readonly onMergeWork?: (trace: Trace) => void;
}

export class Trace {
  readonly spec: ArrangementSpec;
  readonly operatorId: number;
  readonly #events: TraceEvents;
  readonly #onShared: ((diff: number) => void) | undefined;
  readonly #onMergeWork: ((trace: Trace) => void) | undefined;
  readonly #handles = new Set<TraceHandle>();
  readonly #listeners = new Set<TraceListener>();
  readonly #spine: Spine;
  #upper: Frontier = MIN_TIME;
  #writer: 'live' | 'finished' | 'gone' = 'live';

  constructor(options: TraceOptions) {
    this.spec = options.spec;
    this.operatorId = options.operatorId;
    this.#events = options.events;
    this.#onShared = options.onShared;
    this.#onMergeWork = options.onMergeWork;
    this.#spine = new Spine(options);
  }

  get upper(): Frontier {
    return this.#upper;
  }

  /** The least logical frontier of the handles; EMPTY without handles. */
  get since(): Frontier {
    let f = EMPTY;
    for (const h of this.#handles) if (h.since < f) f = h.since;
    return f;
  }

  get writer(): 'live' | 'finished' | 'gone' {
    return this.#writer;
  }

  /** Whether anyone can read: if not, what is inserted is forgotten. */
  get shared(): boolean {
    return this.#handles.size > 0;
  }

  /**
   * A new handle that may read from `since` on, which the trace must still be able to serve, and cut where all
   * others can, or at the present upper bound if none of them cuts any more.
   */
  handle(since: Frontier = this.#spine.since, physical: Frontier = this.#cuttable): TraceHandle {
    assert(this.#spine.open, 'a handle is taken from a trace that lives');
    assert(since >= this.#spine.since, `a trace compacted to ${this.#spine.since} is read from ${since}`);
    assert(physical >= this.#cuttable, `a trace merged to ${this.#cuttable} is cut at ${physical}`);
    const h: TraceHandle = new TraceHandle(this, { since, physical }, () => this.#release(h));
    this.#handles.add(h);
    if (physical < this.#spine.physical) this.compactionMoved();
    this.#events.traceShared(this.operatorId, 1);
    this.#onShared?.(1);
    return h;
  }

  get #cuttable(): Frontier {
    return Math.min(this.#spine.physical, this.#upper);
  }

  #release(h: TraceHandle): void {
    this.#handles.delete(h);
    if (this.#handles.size === 0) this.#spine.close();
    else this.compactionMoved();
    this.#events.traceShared(this.operatorId, -1);
    this.#onShared?.(-1);
  }

  /** Handles call it when they moved. */
  compactionMoved(): void {
    let physical = EMPTY;
    for (const h of this.#handles) if (h.physical < physical) physical = h.physical;
    this.#spine.setCompaction(this.since, physical);
    // Otherwise it waits for what the writer says next.
    if (this.#writer !== 'live') this.#spine.plan();
    if (this.#spine.hasMergeWork) this.#onMergeWork?.(this);
  }

  /** Writer: the batch for [upper, batch.upper). */
  insert(batch: ArrangedBatch): void {
    assert(
      batch.lower === this.#upper,
      `a batch at ${batch.lower} follows a trace sealed up to ${this.#upper}`,
    );
    assert(batch.upper > batch.lower, `a batch ends at ${batch.upper} after it begins at ${batch.lower}`);
    assert(
      batch.length === 0 || (batch.minTime >= batch.lower && batch.maxTime < batch.upper),
      `a batch [${batch.lower}, ${batch.upper}) holds times from ${batch.minTime} to ${batch.maxTime}`,
    );
    this.#upper = batch.upper;
    if (batch.upper === EMPTY) this.#writer = 'finished';
    if (this.#spine.open) {
      this.#spine.insert(batch);
      if (this.#spine.hasMergeWork) this.#onMergeWork?.(this);
    }
    for (const l of this.#listeners) l.batchSealed(batch);
  }

  /** Writer: it ends. Listeners learn it unless all was sealed before. */
  closeWriter(): void {
    if (this.#writer !== 'live') return;
    this.#writer = 'gone';
    for (const l of this.#listeners) l.writerGone();
  }

  listen(listener: TraceListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  batches(): readonly ArrangedBatch[] {
    return this.#spine.batches();
  }

  /** Fuel that its merges are owed by what was inserted. */
  get mergeDebt(): number {
    return this.#spine.debt;
  }

  pay(fuel: Fuel): void {
    this.#spine.pay(fuel);
  }

  get hasMergeWork(): boolean {
    return this.#spine.hasMergeWork;
  }

  work(fuel: Fuel): void {
    this.#spine.work(fuel);
  }
}

export class TraceHandle implements TraceReader {
  readonly trace: Trace;
  #since: Frontier;
  #physical: Frontier;
  #release: (() => void) | undefined;

  constructor(
    trace: Trace,
    from: { readonly since: Frontier; readonly physical: Frontier },
    release: () => void,
  ) {
    this.trace = trace;
    this.#since = from.since;
    this.#physical = from.physical;
    this.#release = release;
  }

  get spec(): ArrangementSpec {
    return this.trace.spec;
  }

  get upper(): Frontier {
    return this.trace.upper;
  }

  get since(): Frontier {
    return this.#since;
  }

  get physical(): Frontier {
    return this.#physical;
  }

  get disposed(): boolean {
    return this.#release === undefined;
  }

  setLogicalCompaction(frontier: Frontier): void {
    assert(!this.disposed, 'a handle is moved before it is disposed');
    assert(frontier >= this.#since, `a logical frontier goes from ${this.#since} to ${frontier}`);
    if (frontier === this.#since) return;
    this.#since = frontier;
    this.trace.compactionMoved();
  }

  setPhysicalCompaction(frontier: Frontier): void {
    assert(!this.disposed, 'a handle is moved before it is disposed');
    assert(frontier >= this.#physical, `a physical frontier goes from ${this.#physical} to ${frontier}`);
    if (frontier === this.#physical) return;
    this.#physical = frontier;
    this.trace.compactionMoved();
  }

  batchesThrough(upper: Frontier): readonly ArrangedBatch[] {
    assert(!this.disposed, 'a handle is read before it is disposed');
    if (upper === MIN_TIME) return [];
    assert(upper >= this.#physical, `a handle that cuts from ${this.#physical} on is cut at ${upper}`);
    const all = this.trace.batches();
    let n = 0;
    while (n < all.length && all[n]!.upper <= upper) n++;
    assert(
      n === all.length || all[n]!.lower >= upper,
      `a batch [${all[n]?.lower}, ${all[n]?.upper}) spans ${upper}`,
    );
    return all.slice(0, n);
  }

  batches(): readonly ArrangedBatch[] {
    assert(!this.disposed, 'a handle is read before it is disposed');
    return this.trace.batches();
  }

  clone(rights: CloneRights = { cuts: false }): TraceHandle {
    assert(!this.disposed, 'a handle is cloned before it is disposed');
    if (!rights.cuts) return this.trace.handle(this.#since, EMPTY);
    return this.#physical === EMPTY
      ? this.trace.handle(this.#since)
      : this.trace.handle(this.#since, this.#physical);
  }

  dispose(): void {
    const release = this.#release;
    this.#release = undefined;
    release?.();
  }
}
