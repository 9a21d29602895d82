/** Snapshots and listens of one shard: which parts to read, pinned while they are. */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { type Frontier, isEmpty, type Timestamp } from '../time/timestamp.ts';
import { namedKeys, type ShardContext, type ShardLog } from './log.ts';
import { blobKeys, listenReads, nothingSince, snapshotReads } from './read.ts';
import { checkReadable } from './rules.ts';
import type { Listen, ListenStep, Listing, PartRead, Quiet } from './shard-types.ts';
import type { ShardState } from './state.ts';

/** Waits until `asOf` is complete, and lists what a reader at it reads. */
export async function listSnapshot(
  ctx: ShardContext,
  log: ShardLog,
  asOf: Timestamp,
  signal: AbortSignal | undefined,
): Promise<Listing> {
  checkReadable(log.shardId, log.state, asOf);
  await log.waitFor((s) => s.upper > asOf, signal);
  const { reads, unpin } = await pinned(ctx, log, (s) => {
    checkReadable(log.shardId, s, asOf);
    return snapshotReads(log.shardId, s, asOf);
  });
  return { asOf, parts: reads, rows: reads.reduce((n, r) => n + r.part.rows, 0), release: unpin };
}

/** The reads that `list` makes of a state, their blobs pinned and seen to be there. */
async function pinned(
  ctx: ShardContext,
  log: ShardLog,
  list: (s: ShardState) => PartRead[],
): Promise<{ reads: PartRead[]; unpin: () => void }> {
  for (;;) {
    const reads = list(log.state);
    const keys = blobKeys(reads);
    if (keys.length === 0) return { reads, unpin: () => undefined };
    await ctx.pins.pin(keys);
    let named: Set<string>;
    try {
      named = namedKeys(await log.refresh());
    } catch (e) {
      ctx.pins.unpin(keys);
      throw e;
    }
    if (keys.every((k) => named.has(k))) {
      let done = false;
      const unpin = () => {
        if (!done) ctx.pins.unpin(keys);
        done = true;
      };
      return { reads, unpin };
    }
    ctx.pins.unpin(keys);
  }
}

export class ShardListen implements Listen {
  readonly #ctx: ShardContext;
  readonly #log: ShardLog;
  #frontier: Frontier;
  #unpin: () => void = () => undefined;
  #pulling = false;
  #closed = false;

  constructor(ctx: ShardContext, log: ShardLog, asOf: Timestamp) {
    this.#ctx = ctx;
    this.#log = log;
    this.#frontier = asOf + 1;
  }

  get frontier(): Frontier {
    return this.#frontier;
  }

  async next(signal?: AbortSignal, quiet?: Quiet): Promise<ListenStep | null> {
    assert(!this.#pulling && !this.#closed, 'a listen is pulled one step at a time, until it is closed');
    this.#unpin();
    if (isEmpty(this.#frontier)) return null;
    this.#pulling = true;
    try {
      await this.#toGive(signal, quiet);
      const lower = this.#frontier;
      let upper = lower;
      const { reads, unpin } = await pinned(this.#ctx, this.#log, (s) => {
        // A since at the frontier has already brought updates before it forward to it.
        if (s.since >= lower) throw outrun(this.#log.shardId, lower, s.since);
        upper = s.upper;
        return listenReads(this.#log.shardId, s, lower);
      });
      this.#unpin = unpin;
      if (this.#closed) unpin();
      this.#frontier = upper;
      return { lower, upper, parts: reads };
    } finally {
      this.#pulling = false;
    }
  }

  /** Resolves once there is a step to give. */
  #toGive(signal: AbortSignal | undefined, quiet: Quiet | undefined): Promise<void> {
    if (this.#gives(this.#log.state, quiet)) return Promise.resolve();
    return new Promise((resolve, reject) => {
      const end = (settle: () => void) => {
        stop();
        signal?.removeEventListener('abort', onAbort);
        settle();
      };
      const onAbort = () =>
        end(() =>
          reject(new SqlError('query_canceled', `listening to shard ${this.#log.shardId} was canceled`)),
        );
      const stop = this.#log.followers.add({
        moved: (s) => {
          if (this.#gives(s, quiet)) end(resolve);
        },
        failed: (error) => end(() => reject(error)),
      });
      signal?.addEventListener('abort', onAbort);
      if (signal?.aborted) onAbort();
    });
  }

  /** Whether there is a step to give. One that is quiet is told, and passed. */
  #gives(s: ShardState, quiet: Quiet | undefined): boolean {
    const lower = this.#frontier;
    if (s.upper <= lower) return false;
    if (quiet === undefined || s.upper >= quiet.until || s.since >= lower || !nothingSince(s, lower))
      return true;
    this.#frontier = s.upper;
    quiet.advanced(s.upper);
    return false;
  }

  close(): void {
    this.#closed = true;
    this.#unpin();
  }
}

function outrun(shardId: string, frontier: Frontier, since: Timestamp): SqlError {
  return new SqlError(
    'object_not_in_prerequisite_state',
    `shard ${shardId} cannot be listened to from ${frontier} on, because it was compacted up to ${since}`,
  );
}
