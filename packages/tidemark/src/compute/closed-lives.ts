/**
 * Lives that ended on this worker and that the history may not hold yet: each is told once when it ends, and again after every hello
 * until it is acknowledged, with the stages that were told while it lived. A connection that broke between a DROP and its answer
 * loses nothing.
 *
 * Only lives of users' objects: nobody keeps a history of queries, and a message for each would cost every query one.
 *
 * Bounded: an environment that stays away does not cost memory without end. Past the bound the oldest go, and every later
 * one says how many did.
 */
import { assert } from '../base/assert.ts';
import { type GlobalId, idClass } from '../base/ids.ts';
import type { LifeClosedResponse, LifecycleResponse, Response } from './protocol.ts';

export interface ClosedLivesOptions {
  readonly worker: number;
  readonly send: (response: Response) => void;
  /** Lives kept, at about 1 kB each. */
  readonly limit?: number;
}

/** A life as it ends. */
export interface EndedLife {
  readonly id: GlobalId;
  readonly told: readonly LifecycleResponse[];
  readonly peakBytes: number;
}

const LIMIT = 10_000;

export class ClosedLives {
  readonly #o: ClosedLivesOptions;
  readonly #kept = new Map<number, LifeClosedResponse>();
  #sequence = 0;
  #cut = 0;

  constructor(options: ClosedLivesOptions) {
    this.#o = options;
  }

  get size(): number {
    return this.#kept.size;
  }

  close({ id, told, peakBytes }: EndedLife): void {
    if (idClass(id) !== 'user') return;
    const [installed] = told;
    assert(installed?.stage === 'installed', `the life of ${id} began with its installation`);
    if (this.#kept.size >= (this.#o.limit ?? LIMIT)) {
      const [oldest] = this.#kept.keys();
      this.#kept.delete(oldest!);
      this.#cut++;
    }
    const closed: LifeClosedResponse = {
      kind: 'lifeClosed',
      worker: this.#o.worker,
      id,
      sequence: ++this.#sequence,
      life: installed.life,
      installedAt: installed.occurredAt,
      asOf: installed.asOf,
      peakBytes,
      stages: told,
      cut: this.#cut,
    };
    this.#kept.set(closed.sequence, closed);
    this.#o.send(closed);
  }

  /** The history holds them up to and with this one. */
  acknowledged(sequence: number): void {
    for (const s of this.#kept.keys()) {
      if (s > sequence) return;
      this.#kept.delete(s);
    }
  }

  repeat(): void {
    for (const closed of this.#kept.values()) this.#o.send({ ...closed, cut: this.#cut });
  }
}
