/**
 * When rows that change all the time are committed: the first change after a quiet time at once, later ones together, since each commit
 * moves the clock of all tables. One commit at a time; one that failed is made again, with what is wanted by then.
 */
import type { CancelTimer, Timers } from '../base/clock.ts';

export interface CommitPaceOptions {
  readonly timers: Timers;
  /** Commits what waits, and says whether it is durable; null: nothing waits. Never rejects. */
  readonly commit: () => Promise<boolean> | null;
}

/** Between two commits: five in a second add little to the tick of the tables. */
const PAUSE_MS = 200;
/** Before a commit that failed is made again. */
const RETRY_MS = 1000;

export class CommitPace {
  readonly #o: CommitPaceOptions;
  #running: Promise<void> | null = null;
  #cancelPause: CancelTimer | null = null;
  #closed = false;

  constructor(options: CommitPaceOptions) {
    this.#o = options;
  }

  /** Something may wait. */
  wake(): void {
    if (this.#closed || this.#running !== null || this.#cancelPause !== null) return;
    const running = this.#o.commit();
    if (running !== null) this.#running = running.then((done) => this.#pause(done ? PAUSE_MS : RETRY_MS));
  }

  #pause(ms: number): void {
    this.#running = null;
    if (this.#closed) return;
    this.#cancelPause = this.#o.timers.after(ms, () => {
      this.#cancelPause = null;
      this.wake();
    });
  }

  /** Begins no commit any more; resolves once the one under way has ended. */
  async close(): Promise<void> {
    this.#closed = true;
    this.#cancelPause?.();
    this.#cancelPause = null;
    await this.#running;
  }
}
