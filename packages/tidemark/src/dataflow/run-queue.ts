/** Operators in the order of their activation. */
import { assert } from '../base/assert.ts';
import type { Random } from '../base/clock.ts';
import type { Operator } from './operator.ts';

/** Taken entries are let go of once there are so many. */
const COMPACT_AT = 1024;

export class RunQueue {
  #ops: Operator[] = [];
  #head = 0;

  get size(): number {
    return this.#ops.length - this.#head;
  }

  push(op: Operator): void {
    this.#ops.push(op);
  }

  /** The first, or one drawn by `random`. */
  take(random?: Random): Operator {
    assert(this.size > 0, 'an operator is taken from a queue that has one');
    if (random !== undefined) {
      const at = this.#head + Math.floor(random.next() * this.size);
      const op = this.#ops[at]!;
      this.#ops[at] = this.#ops[this.#head]!;
      this.#ops[this.#head] = op;
    }
    const op = this.#ops[this.#head++]!;
    if (this.#head === this.#ops.length) {
      this.#ops = [];
      this.#head = 0;
    } else if (this.#head === COMPACT_AT) {
      this.#ops = this.#ops.slice(COMPACT_AT);
      this.#head = 0;
    }
    return op;
  }
}
