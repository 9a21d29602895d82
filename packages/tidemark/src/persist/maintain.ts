/** Upkeep of a shard: compaction, the end of dead readers' holds, and the deletion of blobs. */

import { EMPTY } from '../time/timestamp.ts';
import { mergeBatches, planCompaction, planFold, runRows } from './compact.ts';
import type { Leases } from './hold.ts';
import { namedKeys, type ShardContext, type ShardLog } from './log.ts';
import { outcomeError, unknownOutcome } from './outcome.ts';
import { readPart } from './read.ts';
import { expiredHolds } from './rules.ts';
import type { Part, ShardBatch } from './shard-types.ts';
import { Staging, stagedAtMs } from './stage.ts';
import type { ShardState } from './state.ts';

/** A reader elsewhere lists a snapshot once and then reads its parts: this is how long it may take for it. */
export const ELSEWHERE_GRACE_MS = 300_000;

/** Upkeep under way: the batches that are being merged elsewhere, with which others may be folded meanwhile. */
export interface Away {
  ids: ReadonlySet<number>;
}

const NONE: ReadonlySet<number> = new Set();

export async function maintain(ctx: ShardContext, log: ShardLog, leases: Leases, away: Away): Promise<void> {
  await dropExpired(ctx, log, leases.of(log));
  for (;;) {
    const run = planCompaction(log.state, ctx.compaction);
    if (run === null || !(await mergeSomewhere(ctx, log, run, away))) break;
  }
  await deleteGarbage(ctx, log, leases);
}

/** Folds inline batches while a merge elsewhere is under way: appends would wait for the end of a large one. */
export async function foldBeside(ctx: ShardContext, log: ShardLog, away: Away): Promise<void> {
  const run = planFold(log.state, ctx.compaction, away.ids);
  if (run !== null) await mergeRun(ctx, log, run);
}

/** What is small is merged here: it takes less than to ask somebody. */
async function mergeSomewhere(
  ctx: ShardContext,
  log: ShardLog,
  run: readonly ShardBatch[],
  away: Away,
): Promise<boolean> {
  const { mergeElsewhere } = ctx;
  if (mergeElsewhere === undefined || runRows(run) <= ctx.compaction.pieceRows)
    return mergeRun(ctx, log, run);
  const ids = run.map((b) => b.id);
  away.ids = new Set(ids);
  try {
    const outcome = await mergeElsewhere(log.shardId, ids);
    if (outcome === 'here') return await mergeRun(ctx, log, run);
    await log.refresh();
    return outcome === 'merged';
  } finally {
    away.ids = NONE;
  }
}

/** For whoever merges for others: the batches of these ids, if they still stand together. */
export async function mergeNamed(
  ctx: ShardContext,
  log: ShardLog,
  ids: readonly number[],
  pause?: () => Promise<void>,
): Promise<'merged' | 'outrun'> {
  const named = new Set(ids);
  const run = log.state.batches.filter((b) => named.has(b.id));
  return (await mergeRun(ctx, log, run, pause)) ? 'merged' : 'outrun';
}

async function dropExpired(ctx: ShardContext, log: ShardLog, own: ReadonlySet<string>): Promise<void> {
  const nowMs = ctx.clock.nowMs();
  if (expiredHolds(log.state, nowMs, own).length === 0) return;
  const outcome = await log.transact((s) => ({ changes: expiredHolds(s, nowMs, own) }));
  if (outcome.kind !== 'applied') throw outcomeError(log.shardId, outcome);
}

/** Merges the run and swaps the result in; false if another was at it too, so that the caller stops. */
async function mergeRun(
  ctx: ShardContext,
  log: ShardLog,
  run: readonly ShardBatch[],
  rest: () => Promise<void> = () => pause(ctx),
): Promise<boolean> {
  const { shardId } = log;
  const { schema, since } = log.state;
  const ids = run.map((b) => b.id);
  const keys = run.flatMap((b) => b.parts.flatMap((p) => (p.key === null ? [] : [p.key])));
  const read = (part: Part) =>
    readPart(ctx.blob, { shardId, schema, part, from: 0, to: EMPTY, at: null }, ctx.codec);
  const staging = new Staging(ctx, shardId);
  await ctx.pins.pin(keys);
  try {
    if (!standsIn(await log.refresh(), ids)) return false;
    try {
      await staging.addAll(mergeBatches(run, schema, since, ctx.compaction, read, rest));
    } catch (error) {
      // Pins end with their process: another one may have merged these batches meanwhile, and deleted their blobs.
      if (!standsIn(await log.refresh(), ids)) return false;
      throw error;
    }
    const { parts } = staging;
    let outrun = false;
    const outcome = await log.transact((s) => {
      outrun = !standsIn(s, ids);
      return { changes: outrun ? [] : [{ op: 'merge', ids, parts, atMs: ctx.clock.nowMs() }] };
    });
    if (outcome.kind === 'unknown') throw unknownOutcome(shardId, outcome.cause);
    if (outcome.kind === 'refused') throw outcomeError(shardId, outcome);
    if (outrun) await staging.discard(namedKeys(log.state));
    return !outrun;
  } finally {
    ctx.pins.unpin(keys);
    staging.end();
  }
}

/** Lets the thread get to its other work. */
function pause(ctx: ShardContext): Promise<void> {
  return new Promise((resolve) => {
    ctx.timers.after(0, resolve);
  });
}

function standsIn(s: ShardState, ids: readonly number[]): boolean {
  if (ids.length === 0) return false;
  const at = s.batches.findIndex((b) => b.id === ids[0]);
  return at >= 0 && ids.every((id, i) => s.batches[at + i]?.id === id);
}

/**
 * Takes blobs out of the state that nobody can still want, then deletes them. In this order: see `Pins`. Those that
 * are pinned right then stay behind as orphans, for `collectOrphans`.
 */
async function deleteGarbage(ctx: ShardContext, log: ShardLog, leases: Leases): Promise<void> {
  if (log.state.garbage.size === 0) return;
  const nowMs = ctx.clock.nowMs();
  let keys: string[] = [];
  const pinned = new Set(await ctx.pins.pinned([...log.state.garbage.keys()]));
  const graceMs = (await ctx.pins.readElsewhere()) ? ELSEWHERE_GRACE_MS : 0;
  const outcome = await log.transact((s) => {
    // The next generation's hold is durable, and it reads here before the last one knows that it is over.
    const foreign = [...s.holds.keys()].some(
      (id) => !id.startsWith(`${ctx.processTag}:`) && !leases.has(log, id),
    );
    const before = nowMs - Math.max(graceMs, foreign ? ctx.garbageGraceMs : 0);
    keys = [...s.garbage].flatMap(([k, g]) => (g.atMs <= before && !pinned.has(k) ? [k] : []));
    return { changes: keys.length === 0 ? [] : [{ op: 'collected', keys }] };
  });
  if (outcome.kind !== 'applied') throw outcomeError(log.shardId, outcome);
  const late = new Set(await ctx.pins.pinned(keys));
  const named = namedKeys(log.state);
  for (const k of keys) if (!late.has(k) && !named.has(k)) await ctx.blob.delete(k);
}

/** Deletes blobs of the shard that its state does not name and nobody pins, staged at least `graceMs` ago. */
export async function collectOrphans(ctx: ShardContext, log: ShardLog, graceMs: number): Promise<number> {
  const before = ctx.clock.nowMs() - graceMs;
  // The order matters. Blobs first: what is named later was staged before. Pins before the state: a writer lets go
  // of its blob after its entry. Pins after it: a reader relies on an entry it read before.
  const keys = (await ctx.blob.list(`${log.shardId}/`)).filter((k) => !(stagedAtMs(k) > before));
  const pinned = new Set(await ctx.pins.pinned(keys));
  const named = namedKeys(await log.refresh());
  const orphans = keys.filter((k) => !named.has(k) && !pinned.has(k));
  const late = new Set(await ctx.pins.pinned(orphans));
  let n = 0;
  for (const k of orphans) {
    if (late.has(k)) continue;
    await ctx.blob.delete(k);
    n++;
  }
  return n;
}
