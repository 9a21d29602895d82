/** Every builtin relation as a catalog item, derived from its literal. */
import { assert } from '../../base/assert.ts';
import { systemId } from '../../base/ids.ts';
import { LOG_NAMES, LOG_RELATIONS, logDesc } from '../../introspection/relations.ts';
import type { RelationDesc } from '../../repr/types.ts';
import type { Query } from '../../sql/ast.ts';
import { parseStatement } from '../../sql/parse.ts';
import type { RelationItem } from '../catalog-reader.ts';
import type { BuiltinTable } from './builtin-table.ts';
import { type BuiltinView, SYSTEM_SCHEMAS, type SystemSchema } from './declare.ts';
import { BUILTIN_TABLES } from './tables.ts';
import { INFORMATION_SCHEMA_VIEWS } from './views-information-schema.ts';
import { INTROSPECTION_VIEWS } from './views-introspection.ts';
import { MEASURE_VIEWS } from './views-introspection-measures.ts';
import { MZ_VIEWS } from './views-mz.ts';
import { PG_VIEWS } from './views-pg.ts';
import { EMPTY_PG_VIEWS } from './views-pg-empty.ts';
import { UNIFIED_VIEWS } from './views-unified.ts';

export const BUILTIN_VIEWS: readonly BuiltinView[] = [
  ...MZ_VIEWS,
  ...INTROSPECTION_VIEWS,
  ...MEASURE_VIEWS,
  ...UNIFIED_VIEWS,
  ...PG_VIEWS,
  ...EMPTY_PG_VIEWS,
  ...INFORMATION_SCHEMA_VIEWS,
];

export interface BuiltinItem {
  readonly item: RelationItem;
  readonly schemaId: string;
}

const schemaId = (schema: SystemSchema): string => SYSTEM_SCHEMAS[schema].id;

/** The shard of a builtin table; the name tells in which store it lives, the memory of the environment or the durable one. */
export const builtinShard = (t: Pick<BuiltinTable, 'number' | 'kept'>): string =>
  `${t.kept === 'durable' ? 'history' : 'builtin'}-${systemId(t.number)}`;

function viewQuery(v: BuiltinView): Query {
  const statement = parseStatement(v.sql);
  assert(statement.kind === 'selectStatement', `builtin view ${v.name} is a query`);
  return statement.query;
}

/** Parsed on first use: 40 views take longer to parse than a server has to start. */
function lazyQuery(v: BuiltinView): { readonly query: Query } {
  let query: Query | undefined;
  return {
    get query(): Query {
      query ??= viewQuery(v);
      return query;
    },
  };
}

function viewItem(v: BuiltinView): RelationItem {
  const desc: RelationDesc = { columns: v.columns, keys: v.keys };
  const item = {
    id: systemId(v.number),
    oid: v.oid,
    kind: 'view' as const,
    name: { database: null, schema: v.schema, item: v.name },
    createSql: '',
    dependsOn: [],
    desc,
  };
  const lazy = lazyQuery(v);
  return Object.defineProperty(item, 'query', { enumerable: false, get: () => lazy.query }) as RelationItem;
}

function tableItem(t: BuiltinTable): RelationItem {
  return {
    id: systemId(t.number),
    oid: t.oid,
    kind: 'builtin-table',
    name: { database: null, schema: t.schema, item: t.name },
    createSql: '',
    dependsOn: [],
    desc: { columns: t.columns, keys: t.keys },
  };
}

export function builtinItems(): readonly BuiltinItem[] {
  return [
    ...LOG_NAMES.map(
      (name): BuiltinItem => ({
        item: {
          id: systemId(LOG_RELATIONS[name].number),
          oid: LOG_RELATIONS[name].oid,
          kind: 'log',
          name: { database: null, schema: 'mz_introspection', item: name },
          createSql: '',
          dependsOn: [],
          desc: logDesc(name),
        },
        schemaId: schemaId('mz_introspection'),
      }),
    ),
    ...BUILTIN_TABLES.map((t) => ({ item: tableItem(t), schemaId: schemaId(t.schema) })),
    ...BUILTIN_VIEWS.map((v) => ({ item: viewItem(v), schemaId: schemaId(v.schema) })),
  ];
}
