/**
 * What a view's shard still lacks: desired updates minus those read back from the shard, summed per (row, time).
 *
 * Rows are kept in buckets by hash, grown one bucket at a time (linear hashing), so that every unit of work, a bucket, stays
 * near BUCKET_ROWS rows whatever the total: consolidating three million rows in one go would hold the worker for half
 * a second. Cost of an insert: amortised O(1) a row; memory: the rows that do not cancel.
 */
import { type Batch, concatBatches, consolidate, gatherBatch, timeAt } from '../repr/batch.ts';
import { hashRows } from '../repr/hash.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';

const BUCKET_ROWS = 8192;

interface Bucket {
  batches: Batch[];
  /** Rows in all batches; only the first `settled` of them are known to be consolidated. */
  rows: number;
  settled: number;
}

const emptyBucket = (): Bucket => ({ batches: [], rows: 0, settled: 0 });

export class Correction {
  readonly #buckets: Bucket[] = [emptyBucket()];
  /** Buckets [0, split) of this round have been split; the round began with `base` buckets, a power of two. */
  #base = 1;
  #split = 0;
  #rows = 0;
  /** Times before it are all the same from now on. */
  #since: Timestamp = 0;

  /** Rows held, an upper bound of what is not yet written. */
  get rows(): number {
    return this.#rows;
  }

  get buckets(): number {
    return this.#buckets.length;
  }

  #bucketOf(hash: number): number {
    const narrow = hash & (this.#base - 1);
    return narrow < this.#split ? hash & (2 * this.#base - 1) : narrow;
  }

  /** Adds updates; `sign` -1 for those read back. */
  insert(batch: Batch, sign: 1 | -1): void {
    if (batch.length === 0) return;
    const signed = sign === 1 ? batch : negated(batch);
    this.#place(signed);
    while (this.#rows > this.#buckets.length * BUCKET_ROWS) if (!this.#grow()) break;
  }

  #place(batch: Batch): void {
    if (this.#buckets.length === 1) {
      this.#push(0, batch);
      return;
    }
    const hashes = hashRows(batch.columns, batch.length);
    for (let i = 0; i < batch.length; i++) hashes[i] = this.#bucketOf(hashes[i]!);
    for (const [bucket, part] of partition(batch, hashes, this.#buckets.length)) this.#push(bucket, part);
  }

  #push(index: number, batch: Batch): void {
    const b = this.#buckets[index]!;
    b.batches.push(batch);
    b.rows += batch.length;
    this.#rows += batch.length;
    if (b.rows > 2 * b.settled + 64) this.#settle(b);
  }

  /**
   * Later calls of `before` ask for this lower or greater ones. Updates before it may then cancel though their times
   * differ: what a restart computes anew at its as-of meets what the shard has had since long ago.
   */
  advanceTo(since: Timestamp): void {
    if (since > this.#since) this.#since = since;
  }

  #settle(b: Bucket): void {
    // At one time it stays settled, whatever that is brought forward to.
    if (b.settled === b.rows && typeof (b.batches[0]?.times ?? 0) === 'number') return;
    const all = concatBatches(b.batches);
    const whole = consolidate({ ...all, times: advanced(all.times, this.#since) });
    this.#rows += whole.length - b.rows;
    b.batches = whole.length === 0 ? [] : [whole];
    b.rows = whole.length;
    b.settled = whole.length;
  }

  /** Splits the next bucket. Settles it first: rows that cancel need no bucket. */
  #grow(): boolean {
    const before = this.#rows;
    const b = this.#buckets[this.#split]!;
    this.#settle(b);
    if (this.#rows < before && this.#rows <= this.#buckets.length * BUCKET_ROWS) return false;
    const [content] = b.batches;
    this.#buckets[this.#split] = emptyBucket();
    this.#buckets.push(emptyBucket());
    this.#rows -= b.rows;
    this.#split++;
    if (this.#split === this.#base) {
      this.#base *= 2;
      this.#split = 0;
    }
    if (content !== undefined) this.#place(content);
    return true;
  }

  /**
   * The content of one bucket before `upper`, times brought forward to `lower` and consolidated, in pieces of the caller's choosing:
   * one bucket a step. Nothing is removed: what becomes durable comes back with the opposite sign.
   */
  before(bucket: number, lower: Timestamp, upper: Frontier): Batch | null {
    const b = this.#buckets[bucket]!;
    this.#settle(b);
    const [all] = b.batches;
    if (all === undefined) return null;
    if (typeof all.times === 'number')
      return all.times < upper ? { ...all, times: Math.max(all.times, lower) } : null;
    const indices = new Int32Array(all.length);
    let n = 0;
    for (let i = 0; i < all.length; i++) if (timeAt(all, i) < upper) indices[n++] = i;
    if (n === 0) return null;
    const due = gatherBatch(all, indices, n);
    const out = consolidate({ ...due, times: advanced(due.times, lower) });
    return out.length === 0 ? null : out;
  }
}

function negated(b: Batch): Batch {
  return { ...b, diffs: typeof b.diffs === 'number' ? -b.diffs : b.diffs.map((d) => -d) };
}

function advanced(times: Batch['times'], to: Timestamp): Batch['times'] {
  if (typeof times === 'number') return Math.max(times, to);
  return times.map((t) => (t < to ? to : t));
}

/** Counting sort by bucket, then one gather a bucket that got rows. */
function* partition(batch: Batch, bucketOf: Int32Array, buckets: number): Iterable<[number, Batch]> {
  const starts = new Int32Array(buckets + 1);
  for (let i = 0; i < batch.length; i++) starts[bucketOf[i]! + 1]!++;
  for (let b = 0; b < buckets; b++) starts[b + 1]! += starts[b]!;
  const order = new Int32Array(batch.length);
  const at = starts.slice();
  for (let i = 0; i < batch.length; i++) order[at[bucketOf[i]!]!++] = i;
  for (let b = 0; b < buckets; b++) {
    const from = starts[b]!;
    const to = starts[b + 1]!;
    if (to > from) yield [b, gatherBatch(batch, order.subarray(from, to), to - from)];
  }
}
