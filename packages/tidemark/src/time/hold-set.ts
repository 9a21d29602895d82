/**
 * Read holds as objects: while a hold lives, its collection stays readable at the hold's time. The set knows the least
 * time held; who compacts asks for it. A hold only moves forward, and releasing it twice does nothing.
 */
import { assert } from '../base/assert.ts';
import { EMPTY, type Frontier } from './timestamp.ts';

export class HoldSet {
  /** Times held and how often. Few distinct ones live at once, so the least is found by a scan when it leaves. */
  readonly #counts = new Map<Frontier, number>();
  #least: Frontier = EMPTY;
  readonly #onChange: () => void;

  /** `onChange` runs after the least held time has moved. */
  constructor(onChange: () => void = () => {}) {
    this.#onChange = onChange;
  }

  /** The least time held; empty when nothing is. */
  get least(): Frontier {
    return this.#least;
  }

  get size(): number {
    let n = 0;
    for (const c of this.#counts.values()) n += c;
    return n;
  }

  acquire(since: Frontier): Hold {
    this.#update(since, EMPTY);
    return new Hold(since, (from, to) => this.#update(to, from));
  }

  #update(add: Frontier, remove: Frontier): void {
    if (add !== EMPTY) this.#counts.set(add, (this.#counts.get(add) ?? 0) + 1);
    if (remove !== EMPTY) {
      const n = this.#counts.get(remove)!;
      if (n === 1) this.#counts.delete(remove);
      else this.#counts.set(remove, n - 1);
    }
    let least = EMPTY;
    if (add <= this.#least) least = add;
    for (const t of this.#counts.keys()) if (t < least) least = t;
    if (least === this.#least) return;
    this.#least = least;
    this.#onChange();
  }
}

export class Hold {
  #since: Frontier;
  readonly #move: (from: Frontier, to: Frontier) => void;

  constructor(since: Frontier, move: (from: Frontier, to: Frontier) => void) {
    this.#since = since;
    this.#move = move;
  }

  /** Empty once released. */
  get since(): Frontier {
    return this.#since;
  }

  downgrade(to: Frontier): void {
    assert(to >= this.#since, 'a hold moves forward');
    if (to === this.#since) return;
    const from = this.#since;
    this.#since = to;
    this.#move(from, to);
  }

  release(): void {
    if (this.#since !== EMPTY) this.downgrade(EMPTY);
  }

  [Symbol.dispose](): void {
    this.release();
  }
}
