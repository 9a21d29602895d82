/** Random choices from a seed (xorshift32): what a run does is replayed by its seed, when it does it is not. */
export class Random {
  #state: number;

  constructor(seed: number) {
    this.#state = Math.imul(seed | 0, 0x9e3779b1) | 1;
  }

  /** In [0, n). */
  below(n: number): number {
    this.#state ^= this.#state << 13;
    this.#state ^= this.#state >>> 17;
    this.#state ^= this.#state << 5;
    return (this.#state >>> 0) % n;
  }

  /** In [least, most]. */
  between(least: number, most: number): number {
    return least + this.below(most - least + 1);
  }

  chance(percent: number): boolean {
    return this.below(100) < percent;
  }

  pick<T>(list: readonly T[]): T {
    return list[this.below(list.length)]!;
  }

  /** A generator of its own, so that one writer's pace does not change another's choices. */
  fork(): Random {
    return new Random(this.below(2 ** 31));
  }
}

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
