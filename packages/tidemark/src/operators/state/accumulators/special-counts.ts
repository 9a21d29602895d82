/**
 * NaN and the infinities of a sum, counted apart by group: adding them into the sum could not be undone. Few
 * groups have any, so a map holds those that do.
 */
import type { StateSize } from '../state-size.ts';

interface Specials {
  nan: number;
  positive: number;
  negative: number;
}

export class SpecialCounts {
  readonly #groups = new Map<number, Specials>();

  /** `v` is NaN or an infinity. */
  add(g: number, v: number, diff: number): void {
    let s = this.#groups.get(g);
    if (s === undefined) this.#groups.set(g, (s = { nan: 0, positive: 0, negative: 0 }));
    if (Number.isNaN(v)) s.nan += diff;
    else if (v > 0) s.positive += diff;
    else s.negative += diff;
    if (s.nan === 0 && s.positive === 0 && s.negative === 0) this.#groups.delete(g);
  }

  /** What the specials of the group make of its sum: NaN or an infinity, or null when there are none. */
  result(g: number): number | null {
    const s = this.#groups.get(g);
    if (s === undefined) return null;
    if (s.nan > 0 || (s.positive > 0 && s.negative > 0)) return Number.NaN;
    return s.positive > 0 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY;
  }

  isNegative(g: number): boolean {
    const s = this.#groups.get(g);
    return s !== undefined && (s.nan < 0 || s.positive < 0 || s.negative < 0);
  }

  isZero(g: number): boolean {
    return !this.#groups.has(g);
  }

  addSize(size: StateSize): void {
    size.used += this.#groups.size * 64;
    size.allocated += this.#groups.size * 64;
  }
}
