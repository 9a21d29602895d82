/**
 * When a dataflow may start: an export is ready when every dependency is past the as-of and scheduled itself, so that
 * Schedules leave in dependency order. Logs and shards count as scheduled; transients are ready at once.
 */
import type { GlobalId } from '../base/ids.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import type { Frontier } from '../time/timestamp.ts';
import type { Collection } from './collection.ts';

export interface SchedulerOptions {
  readonly collections: ReadonlyMap<GlobalId, Collection>;
  readonly shards: ShardCollections;
  /** The furthest that any replica has got. */
  readonly frontier: (id: GlobalId) => Frontier;
  readonly onReady: (c: Collection) => void;
  /** A shard that it reads went with its object: it will never start. */
  readonly onInputDropped: (c: Collection) => void;
}

export class Scheduler {
  readonly #o: SchedulerOptions;
  /** In order of creation. Two hundred indexes at rest report two hundred frontiers a second: none of them looks at the others. */
  readonly #waiting = new Set<Collection>();

  constructor(options: SchedulerOptions) {
    this.#o = options;
  }

  /** It may have to wait; forgotten once it is no collection any more. */
  add(c: Collection): Collection {
    if (!c.scheduled) this.#waiting.add(c);
    return c;
  }

  /** Looks again at all that waits: on each move of a frontier. */
  step(): void {
    for (let again = this.#waiting.size > 0; again; ) {
      again = false;
      for (const c of this.#waiting) {
        if (this.#o.collections.get(c.id) !== c) {
          this.#waiting.delete(c);
          continue;
        }
        if (c.failure !== undefined) continue;
        // Held by a reader although it and its input were dropped: it will never start, and the reader must hear of it.
        if (this.readsDropped(c)) {
          this.#o.onInputDropped(c);
          continue;
        }
        if (!c.transient && !this.#inputsReady(c)) continue;
        c.scheduled = true;
        this.#waiting.delete(c);
        again = true;
        this.#o.onReady(c);
      }
    }
  }

  readsDropped(c: Collection): boolean {
    const { collections, shards } = this.#o;
    for (const id of c.imports.keys()) if (!collections.has(id) && !shards.has(id)) return true;
    return false;
  }

  #inputsReady(c: Collection): boolean {
    const { collections, shards, frontier } = this.#o;
    for (const id of c.imports.keys()) {
      const input = collections.get(id);
      if (input !== undefined && input.kind !== 'materialized-view') {
        if (!input.scheduled || frontier(id) <= c.asOf) return false;
      } else if (shards.upper(id) <= c.asOf) return false;
    }
    return true;
  }
}
