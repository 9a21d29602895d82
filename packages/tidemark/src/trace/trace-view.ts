/**
 * What an importing dataflow sees of a trace: the trace itself, cut at `until`. Clones share a group, so that the
 * import can let the trace merge on behalf of readers that have not begun to read.
 */
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import { type ArrangedBatch, type ArrangementSpec, restrictTimes } from './arranged-batch.ts';
import type { CloneRights, TraceReader } from './trace.ts';

export class TraceView implements TraceReader {
  readonly #inner: TraceReader;
  readonly #until: Frontier;
  readonly #group: Set<TraceView>;
  #physical: Frontier;
  /** What `until` cuts, cut once. */
  readonly #cut = new WeakMap<ArrangedBatch, ArrangedBatch>();

  /** Takes over `inner`. */
  constructor(inner: TraceReader, until: Frontier, group = new Set<TraceView>()) {
    this.#inner = inner;
    this.#until = until;
    this.#group = group;
    this.#physical = inner.physical;
    group.add(this);
  }

  get spec(): ArrangementSpec {
    return this.#inner.spec;
  }

  get upper(): Frontier {
    const u = this.#inner.upper;
    return u >= this.#until ? EMPTY : u;
  }

  get since(): Frontier {
    return this.#inner.since;
  }

  get physical(): Frontier {
    return this.#physical;
  }

  setLogicalCompaction(frontier: Frontier): void {
    this.#inner.setLogicalCompaction(frontier);
  }

  setPhysicalCompaction(frontier: Frontier): void {
    if (frontier <= this.#physical) return;
    this.#physical = frontier;
    this.#inner.setPhysicalCompaction(frontier);
  }

  /** None of the readers will cut before `frontier`. */
  raisePhysical(frontier: Frontier): void {
    for (const v of this.#group) v.setPhysicalCompaction(frontier);
  }

  batchesThrough(upper: Frontier): readonly ArrangedBatch[] {
    if (upper === MIN_TIME) return [];
    if (upper < this.#until) return this.#inner.batchesThrough(upper);
    return this.batches();
  }

  batches(): readonly ArrangedBatch[] {
    const all = this.#inner.batches();
    if (this.#until === EMPTY) return all;
    const out: ArrangedBatch[] = [];
    for (const b of all) {
      if (b.lower >= this.#until) break;
      if (b.maxTime < this.#until) {
        out.push(b);
        continue;
      }
      let cut = this.#cut.get(b);
      if (cut === undefined) this.#cut.set(b, (cut = restrictTimes(b, MIN_TIME, this.#until)));
      out.push(cut);
    }
    return out;
  }

  clone(rights?: CloneRights): TraceView {
    return new TraceView(this.#inner.clone(rights), this.#until, this.#group);
  }

  dispose(): void {
    this.#group.delete(this);
    this.#inner.dispose();
  }
}

/** A trace of one batch that is complete for ever. */
export class FixedTrace implements TraceReader {
  readonly spec: ArrangementSpec;
  readonly upper: Frontier = EMPTY;
  readonly since: Frontier = MIN_TIME;
  readonly physical: Frontier = MIN_TIME;
  /** Set when it is known; until then nobody has seen a frontier beyond the minimum. */
  readonly #content: { batch: ArrangedBatch | undefined };

  constructor(spec: ArrangementSpec, content: { batch: ArrangedBatch | undefined }) {
    this.spec = spec;
    this.#content = content;
  }

  setLogicalCompaction(): void {}
  setPhysicalCompaction(): void {}

  batchesThrough(upper: Frontier): readonly ArrangedBatch[] {
    return upper === MIN_TIME ? [] : this.batches();
  }

  batches(): readonly ArrangedBatch[] {
    return this.#content.batch === undefined ? [] : [this.#content.batch];
  }

  clone(): FixedTrace {
    return this;
  }

  dispose(): void {}
}
