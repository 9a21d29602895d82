/**
 * Dataflows that ended on a host error (an unreadable part, a full disk). On the replica where it happened the dataflow, and whatever
 * reads it through its index, is dropped and created again after a pause that doubles up to half a minute: a new episode.
 * An object has failed for its readers when it has on every replica that is connected, or when something that it reads has.
 * Until it is created again they are told; once it is hydrated, the pause starts over.
 */
import type { CancelTimer, Timers } from '../base/clock.ts';
import type { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { Collection } from './collection.ts';
import type { Replica } from './replica.ts';

const FIRST_PAUSE_MS = 500;
const LONGEST_PAUSE_MS = 30_000;

/** An error that ended an episode; kept until a later one is hydrated. */
export interface EpisodeFailure {
  readonly error: SqlError;
  readonly atMs: number;
}

/** What one look has found so far, over all clusters that it came through. */
export type KnownFailures = Map<GlobalId, SqlError | undefined>;

interface Retry extends EpisodeFailure {
  readonly pauseMs: number;
  readonly cancel: CancelTimer;
}

export interface FailuresOptions {
  readonly collections: ReadonlyMap<GlobalId, Collection>;
  readonly replicas: ReadonlyMap<ReplicaId, Replica>;
  readonly timers: Timers;
  readonly nowMs: () => number;
  /** Of what the cluster does not maintain and reads from its shard: why whoever reads it would wait for ever. */
  readonly elsewhere: (id: GlobalId, known: KnownFailures) => SqlError | undefined;
  /** Drops and creates them on the replica, in this order of creation. */
  readonly rebuild: (replica: Replica, ids: readonly GlobalId[]) => void;
}

export class Failures {
  readonly #o: FailuresOptions;
  readonly #retries = new Map<ReplicaId, Map<GlobalId, Retry>>();

  constructor(options: FailuresOptions) {
    this.#o = options;
  }

  /** Why readers of the object would wait for ever. */
  of(id: GlobalId, known: KnownFailures = new Map()): SqlError | undefined {
    if (known.has(id)) return known.get(id);
    const c = this.#o.collections.get(id);
    let failure = c === undefined ? this.#o.elsewhere(id, known) : (c.failure ?? this.#onAllReplicas(c));
    for (const input of c?.imports.keys() ?? []) failure ??= this.of(input, known);
    known.set(id, failure);
    return failure;
  }

  #onAllReplicas(c: Collection): SqlError | undefined {
    let failure: SqlError | undefined;
    for (const r of this.#o.replicas.values()) {
      if (!maintains(r, c)) continue;
      const here = r.failures.get(c.id);
      if (here === undefined) return undefined;
      failure ??= here;
    }
    return failure;
  }

  /** The last episode there ended so, and none since is hydrated. */
  onReplica(replicaId: ReplicaId, id: GlobalId): EpisodeFailure | undefined {
    return this.#retries.get(replicaId)?.get(id);
  }

  /** Gives what goes down with it on the replica. */
  add(replica: Replica, id: GlobalId, error: SqlError): readonly GlobalId[] {
    const down = this.#withImporters(id);
    for (const d of down) replica.failures.set(d, error);
    let retries = this.#retries.get(replica.id);
    if (retries === undefined) this.#retries.set(replica.id, (retries = new Map()));
    const before = retries.get(id);
    before?.cancel();
    const pauseMs = before === undefined ? FIRST_PAUSE_MS : Math.min(2 * before.pauseMs, LONGEST_PAUSE_MS);
    const cancel = this.#o.timers.after(pauseMs, () => this.#retry(replica, id));
    retries.set(id, { error, atMs: this.#o.nowMs(), pauseMs, cancel });
    return down;
  }

  /** Where an index that it reads has failed, it goes down with it, and comes back with it. */
  created(c: Collection): void {
    for (const r of this.#o.replicas.values())
      for (const i of c.indexImports) {
        const failure = r.failures.get(i);
        if (failure !== undefined && maintains(r, c)) r.failures.set(c.id, failure);
      }
  }

  #retry(replica: Replica, id: GlobalId): void {
    // It went down with another one meanwhile, and was created again with that.
    if (replica.failures.has(id)) this.#o.rebuild(replica, this.#withImporters(id));
  }

  /** Through their indexes: who reads a shard waits for it. In order of creation. */
  #withImporters(id: GlobalId): readonly GlobalId[] {
    const down = new Set([id]);
    for (const c of this.#o.collections.values()) if (c.indexImports.some((i) => down.has(i))) down.add(c.id);
    return [...down];
  }

  /** An episode that has failed on one worker may still be hydrated on the others: that heals nothing. */
  hydrated(replica: Replica, id: GlobalId): void {
    if (!replica.failures.has(id)) this.#forget(this.#retries.get(replica.id), id);
  }

  forget(id: GlobalId): void {
    for (const retries of this.#retries.values()) this.#forget(retries, id);
  }

  #forget(retries: Map<GlobalId, Retry> | undefined, id: GlobalId): void {
    retries?.get(id)?.cancel();
    retries?.delete(id);
  }

  forgetReplica(id: ReplicaId): void {
    for (const r of this.#retries.get(id)?.values() ?? []) r.cancel();
    this.#retries.delete(id);
  }
}

/** Whether a replica has the collection: most are on all of them. */
export const maintains = (r: Replica, c: Collection): boolean =>
  c.replicaId === undefined || c.replicaId === r.id;
