/**
 * Aggregates that are a function of the group's rows in order (`array_agg`, `string_agg`, `jsonb_agg`, window
 * functions over a partition …): the group's ordered multiset is kept, and a callback of the caller makes the
 * value. Keeping costs O(log n) a change; the result is made anew whenever its group changes, which is linear in
 * the group and as long as the result is.
 *
 * NULL arguments are rows like any other: an aggregate that ignores them leaves them out in its callback, or the
 * plan filters them.
 */
import type { Column, ColumnBuilder } from '../../../repr/column.ts';
import type { Kind } from '../../../repr/types.ts';
import { OrderedMultiset } from '../ordered-multiset.ts';
import type { OrderColumn } from '../row-order.ts';
import { growI32, roomFor, type StateSize } from '../state-size.ts';
import { type Accumulator, type GroupErrors, trySql } from './accumulator.ts';

/**
 * Pushes exactly one value, made of rows [0, n) (n >= 1) of the argument columns, in order, a row that stands m
 * times given m times. An `SqlError` becomes the error of the group; nothing may have been pushed then.
 */
export type FinishRows = (columns: readonly Column[], n: number, out: ColumnBuilder) => void;

export interface BasicSpec {
  readonly outKind: Kind;
  /** Kinds of the argument columns: values and ORDER BY expressions, as the plan lays them out. */
  readonly kinds: readonly Kind[];
  /** The aggregate's ORDER BY over the argument columns. */
  readonly order: readonly OrderColumn[];
  readonly finish: FinishRows;
}

class Basic implements Accumulator {
  readonly outKind: Kind;
  readonly #rows: OrderedMultiset;
  readonly #finish: FinishRows;
  #slots: Int32Array<ArrayBuffer> = new Int32Array(16);

  constructor(spec: BasicSpec) {
    this.outKind = spec.outKind;
    this.#rows = new OrderedMultiset(spec.kinds, spec.order);
    this.#finish = spec.finish;
  }

  resize(groups: number): void {
    this.#rows.resize(groups);
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    for (let i = 0; i < n; i++) this.#rows.add(gids[i]!, args, i, diffs[i]!);
    this.#rows.sweep();
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      const rows = this.#rows.weight(g);
      if (this.#rows.isNegative(g)) errors.negative(i);
      if (rows === 0 || this.#rows.isNegative(g)) out.pushNull();
      else if (rows > MAX_ROWS) {
        errors.fail(i, 'program_limit_exceeded', `an aggregate over ${rows} rows of one group is too large`);
        out.pushNull();
      } else if (!trySql(i, errors, () => this.#finish(this.#rowsOf(g, rows), rows, out))) out.pushNull();
    }
  }

  #rowsOf(g: number, rows: number): Column[] {
    if (this.#slots.length < rows) this.#slots = growI32(this.#slots, roomFor(rows));
    const slots = this.#slots;
    let at = 0;
    this.#rows.visit(g, 0, rows, (slot, copies) => {
      slots.fill(slot, at, at + copies);
      at += copies;
    });
    return this.#rows.rows.gather(slots, rows);
  }

  isZero(gid: number): boolean {
    return this.#rows.isZero(gid);
  }
  clear(): void {}
  addSize(size: StateSize): void {
    this.#rows.addSize(size);
  }
}

/** A value is rebuilt from its rows in one step: more of them would stall the worker and pass 2^31 bytes. */
const MAX_ROWS = 2 ** 24;

export const basic = (spec: BasicSpec): Accumulator => new Basic(spec);
