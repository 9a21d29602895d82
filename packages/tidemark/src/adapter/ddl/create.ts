/** CREATE of tables, views, materialized views and indexes: durable first, then running. */
import { assert } from '../../base/assert.ts';
import { SqlError, unsupported } from '../../base/error.ts';
import type { ClusterId } from '../../base/ids.ts';
import { userId } from '../../base/ids.ts';
import type { CatalogItem, QualifiedName, RelationItem } from '../../catalog/catalog-reader.ts';
import type { Entity, ItemEntity } from '../../catalog/entities.ts';
import type { DataflowDescription } from '../../compute/protocol.ts';
import type { Shard } from '../../persist/shard.ts';
import type { Mir } from '../../plan/mir.ts';
import { planQuery, type QueryPlan } from '../../plan/plan-query.ts';
import type { CreatePlan } from '../../plan/statement/plan.ts';
import { kindOf, type RelationDesc, type TypeName } from '../../repr/types.ts';
import { parseStatement } from '../../sql/parse.ts';
import type { Hold } from '../../time/hold-set.ts';
import {
  boundsOf,
  type DataflowContext,
  indexDataflow,
  indexedOn,
  newAsOf,
  sinkDataflow,
} from '../dataflows.ts';
import type { Environment } from '../environment.ts';
import { itemOf, storedContext } from '../items.ts';
import { loadSource } from '../sources.ts';
import { onlyOptions } from './options.ts';

export type Notify = (message: string) => void;

/** What CREATE makes, before it is there. */
export interface NewItem {
  readonly entity: ItemEntity;
  readonly item: CatalogItem;
  readonly sequences: readonly Entity[];
}

function schemaOf(env: Environment, name: QualifiedName): string {
  const database = name.database ?? '';
  const schema = env.catalog.schema(name.schema, database);
  if (schema === undefined)
    throw new SqlError('invalid_schema_name', `schema "${name.schema}" does not exist`);
  if (schema.databaseId === null)
    throw new SqlError('insufficient_privilege', `system schema "${name.schema}" cannot be changed`);
  return schema.id;
}

/** False: it is there already, and IF NOT EXISTS says that this is fine. */
export function isNew(env: Environment, plan: CreatePlan, notify: Notify): boolean {
  if (env.catalog.itemInSchema(schemaOf(env, plan.name), plan.name.item) === undefined) return true;
  if (!plan.ifNotExists) throw new SqlError('duplicate_table', `relation "${plan.name.item}" already exists`);
  notify(`relation "${plan.name.item}" already exists, skipping`);
  return false;
}

export function newItem(
  env: Environment,
  plan: CreatePlan,
  more: Pick<ItemEntity, 'clusterId' | 'desc'> & { readonly sharded?: boolean },
): NewItem {
  const { sharded, ...rest } = more;
  assert(isReadable(plan.createSql), `what is stored can be read at the next start: ${plan.createSql}`);
  const id = env.catalog.allocate('item');
  const oid = env.catalog.allocate('oid');
  const globalId = userId(id.first);
  // A number is used once, but the shard of a creation that failed halfway may still lie there.
  const tag = Array.from(env.options.random.bytes(4), (b) => b.toString(16).padStart(2, '0')).join('');
  const entity: ItemEntity = {
    kind: 'item',
    id: globalId,
    oid: oid.first,
    schemaId: schemaOf(env, plan.name),
    name: plan.name.item,
    createSql: plan.createSql,
    ...rest,
    ...(sharded && { shard: `${globalId}-${tag}` }),
    createdAt: Math.floor(env.options.clock.nowMs()),
  };
  return { entity, item: itemOf(plan, entity), sequences: sequenceChanges(env, [id.change, oid.change]) };
}

function isReadable(sql: string): boolean {
  try {
    parseStatement(sql);
    return true;
  } catch {
    return false;
  }
}

/** A sequence's new value replaces the old one, where there was one. */
function sequenceChanges(env: Environment, changes: readonly Entity[]): readonly Entity[] {
  return changes.filter((c) => env.catalog.get(c.kind, c.id) !== c);
}

export const replacedBy = (env: Environment, put: readonly Entity[]): Entity[] =>
  put.flatMap((e) => {
    const old = env.catalog.get(e.kind, e.id);
    return old === undefined ? [] : [old];
  });

const schemaKinds = (desc: RelationDesc): { oks: ReturnType<typeof kindOf>[]; errs: 'bytes'[] } => ({
  oks: desc.columns.map((c) => kindOf(c.type)),
  errs: ['bytes'],
});

/** Makes the shard, begins to follow it, then commits; undone if the commit fails. */
export async function commitWithShard(
  env: Environment,
  n: NewItem,
  shard: {
    readonly since: number;
    readonly desc: RelationDesc;
    readonly fence: Shard['fence'];
    readonly member: boolean;
  },
): Promise<void> {
  const { durable } = env.options.stores;
  const made = await durable.create(n.entity.shard!, {
    schema: schemaKinds(shard.desc),
    since: shard.since,
    fence: shard.fence,
  });
  await env.collections.add(n.entity.id, made, durable.stores.watch);
  try {
    await commit(env, n, shard.member ? [{ shard: made, store: 'durable' as const }] : []);
  } catch (error) {
    env.collections.remove(n.entity.id);
    await durable.remove(made.shardId).catch(() => undefined);
    throw error;
  }
}

export async function commit(
  env: Environment,
  n: NewItem,
  join: readonly { shard: Shard; store: 'durable' }[] = [],
): Promise<void> {
  await env.transact({
    remove: replacedBy(env, n.sequences),
    put: [...n.sequences, n.entity],
    items: new Map([[n.entity.id, n.item]]),
    join,
  });
}

export async function createTable(
  env: Environment,
  plan: Extract<CreatePlan, { kind: 'createTable' }>,
  notify: Notify,
): Promise<void> {
  if (plan.temporary) throw unsupported('a temporary table');
  onlyOptions(plan.options, [], 'a table');
  if (!isNew(env, plan, notify)) return;
  const n = newItem(env, plan, { sharded: true });
  const since = env.oracle.nextWrite();
  await commitWithShard(env, n, { since, desc: plan.desc, fence: env.fence, member: true });
}

export async function createSource(
  env: Environment,
  plan: Extract<CreatePlan, { kind: 'createSource' }>,
  notify: Notify,
): Promise<void> {
  if (plan.from.kind !== 'file')
    throw unsupported(
      plan.from.kind === 'postgres' ? 'a PostgreSQL source' : `load generator ${plan.from.generator.name}`,
    );
  if (plan.tables !== undefined) throw unsupported('FOR TABLES of a file source');
  onlyOptions(plan.options, [], 'a source');
  if (!isNew(env, plan, notify)) return;
  const origin = loadSource.origin(plan.from.path, plan.originOptions);
  const described = await env.options.files.describe(origin);
  const desc = loadSource.columns(described.desc, plan.columns);
  const n = newItem(env, plan, { sharded: true, desc });
  const since = env.oracle.nextWrite();
  await commitWithShard(env, n, { since, desc, fence: env.fence, member: false });
  loadSource.start(env, n.entity, origin, described);
}

export async function createView(
  env: Environment,
  plan: Extract<CreatePlan, { kind: 'createView' }>,
  notify: Notify,
): Promise<void> {
  if (plan.temporary) throw unsupported('a temporary view');
  if (plan.orReplace) throw unsupported('CREATE OR REPLACE VIEW', { hint: 'drop the view first' });
  if (!isNew(env, plan, notify)) return;
  await commit(env, newItem(env, plan, {}));
}

export function dataflowContext(env: Environment, clusterId: DataflowContext['clusterId']): DataflowContext {
  return { catalog: env.catalog, clusterId, instance: env.instance(clusterId), shards: env.collections };
}

/** Keeps what a dataflow will read readable while its creation becomes durable. */
export function holdImports(c: DataflowContext, d: Omit<DataflowDescription, 'asOf'>, asOf: number): Hold[] {
  return [
    ...d.shardImports.map((i) => c.shards.hold(i.id, asOf)),
    ...d.indexImports.map((i) => c.instance.hold(i.id, i.frozenAt ?? asOf)),
  ];
}

/** What depends on the moment moves without any input; nothing follows the clock yet. */
export function refuseMoments(contextual: readonly string[], what: string): void {
  const [moment] = contextual;
  if (moment !== undefined) throw unsupported(`${moment}() in ${what}`);
}

export async function createIndex(
  env: Environment,
  plan: Extract<CreatePlan, { kind: 'createIndex' }>,
  notify: Notify,
): Promise<void> {
  onlyOptions(plan.options, [], 'an index');
  const on = env.catalog.item(plan.on) as RelationItem;
  if (on.kind === 'log')
    throw unsupported(`an index on log relation "${on.name.item}"`, {
      detail: 'every replica keeps one already',
    });
  if (!isNew(env, plan, notify)) return;
  const n = newItem(env, plan, { clusterId: plan.cluster });
  if (n.item.kind !== 'index') throw new SqlError('internal_error', 'CREATE INDEX makes an index');
  const c = dataflowContext(env, plan.cluster);
  await commitDataflow(env, n, indexDataflow(c, n.item, { mir: viewMir(env, on, plan.cluster) }));
}

/** The columns of a metric: any whole or real number is a value. */
const METRIC_COLUMNS: Readonly<Record<string, readonly TypeName[]>> = {
  name: ['text'],
  labels: ['jsonb'],
  value: ['float8', 'float4', 'numeric', 'int2', 'int4', 'int8', 'uint2', 'uint4', 'uint8'],
  type: ['text'],
  help: ['text'],
};

export async function createSink(
  env: Environment,
  plan: Extract<CreatePlan, { kind: 'createSink' }>,
  notify: Notify,
): Promise<void> {
  onlyOptions(plan.options, [], 'a sink');
  onlyOptions(plan.intoOptions, [], 'METRICS');
  const from = env.catalog.item(plan.from) as RelationItem;
  if (from.kind === 'log')
    throw unsupported(`a sink from log relation "${from.name.item}"`, {
      detail: 'every replica has its own rows',
    });
  for (const [name, types] of Object.entries(METRIC_COLUMNS)) {
    const column = from.desc.columns.find((c) => c.name === name);
    if (column !== undefined && types.includes(column.type.name)) continue;
    throw new SqlError('invalid_parameter_value', `"${from.name.item}" cannot be a set of metrics`, {
      detail: `it needs a column "${name}" of type ${types.join(' or ')}`,
    });
  }
  if (!isNew(env, plan, notify)) return;
  const n = newItem(env, plan, { clusterId: plan.cluster });
  if (n.item.kind !== 'sink') throw new SqlError('internal_error', 'CREATE SINK makes a sink');
  const c = dataflowContext(env, plan.cluster);
  await commitDataflow(env, n, sinkDataflow(c, n.item, { mir: viewMir(env, from, plan.cluster) }));
}

/** An object whose output is not durable: it begins at the newest time that what it reads is complete at. */
async function commitDataflow(
  env: Environment,
  n: NewItem,
  d: Omit<DataflowDescription, 'asOf'>,
): Promise<void> {
  const c = dataflowContext(env, n.entity.clusterId!);
  const asOf = newAsOf(boundsOf(c, d), env.oracle.readTime);
  const holds = holdImports(c, d, asOf);
  try {
    await commit(env, n);
    c.instance.createDataflow({ ...d, asOf });
  } finally {
    for (const h of holds) h.release();
  }
}

/** The plan of what an index on a view maintains; null for what has rows of its own. */
export function viewMir(env: Environment, item: RelationItem, clusterId: ClusterId): Mir | null {
  if (item.kind !== 'view') return null;
  const plan = maintainedPlan(env, item, clusterId);
  refuseMoments(plan.contextual, 'an index on a view');
  return plan.mir;
}

/** A view's query where the cluster keeps it up to date; other views with an index there are read through it. */
export function maintainedPlan(
  env: Environment,
  view: RelationItem,
  clusterId: ClusterId,
  c: DataflowContext = dataflowContext(env, clusterId),
): QueryPlan {
  const context = storedContext(env.catalog, view.name.database ?? '');
  const indexedViews = indexedOn(c);
  return planQuery(view.query!, { ...context, maintained: true, indexedViews });
}
