/**
 * The catalog's own tables. Each says how an entity becomes rows; the environment keeps what it emitted for an entity and
 * retracts exactly that. Tables without such a rule are written while the environment runs: by `LiveRows`, or by the history.
 */
import { Interval } from '../../repr/interval.ts';
import { type Datum, oidOf, TYPES, typeToString, typmodOf } from '../../repr/types.ts';
import { type CatalogItem, isRelation } from '../catalog-reader.ts';
import type { LoadedItem } from '../entities.ts';
import { AUDIT_TABLE } from './audit-table.ts';
import { type BuiltinTable, commentsOf, table } from './builtin-table.ts';
import { type BuiltinRow, columns } from './declare.ts';
import { castRows, functionRows, operatorRows } from './engine-rows.ts';
import { FRONTIER_TABLES } from './frontier-tables.ts';
import { HISTORY_TABLES } from './history-tables.ts';
import { HYDRATION_TABLES } from './hydration-tables.ts';
import { UNIFIED_TABLES } from './unified-tables.ts';

const ofKind =
  (kind: CatalogItem['kind'], f: (l: LoadedItem) => readonly Datum[]) =>
  (l: LoadedItem): readonly BuiltinRow[] =>
    l.item.kind === kind ? [f(l)] : [];

const base = (l: LoadedItem): Datum[] => [l.item.id, l.item.oid, l.schemaId, l.item.name.item];
const createSql = (l: LoadedItem): Datum => (l.item.createSql === '' ? null : l.item.createSql);

const OBJECT_COLUMNS = [
  'id text | of the object',
  'oid oid | for PostgreSQL clients',
  'schema_id text | of its schema',
  'name text',
] as const;

export const BUILTIN_TABLES = [
  table({
    name: 'mz_databases',
    number: 1001,
    doc: 'the databases',
    columns: columns('id text', 'oid oid', 'name text'),
    key: ['id'],
    rows: { database: (d) => [[d.id, d.oid, d.name]] },
  }),
  table({
    name: 'mz_schemas',
    number: 1002,
    doc: 'the schemas; system schemas belong to no database',
    columns: columns('id text', 'oid oid', 'database_id text?', 'name text'),
    key: ['id'],
    rows: { schema: (s) => [[s.id, s.oid, s.databaseId, s.name]] },
  }),
  table({
    name: 'mz_clusters',
    number: 1003,
    doc: 'the clusters',
    columns: columns(
      'id text',
      'name text',
      'size text? | of each replica, where the cluster manages them',
      'introspection_interval interval? | NULL: introspection is off',
      'introspection_debugging bool',
      'managed bool | whether its replicas follow from size and replication factor',
    ),
    key: ['id'],
    rows: {
      cluster: (c) => [
        [
          c.id,
          c.name,
          c.size,
          c.introspectionIntervalMs === 0 ? null : new Interval(0, 0, c.introspectionIntervalMs * 1000),
          c.introspectionDebugging,
          c.size !== null,
        ],
      ],
    },
  }),
  table({
    name: 'mz_cluster_replicas',
    number: 1004,
    doc: 'the replicas of the clusters',
    columns: columns(
      'id text',
      'name text',
      'cluster_id text',
      'size text',
      'workers uint8 | worker threads',
      'address text? | host:port of a replica in a process of its own',
    ),
    key: ['id'],
    rows: {
      replica: (r) => [[r.id, r.name, r.clusterId, r.size, BigInt(r.workers), r.address ?? null]],
    },
  }),
  table({
    name: 'mz_tables',
    number: 1005,
    doc: 'tables of users, and the catalog relations that the environment writes',
    columns: columns(...OBJECT_COLUMNS, 'create_sql text?'),
    key: ['id'],
    rows: {
      item: (l) =>
        l.item.kind === 'table' || l.item.kind === 'builtin-table' ? [[...base(l), createSql(l)]] : [],
    },
  }),
  table({
    name: 'mz_sources',
    number: 1006,
    doc: 'sources, and the log relations that each replica keeps about itself (type `log`)',
    columns: columns(...OBJECT_COLUMNS, 'type text | file, log', 'create_sql text?'),
    key: ['id'],
    rows: {
      item: (l) =>
        l.item.kind === 'source'
          ? [[...base(l), 'file', createSql(l)]]
          : l.item.kind === 'log'
            ? [[...base(l), 'log', null]]
            : [],
    },
  }),
  table({
    name: 'mz_views',
    number: 1007,
    doc: 'views',
    columns: columns(...OBJECT_COLUMNS, 'create_sql text?'),
    key: ['id'],
    rows: { item: ofKind('view', (l) => [...base(l), createSql(l)]) },
  }),
  table({
    name: 'mz_materialized_views',
    number: 1008,
    doc: 'materialized views',
    columns: columns(...OBJECT_COLUMNS, 'cluster_id text', 'create_sql text'),
    key: ['id'],
    rows: {
      item: (l) =>
        l.item.kind === 'materialized-view' ? [[...base(l), l.item.cluster!, l.item.createSql]] : [],
    },
  }),
  table({
    name: 'mz_sinks',
    number: 1061,
    doc: 'sinks',
    columns: columns(...OBJECT_COLUMNS, 'type text | metrics', 'cluster_id text', 'create_sql text'),
    key: ['id'],
    rows: {
      item: (l) =>
        l.item.kind === 'sink' ? [[...base(l), l.item.into, l.item.cluster, l.item.createSql]] : [],
    },
  }),
  table({
    name: 'mz_indexes',
    number: 1009,
    doc: 'indexes',
    columns: columns(
      'id text',
      'oid oid',
      'name text',
      'on_id text | what it arranges',
      'cluster_id text',
      'create_sql text?',
    ),
    key: ['id'],
    rows: {
      item: (l) =>
        l.item.kind === 'index'
          ? [[l.item.id, l.item.oid, l.item.name.item, l.item.on, l.item.cluster, createSql(l)]]
          : [],
    },
  }),
  table({
    name: 'mz_index_columns',
    number: 1010,
    doc: 'the keys of indexes, in order',
    columns: columns(
      'index_id text',
      'index_position uint8 | 1-based',
      'on_position uint8? | 1-based column; NULL for an expression',
      'nullable bool',
    ),
    key: ['index_id', 'index_position'],
    rows: {
      item: ({ item }) =>
        item.kind === 'index'
          ? item.keys.map((k, i) => [
              item.id,
              BigInt(i + 1),
              k.kind === 'column' ? BigInt(k.index + 1) : null,
              item.keysNullable[i]!,
            ])
          : [],
    },
  }),
  table({
    name: 'mz_columns',
    number: 1011,
    doc: 'the columns of every relation',
    columns: columns(
      'id text | of the relation',
      'name text',
      'position uint8 | 1-based',
      'nullable bool',
      'type text | as SQL writes it',
      'type_oid oid',
      'type_mod int4 | -1 where the type takes none',
      'default text?',
    ),
    key: ['id', 'position'],
    rows: {
      item: ({ item }) =>
        isRelation(item)
          ? item.desc.columns.map((c, i) => [
              item.id,
              c.name,
              BigInt(i + 1),
              c.nullable,
              typeToString(c.type),
              oidOf(c.type),
              typmodOf(c.type),
              item.defaultSql?.[i] ?? null,
            ])
          : [],
    },
  }),
  table({
    name: 'mz_types',
    number: 1012,
    doc: 'the data types',
    columns: columns(
      'oid oid',
      'name text',
      'category text',
      'length int4 | bytes, -1 where it varies',
      'element_oid oid | 0 unless an array',
      'array_oid oid',
      'sql_name text',
    ),
    key: ['oid'],
    rows: {
      type: (name) => {
        const t = TYPES[name];
        if (t.oid === 0) return [];
        const own: BuiltinRow = [t.oid, name, t.category, t.len, 0, t.arrayOid, t.sqlName];
        return t.arrayOid === 0
          ? [own]
          : [own, [t.arrayOid, `_${name}`, 'A', -1, t.oid, 0, `${t.sqlName}[]`]];
      },
    },
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_comments',
    number: 1013,
    doc: 'what COMMENT ON has said, and what builtin relations say about themselves',
    columns: columns(
      'id text | of the object',
      'object_type text',
      'object_sub_id int4? | 1-based column',
      'comment text',
    ),
    rows: {
      comment: (c) => [[c.objectId, c.objectType, c.column, c.comment]],
      builtin: (d) => [...commentsOf(d)].map(([column, text]) => [d.id, d.objectType, column, text]),
    },
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_object_dependencies',
    number: 1014,
    doc: 'which object names which',
    columns: columns('object_id text', 'referenced_object_id text'),
    key: ['object_id', 'referenced_object_id'],
    rows: { item: ({ item }) => item.dependsOn.map((d) => [item.id, d]) },
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_object_global_ids',
    number: 1015,
    doc: 'under which ids the dataflows of an object are known',
    columns: columns('id text', 'global_id text'),
    key: ['id', 'global_id'],
    rows: {
      item: ({ item, entity }) => [[item.id, entity?.exportId ?? item.id]],
    },
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_source_statuses',
    number: 1016,
    doc: 'whether a source has loaded: starting, running (loaded, its upper follows the clock) or stalled',
    columns: columns(
      'id text',
      'name text',
      'type text',
      'last_status_change_at timestamptz',
      'status text',
      'error text?',
    ),
    key: ['id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_source_statistics',
    number: 1017,
    doc: 'how far the load of a source has got',
    columns: columns(
      'id text',
      'rows_read uint8 | rows decoded so far',
      'rows_known uint8? | rows in the input, where its format says',
      'bytes_received uint8',
      'snapshot_committed bool | the load is durable',
    ),
    key: ['id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_sessions',
    number: 1018,
    doc: 'the sessions now connected',
    columns: columns(
      'id uint8',
      'role text',
      'database text',
      'application_name text',
      'client_addr text?',
      'connected_at timestamptz',
    ),
    key: ['id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_cluster_replica_statuses',
    number: 1019,
    doc: 'whether a replica is connected: online, or offline with the reason',
    columns: columns('replica_id text', 'status text', 'reason text?', 'updated_at timestamptz'),
    key: ['replica_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_compute_reconciliations',
    number: 1072,
    doc: 'what became of the dataflows of replicas that had gone on without this process, when it connected to them; added up since it began',
    columns: columns(
      'replica_id text',
      'outcome text | retained, created, dropped, and why one could not be retained: exports, description, compaction, permission, reader, memory, import',
      'count uint8 | dataflows',
    ),
    key: ['replica_id', 'outcome'],
  }),
  table({
    name: 'mz_functions',
    number: 1020,
    doc: 'the functions, one row an overload',
    columns: columns(
      'oid oid',
      'name text',
      'kind text | f, or a for an aggregate',
      'argument_oids oid[]',
      'arguments text | as SQL writes them',
      'variadic_oid oid | of any number of further arguments, 0 where there are none',
      'result_oid oid',
      'result text',
      'returns_set bool',
      'strict bool | NULL for a NULL argument',
      'volatility text | i, s or v, as PostgreSQL says it',
      'description text',
    ),
    key: ['oid'],
    rows: { engine: functionRows },
  }),
  table({
    name: 'mz_operators',
    number: 1021,
    doc: 'the operators, one row an overload',
    columns: columns(
      'oid oid | of the function behind it, too',
      'name text',
      'argument_oids oid[]',
      'result_oid oid',
      'description text',
    ),
    key: ['oid'],
    rows: { engine: operatorRows },
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_casts',
    number: 1022,
    doc: 'the casts that are not through text',
    columns: columns(
      'oid oid',
      'source_oid oid',
      'target_oid oid',
      'context text | implicit, assignment or explicit',
      'binary_coercible bool | the value stays as it is',
    ),
    key: ['oid'],
    rows: { engine: castRows },
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_materialized_view_refreshes',
    number: 1060,
    doc: 'materialized views with a refresh schedule: the last refresh that is durable, and the next one',
    columns: columns(
      'materialized_view_id text',
      'last_completed_refresh mz_timestamp? | NULL before the first',
      'next_refresh mz_timestamp? | NULL after the last',
    ),
    key: ['materialized_view_id'],
  }),
  ...HYDRATION_TABLES,
  ...FRONTIER_TABLES,
  ...HISTORY_TABLES,
  AUDIT_TABLE,
  table({
    schema: 'mz_internal',
    name: 'mz_subscriptions',
    number: 1080,
    doc: 'the subscribes that are under way',
    columns: columns(
      'id text',
      'session_id uint8',
      'cluster_id text',
      'created_at timestamptz',
      'referenced_object_ids text_list | what the statement names',
    ),
    key: ['id'],
  }),
  ...UNIFIED_TABLES,
] as const satisfies readonly BuiltinTable[];

export type BuiltinTableName = (typeof BUILTIN_TABLES)[number]['name'];
