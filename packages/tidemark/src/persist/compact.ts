/**
 * Compaction: what to merge, and the merging. Neighbouring batches become one, times brought forward to the since,
 * equal rows summed. The plan is pure. Sizes stay geometric: a batch is rewritten only together with newer ones
 * that weigh at least half of it, so a row is rewritten O(log) times and a shard has O(log) batches.
 *
 * Memory is bounded: a run of many rows is merged in passes, each over some residues of the row hash. Price: such a run is read
 * once a pass. Time without a pause is bounded too: within a pass rows are summed a residue at a time.
 */
import { assert } from '../base/assert.ts';
import { type Batch, concatBatches, consolidate, emptyBatch, gatherBatch } from '../repr/batch.ts';
import { hashRows } from '../repr/hash.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { ShardBatch, ShardSchema, Updates } from './shard-types.ts';
import type { ShardState } from './state.ts';

export interface CompactionLimits {
  /** Inline parts and their bytes, from which they are folded into one. */
  readonly inlineParts: number;
  readonly inlineBytes: number;
  /** Small batches are merged this many at a time. */
  readonly fanOut: number;
  /** From this many rows a batch is large: two suffice. */
  readonly largeRows: number;
  /** Updates that may cancel each other and are not worth a merge of everything. */
  readonly slackRows: number;
  /** Rows that a pass holds in memory. */
  readonly passRows: number;
  /** Rows that are summed in one go; more are summed by the residue of their hash, and the thread gets to its other work in between. */
  readonly pieceRows: number;
}

export const COMPACTION: CompactionLimits = {
  inlineParts: 64,
  inlineBytes: 65_536,
  fanOut: 4,
  largeRows: 131_072,
  slackRows: 8192,
  passRows: 524_288,
  // Some 10 ms.
  pieceRows: 32_768,
};

const rowsOf = (b: ShardBatch): number => b.parts.reduce((n, p) => n + p.rows, 0);
export const runRows = (run: readonly ShardBatch[]): number => run.reduce((n, b) => n + rowsOf(b), 0);
const isInline = (b: ShardBatch): boolean => b.parts.every((p) => p.key === null);

/** How far the inline tail has grown, in units of its limit. */
export function inlinePressure(s: ShardState, limits: CompactionLimits): number {
  let parts = 0;
  let bytes = 0;
  for (const b of s.batches)
    for (const p of b.parts)
      if (p.inline !== null) {
        parts++;
        bytes += p.inline.length;
      }
  return Math.max(parts / limits.inlineParts, bytes / limits.inlineBytes);
}

/** The run of batches to merge next; null when all is well. */
export function planCompaction(s: ShardState, limits: CompactionLimits): readonly ShardBatch[] | null {
  const all = s.batches;
  const fold = planFold(s, limits);
  if (fold !== null) return fold;
  const stale = staleRun(s, limits);
  if (stale !== null) return stale;
  // The fresh tail of inline batches waits for its own turn.
  let end = all.length;
  while (end > 0 && isInline(all[end - 1]!)) end--;
  let newer = 0;
  let start = end;
  for (let i = end - 1; i >= 0; i--) {
    const rows = rowsOf(all[i]!);
    const count = end - i;
    const heavyEnough = rows <= 2 * newer;
    const enough = count >= limits.fanOut || (rows >= limits.largeRows && rows <= newer);
    if (count > 1 && heavyEnough && enough) start = i;
    newer += rows;
  }
  return start < end ? all.slice(start, end) : null;
}

/** The inline batches to fold into one, but for those of `except`, which are being merged; null when there are few. */
export function planFold(
  s: ShardState,
  limits: CompactionLimits,
  except: ReadonlySet<number> = new Set(),
): readonly ShardBatch[] | null {
  if (inlinePressure(s, limits) < 1) return null;
  const all = s.batches;
  const folds = (b: ShardBatch): boolean => isInline(b) && !except.has(b.id);
  // The longest run is the tail, or a leftover that a merge of others isolated.
  let best: readonly ShardBatch[] = [];
  for (let i = 0; i < all.length; ) {
    let j = i;
    while (j < all.length && folds(all[j]!)) j++;
    if (j - i > best.length) best = all.slice(i, j);
    i = Math.max(j, i + 1);
  }
  return best.length > 1 ? best : null;
}

/**
 * The batches that the since has passed, if most of their updates may cancel: rows that are updated in place would
 * otherwise pile up in batches of one size, an old value here and its retraction there.
 */
function staleRun(s: ShardState, limits: CompactionLimits): readonly ShardBatch[] | null {
  let count = 0;
  let rows = 0;
  let retractions = 0;
  let times = 0;
  for (const b of s.batches) {
    if (b.parts.some((p) => p.maxTime > s.since)) break;
    count++;
    for (const p of b.parts) {
      rows += p.rows;
      retractions += p.retractions;
      if (p.minTime < p.maxTime) times++;
    }
  }
  // One batch at one time is as small as it gets.
  if (count === 0 || (count === 1 && times === 0)) return null;
  const live = Math.max(rows - 2 * retractions, 0);
  return rows > 2 * live + limits.slackRows ? s.batches.slice(0, count) : null;
}

/** `max(t, since)` for every time; one time for all where they agree. */
function advanceTimes(b: Batch, since: Timestamp): Batch {
  if (typeof b.times === 'number') return b.times >= since ? b : { ...b, times: since };
  const times = new Float64Array(b.length);
  let same = true;
  for (let i = 0; i < b.length; i++) {
    times[i] = Math.max(b.times[i]!, since);
    if (times[i] !== times[0]) same = false;
  }
  return { ...b, times: b.length > 0 && same ? times[0]! : times };
}

/** Pieces of the rows by the residue of their hash: `from` and `count` say which of the `of` residues. */
function residues(
  b: Batch,
  o: { readonly from: number; readonly count: number; readonly of: number },
): Batch[] {
  if (o.of === 1 || b.length === 0) return new Array<Batch>(o.count).fill(b);
  const hashes = hashRows(b.columns, b.length);
  const sizes = new Int32Array(o.count);
  const piece = new Int32Array(b.length);
  for (let i = 0; i < b.length; i++) {
    // High bits: the low ones place rows in the tables of exchanges and arrangements.
    const p = ((hashes[i]! >>> 8) % o.of) - o.from;
    piece[i] = p;
    if (p >= 0 && p < o.count) sizes[p]!++;
  }
  const indices = Array.from(sizes, (n) => new Int32Array(n));
  const filled = new Int32Array(o.count);
  for (let i = 0; i < b.length; i++) {
    const p = piece[i]!;
    if (p >= 0 && p < o.count) indices[p]![filled[p]!++] = i;
  }
  return indices.map((of, p) => gatherBatch(b, of, sizes[p]!));
}

/**
 * The merged updates of `batches`, a pass at a time. `read` gives the updates of a part, `pause` is called
 * between parts, and between pieces that are summed, so that the thread gets to other work.
 */
export async function* mergeBatches(
  batches: readonly ShardBatch[],
  schema: ShardSchema,
  since: Timestamp,
  limits: CompactionLimits,
  read: (part: ShardBatch['parts'][number]) => Promise<Updates>,
  pause: () => Promise<void>,
): AsyncGenerator<Updates> {
  const parts = batches.flatMap((b) => b.parts);
  const rows = runRows(batches);
  const passes = Math.max(1, Math.ceil(rows / limits.passRows));
  const count = Math.max(1, Math.ceil(rows / passes / limits.pieceRows));
  const of = passes * count;
  assert(of < 1 << 16, 'a merge takes fewer pieces than its hash tells apart');
  for (let from = 0; from < of; from += count) {
    const oks = new Pieces(schema.oks, count);
    const errs = new Pieces(schema.errs, count);
    for (const part of parts) {
      const u = await read(part);
      oks.add(residues(advanceTimes(u.oks, since), { from, count, of }));
      errs.add(residues(advanceTimes(u.errs, since), { from, count, of }));
      await pause();
    }
    yield { oks: await oks.summed(pause), errs: await errs.summed(pause) };
  }
}

/** Updates by the residue of their hash: equal rows are in one piece. */
class Pieces {
  readonly #none: Batch;
  readonly #pieces: Batch[][];

  constructor(kinds: ShardSchema['oks'], count: number) {
    this.#none = emptyBatch(kinds);
    this.#pieces = Array.from({ length: count }, () => []);
  }

  add(pieces: readonly Batch[]): void {
    for (const [i, b] of pieces.entries()) if (b.length > 0) this.#pieces[i]!.push(b);
  }

  async summed(pause: () => Promise<void>): Promise<Batch> {
    const out: Batch[] = [];
    for (const [i, some] of this.#pieces.entries()) {
      if (some.length === 0) continue;
      if (out.length > 0) await pause();
      out.push(consolidate(concatBatches(some)));
      this.#pieces[i] = [];
    }
    return out.length === 0 ? this.#none : concatBatches(out);
  }
}
