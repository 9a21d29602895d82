/**
 * The shards that the environment reads and writes: one durable hold each, under its generation's name, so that a restart finds
 * everything as readable as it was. In memory any number of holds stand behind it.
 *
 * A generation that stands by holds by leases, which end with it, and leaves all upkeep to the leader.
 *
 * The hold follows the least of its readers and of the policy (one second behind the lesser of upper and now), lazily:
 * every move costs a transaction, and being late only keeps a little history longer.
 */
import { assert } from '../base/assert.ts';
import type { Clock, Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import type { Shard } from '../persist/shard.ts';
import type { ReadHold } from '../persist/shard-types.ts';
import type { Stores } from '../persist/shards.ts';
import { type Hold, HoldSet } from '../time/hold-set.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import { holdForGeneration } from './generation-hold.ts';
import type { StoreKind } from './group-commit.ts';
import type { ShardCollections } from './shard-collections.ts';

const COMPACTION_LAG_MS = 1000;
/** The durable hold moves when it can move this far. */
const HOLD_STEP_MS = 5000;
/** How often a shard is looked after though nobody writes to it: expired holds, replaced blobs. */
const UPKEEP_MS = 60_000;

interface Entry {
  readonly shard: Shard;
  readonly store: StoreKind;
  durable: ReadHold;
  readonly holds: HoldSet;
  readonly stopWatching: () => void;
  upper: Frontier;
  since: Frontier;
  moving: boolean;
  upkeepAtMs: number;
}

export interface CollectionsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly generation: number;
  /** False: another generation writes. */
  readonly leads: boolean;
  /** Nothing that is read here may be relied on any longer. */
  readonly onLeaseLost: (error: SqlError) => void;
}

export class Collections implements ShardCollections {
  readonly #entries = new Map<GlobalId, Entry>();
  readonly #listeners = new Set<(id: GlobalId, upper: Frontier) => void>();
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #generation: number;
  readonly #onLeaseLost: (error: SqlError) => void;
  #leads: boolean;

  constructor(options: CollectionsOptions) {
    this.#clock = options.clock;
    this.#logger = options.logger;
    this.#generation = options.generation;
    this.#leads = options.leads;
    this.#onLeaseLost = options.onLeaseLost;
  }

  /** Begins to follow a shard under a collection's id. `watch` is the watch of the shard's own store. */
  async add(id: GlobalId, shard: Shard, watch: Stores['watch'], store: StoreKind = 'durable'): Promise<void> {
    assert(!this.#entries.has(id), `collection ${id} is added once`);
    const durable = store === 'memory' || this.#leads ? await this.#own(shard) : await shard.hold();
    const entry: Entry = {
      shard,
      store,
      durable,
      holds: new HoldSet(),
      stopWatching: watch.subscribe(shard.shardId, (n) => this.#moved(id, n.upper)),
      upper: shard.upper,
      since: durable.since,
      moving: false,
      upkeepAtMs: this.#clock.nowMs() + UPKEEP_MS,
    };
    this.#entries.set(id, entry);
  }

  #own(shard: Shard): Promise<ReadHold> {
    return holdForGeneration(shard, { purpose: 'environment', generation: this.#generation });
  }

  /** Rejects when a lease is gone: its process slept longer than leases last, and what it reads may have been compacted. */
  async checkLeases(): Promise<void> {
    if (this.#leads) return;
    await Promise.all(
      [...this.#entries.values()].map(async ({ store, shard, durable }) => {
        if (store === 'memory') return;
        const { holds } = await shard.refresh();
        if (!holds.some((h) => h.holdId === durable.holdId)) throw this.#lost(shard);
      }),
    );
  }

  #lost(shard: Shard): SqlError {
    const error = new SqlError(
      'object_not_in_prerequisite_state',
      `the lease on shard ${shard.shardId} has expired`,
    );
    this.#onLeaseLost(error);
    return error;
  }

  /** Leases become durable holds, and the holds of generations before this one go. */
  async lead(): Promise<void> {
    this.#leads = true;
    const durable = [...this.#entries.values()].filter((e) => e.store === 'durable');
    await Promise.all(
      durable.map(async (e) => {
        const lease = e.durable;
        e.durable = await this.#own(e.shard);
        await lease.release();
      }),
    );
  }

  /**
   * Makes a collection readable from `at` on again, if its shard still is: the policy of a generation that stands by knows nothing
   * of what the leader is about to create.
   */
  async reach(id: GlobalId, at: Timestamp): Promise<Hold> {
    const e = this.#entry(id);
    const hold = e.holds.acquire(at);
    if (at >= e.since) return hold;
    try {
      const before = e.durable;
      e.durable = await e.shard.hold({ since: at });
      e.since = Math.min(e.since, at);
      await before.release();
      return hold;
    } catch (error) {
      hold.release();
      throw error;
    }
  }

  #moved(id: GlobalId, upper: Frontier): void {
    const e = this.#entries.get(id);
    if (e === undefined || upper <= e.upper) return;
    e.upper = upper;
    for (const f of [...this.#listeners]) f(id, upper);
  }

  /** Forgets the collection; what its shard holds is the caller's to remove. */
  remove(id: GlobalId): Shard | undefined {
    const e = this.#entries.get(id);
    if (e === undefined) return undefined;
    this.#entries.delete(id);
    e.stopWatching();
    // The shard is the leader's to remove, and may be gone already.
    if (!this.#leads && e.store === 'durable') void e.durable.release().catch(() => undefined);
    return e.shard;
  }

  has(id: GlobalId): boolean {
    return this.#entries.has(id);
  }

  shard(id: GlobalId): Shard {
    return this.#entry(id).shard;
  }

  shardOf(id: GlobalId): string {
    return this.#entry(id).shard.shardId;
  }

  upper(id: GlobalId): Frontier {
    return this.#entry(id).upper;
  }

  since(id: GlobalId): Frontier {
    return this.#entry(id).since;
  }

  #entry(id: GlobalId): Entry {
    const e = this.#entries.get(id);
    assert(e !== undefined, `collection ${id} is in a shard`);
    return e;
  }

  hold(id: GlobalId, at?: Frontier): Hold {
    const e = this.#entry(id);
    const t = at ?? e.since;
    assert(t >= e.since, `a hold on ${id} at ${t} is not before its since ${e.since}`);
    return e.holds.acquire(t);
  }

  onUpper(listener: (id: GlobalId, upper: Frontier) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Lets history go that nobody reads any more. Called now and then. */
  maintain(): void {
    const now = this.#clock.nowMs();
    for (const [id, e] of this.#entries) {
      this.#upkeep(id, e, now);
      const policy = Math.floor(Math.min(e.upper, now)) - COMPACTION_LAG_MS;
      const since = Math.min(policy, e.holds.least);
      if (since < e.since + HOLD_STEP_MS || e.moving) continue;
      // In memory first: a hold taken from now on must not ask for what is being given up.
      e.since = since;
      e.moving = true;
      void e.durable
        .downgrade(since)
        .catch((error: unknown) => {
          if (this.#entries.get(id) !== e) return;
          this.#logger.warn({ id, error }, 'a read hold did not move');
          if (!this.#leads && error instanceof SqlError && error.code === 'object_not_in_prerequisite_state')
            this.#lost(e.shard);
        })
        .finally(() => {
          e.moving = false;
        });
    }
  }

  #upkeep(id: GlobalId, e: Entry, now: number): void {
    if (now < e.upkeepAtMs || (!this.#leads && e.store === 'durable')) return;
    e.upkeepAtMs = now + UPKEEP_MS;
    e.shard.maintain().catch((error: unknown) => {
      if (this.#entries.has(id)) this.#logger.warn({ id, error }, 'a shard was not looked after');
    });
  }

  /** Holds that readers have, over all collections; for tests and the teardown check. */
  get holds(): number {
    let n = 0;
    for (const e of this.#entries.values()) n += e.holds.size;
    return n;
  }

  /** Durable holds stay for the next start; leases go. */
  async close(): Promise<void> {
    const entries = [...this.#entries.values()];
    this.#entries.clear();
    for (const e of entries) e.stopWatching();
    if (this.#leads) return;
    await Promise.allSettled(entries.filter((e) => e.store === 'durable').map((e) => e.durable.release()));
  }
}
