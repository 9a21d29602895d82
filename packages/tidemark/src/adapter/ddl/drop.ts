/** DROP: what depends on the object goes too with CASCADE, and forbids it otherwise. Durable first, then what runs ends. */
import { assert } from '../../base/assert.ts';
import { SqlError, unsupported } from '../../base/error.ts';
import type { ClusterId, GlobalId } from '../../base/ids.ts';
import type { CatalogItem } from '../../catalog/catalog-reader.ts';
import type { Entity } from '../../catalog/entities.ts';
import type { ObjectRef, Plan } from '../../plan/statement/plan.ts';
import type { Environment } from '../environment.ts';
import { loadSource } from '../sources.ts';
import { refuseManaged, refuseSystem } from './clusters.ts';
import type { Notify } from './create.ts';

type DropPlan = Extract<Plan, { kind: 'drop' }>;

/** What one DROP takes away. */
interface Doomed {
  readonly items: Map<GlobalId, CatalogItem>;
  readonly entities: Entity[];
  readonly clusters: ClusterId[];
  readonly replicas: { readonly clusterId: ClusterId; readonly name: string }[];
}

export async function drop(
  env: Environment,
  plan: DropPlan,
  database: string,
  notify: Notify,
): Promise<void> {
  for (const m of plan.missing) notify(m);
  const doomed: Doomed = { items: new Map(), entities: [], clusters: [], replicas: [] };
  for (const o of plan.objects) collect(env, o, plan, database, doomed);
  if (doomed.items.size === 0 && doomed.entities.length === 0) return;
  await carryOut(env, doomed);
}

function collect(env: Environment, o: ObjectRef, plan: DropPlan, database: string, doomed: Doomed): void {
  switch (plan.objectType) {
    case 'table':
    case 'view':
    case 'materialized view':
    case 'index':
    case 'source':
    case 'sink':
      dropItem(env, o.id as GlobalId, plan, doomed);
      return;
    case 'schema':
      dropSchema(env, o, plan, database, doomed);
      return;
    case 'cluster':
      dropCluster(env, o.id as ClusterId, plan, doomed);
      return;
    case 'cluster replica': {
      const clusterId = o.id as ClusterId;
      refuseSystem(clusterId);
      refuseManaged(env, clusterId);
      const name = o.parts[o.parts.length - 1]!;
      const replica = env.catalog.replicasOf(clusterId).find((r) => r.name === name);
      assert(replica !== undefined, `replica ${name} was found by the planner`);
      doomed.entities.push(replica);
      doomed.replicas.push({ clusterId, name });
      return;
    }
    default:
      throw unsupported(`DROP ${plan.objectType.toUpperCase()}`);
  }
}

function dropItem(env: Environment, id: GlobalId, plan: DropPlan, doomed: Doomed): void {
  const item = env.catalog.item(id);
  assert(item !== undefined, `object ${id} was found by the planner`);
  if (env.catalog.loaded(id)?.entity === null)
    throw new SqlError(
      'insufficient_privilege',
      `"${item.name.item}" is a system object and cannot be dropped`,
    );
  dropWithDependants(env, item, plan, doomed);
}

/** Indexes go with what they index; everything else that names the object needs CASCADE. */
function dropWithDependants(env: Environment, item: CatalogItem, plan: DropPlan, doomed: Doomed): void {
  if (doomed.items.has(item.id)) return;
  const dependants = env.catalog.dependants(item.id).filter((d) => !plan.objects.some((o) => o.id === d.id));
  const blocking = dependants.filter((d) => d.kind !== 'index');
  if (blocking.length > 0 && !plan.cascade) throw stillNeeded(item, blocking);
  doomed.items.set(item.id, item);
  for (const d of dependants) dropWithDependants(env, d, plan, doomed);
}

function stillNeeded(
  item: { readonly name: { readonly item: string } },
  by: readonly CatalogItem[],
): SqlError {
  return new SqlError(
    'dependent_objects_still_exist',
    `cannot drop ${item.name.item} because other objects depend on it`,
    {
      detail: by
        .map((d) => `${d.kind.replaceAll('-', ' ')} ${d.name.item} depends on ${item.name.item}`)
        .join('\n'),
      hint: 'Use DROP ... CASCADE to drop the dependent objects too.',
    },
  );
}

function dropSchema(env: Environment, o: ObjectRef, plan: DropPlan, database: string, doomed: Doomed): void {
  const [name, inDatabase = database] = [...o.parts].reverse() as [string, string?];
  const schema = env.catalog.schema(name, inDatabase);
  assert(schema !== undefined, `schema ${name} was found by the planner`);
  if (schema.databaseId === null)
    throw new SqlError('insufficient_privilege', `system schema "${name}" cannot be dropped`);
  const inside = [...env.catalog.loadedItems()].filter((l) => l.schemaId === schema.id).map((l) => l.item);
  if (inside.length > 0 && !plan.cascade) throw stillNeeded({ name: { item: `schema ${name}` } }, inside);
  for (const i of inside) dropWithDependants(env, i, plan, doomed);
  doomed.entities.push(schema);
}

function dropCluster(env: Environment, id: ClusterId, plan: DropPlan, doomed: Doomed): void {
  refuseSystem(id);
  const cluster = env.catalog.get('cluster', id)!;
  const inside = [...env.catalog.loadedItems()]
    .filter((l) => l.entity !== null && l.entity.clusterId === id)
    .map((l) => l.item);
  if (inside.length > 0 && !plan.cascade)
    throw stillNeeded({ name: { item: `cluster ${cluster.name}` } }, inside);
  for (const i of inside) dropWithDependants(env, i, plan, doomed);
  doomed.entities.push(cluster, ...env.catalog.replicasOf(id));
  doomed.clusters.push(id);
}

async function carryOut(env: Environment, doomed: Doomed): Promise<void> {
  const items = [...doomed.items.values()];
  const entities = items.map((i) => env.catalog.get('item', i.id)!);
  const leave = entities.flatMap((e) => (e.shard === undefined ? [] : [e.shard]));
  const replicaIds = doomed.replicas.map(
    ({ clusterId, name }) => env.catalog.clusterById(clusterId)!.replicas.find((r) => r.name === name)!.id,
  );
  const clusterReplicas = new Map(doomed.clusters.map((id) => [id, env.catalog.clusterById(id)!.replicas]));
  const gone = [...entities, ...doomed.entities];
  await env.transact({ remove: [...gone, ...env.catalog.commentsOn(gone)], leave });
  for (const item of items) {
    const { clusterId, exportId } = entities.find((e) => e.id === item.id)!;
    if (clusterId !== undefined) env.clusters.instances.get(clusterId)?.drop([exportId ?? item.id]);
    if (item.kind === 'source') loadSource.stop(env, item.id);
  }
  for (const id of replicaIds) await env.clusters.stopReplica(id);
  for (const [id, replicas] of clusterReplicas) await env.clusters.stopCluster(id, replicas);
  for (const item of items) {
    const shard = env.collections.remove(item.id);
    if (shard !== undefined) env.removeShardLater(shard.shardId);
  }
}
