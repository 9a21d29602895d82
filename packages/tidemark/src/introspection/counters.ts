/**
 * Numbers that change all the time and are told now and then: `width` of them a slot, in typed arrays. Adding allocates nothing and tells
 * nothing; `flush` tells each difference since it was last told, in whole numbers, and `clear` takes back all that was told of a slot.
 */

/** Receives a difference: one row with a multiplicity, never many rows. */
export type TellCount = (slot: number, index: number, diff: number) => void;

/** Buckets of powers of two, from 1 ns to 39 hours. */
export const BUCKETS = 48;

/** The bucket of a duration: the least power of two that is at least as long; 0 counts as 1. */
export function bucketOf(ns: number): number {
  if (!(ns > 1)) return 0;
  const n = Math.ceil(ns);
  const bucket = n <= 0x8000_0000 ? 32 - Math.clz32(n - 1) : Math.ceil(Math.log2(n));
  return Math.min(bucket, BUCKETS - 1);
}

export const bucketNs = (bucket: number): number => 2 ** bucket;

export class Counters {
  readonly #width: number;
  #values: Float64Array;
  #told: Float64Array;
  #isDirty: Uint8Array;
  #dirty: Int32Array;
  #dirtyCount = 0;

  constructor(width: number, slots = 64) {
    this.#width = width;
    this.#values = new Float64Array(slots * width);
    this.#told = new Float64Array(slots * width);
    this.#isDirty = new Uint8Array(slots);
    this.#dirty = new Int32Array(slots);
  }

  /** Slots whose numbers moved since the last flush. */
  get dirty(): number {
    return this.#dirtyCount;
  }

  /** A slot comes into use. */
  reserve(slot: number): void {
    const have = this.#isDirty.length;
    if (slot < have) return;
    const slots = Math.max(have * 2, slot + 1);
    const wider = (old: Float64Array): Float64Array => {
      const grown = new Float64Array(slots * this.#width);
      grown.set(old);
      return grown;
    };
    this.#values = wider(this.#values);
    this.#told = wider(this.#told);
    const isDirty = new Uint8Array(slots);
    isDirty.set(this.#isDirty);
    this.#isDirty = isDirty;
    const dirty = new Int32Array(slots);
    dirty.set(this.#dirty);
    this.#dirty = dirty;
  }

  add(slot: number, index: number, n: number): void {
    this.#values[slot * this.#width + index]! += n;
    if (this.#isDirty[slot] === 0) {
      this.#isDirty[slot] = 1;
      this.#dirty[this.#dirtyCount++] = slot;
    }
  }

  forDirty(f: (slot: number) => void): void {
    for (let i = 0; i < this.#dirtyCount; i++) f(this.#dirty[i]!);
  }

  flush(tell: TellCount): void {
    for (let i = 0; i < this.#dirtyCount; i++) {
      const slot = this.#dirty[i]!;
      this.#isDirty[slot] = 0;
      const base = slot * this.#width;
      for (let k = 0; k < this.#width; k++) {
        const now = Math.floor(this.#values[base + k]!);
        const diff = now - this.#told[base + k]!;
        if (diff === 0) continue;
        this.#told[base + k] = now;
        tell(slot, k, diff);
      }
    }
    this.#dirtyCount = 0;
  }

  /** Takes back what was told of a slot; what was not told is forgotten. Whoever uses the slot next starts at 0. */
  clear(slot: number, tell: TellCount): void {
    const base = slot * this.#width;
    for (let k = 0; k < this.#width; k++) {
      const told = this.#told[base + k]!;
      this.#values[base + k] = 0;
      this.#told[base + k] = 0;
      if (told !== 0) tell(slot, k, -told);
    }
  }
}
