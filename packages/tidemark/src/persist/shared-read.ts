/**
 * One reading of a shard by all workers of a dataflow: the snapshot at an as-of, then what follows, every part to
 * exactly one worker. Shares only complement each other within one listing, so one object lists for all; workers
 * in threads of their own reach it over the port of their stores.
 *
 * Lockstep: a step is given once every worker has asked for it, which says that it is done with the one before;
 * then the blobs of that one are let go. A worker that lags holds up the others' reading by one step, and their
 * frontier anyway.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import { droppedShard } from './log.ts';
import { shareOf } from './read.ts';
import type { Listen, Listing, PartRead } from './shard-types.ts';
import type { Shards } from './shards.ts';

export interface SharedReadSpec {
  readonly shardId: string;
  readonly asOf: Timestamp;
  readonly workers: number;
}

/** Plain data. */
export interface SharedStep {
  /** The first step is the snapshot: everything up to the as-of, with that time. */
  readonly snapshot: boolean;
  readonly lower: Timestamp;
  readonly upper: Frontier;
  /** This worker's share. */
  readonly parts: readonly PartRead[];
  /** Updates in the shares of all workers: an upper bound of what they will read. */
  readonly totalRows: number;
}

/** What a worker asks. `readId` names the reading; the first worker to ask begins it. */
export interface ReadFeed {
  next(readId: string, spec: SharedReadSpec, worker: number): Promise<SharedStep | null>;
  /** Ends the reading for all its workers; those that wait get query_canceled. */
  close(readId: string): Promise<void>;
}

interface Waiting {
  readonly resolve: (step: SharedStep | null) => void;
  readonly reject: (error: unknown) => void;
}

/** The readings of a process. */
export class SharedReads implements ReadFeed {
  readonly #shards: Shards;
  readonly #reads = new Map<string, SharedRead>();
  readonly #closed = new Set<string>();

  constructor(shards: Shards) {
    this.#shards = shards;
  }

  next(readId: string, spec: SharedReadSpec, worker: number): Promise<SharedStep | null> {
    if (this.#closed.has(readId)) return Promise.reject(canceled(spec.shardId));
    let read = this.#reads.get(readId);
    if (read === undefined) this.#reads.set(readId, (read = new SharedRead(this.#shards, spec)));
    return read.next(worker);
  }

  async close(readId: string): Promise<void> {
    // Ids are not used again; a late worker must not begin the reading anew.
    this.#closed.add(readId);
    this.#reads.get(readId)?.close();
    this.#reads.delete(readId);
  }
}

class SharedRead {
  readonly #shards: Shards;
  readonly #spec: SharedReadSpec;
  readonly #abort = new AbortController();
  readonly #waiting: (Waiting | undefined)[];
  #listing: Listing | null = null;
  #listen: Listen | null = null;

  constructor(shards: Shards, spec: SharedReadSpec) {
    this.#shards = shards;
    this.#spec = spec;
    this.#waiting = new Array(spec.workers).fill(undefined);
  }

  next(worker: number): Promise<SharedStep | null> {
    if (this.#abort.signal.aborted) return Promise.reject(canceled(this.#spec.shardId));
    assert(worker < this.#spec.workers && this.#waiting[worker] === undefined, 'a worker asks once a step');
    return new Promise((resolve, reject) => {
      this.#waiting[worker] = { resolve, reject };
      if (!this.#waiting.includes(undefined)) void this.#give();
    });
  }

  async #give(): Promise<void> {
    try {
      const step = await this.#step();
      const all = this.#takeWaiting();
      for (const [worker, w] of all.entries())
        w?.resolve(step === null ? null : { ...step, parts: shareOf(step.parts, worker, all.length) });
    } catch (e) {
      for (const w of this.#takeWaiting()) w?.reject(e);
    }
  }

  async #step(): Promise<SharedStep | null> {
    const { shardId, asOf } = this.#spec;
    const { signal } = this.#abort;
    if (this.#listen === null) {
      const shard = await this.#shards.open(shardId);
      if (shard === null) throw droppedShard(shardId);
      const listing = await shard.snapshot(asOf, { signal });
      this.#listing = listing;
      this.#listen = await shard.listen(asOf);
      if (signal.aborted) this.close();
      const { parts, rows } = listing;
      return { snapshot: true, lower: 0, upper: asOf + 1, parts, totalRows: rows };
    }
    this.#listing?.release();
    const step = await this.#listen.next(signal);
    if (step === null) return null;
    return { snapshot: false, ...step, totalRows: step.parts.reduce((n, p) => n + p.part.rows, 0) };
  }

  #takeWaiting(): (Waiting | undefined)[] {
    const all = this.#waiting.slice();
    this.#waiting.fill(undefined);
    return all;
  }

  close(): void {
    this.#abort.abort();
    this.#listing?.release();
    this.#listen?.close();
    for (const w of this.#takeWaiting()) w?.reject(canceled(this.#spec.shardId));
  }
}

const canceled = (shardId: string): SqlError =>
  new SqlError('query_canceled', `reading shard ${shardId} was canceled`);
