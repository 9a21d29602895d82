/**
 * `sum` of float4 and float8: exact until it is read (see float-expansions), NaN and infinities counted apart. A
 * sum of finite values that is out of the type's range is an error of the group, as in PostgreSQL.
 */
import { type Column, type ColumnBuilder, isNull } from '../../../repr/column.ts';
import { addArray, growF64, roomFor, type StateSize } from '../state-size.ts';
import type { Accumulator, GroupErrors } from './accumulator.ts';
import { FloatExpansions } from './float-expansions.ts';
import { SpecialCounts } from './special-counts.ts';

class SumFloat implements Accumulator {
  readonly outKind = 'f64';
  readonly #single: boolean;
  readonly #sums = new FloatExpansions();
  readonly #specials = new SpecialCounts();
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);

  constructor(single: boolean) {
    this.#single = single;
  }

  resize(groups: number): void {
    this.#sums.resize(groups);
    if (groups > this.#counts.length) this.#counts = growF64(this.#counts, roomFor(groups));
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    const arg = args[0]!;
    const v = arg.values as Float64Array;
    for (let i = 0; i < n; i++) {
      if (isNull(arg, i)) continue;
      const g = gids[i]!;
      const x = v[i]!;
      this.#counts[g]! += diffs[i]!;
      if (Number.isFinite(x)) this.#sums.add(g, x, diffs[i]!);
      else this.#specials.add(g, x, diffs[i]!);
    }
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      if (this.isZero(g)) {
        out.pushNull();
        continue;
      }
      if (this.#counts[g]! <= 0 || this.#specials.isNegative(g)) errors.negative(i);
      const special = this.#specials.result(g);
      if (special !== null) {
        out.pushNumber(special);
        continue;
      }
      const exact = this.#sums.value(g);
      const v = this.#single ? Math.fround(exact) : exact;
      if (!Number.isFinite(v)) errors.fail(i, 'numeric_value_out_of_range', 'value out of range: overflow');
      out.pushNumber(v);
    }
  }

  isZero(gid: number): boolean {
    return this.#counts[gid] === 0 && this.#specials.isZero(gid) && this.#sums.isZero(gid);
  }
  clear(gid: number): void {
    this.#sums.clear(gid);
  }
  addSize(size: StateSize): void {
    this.#sums.addSize(size);
    this.#specials.addSize(size);
    addArray(size, this.#counts);
  }
}

export const sumFloat = (type: 'float4' | 'float8'): Accumulator => new SumFloat(type === 'float4');
