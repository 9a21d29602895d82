/**
 * The hydration limiter of one replica. It stands between the controller and the replica's connection, before commands fan out to
 * workers, so that all workers see the same order. Every command passes in its place but Schedule, which waits for a slot.
 *
 * One slot an object, that is a dataflow with all its exports; it is free when every worker has hydrated all of them, or they were
 * dropped or failed. The first queued object whose imported indexes are hydrated *on this replica* goes, and the others keep
 * their place: a plain queue deadlocks when a view holds the only slot and its index waits behind it.
 *
 * Between two calls, no queued object could go: each waits for an index here, or no slot is free. So a new Schedule is looked
 * at alone, and the whole queue only when an index hydrated, a slot was freed, or the capacity changed.
 */
import { assert } from '../base/assert.ts';
import { type GlobalId, idClass } from '../base/ids.ts';
import type { Command, DataflowDescription, Response } from '../compute/protocol.ts';
import type { StartReason } from '../introspection/lifecycle.ts';
import { EMPTY } from '../time/timestamp.ts';
import { exportIds } from './command-history.ts';

export interface LimiterOptions {
  readonly workers: number;
  /** How many objects may hydrate at once, read at each step; 0 pauses. */
  readonly capacity: () => number;
  readonly nowMs: () => number;
  readonly send: (command: Command) => void;
}

/** Why a queued object has not been scheduled on the replica. */
export interface Queued {
  /** When it came into the queue, in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** The first imported index that is not hydrated here; null: it waits for a slot. */
  readonly waitsFor: GlobalId | null;
  /** What has held a slot for longest; null: the capacity is 0. */
  readonly longestHolder: GlobalId | null;
  readonly capacity: number;
}

interface Limited {
  /** Exports that live, and which workers have hydrated each. */
  readonly exports: Map<GlobalId, Set<number>>;
  readonly indexImports: readonly GlobalId[];
  /** Schedules held back. */
  readonly pending: Map<GlobalId, StartReason>;
  sinceMs: number;
  /** At some step its inputs were there, and no slot was free. */
  waitedForSlot: boolean;
  /** Schedules pass: it went, or needs no slot. */
  isOpen: boolean;
}

export class HydrationLimiter {
  readonly #o: LimiterOptions;
  readonly #byExport = new Map<GlobalId, Limited>();
  /** In order of their Schedules. */
  readonly #queue = new Set<Limited>();
  /** In the order in which they got their slots. */
  readonly #holders = new Set<Limited>();

  constructor(options: LimiterOptions) {
    this.#o = options;
  }

  /** Slots taken: after a reconnect or a lowered capacity it may be more than the capacity. */
  get held(): number {
    return this.#holders.size;
  }

  send(command: Command): void {
    switch (command.kind) {
      case 'createDataflow':
        this.#created(command.dataflow);
        break;
      case 'schedule':
        if (this.#heldBack(command.id, command.waitedOn)) return;
        break;
      case 'allowCompaction':
        this.#o.send(command);
        if (command.frontier === EMPTY) this.#dropped(command.id);
        return;
      default:
        break;
    }
    this.#o.send(command);
  }

  #created(d: DataflowDescription): void {
    const ids = exportIds(d);
    // Queries wait for nobody, nor does what tells about the others.
    if (d.internal === true || ids.some((id) => idClass(id) === 'transient')) return;
    const o: Limited = {
      exports: new Map(ids.map((id) => [id, new Set()])),
      indexImports: d.indexImports.map((i) => i.id),
      pending: new Map(),
      sinceMs: 0,
      waitedForSlot: false,
      isOpen: false,
    };
    for (const id of ids) this.#byExport.set(id, o);
  }

  /** True: the Schedule leaves later. */
  #heldBack(id: GlobalId, reason: StartReason): boolean {
    const o = this.#byExport.get(id);
    if (o === undefined || o.isOpen) return false;
    o.pending.set(id, reason);
    if (!this.#queue.has(o)) {
      o.sinceMs = this.#o.nowMs();
      this.#queue.add(o);
    }
    this.#tryToGo(o);
    return true;
  }

  // ---- What the replica says

  receive(r: Response): void {
    if (r.kind === 'lifecycle') {
      const o = this.#byExport.get(r.id);
      if (o === undefined) return;
      if (r.stage === 'started') this.#started(o);
      if (r.stage === 'hydrated') this.#hydrated(o, r.id, r.worker);
    } else if (r.kind === 'failed') {
      const o = this.#byExport.get(r.id);
      if (o !== undefined) this.#end(o);
    }
  }

  /** It runs already: the replica kept it over a reconnect, or all it reads was there. It gets its Schedule, and a slot if it needs one. */
  #started(o: Limited): void {
    if (o.isOpen) return;
    if (this.#isHydrated(o)) this.#open(o);
    else this.#go(o);
  }

  #hydrated(o: Limited, id: GlobalId, worker: number): void {
    const workers = o.exports.get(id)!;
    workers.add(worker);
    if (this.#isHydrated(o)) this.#end(o);
    else if (workers.size === this.#o.workers) this.step();
  }

  #isHydrated(o: Limited): boolean {
    for (const workers of o.exports.values()) if (workers.size < this.#o.workers) return false;
    return true;
  }

  #dropped(id: GlobalId): void {
    const o = this.#byExport.get(id);
    if (o === undefined) return;
    this.#byExport.delete(id);
    o.exports.delete(id);
    o.pending.delete(id);
    if (o.exports.size === 0 || this.#isHydrated(o)) this.#end(o);
    else this.step();
  }

  /** It needs no slot any more. */
  #end(o: Limited): void {
    this.#open(o);
    this.#holders.delete(o);
    this.step();
  }

  // ---- The queue

  /** Lets go whatever can: the capacity changed, or something became free. */
  step(): void {
    for (const o of [...this.#queue]) this.#tryToGo(o);
  }

  #tryToGo(o: Limited): void {
    if (this.#missingIndex(o) !== null) return;
    if (this.#holders.size < this.#o.capacity()) this.#go(o);
    else o.waitedForSlot = true;
  }

  #go(o: Limited): void {
    this.#holders.add(o);
    this.#open(o);
  }

  #open(o: Limited): void {
    o.isOpen = true;
    this.#queue.delete(o);
    for (const [id, reason] of o.pending)
      this.#o.send({
        kind: 'schedule',
        id,
        waitedOn: o.waitedForSlot ? 'hydration_limit' : reason,
      });
    o.pending.clear();
  }

  /** Logs are complete from the start, and are none of the limiter's objects. */
  #missingIndex(o: Limited): GlobalId | null {
    for (const id of o.indexImports) {
      const hydrated = this.#byExport.get(id)?.exports.get(id);
      if (hydrated !== undefined && hydrated.size < this.#o.workers) return id;
    }
    return null;
  }

  /** Undefined: it is not in the queue. */
  queued(id: GlobalId): Queued | undefined {
    const o = this.#byExport.get(id);
    if (o === undefined || !this.#queue.has(o)) return undefined;
    const capacity = this.#o.capacity();
    const [holder] = this.#holders;
    const [longest] = holder?.exports.keys() ?? [];
    return {
      sinceMs: o.sinceMs,
      waitsFor: this.#missingIndex(o),
      longestHolder: capacity === 0 ? null : (longest ?? null),
      capacity,
    };
  }

  /** Nothing is left of a replica whose objects were dropped. */
  assertEmpty(): void {
    assert(this.#byExport.size === 0, 'no object is left in the limiter');
    assert(this.#queue.size === 0 && this.#holders.size === 0, 'nobody waits for a slot or holds one');
  }
}
