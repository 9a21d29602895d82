/**
 * How much of the snapshot a dataflow has put through on this worker: updates of the parts and batches to read at the as-of, so that
 * large inputs weigh more. The as-of fixes the total; what is inserted later does not count.
 *
 * An update is done when it was read and waits in no queue of the dataflow any more: listing a part, or fetching it, is not doing
 * it. What operators still make of it (the end of a join, a sort) is not seen, so the controller keeps an object short of its
 * total until it is hydrated.
 */
import type { GlobalId } from '../base/ids.ts';
import type { ProgressResponse } from './protocol.ts';

/** What a reader of an import says: how much there is on this worker to list or read, once; then what it has passed on. */
export interface RowsEvent {
  readonly kind: 'total' | 'read';
  readonly rows: number;
}

export class SnapshotProgress {
  readonly #queued: () => number;
  #unknown = 0;
  #total = 0;
  #read = 0;
  #done = 0;

  /** `queued`: updates that wait between operators of the dataflow on this worker. */
  constructor(queued: () => number) {
    this.#queued = queued;
  }

  /** One more import, whose total is to come. */
  import(): (event: RowsEvent) => void {
    this.#unknown++;
    return ({ kind, rows }) => {
      if (kind === 'read') {
        this.#read += rows;
        return;
      }
      this.#unknown--;
      this.#total += rows;
    };
  }

  /** Null while an import has not been looked at. */
  get total(): number | null {
    return this.#unknown > 0 ? null : this.#total;
  }

  /** Never goes back: an operator may make ten rows of one. */
  get done(): number {
    this.#done = Math.max(this.#done, this.#read - this.#queued());
    return this.#done;
  }

  /** Whatever still lies in queues is of later times. */
  get read(): number {
    return this.#read;
  }
}

export interface ProgressReporterOptions {
  readonly id: GlobalId;
  readonly worker: number;
  readonly life: number;
  readonly progress: SnapshotProgress;
  readonly send: (response: ProgressResponse) => void;
}

const INTERVAL_NS = 1e9;

/** Tells it at most once a second while the export hydrates, and once more when it has. */
export class ProgressReporter {
  readonly #o: ProgressReporterOptions;
  #last: ProgressResponse | undefined;
  #dueNs = Number.NEGATIVE_INFINITY;
  #over = false;

  constructor(options: ProgressReporterOptions) {
    this.#o = options;
  }

  step(ns: number, hydrated: boolean): void {
    if (this.#over || (!hydrated && ns < this.#dueNs)) return;
    const { progress } = this.#o;
    this.#over = hydrated;
    this.#dueNs = ns + INTERVAL_NS;
    // Hydrated without a look at its imports, where it stands on an arrangement that was there.
    const total = progress.total ?? (hydrated ? 0 : null);
    if (total === null) return;
    const done = hydrated ? progress.read : progress.done;
    if (this.#last?.rowsDone === done && this.#last.rowsTotal === total) return;
    const { id, worker, life } = this.#o;
    this.#last = { kind: 'progress', worker, id, life, rowsDone: done, rowsTotal: total };
    this.#o.send(this.#last);
  }

  /** For whoever may not have heard it. */
  repeat(): void {
    if (this.#last !== undefined) this.#o.send(this.#last);
  }
}
