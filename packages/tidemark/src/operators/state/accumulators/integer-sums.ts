/**
 * Exact integer sums by group, of any size: low and high doubles in units of 1 and 2^32, and a BigInt for the few
 * groups that outgrow them (beyond about 2^84, or fed with coefficients that never fitted). The hot path adds one
 * or two doubles a row and never sees a BigInt.
 *
 * value = low + 2^32 * high + big. |low| and |high| stay below 2^52 between updates and a term below 2^52, so
 * every double operation is exact.
 */
import { TWO32 } from '../../../repr/column.ts';
import { addArray, growF64, roomFor, type StateSize } from '../state-size.ts';

const LIMB = 2 ** 52;
/** Multiplicities up to this times 32-bit words stay below 2^52. */
const SMALL_DIFF = 2 ** 20;

export class IntegerSums {
  #low: Float64Array<ArrayBuffer> = new Float64Array(0);
  #high: Float64Array<ArrayBuffer> = new Float64Array(0);
  readonly #big = new Map<number, bigint>();

  resize(groups: number): void {
    if (groups <= this.#low.length) return;
    this.#low = growF64(this.#low, roomFor(groups));
    this.#high = growF64(this.#high, roomFor(groups));
  }

  /** Adds v * diff; v is an integer within ±2^32. */
  addWord(g: number, v: number, diff: number): void {
    if (diff > SMALL_DIFF || diff < -SMALL_DIFF) {
      this.addBig(g, BigInt(v) * BigInt(diff));
      return;
    }
    const s = this.#low[g]! + v * diff;
    if (s < LIMB && s > -LIMB) this.#low[g] = s;
    else this.#carry(g, s, 0);
  }

  /** Adds (high * 2^32 + low) * diff; low in [0, 2^32), high within ±2^32. */
  addPair(g: number, low: number, high: number, diff: number): void {
    if (diff > SMALL_DIFF || diff < -SMALL_DIFF) {
      this.addBig(g, ((BigInt(high) << 32n) + BigInt(low)) * BigInt(diff));
      return;
    }
    const l = this.#low[g]! + low * diff;
    const h = this.#high[g]! + high * diff;
    if (l < LIMB && l > -LIMB && h < LIMB && h > -LIMB) {
      this.#low[g] = l;
      this.#high[g] = h;
    } else this.#carry(g, l, high * diff);
  }

  /** Adds any safe integer. */
  addSafe(g: number, v: number): void {
    const h = Math.trunc(v / TWO32);
    const l = v - h * TWO32;
    const s = this.#low[g]! + l;
    if (h === 0 && s < LIMB && s > -LIMB) this.#low[g] = s;
    else this.#carry(g, s, h);
  }

  addBig(g: number, v: bigint): void {
    const s = (this.#big.get(g) ?? 0n) + v;
    if (s === 0n) this.#big.delete(g);
    else this.#big.set(g, s);
  }

  /** Sets low to s reduced, and carries what leaves it, and `h`, into high. */
  #carry(g: number, s: number, h: number): void {
    const up = Math.trunc(s / TWO32);
    this.#low[g] = s - up * TWO32;
    const high = this.#high[g]! + h + up;
    if (high < LIMB && high > -LIMB) this.#high[g] = high;
    else {
      this.#high[g] = 0;
      this.addBig(g, BigInt(high) << 32n);
    }
  }

  /** The sum where it is a safe integer, NaN where `big` must be asked. */
  safe(g: number): number {
    const h = this.#high[g]!;
    if (h === 0 && this.#big.size === 0) return this.#low[g]!;
    if (this.#big.has(g)) return Number.NaN;
    // The product is exact; a sum beyond 2^53 may round, but never down into the safe range.
    const v = h * TWO32 + this.#low[g]!;
    return Number.isSafeInteger(v) ? v : Number.NaN;
  }

  big(g: number): bigint {
    return BigInt(this.#low[g]!) + (BigInt(this.#high[g]!) << 32n) + (this.#big.get(g) ?? 0n);
  }

  isZero(g: number): boolean {
    if (this.#low[g] === 0 && this.#high[g] === 0 && !this.#big.has(g)) return true;
    const v = this.safe(g);
    return Number.isNaN(v) ? this.big(g) === 0n : v === 0;
  }

  /** Forgets the sum; also brings a zero that is spread over the limbs to its plain form. */
  clear(g: number): void {
    this.#low[g] = 0;
    this.#high[g] = 0;
    this.#big.delete(g);
  }

  addSize(size: StateSize): void {
    addArray(size, this.#low);
    addArray(size, this.#high);
    size.used += this.#big.size * 64;
    size.allocated += this.#big.size * 64;
  }
}
