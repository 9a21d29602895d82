/**
 * Reading a trace as of a time: point lookups by key, and full scans that yield. Rows come in their original column
 * order with accumulated multiplicities, each key wholly in one place: the oldest batch that has it leads.
 *
 * Where no batch holds a negative diff, rows pass through as they lie; otherwise the rows of a key are summed, and
 * what cancels is gone. A negative sum is given out as it is: the reader turns it into an error.
 */
import { assert } from '../base/assert.ts';
import { type Batch, concatBatches, consolidate, emptyBatch, gatherBatch } from '../repr/batch.ts';
import { type Column, gather } from '../repr/column.ts';
import type { Timestamp } from '../time/timestamp.ts';
import { type ArrangedBatch, type ColumnPlace, findKey, rowPermutation } from './arranged-batch.ts';
import type { Fuel } from './fuel.ts';
import type { TraceReader } from './trace.ts';

/** Rows of one batch that were found: key and row positions. */
class Found {
  readonly batch: ArrangedBatch;
  #keyRows = new Int32Array(64);
  #rows = new Int32Array(64);
  length = 0;

  constructor(batch: ArrangedBatch) {
    this.batch = batch;
  }

  add(key: number, from: number, to: number, asOf: Timestamp): void {
    const { times } = this.batch;
    if (typeof times === 'number' && times > asOf) return;
    if (this.length + to - from > this.#rows.length) this.#grow(this.length + to - from);
    for (let r = from; r < to; r++) {
      if (typeof times !== 'number' && times[r]! > asOf) continue;
      this.#keyRows[this.length] = key;
      this.#rows[this.length++] = r;
    }
  }

  #grow(n: number): void {
    const size = Math.max(n, this.#rows.length * 2);
    const k = new Int32Array(size);
    const r = new Int32Array(size);
    k.set(this.#keyRows);
    r.set(this.#rows);
    this.#keyRows = k;
    this.#rows = r;
  }

  /** The rows found, at time `asOf`; starts over. */
  take(places: readonly ColumnPlace[], asOf: Timestamp): Batch {
    const n = this.length;
    this.length = 0;
    const b = this.batch;
    const { diffs } = b;
    let found: number | Float64Array<ArrayBuffer>;
    if (typeof diffs === 'number') found = diffs;
    else {
      found = new Float64Array(n);
      for (let i = 0; i < n; i++) found[i] = diffs[this.#rows[i]!]!;
    }
    return {
      length: n,
      columns: places.map(
        (p): Column =>
          p.from === 'key'
            ? gather(b.keys[p.column]!, this.#keyRows, n)
            : gather(b.values[p.column]!, this.#rows, n),
      ),
      times: asOf,
      diffs: found,
    };
  }
}

/** The parts as one batch without updates that cancel. */
function summed(parts: readonly Batch[], kinds: TraceReader['spec']['kinds'], negatives: boolean): Batch {
  const full = parts.filter((p) => p.length > 0);
  if (full.length === 0) return emptyBatch(kinds);
  const all = concatBatches(full);
  return negatives ? consolidate(all) : withoutZeros(all);
}

function withoutZeros(b: Batch): Batch {
  const { diffs } = b;
  if (typeof diffs === 'number') return b;
  const keep = new Int32Array(b.length);
  let n = 0;
  for (let i = 0; i < b.length; i++) if (diffs[i] !== 0) keep[n++] = i;
  return n === b.length ? b : gatherBatch(b, keep, n);
}

/** Rows whose key equals some row [0, n) of `keys`; a key that is given twice is found twice. */
export function lookup(trace: TraceReader, keys: readonly Column[], n: number, asOf: Timestamp): Batch {
  checkReadable(trace, asOf);
  const { spec } = trace;
  const hashes = spec.hash(keys, n);
  const places = rowPermutation(spec);
  const parts: Batch[] = [];
  let negatives = false;
  for (const b of trace.batches()) {
    const found = new Found(b);
    for (let i = 0; i < n; i++) {
      const k = findKey(b, hashes[i]!, keys, i);
      if (k >= 0) found.add(k, b.keyOffsets[k]!, b.keyOffsets[k + 1]!, asOf);
    }
    if (found.length === 0) continue;
    negatives ||= b.negatives;
    parts.push(found.take(places, asOf));
  }
  return summed(parts, spec.kinds, negatives);
}

function checkReadable(trace: TraceReader, asOf: Timestamp): void {
  assert(trace.since <= asOf, `a trace readable from ${trace.since} is read at ${asOf}`);
  assert(asOf < trace.upper, `a trace complete up to ${trace.upper} is read at ${asOf}`);
}

export interface TraceScan {
  /** More rows (none, if the fuel went into looking), or undefined at the end. */
  next(fuel: Fuel): Batch | undefined;
}

/** Rows of a scan that are given out together, or more where one key has more and they must be summed. */
const SCAN_ROWS = 8_192;

/** All rows as of a time. The scan holds the batches as they are now; the handle may move on. */
export function scanTrace(trace: TraceReader, asOf: Timestamp): TraceScan {
  checkReadable(trace, asOf);
  return new Scan(trace, asOf);
}

class Scan implements TraceScan {
  readonly #spec: TraceReader['spec'];
  readonly #asOf: Timestamp;
  readonly #batches: readonly ArrangedBatch[];
  readonly #found: Found[];
  readonly #places: readonly ColumnPlace[];
  readonly #negatives: boolean;
  /** The batch that leads, the key in it, and, where nothing is summed, the next row. */
  #batch = 0;
  #key = 0;
  #row = 0;

  constructor(trace: TraceReader, asOf: Timestamp) {
    this.#spec = trace.spec;
    this.#asOf = asOf;
    this.#batches = trace.batches().filter((b) => b.length > 0 && b.minTime <= asOf);
    this.#found = this.#batches.map((b) => new Found(b));
    this.#places = rowPermutation(trace.spec);
    this.#negatives = this.#batches.some((b) => b.negatives);
  }

  next(fuel: Fuel): Batch | undefined {
    if (this.#batch === this.#batches.length) return undefined;
    let rows = 0;
    while (rows < SCAN_ROWS && !fuel.exhausted && this.#batch < this.#batches.length) {
      const n = this.#negatives ? this.#wholeKey() : this.#rows(SCAN_ROWS);
      rows += n;
      fuel.spend(1 + n);
    }
    return summed(
      this.#found.filter((f) => f.length > 0).map((f) => f.take(this.#places, this.#asOf)),
      this.#spec.kinds,
      this.#negatives,
    );
  }

  /** All rows of the next key, of every batch. How many. */
  #wholeKey(): number {
    const lead = this.#batches[this.#batch]!;
    const k = this.#key;
    let n = 0;
    if (!this.#seenBefore(lead, k))
      for (let i = this.#batch; i < this.#batches.length; i++) {
        const b = this.#batches[i]!;
        const j = i === this.#batch ? k : findKey(b, lead.keyHashes[k]!, lead.keys, k);
        if (j < 0) continue;
        this.#found[i]!.add(j, b.keyOffsets[j]!, b.keyOffsets[j + 1]!, this.#asOf);
        n += b.keyOffsets[j + 1]! - b.keyOffsets[j]!;
      }
    this.#nextKey(lead);
    return n;
  }

  #seenBefore(lead: ArrangedBatch, k: number): boolean {
    for (let i = 0; i < this.#batch; i++)
      if (findKey(this.#batches[i]!, lead.keyHashes[k]!, lead.keys, k) >= 0) return true;
    return false;
  }

  /** At most `most` rows, batch after batch: nothing cancels, so no key needs to be whole. */
  #rows(most: number): number {
    const b = this.#batches[this.#batch]!;
    const k = this.#key;
    const from = Math.max(b.keyOffsets[k]!, this.#row);
    const to = Math.min(b.keyOffsets[k + 1]!, from + most);
    this.#found[this.#batch]!.add(k, from, to, this.#asOf);
    this.#row = to;
    if (to === b.keyOffsets[k + 1]!) this.#nextKey(b);
    return to - from;
  }

  #nextKey(b: ArrangedBatch): void {
    this.#key++;
    if (this.#key < b.keyCount) return;
    this.#key = 0;
    this.#row = 0;
    this.#batch++;
  }
}
