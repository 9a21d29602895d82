/**
 * `sum` of the integer types. int2 and int4 give int8, uint2 and uint4 give uint8 (out of range is an error of the
 * group, which goes when the group shrinks); int8 and uint8 give numeric. The sum itself never overflows.
 */
import { type Column, type ColumnBuilder, isNull } from '../../../repr/column.ts';
import { encodeNumeric, numericFromBig, numericFromInt } from '../../../repr/numeric.ts';
import { addArray, growF64, roomFor, type StateSize } from '../state-size.ts';
import type { Accumulator, GroupErrors } from './accumulator.ts';
import { trySql } from './accumulator.ts';
import { IntegerSums } from './integer-sums.ts';

/** How the argument lies in its column; `u64` is an i64 column read unsigned. */
export type IntegerArgument = 'i32' | 'i64' | 'u64' | 'f64';
export type IntegerResult = 'int8' | 'uint8' | 'numeric';

const RANGE = {
  int8: { min: -(1n << 63n), max: (1n << 63n) - 1n, message: 'bigint out of range' },
  uint8: { min: 0n, max: (1n << 64n) - 1n, message: 'uint8 out of range' },
} as const;

class SumInteger implements Accumulator {
  readonly outKind;
  readonly #arg: IntegerArgument;
  readonly #result: IntegerResult;
  readonly #sums = new IntegerSums();
  /** Rows whose argument is not NULL. */
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);

  constructor(arg: IntegerArgument, result: IntegerResult) {
    this.#arg = arg;
    this.#result = result;
    this.outKind = result === 'numeric' ? ('bytes' as const) : ('i64' as const);
  }

  resize(groups: number): void {
    this.#sums.resize(groups);
    if (groups > this.#counts.length) this.#counts = growF64(this.#counts, roomFor(groups));
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    const arg = args[0]!;
    const pairs = this.#arg === 'i64' || this.#arg === 'u64';
    if (pairs) this.#updatePairs(gids, arg, diffs, n);
    else if (this.#arg === 'i32') this.#updateI32(gids, arg, diffs, n);
    else this.#updateF64(gids, arg, diffs, n);
  }

  #updateI32(gids: Int32Array, arg: Column, diffs: Float64Array, n: number): void {
    const v = arg.values as Int32Array;
    const sums = this.#sums;
    const counts = this.#counts;
    const nulls = arg.validity !== null;
    for (let i = 0; i < n; i++) {
      if (nulls && isNull(arg, i)) continue;
      const g = gids[i]!;
      counts[g]! += diffs[i]!;
      sums.addWord(g, v[i]!, diffs[i]!);
    }
  }

  /** uint4 and other integers within 32 bits that are stored as doubles. */
  #updateF64(gids: Int32Array, arg: Column, diffs: Float64Array, n: number): void {
    const v = arg.values as Float64Array;
    for (let i = 0; i < n; i++) {
      if (isNull(arg, i)) continue;
      const g = gids[i]!;
      this.#counts[g]! += diffs[i]!;
      this.#sums.addWord(g, v[i]!, diffs[i]!);
    }
  }

  #updatePairs(gids: Int32Array, arg: Column, diffs: Float64Array, n: number): void {
    const v = arg.values as Int32Array;
    const sums = this.#sums;
    const counts = this.#counts;
    const unsigned = this.#arg === 'u64';
    for (let i = 0; i < n; i++) {
      if (isNull(arg, i)) continue;
      const g = gids[i]!;
      const high = v[2 * i + 1]!;
      counts[g]! += diffs[i]!;
      sums.addPair(g, v[2 * i]! >>> 0, unsigned ? high >>> 0 : high, diffs[i]!);
    }
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      const c = this.#counts[g]!;
      if (c === 0 && this.#sums.isZero(g)) out.pushNull();
      else {
        if (c <= 0) errors.negative(i);
        this.#writeOne(i, g, out, errors);
      }
    }
  }

  #writeOne(i: number, g: number, out: ColumnBuilder, errors: GroupErrors): void {
    const v = this.#sums.safe(g);
    if (this.#result === 'numeric') {
      if (
        !trySql(i, errors, () =>
          encodeNumeric(out, Number.isNaN(v) ? numericFromBig(this.#sums.big(g)) : numericFromInt(v)),
        )
      )
        out.pushNull();
      return;
    }
    if (!Number.isNaN(v) && (v >= 0 || this.#result === 'int8')) {
      out.pushI64Number(v);
      return;
    }
    const range = RANGE[this.#result];
    const big = this.#sums.big(g);
    if (big < range.min || big > range.max) errors.fail(i, 'numeric_value_out_of_range', range.message);
    out.pushI64(BigInt.asIntN(64, big));
  }

  isZero(gid: number): boolean {
    return this.#counts[gid] === 0 && this.#sums.isZero(gid);
  }
  clear(gid: number): void {
    this.#sums.clear(gid);
  }
  addSize(size: StateSize): void {
    this.#sums.addSize(size);
    addArray(size, this.#counts);
  }
}

export const sumInteger = (arg: IntegerArgument, result: IntegerResult): Accumulator =>
  new SumInteger(arg, result);
