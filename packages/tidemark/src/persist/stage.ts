/** Staging: updates become parts, durable before any state names them. */
import { hex, type ShardContext } from './log.ts';
import { encodePartSoon, retractions, splitUpdates, timeRange } from './part.ts';
import type { Part, Updates } from './shard-types.ts';

/**
 * Encodes updates, and makes their blobs durable, all of them or none: those of a call that fails are deleted, for on a
 * full disk what nobody will name must not stand in the way. Small parts need no blob: they go into the state.
 */
export async function stageParts(
  ctx: ShardContext,
  shardId: string,
  updates: Updates,
  beforePut: (key: string) => Promise<void> = async () => undefined,
): Promise<Part[]> {
  const tried: string[] = [];
  const staged = await Promise.allSettled(
    splitUpdates(updates).map(async (u): Promise<Part> => {
      const [minTime, maxTime] = timeRange(u);
      const bytes = await encodePartSoon(u, ctx.codec);
      const rows = u.oks.length + u.errs.length;
      const about = { rows, retractions: retractions(u), bytes: bytes.length, minTime, maxTime };
      if (bytes.length <= ctx.inlineMaxBytes) return { key: null, inline: bytes, ...about };
      const key = partKey(shardId, ctx.clock.nowMs(), hex(ctx.random.bytes(8)));
      await beforePut(key);
      tried.push(key);
      await ctx.blob.put(key, bytes);
      return { key, inline: null, ...about };
    }),
  );
  const failure = staged.find((s) => s.status === 'rejected');
  if (failure === undefined) return staged.flatMap((s) => (s.status === 'fulfilled' ? [s.value] : []));
  await Promise.allSettled(tried.map((key) => ctx.blob.delete(key)));
  throw failure.reason;
}

/**
 * Parts that one call stages and then appends: pinned until it ends, so that the collection of orphans passes
 * them by whatever its grace.
 */
export class Staging {
  readonly parts: Part[] = [];
  readonly #ctx: ShardContext;
  readonly #shardId: string;
  readonly #pinned: string[] = [];

  constructor(ctx: ShardContext, shardId: string) {
    this.#ctx = ctx;
    this.#shardId = shardId;
  }

  async add(updates: Updates): Promise<void> {
    const pin = async (key: string) => {
      await this.#ctx.pins.pin([key]);
      this.#pinned.push(key);
    };
    this.parts.push(...(await stageParts(this.#ctx, this.#shardId, updates, pin)));
  }

  /** Stages all of them; if one fails, none remains. */
  async addAll(updates: Iterable<Updates> | AsyncIterable<Updates>): Promise<void> {
    try {
      for await (const u of updates) await this.add(u);
    } catch (e) {
      await this.discard().catch(() => undefined);
      throw e;
    }
  }

  /** Deletes the parts that `named` does not have: after a definite refusal, or when no append was tried. */
  async discard(named: ReadonlySet<string> = new Set()): Promise<void> {
    for (const p of this.parts) if (p.key !== null && !named.has(p.key)) await this.#ctx.blob.delete(p.key);
  }

  end(): void {
    this.#ctx.pins.unpin(this.#pinned.splice(0));
  }
}

const partKey = (shardId: string, nowMs: number, unique: string): string =>
  `${shardId}/${Math.floor(nowMs).toString(36)}-${unique}`;

/** When a part was staged, from its key; NaN if the key is none of ours. */
export const stagedAtMs = (key: string): number =>
  Number.parseInt(key.slice(key.lastIndexOf('/') + 1).split('-')[0]!, 36);
