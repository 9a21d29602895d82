/**
 * The clusters that run: one controller each, and a supervisor for each replica. The catalog says which there are; DDL and the
 * start of the environment bring that about here.
 */
import { assert } from '../base/assert.ts';
import { type Clock, type Logger, nowMicros, type Timers } from '../base/clock.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import type { ClusterEntity, ReplicaEntity } from '../catalog/entities.ts';
import { durationMs, resultBytes, SETTINGS } from '../catalog/settings.ts';
import type { ReconciliationOutcomes, ReplicaConnection, Tunables } from '../compute/protocol.ts';
import type { EpisodeEvent, LifeAck } from '../controller/episodes.ts';
import { ComputeInstance } from '../controller/instance.ts';
import type { LifecycleEvent } from '../controller/lives.ts';
import type { Row } from '../repr/types.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import type { Hydration } from './hydration/hydration.ts';
import type { Leadership } from './leadership.ts';
import type { LiveChange } from './live-rows.ts';
import { replicaName } from './names.ts';
import { ProgressRows } from './progress-rows.ts';
import { readerFailure } from './reader-failures.ts';
import { ReplicaSupervisor } from './replica-supervisor.ts';
import type { Unified } from './unified.ts';
import { installViewIndexes } from './view-indexes.ts';

/** The cluster that answers what is asked of the catalog alone, so that it answers while every other one is busy or empty. */
export const SYSTEM_CLUSTER: ClusterEntity = {
  kind: 'cluster',
  id: 's1' as ClusterId,
  number: 0,
  name: 'mz_catalog_server',
  size: '1',
  introspectionIntervalMs: 1000,
  introspectionDebugging: false,
};
export const SYSTEM_REPLICA: ReplicaEntity = {
  kind: 'replica',
  id: 's1' as ReplicaId,
  clusterId: SYSTEM_CLUSTER.id,
  name: 'r1',
  size: '1',
  workers: 1,
};

const STARTING = 'starting';

/** What a running replica is made from. */
export type ReplicaSpec = Pick<
  ReplicaEntity,
  'id' | 'workers' | 'address' | 'memoryLimitBytes' | 'introspection'
>;

export type CreateReplica = (o: {
  readonly replicaId: ReplicaId;
  readonly workers: number;
  /** Where it runs in a process of its own; absent: the host runs it. */
  readonly address?: string;
  readonly memoryLimitBytes?: number | undefined;
}) => ReplicaConnection | Promise<ReplicaConnection>;

/** What clusters need of their environment. */
export interface ClusterHost {
  readonly catalog: CatalogState;
  readonly collections: ShardCollections;
  readonly leadership: Leadership;
  /** Sources whose file is at fault, with what is wrong. */
  readonly unreadable: ReadonlyMap<GlobalId, string>;
  readonly options: {
    readonly clock: Clock;
    readonly timers: Timers;
    readonly logger: Logger;
    readonly generation: number;
    readonly start: number;
    readonly createReplica: CreateReplica;
    readonly standby?: { readonly replicas?: ReadonlyMap<string, string> };
  };
  /** Is told what happens to dataflows and replicas. */
  readonly hydration: Pick<Hydration, 'lifecycle' | 'episodesChanged' | 'frontierMoved' | 'replicaStatus'>;
  uuid(): string;
  setLive(changes: readonly LiveChange[]): void;
  onCatalogChange(listener: () => void): () => void;
  /** What replicas tell about their objects. */
  readonly unified: Unified;
  /** Hears what happens to replicas and what they maintain. */
  readonly history: { readonly now: number; receive(event: EpisodeEvent): void };
}

const hydrationConcurrency = (catalog: CatalogState): number =>
  Number(catalog.setting('compute_hydration_concurrency') ?? SETTINGS.compute_hydration_concurrency.default);

/** What settings of the system say to replicas. */
function tunables(catalog: CatalogState): Tunables {
  const of = <N extends 'metrics_interval' | 'max_result_size'>(name: N): [N, string] => [
    name,
    catalog.setting(name) ?? SETTINGS[name].default,
  ];
  return {
    maxResultSize: resultBytes(...of('max_result_size')),
    metricsIntervalMs: durationMs(...of('metrics_interval')),
  };
}

export class Clusters {
  readonly #host: ClusterHost;
  readonly #instances = new Map<ClusterId, ComputeInstance>();
  readonly #progress: ProgressRows;
  readonly #supervisors = new Map<ReplicaId, ReplicaSupervisor>();
  readonly #reconciliations = new Map<ReplicaId, ReadonlyMap<string, number>>();
  readonly #lifecycleListeners = new Set<(event: LifecycleEvent, clusterId: ClusterId) => void>();

  constructor(host: ClusterHost) {
    this.#host = host;
    this.#progress = new ProgressRows(host);
    host.onCatalogChange(() => this.#progress.catalogChanged());
  }

  get instances(): ReadonlyMap<ClusterId, ComputeInstance> {
    return this.#instances;
  }

  instance(clusterId: ClusterId): ComputeInstance {
    const i = this.#instances.get(clusterId);
    assert(i !== undefined, `cluster ${clusterId} runs`);
    return i;
  }

  startCluster(clusterId: ClusterId): void {
    const { catalog, collections, hydration, unreadable } = this.#host;
    const { clock, timers, logger, generation, start } = this.#host.options;
    const instance = new ComputeInstance({
      clusterId,
      shards: collections,
      clock,
      timers,
      logger,
      logging: catalog.logging(clusterId),
      tunables: tunables(catalog),
      generation,
      start,
      uuid: () => this.#host.uuid(),
      onEpisode: (e) => {
        this.#host.history.receive(e);
        if (e.kind === 'connected') this.#setStatus(e.replicaId, 'online', null);
      },
      onProgress: (replicaId, id, row) => this.#progress.take(replicaId, id, row),
      hydrationConcurrency: () => hydrationConcurrency(catalog),
      onReplicaLost: (id, reason) => this.#supervisors.get(id)?.lost(reason),
      onReconciled: (id, outcomes) => this.#reconciled(id, outcomes),
      onFrontier: (id) => hydration.frontierMoved(id),
      onFailed: (id, e) => {
        // Perhaps another generation writes its output now: then this process stops, and says so once.
        if (e.code === 'admin_shutdown') this.#host.leadership.confirm().catch(() => undefined);
        else logger.error({ id, ...e }, 'a dataflow failed');
        hydration.episodesChanged(clusterId);
      },
      onRebuilt: () => hydration.episodesChanged(clusterId),
      failureElsewhere: (id, known) => readerFailure({ catalog, unreadable, clusters: this }, id, known),
      onFailure: () => this.tellReaders(),
    });
    instance.lives.subscribe((told) => {
      const e = { ...told, objectId: catalog.objectOf(told.objectId) };
      hydration.lifecycle(e);
      if (!e.repeated) for (const f of [...this.#lifecycleListeners]) f(e, clusterId);
    });
    this.#instances.set(clusterId, instance);
    installViewIndexes({ catalog, clusterId, instance, shards: collections });
  }

  /** Something may have failed: whoever waits for it, on whatever cluster and through whatever is between, hears of it. */
  tellReaders(): void {
    for (const i of this.#instances.values()) i.tellReaders();
  }

  /** Every new lifecycle event of any cluster, now and later. */
  onLifecycle(listener: (event: LifecycleEvent, clusterId: ClusterId) => void): () => void {
    this.#lifecycleListeners.add(listener);
    return () => this.#lifecycleListeners.delete(listener);
  }

  /** Where it runs: here, or at an address; null: nowhere, for a generation that stands by attaches to no other generation's. */
  #placeOf({ id, address }: ReplicaSpec): 'here' | string | null {
    const { catalog, leadership, options } = this.#host;
    if (address === undefined) return 'here';
    if (leadership.role === 'leader') return address;
    return options.standby?.replicas?.get(replicaName(catalog, id)) ?? null;
  }

  /** False where this generation has no replica of its own for one that the catalog gives by address. */
  hasReplica(id: ReplicaId): boolean {
    return this.#supervisors.has(id);
  }

  startReplica(clusterId: ClusterId, replica: ReplicaSpec): void {
    const { createReplica, timers } = this.#host.options;
    const place = this.#placeOf(replica);
    if (place === null) {
      this.#setStatus(replica.id, 'offline', "the leader's; this process has none of its own for it");
      return;
    }
    const supervisor = new ReplicaSupervisor({
      replicaId: replica.id,
      instance: this.instance(clusterId),
      introspection: replica.introspection,
      connect: () =>
        createReplica({
          replicaId: replica.id,
          workers: replica.workers,
          memoryLimitBytes: replica.memoryLimitBytes,
          ...(place !== 'here' && { address: place }),
        }),
      timers,
      onStatus: (status, reason) => {
        this.#host.hydration.replicaStatus(clusterId, replica.id, reason);
        const instance = this.instance(clusterId);
        if (status === 'offline') this.#host.unified.offline(clusterId, replica.id);
        else
          this.#host.unified.online({ clusterId, replicaId: replica.id, workers: replica.workers, instance });
        // It is there once it has said hello; until then its workers start.
        this.#setStatus(replica.id, 'offline', reason ?? STARTING);
      },
    });
    this.#supervisors.set(replica.id, supervisor);
    this.#host.unified.offline(clusterId, replica.id);
    // Whoever listens at its address may take as long to answer as one that is dialled is given.
    this.#setStatus(replica.id, 'offline', place === 'here' ? STARTING : `dialling ${place}`);
    supervisor.start();
  }

  #setStatus(replicaId: ReplicaId, status: 'online' | 'offline', reason: string | null): void {
    const row: Row = [replicaId, status, reason, BigInt(nowMicros(this.#host.options.clock))];
    this.#host.setLive([{ table: 'mz_cluster_replica_statuses', key: replicaId, rows: [row] }]);
  }

  /** Over the time of this environment. */
  #reconciled(replicaId: ReplicaId, outcomes: ReconciliationOutcomes): void {
    const sums = new Map(this.#reconciliations.get(replicaId));
    for (const [outcome, n] of Object.entries(outcomes)) sums.set(outcome, (sums.get(outcome) ?? 0) + n);
    this.#reconciliations.set(replicaId, sums);
    const rows = [...sums].map(([outcome, n]): Row => [replicaId, outcome, BigInt(n)]);
    this.#host.setLive([{ table: 'mz_compute_reconciliations', key: replicaId, rows }]);
  }

  async stopReplica(replicaId: ReplicaId): Promise<void> {
    const supervisor = this.#supervisors.get(replicaId);
    this.#supervisors.delete(replicaId);
    this.#host.unified.dropped(replicaId);
    await supervisor?.stop('dropped');
    this.#host.history.receive({ kind: 'replicaDropped', replicaId, at: this.#host.history.now });
    this.#reconciliations.delete(replicaId);
    this.#host.setLive([
      { table: 'mz_compute_reconciliations', key: replicaId, rows: [] },
      { table: 'mz_cluster_replica_statuses', key: replicaId, rows: [] },
    ]);
  }

  /** The history holds what a replica told: it may forget it. */
  acknowledge(ack: LifeAck): void {
    for (const i of this.#instances.values()) i.acknowledge(ack);
  }

  /** `replicas`: those it had; the catalog knows them no more. */
  async stopCluster(clusterId: ClusterId, replicas: readonly { readonly id: ReplicaId }[]): Promise<void> {
    for (const r of replicas) await this.stopReplica(r.id);
    await this.#instances.get(clusterId)?.close();
    this.#instances.delete(clusterId);
  }

  /** What a replica is told about its logs it is told once, when it starts: a change of introspection restarts it. */
  async clusterChanged(before: ClusterEntity, after: ClusterEntity): Promise<void> {
    if (
      before.introspectionIntervalMs === after.introspectionIntervalMs &&
      before.introspectionDebugging === after.introspectionDebugging
    )
      return;
    const { catalog } = this.#host;
    const clusterId = after.id;
    this.instance(clusterId).setLogging(catalog.logging(clusterId));
    for (const r of catalog.clusterById(clusterId)!.replicas) await this.#supervisors.get(r.id)?.restart();
  }

  /** Settings of the system may have changed: replicas that wait for slots look again, all are told the rest. */
  settingsChanged(): void {
    const told = tunables(this.#host.catalog);
    for (const i of this.#instances.values()) {
      i.hydrationConcurrencyChanged();
      i.configure(told);
    }
  }

  /** Once a second. */
  maintain(): void {
    for (const i of this.#instances.values()) i.maintain();
  }

  async close(): Promise<void> {
    this.#host.unified.close();
    for (const s of this.#supervisors.values()) await s.stop('left');
    for (const i of this.#instances.values()) await i.close();
  }
}
