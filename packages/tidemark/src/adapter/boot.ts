/**
 * Brings an environment up from its catalog: objects loaded, shards opened and taken over, clusters started, and every dataflow created
 * anew from a time that what is durable allows.
 */
import type { ItemEntity } from '../catalog/entities.ts';
import type { Shard } from '../persist/shard.ts';
import { SYSTEM_CLUSTER, SYSTEM_REPLICA } from './clusters.ts';
import { bootstrap } from './ddl/clusters.ts';
import { DEFAULT_DATABASE, Environment, type EnvironmentOptions, nothingToFollow } from './environment.ts';
import { Follower, followShard } from './follower.ts';
import { followFrontiers } from './frontiers.ts';
import { loadItem } from './items.ts';
import { replicaName } from './names.ts';
import { recreateDataflows, sweepShards } from './recreate.ts';
import { followRefreshes } from './refreshes.ts';
import { loadSource } from './sources.ts';

export async function startEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const env = new Environment(options);
  const { entities, asOf } = await env.open();
  const leads = options.standby === undefined;
  let left: readonly ItemEntity[] = [];
  env.clusters.startCluster(SYSTEM_CLUSTER.id);
  env.clusters.startReplica(SYSTEM_CLUSTER.id, SYSTEM_REPLICA);
  if (entities.length === 0 && !leads) throw nothingToFollow();
  if (entities.length === 0) await bootstrap(env, DEFAULT_DATABASE, options.defaultWorkers);
  else {
    await env.adopt(entities, (e) => loadItem(env.catalog, e));
    env.history.reconcile({
      object: (id) => env.catalog.get('item', id) !== undefined,
      replica: (id) => env.catalog.get('replica', id) !== undefined,
    });
    // The system cluster runs already.
    env.clusters.settingsChanged();
    await (leads ? openShards(env) : followShards(env));
    for (const c of env.catalog.all('cluster'))
      if (c.id !== SYSTEM_CLUSTER.id) env.clusters.startCluster(c.id);
    left = recreateDataflows(env);
    for (const r of env.catalog.all('replica'))
      if (r.clusterId !== SYSTEM_CLUSTER.id) env.clusters.startReplica(r.clusterId, r);
  }
  followRefreshes(env);
  followFrontiers(env);
  env.hydration.begin();
  env.unified.begin();
  env.startMaintenance();
  if (!leads) {
    warnOfUnused(env);
    env.follow(new Follower(env, asOf, left));
  }
  return env;
}

/** A name that is misspelt would be waited for in silence; one that the leader is still to make comes later. */
function warnOfUnused(env: Environment): void {
  const { standby, logger } = env.options;
  const known = new Set(
    [...env.catalog.all('replica')].flatMap((r) =>
      r.address === undefined ? [] : [replicaName(env.catalog, r.id)],
    ),
  );
  for (const replica of standby?.replicas?.keys() ?? [])
    if (!known.has(replica)) logger.warn({ replica }, 'the leader has no replica of this name at an address');
}

/** Of a generation that stands by: nothing is taken over, joined or swept. */
async function followShards(env: Environment): Promise<void> {
  for (const { entity } of env.catalog.loadedItems()) if (entity !== null) await followShard(env, entity);
}

async function openShards(env: Environment): Promise<void> {
  const { durable } = env.options.stores;
  const join: { shard: Shard; store: 'durable' }[] = [];
  const sources: ItemEntity[] = [];
  const claims: (() => Promise<void>)[] = [];
  for (const { entity, item } of env.catalog.loadedItems()) {
    if (entity?.shard === undefined) continue;
    const shard = await durable.open(entity.shard);
    if (shard === null) {
      env.options.logger.error({ id: entity.id, shard: entity.shard }, 'the shard of an object is missing');
      continue;
    }
    await env.collections.add(entity.id, shard, durable.stores.watch);
    if (item.kind === 'materialized-view') {
      claims.push(() => env.handOver(shard, env.catalog.exportOf(entity.id)));
      continue;
    }
    claims.push(() => env.takeOver(shard));
    if (item.kind === 'source') sources.push(entity);
    else join.push({ shard, store: 'durable' });
  }
  // Asked for in one turn, they share a transaction.
  await Promise.all(claims.map((claim) => claim()));
  for (const e of sources) {
    loadSource.resume(env, e);
    const shard = env.collections.shard(e.id);
    if (shard.upper > 0) join.push({ shard, store: 'durable' });
  }
  if (join.length > 0) await env.group.write({ join });
  await sweepShards(env);
}
