/**
 * Key columns -> dense group ids. Open addressing with linear probing over one Int32Array, full equality on every
 * hit, fixed seed. Ids are slots of the key store: small, freed when a group empties and reused, so that state by
 * group lies in plain arrays. Removal shifts the probe chain back: no tombstones, lookups never degrade.
 *
 * A whole batch is looked up in one loop; a single int4 key without NULLs and a single `bytes` key have loops of
 * their own (2.9 ns a row against 30 for a `Map` of ints at 10,000 keys).
 */
import type { Column } from '../../repr/column.ts';
import { hashRows } from '../../repr/hash.ts';
import type { Kind } from '../../repr/types.ts';
import { GrowableColumns } from './growable-columns.ts';
import { addArray, growI32, roomFor, type StateSize } from './state-size.ts';

export type HashRows = (columns: readonly Column[], n: number, out: Int32Array) => Int32Array;

export class GroupTable {
  readonly keys: GrowableColumns;
  readonly #hash: HashRows;
  /**
   * Two words a place: group id + 1 (0 = empty) and the key's hash. With the hash at hand a probe reads no key in
   * vain, and growing reads and writes the table front to back: an entry goes to its old place or to that plus the
   * old size, give or take a probe.
   */
  #places: Int32Array<ArrayBuffer> = new Int32Array(64);
  #mask = 31;
  /** By group id, for `free`. */
  #hashes: Int32Array<ArrayBuffer> = new Int32Array(16);
  #scratch: Int32Array<ArrayBuffer> = new Int32Array(0);

  /** `hash` is for tests that make every key collide. */
  constructor(kinds: readonly Kind[], hash: HashRows = hashRows) {
    this.keys = new GrowableColumns(kinds);
    this.#hash = hash;
  }

  get live(): number {
    return this.keys.live;
  }
  /** Arrays by group id need this length. */
  get idBound(): number {
    return this.keys.slotBound;
  }

  /** Group ids of rows [0, n), new groups made as needed. */
  assign(columns: readonly Column[], n: number, out: Int32Array): void {
    if (this.#scratch.length < n) this.#scratch = new Int32Array(roomFor(n));
    const hashes = this.#hash(columns, n, this.#scratch);
    const only = columns.length === 1 ? columns[0]! : null;
    const noNulls = only !== null && only.validity === null && this.keys.columns[0]!.validity === null;
    if (noNulls && only.kind === 'i32') this.#assignI32(columns, hashes, n, out);
    else if (noNulls && only.kind === 'bytes') this.#assignBytes(columns, hashes, n, out);
    else this.#assignAny(columns, hashes, n, out);
  }

  #assignI32(columns: readonly Column[], hashes: Int32Array, n: number, out: Int32Array): void {
    const v = columns[0]!.values as Int32Array;
    let places = this.#places;
    let mask = this.#mask;
    let stored = this.keys.columns[0]!.values;
    for (let i = 0; i < n; i++) {
      const key = v[i]!;
      let p = hashes[i]! & mask;
      for (;;) {
        const e = places[2 * p]!;
        if (e === 0) {
          out[i] = this.#insert(p, columns, i, hashes[i]!);
          places = this.#places;
          mask = this.#mask;
          stored = this.keys.columns[0]!.values;
          break;
        }
        if (stored[e - 1] === key) {
          out[i] = e - 1;
          break;
        }
        p = (p + 1) & mask;
      }
    }
  }

  #assignBytes(columns: readonly Column[], hashes: Int32Array, n: number, out: Int32Array): void {
    const v = columns[0]!.values;
    const vo = columns[0]!.offsets;
    const own = this.keys.columns[0]!;
    let heap = own.values;
    let ho = own.offsets;
    for (let i = 0; i < n; i++) {
      const h = hashes[i]!;
      const from = vo[i]!;
      const len = vo[i + 1]! - from;
      let p = h & this.#mask;
      probe: for (;;) {
        const g = this.#places[2 * p]! - 1;
        const same = this.#places[2 * p + 1] === h;
        if (g < 0) {
          out[i] = this.#insert(p, columns, i, h);
          heap = own.values;
          ho = own.offsets;
          break;
        }
        p = (p + 1) & this.#mask;
        if (!same) continue;
        const at = ho[2 * g]!;
        if (ho[2 * g + 1]! - at !== len) continue;
        for (let k = 0; k < len; k++) if (heap[at + k] !== v[from + k]) continue probe;
        out[i] = g;
        break;
      }
    }
  }

  #assignAny(columns: readonly Column[], hashes: Int32Array, n: number, out: Int32Array): void {
    const keys = this.keys;
    for (let i = 0; i < n; i++) {
      const h = hashes[i]!;
      let p = h & this.#mask;
      for (;;) {
        const g = this.#places[2 * p]! - 1;
        if (g < 0) {
          out[i] = this.#insert(p, columns, i, h);
          break;
        }
        if (this.#places[2 * p + 1] === h && keys.equals(g, columns, i)) {
          out[i] = g;
          break;
        }
        p = (p + 1) & this.#mask;
      }
    }
  }

  #insert(place: number, columns: readonly Column[], i: number, h: number): number {
    const g = this.keys.add(columns, i);
    if (g >= this.#hashes.length) this.#hashes = growI32(this.#hashes, g * 2);
    this.#hashes[g] = h;
    this.#places[2 * place] = g + 1;
    this.#places[2 * place + 1] = h;
    if (this.keys.live * 4 > this.#places.length) this.#rehash();
    return g;
  }

  #rehash(): void {
    const old = this.#places;
    const places = new Int32Array(old.length * 2);
    const mask = old.length - 1;
    for (let k = 0; k < old.length; k += 2) {
      if (old[k] === 0) continue;
      const h = old[k + 1]!;
      let p = h & mask;
      while (places[2 * p] !== 0) p = (p + 1) & mask;
      places[2 * p] = old[k]!;
      places[2 * p + 1] = h;
    }
    this.#places = places;
    this.#mask = mask;
  }

  /** Forgets a group; its id is handed out again. */
  free(g: number): void {
    const places = this.#places;
    const mask = this.#mask;
    let hole = this.#hashes[g]! & mask;
    while (places[2 * hole] !== g + 1) hole = (hole + 1) & mask;
    for (let p = (hole + 1) & mask; places[2 * p] !== 0; p = (p + 1) & mask) {
      const home = places[2 * p + 1]! & mask;
      // An entry moves into the hole unless its home lies cyclically in (hole, p].
      if (((p - home) & mask) < ((p - hole) & mask)) continue;
      places[2 * hole] = places[2 * p]!;
      places[2 * hole + 1] = places[2 * p + 1]!;
      hole = p;
    }
    places[2 * hole] = 0;
    this.keys.free(g);
  }

  addSize(size: StateSize): void {
    this.keys.addSize(size);
    addArray(size, this.#places, 2 * this.live);
    addArray(size, this.#hashes, this.live);
  }
}
