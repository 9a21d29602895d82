/** `sum` of interval: each field exactly; a field out of range when read is an error of the group. */
import { type Column, type ColumnBuilder, isNull } from '../../../repr/column.ts';
import { decodeInterval, encodeInterval, makeInterval } from '../../../repr/interval.ts';
import { addArray, growF64, roomFor, type StateSize } from '../state-size.ts';
import { type Accumulator, type GroupErrors, trySql } from './accumulator.ts';
import { IntegerSums } from './integer-sums.ts';

class SumInterval implements Accumulator {
  readonly outKind = 'bytes';
  readonly #months = new IntegerSums();
  readonly #days = new IntegerSums();
  readonly #micros = new IntegerSums();
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);

  resize(groups: number): void {
    for (const s of [this.#months, this.#days, this.#micros]) s.resize(groups);
    if (groups > this.#counts.length) this.#counts = growF64(this.#counts, roomFor(groups));
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    const arg = args[0]!;
    for (let i = 0; i < n; i++) {
      if (isNull(arg, i)) continue;
      const g = gids[i]!;
      const d = diffs[i]!;
      const v = decodeInterval(arg.values as Uint8Array, arg.offsets[i]!);
      this.#counts[g]! += d;
      this.#months.addWord(g, v.months, d);
      this.#days.addWord(g, v.days, d);
      const micros = v.micros * d;
      if (Number.isSafeInteger(micros)) this.#micros.addSafe(g, micros);
      else this.#micros.addBig(g, BigInt(v.micros) * BigInt(d));
    }
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      if (this.isZero(g)) {
        out.pushNull();
        continue;
      }
      if (this.#counts[g]! <= 0) errors.negative(i);
      // A field that is no safe integer reads as NaN, which `makeInterval` refuses like any other overflow.
      const fields = [this.#months.safe(g), this.#days.safe(g), this.#micros.safe(g)] as const;
      if (!trySql(i, errors, () => encodeInterval(out, makeInterval(...fields)))) out.pushNull();
    }
  }

  isZero(gid: number): boolean {
    return (
      this.#counts[gid] === 0 &&
      this.#months.isZero(gid) &&
      this.#days.isZero(gid) &&
      this.#micros.isZero(gid)
    );
  }
  clear(gid: number): void {
    for (const s of [this.#months, this.#days, this.#micros]) s.clear(gid);
  }
  addSize(size: StateSize): void {
    for (const s of [this.#months, this.#days, this.#micros]) s.addSize(size);
    addArray(size, this.#counts);
  }
}

export const sumInterval = (): Accumulator => new SumInterval();
