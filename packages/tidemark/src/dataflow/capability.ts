/**
 * Permission to send. Holding a capability at time t keeps the operator's output frontier at or below t and lets
 * it send batches whose times are all at least t. There is no other way to send, and disposing or downgrading is
 * the only way time moves on. One capability covers all outputs of its operator.
 */
import { assert } from '../base/assert.ts';
import { EMPTY, type Frontier, type Timestamp } from '../time/timestamp.ts';

export interface CapabilityHolder {
  capabilityAdded(c: Capability): void;
  capabilityRemoved(c: Capability): void;
  /** A capability moved: the output frontier has to be computed anew. */
  capabilityMoved(): void;
}

export class Capability {
  readonly #holder: CapabilityHolder;
  #time: Frontier;

  constructor(holder: CapabilityHolder, time: Timestamp) {
    this.#holder = holder;
    this.#time = time;
    if (time !== EMPTY) holder.capabilityAdded(this);
  }

  /** EMPTY once disposed. */
  get time(): Frontier {
    return this.#time;
  }

  /** Another one, at a later or equal time; at EMPTY it is one that is already disposed. */
  delayed(time: Frontier): Capability {
    assert(time >= this.#time, `a capability at ${this.#time} is delayed to ${time}`);
    return new Capability(this.#holder, time);
  }

  downgrade(time: Frontier): void {
    assert(time >= this.#time, `a capability at ${this.#time} is downgraded to ${time}`);
    if (time === this.#time) return;
    if (time === EMPTY) this.#holder.capabilityRemoved(this);
    this.#time = time;
    this.#holder.capabilityMoved();
  }

  dispose(): void {
    if (this.#time !== EMPTY) this.downgrade(EMPTY);
  }

  belongsTo(holder: CapabilityHolder): boolean {
    return this.#holder === holder;
  }
}
