/**
 * The order of writes and strict reads. A write gets a time greater than all before it; a strict read reads at the
 * greatest time whose write was acknowledged, so it sees every write that anybody has been told of. Times follow
 * the wall clock and never go back, also when the clock does or the process restarts.
 *
 * A process that stands by writes what is in its own memory, at times of its own, and reads everything durable at the newest
 * time that it knows to be complete there.
 */
import { assert } from '../base/assert.ts';
import type { Clock } from '../base/clock.ts';
import type { Timestamp } from '../time/timestamp.ts';

export class TimestampOracle {
  readonly #clock: Clock;
  #lastWrite: Timestamp;
  #read: Timestamp;
  /** How far the leader is known to have got; null: this process leads. */
  #followed: Timestamp | null = null;

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

  /** The leader's times before and at `ts` are complete. */
  follow(ts: Timestamp): void {
    if (ts > (this.#followed ?? -1)) this.#followed = ts;
  }

  /** From the next write on this process leads: its times are later than `ts`, the last one of the leader before it. */
  leadAfter(ts: Timestamp): void {
    this.#lastWrite = Math.max(this.#lastWrite, ts);
  }

  /** The first write of its own is durable. */
  leads(): void {
    this.#followed = null;
  }

  get readTime(): Timestamp {
    return this.#followed ?? this.#read;
  }

  /** Of what this process alone writes; the same as `readTime` where it leads. */
  get ownReadTime(): Timestamp {
    return this.#read;
  }
}
