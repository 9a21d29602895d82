/**
 * A cluster: the dataflows that its replicas maintain, and everything that the environment decides about them. It holds
 * imports readable, schedules dataflows in dependency order, lets indexes compact, runs peeks, and brings a new replica to
 * the present from the command history. It does no I/O: commands go out through connections, time comes in.
 */
import { assert } from '../base/assert.ts';
import type { Clock, Logger } from '../base/clock.ts';
import { type ErrorCode, SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type {
  Command,
  DataflowDescription,
  PeekCommand,
  ReplicaConnection,
  Response,
  Tunables,
} from '../compute/protocol.ts';
import { PROTOCOL_VERSION } from '../compute/protocol.ts';
import type { LoggingConfig } from '../introspection/logging-config.ts';
import type { Batch } from '../repr/batch.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import { type Hold, HoldSet } from '../time/hold-set.ts';
import { EMPTY, type Frontier, MIN_TIME, meet } from '../time/timestamp.ts';
import type { Collection } from './collection.ts';
import { CommandHistory, exportIds, exportsOf } from './history.ts';
import { Lives } from './lives.ts';
import { canceled, GoneError, Peeks } from './peeks.ts';
import { Replica } from './replica.ts';
import { Scheduler } from './scheduler.ts';

/** An index stays readable this long behind the lesser of its upper and now. */
export const COMPACTION_LAG_MS = 1000;

export interface InstanceOptions {
  readonly clusterId: ClusterId;
  readonly shards: ShardCollections;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly logging: LoggingConfig;
  readonly tunables: Tunables;
  readonly generation: number;
  /** Number of this start of the environment. */
  readonly start: number;
  readonly uuid: () => string;
  /** A replica ended by itself; its peeks have failed already. */
  readonly onReplicaLost: (replicaId: ReplicaId, reason: string) => void;
  /** A dataflow ended on a host error. */
  readonly onFailed?: (id: GlobalId, error: { code: string; message: string }) => void;
  /** A collection's frontier moved. */
  readonly onFrontier?: (id: GlobalId, write: Frontier) => void;
}

export interface PeekOptions extends Omit<PeekCommand, 'kind' | 'uuid'> {
  readonly replicaId?: ReplicaId;
  readonly signal?: AbortSignal;
}

export class ComputeInstance {
  readonly clusterId: ClusterId;
  readonly lives: Lives = new Lives();
  readonly #o: InstanceOptions;
  readonly #history = new CommandHistory();
  readonly #replicas = new Map<ReplicaId, Replica>();
  readonly #collections = new Map<GlobalId, Collection>();
  readonly #peeks = new Peeks();
  readonly #scheduler: Scheduler;
  readonly #stopUppers: () => void;

  constructor(options: InstanceOptions) {
    this.#o = options;
    this.clusterId = options.clusterId;
    this.#scheduler = new Scheduler({
      collections: this.#collections,
      shards: options.shards,
      frontier: (id) => this.writeFrontier(id),
      onReady: (c) => this.#send({ kind: 'schedule', id: c.id, waitedOn: 'inputs_available' }),
      onInputDropped: (c) => this.#fail(c, inputDropped()),
    });
    this.#stopUppers = options.shards.onUpper(() => this.#scheduler.step());
    this.#send({
      kind: 'hello',
      nonce: options.uuid(),
      version: PROTOCOL_VERSION,
      generation: options.generation,
      start: options.start,
    });
    this.#send({ kind: 'createInstance', logging: options.logging, tunables: options.tunables });
    for (const { id } of options.logging.indexes) {
      // Logs are installed and started by the instance itself; no Schedule is ever sent for them.
      this.#collections.set(
        id,
        this.#collection({
          id,
          kind: 'log',
          transient: false,
          asOf: MIN_TIME,
          imports: new Map(),
          scheduled: true,
        }),
      );
    }
    this.#send({ kind: 'initializationComplete' });
  }

  #collection(
    c: Pick<Collection, 'id' | 'kind' | 'transient' | 'asOf' | 'imports' | 'scheduled'>,
  ): Collection {
    return {
      ...c,
      holds: new HoldSet(() => this.#compact(c.id)),
      since: c.asOf,
      failure: undefined,
      dropped: false,
    };
  }

  #send(command: Command): void {
    this.#history.record(command);
    for (const r of this.#replicas.values()) r.connection.send(command);
  }

  // ---- Replicas

  get replicas(): readonly Replica[] {
    return [...this.#replicas.values()];
  }

  addReplica(id: ReplicaId, connection: ReplicaConnection): void {
    assert(!this.#replicas.has(id), `replica ${id} is added once`);
    const replica = new Replica(id, connection);
    this.#replicas.set(id, replica);
    connection.onResponse = (r) => {
      // Responses of a connection that was replaced are of an earlier life.
      if (this.#replicas.get(id) === replica) this.#receive(replica, r);
    };
    connection.onLost = (reason) => {
      if (this.#replicas.get(id) !== replica) return;
      this.#forgetReplica(id, () => new SqlError('system_error', `replica ${id} was lost: ${reason}`));
      this.#o.onReplicaLost(id, reason);
    };
    // What ended on a host error is built anew.
    for (const c of this.#collections.values()) c.failure = undefined;
    // A read is one replica's; when that is lost the read has failed.
    for (const command of this.#history.replay()) if (command.kind !== 'peek') connection.send(command);
  }

  async removeReplica(id: ReplicaId): Promise<void> {
    const replica = this.#replicas.get(id);
    if (replica === undefined) return;
    this.#forgetReplica(
      id,
      () => new SqlError('object_not_in_prerequisite_state', `replica ${id} was dropped`),
    );
    await replica.connection.close();
  }

  #forgetReplica(id: ReplicaId, error: () => Error): void {
    this.#replicas.delete(id);
    this.lives.forgetReplica(id);
    for (const uuid of this.#peeks.failAll((p) => p.replicaId === id, error)) this.#history.peekDone(uuid);
  }

  #receive(replica: Replica, r: Response): void {
    switch (r.kind) {
      case 'frontiers':
        if (!this.#collections.has(r.id)) return;
        replica.receive(r);
        this.#frontierMoved(r.id);
        return;
      case 'lifecycle':
        // A dropped index may go on for its importers; to readers its life ended with its drop.
        if (this.#collections.get(r.id)?.dropped === false) this.lives.receive(replica.id, r);
        return;
      case 'peekResponse':
        if (this.#peeks.receive(replica.id, r)) this.#history.peekDone(r.uuid);
        return;
      case 'failed':
        this.#failed(r.id, r);
        return;
      case 'status':
        this.#o.logger.info({ replica: replica.id, worker: r.worker }, r.message);
        return;
      case 'hello':
        return;
    }
  }

  /** A dataflow ended on a host error: whoever reads it is told, now and later. */
  #failed(id: GlobalId, e: { readonly code: string; readonly message: string }): void {
    const c = this.#collections.get(id);
    if (c === undefined) return;
    if (this.#scheduler.readsDropped(c)) return this.#fail(c, inputDropped());
    this.#fail(c, new SqlError(e.code as ErrorCode, e.message));
    this.#o.onFailed?.(id, e);
  }

  /**
   * A view of another cluster, read here from its shard, will not go on: queries that wait for it are told. What is
   * maintained waits, for the view may come back with its replica.
   */
  inputFailed(id: GlobalId, failure: SqlError): void {
    for (const c of this.#collections.values()) if (c.transient && c.imports.has(id)) this.#fail(c, failure);
    for (const uuid of this.#peeks.failAll(
      (p) => p.command.target.id === id,
      () => failure,
    ))
      this.cancel(uuid);
  }

  /** With everything that is built over it: it would wait for ever. */
  #fail(c: Collection, failure: SqlError): void {
    if (c.failure !== undefined) return;
    c.failure = failure;
    for (const uuid of this.#peeks.failAll(
      (p) => p.command.target.id === c.id,
      () => failure,
    ))
      this.cancel(uuid);
    for (const d of this.#collections.values()) if (d.imports.has(c.id)) this.#fail(d, failure);
  }

  // ---- Collections

  hasCollection(id: GlobalId): boolean {
    return this.#collections.has(id);
  }

  /** The furthest that any replica has got. */
  writeFrontier(id: GlobalId): Frontier {
    const c = this.#get(id);
    if (c.kind === 'materialized-view') return this.#o.shards.upper(id);
    let f = MIN_TIME;
    for (const r of this.#replicas.values()) f = Math.max(f, r.write(id));
    return f;
  }

  /** How far one replica has got: what a read of a log must use, for replicas differ. */
  replicaFrontier(replicaId: ReplicaId, id: GlobalId): Frontier {
    return this.#replicas.get(replicaId)?.write(id) ?? MIN_TIME;
  }

  since(id: GlobalId): Frontier {
    return this.#get(id).since;
  }

  #get(id: GlobalId): Collection {
    const c = this.#collections.get(id);
    assert(c !== undefined, `collection ${id} exists in cluster ${this.clusterId}`);
    return c;
  }

  /** Keeps an index readable at `at`, its present since if absent. */
  hold(id: GlobalId, at?: Frontier): Hold {
    const c = this.#get(id);
    const t = at ?? c.since;
    assert(t >= c.since, `a hold on ${id} at ${t} is not before its since ${c.since}`);
    return c.holds.acquire(t);
  }

  /** Creates it, holds its imports at the as-of, and schedules it as soon as its inputs are there. */
  createDataflow(dataflow: DataflowDescription): void {
    const { asOf } = dataflow;
    const holds = (): Map<GlobalId, Hold> =>
      new Map([
        ...dataflow.shardImports.map((i) => [i.id, this.#o.shards.hold(i.id, asOf)] as const),
        ...dataflow.indexImports.map((i) => [i.id, this.hold(i.id, i.frozenAt ?? asOf)] as const),
      ]);
    for (const { id, kind } of exportsOf(dataflow)) {
      assert(!this.#collections.has(id), `export ${id} is created once`);
      const c = this.#collection({
        id,
        kind,
        transient: id.startsWith('t'),
        asOf,
        imports: holds(),
        scheduled: false,
      });
      this.#collections.set(id, c);
    }
    this.#send({ kind: 'createDataflow', dataflow });
    const failure = [...dataflow.shardImports, ...dataflow.indexImports]
      .map((i) => this.failure(i.id))
      .find((f) => f !== undefined);
    if (failure !== undefined) for (const id of exportIds(dataflow)) this.#fail(this.#get(id), failure);
    this.#scheduler.step();
  }

  allowWrites(id: GlobalId): void {
    this.#send({ kind: 'allowWrites', id });
  }

  /**
   * Drops exports. The catalog's object is gone at once; the export itself ends when its last reader does, for a
   * dataflow that imports an index needs it.
   */
  drop(ids: readonly GlobalId[]): void {
    for (const id of ids) {
      const c = this.#collections.get(id);
      if (c === undefined || c.dropped) continue;
      c.dropped = true;
      this.lives.forget(id);
      const gone = () => new GoneError(`the object that was read (${id})`);
      for (const uuid of this.#peeks.failAll((p) => p.command.target.id === id, gone)) this.cancel(uuid);
      this.#compact(id);
    }
  }

  #end(c: Collection): void {
    this.#collections.delete(c.id);
    this.#send({ kind: 'allowCompaction', id: c.id, frontier: EMPTY });
    for (const r of this.#replicas.values()) r.forget(c.id);
    for (const h of c.imports.values()) h.release();
  }

  /** Moves a collection's since as far as its policy and its readers allow, and its own holds with it. */
  #compact(id: GlobalId): void {
    const c = this.#collections.get(id);
    if (c === undefined) return;
    if (c.dropped) {
      if (c.holds.least === EMPTY) this.#end(c);
      return;
    }
    if (c.transient) return;
    const upper = this.writeFrontier(id);
    // A view with a refresh schedule is complete beyond what its inputs are: it would begin anew in the future.
    const policy =
      c.kind === 'materialized-view'
        ? upper === EMPTY
          ? EMPTY
          : meet(upper, this.#inputFrontier(c)) - 1
        : Math.min(upper, this.#o.clock.nowMs()) - COMPACTION_LAG_MS;
    const since = Math.floor(meet(policy, c.holds.least));
    if (since === EMPTY) {
      // A sealed view needs its inputs no more; keeping the holds would pin their compaction for ever.
      for (const h of c.imports.values()) h.release();
      return;
    }
    if (since <= c.since) return;
    c.since = since;
    this.#send({ kind: 'allowCompaction', id, frontier: since });
    for (const h of c.imports.values()) if (h.since < since) h.downgrade(since);
  }

  #inputFrontier(c: Collection): Frontier {
    let f = EMPTY;
    for (const id of c.imports.keys())
      f = meet(f, this.#collections.has(id) ? this.writeFrontier(id) : this.#o.shards.upper(id));
    return f;
  }

  #frontierMoved(id: GlobalId): void {
    this.#scheduler.step();
    this.#o.onFrontier?.(id, this.writeFrontier(id));
  }

  /** Once a second: lets collections compact. */
  maintain(): void {
    for (const id of [...this.#collections.keys()]) this.#compact(id);
  }

  /** What a collection reads and from when: how far each input is on one replica, where it is an index there. */
  reading(
    id: GlobalId,
    replicaId: ReplicaId,
  ): {
    readonly asOf: number;
    readonly inputs: readonly { readonly id: GlobalId; readonly frontier: Frontier }[];
  } | null {
    const c = this.#collections.get(id);
    if (c === undefined) return null;
    const inputs = [...c.imports.keys()].flatMap((input) => {
      const own = this.#collections.get(input);
      if (own !== undefined && own.kind !== 'materialized-view')
        return [{ id: input, frontier: this.replicaFrontier(replicaId, input) }];
      return this.#o.shards.has(input) ? [{ id: input, frontier: this.#o.shards.upper(input) }] : [];
    });
    return { asOf: c.asOf, inputs };
  }

  failure(id: GlobalId): SqlError | undefined {
    return this.#collections.get(id)?.failure;
  }

  // ---- Peeks

  /** Rows with multiplicities as diffs, finished. The target stays held at the timestamp meanwhile. */
  async peek(options: PeekOptions): Promise<Batch> {
    const { replicaId, signal, ...request } = options;
    if (signal?.aborted) throw canceled();
    const replica = replicaId === undefined ? this.replicas[0] : this.#replicas.get(replicaId);
    if (replica === undefined) throw noReplica(replicaId);
    const command: PeekCommand = { kind: 'peek', uuid: this.#o.uuid(), ...request };
    const { target, timestamp } = command;
    const { failure } = this.#collections.get(target.id) ?? {};
    if (failure !== undefined) throw failure;
    const hold =
      target.kind === 'index' ? this.hold(target.id, timestamp) : this.#o.shards.hold(target.id, timestamp);
    const rows = this.#peeks.start(command, replica.id, replica.workers);
    const onAbort = () => {
      this.#peeks.fail(command.uuid, canceled());
      this.cancel(command.uuid);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      this.#history.record(command);
      replica.connection.send(command);
      return await rows;
    } finally {
      signal?.removeEventListener('abort', onAbort);
      hold.release();
    }
  }

  cancel(uuid: string): void {
    this.#send({ kind: 'cancelPeek', uuid });
  }

  // ---- End

  /** What is left: for tests and for the teardown check. */
  get live(): { collections: number; peeks: number; history: number } {
    const own = [...this.#collections.values()].filter((c) => c.kind !== 'log').length;
    return { collections: own, peeks: this.#peeks.size, history: this.#history.size };
  }

  async close(): Promise<void> {
    this.#stopUppers();
    const ids = [...this.#replicas.keys()];
    for (const id of ids) await this.removeReplica(id);
    for (const c of this.#collections.values()) for (const h of c.imports.values()) h.release();
  }
}

const inputDropped = (): SqlError => new GoneError('a relation that it reads');

function noReplica(wanted: ReplicaId | undefined): SqlError {
  if (wanted !== undefined)
    return new SqlError('object_not_in_prerequisite_state', `replica ${wanted} is not connected`, {
      hint: 'a lost replica is started again; mz_internal.mz_cluster_replica_statuses tells when it is back',
    });
  return new SqlError('object_not_in_prerequisite_state', 'the cluster has no replica to run the query on', {
    hint: 'use CREATE CLUSTER REPLICA to add one',
  });
}
