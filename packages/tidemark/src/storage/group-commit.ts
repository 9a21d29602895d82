/**
 * Tables, loaded sources, the catalog and its relations advance together: a commit, or a tick each second, is one consensus
 * transaction that appends to what was written and moves every upper. Writes that arrive while one is under way share
 * the next. A write is acknowledged when it is durable, and from then on every strict read sees it.
 */
import type { Logger, Timers } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { fencedBy } from '../persist/rules.ts';
import type { Shard } from '../persist/shard.ts';
import type { Fence, Part, ShardInfo, Updates } from '../persist/shard-types.ts';
import type { ShardAppend, Shards } from '../persist/shards.ts';
import type { Batch } from '../repr/batch.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { TimestampOracle } from './timestamp-oracle.ts';

/** Where members live: what only describes the present is in memory, everything else durable. */
export type StoreKind = 'durable' | 'memory';

export interface WriteRequest {
  /** By shard id of a member; diffs as they are, times are given by the commit. */
  readonly updates?: ReadonlyMap<string, readonly Batch[]>;
  /** Members from this commit on, with parts staged at times before it (a file's load), or empty. */
  readonly join?: readonly {
    readonly shard: Shard;
    readonly store: StoreKind;
    readonly parts?: readonly Part[];
  }[];
  /** No members any more after this commit. */
  readonly leave?: readonly string[];
  /** Runs once it is durable, before anybody is told. */
  readonly onDurable?: (ts: Timestamp) => void;
}

interface Pending {
  readonly request: WriteRequest;
  resolve(ts: Timestamp): void;
  reject(error: unknown): void;
}

interface Member {
  readonly shard: Shard;
  readonly store: StoreKind;
}

export interface GroupCommitOptions {
  readonly oracle: TimestampOracle;
  readonly stores: Readonly<Record<StoreKind, Shards>>;
  readonly fence: Fence;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly tickMs: number;
  /** Another generation or start writes now, and this process must stop. Gives what its writers are told. */
  readonly fenced: (detail: string) => SqlError;
}

const OUTCOME_PAUSE_MS = 1000;

const NO_ERRORS: Batch = {
  length: 0,
  columns: [
    { kind: 'bytes', length: 0, validity: null, values: new Uint8Array(0), offsets: new Int32Array(1) },
  ],
  times: 0,
  diffs: 1,
};

export class GroupCommit {
  readonly #o: GroupCommitOptions;
  readonly #members = new Map<string, Member>();
  #queue: Pending[] = [];
  #running: Promise<void> | null = null;
  #cancelTick: (() => void) | null = null;
  readonly #tickListeners: (() => void)[] = [];
  #closed = false;

  constructor(options: GroupCommitOptions) {
    this.#o = options;
    this.#tickLater();
  }

  #tickLater(): void {
    if (this.#closed) return;
    this.#cancelTick = this.#o.timers.after(this.#o.tickMs, () => {
      this.#cancelTick = null;
      if (this.#closed) return;
      for (const f of this.#tickListeners) f();
      // With nobody to tell, a failed tick is told to the log; the next one tries again.
      if (this.#running === null && this.#queue.length === 0)
        this.write({}).catch((error: unknown) => {
          if (!this.#closed) this.#o.logger.warn({ error }, 'the clock tick of tables failed');
        });
      this.#tickLater();
    });
  }

  /** Called before each tick: what the listener writes is the tick's commit. */
  onTick(listener: () => void): void {
    this.#tickListeners.push(listener);
  }

  isMember(shardId: string): boolean {
    return this.#members.has(shardId);
  }

  /** Resolves with the time of the commit, once it is durable. */
  write(request: WriteRequest): Promise<Timestamp> {
    if (this.#closed) return Promise.reject(new SqlError('admin_shutdown', 'the server is shutting down'));
    const { promise, resolve, reject } = Promise.withResolvers<Timestamp>();
    this.#queue.push({ request, resolve, reject });
    this.#running ??= this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    try {
      while (this.#queue.length > 0) {
        // A turn of the event loop's microtasks lets writers of the same moment in.
        await Promise.resolve();
        const batch = this.#queue.splice(0);
        await this.#commit(batch);
      }
    } finally {
      this.#running = null;
    }
  }

  /** What writes to a member that left while it waited is refused, whole: its table was dropped. */
  #refuseLate(waiting: readonly Pending[]): readonly Pending[] {
    const joining = new Set(waiting.flatMap((p) => p.request.join?.map((j) => j.shard.shardId) ?? []));
    const isThere = (id: string): boolean => this.#members.has(id) || joining.has(id);
    return waiting.filter(({ request, reject }) => {
      const whole = [...(request.updates?.keys() ?? [])].every(isThere);
      if (!whole) reject(new SqlError('undefined_table', 'a table that is written to was dropped meanwhile'));
      return whole;
    });
  }

  async #commit(waiting: readonly Pending[]): Promise<void> {
    const batch = this.#refuseLate(waiting);
    const joins = batch.flatMap((p) => p.request.join ?? []);
    const ts = this.#o.oracle.nextWrite();
    const members = new Map(this.#members);
    for (const j of joins) members.set(j.shard.shardId, j);
    const updates = new Map<string, Updates[]>();
    for (const { request } of batch)
      for (const [shardId, batches] of request.updates ?? []) {
        const list = updates.get(shardId);
        const stamped = batches.map((b): Updates => ({ oks: { ...b, times: ts }, errs: NO_ERRORS }));
        if (list === undefined) updates.set(shardId, stamped);
        else list.push(...stamped);
      }
    const parts = new Map(joins.map((j) => [j.shard.shardId, j.parts ?? []]));
    try {
      for (const store of ['durable', 'memory'] as const) {
        const appends = [...members.values()]
          .filter((m) => m.store === store)
          .map(({ shard }): ShardAppend => {
            const own = updates.get(shard.shardId);
            const staged = parts.get(shard.shardId);
            return {
              shard,
              expectedUpper: shard.upper,
              newUpper: ts + 1,
              ...(own !== undefined && { updates: own }),
              ...(staged !== undefined && { parts: staged }),
            };
          });
        const result = await this.#o.stores[store].appendAll(this.#o.fence, appends);
        if (result.kind !== 'ok') return this.#refused(batch, result);
      }
    } catch (error) {
      const infos = await this.#statesAfter([...members.values()]);
      // Whoever writes there now has moved the upper: it says nothing of what failed, and is never read as success.
      const taken = infos.find((i) => fencedBy(i.fence, this.#o.fence) !== null);
      if (taken !== undefined)
        return this.#refused(batch, { kind: 'fenced while its outcome was unknown', shardId: taken.shardId });
      if (!infos.some((i) => i.upper > ts)) {
        // The shards say that nothing happened: what failed is told, not that nobody knows.
        const told = error instanceof SqlError && error.cause instanceof SqlError ? error.cause : error;
        for (const p of batch) p.reject(told);
        return;
      }
    }
    for (const j of joins) this.#members.set(j.shard.shardId, j);
    for (const { request } of batch) for (const id of request.leave ?? []) this.#members.delete(id);
    for (const { request } of batch) request.onDurable?.(ts);
    this.#o.oracle.completed(ts);
    for (const p of batch) p.resolve(ts);
  }

  /**
   * The shards after a commit that failed: it may be in them after all. Nothing else is committed before that is known: the state in
   * memory would differ from what is durable.
   */
  async #statesAfter(members: readonly Member[]): Promise<readonly ShardInfo[]> {
    while (!this.#closed)
      try {
        return await Promise.all(members.map((m) => m.shard.refresh()));
      } catch (error) {
        this.#o.logger.warn({ error }, 'the outcome of a commit is not known yet');
        await new Promise<void>((resolve) => this.#o.timers.after(OUTCOME_PAUSE_MS, resolve));
      }
    return [];
  }

  #refused(batch: readonly Pending[], result: { readonly kind: string; readonly shardId: string }): void {
    this.#closed = true;
    const error = this.#o.fenced(`shard ${result.shardId}: ${result.kind}`);
    for (const p of batch) p.reject(error);
  }

  /** Waits for what is under way; later writes are refused. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelTick?.();
    await this.#running;
  }
}
