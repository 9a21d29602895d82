/**
 * ALTER CLUSTER … SET and RESET. The replicas of a managed cluster follow from its size and factor: those that fit stay, the others
 * are replaced. New ones are there before old ones go, so that a query that may run anywhere moves over. A change of
 * introspection restarts all.
 */
import { SqlError } from '../../base/error.ts';
import type { ClusterId } from '../../base/ids.ts';
import type { ClusterEntity, Entity, ReplicaEntity } from '../../catalog/entities.ts';
import type { AlterPlan, Options } from '../../plan/statement/plan.ts';
import type { Environment } from '../environment.ts';
import { managedNames, newReplicas, refuseSystem, replicationFactor } from './clusters.ts';
import { replacedBy } from './create.ts';
import {
  CLUSTER_OPTIONS,
  flag,
  introspectionInterval,
  memoryLimit,
  onlyOptions,
  replicaSize,
} from './options.ts';

type Change = Extract<AlterPlan, { kind: 'alterSet' | 'alterReset' }>;

/** What RESET gives; a size has no default. */
const DEFAULTS: Options = {
  'replication factor': 1,
  'introspection interval': '1s',
  'introspection debugging': false,
  managed: true,
  'memory limit': false,
};

export async function alterCluster(env: Environment, plan: Change): Promise<void> {
  const id = plan.object.id as ClusterId;
  refuseSystem(id);
  const options = plan.kind === 'alterSet' ? plan.options : resetOptions(plan.options);
  onlyOptions(options, CLUSTER_OPTIONS, 'a cluster');
  const before = env.catalog.get('cluster', id)!;
  const replicas = env.catalog.replicasOf(id);
  const cluster = changed(before, options, replicas);
  const { gone, missing } = toReplace(cluster, options, replicas);
  const own = (name: string) => ({
    name,
    ...replicaSize(cluster.size!),
    ...(cluster.memoryLimitBytes !== undefined && { memoryLimitBytes: cluster.memoryLimitBytes }),
  });
  const made = newReplicas(env, id, missing.map(own));
  const put: Entity[] = [cluster, ...made.entities];
  await env.transact({ remove: [...replacedBy(env, put), ...gone, ...env.catalog.commentsOn(gone)], put });
  for (const r of made.replicas) env.clusters.startReplica(id, r);
  for (const r of gone) await env.clusters.stopReplica(r.id);
  await env.clusters.clusterChanged(before, cluster);
}

function resetOptions(names: readonly string[]): Options {
  if (names.includes('size'))
    throw new SqlError('invalid_parameter_value', 'SIZE has no default to reset it to');
  onlyOptions(Object.fromEntries(names.map((n) => [n, true])), CLUSTER_OPTIONS, 'a cluster');
  return Object.fromEntries(names.map((n) => [n, DEFAULTS[n]!]));
}

function changed(before: ClusterEntity, options: Options, replicas: readonly ReplicaEntity[]): ClusterEntity {
  const managed = options['managed'] === undefined ? before.size !== null : flag(options, 'managed');
  const { memoryLimitBytes, ...rest } = before;
  return {
    ...rest,
    ...('memory limit' in options || !managed
      ? memoryLimit(options)
      : memoryLimitBytes !== undefined && { memoryLimitBytes }),
    size: managed ? managedSize(before, options, replicas) : unmanagedSize(before, options),
    ...('introspection interval' in options && { introspectionIntervalMs: introspectionInterval(options) }),
    ...('introspection debugging' in options && {
      introspectionDebugging: flag(options, 'introspection debugging'),
    }),
  };
}

function unmanagedSize(before: ClusterEntity, options: Options): null {
  for (const o of ['size', 'replication factor', 'memory limit'])
    if (o in options)
      throw new SqlError(
        'object_not_in_prerequisite_state',
        `cannot change ${o.toUpperCase()} of unmanaged cluster "${before.name}"`,
        { hint: 'use CREATE CLUSTER REPLICA and DROP CLUSTER REPLICA, or SET (MANAGED, SIZE = …)' },
      );
  return null;
}

/** A cluster that becomes managed has the size that all of its replicas have, unless one is given. */
function managedSize(before: ClusterEntity, options: Options, replicas: readonly ReplicaEntity[]): string {
  if (options['size'] !== undefined) return replicaSize(options['size']).size;
  if (before.size !== null) return before.size;
  const sizes = new Set(replicas.map((r) => r.size));
  const [size] = sizes;
  if (size === undefined || sizes.size > 1)
    throw new SqlError('invalid_parameter_value', `cluster "${before.name}" needs a SIZE to be managed`);
  return size;
}

function toReplace(
  cluster: ClusterEntity,
  options: Options,
  replicas: readonly ReplicaEntity[],
): { readonly gone: readonly ReplicaEntity[]; readonly missing: readonly string[] } {
  if (cluster.size === null) return { gone: [], missing: [] };
  const { size, memoryLimitBytes } = cluster;
  const wanted = managedNames(replicationFactor(options) ?? replicas.length);
  const stays = replicas.filter(
    (r) =>
      r.size === size &&
      r.memoryLimitBytes === memoryLimitBytes &&
      r.introspection === undefined &&
      wanted.includes(r.name),
  );
  return {
    gone: replicas.filter((r) => !stays.includes(r)),
    missing: wanted.filter((name) => !stays.some((r) => r.name === name)),
  };
}
