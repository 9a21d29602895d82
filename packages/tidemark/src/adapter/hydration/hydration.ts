/**
 * Where each index and materialized view of users stands on each replica: keeps the facts, the verdicts over them, and the
 * relations that show both. It is told what happened, looks again at what that touches, and publishes what has changed.
 *
 * A verdict asked for (`refresh`, then `blockers`, `verdicts`) is of this moment; a change is published a turn later. An event costs
 * the objects it touches and one pass over the objects of their cluster.
 */
import { type CancelTimer, type Clock, nowMicros, type Timers } from '../../base/clock.ts';
import { type ClusterId, type GlobalId, idClass, type ReplicaId } from '../../base/ids.ts';
import type { BuiltinRow } from '../../catalog/builtins/declare.ts';
import type { CatalogState } from '../../catalog/catalog-state.ts';
import type { Entity, ItemEntity } from '../../catalog/entities.ts';
import type { ComputeInstance } from '../../controller/instance.ts';
import type { LifecycleEvent } from '../../controller/lives.ts';
import { isSealed, type ShardCollections } from '../../storage/shard-collections.ts';
import type { LiveChange } from '../live-rows.ts';
import type { FailureFacts, Instant, ObjectFacts, ReplicaFacts } from './facts.ts';
import { blockerRow, emptyClusterRow, replicaRow, sameRows, timestampsRow } from './rows.ts';
import { NOT_RUNNING, runningFacts } from './running.ts';
import { blockerOf, type Judged, type ReplicaVerdict, replicaVerdict } from './verdicts.ts';

/** What it stands on: the environment, for one. */
export interface HydrationWorld {
  readonly catalog: CatalogState;
  readonly collections: ShardCollections;
  readonly clusters: { readonly instances: ReadonlyMap<ClusterId, ComputeInstance> };
  /** What a generation that stands by computes and may not write. */
  readonly leadership: { readonly heldBack: ReadonlyMap<GlobalId, ClusterId> };
  readonly options: { readonly clock: Clock; readonly timers: Timers };
  setLive(changes: readonly LiveChange[]): void;
}

export interface ReplicaState {
  facts: ReplicaFacts;
  verdict: ReplicaVerdict | null;
  /** This process saw it go, once at least. */
  lossSeen: boolean;
  /** By the monotonic clock; null while it is not hydrated. */
  hydratedSinceNs: number | null;
  /** For how long at most it was hydrated since it was lost, but for the present time. */
  longestHydratedNs: number;
}

export interface ClusterState {
  readonly id: ClusterId;
  readonly objects: Map<GlobalId, TrackedObject>;
  readonly replicas: Map<ReplicaId, ReplicaState>;
  withoutReplicaSince: Instant;
}

export interface TrackedObject {
  readonly id: GlobalId;
  /** As its replicas know it. */
  readonly exportId: GlobalId;
  readonly clusterId: ClusterId;
  readonly writes: boolean;
  readonly replaces: GlobalId | null;
  readonly commandedAt: Instant;
  /** One a replica; one alone where the cluster has none. */
  judged: readonly Judged[];
}

/** How often the holders of slots are looked at for those in the queue behind them. */
const QUEUE_PAUSE_MS = 200;

export class Hydration {
  readonly #world: HydrationWorld;
  readonly clusters: Map<ClusterId, ClusterState> = new Map();
  readonly #clusterOf = new Map<GlobalId, ClusterId>();
  /** What has no dataflow in this life of the environment. */
  readonly #unmaintained = new Map<GlobalId, FailureFacts>();
  /** Who waits for an input that is late, by the input. */
  readonly #waiting = new Map<GlobalId, Set<GlobalId>>();
  /** Who waits for a slot, by the one that has held one for longest. */
  readonly #queuedBehind = new Map<GlobalId, Set<GlobalId>>();
  readonly #dirty = new Set<GlobalId>();
  /** Of these only the holder of a slot has changed: a thousand in a queue would be looked at for each one that leaves it. */
  readonly #dirtyQueue = new Set<GlobalId>();
  readonly #dirtyClusters = new Set<ClusterId>();
  readonly #listeners = new Set<() => void>();
  readonly #progressListeners = new Set<() => void>();
  /** What is in the relations, by table and key. */
  readonly #published = new Map<string, LiveChange>();
  /** Dropped, and still in the relations. */
  readonly #forgotten = new Map<GlobalId, readonly Judged[]>();
  #cancel: CancelTimer | null = null;
  #stopUppers: (() => void) | null = null;
  #begun = false;
  #closed = false;

  constructor(world: HydrationWorld) {
    this.#world = world;
  }

  /** Once the objects and replicas of the catalog are up. */
  begin(): void {
    this.#begun = true;
    this.#syncClusters();
    for (const e of this.#world.catalog.all('item')) this.#track(e);
    this.#stopUppers = this.#world.collections.onUpper((id) => this.frontierMoved(id));
    this.#later();
  }

  #now(): Instant {
    return nowMicros(this.#world.options.clock);
  }

  // ---- What happens

  catalogChanged(change: { readonly remove: readonly Entity[]; readonly put: readonly Entity[] }): void {
    if (!this.#begun) return;
    const kept = new Set(change.put.filter((e) => e.kind === 'item').map((e) => e.id));
    for (const e of change.remove) if (e.kind === 'item' && !kept.has(e.id)) this.#forget(e.id);
    const structural = (e: Entity): boolean => e.kind === 'cluster' || e.kind === 'replica';
    if (change.remove.some(structural) || change.put.some(structural)) this.#syncClusters();
    for (const e of change.put) if (e.kind === 'item') this.#track(e);
    // The limit may be among them.
    if ([...change.put, ...change.remove].some((e) => e.kind === 'setting'))
      for (const id of this.clusters.keys()) this.#touchCluster(id);
    this.#later();
  }

  #syncClusters(): void {
    const { catalog } = this.#world;
    const live = new Set<ClusterId>();
    for (const c of catalog.clusters()) {
      if (idClass(c.id) !== 'user') continue;
      live.add(c.id);
      const state = this.#cluster(c.id);
      const had = state.replicas.size > 0;
      for (const r of c.replicas) this.#replica(state, r);
      for (const id of [...state.replicas.keys()])
        if (!c.replicas.some((r) => r.id === id)) state.replicas.delete(id);
      if (had && state.replicas.size === 0) state.withoutReplicaSince = this.#now();
      this.#touchCluster(c.id);
    }
    for (const id of [...this.clusters.keys()])
      if (!live.has(id)) {
        this.clusters.delete(id);
        this.#dirtyClusters.add(id);
      }
  }

  #cluster(id: ClusterId): ClusterState {
    let c = this.clusters.get(id);
    if (c === undefined) {
      c = { id, objects: new Map(), replicas: new Map(), withoutReplicaSince: this.#now() };
      this.clusters.set(id, c);
    }
    return c;
  }

  #replica(c: ClusterState, r: { readonly id: ReplicaId; readonly workers: number }): ReplicaState {
    let state = c.replicas.get(r.id);
    if (state === undefined) {
      const connected = this.#isConnected(c.id, r.id);
      const facts = { id: r.id, workers: r.workers, connected, since: this.#now(), lostBecause: null };
      state = { facts, verdict: null, lossSeen: false, hydratedSinceNs: null, longestHydratedNs: 0 };
      c.replicas.set(r.id, state);
    }
    return state;
  }

  #isConnected(clusterId: ClusterId, replicaId: ReplicaId): boolean {
    return this.#world.clusters.instances.get(clusterId)?.replicas.some((r) => r.id === replicaId) ?? false;
  }

  /** Connected, or lost for a reason. */
  replicaStatus(clusterId: ClusterId, replicaId: ReplicaId, lostBecause: string | null): void {
    const state = this.clusters.get(clusterId)?.replicas.get(replicaId);
    if (state === undefined) return;
    const connected = lostBecause === null;
    const was = state.facts.connected;
    // Each attempt to connect it that fails has its reason; it has been away since the first.
    const since = connected || was ? this.#now() : state.facts.since;
    state.facts = { ...state.facts, connected, since, lostBecause };
    if (was && !connected)
      Object.assign(state, { lossSeen: true, hydratedSinceNs: null, longestHydratedNs: 0 });
    this.#touchCluster(clusterId);
    this.#later();
  }

  #touchCluster(id: ClusterId): void {
    this.#dirtyClusters.add(id);
    for (const o of this.clusters.get(id)?.objects.keys() ?? []) this.#dirty.add(o);
  }

  lifecycle(e: LifecycleEvent): void {
    this.#touch(e.objectId);
    if (e.stage === 'hydrated') this.#touchQueue(e.objectId);
  }

  /** A slot may have another holder. */
  #touchQueue(holder: GlobalId): void {
    for (const o of this.#queuedBehind.get(holder) ?? []) this.#dirtyQueue.add(o);
    if (this.#dirtyQueue.size > 0) this.#later(QUEUE_PAUSE_MS);
  }

  /**
   * One failed, or the next one begins, without a word from the replica: what reads it goes with it, also where an index was dropped and
   * lives for its importers.
   */
  episodesChanged(clusterId: ClusterId): void {
    if (!this.clusters.has(clusterId)) return;
    this.#touchCluster(clusterId);
    this.#later();
  }

  /** It has no dataflow, and will have none in this life of the environment. */
  cannotMaintain(id: GlobalId, message: string): void {
    this.#unmaintained.set(id, { message, since: this.#now() });
    this.#touch(id);
  }

  frontierMoved(id: GlobalId): void {
    for (const f of [...this.#progressListeners]) f();
    if (this.#waiting.size > 0) for (const o of this.#waiting.get(id) ?? []) this.#touch(o);
    if (!this.#clusterOf.has(id) || !isSealed(this.#world.collections, id)) return;
    this.#touch(id);
    // What was to replace it writes its shard.
    for (const c of this.clusters.values())
      for (const o of c.objects.values()) if (o.replaces === id) this.#touch(o.id);
  }

  #touch(id: GlobalId): void {
    if (!this.#clusterOf.has(id)) return;
    this.#dirty.add(id);
    this.#later();
  }

  #track(e: ItemEntity): void {
    const item = this.#world.catalog.item(e.id);
    if (item?.kind !== 'index' && item?.kind !== 'materialized-view' && item?.kind !== 'sink') return;
    if (e.clusterId === undefined) return;
    const exportId = e.exportId ?? e.id;
    const c = this.#cluster(e.clusterId);
    if (c.objects.get(e.id)?.exportId !== exportId) {
      // Replaced: what maintains it now may stand on another cluster.
      this.#forget(e.id);
      const writes = item.kind === 'materialized-view';
      const replaces = (item.kind === 'materialized-view' && item.replaces) || null;
      const object = {
        id: e.id,
        exportId,
        clusterId: c.id,
        writes,
        replaces,
        commandedAt: this.#now(),
        judged: [],
      };
      c.objects.set(e.id, object);
      this.#clusterOf.set(e.id, c.id);
    }
    this.#dirty.add(e.id);
  }

  #forget(id: GlobalId): void {
    const clusterId = this.#clusterOf.get(id);
    if (clusterId === undefined) return;
    const objects = this.clusters.get(clusterId)?.objects;
    this.#forgotten.set(id, objects?.get(id)?.judged ?? []);
    objects?.delete(id);
    this.#clusterOf.delete(id);
    this.#unmaintained.delete(id);
    this.#dirty.add(id);
    this.#touchQueue(id);
    this.#dirtyClusters.add(clusterId);
  }

  // ---- Looking again

  #later(ms = 0): void {
    if (!this.#begun || this.#closed || (this.#cancel !== null && ms > 0)) return;
    this.#cancel?.();
    this.#cancel = this.#world.options.timers.after(ms, () => {
      this.#cancel = null;
      this.refresh();
      if (ms > 0) this.refreshQueue();
      else if (this.#dirtyQueue.size > 0) this.#later(QUEUE_PAUSE_MS);
    });
  }

  /** Also who holds the slots that others wait for. */
  refreshQueue(): void {
    for (const id of this.#dirtyQueue) this.#dirty.add(id);
    this.#dirtyQueue.clear();
    this.refresh();
  }

  /** Brings the verdicts to this moment. Cheap where nothing has happened. */
  refresh(): void {
    if (!this.#begun || this.#closed || (this.#dirty.size === 0 && this.#dirtyClusters.size === 0)) return;
    const changes: LiveChange[] = [];
    const publish = (change: LiveChange): void => {
      const key = `${change.table}/${change.key}`;
      if (sameRows(this.#published.get(key)?.rows ?? [], change.rows)) return;
      if (change.rows.length === 0) this.#published.delete(key);
      else this.#published.set(key, change);
      changes.push(change);
    };
    const objects = [...this.#dirty];
    this.#dirty.clear();
    for (const id of objects) for (const change of this.#judge(id)) publish(change);
    const clusters = [...this.#dirtyClusters];
    this.#dirtyClusters.clear();
    for (const id of clusters) for (const change of this.#judgeCluster(id)) publish(change);
    if (changes.length > 0) this.#world.setLive(changes);
    for (const f of [...this.#listeners]) f();
  }

  #judge(id: GlobalId): readonly LiveChange[] {
    const clusterId = this.#clusterOf.get(id);
    const cluster = clusterId === undefined ? undefined : this.clusters.get(clusterId);
    const object = cluster?.objects.get(id);
    for (const j of [...(this.#forgotten.get(id) ?? []), ...(object?.judged ?? [])]) this.#follow(j, false);
    this.#forgotten.delete(id);
    if (cluster !== undefined && object !== undefined) {
      const replicas = cluster.replicas.size === 0 ? [null] : [...cluster.replicas.values()];
      object.judged = replicas.map((r) => this.#judged(cluster, object, r?.facts ?? null));
      for (const j of object.judged) this.#follow(j, true);
      this.#dirtyClusters.add(cluster.id);
    }
    const judged = object?.judged ?? [];
    const rows = (of: (j: Judged) => BuiltinRow | null): readonly BuiltinRow[] =>
      judged.map(of).filter((r) => r !== null);
    return [
      { table: 'mz_hydration_blockers', key: id, rows: rows(blockerRow) },
      { table: 'mz_compute_hydration_timestamps', key: id, rows: rows(timestampsRow) },
    ];
  }

  /** Begins or ends to look again at an object when what it waits for moves. */
  #follow({ facts }: Judged, begins: boolean): void {
    const along = (map: Map<GlobalId, Set<GlobalId>>, other: GlobalId): void => {
      let set = map.get(other);
      if (set === undefined && begins) map.set(other, (set = new Set()));
      if (begins) set?.add(facts.objectId);
      else if (set?.delete(facts.objectId) && set.size === 0) map.delete(other);
    };
    for (const i of facts.lateInputs) along(this.#waiting, i.id);
    const holder = facts.queue?.longestHolder;
    if (holder !== null && holder !== undefined) along(this.#queuedBehind, holder);
  }

  #judged(c: ClusterState, o: TrackedObject, replica: ReplicaFacts | null): Judged {
    const { collections, clusters } = this.#world;
    const before = o.judged.find((j) => j.facts.replica?.id === replica?.id);
    const common = {
      objectId: o.id,
      clusterId: c.id,
      writes: o.writes,
      sealed: o.writes && isSealed(collections, o.replaces ?? o.id),
      commandedAt: o.commandedAt,
      replica,
      withoutReplicaSince: c.withoutReplicaSince,
      replaces: o.replaces,
    };
    const instance = clusters.instances.get(c.id);
    const facts: ObjectFacts =
      replica?.connected === true && instance !== undefined
        ? { ...common, ...this.#running(instance, o, replica) }
        : { ...common, ...NOT_RUNNING, lastStage: before?.facts.lastStage ?? null };
    return { facts, blocker: blockerOf(facts) };
  }

  #running(
    instance: ComputeInstance,
    { id, exportId, replaces }: TrackedObject,
    replica: ReplicaFacts,
  ): ReturnType<typeof runningFacts> {
    const facts = runningFacts(instance, exportId, replica);
    const holder = facts.queue?.longestHolder ?? null;
    return {
      ...facts,
      queue: facts.queue && { ...facts.queue, longestHolder: holder && this.#world.catalog.objectOf(holder) },
      mayWrite: facts.mayWrite && replaces === null && !this.#world.leadership.heldBack.has(exportId),
      failure: this.#unmaintained.get(id) ?? facts.failure,
    };
  }

  #judgeCluster(id: ClusterId): readonly LiveChange[] {
    const c = this.clusters.get(id);
    const empty = c !== undefined && c.replicas.size === 0 && c.objects.size === 0;
    const rows = c === undefined ? [] : this.#verdicts(c);
    return [
      {
        table: 'mz_hydration_blockers',
        key: `cluster ${id}`,
        rows: empty ? [emptyClusterRow(id, c.withoutReplicaSince)] : [],
      },
      { table: 'mz_cluster_replica_hydration', key: id, rows },
    ];
  }

  #verdicts(c: ClusterState): LiveChange['rows'] {
    const objects = [...c.objects.values()];
    if (c.replicas.size === 0)
      return [
        replicaRow(
          c.id,
          null,
          replicaVerdict(
            null,
            objects.flatMap((o) => o.judged),
          ),
        ),
      ];
    return [...c.replicas.values()].map((r, i) => {
      const verdict = replicaVerdict(
        r.facts,
        objects.flatMap((o) => o.judged[i] ?? []),
      );
      r.verdict = verdict;
      this.#countHydrated(r, verdict.hydrated);
      return replicaRow(c.id, r.facts, verdict);
    });
  }

  #countHydrated(r: ReplicaState, hydrated: boolean): void {
    const now = this.#world.options.clock.monotonicNs();
    if (hydrated) r.hydratedSinceNs ??= now;
    else if (r.hydratedSinceNs !== null) {
      r.longestHydratedNs = Math.max(r.longestHydratedNs, now - r.hydratedSinceNs);
      r.hydratedSinceNs = null;
    }
  }

  /** Called after each look again. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Called when a frontier has moved, of a shard or of an index. */
  onProgress(listener: () => void): () => void {
    this.#progressListeners.add(listener);
    return () => this.#progressListeners.delete(listener);
  }

  close(): void {
    this.#closed = true;
    this.#cancel?.();
    this.#stopUppers?.();
  }
}
