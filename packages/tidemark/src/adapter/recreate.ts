/**
 * Dataflows of objects that are stored already, from the times that what is durable allows: at a start, and where a generation
 * stands by, for each object that the leader creates meanwhile.
 */
import { compareIds } from '../base/ids.ts';
import type { RelationItem } from '../catalog/catalog-reader.ts';
import { CATALOG_SHARD } from '../catalog/durable-catalog.ts';
import type { ItemEntity } from '../catalog/entities.ts';
import type { DataflowDescription } from '../compute/protocol.ts';
import { isEmpty, MAX_TIME, type Timestamp } from '../time/timestamp.ts';
import { DURABLE_BUILTIN_SHARDS } from './builtin-tables.ts';
import {
  boundsOf,
  type DataflowContext,
  indexDataflow,
  newAsOf,
  scheduled,
  sinkDataflow,
  viewDataflow,
} from './dataflows.ts';
import { dataflowContext, maintainedPlan, viewMir } from './ddl/create.ts';
import type { Environment } from './environment.ts';

/**
 * In the order of creation, for an index must be there before what imports it. An index starts no later than any view of its
 * cluster that may read it goes on from, a view one step below its durable upper. No earlier than that: a replica that has gone on keeps an
 * index only if it has not compacted it further. Gives those that cannot be maintained.
 */
export function recreateDataflows(env: Environment): readonly ItemEntity[] {
  const left: ItemEntity[] = [];
  const entities = [...env.catalog.all('item')]
    .filter((e) => e.clusterId !== undefined && env.catalog.item(e.id) !== undefined)
    .sort((a, b) => compareIds(a.id, b.id));
  for (const e of entities) {
    const c = dataflowContext(env, e.clusterId!);
    const description = planObject(env, e, c);
    if (description === null) continue;
    const bounds = boundsOf(c, description);
    const newest = newAsOf(bounds, env.oracle.readTime);
    const asOf =
      env.catalog.item(e.id)?.kind === 'materialized-view'
        ? continuation(env, e, newest)
        : Math.max(bounds.since, Math.min(newest, earliestReader(env, e, newest)));
    if (asOf < bounds.since) {
      // Guessing around it would give wrong contents.
      const message = `it goes on from ${asOf}, and its inputs are readable from ${bounds.since}`;
      const level = env.leadership.mayWrite ? 'error' : 'warn';
      env.options.logger[level]({ id: e.id, name: e.name }, `an object cannot be maintained: ${message}`);
      if (env.leadership.mayWrite) env.hydration.cannotMaintain(e.id, message);
      left.push(e);
      continue;
    }
    create(env, c, { ...description, asOf });
  }
  return left;
}

/**
 * One that the leader has created. What it reads was held for it by the leader at the time that it goes on from; here that may have
 * been given up, so shards are asked for it again, and indexes that start later are left alone.
 */
export async function recreateDataflow(env: Environment, e: ItemEntity): Promise<void> {
  const context = dataflowContext(env, e.clusterId!);
  const first = planObject(env, e, context);
  if (first === null) return;
  const newest = newAsOf(boundsOf(context, first), env.oracle.readTime);
  if (env.catalog.item(e.id)?.kind !== 'materialized-view') {
    create(env, context, { ...first, asOf: newest });
    return;
  }
  const asOf = continuation(env, e, newest);
  const c = { ...context, isUsable: (id: ItemEntity['id']) => context.instance.since(id) <= asOf };
  const d = planObject(env, e, c)!;
  const held = d.indexImports.map((i) => c.instance.hold(i.id, asOf));
  try {
    for (const i of d.shardImports) held.push(await env.collections.reach(i.id, asOf));
    create(env, c, { ...d, asOf });
  } finally {
    for (const h of held) h.release();
  }
}

/** A sink of a generation that stands by is permitted to write when that is promoted. */
function create(env: Environment, c: DataflowContext, d: DataflowDescription): void {
  const { leadership } = env;
  if (d.mayWrite && !leadership.mayWrite)
    for (const s of d.sinkExports)
      if (s.kind === 'materialized-view') leadership.heldBack.set(s.id, c.clusterId);
  c.instance.createDataflow({ ...d, mayWrite: d.mayWrite && leadership.mayWrite });
}

function planObject(
  env: Environment,
  e: ItemEntity,
  c: DataflowContext,
): Omit<DataflowDescription, 'asOf'> | null {
  const item = env.catalog.item(e.id)!;
  if (item.kind === 'index') {
    const on = env.catalog.item(item.on) as RelationItem;
    return indexDataflow(c, item, { mir: viewMir(env, on, e.clusterId!) });
  }
  if (item.kind === 'sink')
    return sinkDataflow(c, item, {
      mir: viewMir(env, env.catalog.item(item.from) as RelationItem, e.clusterId!),
    });
  const view = item as RelationItem;
  const output = outputOf(env, e);
  // A sealed output is complete for ever.
  if (!env.collections.has(output.id) || isEmpty(env.collections.upper(output.id))) return null;
  const sink = { exportId: env.catalog.exportOf(e.id), shard: output.shard! };
  return scheduled(viewDataflow(c, view, maintainedPlan(env, view, e.clusterId!, c).mir, sink), view.refresh);
}

/**
 * Where a view goes on: one step below what is durable, and not later than its inputs have come: the shard of a view with a schedule is
 * complete up to its next refresh. At its beginning if nothing is durable, also where an index that it reads begins earlier now;
 * with a schedule that may lie ahead.
 */
function continuation(env: Environment, e: ItemEntity, newest: Timestamp): Timestamp {
  const { id } = outputOf(env, e);
  const { upper, since } = env.collections.shard(id);
  if (upper > 0) return Math.min(newest, upper - 1);
  return since <= env.oracle.readTime ? since : newest;
}

/** The view itself, or the one that it is to replace: whose shard it writes. */
function outputOf(env: Environment, e: ItemEntity): ItemEntity {
  const { replaces } = env.catalog.item(e.id) as RelationItem;
  return replaces === undefined ? e : env.catalog.get('item', replaces)!;
}

/** Of the views of its cluster that may read an index: those that read what it is on, through whatever lies between. */
function earliestReader(env: Environment, e: ItemEntity, newest: Timestamp): Timestamp {
  const item = env.catalog.item(e.id);
  const readers = new Set(item?.kind === 'index' ? [item.on] : []);
  let earliest: Timestamp = MAX_TIME;
  for (const id of readers) {
    for (const d of env.catalog.dependants(id)) if (d.kind !== 'index') readers.add(d.id);
    const v = env.catalog.get('item', id);
    if (
      v === undefined ||
      v.clusterId !== e.clusterId ||
      !env.collections.has(id) ||
      isEmpty(env.collections.upper(id))
    )
      continue;
    earliest = Math.min(earliest, continuation(env, v, newest));
  }
  return earliest;
}

/**
 * Removes shards that creations and drops left which a crash cut short. Objects that could not be loaded keep theirs, for a version
 * that can.
 */
export async function sweepShards(env: Environment): Promise<void> {
  const known = new Set<string>([CATALOG_SHARD, ...DURABLE_BUILTIN_SHARDS]);
  const items = [...env.catalog.all('item'), ...[...env.unloaded.values()].map((u) => u.entity)];
  for (const { shard } of items) if (shard !== undefined) known.add(shard);
  // Their sinks have gone on, and stage.
  const stagedElsewhere = [...env.catalog.all('replica')].some((r) => r.address !== undefined);
  await env.options.stores.durable.sweep(known, { stagedElsewhere });
}
