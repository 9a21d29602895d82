/** One timer for many wishes: it comes at the earliest of them, and then waits for the next wish. */
import type { CancelTimer, Clock, Timers } from '../base/clock.ts';

export class EarliestTimer {
  readonly #clock: Clock;
  readonly #timers: Timers;
  readonly #f: () => void;
  #dueNs = Number.POSITIVE_INFINITY;
  #cancel: CancelTimer | null = null;

  constructor(options: { readonly clock: Clock; readonly timers: Timers; readonly f: () => void }) {
    this.#clock = options.clock;
    this.#timers = options.timers;
    this.#f = options.f;
  }

  within(ms: number): void {
    const dueNs = this.#clock.monotonicNs() + ms * 1e6;
    if (dueNs >= this.#dueNs || ms === Number.POSITIVE_INFINITY) return;
    this.cancel();
    this.#dueNs = dueNs;
    this.#cancel = this.#timers.after(ms, () => {
      this.cancel();
      this.#f();
    });
  }

  cancel(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#dueNs = Number.POSITIVE_INFINITY;
  }
}
