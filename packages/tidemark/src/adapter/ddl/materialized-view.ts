/**
 * CREATE MATERIALIZED VIEW, and views that take another one's place. A replacement computes beside the original, reads back what the
 * original's shard has, and holds back the difference; applied, it owns the shard and goes on under the original's id.
 */
import { assert } from '../../base/assert.ts';
import { SqlError, unsupported } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import type { RelationItem } from '../../catalog/catalog-reader.ts';
import type { ItemEntity } from '../../catalog/entities.ts';
import type { AlterPlan, CreatePlan } from '../../plan/statement/plan.ts';
import type { ColumnDesc, RelationDesc } from '../../repr/types.ts';
import { parseStatement } from '../../sql/parse.ts';
import { printStatement } from '../../sql/print.ts';
import { roundUp } from '../../time/refresh-schedule.ts';
import { isEmpty, type Timestamp } from '../../time/timestamp.ts';
import { boundsOf, newAsOf, scheduled, viewDataflow } from '../dataflows.ts';
import type { Environment } from '../environment.ts';
import { itemOf, loadItem } from '../items.ts';
import {
  commit,
  commitWithShard,
  dataflowContext,
  holdImports,
  isNew,
  maintainedPlan,
  type NewItem,
  type Notify,
  newItem,
  refuseMoments,
} from './create.ts';
import { onlyOptions } from './options.ts';

type CreateView = Extract<CreatePlan, { kind: 'createMaterializedView' }>;

export async function createMaterializedView(
  env: Environment,
  plan: CreateView,
  notify: Notify,
): Promise<void> {
  if (plan.orReplace)
    throw unsupported('CREATE OR REPLACE MATERIALIZED VIEW', { hint: 'drop the view first' });
  if (plan.asOf !== undefined) throw unsupported('AS OF in CREATE MATERIALIZED VIEW');
  onlyOptions(plan.options, [], 'a materialized view');
  refuseMoments(plan.plan.contextual, 'a materialized view');
  refuseCatalogReads(env, plan.plan.reads);
  const replaced = plan.replaces === undefined ? undefined : replaceable(env, plan.replaces, plan.desc);
  if (replaced !== undefined && env.catalog.behind(plan.plan.dependsOn).has(replaced.id))
    throw new SqlError('invalid_object_definition', `a replacement of "${replaced.name}" cannot read it`);
  if (!isNew(env, plan, notify)) return;
  const unscheduled = newItem(env, plan, { sharded: replaced === undefined, clusterId: plan.cluster });
  const c = dataflowContext(env, plan.cluster);
  const view = unscheduled.item as RelationItem;
  const shard = (replaced ?? unscheduled.entity).shard!;
  const { mir } = maintainedPlan(env, view, plan.cluster);
  const d = viewDataflow(c, view, mir, { exportId: unscheduled.entity.id, shard });
  const bounds = boundsOf(c, d);
  const newest = newAsOf(bounds, env.oracle.readTime);
  // What takes over goes on from where the shard stands then, so it must know its contents there.
  const asOf =
    replaced === undefined ? newest : Math.max(bounds.since, Math.min(newest, lastKnown(env, replaced.id)));
  const n = plan.refresh === null ? unscheduled : refreshedFrom(unscheduled, plan, asOf);
  const { refresh } = n.item as RelationItem;
  const holds = holdImports(c, d, asOf);
  try {
    if (replaced !== undefined) await commit(env, n);
    else {
      const fence = { generation: env.options.generation, exportId: n.entity.id };
      // Readable from its first refresh on: a read waits for that instead of seeing an empty view.
      const since = refresh === undefined ? asOf : roundUp(refresh, asOf);
      await commitWithShard(env, n, { since, desc: plan.desc, fence, member: false });
    }
    c.instance.createDataflow({ ...scheduled(d, refresh), asOf });
  } finally {
    for (const h of holds) h.release();
  }
}

/** The view, now that the time is known that its schedule counts from. */
function refreshedFrom(n: NewItem, plan: CreatePlan, asOf: Timestamp): NewItem {
  const entity = { ...n.entity, refreshFrom: asOf };
  const item = itemOf(plan, entity);
  if (isEmpty(roundUp((item as RelationItem).refresh!, asOf)))
    throw new SqlError('invalid_parameter_value', `materialized view "${entity.name}" would never refresh`, {
      detail: 'every time of its schedule has passed',
    });
  return { ...n, entity, item };
}

/** Catalog relations live in memory and begin anew at each start; a durable view of them would not find where it was. */
function refuseCatalogReads(env: Environment, reads: readonly GlobalId[]): void {
  for (const id of reads) {
    const item = env.catalog.item(id);
    if (item?.kind === 'builtin-table')
      throw unsupported(`a materialized view over system relation "${item.name.item}"`, {
        hint: 'create a view, and an index on it where it is read often',
      });
  }
}

// ---- Replacement

/** The last time at which a view's contents are durable; where they begin, before anything is. */
function lastKnown(env: Environment, id: GlobalId): Timestamp {
  const upper = env.collections.upper(id);
  return upper > 0 ? upper - 1 : env.collections.since(id);
}

/** The original, if the new definition can stand in for it. */
function replaceable(env: Environment, id: GlobalId, desc: RelationDesc): ItemEntity {
  const entity = env.catalog.get('item', id);
  const item = env.catalog.item(id) as RelationItem;
  if (entity?.shard === undefined)
    throw new SqlError('object_not_in_prerequisite_state', `"${item.name.item}" is a replacement itself`);
  if (isEmpty(env.collections.upper(id)))
    throw new SqlError('object_not_in_prerequisite_state', `"${item.name.item}" is complete for ever`, {
      detail: 'its inputs have ended, or its last refresh has passed; nothing can be written after that',
    });
  const difference = differenceOf(item.desc, desc);
  if (difference !== undefined)
    throw new SqlError('invalid_parameter_value', `"${item.name.item}" cannot be replaced by other columns`, {
      detail: difference,
    });
  return entity;
}

/** What readers rely on: names and types of columns, and what was promised about them. */
function differenceOf(was: RelationDesc, now: RelationDesc): string | undefined {
  const text = (c: ColumnDesc | undefined): string =>
    c === undefined ? 'no column' : `column "${c.name}" of type ${c.type.name}`;
  for (let i = 0; i < Math.max(was.columns.length, now.columns.length); i++) {
    const [a, b] = [was.columns[i], now.columns[i]];
    if (
      a === undefined ||
      b === undefined ||
      a.name !== b.name ||
      JSON.stringify(a.type) !== JSON.stringify(b.type)
    )
      return `it has ${text(a)} at position ${i + 1}, the replacement ${text(b)}`;
    if (b.nullable && !a.nullable) return `column "${a.name}" may be NULL in the replacement, and never was`;
  }
  const promised = was.keys.find((k) => !now.keys.some((n) => n.every((column) => k.includes(column))));
  if (promised === undefined) return undefined;
  const names = promised.map((i) => `"${was.columns[i]!.name}"`).join(', ');
  return `its rows are unique in (${names}), those of the replacement need not be`;
}

/** The replacement's definition under the original's name. */
function standingIn(replacement: string, original: string): string {
  const [now, was] = [parseStatement(replacement), parseStatement(original)];
  assert(
    now.kind === 'createMaterializedView' && was.kind === 'createMaterializedView',
    'a materialized view is stored as its CREATE',
  );
  return printStatement({ ...now, name: was.name, replaces: undefined });
}

/**
 * The catalog first: from then on the object is what the replacement maintains, and a start that finds the shard still with the
 * original hands it over. Then the shard, whose upper of that moment is kept; then permission.
 */
export async function applyReplacement(
  env: Environment,
  plan: Extract<AlterPlan, { kind: 'alterApplyReplacement' }>,
): Promise<void> {
  const { catalog } = env;
  const original = catalog.get('item', plan.object.id as GlobalId)!;
  const replacement = catalog.get('item', plan.replacement)!;
  const item = catalog.item(replacement.id) as RelationItem;
  if (item.replaces !== original.id)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `"${replacement.name}" is not a replacement of "${original.name}"`,
      { hint: `CREATE REPLACEMENT MATERIALIZED VIEW … FOR "${original.name}" makes one` },
    );
  replaceable(env, original.id, item.desc);
  const instance = env.clusters.instance(replacement.clusterId!);
  const asOf = instance.asOf(replacement.id);
  if (lastKnown(env, original.id) < asOf)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `"${original.name}" has not come to where "${replacement.name}" begins`,
      {
        detail: `it is complete up to ${env.collections.upper(original.id)}, the replacement begins at ${asOf}`,
      },
    );
  const upper = env.collections.upper(original.id);
  if (item.refresh !== undefined && isEmpty(roundUp(item.refresh, upper)))
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `"${replacement.name}" would never refresh: every time of its schedule has passed`,
    );
  const before = { exportId: catalog.exportOf(original.id), clusterId: original.clusterId! };
  const { refreshFrom: _, ...kept } = original;
  const entity: ItemEntity = {
    ...kept,
    ...(replacement.refreshFrom !== undefined && { refreshFrom: replacement.refreshFrom }),
    createSql: standingIn(replacement.createSql, original.createSql),
    clusterId: replacement.clusterId!,
    exportId: replacement.id,
  };
  await env.transact({
    remove: [original, replacement, ...catalog.commentsOn([replacement])],
    put: [entity],
    items: new Map([[original.id, loadItem(catalog, entity)]]),
  });
  env.clusters.instances.get(before.clusterId)?.drop([before.exportId]);
  await env.handOver(env.collections.shard(original.id), replacement.id);
  instance.allowWrites(replacement.id);
}
