/**
 * Exact sums of doubles by group: each sum is an expansion (doubles that do not overlap, ascending, whose exact
 * sum is the value; Shewchuk 1997), rounded once when it is read. So the result does not depend on the order of
 * the rows, a retraction returns exactly what was there, and a sum is zero iff its expansion is empty.
 *
 * Up to four parts lie in a flat array; a longer expansion (values over more than about 200 binary orders of
 * magnitude in one group) moves to a map. Values from 2^960 up are summed scaled by 2^-200, so that no
 * intermediate overflows although the final result may be in range again.
 */
import { addArray, growF64, growU8, roomFor, type StateSize } from '../state-size.ts';

const INLINE = 4;
/** No expansion is longer: parts do not overlap, and there are 2098 binary places of 53 bits each, and one to grow. */
const LONGEST = 48;
const SPILLED = 255;
const HUGE = 2 ** 960;
const DOWN = 2 ** -200;
const HUGE_SHIFT = 200n;

/** Adds x to an expansion in place; returns its new length. `parts` has room for one more. */
function grow(parts: Float64Array, at: number, length: number, x: number): number {
  let k = 0;
  for (let j = 0; j < length; j++) {
    const y = parts[at + j]!;
    const hi = x + y;
    const lo = Math.abs(x) < Math.abs(y) ? x - (hi - y) : y - (hi - x);
    if (lo !== 0) parts[at + k++] = lo;
    x = hi;
  }
  if (x !== 0) parts[at + k++] = x;
  return k;
}

/** The nearest double to the sum of an expansion, ties to even. */
function round(parts: Float64Array, at: number, length: number): number {
  let n = length;
  if (n === 0) return 0;
  let hi = parts[at + --n]!;
  let lo = 0;
  while (n > 0) {
    const x = hi;
    const y = parts[at + --n]!;
    hi = x + y;
    lo = y - (hi - x);
    if (lo !== 0) break;
  }
  // Half-way cases: what follows decides, where hi + lo alone would round to even.
  if (n > 0 && lo !== 0 && lo < 0 === parts[at + n - 1]! < 0) {
    const twice = lo * 2;
    const x = hi + twice;
    if (twice === x - hi) hi = x;
  }
  return hi;
}

/** An expansion outside of the flat array. */
class LongExpansion {
  readonly parts: Float64Array<ArrayBuffer> = new Float64Array(LONGEST);
  length = 0;

  add(x: number): void {
    this.length = grow(this.parts, 0, this.length, x);
  }
  get live(): Float64Array {
    return this.parts.subarray(0, this.length);
  }
}

export class FloatExpansions {
  /** Room for INLINE + 1 parts a group: growth may need one more before it spills. */
  #parts: Float64Array<ArrayBuffer> = new Float64Array(0);
  #lengths: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  readonly #spilled = new Map<number, LongExpansion>();
  readonly #huge = new Map<number, LongExpansion>();

  resize(groups: number): void {
    if (groups <= this.#lengths.length) return;
    const room = roomFor(groups);
    this.#lengths = growU8(this.#lengths, room);
    this.#parts = growF64(this.#parts, room * (INLINE + 1));
  }

  /** Adds v * diff, v finite. A multiplicity is added bit by bit: a product with a power of two is exact. */
  add(g: number, v: number, diff: number): void {
    if (diff === 1) this.#addOne(g, v, 1);
    else if (diff === -1) this.#addOne(g, -v, 1);
    else {
      const signed = diff < 0 ? -v : v;
      let rest = Math.abs(diff);
      for (let weight = 1; rest > 0; weight *= 2) {
        if (rest % 2 === 1) this.#addOne(g, signed, weight);
        rest = Math.floor(rest / 2);
      }
    }
  }

  #addOne(g: number, v: number, weight: number): void {
    const x = v * weight;
    if (x >= HUGE || x <= -HUGE) {
      const sum = this.#huge.get(g) ?? new LongExpansion();
      sum.add(v * DOWN * weight);
      if (sum.length === 0) this.#huge.delete(g);
      else this.#huge.set(g, sum);
      return;
    }
    const length = this.#lengths[g]!;
    if (length === SPILLED) this.#addSpilled(g, x);
    else {
      const at = g * (INLINE + 1);
      const k = grow(this.#parts, at, length, x);
      if (k <= INLINE) this.#lengths[g] = k;
      else {
        const sum = new LongExpansion();
        sum.parts.set(this.#parts.subarray(at, at + k));
        sum.length = k;
        this.#spilled.set(g, sum);
        this.#lengths[g] = SPILLED;
      }
    }
  }

  #addSpilled(g: number, x: number): void {
    const sum = this.#spilled.get(g)!;
    sum.add(x);
    if (sum.length > INLINE) return;
    this.#parts.set(sum.live, g * (INLINE + 1));
    this.#lengths[g] = sum.length;
    this.#spilled.delete(g);
  }

  /** The sum, rounded to the nearest double; an infinity if it is out of range. */
  value(g: number): number {
    const huge = this.#huge.get(g);
    if (huge !== undefined) return roundScaled(scaled(huge.live, HUGE_SHIFT) + scaled(this.#partsOf(g), 0n));
    if (this.#lengths[g] !== SPILLED) return round(this.#parts, g * (INLINE + 1), this.#lengths[g]!);
    const sum = this.#spilled.get(g)!;
    return round(sum.parts, 0, sum.length);
  }

  #partsOf(g: number): Float64Array {
    const at = g * (INLINE + 1);
    return this.#spilled.get(g)?.live ?? this.#parts.subarray(at, at + this.#lengths[g]!);
  }

  isZero(g: number): boolean {
    if (this.#huge.size === 0) return this.#lengths[g] === 0;
    const huge = this.#huge.get(g);
    if (huge === undefined) return this.#lengths[g] === 0;
    return scaled(huge.live, HUGE_SHIFT) + scaled(this.#partsOf(g), 0n) === 0n;
  }

  clear(g: number): void {
    this.#lengths[g] = 0;
    this.#huge.delete(g);
    this.#spilled.delete(g);
  }

  addSize(size: StateSize): void {
    addArray(size, this.#parts);
    addArray(size, this.#lengths);
    const outside = (this.#spilled.size + this.#huge.size) * (8 * LONGEST + 64);
    size.used += outside;
    size.allocated += outside;
  }
}

const word = new DataView(new ArrayBuffer(8));

/** The exact sum of doubles in units of 2^-1074, times 2^shift. */
function scaled(parts: Float64Array, shift: bigint): bigint {
  let sum = 0n;
  for (let k = 0; k < parts.length; k++) {
    word.setFloat64(0, parts[k]!);
    const bits = word.getBigUint64(0);
    const exponent = (bits >> 52n) & 0x7ffn;
    const fraction = bits & 0xfffffffffffffn;
    const magnitude = exponent === 0n ? fraction : (fraction | 0x10000000000000n) << (exponent - 1n);
    sum += bits >> 63n === 1n ? -magnitude : magnitude;
  }
  return sum << shift;
}

/** units * 2^-1074 as the nearest double. */
function roundScaled(units: bigint): number {
  const magnitude = units < 0n ? -units : units;
  const length = magnitude.toString(2).length;
  // 64 leading bits, with what is cut folded into the last one, round as the whole does.
  const cut = length > 64 ? BigInt(length - 64) : 0n;
  let lead = magnitude >> cut;
  if (lead << cut !== magnitude) lead |= 1n;
  let v = Number(lead);
  for (let e = Number(cut) - 1074; e !== 0; ) {
    const step = Math.max(-1000, Math.min(1000, e));
    v *= 2 ** step;
    e -= step;
  }
  return units < 0n ? -v : v;
}
