/**
 * The order of writes and strict reads. A write gets a time greater than all before it; a strict read reads at the
 * greatest time whose write was acknowledged, so it sees every write that anybody has been told of. Times follow
 * the wall clock and never go back, also when the clock does or the process restarts.
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Timestamp } from '../time/timestamp.ts';

export class TimestampOracle {
  readonly #clock: Clock;
  #lastWrite: Timestamp;
  #read: Timestamp;

  /** `initial`: everything before it may have been used by an earlier process. */
  constructor(clock: Clock, initial: Timestamp) {
    this.#clock = clock;
    this.#lastWrite = initial;
    this.#read = initial;
  }

  /** A time for a write; later than every other one given. */
  nextWrite(): Timestamp {
    this.#lastWrite = Math.max(Math.floor(this.#clock.nowMs()), this.#lastWrite + 1);
    return this.#lastWrite;
  }

  /** The write at `ts` is durable, and so are all before it. */
  completed(ts: Timestamp): void {
    assert(ts <= this.#lastWrite, `a completed write at ${ts} was given its time`);
    if (ts > this.#read) this.#read = ts;
  }

  get readTime(): Timestamp {
    return this.#read;
  }
}
