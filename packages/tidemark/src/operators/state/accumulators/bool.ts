/** `bool_and` and `bool_or`: how many are true, how many are not NULL. */
import { type Column, type ColumnBuilder, isNull } from '../../../repr/column.ts';
import { addArray, growF64, roomFor, type StateSize } from '../state-size.ts';
import type { Accumulator, GroupErrors } from './accumulator.ts';

class BoolFold implements Accumulator {
  readonly outKind = 'bool';
  readonly #all: boolean;
  #trues: Float64Array<ArrayBuffer> = new Float64Array(0);
  #falses: Float64Array<ArrayBuffer> = new Float64Array(0);

  constructor(all: boolean) {
    this.#all = all;
  }

  resize(groups: number): void {
    if (groups <= this.#trues.length) return;
    this.#trues = growF64(this.#trues, roomFor(groups));
    this.#falses = growF64(this.#falses, roomFor(groups));
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    const arg = args[0]!;
    const v = arg.values;
    for (let i = 0; i < n; i++) {
      if (isNull(arg, i)) continue;
      const into = v[i] === 0 ? this.#falses : this.#trues;
      into[gids[i]!]! += diffs[i]!;
    }
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      const trues = this.#trues[g]!;
      const falses = this.#falses[g]!;
      if (trues < 0 || falses < 0) errors.negative(i);
      if (trues === 0 && falses === 0) out.pushNull();
      else out.pushNumber((this.#all ? falses === 0 : trues > 0) ? 1 : 0);
    }
  }

  isZero(gid: number): boolean {
    return this.#trues[gid] === 0 && this.#falses[gid] === 0;
  }
  clear(): void {}
  addSize(size: StateSize): void {
    addArray(size, this.#trues);
    addArray(size, this.#falses);
  }
}

export const boolAnd = (): Accumulator => new BoolFold(true);
export const boolOr = (): Accumulator => new BoolFold(false);
