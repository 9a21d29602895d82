/**
 * The shards of a process: opens and creates them, appends to many in one transaction. One object a process and
 * store; within it there is one `Shard` an id, so that its readers see a write without asking consensus.
 */
import { assert } from '../base/assert.ts';
import { type Clock, type Logger, type Random, silentLogger, type Timers } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { EMPTY, type Timestamp } from '../time/timestamp.ts';
import type { Blob } from './blob.ts';
import { COMPACTION, type CompactionLimits } from './compact.ts';
import type { Consensus } from './consensus.ts';
import { Leases } from './hold.ts';
import {
  consensusKey,
  droppedShard,
  hex,
  losesAnswers,
  type MergeElsewhere,
  type Prepared,
  type ShardContext,
  ShardLog,
  WRITE_TRIES,
} from './log.ts';
import { collectOrphans, ELSEWHERE_GRACE_MS, mergeNamed } from './maintain.ts';
import { unknownOutcome } from './outcome.ts';
import type { PartCodec } from './part.ts';
import { MemoryPins, type Pins } from './pins.ts';
import { readPart } from './read.ts';
import { decideAppend } from './rules.ts';
import { Shard } from './shard.ts';
import type { Append, AppendResult, Fence, Part, PartRead, ShardSchema, Updates } from './shard-types.ts';
import { Staging } from './stage.ts';
import { initialState } from './state.ts';
import { MemoryWatch, type ShardWatch } from './watch.ts';

/** Where shards are kept. In a worker thread these are the main thread's, over a port. */
export interface Stores {
  readonly blob: Blob;
  readonly consensus: Consensus;
  readonly watch: ShardWatch;
  readonly pins: Pins;
  /** Absent: whoever maintains a shard merges its batches. */
  readonly mergeElsewhere?: MergeElsewhere | undefined;
}

export interface ShardsOptions {
  readonly blob: Blob;
  readonly consensus: Consensus;
  readonly watch?: ShardWatch;
  readonly pins?: Pins;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly random: Random;
  readonly logger?: Logger;
  readonly codec?: PartCodec;
  /** The same for all threads that share `pins`; random by default. */
  readonly processTag?: string;
  readonly compaction?: Partial<CompactionLimits>;
  readonly mergeElsewhere?: MergeElsewhere | undefined;
  readonly inlineMaxBytes?: number;
  /** How late a reader is whose notice was lost. */
  readonly pollMs?: number;
  /** How long a hold outlives its process. */
  readonly leaseMs?: number;
  /** How long a replaced blob stays while another process holds the shard. */
  readonly garbageGraceMs?: number;
}

export interface CreateShard {
  readonly schema: ShardSchema;
  readonly since: Timestamp;
  readonly fence: Fence;
}

export interface ShardAppend extends Append {
  readonly shard: Shard;
}

export class Shards {
  readonly #ctx: ShardContext;
  readonly #leases: Leases;
  readonly #open = new Map<string, Promise<Shard | null>>();

  constructor(options: ShardsOptions) {
    const writer = hex(options.random.bytes(6));
    let written = 0;
    this.#ctx = {
      blob: options.blob,
      consensus: options.consensus,
      watch: options.watch ?? new MemoryWatch(),
      pins: options.pins ?? new MemoryPins(),
      clock: options.clock,
      timers: options.timers,
      random: options.random,
      logger: options.logger ?? silentLogger,
      codec: options.codec ?? {},
      processTag: options.processTag ?? hex(options.random.bytes(6)),
      nextToken: () => `${writer}${(written++).toString(36)}`,
      compaction: { ...COMPACTION, ...options.compaction },
      mergeElsewhere: options.mergeElsewhere,
      inlineMaxBytes: options.inlineMaxBytes ?? 4096,
      pollMs: options.pollMs ?? 1000,
      leaseMs: options.leaseMs ?? 60_000,
      garbageGraceMs: options.garbageGraceMs ?? 60_000,
    };
    this.#leases = new Leases(this.#ctx);
  }

  /** What `serveStores` gives to other threads. */
  get stores(): Stores {
    return this.#ctx;
  }

  /** The shard; null if there is none. */
  async open(shardId: string): Promise<Shard | null> {
    return this.#once(shardId, () => ShardLog.open(this.#ctx, shardId));
  }

  /** The new shard, or the one that has the id already, whose kinds must be the same. Its upper starts at 0. */
  async create(shardId: string, { schema, since, fence }: CreateShard): Promise<Shard> {
    assert(/^[A-Za-z0-9._-]+$/.test(shardId), `a shard id is one segment of a key: ${shardId}`);
    let shard = await this.open(shardId);
    shard ??= (await this.#once(shardId, () =>
      ShardLog.create(this.#ctx, shardId, initialState(schema, since, 0, fence)),
    ))!;
    const kinds = (s: ShardSchema) => `(${s.oks}), (${s.errs})`;
    if (kinds(shard.schema) !== kinds(schema))
      throw new SqlError('data_corrupted', `shard ${shardId} has columns of other kinds`, {
        detail: `it has ${kinds(shard.schema)}, wanted are ${kinds(schema)}`,
      });
    return shard;
  }

  async #once(shardId: string, open: () => Promise<ShardLog | null>): Promise<Shard | null> {
    let entry = this.#open.get(shardId);
    if (entry === undefined) {
      entry = open().then((log) => (log === null ? null : new Shard(this.#ctx, log, this.#leases)));
      this.#open.set(shardId, entry);
    }
    const forget = () => {
      if (this.#open.get(shardId) === entry) this.#open.delete(shardId);
    };
    try {
      const shard = await entry;
      if (shard === null) forget();
      return shard;
    } catch (e) {
      forget();
      throw e;
    }
  }

  /** Ids of all shards. */
  async list(): Promise<string[]> {
    const prefix = consensusKey('');
    return (await this.#ctx.consensus.list(prefix)).map((k) => k.slice(prefix.length));
  }

  /** Forgets a shard and deletes its blobs. Ids are not used again. */
  async remove(shardId: string): Promise<void> {
    this.#open.delete(shardId);
    await this.#ctx.consensus.remove(consensusKey(shardId));
    // Whoever waits for it looks, and finds it gone.
    this.#ctx.watch.publish([{ shardId, seqno: Number.MAX_SAFE_INTEGER, upper: EMPTY }]);
    for (const key of await this.#ctx.blob.list(`${shardId}/`)) await this.#ctx.blob.delete(key);
  }

  /**
   * Removes the shards that `keep` does not name, and deletes every blob that no state names: what a crash cut short left
   * behind. For a start, while no other thread stages; where another process does (`stagedElsewhere`), only blobs that have been there
   * for long.
   */
  async sweep(
    keep: ReadonlySet<string>,
    options: { readonly stagedElsewhere?: boolean } = {},
  ): Promise<void> {
    const graceMs = options.stagedElsewhere === true ? ELSEWHERE_GRACE_MS : 0;
    for (const id of await this.list()) if (!keep.has(id)) await this.remove(id);
    const blobs = Map.groupBy(await this.#ctx.blob.list(''), (key) => key.slice(0, key.indexOf('/')));
    for (const [id, keys] of blobs) {
      const shard = await this.open(id);
      if (shard !== null) await collectOrphans(this.#ctx, shard.log, graceMs);
      else for (const key of keys) await this.#ctx.blob.delete(key);
    }
  }

  /**
   * What `mergeElsewhere` of other threads ends in: merges batches of a shard that they maintain. `pause` is awaited every few
   * milliseconds of work; if it throws, nothing is left of it.
   */
  async mergeFor(
    shardId: string,
    ids: readonly number[],
    pause: () => Promise<void>,
  ): Promise<'merged' | 'outrun'> {
    const log = await ShardLog.open(this.#ctx, shardId);
    return log === null ? 'outrun' : mergeNamed(this.#ctx, log, ids, pause);
  }

  /** The updates of a part of any shard. The caller owns their buffers. */
  async readPart(read: PartRead): Promise<Updates> {
    return readPart(this.#ctx.blob, read, this.#ctx.codec);
  }

  /**
   * Appends to all or to none, in one transaction: a commit over tables, and the tick that moves every upper.
   * The first refusal stands for all. Throws when the outcome is unknown.
   */
  async appendAll(writer: Fence, appends: readonly ShardAppend[]): Promise<AppendResult> {
    if (appends.length === 0) return { kind: 'ok', seqno: 0 };
    assert(new Set(appends.map((a) => a.shard)).size === appends.length, 'a transaction names a shard once');
    const written = appends.filter((a) => a.updates !== undefined);
    for (const a of written) await a.shard.relieve();
    const staged = new Map(written.map((a) => [a, new Staging(this.#ctx, a.shard.shardId)]));
    try {
      await this.#stageAll(staged);
      const result = await this.#commit(
        writer,
        appends.map((a) => ({ append: a, parts: [...(a.parts ?? []), ...(staged.get(a)?.parts ?? [])] })),
      );
      if (result.kind === 'ok') for (const a of appends) a.shard.maintainSoon();
      else for (const staging of staged.values()) await staging.discard();
      return result;
    } finally {
      for (const staging of staged.values()) staging.end();
    }
  }

  async #stageAll(staged: ReadonlyMap<ShardAppend, Staging>): Promise<void> {
    const results = await Promise.allSettled([...staged].map(([a, staging]) => staging.addAll(a.updates!)));
    const failure = results.find((r) => r.status === 'rejected');
    if (failure === undefined) return;
    await Promise.allSettled([...staged.values()].map((staging) => staging.discard()));
    throw failure.reason;
  }

  async #commit(
    writer: Fence,
    items: readonly { append: ShardAppend; parts: readonly Part[] }[],
  ): Promise<AppendResult> {
    const tokens: string[] = [];
    const first = items[0]!.append.shard.log;
    let failures = 0;
    const fresh = new Set<ShardLog>();
    for (;;) {
      const prepared: Prepared[] = [];
      const token = this.#ctx.nextToken();
      for (const { append, parts } of items) {
        const { log } = append.shard;
        let decision = decideAppend(log.shardId, log.state, writer, append, parts);
        if ('refused' in decision && !fresh.has(log)) {
          await log.refresh();
          if (first.wrote(tokens)) return this.#foundApplied(items.map((i) => i.append.shard.log));
          decision = decideAppend(log.shardId, log.state, writer, append, parts);
        }
        if ('refused' in decision) return decision.refused;
        prepared.push(log.prepare(decision.changes, token));
      }
      fresh.clear();
      tokens.push(token);
      try {
        const results = await this.#ctx.consensus.compareAndSet(
          prepared.map((p) => p.op),
          'all',
        );
        if (results[0]!.applied) {
          for (const [i, p] of prepared.entries()) items[i]!.append.shard.log.adopt(p.next);
          this.#publish(items.map((i) => i.append.shard.log));
          return { kind: 'ok', seqno: prepared[0]!.next.seqno };
        }
        for (const [i, r] of results.entries()) {
          const { log } = items[i]!.append.shard;
          if (r.seqno === null) throw droppedShard(log.shardId);
          if (r.seqno === prepared[i]!.op.expected) continue;
          await log.refresh();
          fresh.add(log);
        }
      } catch (cause) {
        if (!losesAnswers(cause)) throw cause;
        await first.refresh().catch(() => undefined);
        if (!first.wrote(tokens) && ++failures === WRITE_TRIES) throw unknownOutcome(first.shardId, cause);
      }
      if (first.wrote(tokens)) return this.#foundApplied(items.map((i) => i.append.shard.log));
    }
  }

  /** The answer was lost and the transaction was not: the first shard tells for all. */
  async #foundApplied(logs: readonly ShardLog[]): Promise<AppendResult> {
    await Promise.allSettled(logs.map((log) => log.refresh()));
    this.#publish(logs);
    return { kind: 'ok', seqno: logs[0]!.state.seqno };
  }

  #publish(logs: readonly ShardLog[]): void {
    this.#ctx.watch.publish(
      logs.map((l) => ({ shardId: l.shardId, seqno: l.state.seqno, upper: l.state.upper })),
    );
  }

  /** Ends background work. Holds that expire are left to expire. */
  async close(): Promise<void> {
    this.#leases.close();
    for (const entry of this.#open.values()) await (await entry.catch(() => null))?.settle();
  }
}
