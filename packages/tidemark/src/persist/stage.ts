/** Staging: updates become parts, durable before any state names them. */
import { assert } from '../base/assert.ts';
import { hex, type ShardContext } from './log.ts';
import { encodePart, retractions, timeRange } from './part.ts';
import type { Part, Updates } from './shard-types.ts';

/** Encodes updates that fit one part, and makes them durable unless they are small enough for the state. */
export async function stagePart(ctx: ShardContext, shardId: string, u: Updates): Promise<Part> {
  const [minTime, maxTime] = timeRange(u);
  const rows = u.oks.length + u.errs.length;
  assert(rows > 0, 'a part has updates');
  const bytes = encodePart(u, ctx.codec);
  const about = { rows, retractions: retractions(u), bytes: bytes.length, minTime, maxTime };
  if (bytes.length <= ctx.inlineMaxBytes) return { key: null, inline: bytes, ...about };
  const key = partKey(shardId, ctx.clock.nowMs(), hex(ctx.random.bytes(8)));
  await ctx.blob.put(key, bytes);
  return { key, inline: null, ...about };
}

const partKey = (shardId: string, nowMs: number, unique: string): string =>
  `${shardId}/${Math.floor(nowMs).toString(36)}-${unique}`;

/** When a part was staged, from its key; NaN if the key is none of ours. */
export const stagedAtMs = (key: string): number =>
  Number.parseInt(key.slice(key.lastIndexOf('/') + 1).split('-')[0]!, 36);
