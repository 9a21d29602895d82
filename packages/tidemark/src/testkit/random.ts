/** Chance from a seed: xorshift32, the same numbers for the same seed on every machine. */
import type { Random } from '../base/clock.ts';

export class SeededRandom implements Random {
  #s: number;

  constructor(seed: number) {
    this.#s = Math.imul(seed + 1, 0x9e3779b1) | 1;
  }

  next(): number {
    this.#s ^= this.#s << 13;
    this.#s ^= this.#s >>> 17;
    this.#s ^= this.#s << 5;
    return (this.#s >>> 0) / 4294967296;
  }

  below(n: number): number {
    return Math.floor(this.next() * n);
  }

  pick<T>(from: readonly T[]): T {
    return from[this.below(from.length)]!;
  }

  bytes(n: number): Uint8Array {
    return Uint8Array.from({ length: n }, () => this.below(256));
  }

  chance(percent: number): boolean {
    return this.next() * 100 < percent;
  }

  shuffled<T>(list: readonly T[]): T[] {
    const out = [...list];
    for (let i = out.length - 1; i > 0; i--) {
      const j = this.below(i + 1);
      [out[i], out[j]] = [out[j]!, out[i]!];
    }
    return out;
  }
}
