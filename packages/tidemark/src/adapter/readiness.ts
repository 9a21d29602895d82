/**
 * Is every replica hydrated and close to now, and if not, which object is late, in which stage, and why. It remembers: a replica that
 * this process saw go is ready only when it has been hydrated for a while, so that one that restarts again and again never is. A clean first
 * start is ready at once. What is only not durable yet, or may not write, is ready; a cluster without replicas keeps nobody waiting.
 */
import { instantOf } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import type { Environment } from './environment.ts';
import type { ClusterState, ReplicaState } from './hydration/hydration.ts';
import { lagMs } from './hydration/lag.ts';
import { type Blocker, type BlockerReason, keepsFromHydrated } from './hydration/verdicts.ts';
import { nameOf, replicaName } from './names.ts';

export interface ReadinessOptions {
  /** All clusters if absent. */
  readonly cluster?: string;
  /** How long a replica that was lost must have been hydrated. */
  readonly stableForMs?: number;
  /** How far an object may be behind what it reads. */
  readonly maxLagMs?: number;
}

const DEFAULT_STABLE_FOR_MS = 10_000;
/** The tables' clock ticks once a second, and everything follows it. */
const DEFAULT_MAX_LAG_MS = 1000;
/** Right after a tick of the tables everything is one tick behind, for as long as it takes to follow. */
const FOLLOW_MS = 250;

/** `unstable`: hydrated, not for long enough after a loss. `lagging`: hydrated, too far behind what it reads. */
export type MissingReason = BlockerReason | 'unstable' | 'lagging';

/** An object that is not ready on a replica; without an object it is the replica itself. */
export interface Missing {
  readonly objectId: GlobalId | null;
  readonly name: string | null;
  readonly clusterId: ClusterId;
  readonly replicaId: ReplicaId;
  /** `cluster.replica`. */
  readonly replica: string;
  /** The last stage that all workers reached. */
  readonly stage: LifecycleStage | null;
  readonly reason: MissingReason;
  /** Microseconds since the epoch; null where nothing began. */
  readonly since: number | null;
  /** The object that it waits for. */
  readonly blockedBy: GlobalId | null;
  readonly blockedByName: string | null;
  readonly details: Blocker['details'];
}

export interface Readiness {
  readonly ready: boolean;
  /** Empty exactly if ready. */
  readonly missing: readonly Missing[];
  /** Names of clusters that have no replica, and so keep nobody waiting. */
  readonly clustersWithoutReplica: readonly string[];
}

interface Bounds {
  readonly stableForMs: number;
  readonly maxLagMs: number;
}

/** At this moment. */
export function readiness(env: Environment, options: ReadinessOptions = {}): Readiness {
  const { cluster, stableForMs = DEFAULT_STABLE_FOR_MS, maxLagMs = DEFAULT_MAX_LAG_MS } = options;
  env.hydration.refresh();
  if (cluster !== undefined && !isUserCluster(env, cluster))
    throw new SqlError('undefined_object', `unknown cluster '${cluster}'`);
  const missing: Missing[] = [];
  const clustersWithoutReplica: string[] = [];
  for (const c of env.hydration.clusters.values()) {
    const name = env.catalog.clusterById(c.id)?.name;
    if (name === undefined || (cluster !== undefined && name !== cluster)) continue;
    if (c.replicas.size === 0) clustersWithoutReplica.push(name);
    for (const [i, r] of [...c.replicas.values()].entries())
      missing.push(
        ...unloadedOn(env, c.id, r.facts.id),
        ...missingOn(env, c, { index: i, ...r }, { stableForMs, maxLagMs }),
      );
  }
  return { ready: missing.length === 0, missing, clustersWithoutReplica };
}

function isUserCluster(env: Environment, name: string): boolean {
  const c = env.catalog.cluster(name);
  return c !== undefined && env.hydration.clusters.has(c.id);
}

/** What the catalog does not have, because this version cannot read its statement: nothing else knows of it. */
function unloadedOn(env: Environment, clusterId: ClusterId, replicaId: ReplicaId): readonly Missing[] {
  return [...env.unloaded.values()]
    .filter(({ entity }) => entity.clusterId === clusterId)
    .map(({ entity: { id, name }, message }) => ({
      ...{ objectId: id, name, clusterId, replicaId, replica: replicaName(env.catalog, replicaId) },
      ...{ stage: null, reason: 'failed', since: null, blockedBy: null, blockedByName: null },
      details: { error: message },
    }));
}

function missingOn(
  env: Environment,
  c: ClusterState,
  r: ReplicaState & { readonly index: number },
  bounds: Bounds,
): readonly Missing[] {
  const base = { clusterId: c.id, replicaId: r.facts.id, replica: replicaName(env.catalog, r.facts.id) };
  const none = { objectId: null, name: null, stage: null, blockedBy: null, blockedByName: null };
  const out: Missing[] = [];
  for (const o of c.objects.values()) {
    const { blocker } = o.judged[r.index]!;
    if (blocker === null || !keepsFromHydrated(blocker)) continue;
    const { stage, reason, since, blockedBy, details } = blocker;
    const names = { name: nameOf(env.catalog, o.id), blockedByName: nameOf(env.catalog, blockedBy) };
    out.push({ ...base, ...names, objectId: o.id, stage, reason, since, blockedBy, details });
  }
  if (out.length > 0) return out;
  if (!r.facts.connected)
    return [{ ...base, ...none, reason: 'replica_lost', since: r.facts.since, details: null }];
  const leftMs = unstableForMs(env, r, bounds.stableForMs);
  if (leftMs > 0) {
    const details = { stable_for_ms: bounds.stableForMs, left_ms: Math.ceil(leftMs) };
    return [
      {
        ...base,
        ...none,
        reason: 'unstable',
        since: instantOf(env.options.clock.nowMs() - bounds.stableForMs + leftMs),
        details,
      },
    ];
  }
  for (const o of c.objects.values()) {
    const { facts, blocker } = o.judged[r.index]!;
    // Until its first write a view's progress is that of its shard, and it is ready once computed.
    if (blocker?.reason === 'writing') continue;
    const lag = facts.sealed ? 0 : lagMs(env, { ...base, exportId: o.exportId });
    if (lag <= bounds.maxLagMs) continue;
    const details = { lag_ms: Math.round(lag), max_lag_ms: bounds.maxLagMs };
    const { stage } = facts.life;
    out.push({
      ...base,
      ...none,
      objectId: o.id,
      name: nameOf(env.catalog, o.id),
      stage,
      reason: 'lagging',
      since: null,
      details,
    });
  }
  return out;
}

/**
 * How much longer a replica that was lost must stay hydrated; 0 once it has, whatever is created afterwards, and for one that never was
 * lost.
 */
function unstableForMs(env: Environment, r: ReplicaState, stableForMs: number): number {
  if (!r.lossSeen || r.hydratedSinceNs === null || r.longestHydratedNs / 1e6 >= stableForMs) return 0;
  return Math.max(0, stableForMs - (env.options.clock.monotonicNs() - r.hydratedSinceNs) / 1e6);
}

export interface WaitOptions extends ReadinessOptions {
  readonly timeoutMs?: number;
  /** Ends the wait with what is missing then. */
  readonly signal?: AbortSignal;
}

/** Once ready, or what is missing when time is up. Woken by what happens: nothing is asked again and again. */
export function awaitReadiness(env: Environment, options: WaitOptions): Promise<Readiness> {
  return lastAnswer(env, {
    ...options,
    ask: () => readiness(env, options),
    isOver: (now) => now.ready,
    againMs: (now) => Math.min(...now.missing.map((m) => Number(m.details?.['left_ms'] ?? Infinity))),
  });
}

interface Question<T> extends Pick<WaitOptions, 'timeoutMs' | 'signal'> {
  readonly ask: () => T;
  readonly isOver: (answer: T) => boolean;
  /** When to ask again though nothing moves; Infinity: not. */
  readonly againMs: (answer: T) => number;
}

/** Asks as things move, until it is over, or the time is, or who asks gives up. */
async function lastAnswer<T>(env: Environment, o: Question<T>): Promise<T> {
  const { timeoutMs, signal } = o;
  const { timers } = env.options;
  let expired = false;
  let wake: () => void = () => undefined;
  const onChange = (): void => wake();
  // What moves: lives and the catalog; frontiers, for the lag.
  const stops = [env.hydration.onChange(onChange), env.hydration.onProgress(onChange)];
  signal?.addEventListener('abort', onChange);
  const expire = (): void => {
    expired = true;
    wake();
  };
  if (timeoutMs !== undefined) stops.push(timers.after(timeoutMs, expire));
  try {
    for (;;) {
      const answer = o.ask();
      if (expired || signal?.aborted || o.isOver(answer)) return answer;
      const againMs = o.againMs(answer);
      const cancel = againMs < Infinity ? timers.after(againMs, onChange) : undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
      cancel?.();
    }
  } finally {
    for (const stop of stops) stop();
    signal?.removeEventListener('abort', onChange);
  }
}

/** As a probe wants it: at this moment, and what only follows a tick of the tables has the time to. */
export function probeReadiness(env: Environment, options: ReadinessOptions): Promise<Readiness> {
  const isOver = (r: Readiness): boolean => r.missing.every((m) => m.reason !== 'lagging');
  return onceFollowed(env, () => readiness(env, options), isOver);
}

/** The answer, once it is over or what follows a tick of the tables has had the time to. */
export function onceFollowed<T>(env: Environment, ask: () => T, isOver: (answer: T) => boolean): Promise<T> {
  return lastAnswer(env, { ask, isOver, timeoutMs: FOLLOW_MS, againMs: () => Infinity });
}

/** One line for people. */
export function describeMissing(m: Missing): string {
  const what = m.name === null ? `replica ${m.replica}` : `${m.name} on replica ${m.replica}`;
  const stage = m.name === null ? '' : `${m.stage ?? 'not installed'}, `;
  const why = m.blockedBy === null ? '' : ` (waits for ${m.blockedByName})`;
  return `${what}: ${stage}${m.reason}${why}`;
}
