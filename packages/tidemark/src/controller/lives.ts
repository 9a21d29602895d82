/**
 * What the replicas of one cluster reported about the lives of their exports: every stage of every worker, from
 * `lifecycle` responses, also with introspection off. Readiness and the library's event stream read it.
 * Receiving a stage again changes nothing: replicas repeat them after a reconnect.
 */
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { LifecycleResponse } from '../compute/protocol.ts';
import { type LifecycleStage, STAGE_NAMES } from '../introspection/lifecycle.ts';

export interface LifecycleEvent {
  readonly objectId: GlobalId;
  readonly replicaId: ReplicaId;
  readonly worker: number;
  readonly stage: LifecycleStage;
  /** Microseconds since the epoch, by the worker's clock. */
  readonly occurredAt: number;
  readonly reason: string | null;
  readonly asOf: number;
  /** It was told before: the replica repeats what lives after each connection. */
  readonly repeated: boolean;
}

/** Instants over the workers of a replica, in microseconds; each set only when every worker reported the stage. */
export interface LifeRollup {
  readonly installedAt: number | null;
  readonly startedAt: number | null;
  readonly hydratedAt: number | null;
  /** Entered and left once hydrated, on one worker. */
  readonly writeBlockedAt: number | null;
  readonly writeUnblockedAt: number | null;
  /** At or after `hydratedAt`: workers' clocks differ, durable is never before computed. */
  readonly writtenAt: number | null;
  /** The last stage that all workers reached (a stage of object grain: that one did). */
  readonly stage: LifecycleStage | null;
  /** How many workers reported it. */
  readonly installedOn: number;
  readonly hydratedOn: number;
  readonly asOf: number | null;
}

/** Of what no worker has reported. */
export const NO_LIFE: LifeRollup = {
  installedAt: null,
  startedAt: null,
  hydratedAt: null,
  writeBlockedAt: null,
  writeUnblockedAt: null,
  writtenAt: null,
  stage: null,
  installedOn: 0,
  hydratedOn: 0,
  asOf: null,
};

class Life {
  readonly events: LifecycleEvent[] = [];
  /** The place of each event among all of the cluster. */
  readonly places: number[] = [];
  readonly #seen = new Set<string>();

  add(event: LifecycleEvent, place: number): boolean {
    const key = `${event.worker} ${event.stage}`;
    if (this.#seen.has(key)) return false;
    this.#seen.add(key);
    this.events.push(event);
    this.places.push(place);
    return true;
  }

  has(r: LifecycleResponse): boolean {
    return this.events.some(
      (e) => e.worker === r.worker && e.stage === r.stage && e.occurredAt === r.occurredAt,
    );
  }

  rollup(workers: number): LifeRollup {
    // The denominator is the number of workers, never the number of rows that came: a busy worker installs late.
    const all = (stage: LifecycleStage, pick: (...ts: number[]) => number): number | null => {
      const ts = this.events.filter((e) => e.stage === stage).map((e) => e.occurredAt);
      return ts.length < workers ? null : pick(...ts);
    };
    const installedAt = all('installed', Math.min);
    const startedAt = all('started', Math.min);
    const hydratedAt = all('hydrated', Math.max);
    const once = (stage: LifecycleStage): number | null =>
      this.events.find((e) => e.stage === stage)?.occurredAt ?? null;
    const written = once('written');
    const writtenAt = written === null || hydratedAt === null ? null : Math.max(written, hydratedAt);
    const writeBlockedAt = hydratedAt && once('write_blocked');
    const writeUnblockedAt = hydratedAt && once('write_unblocked');
    const reached: Record<LifecycleStage, number | null> = {
      installed: installedAt,
      started: startedAt,
      hydrated: hydratedAt,
      write_blocked: writeBlockedAt,
      write_unblocked: writeUnblockedAt,
      written: writtenAt,
    };
    const stage = STAGE_NAMES.findLast((s) => reached[s] !== null) ?? null;
    const on = (s: LifecycleStage): number => this.events.filter((e) => e.stage === s).length;
    return {
      installedAt,
      startedAt,
      hydratedAt,
      writeBlockedAt,
      writeUnblockedAt,
      writtenAt,
      stage,
      installedOn: on('installed'),
      hydratedOn: on('hydrated'),
      asOf: this.events[0]?.asOf ?? null,
    };
  }
}

export class Lives {
  readonly #replicas = new Map<ReplicaId, Map<GlobalId, Life>>();
  /** What was known of a replica when its connection was lost: it may come back and repeat it. */
  readonly #before = new Map<ReplicaId, Map<GlobalId, Life>>();
  readonly #incarnations = new Map<ReplicaId, string>();
  readonly #listeners = new Set<(event: LifecycleEvent) => void>();
  #received = 0;

  /** The replica's first answer: the same incarnation goes on, another one knows nothing of what was before it. */
  begin(replicaId: ReplicaId, incarnation: string): void {
    if (this.#incarnations.get(replicaId) === incarnation) return;
    this.#incarnations.set(replicaId, incarnation);
    this.#before.delete(replicaId);
  }

  /** Of the replica's process, as it last said; undefined: it has not answered yet. */
  incarnation(replicaId: ReplicaId): string | undefined {
    return this.#incarnations.get(replicaId);
  }

  receive(replicaId: ReplicaId, r: LifecycleResponse): void {
    let objects = this.#replicas.get(replicaId);
    if (objects === undefined) this.#replicas.set(replicaId, (objects = new Map()));
    let life = objects.get(r.id);
    if (life === undefined) objects.set(r.id, (life = new Life()));
    const event: LifecycleEvent = {
      objectId: r.id,
      replicaId,
      worker: r.worker,
      stage: r.stage,
      occurredAt: r.occurredAt,
      reason: r.reason,
      asOf: r.asOf,
      repeated: this.#before.get(replicaId)?.get(r.id)?.has(r) ?? false,
    };
    if (life.add(event, this.#received++)) for (const f of [...this.#listeners]) f(event);
  }

  /** The export was dropped. */
  forget(id: GlobalId): void {
    for (const objects of this.#replicas.values()) objects.delete(id);
  }

  /** Its episode on one replica ended; another one begins. */
  endEpisode(replicaId: ReplicaId, id: GlobalId): void {
    this.#replicas.get(replicaId)?.delete(id);
  }

  /** The replica is away; where it will not come back, nothing is kept of it. */
  forgetReplica(replicaId: ReplicaId, mayReturn: boolean): void {
    const known = this.#replicas.get(replicaId);
    this.#replicas.delete(replicaId);
    if (!mayReturn) {
      this.#before.delete(replicaId);
      this.#incarnations.delete(replicaId);
    } else if (known !== undefined) this.#before.set(replicaId, known);
  }

  rollup(replicaId: ReplicaId, id: GlobalId, workers: number): LifeRollup {
    return this.#replicas.get(replicaId)?.get(id)?.rollup(workers) ?? NO_LIFE;
  }

  /** Everything reported of living exports so far, in order of arrival. */
  events(): readonly LifecycleEvent[] {
    const all: { readonly event: LifecycleEvent; readonly place: number }[] = [];
    for (const objects of this.#replicas.values())
      for (const life of objects.values())
        for (const [i, event] of life.events.entries()) all.push({ event, place: life.places[i]! });
    return all.sort((a, b) => a.place - b.place).map((e) => e.event);
  }

  subscribe(listener: (event: LifecycleEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
