/**
 * `agg(DISTINCT x)` for any aggregate: a table of (group, values) with multiplicities in front of it that lets
 * only the steps from absent to present and back through. Costs one look-up a row.
 */
import { assert } from '../../../base/assert.ts';
import { type Column, type ColumnBuilder, gather, NO_OFFSETS } from '../../../repr/column.ts';
import type { Kind } from '../../../repr/types.ts';
import { GroupTable, type HashRows } from '../group-table.ts';
import { addArray, growF64, growI32, roomFor, type StateSize } from '../state-size.ts';
import type { Accumulator, GroupErrors } from './accumulator.ts';

class Distinct implements Accumulator {
  readonly outKind: Kind;
  readonly #inner: Accumulator;
  readonly #values: GroupTable;
  /** By value id. */
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);
  /** By group: values with a negative multiplicity, and values that the table holds. */
  #negatives: Int32Array<ArrayBuffer> = new Int32Array(0);
  #held: Int32Array<ArrayBuffer> = new Int32Array(0);
  #ids: Int32Array<ArrayBuffer> = new Int32Array(0);

  constructor(inner: Accumulator, kinds: readonly Kind[], hash: HashRows | undefined) {
    this.#inner = inner;
    this.outKind = inner.outKind;
    this.#values = new GroupTable(['i32', ...kinds], hash);
  }

  resize(groups: number): void {
    this.#inner.resize(groups);
    if (groups <= this.#negatives.length) return;
    this.#negatives = growI32(this.#negatives, roomFor(groups));
    this.#held = growI32(this.#held, roomFor(groups));
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    if (this.#ids.length < n) this.#ids = new Int32Array(roomFor(n));
    const ids = this.#ids;
    const groupColumn: Column = {
      kind: 'i32',
      length: n,
      validity: null,
      values: gids as Int32Array<ArrayBuffer>,
      offsets: NO_OFFSETS,
    };
    this.#values.assign([groupColumn, ...args], n, ids);
    if (this.#values.idBound > this.#counts.length)
      this.#counts = growF64(this.#counts, roomFor(this.#values.idBound));
    const rows = new Int32Array(n);
    const steps = new Float64Array(n);
    let k = 0;
    let emptied = 0;
    for (let i = 0; i < n; i++) {
      const id = ids[i]!;
      const before = this.#counts[id]!;
      const after = before + diffs[i]!;
      assert(Number.isSafeInteger(after), 'a multiplicity stays within 2^53');
      this.#counts[id] = after;
      if (before < 0) this.#negatives[gids[i]!]!--;
      if (after < 0) this.#negatives[gids[i]!]!++;
      if (before === 0) this.#held[gids[i]!]!++;
      if (after === 0) {
        this.#held[gids[i]!]!--;
        emptied++;
      }
      if (before > 0 === after > 0) continue;
      rows[k] = i;
      steps[k++] = after > 0 ? 1 : -1;
    }
    if (emptied > 0) this.#free(n);
    if (k === 0) return;
    const stepGids = new Int32Array(k);
    for (let i = 0; i < k; i++) stepGids[i] = gids[rows[i]!]!;
    this.#inner.update(
      stepGids,
      args.map((c) => gather(c, rows, k)),
      steps,
      k,
    );
  }

  /** Frees the values of the batch that ended at zero, each once. */
  #free(n: number): void {
    for (let i = 0; i < n; i++) {
      const id = this.#ids[i]!;
      if (this.#counts[id] !== 0) continue;
      this.#counts[id] = Number.NaN;
      this.#values.free(id);
    }
    for (let i = 0; i < n; i++)
      if (Number.isNaN(this.#counts[this.#ids[i]!])) this.#counts[this.#ids[i]!] = 0;
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) if (this.#negatives[gids[i]!] !== 0) errors.negative(i);
    this.#inner.write(gids, n, out, errors);
  }

  isZero(gid: number): boolean {
    // A held NULL leaves no trace in the inner aggregate.
    return this.#held[gid] === 0 && this.#inner.isZero(gid);
  }
  clear(gid: number): void {
    this.#inner.clear(gid);
  }
  addSize(size: StateSize): void {
    size.records += this.#values.live;
    this.#values.addSize(size);
    addArray(size, this.#counts, this.#values.live);
    addArray(size, this.#negatives);
    addArray(size, this.#held);
    this.#inner.addSize(size);
  }
}

/** `kinds` are those of the inner aggregate's arguments; `hash` is for tests that make all collide. */
export const distinct = (inner: Accumulator, kinds: readonly Kind[], hash?: HashRows): Accumulator =>
  new Distinct(inner, kinds, hash);
