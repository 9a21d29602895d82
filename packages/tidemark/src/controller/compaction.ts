/**
 * How far collections may compact: each as far as its policy and its readers allow, and its own holds on what it reads with it. What is
 * served is the furthest that any replica has got; what may be forgotten is what none of them needs: the slowest one's
 * dataflow still reads its inputs from where it is.
 */
import type { GlobalId } from '../base/ids.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import { EMPTY, type Frontier, MIN_TIME, meet } from '../time/timestamp.ts';
import type { Collection } from './collection.ts';
import { maintains } from './failures.ts';
import type { Replica } from './replica.ts';
import type { Subscribes } from './subscribes.ts';

/** An index stays readable this long behind the lesser of its upper and now. */
export const COMPACTION_LAG_MS = 1000;

/** An index is let compact in steps: each is a command to every worker, and each read's hold, as it comes and goes, asks for one. */
const STEP_MS = COMPACTION_LAG_MS / 2;

export interface CompactionOptions {
  readonly collections: ReadonlyMap<GlobalId, Collection>;
  readonly replicas: ReadonlyMap<string, Replica>;
  readonly shards: ShardCollections;
  readonly subscribes: Subscribes;
  readonly nowMs: () => number;
  /** The furthest that any replica has got. */
  readonly frontier: (id: GlobalId) => Frontier;
  readonly allow: (c: Collection, since: Frontier) => void;
}

export class Compaction {
  readonly #o: CompactionOptions;

  constructor(options: CompactionOptions) {
    this.#o = options;
  }

  move(c: Collection): void {
    if (c.transient && c.kind !== 'subscribe') return;
    const since = Math.floor(meet(this.#policy(c), c.holds.least));
    if (since !== EMPTY && since > c.since) {
      c.since = since;
      this.#o.allow(c, since);
    }
    // A sealed view needs its inputs no more; keeping the holds would pin their compaction for ever.
    const read = since === EMPTY ? [] : this.#goingOn(c).map((r) => this.#input(c, r) - 1);
    const needed = Math.min(since === EMPTY ? EMPTY : c.since, ...read);
    for (const h of c.imports.values()) if (h.since < needed) h.downgrade(needed);
  }

  #policy(c: Collection): Frontier {
    if (this.isSealed(c)) return EMPTY;
    // Going on from one step below what was told, it tells that at the upper and later.
    if (c.kind === 'subscribe') return this.#o.subscribes.upper(c.id) - 1;
    // A view with a refresh schedule is complete beyond what its inputs are: it would begin anew in the future.
    if (c.kind === 'materialized-view') return meet(this.#o.shards.upper(c.outputId), this.#inputs(c)) - 1;
    const uppers = this.#goingOn(c).map((r) => r.write(c.id));
    const latest = Math.min(...(uppers.length === 0 ? [MIN_TIME] : uppers), this.#o.nowMs());
    return Math.floor((latest - COMPACTION_LAG_MS) / STEP_MS) * STEP_MS;
  }

  /** The replicas where it goes on: what is lost or failed on one is created again at the then since. */
  #goingOn(c: Collection): readonly Replica[] {
    return [...this.#o.replicas.values()].filter((r) => maintains(r, c) && !r.failures.has(c.id));
  }

  /** How far the dataflow has read on a replica; a subscribe, which reports no frontiers, has read what it told. */
  #input(c: Collection, r: Replica): Frontier {
    return c.kind === 'subscribe' ? this.#o.subscribes.upperOn(c.id, r.id) : r.input(c.id);
  }

  #inputs(c: Collection): Frontier {
    const { collections, shards, frontier } = this.#o;
    let f = EMPTY;
    for (const id of c.imports.keys()) f = meet(f, collections.has(id) ? frontier(id) : shards.upper(id));
    return f;
  }

  isSealed(c: Collection): boolean {
    return c.kind === 'materialized-view' && this.#o.shards.upper(c.outputId) === EMPTY;
  }
}
