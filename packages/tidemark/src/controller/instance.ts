/**
 * A cluster: the dataflows that its replicas maintain, and everything that the environment decides about them. It holds
 * imports readable, schedules dataflows in dependency order, lets indexes compact, runs peeks, and brings a new replica to
 * the present from the command history. It does no I/O: commands go out through connections, time comes in.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { type ClusterId, type GlobalId, idClass, type ReplicaId } from '../base/ids.ts';
import type { Command, DataflowDescription, ReplicaConnection, Response } from '../compute/protocol.ts';
import { PROTOCOL_VERSION } from '../compute/protocol.ts';
import { sqlErrorOf } from '../expr/eval-error.ts';
import type { LoggingConfig, ReplicaIntrospection } from '../introspection/logging-config.ts';
import type { Batch } from '../repr/batch.ts';
import type { Hold } from '../time/hold-set.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import { type Collection, newCollection } from './collection.ts';
import { CommandHistory, exportIds, exportsOf } from './command-history.ts';
import { Compaction } from './compaction.ts';
import { EpisodeFeed } from './episode-feed.ts';
import type { LifeAck } from './episodes.ts';
import { type EpisodeFailure, Failures, type KnownFailures, maintains } from './failures.ts';
import type { InstanceOptions } from './instance-options.ts';
import type { Queued } from './limiter.ts';
import { Lives } from './lives.ts';
import { GoneError } from './peeks.ts';
import { Readers } from './readers.ts';
import { type Reading, readingOf } from './reading.ts';
import { type PeekOptions, Reads } from './reads.ts';
import { Replica } from './replica.ts';
import { Scheduler } from './scheduler.ts';
import { type SubscribeOptions, type SubscribeStream, Subscribes } from './subscribes.ts';

export class ComputeInstance {
  readonly clusterId: ClusterId;
  readonly lives: Lives = new Lives();
  readonly #o: InstanceOptions;
  #tunables: InstanceOptions['tunables'];
  readonly #history = new CommandHistory();
  readonly #replicas = new Map<ReplicaId, Replica>();
  readonly #members = new Set<ReplicaId>();
  readonly #collections = new Map<GlobalId, Collection>();
  readonly #reads: Reads;
  readonly #subscribes: Subscribes;
  readonly #readers: Readers;
  readonly #compaction: Compaction;
  readonly #scheduler: Scheduler;
  readonly #failures: Failures;
  readonly #feed: EpisodeFeed;
  readonly #stopUppers: () => void;

  constructor(options: InstanceOptions) {
    this.#o = options;
    this.#tunables = options.tunables;
    this.clusterId = options.clusterId;
    this.#feed = new EpisodeFeed({
      clusterId: this.clusterId,
      clock: options.clock,
      collections: this.#collections,
      onEpisode: options.onEpisode,
      onProgress: options.onProgress,
    });
    this.#scheduler = new Scheduler({
      collections: this.#collections,
      shards: options.shards,
      frontier: (id) => this.writeFrontier(id),
      onReady: (c) => this.#sendOf(c, { kind: 'schedule', id: c.id, waitedOn: 'inputs_available' }),
      onInputDropped: (c) => this.#readers.inputDropped(c),
    });
    this.#failures = new Failures({
      collections: this.#collections,
      replicas: this.#replicas,
      timers: options.timers,
      nowMs: () => options.clock.nowMs(),
      elsewhere: options.failureElsewhere ?? (() => undefined),
      rebuild: (r, ids) => this.#rebuild(r, ids),
    });
    this.#reads = new Reads({
      collections: this.#collections,
      replicas: this.#replicas,
      members: this.#members,
      history: this.#history,
      uuid: options.uuid,
      create: (dataflow, replicaId) => this.createDataflow(dataflow, replicaId),
      drop: (id) => this.drop([id]),
      failure: (id) => this.failure(id),
      hold: ({ target, timestamp }) =>
        target.kind === 'index' ? this.hold(target.id, timestamp) : options.shards.hold(target.id, timestamp),
    });
    this.#subscribes = new Subscribes({
      ...options.subscribeLimits,
      replicas: this.#replicas,
      members: this.#members,
      maxResultSize: () => this.#tunables.maxResultSize,
      create: (dataflow, replicaId) => this.createDataflow(dataflow, replicaId),
      drop: (id) => this.drop([id]),
    });
    this.#readers = new Readers({
      collections: this.#collections,
      failures: this.#failures,
      reads: this.#reads,
      subscribes: this.#subscribes,
      onFailure: options.onFailure,
    });
    this.#compaction = new Compaction({
      collections: this.#collections,
      replicas: this.#replicas,
      shards: options.shards,
      subscribes: this.#subscribes,
      nowMs: () => options.clock.nowMs(),
      frontier: (id) => this.writeFrontier(id),
      allow: (c, since) => this.#sendOf(c, { kind: 'allowCompaction', id: c.id, frontier: since }),
    });
    this.#stopUppers = options.shards.onUpper(() => this.#scheduler.step());
    this.#begin();
  }

  /** What every replica is told first. */
  #begin(): void {
    const { uuid, generation, start, logging, tunables } = this.#o;
    this.#send({ kind: 'hello', nonce: uuid(), version: PROTOCOL_VERSION, generation, start });
    this.#send({ kind: 'createInstance', logging, tunables });
    for (const { id } of logging.indexes) {
      // Logs are installed and started by the instance itself; no Schedule is ever sent for them.
      this.#add({
        id,
        outputId: id,
        kind: 'log',
        transient: false,
        asOf: MIN_TIME,
        replicaId: undefined,
        indexImports: [],
        imports: new Map(),
        scheduled: true,
      });
    }
    this.#send({ kind: 'initializationComplete' });
  }

  #add(c: Parameters<typeof newCollection>[0]): Collection {
    const collection = this.#scheduler.add(newCollection(c, () => this.#compact(c.id)));
    this.#collections.set(c.id, collection);
    return collection;
  }

  #send(command: Command): void {
    this.#history.record(command);
    for (const r of this.#replicas.values()) r.send(command);
  }

  /** To those replicas that have the collection. */
  #sendOf(c: Collection, command: Command): void {
    this.#history.record(command, c.replicaId);
    for (const r of this.#replicas.values()) if (maintains(r, c)) r.send(command);
  }

  /** Of replicas that connect from now on: what a replica is told about its logs it is told once. */
  setLogging(logging: LoggingConfig): void {
    this.#history.record({ kind: 'createInstance', logging, tunables: this.#tunables });
  }

  configure(tunables: Partial<InstanceOptions['tunables']>): void {
    this.#tunables = { ...this.#tunables, ...tunables };
    this.#send({ kind: 'updateConfiguration', tunables });
  }

  // ---- Replicas

  get replicas(): readonly Replica[] {
    return [...this.#replicas.values()];
  }

  /** The cluster has it, and it is being started or dialled: reads wait for it. */
  expectReplica(id: ReplicaId): void {
    this.#members.add(id);
  }

  isConnected(id: ReplicaId): boolean {
    return this.#replicas.has(id);
  }

  addReplica(id: ReplicaId, connection: ReplicaConnection, introspection?: ReplicaIntrospection): void {
    assert(!this.#replicas.has(id), `replica ${id} is added once`);
    const { clock, hydrationConcurrency } = this.#o;
    const isSystem = idClass(this.clusterId) === 'system';
    const replica = new Replica({
      id,
      connection,
      nowMs: () => clock.nowMs(),
      capacity: isSystem ? undefined : hydrationConcurrency,
    });
    this.expectReplica(id);
    this.#replicas.set(id, replica);
    connection.onResponse = (r) => {
      // Responses of a connection that was replaced are of an earlier life.
      if (this.#replicas.get(id) === replica) this.#receive(replica, r);
    };
    connection.onLost = (reason) => {
      if (this.#replicas.get(id) !== replica) return;
      this.#forgetReplica(id, () => new SqlError('system_error', `replica ${id} was lost: ${reason}`));
      this.#feed.disconnected(id, reason);
      this.#o.onReplicaLost(id, reason);
    };
    this.#reads.copies.joining(id);
    for (const command of this.#history.replay(id, introspection)) replica.send(command);
    this.#reads.joined();
  }

  /** `left`: one that outlives its connection goes on without. */
  async removeReplica(id: ReplicaId, why: 'dropped' | 'restarted' | 'left' = 'dropped'): Promise<void> {
    const replica = this.#replicas.get(id);
    if (why !== 'restarted') this.#members.delete(id);
    else if (replica === undefined) return;
    this.#forgetReplica(
      id,
      () => new SqlError('object_not_in_prerequisite_state', `replica ${id} was ${why}`),
    );
    if (why === 'restarted') this.#feed.disconnected(id, why);
    if (why === 'dropped' && replica?.connection.retire) await replica.connection.retire();
    else await replica?.connection.close();
  }

  #forgetReplica(id: ReplicaId, error: () => SqlError): void {
    this.#replicas.delete(id);
    this.lives.forgetReplica(id, this.#members.has(id));
    this.#feed.forgetReplica(id);
    this.#failures.forgetReplica(id);
    this.#reads.leave(id, error);
    this.#subscribes.replicaGone(id, error);
    // It may have been the last one where something went on.
    this.#readers.tell();
  }

  /** The history holds what a replica told: it may forget it. */
  acknowledge({ replicaId, worker, sequence }: LifeAck): void {
    this.#replicas.get(replicaId)?.send({ kind: 'ackLives', worker, sequence });
  }

  #receive(replica: Replica, r: Response): void {
    this.#feed.received(replica, r);
    // Of an episode that is over.
    if (!replica.receive(r)) return;
    switch (r.kind) {
      case 'frontiers':
        if (this.#collections.has(r.id)) this.#frontierMoved(r.id);
        return;
      case 'lifecycle':
        if (r.stage === 'hydrated' && replica.isHydrated(r.id)) this.#failures.hydrated(replica, r.id);
        // A dropped index may go on for its importers; to readers its life ended with its drop.
        if (this.#collections.get(r.id)?.dropped === false) this.lives.receive(replica.id, r);
        return;
      case 'peekResponse':
        this.#reads.receive(replica, r);
        return;
      case 'subscribeResponse':
        this.#subscribes.receive(replica, r);
        return;
      case 'copyToResponse':
        this.#reads.copies.receive(r);
        return;
      case 'failed':
        this.#failed(replica, r.id, r);
        return;
      case 'hello':
        this.lives.begin(replica.id, r.incarnation);
        return;
      case 'reconciled':
        // All workers decide alike.
        if (r.worker === 0) this.#o.onReconciled?.(replica.id, r.outcomes);
        return;
      case 'status':
        this.#o.logger.info({ replica: replica.id, worker: r.worker }, r.message);
        return;
      default:
        return;
    }
  }

  // ---- Failures

  /** A dataflow ended on a host error: whoever reads it elsewhere goes on there, others are told. */
  #failed(replica: Replica, id: GlobalId, e: { readonly code: string; readonly message: string }): void {
    const c = this.#collections.get(id);
    if (c === undefined) return;
    if (this.#scheduler.readsDropped(c)) return this.#readers.inputDropped(c);
    // A sealed output is complete whatever becomes of its dataflow; and another worker may have said it.
    if (this.#compaction.isSealed(c) || replica.failures.has(id)) return this.#feed.failed(replica.id, [id]);
    const error = sqlErrorOf({ code: e.code, message: e.message });
    const down = new Set(this.#failures.add(replica, id, error));
    this.#feed.failed(replica.id, down);
    this.#reads.leave(replica.id, () => error, down);
    this.#readers.tell();
    this.#o.onFailed?.(id, e, replica.id);
  }

  /** Something may have failed on another cluster. */
  tellReaders(): void {
    this.#readers.tellOwn();
  }

  /** Another episode on a replica: dropped in the reverse order of their creation, then created again. */
  #rebuild(replica: Replica, ids: readonly GlobalId[]): void {
    for (const id of [...ids].reverse()) {
      replica.send({ kind: 'allowCompaction', id, frontier: EMPTY });
      this.lives.endEpisode(replica.id, id);
      replica.restart(id);
      this.#subscribes.restarted(replica.id, id);
    }
    for (const command of this.#history.restart(new Set(ids))) replica.send(command);
    this.#o.onRebuilt?.();
  }

  /** Why readers of it would wait for ever. */
  failure(id: GlobalId, known?: KnownFailures): SqlError | undefined {
    return this.#failures.of(id, known);
  }

  /** How its last episode on a replica ended, as long as no later one is hydrated. */
  episodeFailure(replicaId: ReplicaId, id: GlobalId): EpisodeFailure | undefined {
    return this.#failures.onReplica(replicaId, id);
  }

  // ---- Collections

  hasCollection(id: GlobalId): boolean {
    return this.#collections.has(id);
  }

  /** The furthest that any replica has got. */
  writeFrontier(id: GlobalId): Frontier {
    const c = this.#get(id);
    if (c.kind === 'materialized-view') return this.#o.shards.upper(c.outputId);
    if (c.kind === 'subscribe') return this.#subscribes.upper(id);
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

  asOf(id: GlobalId): number {
    return this.#get(id).asOf;
  }

  /** Keeps an index readable at `at`, its present since if absent. */
  hold(id: GlobalId, at?: Frontier): Hold {
    const c = this.#get(id);
    const t = at ?? c.since;
    assert(t >= c.since, `a hold on ${id} at ${t} is not before its since ${c.since}`);
    return c.holds.acquire(t);
  }

  /**
   * Creates it, holds its imports at the as-of, and schedules it as soon as its inputs are there. `replicaId`: on that replica
   * alone.
   */
  createDataflow(dataflow: DataflowDescription, replicaId?: ReplicaId): void {
    const { asOf, internal = false } = dataflow;
    const holds = (): Map<GlobalId, Hold> =>
      new Map([
        ...dataflow.shardImports.map((i) => [i.id, this.#o.shards.hold(i.id, asOf)] as const),
        ...dataflow.indexImports.map((i) => [i.id, this.hold(i.id, i.frozenAt ?? asOf)] as const),
      ]);
    const indexImports = dataflow.indexImports.map((i) => i.id);
    for (const { id, kind, outputId } of exportsOf(dataflow)) {
      assert(!this.#collections.has(id), `export ${id} is created once`);
      const c = this.#add({
        id,
        kind: internal && kind === 'index' ? 'log' : kind,
        outputId,
        transient: idClass(id) === 'transient',
        asOf,
        replicaId,
        indexImports,
        imports: holds(),
        scheduled: internal,
      });
      this.#failures.created(c);
      this.#feed.created(id);
    }
    this.#sendOf(this.#get(exportIds(dataflow)[0]!), { kind: 'createDataflow', dataflow });
    // It reads what is there from the start: nothing to wait for.
    if (internal)
      for (const id of exportIds(dataflow))
        this.#send({ kind: 'schedule', id, waitedOn: 'inputs_available' });
    for (const id of exportIds(dataflow)) this.#readers.created(id);
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
      this.#feed.dropped(id);
      this.#reads.endTarget(id, () => new GoneError(`the object that was read (${id})`));
      this.#compact(id);
    }
  }

  #end(c: Collection): void {
    this.#collections.delete(c.id);
    this.#sendOf(c, { kind: 'allowCompaction', id: c.id, frontier: EMPTY });
    this.#failures.forget(c.id);
    for (const r of this.#replicas.values()) r.forget(c.id);
    for (const h of c.imports.values()) h.release();
    // Who still imports it is complete for ever and has let it go: the command history has, too.
    for (const r of this.#collections.values()) if (r.indexImports.includes(c.id)) this.#feed.retired(r.id);
  }

  /** Moves a collection's since as far as its policy and its readers allow, and its own holds with it. */
  #compact(id: GlobalId): void {
    const c = this.#collections.get(id);
    if (c === undefined) return;
    if (c.dropped) {
      if (c.holds.least === EMPTY) this.#end(c);
      return;
    }
    this.#compaction.move(c);
  }

  #frontierMoved(id: GlobalId): void {
    this.#scheduler.step();
    this.#o.onFrontier?.(id, this.writeFrontier(id));
  }

  /** Once a second: lets collections compact. */
  maintain(): void {
    for (const id of [...this.#collections.keys()]) this.#compact(id);
  }

  reading(id: GlobalId, replicaId: ReplicaId): Reading | null {
    const frontier = (input: GlobalId): Frontier => this.replicaFrontier(replicaId, input);
    return readingOf(id, { collections: this.#collections, shards: this.#o.shards, frontier });
  }

  /** Why a replica has not been told to start it; undefined: it has, or the inputs are not there. */
  queued(replicaId: ReplicaId, id: GlobalId): Queued | undefined {
    return this.#replicas.get(replicaId)?.queued(id);
  }

  /** `hydrationConcurrency` has changed. */
  hydrationConcurrencyChanged(): void {
    for (const r of this.#replicas.values()) r.step();
  }

  /** Rows with multiplicities as diffs, finished. The target stays held at the timestamp meanwhile. */
  peek(options: PeekOptions): Promise<Batch> {
    return this.#reads.peek(options);
  }

  /** Builds a dataflow with one subscribe and gives its stream; when that ends, everything of it goes. */
  subscribe(dataflow: DataflowDescription, options: SubscribeOptions): SubscribeStream {
    return this.#subscribes.start(dataflow, options);
  }

  /** Builds a dataflow with one COPY on a replica, any if none is given; the number of rows, once they are written. */
  copyTo(dataflow: DataflowDescription, replicaId: ReplicaId | undefined): Promise<number> {
    return this.#reads.copies.run(dataflow, replicaId);
  }

  // ---- End

  /** What is left: for tests and for the teardown check. */
  get live(): { collections: number; peeks: number; subscribes: number; history: number } {
    const own = [...this.#collections.values()].filter((c) => c.kind !== 'log').length;
    const subscribes = this.#subscribes.size;
    return { collections: own, peeks: this.#reads.size, subscribes, history: this.#history.size };
  }

  async close(): Promise<void> {
    this.#stopUppers();
    this.#subscribes.failAll(() => new SqlError('admin_shutdown', 'the cluster ended'));
    const ids = [...this.#replicas.keys()];
    for (const id of ids) await this.removeReplica(id, 'left');
    for (const c of this.#collections.values()) for (const h of c.imports.values()) h.release();
  }
}
