/** Objects by the names that statements write. */

import { SqlError } from '../../base/error.ts';
import type { ClusterId, GlobalId } from '../../base/ids.ts';
import type { CatalogItem, QualifiedName, RelationItem } from '../../catalog/catalog-reader.ts';
import { isRelation } from '../../catalog/catalog-reader.ts';
import type { Ident, ObjectName, ObjectType } from '../../sql/ast.ts';
import { missingRelation } from '../bind/context.ts';
import type { ObjectRef, StatementContext } from './plan.ts';

export const partsOf = (name: ObjectName): readonly string[] => name.parts.map((p) => p.name);

/** Where something new goes: the first schema of the search path, unless it is written. */
export function newName(name: ObjectName, context: StatementContext): QualifiedName {
  const parts = partsOf(name);
  if (parts.length > 3)
    throw new SqlError(
      'syntax_error',
      `improper qualified name (too many dotted names): ${parts.join('.')}`,
      {
        position: name.pos + 1,
      },
    );
  const [item, schema, database] = [...parts].reverse();
  if (schema !== undefined && !context.catalog.hasSchema(parts.slice(0, -1), context.names))
    throw new SqlError('invalid_schema_name', `schema "${parts.slice(0, -1).join('.')}" does not exist`, {
      position: name.pos + 1,
    });
  const first = schema ?? context.names.searchPath.find((s) => context.catalog.hasSchema([s], context.names));
  if (first === undefined)
    throw new SqlError('invalid_schema_name', 'no schema has been selected to create in', {
      position: name.pos + 1,
    });
  return { database: database ?? context.names.database, schema: first, item };
}

export function clusterNamed(context: StatementContext, name: Ident | undefined): ClusterId {
  if (name !== undefined) {
    const found = context.catalog.cluster(name.name);
    if (found === undefined)
      throw new SqlError('undefined_object', `unknown cluster '${name.name}'`, { position: name.pos + 1 });
    return found.id;
  }
  if (context.cluster === undefined)
    throw new SqlError('undefined_object', 'the session has no cluster', {
      hint: 'SET cluster to one that exists, or name one with IN CLUSTER.',
    });
  return context.cluster;
}

/** What statements call each kind of item. */
const KIND_NAMES: Record<CatalogItem['kind'], ObjectType> = {
  table: 'table',
  'builtin-table': 'table',
  source: 'source',
  view: 'view',
  'materialized-view': 'materialized view',
  log: 'source',
  index: 'index',
  sink: 'sink',
};
const ITEM_TYPES: ReadonlySet<ObjectType> = new Set(Object.values(KIND_NAMES));
const article = (word: string): string => (/^[aeiou]/.test(word) ? 'an' : 'a');

/** Undefined: not there. Throws when it is another kind of object. */
export function findObject(
  context: StatementContext,
  objectType: ObjectType,
  name: ObjectName,
  verb?: 'drop',
): ObjectRef | undefined {
  const parts = partsOf(name);
  const ref = (id: GlobalId | ClusterId | undefined, qualified?: QualifiedName): ObjectRef => ({
    objectType,
    parts,
    name: qualified,
    id,
  });
  if (objectType === 'cluster') {
    const cluster = context.catalog.cluster(parts[0]);
    return cluster === undefined ? undefined : ref(cluster.id);
  }
  if (objectType === 'schema')
    return context.catalog.hasSchema(parts, context.names) ? ref(undefined) : undefined;
  if (objectType === 'cluster replica') {
    const cluster = context.catalog.cluster(parts[0]);
    return cluster?.replicas.some((r) => r.name === parts[1]) ? ref(cluster.id) : undefined;
  }
  // Databases, connections, secrets and roles are not in the snapshot: the adapter looks.
  if (!ITEM_TYPES.has(objectType)) return ref(undefined);
  const item = context.catalog.resolve(parts, context.names);
  if (item === undefined) return undefined;
  const is = KIND_NAMES[item.kind];
  if (is !== objectType) {
    throw new SqlError(
      'wrong_object_type',
      `"${item.name.item}" is not ${article(objectType)} ${objectType}`,
      verb === 'drop'
        ? { hint: `Use DROP ${is.toUpperCase()} to remove ${article(is)} ${is}.` }
        : { detail: `it is ${article(is)} ${is}` },
    );
  }
  return ref(item.id, item.name);
}

export function objectNamed(context: StatementContext, objectType: ObjectType, name: ObjectName): ObjectRef {
  const found = findObject(context, objectType, name);
  if (found !== undefined) return found;
  throw missingObject(objectType, name);
}

export function missingObject(objectType: ObjectType, name: ObjectName): SqlError {
  const text = partsOf(name).join('.');
  const position = name.pos + 1;
  if (objectType === 'cluster')
    return new SqlError('undefined_object', `unknown cluster '${text}'`, { position });
  if (objectType === 'schema') return new SqlError('invalid_schema_name', `schema "${text}" does not exist`);
  if (ITEM_TYPES.has(objectType))
    return new SqlError('undefined_table', `${objectType} "${text}" does not exist`);
  return new SqlError('undefined_object', `${objectType} "${text}" does not exist`);
}

/** A table that rows can be written to. */
export function writableTable(context: StatementContext, name: ObjectName): RelationItem {
  const parts = partsOf(name);
  const item = context.catalog.resolve(parts, context.names);
  if (item === undefined) throw missingRelation(parts, name.pos + 1);
  if (item.kind === 'table') return item;
  const what = KIND_NAMES[item.kind];
  throw new SqlError('wrong_object_type', `cannot change ${what} "${item.name.item}"`, {
    position: name.pos + 1,
    ...(isRelation(item) &&
      item.kind === 'builtin-table' && { detail: 'System tables are written by the system alone.' }),
  });
}
