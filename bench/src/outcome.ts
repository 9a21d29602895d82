/** What a contestant reports of a run. */
export interface Outcome extends Spent {
  readonly answer: readonly string[];
}

export interface Spent {
  /** On the wall. */
  readonly ms: number;
  /** Of all threads of the process, the collector's too. On a shared machine the wall shows the neighbours. */
  readonly cpuMs: number;
  /** The longest time for which the worker's event loop did not turn; of those that have slices. */
  readonly longestSliceMs?: number;
}

export class Clock {
  readonly #start = performance.now();
  readonly #cpu = process.cpuUsage();

  read(): Spent {
    const { user, system } = process.cpuUsage(this.#cpu);
    return { ms: performance.now() - this.#start, cpuMs: (user + system) / 1000 };
  }
}
