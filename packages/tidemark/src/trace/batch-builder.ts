/**
 * Builds an arranged batch from chunks of updates, a slice at a time. Chunks are hashed and given their keys as
 * they arrive (`add`), long before the batch is sealed; sealing is a counting sort: offsets from the counts, each
 * row's place, then one scatter a column. No row is compared with another unless something may cancel: groups are
 * summed when a diff is negative, when there are no value columns, or when a sample shows that rows repeat.
 *
 * One million rows of four columns by a key of 10,000: about 60 ms cold, 30 warm; a hundred rows: about 20 µs.
 */
import type { Batch } from '../repr/batch.ts';
import { diffAt, timeAt } from '../repr/batch.ts';
import type { Column } from '../repr/column.ts';
import type { Frontier } from '../time/timestamp.ts';
import {
  type ArrangedBatch,
  type ArrangementSpec,
  emptyArranged,
  tableOf,
  valueColumns,
} from './arranged-batch.ts';
import { type Fuel, type Pace, Paced, type Steps } from './fuel.ts';
import { gathered } from './gathered.ts';
import { GroupSums } from './group-sums.ts';
import { type MutableColumn, roomFor, scatter, scatterBytes, scatterNumbers, sumOffsets } from './kernels.ts';
import { KeyTable } from './key-table.ts';
import { copied, touched } from './large-arrays.ts';

interface Chunk {
  readonly batch: Batch;
  /** Each row's key; once sealed, each row's place. */
  readonly rows: Int32Array<ArrayBuffer>;
}

export interface Bounds {
  readonly lower: Frontier;
  readonly upper: Frontier;
}

/** Groups looked at to see whether rows repeat. */
const SAMPLED_GROUPS = 64;

export class BatchBuilder {
  readonly #spec: ArrangementSpec;
  readonly #valueColumns: readonly number[];
  readonly #chunks: Chunk[] = [];
  #keys: KeyTable | undefined;
  #length = 0;
  /** Rows of the last chunk that have their key; the whole of the others. */
  #assigned = 0;
  #hashes: Int32Array | undefined;
  #minTime = Number.POSITIVE_INFINITY;
  #maxTime = Number.NEGATIVE_INFINITY;
  #negatives = false;
  #sealing: Paced<ArrangedBatch> | undefined;

  constructor(spec: ArrangementSpec) {
    this.#spec = spec;
    this.#valueColumns = valueColumns(spec);
  }

  get length(): number {
    return this.#length;
  }

  get minTime(): number {
    return this.#minTime;
  }

  get maxTime(): number {
    return this.#maxTime;
  }

  /** Everything that was added, for a caller that changes its mind. */
  chunks(): Batch[] {
    return this.#chunks.map((c) => c.batch);
  }

  /** Whether a chunk was added and not yet absorbed by `absorb`. */
  get hasPending(): boolean {
    const last = this.#chunks[this.#chunks.length - 1];
    return last !== undefined && this.#assigned < last.batch.length;
  }

  /** Takes a chunk; the one before must have been absorbed. */
  add(batch: Batch): void {
    this.#keys ??= new KeyTable(
      this.#spec.keyColumns.map((c) => this.#spec.kinds[c]!),
      batch.length,
    );
    this.#chunks.push({ batch, rows: new Int32Array(batch.length) });
    this.#length += batch.length;
    this.#assigned = 0;
    this.#hashes = undefined;
    this.#scanTimes(batch);
    if (!this.#negatives) this.#negatives = hasNegative(batch);
  }

  /** Gives rows of the last chunk their keys. Whether it is done. */
  absorb(fuel: Fuel): boolean {
    if (!this.hasPending) return true;
    const { batch, rows } = this.#chunks[this.#chunks.length - 1]!;
    const columns = this.#spec.keyColumns.map((c) => batch.columns[c]!);
    if (this.#hashes === undefined) {
      this.#hashes = this.#spec.hash(columns, batch.length);
      fuel.spend(batch.length >> 3);
    }
    const units = this.#keys!.unitsPerRow;
    const most = Math.ceil(fuel.portion((batch.length - this.#assigned) * units) / units);
    const to = Math.min(batch.length, this.#assigned + most);
    this.#keys!.assign(columns, this.#hashes, rows, this.#assigned, to);
    fuel.spend((to - this.#assigned) * units);
    this.#assigned = to;
    return to === batch.length;
  }

  /** Goes on with sealing; the batch once it is done. The builder is spent afterwards. */
  seal(bounds: Bounds, fuel: Fuel): ArrangedBatch | undefined {
    if (!this.absorb(fuel)) return undefined;
    this.#sealing ??= new Paced((pace) => this.#sealSteps(pace, bounds));
    return this.#sealing.work(fuel);
  }

  #scanTimes(batch: Batch): void {
    const { times } = batch;
    if (typeof times === 'number') {
      if (times < this.#minTime) this.#minTime = times;
      if (times > this.#maxTime) this.#maxTime = times;
      return;
    }
    for (let i = 0; i < batch.length; i++) {
      const t = times[i]!;
      if (t < this.#minTime) this.#minTime = t;
      if (t > this.#maxTime) this.#maxTime = t;
    }
  }

  *#sealSteps(pace: Pace, bounds: Bounds): Steps<ArrangedBatch> {
    const spec = this.#spec;
    const base = { ...bounds, since: 0 };
    const table = this.#keys;
    if (table === undefined || this.#length === 0) return emptyArranged(spec, base);
    const keyCount = table.count;
    const counts = yield* touched(pace, new Int32Array(keyCount));
    for (const { rows } of this.#chunks) {
      for (let i = 0; i < rows.length; i++) counts[rows[i]!]!++;
      if (pace.spend(rows.length >> 3)) yield;
    }
    const keyOffsets = new Int32Array(keyCount + 1);
    for (let at = 0; at < keyCount; ) {
      const to = at + pace.portion(keyCount - at);
      countsToPlaces(counts, keyOffsets, at, to);
      const units = (to - at + 3) >> 2;
      at = to;
      if (pace.spend(units)) yield;
    }
    for (const { rows } of this.#chunks) {
      for (let i = 0; i < rows.length; i++) rows[i] = counts[rows[i]!]!++;
      if (pace.spend(rows.length >> 2)) yield;
    }
    const values: Column[] = [];
    for (const c of this.#valueColumns) values.push(yield* this.#scatterColumn(pace, c));
    const times =
      this.#minTime === this.#maxTime ? this.#minTime : yield* this.#scatterScalars(pace, 'times');
    const diffs = sameDiff(this.#chunks) ?? (yield* this.#scatterScalars(pace, 'diffs'));
    const batch: ArrangedBatch = {
      ...base,
      length: this.#length,
      keyCount,
      keyOffsets,
      ...(yield* table.finish(pace)),
      values,
      times,
      diffs,
      minTime: this.#minTime,
      maxTime: this.#maxTime,
      negatives: this.#negatives,
    };
    this.#chunks.length = 0;
    if (!this.#negatives && values.length > 0 && !repeats(batch)) return batch;
    return yield* summed(pace, spec, batch);
  }

  *#scatterColumn(pace: Pace, column: number): Steps<Column> {
    const kind = this.#spec.kinds[column]!;
    const dst: MutableColumn = roomFor(kind, this.#length);
    if (kind === 'bytes') yield* touched(pace, dst.offsets);
    else yield* touched(pace, dst.values);
    for (const c of this.#chunks) {
      scatter(dst, c.batch.columns[column]!, c.rows);
      if (pace.spend(c.rows.length >> 1)) yield;
    }
    if (kind !== 'bytes') return dst;
    for (let at = 0; at < this.#length; ) {
      const to = at + pace.portion(this.#length - at);
      sumOffsets(dst.offsets, at, to);
      const units = (to - at + 7) >> 3;
      at = to;
      if (pace.spend(units)) yield;
    }
    dst.values = yield* touched(pace, new Uint8Array(dst.offsets[this.#length]!));
    for (const c of this.#chunks) {
      scatterBytes(dst, c.batch.columns[column]!, c.rows);
      if (pace.spend(c.rows.length)) yield;
    }
    return dst;
  }

  *#scatterScalars(pace: Pace, field: 'times' | 'diffs'): Steps<Float64Array<ArrayBuffer>> {
    const out = yield* touched(pace, new Float64Array(this.#length));
    for (const { batch, rows } of this.#chunks) {
      const v = batch[field];
      if (typeof v !== 'number') scatterNumbers(out, v, rows, batch.length);
      else for (let i = 0; i < rows.length; i++) out[rows[i]!] = v;
      if (pace.spend(rows.length >> 1)) yield;
    }
    return out;
  }
}

/** Offsets from counts; the counts become the places where the next row of each key goes. */
function countsToPlaces(counts: Int32Array, offsets: Int32Array, from: number, to: number): void {
  let at = offsets[from]!;
  for (let k = from; k < to; k++) {
    const n = counts[k]!;
    counts[k] = at;
    at += n;
    offsets[k + 1] = at;
  }
}

function hasNegative(b: Batch): boolean {
  const { diffs } = b;
  if (typeof diffs === 'number') return diffs <= 0;
  for (let i = 0; i < b.length; i++) if (diffs[i]! <= 0) return true;
  return false;
}

function sameDiff(chunks: readonly Chunk[]): number | undefined {
  const first = chunks[0]!.batch.diffs;
  if (typeof first !== 'number') return undefined;
  return chunks.every((c) => c.batch.diffs === first) ? first : undefined;
}

/** Whether more than a tenth of a sample of rows equals another one of its key. */
function repeats(b: ArrangedBatch): boolean {
  const groups = Math.min(SAMPLED_GROUPS, b.keyCount);
  const sums = new GroupSums({ a: b.values, b: [], split: b.length }, groups * 16);
  let seen = 0;
  for (let g = 0; g < groups; g++) {
    const k = Math.floor((g * b.keyCount) / groups);
    const from = b.keyOffsets[k]!;
    const to = Math.min(b.keyOffsets[k + 1]!, from + 16);
    sums.beginGroup();
    for (let r = from; r < to; r++) sums.add(r, timeAtRow(b, r), 1);
    seen += to - from;
  }
  return (seen - sums.length) * 10 > seen;
}

const timeAtRow = (b: ArrangedBatch, i: number): number => timeAt(b as unknown as Batch, i);

/** The same batch with equal updates summed and keys without updates gone. */
function* summed(pace: Pace, spec: ArrangementSpec, b: ArrangedBatch): Steps<ArrangedBatch> {
  const sums = new GroupSums({ a: b.values, b: [], split: b.length }, b.length);
  const keyRows = new Int32Array(b.keyCount);
  const keyOffsets = new Int32Array(b.keyCount + 1);
  let keyCount = 0;
  for (let k = 0; k < b.keyCount; k++) {
    sums.beginGroup();
    const end = b.keyOffsets[k + 1]!;
    for (let r = b.keyOffsets[k]!; r < end; r++) {
      sums.add(r, timeAtRow(b, r), diffAt(b as unknown as Batch, r));
      if (pace.spend(1)) yield;
    }
    if (sums.endGroup() === 0) continue;
    keyRows[keyCount++] = k;
    keyOffsets[keyCount] = sums.length;
  }
  if (sums.length === b.length) return b;
  if (sums.length === 0) return emptyArranged(spec, b);
  const none = emptyArranged(spec, b);
  const keys = yield* gathered(pace, { a: b.keys, b: none.keys }, keyRows, keyCount);
  const values = yield* gathered(pace, { a: b.values, b: none.values }, sums.rows, sums.length);
  const keyHashes = new Int32Array(keyCount);
  for (let k = 0; k < keyCount; k++) keyHashes[k] = b.keyHashes[keyRows[k]!]!;
  return {
    ...b,
    length: sums.length,
    keyCount,
    keys,
    keyHashes,
    keyOffsets: yield* copied(pace, keyOffsets, keyCount + 1),
    table: yield* tableOf(pace, keyHashes),
    values,
    ...(yield* sums.scalars(pace)),
  };
}
