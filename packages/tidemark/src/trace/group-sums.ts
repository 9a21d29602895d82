/**
 * Sums equal updates inside one key's group: rows of two sources seen as one, as in `gather2`. What remains is a
 * list of representative rows with their times and diffs, from which columns are gathered. Groups of up to eight
 * distinct updates are compared pairwise; larger ones go through a scratch table by value hash. Rows are added one
 * by one, so that a group of ten million rows can be left and taken up again.
 */
import { assert } from '../base/assert.ts';
import { type Column, isNull } from '../repr/column.ts';
import { rowsEqual } from '../repr/hash.ts';
import type { ArrangedBatch } from './arranged-batch.ts';
import type { Pace, Steps } from './fuel.ts';
import { copied } from './large-arrays.ts';

const PAIRWISE = 8;

export interface TwoSources {
  readonly a: readonly Column[];
  readonly b: readonly Column[];
  /** Rows of `a`; larger row numbers are rows of `b`. */
  readonly split: number;
}

export class GroupSums {
  readonly #src: TwoSources;
  /** Kept updates: row, time, diff; [0, length) counts. */
  readonly rows: Int32Array<ArrayBuffer>;
  readonly times: Float64Array<ArrayBuffer>;
  readonly diffs: Float64Array<ArrayBuffer>;
  length = 0;
  #groupStart = 0;
  #table = new Int32Array(0);
  #hashes = new Int32Array(0);
  #tabled = false;

  constructor(src: TwoSources, capacity: number) {
    this.#src = src;
    this.rows = new Int32Array(capacity);
    this.times = new Float64Array(capacity);
    this.diffs = new Float64Array(capacity);
  }

  beginGroup(): void {
    this.#groupStart = this.length;
    this.#tabled = false;
  }

  /** An update that needs no comparison with its group. */
  append(row: number, time: number, diff: number): void {
    const i = this.length++;
    this.rows[i] = row;
    this.times[i] = time;
    this.diffs[i] = diff;
  }

  add(row: number, time: number, diff: number): void {
    if (!this.#tabled) {
      for (let k = this.#groupStart; k < this.length; k++)
        if (this.times[k] === time && this.#equal(this.rows[k]!, row)) {
          this.diffs[k]! += diff;
          return;
        }
      this.append(row, time, diff);
      if (this.length - this.#groupStart > PAIRWISE) this.#makeTable(64);
      return;
    }
    const h = this.#hash(row, time);
    const table = this.#table;
    const mask = table.length - 1;
    let s = h & mask;
    for (;;) {
      const e = table[s]!;
      if (e === 0) break;
      const k = this.#groupStart + e - 1;
      if (this.#hashes[e - 1] === h && this.times[k] === time && this.#equal(this.rows[k]!, row)) {
        this.diffs[k]! += diff;
        return;
      }
      s = (s + 1) & mask;
    }
    const e = this.length - this.#groupStart;
    table[s] = e + 1;
    this.#hashes[e] = h;
    this.append(row, time, diff);
    if ((e + 1) * 2 >= table.length) this.#makeTable(table.length * 4);
  }

  /** Drops what summed to zero. How many updates of the group remain. */
  endGroup(): number {
    let to = this.#groupStart;
    for (let k = to; k < this.length; k++) {
      const d = this.diffs[k]!;
      if (d === 0) continue;
      assert(Number.isSafeInteger(d), 'a multiplicity stays within 2^53');
      this.rows[to] = this.rows[k]!;
      this.times[to] = this.times[k]!;
      this.diffs[to] = d;
      to++;
    }
    this.length = to;
    return to - this.#groupStart;
  }

  /** Times and diffs of what remains, as one value each where all agree, and what a batch says of them. */
  *scalars(pace: Pace): Steps<Pick<ArrangedBatch, 'times' | 'diffs' | 'minTime' | 'maxTime' | 'negatives'>> {
    const n = this.length;
    const { times, diffs } = this;
    let minTime = Number.POSITIVE_INFINITY;
    let maxTime = Number.NEGATIVE_INFINITY;
    let negatives = false;
    let sameDiff = true;
    const first = diffs[0]!;
    for (let at = 0; at < n; ) {
      const to = at + pace.portion(n - at);
      for (let i = at; i < to; i++) {
        const t = times[i]!;
        const d = diffs[i]!;
        if (t < minTime) minTime = t;
        if (t > maxTime) maxTime = t;
        if (d < 0) negatives = true;
        if (d !== first) sameDiff = false;
      }
      const units = (to - at + 7) >> 3;
      at = to;
      if (pace.spend(units)) yield;
    }
    return {
      times: minTime === maxTime ? minTime : yield* copied(pace, times, n),
      diffs: sameDiff ? first : yield* copied(pace, diffs, n),
      minTime,
      maxTime,
      negatives,
    };
  }

  #makeTable(size: number): void {
    const n = this.length - this.#groupStart;
    if (this.#table.length < size) this.#table = new Int32Array(size);
    else {
      this.#table = this.#table.subarray(0, size);
      this.#table.fill(0);
    }
    if (this.#hashes.length < size) {
      const grown = new Int32Array(size);
      grown.set(this.#hashes);
      this.#hashes = grown;
    }
    const mask = size - 1;
    for (let e = 0; e < n; e++) {
      const k = this.#groupStart + e;
      const h = this.#tabled ? this.#hashes[e]! : this.#hash(this.rows[k]!, this.times[k]!);
      this.#hashes[e] = h;
      let s = h & mask;
      while (this.#table[s] !== 0) s = (s + 1) & mask;
      this.#table[s] = e + 1;
    }
    this.#tabled = true;
  }

  #equal(r: number, q: number): boolean {
    const { a, b, split } = this.#src;
    return rowsEqual(
      r < split ? a : b,
      r < split ? r : r - split,
      q < split ? a : b,
      q < split ? q : q - split,
    );
  }

  #hash(row: number, time: number): number {
    const { a, b, split } = this.#src;
    let h = Math.imul(time | 0, 0x9e3779b1);
    if (row < split) for (const c of a) h = hashCell(h, c, row);
    else for (const c of b) h = hashCell(h, c, row - split);
    return h ^ (h >>> 15);
  }
}

function mix(h: number, w: number): number {
  h = Math.imul(h ^ w, 0xcc9e2d51);
  return (h ^ (h >>> 16)) | 0;
}

/** A private hash, one cell at a time: groups are small and scattered, so a column-wise one does not pay. */
function hashCell(h: number, c: Column, i: number): number {
  if (c.validity !== null && isNull(c, i)) return mix(h, 0x5bd1e995);
  const v = c.values;
  switch (c.kind) {
    case 'i64':
      return mix(mix(h, v[2 * i]!), v[2 * i + 1]!);
    case 'f64': {
      const f = v[i]!;
      // NaN and infinities become 0 here and are told apart by comparison.
      return mix(mix(h, f | 0), (f * 1024) | 0);
    }
    case 'bytes': {
      const end = c.offsets[i + 1]!;
      h = mix(h, end - c.offsets[i]!);
      for (let p = c.offsets[i]!; p < end; p++) h = Math.imul(h ^ v[p]!, 0x01000193);
      return mix(h, 0);
    }
    default:
      return mix(h, v[i]!);
  }
}
