/** From a planned CREATE statement to the catalog item it makes: at creation, and again at each start. */
import { assert } from '../base/assert.ts';
import { unsupported } from '../base/error.ts';
import type { CatalogItem, CatalogReader } from '../catalog/catalog-reader.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import type { ItemEntity } from '../catalog/entities.ts';
import type { CreatePlan, StatementContext } from '../plan/statement/plan.ts';
import { scheduleFrom } from '../plan/statement/refresh.ts';
import { planStatement } from '../plan/statement.ts';
import { parseStatement } from '../sql/parse.ts';

/** What a stored statement is planned in: every name in it is written out, and nothing depends on a session. */
export function storedContext(catalog: CatalogReader, database: string): StatementContext {
  return {
    catalog,
    names: { database, searchPath: [] },
    eval: { timeZone: 'UTC' },
    cluster: undefined,
  };
}

export function loadItem(catalog: CatalogState, entity: ItemEntity): CatalogItem {
  const schema = catalog.get('schema', entity.schemaId);
  assert(schema !== undefined, `schema ${entity.schemaId} of ${entity.id} exists`);
  const database = schema.databaseId === null ? null : catalog.get('database', schema.databaseId);
  const context = storedContext(catalog, database?.name ?? '');
  const plan = planStatement(parseStatement(entity.createSql), context);
  return itemOf(plan as CreatePlan, entity);
}

export function itemOf(plan: CreatePlan, entity: ItemEntity): CatalogItem {
  const base = {
    id: entity.id,
    oid: entity.oid,
    name: { ...plan.name, item: entity.name },
    createSql: entity.createSql,
    dependsOn: plan.dependsOn,
  };
  switch (plan.kind) {
    case 'createTable':
      return {
        ...base,
        kind: 'table',
        desc: plan.desc,
        defaults: plan.defaults,
        defaultSql: plan.defaultSql,
      };
    case 'createSource':
      return { ...base, kind: 'source', desc: entity.desc ?? { columns: plan.columns, keys: [] } };
    case 'createView':
      return { ...base, kind: 'view', desc: plan.desc, query: plan.query };
    case 'createMaterializedView':
      return {
        ...base,
        kind: 'materialized-view',
        desc: plan.desc,
        query: plan.query,
        cluster: plan.cluster,
        ...(plan.replaces !== undefined && { replaces: plan.replaces }),
        ...(plan.refresh !== null &&
          entity.refreshFrom !== undefined && { refresh: scheduleFrom(plan.refresh, entity.refreshFrom) }),
      };
    case 'createIndex':
      return {
        ...base,
        kind: 'index',
        on: plan.on,
        cluster: plan.cluster,
        keys: plan.keys,
        keysNullable: plan.keysNullable,
      };
    case 'createSink':
      return { ...base, kind: 'sink', into: plan.into, from: plan.from, cluster: plan.cluster };
    case 'createConnection':
      throw unsupported('CREATE CONNECTION');
    case 'createSecret':
      throw unsupported('CREATE SECRET');
  }
}
