/**
 * Drives a rule through time. The state is the one at a single open time: rows at it are absorbed as they come, so
 * that hydration is spread over the slices in which a snapshot arrives; later rows wait in a stash. When the input
 * frontier passes the open time, the rule emits its changes at that time, and the next time that has something
 * opens. History is not kept: who wants it arranges the output.
 *
 * Assumes of its input: no row has a time before the input frontier. Promises: no row is emitted at a time before
 * `held`, every change exactly once, whatever the batches and the fuel.
 */
import { assert } from '../../base/assert.ts';
import { type Batch, gatherBatch, sliceBatch } from '../../repr/batch.ts';
import { EMPTY, type Frontier, MIN_TIME, meet } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import { MAX_ABSORB, type RuleOutput, type StateRule } from './state-rule.ts';
import type { StateSize } from './state-size.ts';
import { TimeStash } from './time-stash.ts';

export class OpenTime {
  readonly #rule: StateRule;
  readonly #stash = new TimeStash();
  #frontier: Frontier = MIN_TIME;
  /** The state is that of this time; it is at most the frontier while something is pending. */
  #open: Frontier = MIN_TIME;
  /** Rows at the open time that are not absorbed yet, the first one from `#from` on. */
  #ready: Batch[] = [];
  #from = 0;
  #flushing = false;

  constructor(rule: StateRule) {
    this.#rule = rule;
  }

  /** The least time at which something may still be emitted on account of what has come; empty for none. */
  get held(): Frontier {
    if (this.#ready.length > 0 || this.#rule.pending) return this.#open;
    return this.#stash.minTime;
  }

  /** Takes a batch in; returns how many of its rows were set aside for later. */
  push(batch: Batch): number {
    const before = this.#stash.rows;
    if (batch.length > 0) this.#push(batch);
    return this.#stash.rows - before;
  }

  #push(batch: Batch): void {
    const { times } = batch;
    if (typeof times === 'number') {
      this.#expect(times);
      if (times === this.#open) this.#ready.push(batch);
      else this.#stash.add(batch);
      return;
    }
    let least = EMPTY;
    let most = MIN_TIME;
    for (let i = 0; i < batch.length; i++) {
      if (times[i]! < least) least = times[i]!;
      if (times[i]! > most) most = times[i]!;
    }
    this.#expect(least);
    if (least === most) this.#push({ ...batch, times: least });
    else if (least !== this.#open) this.#stash.add(batch);
    else this.#split(batch, times);
  }

  #expect(time: number): void {
    assert(time >= this.#frontier, `a row at ${time} comes after the frontier ${this.#frontier}`);
  }

  #split(batch: Batch, times: Float64Array): void {
    const now = new Int32Array(batch.length);
    const later = new Int32Array(batch.length);
    let a = 0;
    let b = 0;
    for (let i = 0; i < batch.length; i++)
      if (times[i] === this.#open) now[a++] = i;
      else later[b++] = i;
    this.#ready.push({ ...gatherBatch(batch, now, a), times: this.#open });
    this.#stash.add(gatherBatch(batch, later, b));
  }

  /** Everything before `frontier` has come. */
  advance(frontier: Frontier): void {
    assert(frontier >= this.#frontier, `an input frontier goes from ${this.#frontier} to ${frontier}`);
    this.#frontier = frontier;
  }

  /** Nothing waits and nothing is to be emitted: to work would do no more than open the frontier. */
  get isIdle(): boolean {
    return !this.#flushing && this.held === EMPTY;
  }

  /** Works until nothing can be done (true) or the fuel is spent. */
  work(fuel: Fuel, output: RuleOutput): boolean {
    for (;;) {
      if (!this.#flushing) {
        this.#openNext();
        if (!this.#absorb(fuel)) return false;
        if (this.#open >= this.#frontier) return true;
        if (!this.#rule.pending) {
          this.#open = meet(this.#stash.minTime, this.#frontier);
          continue;
        }
        this.#flushing = true;
      }
      if (fuel.exhausted || !this.#rule.flush(this.#open, output, fuel)) return false;
      this.#flushing = false;
    }
  }

  /** Moves what waits for the open time out of the stash. */
  #openNext(): void {
    while (this.#stash.minTime === this.#open && this.#open !== EMPTY) this.#ready.push(this.#stash.take());
  }

  #absorb(fuel: Fuel): boolean {
    while (this.#ready.length > 0) {
      if (fuel.exhausted) return false;
      const batch = this.#ready[0]!;
      const rows = fuel.portion(Math.min(MAX_ABSORB, batch.length - this.#from));
      const to = this.#from + Math.floor(rows);
      this.#rule.absorb(sliceBatch(batch, this.#from, to));
      fuel.spend(to - this.#from);
      this.#from = to;
      if (to === batch.length) {
        this.#ready.shift();
        this.#from = 0;
      }
    }
    return true;
  }

  addSize(size: StateSize): void {
    this.#rule.addSize(size);
  }

  /** What waits: rows that are in no state yet. */
  addWaiting(size: StateSize): void {
    this.#stash.addSize(size);
  }
}
