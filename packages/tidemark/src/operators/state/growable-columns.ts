/**
 * Rows in growable columns, addressed by slot: dense small integers that are freed and reused. Holds the keys of a
 * group table and the rows of an ordered multiset.
 *
 * Each column reads as a `Column`, so that every cell kernel (equality, comparison, gather) works on stored and on
 * arriving rows alike. A reused slot may hold a string of another length, so consecutive offsets cannot delimit
 * it: a `bytes` column has two offsets a slot, and the cell of slot s stands at index `s << shift` (1 for `bytes`,
 * 0 otherwise), in the validity bitmap too. The bytes of freed strings are collected when half of the heap is dead.
 *
 * Cost: a store or a free is constant per column, amortised over growth and collection.
 */
import { assert } from '../../base/assert.ts';
import { type Column, gather, isNull, NO_OFFSETS, type Values, zeroValues } from '../../repr/column.ts';
import { cellsEqual } from '../../repr/hash.ts';
import type { Kind } from '../../repr/types.ts';
import { growF64, growI32, growU8, type StateSize } from './state-size.ts';

const MIN_SLOTS = 16;
/** Below this many bytes a heap is not worth collecting. */
const MIN_COLLECT = 4096;

function grownValues(values: Values, n: number): Values {
  if (values instanceof Int32Array) return growI32(values, n);
  return values instanceof Float64Array ? growF64(values, n) : growU8(values, n);
}

export class GrowableColumn implements Column {
  readonly kind: Kind;
  readonly shift: 0 | 1;
  length = 0;
  validity: Uint8Array<ArrayBuffer> | null = null;
  values: Values;
  offsets: Int32Array<ArrayBuffer>;
  #heapEnd = 0;
  #dead = 0;

  constructor(kind: Kind) {
    this.kind = kind;
    this.shift = kind === 'bytes' ? 1 : 0;
    this.values = zeroValues(kind, kind === 'bytes' ? MIN_SLOTS * 8 : 0);
    this.offsets = NO_OFFSETS;
  }

  reserve(slots: number): void {
    this.length = slots << this.shift;
    if (this.kind === 'bytes') this.offsets = growI32(this.offsets, 2 * slots);
    else this.values = grownValues(this.values, this.kind === 'i64' ? 2 * slots : slots);
    if (this.validity !== null) this.validity = this.#validityFor(this.validity);
  }

  #validityFor(old: Uint8Array | null): Uint8Array<ArrayBuffer> {
    const v = new Uint8Array((this.length + 7) >> 3).fill(0xff);
    if (old !== null) v.set(old);
    return v;
  }

  /** Stores cell i of `src` in a slot that is fresh or freed. */
  set(slot: number, src: Column, i: number): void {
    const at = slot << this.shift;
    if (isNull(src, i)) {
      this.validity ??= this.#validityFor(null);
      this.validity[at >> 3]! &= ~(1 << (at & 7));
      this.#setZero(slot);
      return;
    }
    if (this.validity !== null) this.validity[at >> 3]! |= 1 << (at & 7);
    switch (this.kind) {
      case 'i64':
        this.values[2 * slot] = src.values[2 * i]!;
        this.values[2 * slot + 1] = src.values[2 * i + 1]!;
        break;
      case 'bytes':
        this.#setBytes(slot, src.values as Uint8Array, src.offsets[i]!, src.offsets[i + 1]!);
        break;
      default:
        this.values[slot] = src.values[i]!;
    }
  }

  #setZero(slot: number): void {
    if (this.kind === 'bytes') {
      this.offsets[2 * slot] = 0;
      this.offsets[2 * slot + 1] = 0;
    } else if (this.kind === 'i64') {
      this.values[2 * slot] = 0;
      this.values[2 * slot + 1] = 0;
    } else this.values[slot] = 0;
  }

  #setBytes(slot: number, src: Uint8Array, from: number, to: number): void {
    const n = to - from;
    if (this.#heapEnd + n > this.values.length) this.#makeRoom(n);
    const heap = this.values;
    const at = this.#heapEnd;
    for (let q = from, p = at; q < to; q++) heap[p++] = src[q]!;
    this.#heapEnd = at + n;
    this.offsets[2 * slot] = at;
    this.offsets[2 * slot + 1] = at + n;
  }

  #makeRoom(n: number): void {
    const live = this.#heapEnd - this.#dead;
    const collect = this.#heapEnd > MIN_COLLECT && this.#dead * 2 > this.#heapEnd;
    const need = (collect ? live : this.#heapEnd) + n;
    assert(need <= 0x7fffffff, 'a stored column has at most 2^31 - 1 bytes');
    const old = this.values as Uint8Array<ArrayBuffer>;
    const size = Math.min(0x7fffffff, Math.max(need, Math.ceil((need - n) * 2)));
    const heap = collect ? new Uint8Array(size) : growU8(old, size);
    if (collect) {
      let p = 0;
      const o = this.offsets;
      for (let k = 0; k < o.length; k += 2) {
        const from = o[k]!;
        const to = o[k + 1]!;
        if (from === to) continue;
        heap.set(old.subarray(from, to), p);
        o[k] = p;
        p += to - from;
        o[k + 1] = p;
      }
      this.#heapEnd = p;
      this.#dead = 0;
    }
    this.values = heap;
  }

  free(slot: number): void {
    if (this.kind !== 'bytes') return;
    this.#dead += this.offsets[2 * slot + 1]! - this.offsets[2 * slot]!;
    this.offsets[2 * slot] = 0;
    this.offsets[2 * slot + 1] = 0;
  }

  addSize(size: StateSize, live: number): void {
    const v = this.validity === null ? 0 : this.validity.byteLength;
    size.allocated += this.values.byteLength + this.offsets.byteLength + v;
    size.buffers += 1 + this.shift + (v === 0 ? 0 : 1);
    if (this.kind === 'bytes') size.used += this.#heapEnd - this.#dead + 8 * live;
    else size.used += live * this.values.BYTES_PER_ELEMENT * (this.kind === 'i64' ? 2 : 1);
    if (v !== 0) size.used += Math.min(v, live >> 3);
  }
}

export class GrowableColumns {
  readonly columns: readonly GrowableColumn[];
  #capacity = 0;
  /** Slots below this were handed out at least once. */
  #next = 0;
  #free: Int32Array<ArrayBuffer> = new Int32Array(0);
  #freeCount = 0;

  constructor(kinds: readonly Kind[]) {
    this.columns = kinds.map((k) => new GrowableColumn(k));
  }

  /** One more than the greatest slot ever handed out: what arrays by slot must hold. */
  get slotBound(): number {
    return this.#next;
  }
  get live(): number {
    return this.#next - this.#freeCount;
  }

  /** Stores row i of `columns` and returns its slot. */
  add(columns: readonly Column[], i: number): number {
    let slot: number;
    if (this.#freeCount > 0) slot = this.#free[--this.#freeCount]!;
    else {
      slot = this.#next++;
      if (slot === this.#capacity) {
        this.#capacity = Math.max(MIN_SLOTS, this.#capacity * 2);
        for (const c of this.columns) c.reserve(this.#capacity);
      }
    }
    const own = this.columns;
    for (let k = 0; k < own.length; k++) own[k]!.set(slot, columns[k]!, i);
    return slot;
  }

  free(slot: number): void {
    for (const c of this.columns) c.free(slot);
    if (this.#freeCount === this.#free.length)
      this.#free = growI32(this.#free, Math.max(MIN_SLOTS, this.#freeCount * 2));
    this.#free[this.#freeCount++] = slot;
  }

  equals(slot: number, columns: readonly Column[], i: number): boolean {
    const own = this.columns;
    for (let k = 0; k < own.length; k++) {
      const c = own[k]!;
      if (!cellsEqual(c, slot << c.shift, columns[k]!, i)) return false;
    }
    return true;
  }

  /** The rows of `slots[0..n)` as plain columns. */
  gather(slots: Int32Array, n: number): Column[] {
    let doubled: Int32Array | null = null;
    return this.columns.map((c) => {
      if (c.shift === 0) return gather(c, slots, n);
      if (doubled === null) {
        doubled = new Int32Array(n);
        for (let i = 0; i < n; i++) doubled[i] = slots[i]! << 1;
      }
      return gather(c, doubled, n);
    });
  }

  addSize(size: StateSize): void {
    for (const c of this.columns) c.addSize(size, this.live);
    size.allocated += this.#free.byteLength;
    size.buffers += 1;
  }
}
