/**
 * Reading a trace as of a time: point lookups by key, and full scans that yield. Rows come in their original column
 * order with accumulated multiplicities, each key wholly in one place: the oldest batch that has it leads.
 *
 * Where no batch holds a negative diff, rows pass through as they lie; otherwise the rows of a key are summed, and
 * what cancels is gone. A negative sum is given out as it is: the reader turns it into an error.
 */
import { assert } from '../base/assert.ts';
import { type Batch, concatBatches, consolidate, emptyBatch } from '../repr/batch.ts';
import { type Column, gather, sliceColumn } from '../repr/column.ts';
import { MIN_TIME, type Timestamp } from '../time/timestamp.ts';
import {
  type ArrangedBatch,
  type ColumnPlace,
  fillTable,
  findKey,
  restrictTimes,
  rowPermutation,
} from './arranged-batch.ts';
import { folded } from './batch-merger.ts';
import { type BatchRows, rowsOf, withoutZeros } from './batch-rows.ts';
import { type Fuel, Paced } from './fuel.ts';
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

/**
 * All rows as of a time. The scan holds the batches as they are now; the handle may move on. `largeGroup` is for
 * tests.
 */
export function scanTrace(trace: TraceReader, asOf: Timestamp, largeGroup = LARGE_GROUP): TraceScan {
  checkReadable(trace, asOf);
  return new Scan(trace, asOf, largeGroup);
}

/** A key with more rows is summed in steps of its own. */
const LARGE_GROUP = 65_536;

/** Key k of a batch as a batch of its own; shares the columns. */
function oneKey(b: ArrangedBatch, k: number): ArrangedBatch {
  const from = b.keyOffsets[k]!;
  const to = b.keyOffsets[k + 1]!;
  const table = new Int32Array(4);
  fillTable(table, b.keyHashes.subarray(k, k + 1), 0, 1);
  return {
    ...b,
    length: to - from,
    keyCount: 1,
    keys: b.keys.map((c) => sliceColumn(c, k, k + 1)),
    keyHashes: b.keyHashes.subarray(k, k + 1),
    keyOffsets: Int32Array.of(0, to - from),
    table,
    values: b.values.map((c) => sliceColumn(c, from, to)),
    times: typeof b.times === 'number' ? b.times : b.times.subarray(from, to),
    diffs: typeof b.diffs === 'number' ? b.diffs : b.diffs.subarray(from, to),
  };
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
  /** A large group: being summed, then given out. */
  #large: Paced<ArrangedBatch> | undefined;
  #largeRows: BatchRows | undefined;
  readonly #largeGroup: number;

  constructor(trace: TraceReader, asOf: Timestamp, largeGroup: number) {
    this.#largeGroup = largeGroup;
    this.#spec = trace.spec;
    this.#asOf = asOf;
    this.#batches = trace.batches().filter((b) => b.length > 0 && b.minTime <= asOf);
    this.#found = this.#batches.map((b) => new Found(b));
    this.#places = rowPermutation(trace.spec);
    this.#negatives = this.#batches.some((b) => b.negatives);
  }

  next(fuel: Fuel): Batch | undefined {
    if (this.#large !== undefined || this.#largeRows !== undefined) return this.#nextOfLarge(fuel);
    if (this.#batch === this.#batches.length) return undefined;
    let rows = 0;
    while (
      rows < SCAN_ROWS &&
      !fuel.exhausted &&
      this.#large === undefined &&
      this.#batch < this.#batches.length
    ) {
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

  #nextOfLarge(fuel: Fuel): Batch {
    const none = emptyBatch(this.#spec.kinds);
    if (this.#large !== undefined) {
      const group = this.#large.work(fuel);
      if (group === undefined) return none;
      this.#large = undefined;
      this.#largeRows = rowsOf(group, this.#places);
    }
    const rows = this.#largeRows!.next(fuel);
    if (this.#largeRows!.done) this.#largeRows = undefined;
    return rows ?? none;
  }

  /** All rows of the next key, of every batch. How many were taken; a large group is left to be summed in steps. */
  #wholeKey(): number {
    const lead = this.#batches[this.#batch]!;
    const k = this.#key;
    let n = 0;
    if (!this.#seenBefore(lead, k)) {
      const keys = this.#batches.map((b, i) =>
        i < this.#batch ? -1 : i === this.#batch ? k : findKey(b, lead.keyHashes[k]!, lead.keys, k),
      );
      for (const [i, j] of keys.entries())
        if (j >= 0) n += this.#batches[i]!.keyOffsets[j + 1]! - this.#batches[i]!.keyOffsets[j]!;
      if (n > this.#largeGroup) {
        this.#sumLarge(keys);
        n = 0;
      } else
        for (const [i, j] of keys.entries()) {
          const b = this.#batches[i]!;
          if (j >= 0) this.#found[i]!.add(j, b.keyOffsets[j]!, b.keyOffsets[j + 1]!, this.#asOf);
        }
    }
    this.#nextKey(lead);
    return n;
  }

  #sumLarge(keys: readonly number[]): void {
    const parts: ArrangedBatch[] = [];
    for (const [i, j] of keys.entries())
      if (j >= 0) parts.push(restrictTimes(oneKey(this.#batches[i]!, j), MIN_TIME, this.#asOf + 1));
    this.#large = new Paced((pace) => folded(pace, this.#spec, parts, this.#asOf));
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
