/**
 * For each group an ordered multiset of rows: what min, max, ordered aggregates and top-k keep. Rows lie in one
 * columnar store and are named by their slot; each group is a treap over slots in plain arrays (two children, a
 * multiplicity, the multiplicity below), its priorities a hash of the slot, so that the shape depends on nothing
 * random. Insert, remove and k-th take O(log n) of the group; nothing ever scans it.
 *
 * A row whose multiplicity became zero keeps its slot and its place, weightless, until `sweep`: what was read
 * before an update can so still be told after it. A negative multiplicity weighs nothing and is counted per group.
 *
 * Hydration takes the same path as a change: sorting a batch first does not pay, since a group that is large has
 * its rows spread over many batches, and merging sorted runs would put the whole cost into one slice.
 */
import { assert } from '../../base/assert.ts';
import type { Column } from '../../repr/column.ts';
import type { Kind } from '../../repr/types.ts';
import { GrowableColumns } from './growable-columns.ts';
import { type OrderColumn, RowOrder } from './row-order.ts';
import { addArray, growF64, growI32, growU8, roomFor, type StateSize } from './state-size.ts';

const NONE = -1;

/** Priority of a slot: a bijection of 32-bit integers, so ties do not occur. */
function priority(slot: number): number {
  let h = Math.imul(slot ^ 0x5bd1e995, 0x85ebca6b);
  h ^= h >>> 13;
  h = Math.imul(h, 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}

export class OrderedMultiset {
  readonly rows: GrowableColumns;
  readonly #order: RowOrder;
  /** By slot. */
  #left: Int32Array<ArrayBuffer> = new Int32Array(0);
  #right: Int32Array<ArrayBuffer> = new Int32Array(0);
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);
  #weights: Float64Array<ArrayBuffer> = new Float64Array(0);
  #zeroListed: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** By group: the root's slot + 1 (0 = empty), and how many rows have a negative multiplicity. */
  #roots: Int32Array<ArrayBuffer> = new Int32Array(0);
  #negatives: Int32Array<ArrayBuffer> = new Int32Array(0);
  /** Slots (and their groups) whose multiplicity was zero at some point since the last sweep. */
  #zeroSlots: number[] = [];
  #zeroGroups: number[] = [];
  /** The row that is being inserted. */
  #columns: readonly Column[] = [];
  #row = 0;
  #diff = 0;
  #group = 0;

  constructor(kinds: readonly Kind[], order: readonly OrderColumn[]) {
    this.rows = new GrowableColumns(kinds);
    this.#order = new RowOrder(order, kinds.length);
  }

  resize(groups: number): void {
    if (groups <= this.#roots.length) return;
    this.#roots = growI32(this.#roots, roomFor(groups));
    this.#negatives = growI32(this.#negatives, roomFor(groups));
  }

  /** Changes the multiplicity of row i in group g by diff. */
  add(g: number, columns: readonly Column[], i: number, diff: number): void {
    this.#columns = columns;
    this.#row = i;
    this.#diff = diff;
    this.#group = g;
    this.#roots[g] = this.#insert(this.#roots[g]! - 1) + 1;
  }

  #insert(node: number): number {
    if (node === NONE) return this.#newNode();
    const c = this.#order.compare(this.#columns, this.#row, this.rows, node);
    if (c === 0) {
      this.#change(node);
      this.#weigh(node);
      return node;
    }
    if (c < 0) {
      const child = this.#insert(this.#left[node]!);
      if (child !== this.#left[node]! && priority(child) > priority(node)) {
        this.#left[node] = this.#right[child]!;
        this.#weigh(node);
        this.#right[child] = node;
        this.#weigh(child);
        return child;
      }
      this.#left[node] = child;
    } else {
      const child = this.#insert(this.#right[node]!);
      if (child !== this.#right[node]! && priority(child) > priority(node)) {
        this.#right[node] = this.#left[child]!;
        this.#weigh(node);
        this.#left[child] = node;
        this.#weigh(child);
        return child;
      }
      this.#right[node] = child;
    }
    this.#weigh(node);
    return node;
  }

  #newNode(): number {
    const slot = this.rows.add(this.#columns, this.#row);
    if (slot >= this.#left.length) this.#grow(slot + 1);
    this.#left[slot] = NONE;
    this.#right[slot] = NONE;
    this.#counts[slot] = 0;
    this.#zeroListed[slot] = 0;
    this.#change(slot);
    this.#weigh(slot);
    return slot;
  }

  #grow(slots: number): void {
    const room = roomFor(slots);
    this.#left = growI32(this.#left, room);
    this.#right = growI32(this.#right, room);
    this.#counts = growF64(this.#counts, room);
    this.#weights = growF64(this.#weights, room);
    this.#zeroListed = growU8(this.#zeroListed, room);
  }

  #change(slot: number): void {
    const before = this.#counts[slot]!;
    const after = before + this.#diff;
    assert(Number.isSafeInteger(after), 'a multiplicity stays within 2^53');
    this.#counts[slot] = after;
    if (before < 0) this.#negatives[this.#group]!--;
    if (after < 0) this.#negatives[this.#group]!++;
    if (after === 0 && this.#zeroListed[slot] === 0) {
      this.#zeroListed[slot] = 1;
      this.#zeroSlots.push(slot);
      this.#zeroGroups.push(this.#group);
    }
  }

  #weigh(node: number): void {
    const l = this.#left[node]!;
    const r = this.#right[node]!;
    const c = this.#counts[node]!;
    this.#weights[node] =
      Math.max(c, 0) + (l === NONE ? 0 : this.#weights[l]!) + (r === NONE ? 0 : this.#weights[r]!);
  }

  /** Copies in the group: its rows with their positive multiplicities. */
  weight(g: number): number {
    const root = this.#roots[g]!;
    return root === 0 ? 0 : this.#weights[root - 1]!;
  }

  /** Whether some row of the group was retracted more often than inserted. */
  isNegative(g: number): boolean {
    return this.#negatives[g] !== 0;
  }

  /** Whether every multiplicity of the group is zero. */
  isZero(g: number): boolean {
    return this.weight(g) === 0 && this.#negatives[g] === 0;
  }

  /** The slot of the k-th copy (from 0) in order; k < weight. */
  kth(g: number, k: number): number {
    let node = this.#roots[g]! - 1;
    for (;;) {
      assert(node !== NONE, 'the k-th copy of a group is asked for below its weight');
      const l = this.#left[node]!;
      const below = l === NONE ? 0 : this.#weights[l]!;
      if (k < below) {
        node = l;
        continue;
      }
      const c = this.#counts[node]!;
      if (c > 0 && k < below + c) return node;
      k -= below + Math.max(c, 0);
      node = this.#right[node]!;
    }
  }

  /** Visits the rows that hold copies [from, to), in order, with how many of them. */
  visit(g: number, from: number, to: number, visitor: (slot: number, copies: number) => void): void {
    this.#visit(this.#roots[g]! - 1, from, to, visitor);
  }

  #visit(node: number, from: number, to: number, visitor: (slot: number, copies: number) => void): void {
    while (node !== NONE && to > 0 && from < this.#weights[node]!) {
      const l = this.#left[node]!;
      const below = l === NONE ? 0 : this.#weights[l]!;
      if (from < below) this.#visit(l, from, to, visitor);
      const c = Math.max(this.#counts[node]!, 0);
      const copies = Math.min(to, below + c) - Math.max(from, below);
      if (copies > 0) visitor(node, copies);
      from = Math.max(0, from - below - c);
      to -= below + c;
      node = this.#right[node]!;
    }
  }

  /** Frees the rows whose multiplicity is zero. */
  sweep(): void {
    for (let k = 0; k < this.#zeroSlots.length; k++) {
      const slot = this.#zeroSlots[k]!;
      this.#zeroListed[slot] = 0;
      if (this.#counts[slot] !== 0) continue;
      const g = this.#zeroGroups[k]!;
      this.#roots[g] = this.#remove(this.#roots[g]! - 1, slot) + 1;
      this.rows.free(slot);
    }
    this.#zeroSlots = [];
    this.#zeroGroups = [];
  }

  /** Takes a weightless node out of the tree under `root`; weights above it do not change. */
  #remove(root: number, slot: number): number {
    let parent = NONE;
    let node = root;
    while (node !== slot) {
      assert(node !== NONE, 'a row that is removed stands in its tree');
      parent = node;
      node = this.#order.compareSlots(this.rows, slot, node) < 0 ? this.#left[node]! : this.#right[node]!;
    }
    const merged = this.#merge(this.#left[slot]!, this.#right[slot]!);
    if (parent === NONE) return merged;
    if (this.#left[parent] === slot) this.#left[parent] = merged;
    else this.#right[parent] = merged;
    return root;
  }

  #merge(a: number, b: number): number {
    if (a === NONE) return b;
    if (b === NONE) return a;
    if (priority(a) > priority(b)) {
      this.#right[a] = this.#merge(this.#right[a]!, b);
      this.#weigh(a);
      return a;
    }
    this.#left[b] = this.#merge(a, this.#left[b]!);
    this.#weigh(b);
    return b;
  }

  addSize(size: StateSize): void {
    this.rows.addSize(size);
    const live = this.rows.live;
    for (const a of [this.#left, this.#right, this.#counts, this.#weights, this.#zeroListed])
      addArray(size, a, live);
    addArray(size, this.#roots);
    addArray(size, this.#negatives);
  }
}
