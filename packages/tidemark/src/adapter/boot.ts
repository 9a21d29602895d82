/**
 * Brings an environment up from its catalog: objects loaded, shards opened and taken over, clusters started, and every dataflow created
 * anew from a time that what is durable allows.
 */
import { compareIds } from '../base/ids.ts';
import type { RelationItem } from '../catalog/catalog-reader.ts';
import { CATALOG_SHARD } from '../catalog/durable-catalog.ts';
import type { ItemEntity } from '../catalog/entities.ts';
import type { DataflowDescription } from '../compute/protocol.ts';
import type { Shard } from '../persist/shard.ts';
import { isEmpty, MAX_TIME, type Timestamp } from '../time/timestamp.ts';
import { SYSTEM_CLUSTER, SYSTEM_REPLICA } from './clusters.ts';
import { boundsOf, indexDataflow, newAsOf, scheduled, viewDataflow } from './dataflows.ts';
import { bootstrap } from './ddl/clusters.ts';
import { dataflowContext, maintainedPlan, viewMir } from './ddl/create.ts';
import { DEFAULT_DATABASE, Environment, type EnvironmentOptions } from './environment.ts';
import { loadItem } from './items.ts';
import { followRefreshes } from './refreshes.ts';
import { loadSource } from './sources.ts';

export async function startEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const env = new Environment(options);
  const entities = await env.open();
  env.clusters.startCluster(SYSTEM_CLUSTER.id);
  env.clusters.startReplica(SYSTEM_CLUSTER.id, SYSTEM_REPLICA);
  if (entities.length === 0) await bootstrap(env, DEFAULT_DATABASE, options.defaultWorkers);
  else {
    await env.adopt(entities, (e) => loadItem(env.catalog, e));
    await openShards(env);
    for (const c of env.catalog.all('cluster'))
      if (c.id !== SYSTEM_CLUSTER.id) env.clusters.startCluster(c.id);
    recreateDataflows(env);
    for (const r of env.catalog.all('replica'))
      if (r.clusterId !== SYSTEM_CLUSTER.id) env.clusters.startReplica(r.clusterId, r);
  }
  followRefreshes(env);
  env.hydration.begin();
  env.startMaintenance();
  return env;
}

async function openShards(env: Environment): Promise<void> {
  const { durable } = env.options.stores;
  const known = new Set<string>([CATALOG_SHARD]);
  const join: { shard: Shard; store: 'durable' }[] = [];
  for (const { entity, item } of env.catalog.loadedItems()) {
    if (entity?.shard === undefined) continue;
    known.add(entity.shard);
    const shard = await durable.open(entity.shard);
    if (shard === null) {
      env.options.logger.error({ id: entity.id, shard: entity.shard }, 'the shard of an object is missing');
      continue;
    }
    await env.collections.add(entity.id, shard, durable.stores.watch);
    if (item.kind === 'materialized-view') continue;
    await env.takeOver(shard);
    if (item.kind === 'source' && shard.upper === 0) reload(env, entity);
    else {
      join.push({ shard, store: 'durable' });
      if (item.kind === 'source') loadSource.loaded(env, entity, shard.info().rows, shard.info().bytes);
    }
  }
  if (join.length > 0) await env.group.write({ join });
  // Left by creations and drops that a crash cut short. Objects that could not be loaded keep theirs.
  await durable.sweep(known.union(env.quarantined));
}

/** The load was cut short: it begins anew, what was staged is collected as garbage. */
function reload(env: Environment, entity: ItemEntity): void {
  const again = async (): Promise<void> => {
    const origin = loadSource.originOf(env, entity);
    const described = await env.options.files.describe(origin);
    loadSource.start(env, entity, origin, described);
  };
  again().catch((error: unknown) => loadSource.failed(env, entity, error));
}

/**
 * In the order of creation, for an index must be there before what imports it. An index starts no later than any view of its
 * cluster goes on from, a view one step below its durable upper.
 */
function recreateDataflows(env: Environment): void {
  const entities = [...env.catalog.all('item')]
    .filter((e) => e.clusterId !== undefined && env.catalog.item(e.id) !== undefined)
    .sort((a, b) => compareIds(a.id, b.id));
  for (const e of entities) {
    const description = planObject(env, e);
    if (description === null) continue;
    const c = dataflowContext(env, e.clusterId!);
    const bounds = boundsOf(c, description);
    const newest = newAsOf(bounds, env.oracle.readTime);
    const asOf =
      description.sinkExports.length > 0
        ? continuation(env, e, newest)
        : Math.max(bounds.since, Math.min(newest, earliestView(env, e, newest)));
    if (asOf < bounds.since) {
      // Guessing around it would give wrong contents.
      const message = `it goes on from ${asOf}, and its inputs are readable from ${bounds.since}`;
      env.options.logger.error({ id: e.id, name: e.name }, `an object cannot be maintained: ${message}`);
      env.hydration.cannotMaintain(e.id, message);
      continue;
    }
    c.instance.createDataflow({ ...description, asOf });
  }
}

function planObject(env: Environment, e: ItemEntity): Omit<DataflowDescription, 'asOf'> | null {
  const c = dataflowContext(env, e.clusterId!);
  const item = env.catalog.item(e.id)!;
  if (item.kind === 'index') {
    const on = env.catalog.item(item.on) as RelationItem;
    return indexDataflow(c, item, { mir: viewMir(env, on, e.clusterId!) });
  }
  // A sealed output is complete for ever.
  if (!env.collections.has(e.id) || isEmpty(env.collections.upper(e.id))) return null;
  const view = item as RelationItem;
  return scheduled(
    viewDataflow(c, view, maintainedPlan(env, view, e.clusterId!).mir, e.shard!),
    view.refresh,
  );
}

/**
 * Where a view goes on: one step below what is durable, at its beginning if nothing is, and not later than its inputs have come: the
 * shard of a view with a schedule is complete up to its next refresh.
 */
function continuation(env: Environment, e: ItemEntity, newest: Timestamp): Timestamp {
  const { upper } = env.collections.shard(e.id);
  return Math.min(newest, upper > 0 ? upper - 1 : env.collections.since(e.id));
}

function earliestView(env: Environment, e: ItemEntity, newest: Timestamp): Timestamp {
  const views = [...env.catalog.all('item')].filter(
    (v) => v.clusterId === e.clusterId && env.collections.has(v.id) && !isEmpty(env.collections.upper(v.id)),
  );
  return Math.min(...views.map((v) => continuation(env, v, newest)), MAX_TIME);
}
