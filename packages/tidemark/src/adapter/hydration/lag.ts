/** How far an object on a replica is behind what it reads, in milliseconds of data time. */
import type { ClusterId, GlobalId, ReplicaId } from '../../base/ids.ts';
import type { ComputeInstance } from '../../controller/instance.ts';
import { EMPTY, type Frontier } from '../../time/timestamp.ts';
import type { HydrationWorld } from './hydration.ts';

/**
 * The lesser of now and the least upper of the shards that it reads, through indexes too, minus its own progress. What reads only
 * sealed shards, or none, is complete and has no lag.
 */
export function lagMs(
  world: Pick<HydrationWorld, 'clusters' | 'collections' | 'options'>,
  of: { readonly clusterId: ClusterId; readonly replicaId: ReplicaId; readonly exportId: GlobalId },
): number {
  const instance = world.clusters.instances.get(of.clusterId);
  const replica = instance?.replicas.find((r) => r.id === of.replicaId);
  if (instance === undefined || replica === undefined) return Number.POSITIVE_INFINITY;
  const upper = leastUpper(world, instance, of.exportId, of.replicaId);
  const progress = replica.output(of.exportId);
  if (upper === EMPTY || progress === EMPTY) return 0;
  return Math.max(0, Math.min(world.options.clock.nowMs(), upper) - progress);
}

function leastUpper(
  world: Pick<HydrationWorld, 'collections'>,
  instance: ComputeInstance,
  id: GlobalId,
  replicaId: ReplicaId,
): Frontier {
  let least = EMPTY;
  for (const input of instance.reading(id, replicaId)?.inputs ?? []) {
    const upper = world.collections.has(input.id)
      ? world.collections.upper(input.id)
      : leastUpper(world, instance, input.id, replicaId);
    least = Math.min(least, upper);
  }
  return least;
}
