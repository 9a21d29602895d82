/**
 * `sum` of numeric: an exact integer at the greatest scale that the group has seen, NaN and infinities counted
 * apart. The display scale of the result is the greatest scale among the rows that are there, so that bytes, too,
 * return when a row is retracted: rows are counted by scale. Nearly always a group has one scale.
 */
import { type Column, type ColumnBuilder, isNull } from '../../../repr/column.ts';
import { decodeNumeric, encodeNumeric, Numeric, numericFromBig, pow10 } from '../../../repr/numeric.ts';
import { addArray, growF64, growU8, roomFor, type StateSize } from '../state-size.ts';
import { type Accumulator, type GroupErrors, trySql } from './accumulator.ts';
import { IntegerSums } from './integer-sums.ts';
import { SpecialCounts } from './special-counts.ts';

class SumNumeric implements Accumulator {
  readonly outKind = 'bytes';
  readonly #sums = new IntegerSums();
  readonly #specials = new SpecialCounts();
  /** Scale of the sum. */
  #scales: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  /** Finite rows of that scale. */
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);
  /** Group -> scale below the sum's -> finite rows, never 0. */
  readonly #lower = new Map<number, Map<number, number>>();

  resize(groups: number): void {
    this.#sums.resize(groups);
    if (groups <= this.#counts.length) return;
    this.#counts = growF64(this.#counts, roomFor(groups));
    this.#scales = growU8(this.#scales, roomFor(groups));
  }

  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void {
    const arg = args[0]!;
    const bytes = arg.values as Uint8Array;
    for (let i = 0; i < n; i++) {
      if (isNull(arg, i)) continue;
      const v = decodeNumeric(bytes, arg.offsets[i]!, arg.offsets[i + 1]!);
      if (v.finite) this.#add(gids[i]!, v, diffs[i]!);
      else this.#specials.add(gids[i]!, v.small, diffs[i]!);
    }
  }

  #add(g: number, v: Numeric, diff: number): void {
    if (v.scale > this.#scales[g]!) this.#raise(g, v.scale);
    const below = this.#scales[g]! - v.scale;
    if (below === 0) this.#counts[g]! += diff;
    else this.#countLower(g, v.scale, diff);
    const product = v.big === null && below <= 15 ? v.small * 10 ** below * diff : Number.NaN;
    if (Number.isSafeInteger(product)) this.#sums.addSafe(g, product);
    else this.#sums.addBig(g, v.coef * pow10(below) * BigInt(diff));
  }

  #countLower(g: number, scale: number, diff: number): void {
    const counts = this.#lower.get(g) ?? new Map<number, number>();
    const c = (counts.get(scale) ?? 0) + diff;
    if (c === 0) counts.delete(scale);
    else counts.set(scale, c);
    if (counts.size === 0) this.#lower.delete(g);
    else this.#lower.set(g, counts);
  }

  #raise(g: number, scale: number): void {
    const old = this.#scales[g]!;
    if (this.#counts[g] !== 0) this.#countLower(g, old, this.#counts[g]!);
    this.#counts[g] = 0;
    this.#scales[g] = scale;
    const sum = this.#sums.big(g);
    if (sum === 0n) return;
    this.#sums.clear(g);
    this.#sums.addBig(g, sum * pow10(scale - old));
  }

  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void {
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      if (this.isZero(g)) {
        out.pushNull();
        continue;
      }
      if (this.#isNegative(g)) errors.negative(i);
      const special = this.#specials.result(g);
      if (special !== null) encodeNumeric(out, new Numeric(special, null, 0));
      else if (!trySql(i, errors, () => encodeNumeric(out, this.#value(g)))) out.pushNull();
    }
  }

  #isNegative(g: number): boolean {
    if (this.#counts[g]! < 0 || this.#specials.isNegative(g)) return true;
    const lower = this.#lower.get(g);
    if (lower !== undefined) for (const c of lower.values()) if (c < 0) return true;
    return this.#specials.isZero(g) && this.#counts[g] === 0 && lower === undefined;
  }

  #value(g: number): Numeric {
    let scale = this.#scales[g]!;
    const safe = this.#sums.safe(g);
    if (this.#counts[g] !== 0) {
      if (!Number.isNaN(safe)) return new Numeric(safe + 0, null, scale);
      return numericFromBig(this.#sums.big(g), scale);
    }
    scale = 0;
    for (const s of this.#lower.get(g)?.keys() ?? []) if (s > scale) scale = s;
    return numericFromBig(this.#sums.big(g) / pow10(this.#scales[g]! - scale), scale);
  }

  isZero(gid: number): boolean {
    return (
      this.#counts[gid] === 0 && !this.#lower.has(gid) && this.#specials.isZero(gid) && this.#sums.isZero(gid)
    );
  }
  clear(gid: number): void {
    this.#sums.clear(gid);
    this.#scales[gid] = 0;
  }
  addSize(size: StateSize): void {
    this.#sums.addSize(size);
    this.#specials.addSize(size);
    addArray(size, this.#counts);
    addArray(size, this.#scales);
    size.used += this.#lower.size * 128;
    size.allocated += this.#lower.size * 128;
  }
}

export const sumNumeric = (): Accumulator => new SumNumeric();
