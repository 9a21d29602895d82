/** Where everything stands, for people and their tools: replicas, and each object with why it is not done and how long each part of its life took. */
import { nowMicros } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { systemId } from '../base/ids.ts';
import { BUILTIN_TABLES } from '../catalog/builtins/tables.ts';
import type { CatalogItem } from '../catalog/catalog-reader.ts';
import type { Datum } from '../repr/types.ts';
import type { Environment } from './environment.ts';
import type { Instant } from './hydration/facts.ts';
import type { ClusterState, ReplicaState } from './hydration/hydration.ts';
import { intervalsOf } from './hydration/intervals.ts';
import type { Blocker, Judged } from './hydration/verdicts.ts';
import { nameOf } from './names.ts';
import { probeReadiness } from './readiness.ts';

/** Durations in milliseconds: null where that part has not begun or there is none, and up to now where it goes on. */
export interface ObjectStatus {
  readonly id: string;
  readonly name: string | null;
  readonly kind: CatalogItem['kind'] | null;
  /** The last stage that all workers reached. */
  readonly stage: string | null;
  /** Why it is not done, as in `mz_hydration_blockers`; null: it is. */
  readonly reason: string | null;
  readonly since: string | null;
  /** By name. */
  readonly blockedBy: string | null;
  readonly details: Blocker['details'];
  /** Of the snapshot, as in `mz_hydration_progress`; null: not known. */
  readonly rowsDone: number | null;
  readonly rowsTotal: number | null;
  readonly queueMs: number | null;
  readonly computeMs: number | null;
  readonly blockedMs: number | null;
  readonly writeMs: number | null;
}

export interface ReplicaStatus {
  readonly id: string;
  readonly name: string | null;
  readonly workers: number;
  readonly connected: boolean;
  readonly hydrated: boolean;
  readonly reason: string | null;
  /** When all was hydrated, by the workers' clocks; when the replica was lost. */
  readonly since: string | null;
  readonly hydratedObjects: number;
  /** By name. */
  readonly slowest: string | null;
  readonly objects: readonly ObjectStatus[];
}

export interface ClusterStatus {
  readonly id: string;
  readonly name: string;
  readonly replicas: readonly ReplicaStatus[];
  /** Of a cluster without replicas: its objects, which nothing maintains. */
  readonly waiting: readonly string[];
}

export interface StatusReport {
  /** As `/api/readyz` says it. */
  readonly ready: boolean;
  readonly missing: readonly {
    readonly name: string | null;
    readonly replicaId: string;
    readonly reason: string;
  }[];
  readonly at: string;
  readonly clusters: readonly ClusterStatus[];
}

export async function statusReport(
  env: Environment,
  options: { readonly cluster?: string } = {},
): Promise<StatusReport> {
  const { ready, missing } = await probeReadiness(env, options);
  env.hydration.refreshQueue();
  const clusters: ClusterStatus[] = [];
  for (const c of env.hydration.clusters.values()) {
    const name = env.catalog.clusterById(c.id)?.name;
    if (name === undefined || (options.cluster !== undefined && options.cluster !== name)) continue;
    clusters.push(clusterStatus(env, c, name));
  }
  if (options.cluster !== undefined && clusters.length === 0)
    throw new SqlError('undefined_object', `unknown cluster '${options.cluster}'`);
  return {
    ready,
    missing: missing.map(({ name, replicaId, reason }) => ({ name, replicaId, reason })),
    at: new Date(env.options.clock.nowMs()).toISOString(),
    clusters,
  };
}

const iso = (at: Instant | null): string | null => (at === null ? null : new Date(at / 1000).toISOString());
function clusterStatus(env: Environment, c: ClusterState, name: string): ClusterStatus {
  const entry = env.catalog.clusterById(c.id)!;
  const objects = [...c.objects.values()];
  return {
    id: c.id,
    name,
    replicas: [...c.replicas.values()].map((r, i) => {
      const replicaName = entry.replicas.find((e) => e.id === r.facts.id)?.name ?? null;
      const judged = objects.flatMap((o) => o.judged[i] ?? []);
      return replicaStatus(env, { ...r, name: replicaName }, judged);
    }),
    waiting: c.replicas.size > 0 ? [] : objects.map((o) => nameOf(env.catalog, o.id)),
  };
}

function replicaStatus(
  env: Environment,
  r: ReplicaState & { readonly name: string | null },
  judged: readonly Judged[],
): ReplicaStatus {
  const { verdict, facts } = r;
  const progress = progressOf(env);
  return {
    id: facts.id,
    name: r.name,
    workers: facts.workers,
    connected: facts.connected,
    hydrated: verdict?.hydrated ?? false,
    reason: verdict?.reason ?? null,
    since: iso(facts.connected ? (verdict?.hydratedAt ?? null) : facts.since),
    hydratedObjects: verdict?.hydratedObjects ?? 0,
    slowest: nameOf(env.catalog, verdict?.slowest ?? null),
    objects: judged.map((j) => objectStatus(env, j, progress.get(`${facts.id} ${j.facts.objectId}`))),
  };
}

interface Progress {
  readonly rowsDone: number | null;
  readonly rowsTotal: number | null;
}

const PROGRESS = BUILTIN_TABLES.find((t) => t.name === 'mz_hydration_progress')!;

/** By replica and object. */
function progressOf(env: Environment): ReadonlyMap<string, Progress> {
  const at = (name: string): number => PROGRESS.columns.findIndex((c) => c.name === name);
  const [object, replica, done, total] = ['object_id', 'replica_id', 'rows_done', 'rows_total'].map(at);
  const count = (d: Datum): number | null => (d === null ? null : Number(d));
  return new Map(
    env
      .builtinRows(systemId(PROGRESS.number))
      .map((r) => [
        `${String(r[replica!])} ${String(r[object!])}`,
        { rowsDone: count(r[done!]!), rowsTotal: count(r[total!]!) },
      ]),
  );
}

const UNKNOWN: Progress = { rowsDone: null, rowsTotal: null };

function objectStatus(
  env: Environment,
  { facts, blocker }: Judged,
  progress: Progress = UNKNOWN,
): ObjectStatus {
  const now = nowMicros(env.options.clock);
  const { queue, compute, blocked, write } = intervalsOf(facts.life, { writes: facts.writes, now });
  const ms = (us: number | null): number | null => (us === null ? null : Math.round(us) / 1000);
  return {
    id: facts.objectId,
    name: nameOf(env.catalog, facts.objectId),
    kind: env.catalog.item(facts.objectId)?.kind ?? null,
    stage: facts.lastStage,
    reason: blocker?.reason ?? null,
    since: iso(blocker?.since ?? null),
    blockedBy: nameOf(env.catalog, blocker?.blockedBy ?? null),
    details: blocker?.details ?? null,
    ...progress,
    queueMs: ms(queue),
    computeMs: ms(compute),
    blockedMs: ms(blocked),
    writeMs: ms(write),
  };
}
