/** `count(*)` and `count(x)`: int8. */

import type { Column } from '../../../repr/column.ts';
import { type ColumnBuilder, isNull } from '../../../repr/column.ts';
import { addArray, growF64, roomFor, type StateSize } from '../state-size.ts';
import type { Accumulator, GroupErrors } from './accumulator.ts';

class Count implements Accumulator {
  readonly outKind = 'i64';
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);

  resize(groups: number): void {
    if (groups > this.#counts.length) this.#counts = growF64(this.#counts, roomFor(groups));
  }

  /** No argument counts rows. */
  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    const counts = this.#counts;
    const arg = args[0];
    if (arg === undefined || arg.validity === null)
      for (let i = 0; i < n; i++) counts[gids[i]!]! += diffs[i]!;
    else for (let i = 0; i < n; i++) if (!isNull(arg, i)) counts[gids[i]!]! += diffs[i]!;
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) {
      const c = this.#counts[gids[i]!]!;
      if (c < 0) errors.negative(i);
      out.pushI64Number(c);
    }
  }

  isZero(gid: number): boolean {
    return this.#counts[gid] === 0;
  }
  clear(): void {}
  addSize(size: StateSize): void {
    addArray(size, this.#counts);
  }
}

/** Without arguments it is `count(*)`, with one `count(x)`. */
export const count = (): Accumulator => new Count();
