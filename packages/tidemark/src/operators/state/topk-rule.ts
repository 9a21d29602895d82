/**
 * ORDER BY … LIMIT … OFFSET by group: the copies [offset, offset + limit) of each group's rows in order.
 *
 *   output = { (row, copies of row within the window) };  a change emits the difference of the group's windows
 *
 * Ties are broken by the bytes of the whole row, and a row that stands several times is cut at the boundary, so
 * the answer depends on nothing but the contents. State: an ordered multiset of all rows by group. The window of a
 * group is noted when its first change of the open time comes and compared when the time closes.
 *
 * A group in which some row has a negative multiplicity emits an error in place of its window until it heals.
 *
 * Cost: a row O(log n of its group); a group that was touched, two readings of its window, O(log n + limit).
 */
import { assert } from '../../base/assert.ts';
import { type Batch, diffAt } from '../../repr/batch.ts';
import type { Kind } from '../../repr/types.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import { type GroupError, negativeError } from './accumulators/accumulator.ts';
import { emitErrors, NO_ERRORS } from './group-results.ts';
import { GroupTable, type HashRows } from './group-table.ts';
import { OrderedMultiset } from './ordered-multiset.ts';
import { type DescribeKey, type EncodeError, encodeGroupError } from './reduce-rule.ts';
import type { OrderColumn } from './row-order.ts';
import { FLUSH_STEP, MAX_ABSORB, type RuleOutput, type StateRule } from './state-rule.ts';
import { addArray, growF64, growI32, roomFor, type StateSize } from './state-size.ts';

export interface TopKSpec {
  readonly collection: string;
  readonly kinds: readonly Kind[];
  /** Positions of the group's columns; none for one window over everything. */
  readonly keys: readonly number[];
  readonly order: readonly OrderColumn[];
  /** Copies to skip, and how many to give; null for all. */
  readonly offset: number;
  readonly limit: number | null;
  readonly encodeError: EncodeError;
  readonly describeKey?: DescribeKey;
  /** For tests that make every key collide. */
  readonly hash?: HashRows;
}

/** The window of a group before its first change: copies by slot, or that it failed. */
interface Window {
  readonly slots: readonly number[];
  readonly copies: readonly number[];
  readonly failed: boolean;
}

export class TopKRule implements StateRule {
  readonly #spec: TopKSpec;
  readonly #groups: GroupTable;
  readonly #rows: OrderedMultiset;
  readonly #negative: GroupError;
  readonly #end: number;
  #isTouched: Int32Array<ArrayBuffer> = new Int32Array(0);
  /** Groups touched at the open time, and their windows before. */
  #touched: number[] = [];
  #windows: Window[] = [];
  #flushed = 0;
  /** By slot, zero between steps: how many copies the window gained. */
  #gains: Float64Array<ArrayBuffer> = new Float64Array(0);
  readonly #gids: Int32Array<ArrayBuffer> = new Int32Array(MAX_ABSORB);

  constructor(spec: TopKSpec) {
    this.#spec = spec;
    this.#end = spec.limit === null ? Number.POSITIVE_INFINITY : spec.offset + spec.limit;
    this.#groups = new GroupTable(
      spec.keys.map((k) => spec.kinds[k]!),
      spec.hash,
    );
    this.#rows = new OrderedMultiset(spec.kinds, spec.order);
    this.#negative = negativeError(spec.collection);
  }

  get pending(): boolean {
    return this.#touched.length > 0;
  }

  absorb(batch: Batch): void {
    assert(this.#flushed === 0, 'nothing is absorbed during a flush');
    const n = batch.length;
    const gids = this.#gids;
    this.#groups.assign(
      this.#spec.keys.map((k) => batch.columns[k]!),
      n,
      gids,
    );
    const groups = this.#groups.idBound;
    this.#rows.resize(groups);
    if (groups > this.#isTouched.length) this.#isTouched = growI32(this.#isTouched, roomFor(groups));
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      if (this.#isTouched[g] === 0) {
        this.#isTouched[g] = 1;
        this.#touched.push(g);
        this.#windows.push(this.#windowOf(g));
      }
      this.#rows.add(g, batch.columns, i, diffAt(batch, i));
    }
  }

  #windowOf(g: number): Window {
    if (this.#rows.isNegative(g)) return FAILED;
    if (this.#rows.weight(g) === 0) return NOTHING;
    const slots: number[] = [];
    const copies: number[] = [];
    this.#rows.visit(g, this.#spec.offset, this.#end, (slot, c) => {
      slots.push(slot);
      copies.push(c);
    });
    return { slots, copies, failed: false };
  }

  flush(time: Timestamp, output: RuleOutput, fuel: Fuel): boolean {
    const bound = this.#rows.rows.slotBound;
    if (bound > this.#gains.length) this.#gains = growF64(this.#gains, roomFor(bound));
    while (this.#flushed < this.#touched.length) {
      if (fuel.exhausted) return false;
      this.#emit(time, output, fuel);
    }
    while (this.#rows.toSweep > 0) {
      if (fuel.exhausted) return false;
      const rows = Math.floor(fuel.portion(Math.min(FLUSH_STEP, this.#rows.toSweep)));
      this.#rows.sweep(rows);
      fuel.spend(rows);
    }
    this.#touched = [];
    this.#windows = [];
    this.#flushed = 0;
    return true;
  }

  /** One output batch: groups until it is full or the fuel is spent. */
  #emit(time: Timestamp, output: RuleOutput, fuel: Fuel): void {
    const slots: number[] = [];
    const diffs: number[] = [];
    const gone = new Map<number, Uint8Array>();
    const come = new Map<number, Uint8Array>();
    do {
      const at = this.#flushed++;
      const g = this.#touched[at]!;
      const old = this.#windows[at]!;
      const now = this.#windowOf(g);
      fuel.spend(1 + old.slots.length + now.slots.length);
      if (old.failed !== now.failed)
        (now.failed ? come : gone).set(at, encodeGroupError(this.#spec, this.#negative, this.#groups, g));
      this.#compare(old, now, slots, diffs);
      this.#isTouched[g] = 0;
      if (this.#rows.isZero(g)) this.#groups.free(g);
    } while (this.#flushed < this.#touched.length && slots.length < FLUSH_STEP && !fuel.exhausted);
    if (slots.length > 0)
      output.oks({
        length: slots.length,
        columns: this.#rows.rows.gather(Int32Array.from(slots), slots.length),
        times: time,
        diffs: Float64Array.from(diffs),
      });
    if (gone.size > 0) emitErrors(time, output, gone, NO_ERRORS);
    if (come.size > 0) emitErrors(time, output, NO_ERRORS, come);
  }

  #compare(old: Window, now: Window, slots: number[], diffs: number[]): void {
    const gains = this.#gains;
    for (let k = 0; k < old.slots.length; k++) gains[old.slots[k]!]! -= old.copies[k]!;
    for (let k = 0; k < now.slots.length; k++) gains[now.slots[k]!]! += now.copies[k]!;
    for (const list of [old.slots, now.slots])
      for (const slot of list) {
        if (gains[slot] === 0) continue;
        slots.push(slot);
        diffs.push(gains[slot]!);
        gains[slot] = 0;
      }
  }

  addSize(size: StateSize): void {
    this.#groups.addSize(size);
    this.#rows.addSize(size);
    addArray(size, this.#isTouched, this.#groups.live);
    addArray(size, this.#gains);
  }
}

const NOTHING: Window = { slots: [], copies: [], failed: false };
const FAILED: Window = { slots: [], copies: [], failed: true };
