/**
 * The history of hydration as a state machine: events of replicas and of the catalog go in, rows that changed and closed lives to
 * acknowledge come out. Pure: no clock, no store. Every event may come again, and late.
 *
 * An object's episode is a life of its export on one replica: it opens when worker 0 has installed it, and ends hydrated, or as dropped,
 * failed or lost before that. A replica's episode runs from its connecting, or from the first unhydrated object, until none is left.
 *
 * A replica that is away may come back as it was, so its episodes stay open; as another incarnation it has lost them. Restored from
 * the rows of an earlier process, they are found again by worker 0's instant of installation.
 *
 * It keeps every row that is in the history, for their keys: about 500 bytes each, as long as the retention.
 */
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { LifeClosedResponse, LifecycleResponse } from '../compute/protocol.ts';
import {
  type Episode,
  episodeKey,
  latestInstant,
  type ObjectEnd,
  type ObjectEpisode,
  type ReplicaEpisode,
  type ReplicaStatus,
} from './episode.ts';
import { WorkerReports } from './life.ts';

/** Instants are microseconds since the epoch, by the environment's clock where `at` says so. */
export type EpisodeEvent =
  /** The replica said hello. */
  | {
      readonly kind: 'connected';
      readonly clusterId: ClusterId;
      readonly replicaId: ReplicaId;
      readonly incarnation: string;
      readonly workers: number;
      readonly at: number;
    }
  | {
      readonly kind: 'disconnected';
      readonly replicaId: ReplicaId;
      readonly reason: string;
      readonly at: number;
    }
  | { readonly kind: 'replicaDropped'; readonly replicaId: ReplicaId; readonly at: number }
  /** The cluster maintains the object from now on. */
  | {
      readonly kind: 'created';
      readonly clusterId: ClusterId;
      readonly objectId: GlobalId;
      readonly at: number;
    }
  | {
      readonly kind: 'dropped';
      readonly clusterId: ClusterId;
      readonly objectId: GlobalId;
      readonly at: number;
      /** `lost`: it is there, complete for ever, and no replica that comes from now on maintains it. */
      readonly end?: ObjectEnd;
    }
  | {
      readonly kind: 'failed';
      readonly replicaId: ReplicaId;
      readonly objectId: GlobalId;
      readonly at: number;
    }
  | {
      readonly kind: 'reported';
      readonly replicaId: ReplicaId;
      readonly response: LifecycleResponse | LifeClosedResponse;
      /** Whether it is a view, which is done when it is durable; undefined: it is gone already. */
      readonly writes: boolean | undefined;
      readonly at: number;
    };

/** A replica's lives up to this number are in the history, once the changes that came with it are. */
export interface LifeAck {
  readonly replicaId: ReplicaId;
  readonly worker: number;
  readonly sequence: number;
}

export interface EpisodeChanges {
  readonly episodes: readonly Episode[];
  readonly acks: readonly LifeAck[];
}

interface Life {
  readonly reports: WorkerReports;
  episode: ObjectEpisode | null;
}

interface ReplicaState {
  readonly clusterId: ClusterId;
  readonly replicaId: ReplicaId;
  incarnation: string | undefined;
  workers: number;
  /** It said hello to this process of the environment. */
  greeted: boolean;
  lostAt: number | null;
  /** By number and object. */
  readonly lives: Map<string, Life>;
  /** Episodes of objects that go on. */
  readonly open: Set<ObjectEpisode>;
  current: ReplicaEpisode | null;
  lastStart: number;
  /** Objects that the replica has not hydrated. */
  readonly unhydrated: Set<GlobalId>;
  /** Peaks of the objects of the current episode; null while unknown. */
  readonly taking: Map<GlobalId, number | null>;
}

export class Episodes {
  readonly #generation: number;
  readonly #known = new Map<string, Episode>();
  readonly #replicas = new Map<ReplicaId, ReplicaState>();
  /** What each cluster maintains. */
  readonly #objects = new Map<ClusterId, Set<GlobalId>>();
  #changed = new Set<Episode>();
  #acks: LifeAck[] = [];
  #prunedBefore = Number.NEGATIVE_INFINITY;

  constructor(generation: number) {
    this.#generation = generation;
  }

  /**
   * Takes over what the history holds, and which process last ran each replica. Replicas of another generation do not come back here:
   * what goes on there is lost.
   */
  adopt(kept: readonly Episode[], incarnations: ReadonlyMap<ReplicaId, string>, at: number): EpisodeChanges {
    for (const e of kept) {
      this.#known.set(episodeKey(e), e);
      if (e.kind === 'replica') this.#adoptReplica(e, at);
      else if (e.endedAt === null) {
        const r = this.#replica(e.replicaId, e.clusterId);
        r.open.add(e);
        if (e.generation !== this.#generation) this.#end(r, e, 'lost', at);
      }
    }
    for (const [id, incarnation] of incarnations) {
      const r = this.#replicas.get(id);
      if (r !== undefined) r.incarnation ??= incarnation;
    }
    return this.#changes();
  }

  #adoptReplica(e: ReplicaEpisode, at: number): void {
    const r = this.#replica(e.replicaId, e.clusterId);
    r.lastStart = Math.max(r.lastStart, e.startedAt);
    if (e.finishedAt !== null) return;
    if (e.generation === this.#generation) {
      r.current = e;
      return;
    }
    e.status = 'lost';
    e.finishedAt = at;
    this.#changed.add(e);
  }

  *openObjects(): Iterable<ObjectEpisode> {
    for (const r of this.#replicas.values()) yield* [...r.open];
  }

  /** Those that there are episodes of. */
  replicas(): readonly ReplicaId[] {
    return [...this.#replicas.keys()];
  }

  step(event: EpisodeEvent): EpisodeChanges {
    this.#apply(event);
    return this.#changes();
  }

  #changes(): EpisodeChanges {
    const changes = { episodes: [...this.#changed], acks: this.#acks };
    this.#changed = new Set();
    this.#acks = [];
    return changes;
  }

  /** Forgets what began before and is over; gives what it forgot. */
  prune(before: number): readonly Episode[] {
    this.#prunedBefore = Math.max(this.#prunedBefore, before);
    const gone: Episode[] = [];
    for (const [key, e] of this.#known) {
      const old = e.kind === 'object' ? e.installedAt : e.startedAt;
      const over = e.kind === 'object' ? e.endedAt : e.finishedAt;
      if (over === null || old >= before) continue;
      this.#known.delete(key);
      gone.push(e);
    }
    return gone;
  }

  #apply(e: EpisodeEvent): void {
    switch (e.kind) {
      case 'connected':
        this.#connected(e);
        return;
      case 'disconnected': {
        const r = this.#replicas.get(e.replicaId);
        if (r === undefined) return;
        r.lostAt = e.at;
        // Its limit is the one death that a replica reports.
        if (e.reason === 'oom') this.#finish(r, 'oom', e.at);
        return;
      }
      case 'replicaDropped': {
        const r = this.#replicas.get(e.replicaId);
        if (r === undefined) return;
        this.#lose(r, r.lostAt ?? e.at);
        this.#replicas.delete(e.replicaId);
        return;
      }
      case 'created':
        this.#created(e);
        return;
      case 'dropped':
        this.#dropped(e);
        return;
      case 'failed': {
        const r = this.#replicas.get(e.replicaId);
        for (const o of r?.open ?? []) if (o.objectId === e.objectId) this.#end(r!, o, 'failed', e.at);
        return;
      }
      case 'reported':
        this.#reported(e);
        return;
    }
  }

  #replica(replicaId: ReplicaId, clusterId: ClusterId): ReplicaState {
    let r = this.#replicas.get(replicaId);
    if (r !== undefined) return r;
    r = {
      clusterId,
      replicaId,
      incarnation: undefined,
      workers: 0,
      greeted: false,
      lostAt: null,
      lives: new Map(),
      open: new Set(),
      current: null,
      lastStart: 0,
      unhydrated: new Set(),
      taking: new Map(),
    };
    this.#replicas.set(replicaId, r);
    return r;
  }

  #objectsOf(clusterId: ClusterId): Set<GlobalId> {
    let objects = this.#objects.get(clusterId);
    if (objects === undefined) this.#objects.set(clusterId, (objects = new Set()));
    return objects;
  }

  // ---- Replicas

  #connected(e: Extract<EpisodeEvent, { kind: 'connected' }>): void {
    const r = this.#replica(e.replicaId, e.clusterId);
    const same = r.incarnation === e.incarnation;
    const known = r.greeted;
    if (!same) this.#lose(r, r.lostAt ?? e.at);
    r.greeted = true;
    r.incarnation = e.incarnation;
    r.workers = e.workers;
    r.lostAt = null;
    if (!same || !known) {
      const hydrated = same ? this.#hydratedOn(e.replicaId) : new Set<GlobalId>();
      for (const id of this.#objectsOf(e.clusterId)) if (!hydrated.has(id)) r.unhydrated.add(id);
    }
    if (!same || r.unhydrated.size > 0) this.#openReplica(r, e.at);
    this.#finishIfHydrated(r, e.at);
  }

  /** Objects whose newest episode there got hydrated, as far as the history knows. */
  #hydratedOn(replicaId: ReplicaId): Set<GlobalId> {
    const newest = new Map<GlobalId, ObjectEpisode>();
    for (const e of this.#known.values()) {
      if (e.kind !== 'object' || e.replicaId !== replicaId) continue;
      if (e.installedAt >= (newest.get(e.objectId)?.installedAt ?? 0)) newest.set(e.objectId, e);
    }
    return new Set([...newest.values()].filter((e) => e.hydratedAt !== null).map((e) => e.objectId));
  }

  /** What was under way there is over, without a word from the replica. */
  #lose(r: ReplicaState, at: number): void {
    for (const e of [...r.open]) this.#end(r, e, 'lost', at);
    this.#finish(r, 'lost', at);
    r.lives.clear();
    r.unhydrated.clear();
  }

  /** Takes the unhydrated objects into the current episode, a new one if there is none. */
  #openReplica(r: ReplicaState, at: number): void {
    if (r.current === null) {
      r.taking.clear();
      // Two within a microsecond are two all the same.
      r.lastStart = Math.max(at, r.lastStart + 1);
      r.current = {
        kind: 'replica',
        clusterId: r.clusterId,
        replicaId: r.replicaId,
        generation: this.#generation,
        startedAt: r.lastStart,
        finishedAt: null,
        objectCount: 0,
        peakBytes: null,
        status: 'hydrating',
      };
      this.#known.set(episodeKey(r.current), r.current);
      this.#changed.add(r.current);
    }
    for (const id of r.unhydrated) if (!r.taking.has(id)) r.taking.set(id, null);
    if (r.taking.size <= r.current.objectCount) return;
    r.current.objectCount = r.taking.size;
    this.#changed.add(r.current);
  }

  #finishIfHydrated(r: ReplicaState, at: number): void {
    if (r.unhydrated.size === 0) this.#finish(r, 'hydrated', at);
  }

  #finish(r: ReplicaState, status: Exclude<ReplicaStatus, 'hydrating'>, at: number): void {
    const e = r.current;
    if (e === null) return;
    r.current = null;
    e.status = status;
    e.finishedAt = Math.max(at, e.startedAt);
    // Where nothing hydrated nothing is known: 0 would say that a replica ran out of memory with nothing in it.
    const known = [...r.taking.values()].filter((b) => b !== null);
    const peaks = known.reduce((sum, b) => sum + b, 0);
    if (known.length > 0 || r.taking.size === 0) e.peakBytes = Math.max(peaks, e.peakBytes ?? 0);
    this.#changed.add(e);
  }

  // ---- Objects of the catalog

  #created({ clusterId, objectId, at }: Extract<EpisodeEvent, { kind: 'created' }>): void {
    this.#objectsOf(clusterId).add(objectId);
    for (const r of this.#replicas.values()) {
      if (r.clusterId !== clusterId || !r.greeted) continue;
      r.unhydrated.add(objectId);
      // One that is away takes it in when it is back.
      if (r.lostAt === null) this.#openReplica(r, at);
    }
  }

  #dropped({ clusterId, objectId, at, end = 'dropped' }: Extract<EpisodeEvent, { kind: 'dropped' }>): void {
    this.#objectsOf(clusterId).delete(objectId);
    for (const r of this.#replicas.values()) {
      if (r.clusterId !== clusterId) continue;
      for (const e of [...r.open]) if (e.objectId === objectId) this.#end(r, e, end, at);
      r.unhydrated.delete(objectId);
      if (r.greeted) this.#finishIfHydrated(r, at);
    }
  }

  // ---- Lives

  #reported(event: Extract<EpisodeEvent, { kind: 'reported' }>): void {
    const { response, writes, at } = event;
    const r = this.#replicas.get(event.replicaId);
    if (r === undefined) return;
    const key = `${response.life} ${response.id}`;
    let life = r.lives.get(key);
    if (life !== undefined && contradicts(life, response)) {
      // A process that calls itself as the one before did.
      if (life.episode !== null) this.#end(r, life.episode, 'lost', at);
      life = undefined;
    }
    if (life === undefined) {
      life = { reports: new WorkerReports(response.id, r.workers), episode: null };
      r.lives.set(key, life);
    }
    for (const stage of response.kind === 'lifecycle' ? [response] : response.stages) {
      life.reports.stage(stage);
      if (stage.stage === 'installed' && stage.worker === 0) life.episode ??= this.#episodeOf(r, stage, at);
    }
    if (response.kind === 'lifeClosed') life.reports.closed(response);
    if (life.episode !== null) this.#derive(r, life.episode, { reports: life.reports, writes, at });
    if (life.reports.isClosed) this.#settle(r, life, at);
  }

  /** The episode that worker 0's installation identifies; a new one opens. Null: it is older than what is kept. */
  #episodeOf(r: ReplicaState, installed: LifecycleResponse, at: number): ObjectEpisode | null {
    const e: ObjectEpisode = {
      kind: 'object',
      objectId: installed.id,
      clusterId: r.clusterId,
      replicaId: r.replicaId,
      generation: this.#generation,
      installedAt: installed.occurredAt,
      asOf: installed.asOf,
      startedAt: null,
      hydratedAt: null,
      unblockedAt: null,
      writtenAt: null,
      endedAt: null,
      end: null,
      peakBytes: null,
    };
    const key = episodeKey(e);
    const known = this.#known.get(key);
    if (known !== undefined) return known as ObjectEpisode;
    if (e.installedAt < this.#prunedBefore) return null;
    // One life at a time: what is still open under this id ended without a word.
    for (const o of [...r.open]) if (o.objectId === e.objectId) this.#end(r, o, 'lost', at);
    this.#known.set(key, e);
    r.open.add(e);
    this.#changed.add(e);
    if (!this.#objectsOf(r.clusterId).has(e.objectId)) this.#end(r, e, 'dropped', at);
    else {
      r.unhydrated.add(e.objectId);
      this.#openReplica(r, at);
    }
    return e;
  }

  /** Brings an episode to what the workers have said. What is set stays as it is. */
  #derive(
    r: ReplicaState,
    e: ObjectEpisode,
    {
      reports,
      writes,
      at,
    }: { readonly reports: WorkerReports; readonly writes: boolean | undefined; readonly at: number },
  ): void {
    const { hydratedAt } = e;
    // Another worker may have installed, and started, before worker 0 did.
    this.#set(e, 'startedAt', reports.startedAt && Math.max(reports.startedAt, e.installedAt));
    this.#set(e, 'hydratedAt', reports.hydratedAt);
    this.#set(e, 'unblockedAt', reports.unblockedAt);
    if (e.hydratedAt !== null && reports.writtenAt !== null)
      this.#set(e, 'writtenAt', Math.max(reports.writtenAt, e.hydratedAt));
    const peak = reports.peakBytes;
    if (peak !== null && peak > (e.peakBytes ?? -1)) {
      e.peakBytes = peak;
      this.#change(e);
    }
    if (r.taking.has(e.objectId)) r.taking.set(e.objectId, e.peakBytes);
    if (e.hydratedAt === null) return;
    // A drop that was faster than the reports of what came before it.
    if (e.endedAt !== null && e.endedAt < latestInstant(e)) {
      e.endedAt = latestInstant(e);
      this.#change(e);
    }
    if (e.writtenAt !== null) this.#over(r, e, e.writtenAt);
    else if (writes === false) this.#over(r, e, e.hydratedAt);
    if (hydratedAt !== null) return;
    r.unhydrated.delete(e.objectId);
    this.#finishIfHydrated(r, Math.max(at, e.hydratedAt));
  }

  #set(
    e: ObjectEpisode,
    field: 'startedAt' | 'hydratedAt' | 'unblockedAt' | 'writtenAt',
    value: number | null,
  ): void {
    if (e[field] !== null || value === null) return;
    e[field] = value;
    this.#change(e);
  }

  #change(e: ObjectEpisode): void {
    if (this.#known.get(episodeKey(e)) === e) this.#changed.add(e);
  }

  #over(r: ReplicaState, e: ObjectEpisode, at: number): void {
    r.open.delete(e);
    if (e.endedAt !== null) return;
    e.endedAt = at;
    this.#change(e);
  }

  #end(r: ReplicaState, e: ObjectEpisode, how: ObjectEnd, at: number): void {
    if (e.endedAt === null) e.end = how;
    this.#over(r, e, Math.max(at, latestInstant(e)));
  }

  /** Every worker has closed it: nothing more will be said of it. */
  #settle(r: ReplicaState, life: Life, at: number): void {
    const { sequence, objectId } = life.reports;
    const maintained = this.#objectsOf(r.clusterId).has(objectId);
    if (life.episode !== null) this.#end(r, life.episode, maintained ? 'lost' : 'dropped', at);
    // Workers close lives in one order: all of those before are closed on all workers too.
    for (const [key, l] of r.lives)
      if (l.reports.sequence !== undefined && l.reports.sequence <= sequence!) r.lives.delete(key);
    for (let worker = 0; worker < r.workers; worker++)
      this.#acks.push({ replicaId: r.replicaId, worker, sequence: sequence! });
  }
}

function contradicts(life: Life, r: LifecycleResponse | LifeClosedResponse): boolean {
  const told = r.kind === 'lifeClosed' ? r.installedAt : r.stage === 'installed' ? r.occurredAt : undefined;
  const known = life.reports.installedAt(r.worker);
  return told !== undefined && known !== undefined && told !== known;
}
