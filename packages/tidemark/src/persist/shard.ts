/**
 * A shard: a durable, time-varying collection. Its contents up to `since` are compacted, before `upper` they are
 * complete; whoever holds its fence moves the upper, with updates or without.
 *
 *     const shard = await shards.create('u7', { schema, since: 5, fence: { generation: 1, exportId: 'u7' } });
 *     await shard.compareAndAppend(fence, { updates: [{ oks, errs }], expectedUpper: 0, newUpper: 6 });
 *     const listing = await shard.snapshot(5);
 *     for (const part of listing.parts) use(await shards.readPart(part));
 *     listing.release();
 *     const listen = await shard.listen(5);
 *
 * Invariants: the upper and the since never go back; an acknowledged append is there exactly once, after any
 * crash; between since and upper every time reads as the sum of the appends up to it.
 *
 * Workers share a shard by sharing *one* listing or listen: one of them lists, each reads its share of the parts
 * (`shareOf`). Each listing for itself would not do: compaction may stand between two listings, and then the shares
 * of one do not complement those of the other.
 */
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import { inlinePressure, planCompaction, planFold } from './compact.ts';
import { acquireHold, type HoldOptions, type Leases } from './hold.ts';
import { listSnapshot, ShardListen } from './listing.ts';
import { losesAnswers, type ShardContext, type ShardLog } from './log.ts';
import { type Away, collectOrphans, foldBeside, maintain } from './maintain.ts';
import { outcomeError, unknownOutcome } from './outcome.ts';
import { checkReadable, decideAppend, decideTakeOver, type Refusal } from './rules.ts';
import type {
  Append,
  AppendResult,
  Fence,
  Listen,
  Listing,
  Part,
  ReadHold,
  ShardInfo,
  ShardSchema,
  Updates,
} from './shard-types.ts';
import { Staging, stageParts } from './stage.ts';

/** Inline pressure from which appends wait for the fold: the state stays bounded whatever the rate. */
const PRESSURE_WAIT = 4;

export class Shard {
  readonly shardId: string;
  readonly #ctx: ShardContext;
  readonly #leases: Leases;
  /** @internal For the transactions over several shards. */
  readonly log: ShardLog;
  #maintenance: Promise<void> | null = null;
  readonly #away: Away = { ids: new Set() };
  /** Beside a merge elsewhere. */
  #fold: Promise<void> | null = null;

  constructor(ctx: ShardContext, log: ShardLog, leases: Leases) {
    this.#ctx = ctx;
    this.log = log;
    this.#leases = leases;
    this.shardId = log.shardId;
  }

  get schema(): ShardSchema {
    return this.log.state.schema;
  }
  /** As last known here; `refresh` asks. */
  get since(): Timestamp {
    return this.log.state.since;
  }
  /** As last known here; `refresh` asks. */
  get upper(): Frontier {
    return this.log.state.upper;
  }
  get fence(): Fence {
    return this.log.state.fence;
  }
  /** `written` also waits for the upper to pass this: where a replacement took over; 0 for all others. */
  get takenOverAt(): Frontier {
    return this.log.state.takenOverAt;
  }

  async refresh(): Promise<ShardInfo> {
    await this.log.refresh();
    return this.info();
  }

  info(): ShardInfo {
    const s = this.log.state;
    const parts = s.batches.flatMap((b) => b.parts);
    return {
      shardId: this.shardId,
      seqno: s.seqno,
      schema: s.schema,
      since: s.since,
      upper: s.upper,
      fence: s.fence,
      takenOverAt: s.takenOverAt,
      batches: s.batches,
      holds: [...s.holds].map(([holdId, h]) => ({ holdId, since: h.since })),
      garbage: [...s.garbage.keys()],
      rows: parts.reduce((n, p) => n + p.rows, 0),
      bytes: parts.reduce((n, p) => n + p.bytes, 0),
    };
  }

  // ---- writing ---------------------------------------------------------------------------------------------

  /** Makes `writer` the one that appends; `refused` if a later one does. */
  async takeOver(writer: Fence, options: { replacement?: boolean } = {}): Promise<Refusal | null> {
    const { shardId } = this;
    const outcome = await this.log.transact((s) =>
      decideTakeOver(shardId, s, writer, options.replacement ?? false),
    );
    if (outcome.kind === 'unknown') throw outcomeError(shardId, outcome);
    return outcome.kind === 'refused' ? outcome.refusal : null;
  }

  /**
   * Encodes updates and makes their blobs durable. The parts may be appended from any thread; if they never are,
   * `discardParts` them, or the collection of orphans does in time.
   */
  async stageParts(updates: Updates): Promise<Part[]> {
    return stageParts(this.#ctx, this.shardId, updates);
  }

  /** Deletes staged parts: after a definite refusal only, never after an error. */
  async discardParts(parts: readonly Part[]): Promise<void> {
    await Promise.all(parts.map(async (p) => (p.key === null ? undefined : this.#ctx.blob.delete(p.key))));
  }

  /**
   * Appends if the upper is as expected. On a refusal the `updates` are gone and the given `parts` still the
   * caller's. It throws when the outcome is unknown; then read the shard before anything else.
   */
  async compareAndAppend(writer: Fence, append: Append): Promise<AppendResult> {
    await this.relieve();
    const staging = new Staging(this.#ctx, this.shardId);
    try {
      await staging.addAll(append.updates ?? []);
      const parts = [...(append.parts ?? []), ...staging.parts];
      const outcome = await this.log.transact((s) => decideAppend(this.shardId, s, writer, append, parts));
      if (outcome.kind === 'unknown') throw unknownOutcome(this.shardId, outcome.cause);
      if (outcome.kind === 'refused') {
        await staging.discard();
        return outcome.refusal;
      }
      this.maintainSoon();
      return { kind: 'ok', seqno: outcome.seqno };
    } finally {
      staging.end();
    }
  }

  // ---- reading ---------------------------------------------------------------------------------------------

  /** What to read for the contents at `asOf`, once they are complete. */
  async snapshot(asOf: Timestamp, options: { signal?: AbortSignal } = {}): Promise<Listing> {
    return listSnapshot(this.#ctx, this.log, asOf, options.signal);
  }

  /** What follows `asOf`. Whoever listens holds the shard one step below the listen's frontier. */
  async listen(asOf: Timestamp): Promise<Listen> {
    checkReadable(this.shardId, this.log.state, asOf);
    return new ShardListen(this.#ctx, this.log, asOf);
  }

  async hold(options: HoldOptions = {}): Promise<ReadHold> {
    return acquireHold(this.#ctx, this.log, this.#leases, options);
  }

  /** Ends a durable hold by its name, whoever took it. */
  async releaseDurable(name: string): Promise<void> {
    const outcome = await this.log.transact((s) => ({
      changes: s.holds.has(name) ? [{ op: 'release', holdId: name }] : [],
    }));
    if (outcome.kind !== 'applied') throw outcomeError(this.shardId, outcome);
  }

  /** Resolves with the upper once it has passed `t`. */
  async waitForUpper(t: Timestamp, signal?: AbortSignal): Promise<Frontier> {
    return (await this.log.waitFor((s) => s.upper > t, signal)).upper;
  }

  // ---- upkeep ----------------------------------------------------------------------------------------------

  /** Merges batches while the plan says so, ends expired holds, deletes blobs that nobody needs. */
  async maintain(): Promise<void> {
    while (this.#maintenance !== null) await this.settle();
    const run = maintain(this.#ctx, this.log, this.#leases, this.#away);
    this.#maintenance = run.finally(() => {
      this.#maintenance = null;
    });
    await this.#maintenance;
  }

  /** Deletes blobs that were staged and never appended, once they are `graceMs` old. Gives their number. */
  async collectGarbage(graceMs: number): Promise<number> {
    await this.maintain();
    return collectOrphans(this.#ctx, this.log, graceMs);
  }

  /** @internal Starts upkeep in the background if there is any. */
  maintainSoon(): void {
    if (this.#maintenance !== null) return this.#foldSoon();
    const s = this.log.state;
    if (planCompaction(s, this.#ctx.compaction) === null) return;
    this.maintain().catch((error) => this.#putOff(error));
  }

  #foldSoon(): void {
    const { ids } = this.#away;
    if (this.#fold !== null || ids.size === 0) return;
    if (planFold(this.log.state, this.#ctx.compaction, ids) === null) return;
    this.#fold = foldBeside(this.#ctx, this.log, this.#away)
      .catch((error) => this.#putOff(error))
      .finally(() => {
        this.#fold = null;
      });
  }

  #putOff(error: unknown): void {
    if (!losesAnswers(error)) this.#ctx.logger.error({ error, shardId: this.shardId }, 'compaction failed');
    else this.#ctx.logger.warn({ error, shardId: this.shardId }, 'compaction was put off');
  }

  /** @internal Waits for upkeep when appends outrun it. */
  async relieve(): Promise<void> {
    const upkeep = this.#fold ?? this.#maintenance;
    if (upkeep !== null && inlinePressure(this.log.state, this.#ctx.compaction) > PRESSURE_WAIT)
      await upkeep.catch(() => undefined);
  }

  /** @internal */
  async settle(): Promise<void> {
    await this.#maintenance?.catch(() => undefined);
    await this.#fold;
  }
}
