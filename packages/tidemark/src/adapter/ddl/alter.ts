/**
 * ALTER … RENAME TO, SET SCHEMA and SWAP WITH. Stored definitions name what they read, so a new name is written into every definition
 * that has the old one; each is planned again, and must read what it read before. One transaction: all of it or nothing.
 */
import { SqlError, unsupported } from '../../base/error.ts';
import type { ClusterId, GlobalId } from '../../base/ids.ts';
import { compareIds } from '../../base/ids.ts';
import type { CatalogItem } from '../../catalog/catalog-reader.ts';
import { CatalogState } from '../../catalog/catalog-state.ts';
import {
  type ClusterEntity,
  type Entity,
  entityKey,
  type ItemEntity,
  type SchemaEntity,
} from '../../catalog/entities.ts';
import type { AlterPlan } from '../../plan/statement/plan.ts';
import { type FullName, type Renames, renameIn } from '../../sql/rename.ts';
import type { Environment } from '../environment.ts';
import { loadItem } from '../items.ts';
import { refuseSystem } from './clusters.ts';

type Naming = Extract<AlterPlan, { kind: 'alterRename' | 'alterSetSchema' | 'alterSwap' }>;

/** What changes besides the definitions: entities by key, as they are to be. */
type Changed = Map<string, Entity>;

export async function alterNames(env: Environment, plan: Naming, database: string): Promise<void> {
  const changed: Changed = new Map();
  const put = (e: Entity): void => void changed.set(entityKey(e), e);
  switch (plan.object.objectType) {
    case 'cluster':
      for (const e of renamedClusters(env, plan)) put(e);
      break;
    case 'schema':
      for (const e of renamedSchemas(env, plan, database)) put(e);
      break;
    case 'table':
    case 'view':
    case 'materialized view':
    case 'index':
    case 'source':
    case 'sink':
      for (const e of movedItems(env, plan, database)) put(e);
      break;
    default:
      throw unsupported(`ALTER ${plan.object.objectType.toUpperCase()}`);
  }
  await commitNames(env, changed);
}

// ---- Which entities

function renamedClusters(env: Environment, plan: Naming): readonly Entity[] {
  const id = plan.object.id as ClusterId;
  refuseSystem(id);
  const cluster = env.catalog.get('cluster', id)!;
  if (plan.kind === 'alterSwap') {
    const other = env.catalog.cluster(plan.with);
    if (other === undefined) throw new SqlError('undefined_object', `unknown cluster '${plan.with}'`);
    refuseSystem(other.id);
    return swapped(cluster, env.catalog.get('cluster', other.id)!);
  }
  if (plan.kind !== 'alterRename') throw unsupported('ALTER CLUSTER … SET SCHEMA');
  if (env.catalog.cluster(plan.to) !== undefined)
    throw new SqlError('duplicate_object', `cluster "${plan.to}" already exists`);
  return [{ ...cluster, name: plan.to }];
}

const swapped = <E extends ClusterEntity | SchemaEntity>(a: E, b: E): readonly Entity[] => [
  { ...a, name: b.name },
  { ...b, name: a.name },
];

function schemaNamed(env: Environment, parts: readonly string[], database: string): SchemaEntity {
  const name = parts.at(-1)!;
  const schema = env.catalog.schema(name, parts.length > 1 ? parts[0]! : database);
  if (schema === undefined) throw new SqlError('invalid_schema_name', `schema "${name}" does not exist`);
  if (schema.databaseId === null)
    throw new SqlError('insufficient_privilege', `system schema "${name}" cannot be changed`);
  return schema;
}

function renamedSchemas(env: Environment, plan: Naming, database: string): readonly Entity[] {
  const { parts } = plan.object;
  const schema = schemaNamed(env, parts, database);
  if (plan.kind === 'alterSwap')
    return swapped(schema, schemaNamed(env, [...parts.slice(0, -1), plan.with], database));
  if (plan.kind !== 'alterRename') throw unsupported('ALTER SCHEMA … SET SCHEMA');
  const owner = env.catalog.get('database', schema.databaseId!)!;
  if (env.catalog.schema(plan.to, owner.name) !== undefined)
    throw new SqlError('duplicate_schema', `schema "${plan.to}" already exists`);
  return [{ ...schema, name: plan.to }];
}

/** The object, and with another schema the indexes on it, which live beside it. */
function movedItems(env: Environment, plan: Naming, database: string): readonly Entity[] {
  const id = plan.object.id as GlobalId;
  const entity = env.catalog.get('item', id);
  if (entity === undefined)
    throw new SqlError(
      'insufficient_privilege',
      `system object "${plan.object.parts.at(-1)}" cannot be changed`,
    );
  if (plan.kind === 'alterSwap')
    throw unsupported(`ALTER ${plan.object.objectType.toUpperCase()} … SWAP WITH`);
  const to =
    plan.kind === 'alterRename'
      ? { name: plan.to }
      : { schemaId: schemaNamed(env, plan.schema, database).id };
  if (plan.kind === 'alterSetSchema' && plan.object.objectType === 'index')
    throw unsupported('ALTER INDEX … SET SCHEMA', { hint: 'an index lives beside what it is on' });
  const moved = [entity, ...('schemaId' in to ? indexesOn(env, id) : [])].map(
    (e): ItemEntity => ({ ...e, ...to }),
  );
  for (const e of moved) {
    const there = env.catalog.itemInSchema(e.schemaId, e.name);
    if (there !== undefined && there.id !== e.id)
      throw new SqlError('duplicate_table', `relation "${e.name}" already exists`);
  }
  return moved;
}

const indexesOn = (env: Environment, id: GlobalId): readonly ItemEntity[] =>
  env.catalog.indexesOn(id).flatMap((i) => env.catalog.get('item', i.id) ?? []);

// ---- What they are called in definitions

function fullName(catalog: CatalogState, e: ItemEntity): FullName {
  const schema = catalog.get('schema', e.schemaId)!;
  return [catalog.get('database', schema.databaseId!)!.name, schema.name, e.name];
}

async function commitNames(env: Environment, changed: Changed): Promise<void> {
  const { catalog } = env;
  const now = scratch(catalog);
  now.apply({
    remove: [...changed.values()].map((e) => catalog.get(e.kind, e.id)!),
    put: [...changed.values()],
    items: new Map([...catalog.all('item')].map((e) => [e.id, catalog.item(e.id)!])),
  });
  const items = [...catalog.all('item')].filter((e) => catalog.item(e.id) !== undefined);
  const renames: Renames = {
    objects: items.flatMap((e) => {
      const from = fullName(catalog, e);
      const to = fullName(now, now.get('item', e.id)!);
      return from.join('.') === to.join('.') ? [] : [{ from, to }];
    }),
    clusters: new Map([...catalog.all('cluster')].map((c) => [c.name, now.get('cluster', c.id)!.name])),
  };
  const loaded = new Map<GlobalId, CatalogItem>();
  const touched: ItemEntity[] = [];
  for (const e of items) {
    const entity = { ...now.get('item', e.id)!, createSql: renameIn(e.createSql, renames) };
    if (entity.createSql !== e.createSql || changed.has(entityKey(e))) touched.push(entity);
  }
  touched.sort((a, b) => compareIds(a.id, b.id));
  for (const e of touched) {
    const item = reload(now, e, catalog.item(e.id)!);
    loaded.set(e.id, item);
    now.apply({ remove: [now.get('item', e.id)!], put: [e], items: new Map([[e.id, item]]) });
    changed.set(entityKey(e), e);
  }
  const put = [...changed.values()];
  await env.transact({ remove: put.map((e) => catalog.get(e.kind, e.id)!), put, items: loaded });
}

/** A catalog of its own to try names in. */
export function scratch(catalog: CatalogState): CatalogState {
  const copy = new CatalogState();
  const entities = [...catalog.entities()];
  const items = new Map(
    [...catalog.all('item')].flatMap((e) => {
      const item = catalog.item(e.id);
      return item === undefined ? [] : [[e.id, item] as const];
    }),
  );
  copy.apply({ remove: [], put: entities.filter((e) => e.kind !== 'item' || items.has(e.id)), items });
  return copy;
}

/** Its definition under the new names; an error if it would mean something else. */
function reload(now: CatalogState, e: ItemEntity, before: CatalogItem): CatalogItem {
  const cannot = (cause?: unknown): SqlError =>
    new SqlError('dependent_objects_still_exist', `the definition of "${e.name}" cannot take the new name`, {
      hint: 'drop what depends on the object, rename it, and create the rest again',
      cause,
    });
  let item: CatalogItem;
  try {
    item = loadItem(now, e);
  } catch (error) {
    throw cannot(error);
  }
  const same = (a: readonly GlobalId[], b: readonly GlobalId[]): boolean =>
    [...a].sort(compareIds).join() === [...b].sort(compareIds).join();
  if (!same(item.dependsOn, before.dependsOn)) throw cannot();
  return item;
}
