/**
 * Key columns -> dense group ids. Open addressing with linear probing, in segments that split (extendible hashing), full
 * equality on every hit, fixed seed. Ids are slots of the key store: small, freed when a group empties and reused, so that state by
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

/**
 * A part of the table: keys whose hashes share `depth` bits from bit 16 up. (The top bits chose the worker, and are the
 * same for all keys here.) A full part of `SEGMENT` places is split in two: the table grows a little at a time. Doubling
 * one table of two million keys took 80 ms at a stretch.
 */
interface Segment {
  /**
   * Two words a place: group id + 1 (0 = empty) and the key's hash. With the hash at hand a probe reads no key in
   * vain, and growing reads and writes the table front to back: an entry goes to its old place or to that plus the
   * old size, give or take a probe.
   */
  places: Int32Array<ArrayBuffer>;
  mask: number;
  live: number;
  depth: number;
  /** Grows when it holds more: half of the places, and somewhat less so that not all segments split at once. */
  limit: number;
}

const SEGMENT = 1 << 16;
/** Hashes have no more bits: from here on a segment doubles. */
const MAX_DEPTH = 16;

function segment(places: number, depth: number, index: number): Segment {
  // The golden ratio spreads the limits of segments evenly over the last quarter.
  const early = places < SEGMENT ? 0 : ((index * 0.618034) % 1) / 4;
  return {
    places: new Int32Array(2 * places),
    mask: places - 1,
    live: 0,
    depth,
    limit: Math.floor((places / 2) * (1 - early)),
  };
}

function place({ places, mask }: Segment, id: number, hash: number): void {
  let p = hash & mask;
  while (places[2 * p] !== 0) p = (p + 1) & mask;
  places[2 * p] = id;
  places[2 * p + 1] = hash;
}

export type HashRows = (columns: readonly Column[], n: number, out: Int32Array) => Int32Array;

export class GroupTable {
  readonly keys: GrowableColumns;
  readonly #hash: HashRows;
  /** By the hash's bits from 16 up; a segment of fewer bits stands at several places. */
  #directory: Segment[] = [segment(32, 0, 0)];
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
    let directory = this.#directory;
    let stored = this.keys.columns[0]!.values;
    for (let i = 0; i < n; i++) {
      const key = v[i]!;
      const h = hashes[i]!;
      const segment = directory[(h >>> 16) & (directory.length - 1)]!;
      const { places, mask } = segment;
      let p = h & mask;
      for (;;) {
        const e = places[2 * p]!;
        if (e === 0) {
          out[i] = this.#insert(segment, p, columns, i, h);
          directory = this.#directory;
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
      const segment = this.#segmentOf(h);
      const { places, mask } = segment;
      let p = h & mask;
      probe: for (;;) {
        const g = places[2 * p]! - 1;
        const same = places[2 * p + 1] === h;
        if (g < 0) {
          out[i] = this.#insert(segment, p, columns, i, h);
          heap = own.values;
          ho = own.offsets;
          break;
        }
        p = (p + 1) & mask;
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
      const segment = this.#segmentOf(h);
      const { places, mask } = segment;
      let p = h & mask;
      for (;;) {
        const g = places[2 * p]! - 1;
        if (g < 0) {
          out[i] = this.#insert(segment, p, columns, i, h);
          break;
        }
        if (places[2 * p + 1] === h && keys.equals(g, columns, i)) {
          out[i] = g;
          break;
        }
        p = (p + 1) & mask;
      }
    }
  }

  #segmentOf(h: number): Segment {
    const directory = this.#directory;
    return directory[(h >>> 16) & (directory.length - 1)]!;
  }

  #insert(at: Segment, p: number, columns: readonly Column[], i: number, h: number): number {
    const g = this.keys.add(columns, i);
    if (g >= this.#hashes.length) this.#hashes = growI32(this.#hashes, g * 2);
    this.#hashes[g] = h;
    at.places[2 * p] = g + 1;
    at.places[2 * p + 1] = h;
    at.live++;
    if (at.live > at.limit) this.#grow(at, h);
    return g;
  }

  /** Doubles a small segment, splits a large one; `h` is the hash of one of its keys. */
  #grow(full: Segment, h: number): void {
    const { places, depth } = full;
    const size = places.length / 2;
    if (size < SEGMENT || depth === MAX_DEPTH) {
      const larger = segment(size * 2, depth, (h >>> 16) & ((1 << depth) - 1));
      for (let k = 0; k < places.length; k += 2)
        if (places[k] !== 0) place(larger, places[k]!, places[k + 1]!);
      Object.assign(full, larger, { live: full.live });
      return;
    }
    const bit = 1 << depth;
    if (this.#directory.length === bit) this.#directory = [...this.#directory, ...this.#directory];
    const index = (h >>> 16) & (bit - 1);
    const halves = [segment(SEGMENT, depth + 1, index), segment(SEGMENT, depth + 1, index + bit)] as const;
    for (let k = 0; k < places.length; k += 2) {
      if (places[k] === 0) continue;
      const half = halves[((places[k + 1]! >>> 16) & bit) === 0 ? 0 : 1];
      place(half, places[k]!, places[k + 1]!);
      half.live++;
    }
    for (let k = index; k < this.#directory.length; k += bit)
      this.#directory[k] = halves[(k & bit) === 0 ? 0 : 1];
  }

  /** Forgets a group; its id is handed out again. */
  free(g: number): void {
    const segment = this.#segmentOf(this.#hashes[g]!);
    const { places, mask } = segment;
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
    segment.live--;
    this.keys.free(g);
  }

  addSize(size: StateSize): void {
    this.keys.addSize(size);
    for (const [i, s] of this.#directory.entries())
      if (i < 1 << s.depth) addArray(size, s.places, 2 * s.live);
    addArray(size, this.#hashes, this.live);
  }
}
