/**
 * Distinct keys as they come: gives each row the index of its key. Open addressing over the hashes, full comparison
 * on each hit. What a batch under construction finds its keys with.
 *
 * Growing hardly blocks: from 128 K slots on, a larger table is brought into memory and then filled along the way,
 * a few keys a row, and until it is complete the old one is asked too. (Rehashing ten million keys at once would
 * take 400 ms.) What remains is the doubling of the arrays of keys, some 20 ms at eight million.
 */
import type { Column } from '../repr/column.ts';
import { rowsEqual } from '../repr/hash.ts';
import type { Kind } from '../repr/types.ts';
import { fillTable } from './arranged-batch.ts';
import type { Pace, Steps } from './fuel.ts';
import { appendCell, growable, type MutableColumn } from './kernels.ts';
import { copied, trimmed } from './large-arrays.ts';

const AT_ONCE = 1 << 17;
/** Keys moved to the larger table a row: done after a quarter of the keys came again. */
const MOVED_PER_ROW = 4;
/** Slots of the next table a row that are brought into memory before anything moves there. */
const TOUCHED_PER_ROW = 32;
const PAGE_SLOTS = 1024;

export class KeyTable {
  readonly #keys: MutableColumn[];
  /** One key column of four-byte values: the common case has a loop of its own. */
  readonly #narrow: boolean;
  #hashes: Int32Array<ArrayBuffer>;
  #table: Int32Array<ArrayBuffer>;
  /** The table that is being left, and how many of its keys have moved. */
  #old: Int32Array<ArrayBuffer> | undefined;
  #oldKeys = 0;
  #moved = 0;
  /** The larger table to come, and how far it is in memory. */
  #next: Int32Array<ArrayBuffer> | undefined;
  #touched = 0;
  #count = 0;

  constructor(kinds: readonly Kind[], expectedRows: number) {
    this.#keys = kinds.map((k) => growable(k));
    this.#narrow = kinds.length === 1 && kinds[0] === 'i32';
    let size = 16;
    while (size < expectedRows * 2 && size < 4096) size *= 2;
    this.#table = new Int32Array(size);
    this.#hashes = new Int32Array(size >> 1);
  }

  get count(): number {
    return this.#count;
  }

  /** What a row costs in units of fuel: one while the table fits the cache, more when each look-up misses it. */
  get unitsPerRow(): number {
    return this.#table.length < AT_ONCE ? 1 : 3;
  }

  /** Writes the key index of rows [from, to) into `keyOf`. */
  assign(columns: readonly Column[], hashes: Int32Array, keyOf: Int32Array, from: number, to: number): void {
    if (this.#old !== undefined) this.#move((to - from) * MOVED_PER_ROW);
    else if (this.#next !== undefined) this.#touch((to - from) * TOUCHED_PER_ROW);
    if (
      this.#narrow &&
      this.#old === undefined &&
      columns[0]!.validity === null &&
      this.#keys[0]!.validity === null
    )
      this.#assignNarrow(columns, hashes, keyOf, from, to);
    else this.#assignAny(columns, hashes, keyOf, from, to);
  }

  #assignNarrow(
    columns: readonly Column[],
    hashes: Int32Array,
    keyOf: Int32Array,
    from: number,
    to: number,
  ): void {
    const values = columns[0]!.values as Int32Array;
    let table = this.#table;
    let mask = table.length - 1;
    let known = this.#keys[0]!.values as Int32Array;
    for (let i = from; i < to; i++) {
      const v = values[i]!;
      let s = hashes[i]! & mask;
      let e = table[s]!;
      while (e !== 0 && known[e - 1] !== v) {
        s = (s + 1) & mask;
        e = table[s]!;
      }
      if (e === 0) {
        e = this.#add(columns, hashes[i]!, i) + 1;
        table[s] = e;
        if (this.#makeRoom()) {
          if (this.#old !== undefined) {
            keyOf[i] = e - 1;
            this.#assignAny(columns, hashes, keyOf, i + 1, to);
            return;
          }
          table = this.#table;
          mask = table.length - 1;
        }
        known = this.#keys[0]!.values as Int32Array;
      }
      keyOf[i] = e - 1;
    }
  }

  #assignAny(
    columns: readonly Column[],
    hashes: Int32Array,
    keyOf: Int32Array,
    from: number,
    to: number,
  ): void {
    for (let i = from; i < to; i++) {
      const h = hashes[i]!;
      let k = this.#find(this.#table, columns, h, i);
      if (k < 0 && this.#old !== undefined) k = this.#find(this.#old, columns, h, i);
      if (k < 0) {
        k = this.#add(columns, h, i);
        fillTable(this.#table, this.#hashes, k, k + 1);
        this.#makeRoom();
      }
      keyOf[i] = k;
    }
  }

  #find(table: Int32Array, columns: readonly Column[], h: number, row: number): number {
    const mask = table.length - 1;
    let s = h & mask;
    for (;;) {
      const e = table[s]!;
      if (e === 0) return -1;
      if (this.#hashes[e - 1] === h && rowsEqual(this.#keys, e - 1, columns, row)) return e - 1;
      s = (s + 1) & mask;
    }
  }

  #add(columns: readonly Column[], h: number, row: number): number {
    const k = this.#count++;
    if (k === this.#hashes.length) this.#hashes = doubled(this.#hashes);
    this.#hashes[k] = h;
    for (let c = 0; c < columns.length; c++) appendCell(this.#keys[c]!, columns[c]!, row);
    return k;
  }

  /** A larger table once this one is two thirds full. Whether it is in use. */
  #makeRoom(): boolean {
    const size = this.#table.length;
    if (this.#count * 3 <= size * 2) return false;
    if (size < AT_ONCE) {
      this.#table = new Int32Array(size * 4);
      fillTable(this.#table, this.#hashes, 0, this.#count);
      return true;
    }
    // Never full: what is still to be touched or moved is done before one slot in sixteen is all that is left.
    if (this.#count * 16 > size * 15) {
      this.#move(this.#count);
      this.#touch(size * 2);
      return true;
    }
    this.#next ??= this.#old === undefined ? new Int32Array(size * 2) : undefined;
    return false;
  }

  /** Brings more of the next table into memory, and begins to move there once all of it is. */
  #touch(slots: number): void {
    const next = (this.#next ??= new Int32Array(this.#table.length * 2));
    const to = Math.min(next.length, this.#touched + slots);
    for (; this.#touched < to; this.#touched += PAGE_SLOTS) next[this.#touched] = 0;
    if (this.#touched < next.length) return;
    this.#old = this.#table;
    this.#oldKeys = this.#count;
    this.#moved = 0;
    this.#table = next;
    this.#next = undefined;
    this.#touched = 0;
  }

  #move(keys: number): void {
    if (this.#old === undefined) return;
    const to = Math.min(this.#oldKeys, this.#moved + keys);
    fillTable(this.#table, this.#hashes, this.#moved, to);
    this.#moved = to;
    if (to === this.#oldKeys) this.#old = undefined;
  }

  /** Whether keys still have to move to the larger table. */
  get moving(): boolean {
    return this.#old !== undefined;
  }

  /** The parts of a finished batch. */
  *finish(pace: Pace): Steps<{
    keys: Column[];
    keyHashes: Int32Array<ArrayBuffer>;
    table: Int32Array<ArrayBuffer>;
  }> {
    while (this.#old !== undefined) {
      const n = pace.portion(this.#oldKeys - this.#moved);
      this.#move(n);
      if (pace.spend(n)) yield;
    }
    const keys: Column[] = [];
    for (const k of this.#keys) keys.push(yield* trimmed(pace, k));
    const keyHashes = yield* copied(pace, this.#hashes, this.#count);
    return { keys, keyHashes, table: this.#table };
  }
}

function doubled(a: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> {
  const b = new Int32Array(a.length * 2);
  b.set(a);
  return b;
}
