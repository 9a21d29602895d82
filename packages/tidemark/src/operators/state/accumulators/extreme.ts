/**
 * `min` and `max` of any type, retractable: an ordered multiset of the group's values. A change takes O(log n) of
 * the group's distinct values, reading the extreme too.
 */
import { type Column, type ColumnBuilder, isNull } from '../../../repr/column.ts';
import type { Kind } from '../../../repr/types.ts';
import { OrderedMultiset } from '../ordered-multiset.ts';
import type { CompareCells } from '../row-order.ts';
import type { StateSize } from '../state-size.ts';
import type { Accumulator, GroupErrors } from './accumulator.ts';

class Extreme implements Accumulator {
  readonly outKind: Kind;
  readonly #values: OrderedMultiset;

  /** The extreme is the first value in the given order. */
  constructor(kind: Kind, compare: CompareCells, desc: boolean) {
    this.outKind = kind;
    this.#values = new OrderedMultiset([kind], [{ column: 0, compare, desc, nullsFirst: false }]);
  }

  resize(groups: number): void {
    this.#values.resize(groups);
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    const arg = args[0]!;
    for (let i = 0; i < n; i++) if (!isNull(arg, i)) this.#values.add(gids[i]!, args, i, diffs[i]!);
    this.#values.sweep();
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    const column = this.#values.rows.columns[0]!;
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      if (this.#values.isNegative(g)) errors.negative(i);
      if (this.#values.weight(g) === 0) out.pushNull();
      else out.pushFrom(column, this.#values.kth(g, 0) << column.shift);
    }
  }

  isZero(gid: number): boolean {
    return this.#values.isZero(gid);
  }
  clear(): void {}
  addSize(size: StateSize): void {
    this.#values.addSize(size);
  }
}

/** `compare` is the type's SQL order. */
export const min = (kind: Kind, compare: CompareCells): Accumulator => new Extreme(kind, compare, false);
export const max = (kind: Kind, compare: CompareCells): Accumulator => new Extreme(kind, compare, true);
