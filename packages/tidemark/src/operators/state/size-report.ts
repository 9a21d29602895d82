/**
 * Tells the arrangement relations about a state: one arrangement of one batch under the operator's id, whose
 * records and bytes follow the state, and its batcher, which is what waits for its time. Only differences are
 * announced, and `retract` takes back all that was.
 */
import type { TraceEvents } from '../../trace/trace-events.ts';
import type { OpenTime } from './open-time.ts';
import { emptySize, type StateSize } from './state-size.ts';

export class SizeReport {
  readonly #events: TraceEvents;
  readonly #operatorId: number;
  #state: StateSize = emptySize();
  #waiting: StateSize = emptySize();
  /** Reused for the next measurement. */
  #spare: StateSize = emptySize();

  constructor(events: TraceEvents, operatorId: number) {
    this.#events = events;
    this.#operatorId = operatorId;
    events.traceShared(operatorId, 1);
    events.batchAdded(operatorId, 0);
  }

  update(time: OpenTime): void {
    const state = cleared(this.#spare);
    time.addSize(state);
    this.#spare = this.#state;
    this.#toState(state);
    const waiting = cleared(this.#spare);
    time.addWaiting(waiting);
    this.#spare = this.#waiting;
    this.#toWaiting(waiting);
  }

  #toState(now: StateSize): void {
    const old = this.#state;
    this.#state = now;
    if (now.records !== old.records) {
      this.#events.batchAdded(this.#operatorId, now.records);
      this.#events.batchDropped(this.#operatorId, old.records);
    }
    const used = now.used - old.used;
    const allocated = now.allocated - old.allocated;
    const buffers = now.buffers - old.buffers;
    if (used !== 0 || allocated !== 0 || buffers !== 0)
      this.#events.heap(this.#operatorId, used, allocated, buffers);
  }

  #toWaiting(now: StateSize): void {
    const old = this.#waiting;
    this.#waiting = now;
    const records = now.records - old.records;
    const used = now.used - old.used;
    const allocated = now.allocated - old.allocated;
    const buffers = now.buffers - old.buffers;
    if (records !== 0 || used !== 0 || allocated !== 0 || buffers !== 0)
      this.#events.batcher(this.#operatorId, records, used, allocated, buffers);
  }

  retract(): void {
    this.#toState(emptySize());
    this.#toWaiting(emptySize());
    this.#events.batchDropped(this.#operatorId, 0);
    this.#events.traceShared(this.#operatorId, -1);
  }
}

function cleared(size: StateSize): StateSize {
  size.records = 0;
  size.used = 0;
  size.allocated = 0;
  size.buffers = 0;
  return size;
}
