/**
 * Is every replica hydrated, and if not, which object is late, in which stage, and why. Read from what replicas reported about lives, never by
 * sampling. A cluster without replicas blocks nobody; an object whose output is sealed is done.
 */
import { SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { CatalogItem } from '../catalog/catalog-reader.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import { isEmpty } from '../time/timestamp.ts';
import { SYSTEM_CLUSTER } from './clusters.ts';
import type { Environment } from './environment.ts';

export type LateReason = 'replica_lost' | 'installing' | 'waiting_for_inputs' | 'computing' | 'failed';

/** An object that is not hydrated on a replica. */
export interface Late {
  readonly objectId: GlobalId;
  readonly name: string;
  readonly clusterId: ClusterId;
  readonly replicaId: ReplicaId;
  /** The last stage that all workers reached. */
  readonly stage: LifecycleStage | null;
  readonly reason: LateReason;
  /** Microseconds since the epoch when the stage was reached; null before the first. */
  readonly since: number | null;
  /** The input that is furthest behind, by id; null where no input is. */
  readonly blockedBy: GlobalId | null;
}

export interface Readiness {
  readonly ready: boolean;
  readonly missing: readonly Late[];
}

/** Of one cluster, or of all. */
export function readiness(env: Environment, cluster?: string): Readiness {
  const clusters = [...env.catalog.clusters()].filter((c) => c.id !== SYSTEM_CLUSTER.id);
  if (cluster !== undefined && !clusters.some((c) => c.name === cluster))
    throw new SqlError('undefined_object', `unknown cluster '${cluster}'`);
  const missing: Late[] = [];
  for (const c of clusters) {
    if (cluster !== undefined && c.name !== cluster) continue;
    for (const r of c.replicas)
      for (const item of maintainedItems(env, c.id)) {
        const late = lateness(env, c.id, r, item);
        if (late !== null) missing.push(late);
      }
  }
  return { ready: missing.length === 0, missing };
}

/** Indexes and materialized views of users in a cluster. */
function maintainedItems(env: Environment, clusterId: ClusterId): readonly CatalogItem[] {
  const out: CatalogItem[] = [];
  for (const { item, entity } of env.catalog.loadedItems())
    if (entity?.clusterId === clusterId && (item.kind === 'index' || item.kind === 'materialized-view'))
      out.push(item);
  return out;
}

function lateness(
  env: Environment,
  clusterId: ClusterId,
  replica: { readonly id: ReplicaId; readonly workers: number },
  item: CatalogItem,
): Late | null {
  const { collections } = env;
  if (item.kind === 'materialized-view' && collections.has(item.id) && isEmpty(collections.upper(item.id)))
    return null;
  const instance = env.instance(clusterId);
  const life = instance.lives.rollup(replica.id, item.id, replica.workers);
  if (life.hydratedAt !== null) return null;
  const connected = instance.replicas.some((r) => r.id === replica.id);
  const blockedBy = life.startedAt === null ? instance.waitsFor(item.id) : null;
  const reason: LateReason = !connected
    ? 'replica_lost'
    : instance.failure(item.id) !== undefined
      ? 'failed'
      : life.installedAt === null
        ? 'installing'
        : life.startedAt === null
          ? 'waiting_for_inputs'
          : 'computing';
  return {
    objectId: item.id,
    name: item.name.item,
    clusterId,
    replicaId: replica.id,
    stage: life.stage,
    reason,
    since: life.startedAt ?? life.installedAt,
    blockedBy,
  };
}

/** One line for people. */
export function describeLate(l: Late): string {
  const why = l.blockedBy === null ? '' : ` (waits for ${l.blockedBy})`;
  return `${l.name} on replica ${l.replicaId}: ${l.stage ?? 'not installed'}, ${l.reason}${why}`;
}
