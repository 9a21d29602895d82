/**
 * Read holds. A hold lives in the shard's state; this object is the permission to move it. Durable ones have a
 * name and survive their process, for the controller: a restart takes the same name and finds its since. Others
 * end by themselves: their process renews them, and when it does not, whoever maintains the shard drops them.
 */
import { SqlError } from '../base/error.ts';
import type { Timestamp } from '../time/timestamp.ts';
import { hex, type ShardContext, type ShardLog } from './log.ts';
import { outcomeError } from './outcome.ts';
import type { ReadHold } from './shard-types.ts';
import type { ShardState } from './state.ts';

/** Ids of the living holds of this process that expire, by shard. */
export class Leases {
  readonly #ctx: ShardContext;
  readonly #held = new Map<ShardLog, Set<string>>();
  /** Durable ones that were taken here. */
  readonly #durable = new Map<ShardLog, Set<string>>();
  #cancel: (() => void) | null = null;
  #closed = false;

  constructor(ctx: ShardContext) {
    this.#ctx = ctx;
  }

  of(log: ShardLog): ReadonlySet<string> {
    return this.#held.get(log) ?? new Set();
  }

  /** Whether the hold is of this process, durable or not. */
  has(log: ShardLog, holdId: string): boolean {
    return this.#held.get(log)?.has(holdId) === true || this.#durable.get(log)?.has(holdId) === true;
  }

  addDurable(log: ShardLog, name: string): void {
    const set = this.#durable.get(log);
    if (set === undefined) this.#durable.set(log, new Set([name]));
    else set.add(name);
  }

  add(log: ShardLog, holdId: string): void {
    const set = this.#held.get(log);
    if (set === undefined) this.#held.set(log, new Set([holdId]));
    else set.add(holdId);
    this.#schedule();
  }

  drop(log: ShardLog, holdId: string): void {
    const set = this.#held.get(log);
    set?.delete(holdId);
    if (set?.size === 0) this.#held.delete(log);
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#cancel = null;
  }

  #schedule(): void {
    if (this.#cancel !== null || this.#closed) return;
    this.#cancel = this.#ctx.timers.after(this.#ctx.leaseMs / 3, () => {
      this.#cancel = null;
      if (this.#held.size === 0) return;
      void this.renew().catch((error) => this.#ctx.logger.warn({ error }, 'read holds were not renewed'));
      this.#schedule();
    });
  }

  /** Writes new expiries for all of them. */
  async renew(): Promise<void> {
    const expiresAtMs = this.#ctx.clock.nowMs() + this.#ctx.leaseMs;
    await Promise.all(
      [...this.#held].map(([log, ids]) =>
        log.transact((s) => ({
          changes: [...ids].flatMap((holdId) => {
            const h = s.holds.get(holdId);
            return h === undefined ? [] : [{ op: 'hold' as const, holdId, since: h.since, expiresAtMs }];
          }),
        })),
      ),
    );
  }
}

export interface HoldOptions {
  /** From when on; the shard's since by default. */
  readonly since?: Timestamp;
  /** Makes the hold durable, under this name; taking a name that exists keeps the lesser since of the two. */
  readonly durableName?: string;
}

/** Takes a hold; an error if the shard was compacted past the wanted since. */
export async function acquireHold(
  ctx: ShardContext,
  log: ShardLog,
  leases: Leases,
  options: HoldOptions,
): Promise<ReadHold> {
  const { durableName } = options;
  const holdId = durableName ?? `${ctx.processTag}:${hex(ctx.random.bytes(6))}`;
  const expiresAtMs = durableName === undefined ? ctx.clock.nowMs() + ctx.leaseMs : null;
  let since = 0;
  const outcome = await log.transact((s) => {
    const before = s.holds.get(holdId);
    const wanted = options.since ?? before?.since ?? s.since;
    if (wanted < s.since) throw compacted(log.shardId, wanted, s);
    since = before === undefined ? wanted : Math.min(before.since, wanted);
    return { changes: [{ op: 'hold', holdId, since, expiresAtMs }] };
  });
  if (outcome.kind !== 'applied') throw outcomeError(log.shardId, outcome);
  if (durableName === undefined) leases.add(log, holdId);
  else leases.addDurable(log, holdId);
  return new Hold(ctx, log, leases, holdId, since, durableName !== undefined);
}

function compacted(shardId: string, wanted: Timestamp, s: ShardState): SqlError {
  return new SqlError(
    'object_not_in_prerequisite_state',
    `shard ${shardId} cannot be held at ${wanted}, because it was compacted up to ${s.since}`,
  );
}

class Hold implements ReadHold {
  readonly holdId: string;
  readonly #ctx: ShardContext;
  readonly #log: ShardLog;
  readonly #leases: Leases;
  readonly #durable: boolean;
  #since: Timestamp;
  #released = false;

  constructor(
    ctx: ShardContext,
    log: ShardLog,
    leases: Leases,
    holdId: string,
    since: Timestamp,
    durable: boolean,
  ) {
    this.#ctx = ctx;
    this.#log = log;
    this.#leases = leases;
    this.holdId = holdId;
    this.#since = since;
    this.#durable = durable;
  }

  get since(): Timestamp {
    return this.#since;
  }

  async downgrade(since: Timestamp): Promise<void> {
    if (this.#released || since <= this.#since) return;
    const { holdId } = this;
    const expiresAtMs = this.#durable ? null : this.#ctx.clock.nowMs() + this.#ctx.leaseMs;
    const outcome = await this.#log.transact((s) => {
      if (!s.holds.has(holdId)) throw expired(this.#log.shardId, holdId, s);
      return { changes: [{ op: 'hold', holdId, since, expiresAtMs }] };
    });
    if (outcome.kind !== 'applied') throw outcomeError(this.#log.shardId, outcome);
    this.#since = since;
  }

  async release(): Promise<void> {
    if (this.#released) return;
    this.#released = true;
    this.#leases.drop(this.#log, this.holdId);
    const { holdId } = this;
    const outcome = await this.#log.transact((s) => ({
      changes: s.holds.has(holdId) ? [{ op: 'release', holdId }] : [],
    }));
    if (outcome.kind !== 'applied') throw outcomeError(this.#log.shardId, outcome);
  }
}

function expired(shardId: string, holdId: string, s: ShardState): SqlError {
  return new SqlError(
    'object_not_in_prerequisite_state',
    `read hold ${holdId} on shard ${shardId} has expired`,
    {
      detail: `the shard was compacted up to ${s.since}`,
    },
  );
}
