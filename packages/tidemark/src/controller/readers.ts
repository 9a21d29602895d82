/**
 * Who waits for what has failed: every query, subscribe and copy under way ends as soon as it would wait for ever. Each is asked what it
 * reads, rather than each failure whom it concerns: so it does not matter through what a failure came (an index that went down with
 * another one, a view of another cluster, a replica that was the last to go on), nor when. What is maintained is not a reader: it
 * waits, and goes on when that which it reads does.
 *
 * Cost: a look at all that is under way, only when something may have failed.
 */
import type { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import type { Collection } from './collection.ts';
import type { Failures, KnownFailures } from './failures.ts';
import { GoneError } from './peeks.ts';
import type { Reads } from './reads.ts';
import type { Subscribes } from './subscribes.ts';

export interface ReadersOptions {
  readonly collections: ReadonlyMap<GlobalId, Collection>;
  readonly failures: Failures;
  readonly reads: Reads;
  readonly subscribes: Subscribes;
  /** Readers of other clusters are to be told too. */
  readonly onFailure: (() => void) | undefined;
}

export class Readers {
  readonly #o: ReadersOptions;

  constructor(options: ReadersOptions) {
    this.#o = options;
  }

  /** Something may have failed. */
  tell(): void {
    this.tellOwn();
    this.#o.onFailure?.();
  }

  tellOwn(): void {
    const { collections, failures, reads } = this.#o;
    const known: KnownFailures = new Map();
    for (const c of [...collections.values()]) this.#look(c, known);
    reads.endFailed((id) => failures.of(id, known));
  }

  /** What it reads may have failed before it was there. */
  created(id: GlobalId): void {
    const c = this.#o.collections.get(id);
    if (c !== undefined) this.#look(c, new Map());
  }

  #look(c: Collection, known: KnownFailures): void {
    const failure = c.transient ? this.#o.failures.of(c.id, known) : undefined;
    if (failure !== undefined) this.#fail(c, failure);
  }

  /** A relation that it reads went: it will never go on. */
  inputDropped(c: Collection): void {
    this.#fail(c, new GoneError('a relation that it reads'));
    this.#o.onFailure?.();
  }

  /** With everything that is built over it. */
  #fail(c: Collection, failure: SqlError): void {
    if (c.failure !== undefined) return;
    c.failure = failure;
    const { collections, reads, subscribes } = this.#o;
    subscribes.fail(c.id, failure);
    reads.endTarget(c.outputId, () => failure);
    for (const d of collections.values()) if (d.imports.has(c.outputId)) this.#fail(d, failure);
  }
}
