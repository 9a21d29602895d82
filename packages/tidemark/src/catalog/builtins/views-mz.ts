/** Views over the catalog's tables and over the log relations, in SQL. */
import { type BuiltinView, columns, view } from './declare.ts';

const OBJECT = ['id text', 'oid oid', 'schema_id text', 'name text'] as const;

export const MZ_VIEWS: readonly BuiltinView[] = [
  view({
    schema: 'mz_catalog',
    name: 'mz_relations',
    number: 2001,
    doc: 'everything that can be selected from',
    columns: columns(...OBJECT, 'type text', 'cluster_id text?'),
    key: ['id'],
    sql: `
      SELECT id, oid, schema_id, name, 'table' AS type, NULL::text AS cluster_id FROM mz_catalog.mz_tables
      UNION ALL SELECT id, oid, schema_id, name, 'source', NULL::text FROM mz_catalog.mz_sources
      UNION ALL SELECT id, oid, schema_id, name, 'view', NULL::text FROM mz_catalog.mz_views
      UNION ALL SELECT id, oid, schema_id, name, 'materialized-view', cluster_id FROM mz_catalog.mz_materialized_views`,
  }),
  view({
    schema: 'mz_catalog',
    name: 'mz_objects',
    number: 2002,
    doc: 'every object of the catalog',
    columns: columns(...OBJECT, 'type text', 'cluster_id text?'),
    key: ['id'],
    sql: `
      SELECT id, oid, schema_id, name, type, cluster_id FROM mz_catalog.mz_relations
      UNION ALL
      SELECT i.id, i.oid, r.schema_id, i.name, 'index', i.cluster_id
      FROM mz_catalog.mz_indexes i JOIN mz_catalog.mz_relations r ON i.on_id = r.id
      UNION ALL SELECT id, oid, schema_id, name, 'sink', cluster_id FROM mz_catalog.mz_sinks`,
  }),
  view({
    schema: 'mz_internal',
    name: 'mz_compute_dependencies',
    number: 2003,
    doc: 'what each maintained object reads',
    columns: columns('object_id text', 'dependency_id text'),
    sql: `
      SELECT d.object_id, d.referenced_object_id AS dependency_id
      FROM mz_internal.mz_object_dependencies d
      WHERE d.object_id IN (SELECT id FROM mz_catalog.mz_materialized_views UNION ALL SELECT id FROM mz_catalog.mz_indexes
        UNION ALL SELECT id FROM mz_catalog.mz_sinks)`,
  }),
  view({
    schema: 'mz_catalog',
    name: 'mz_cluster_replica_sizes',
    number: 2004,
    doc: 'the sizes in use, and how many worker threads each gives',
    columns: columns('size text', 'workers uint8'),
    sql: 'SELECT DISTINCT size, workers FROM mz_catalog.mz_cluster_replicas',
  }),
  view({
    schema: 'mz_introspection',
    name: 'mz_compute_exports',
    number: 2005,
    doc: 'the collections that the dataflows of a replica export; the same on all workers',
    columns: columns('export_id text', 'dataflow_id uint8'),
    key: ['export_id'],
    sql: 'SELECT export_id, dataflow_id FROM mz_introspection.mz_compute_exports_per_worker WHERE worker_id = 0',
  }),
  view({
    schema: 'mz_introspection',
    name: 'mz_compute_frontiers',
    number: 2006,
    doc: 'the least write frontier over the workers, for each export',
    columns: columns('export_id text', 'time mz_timestamp'),
    key: ['export_id'],
    sql: 'SELECT export_id, min(time) AS time FROM mz_introspection.mz_compute_frontiers_per_worker GROUP BY export_id',
  }),
  view({
    schema: 'mz_introspection',
    name: 'mz_compute_import_frontiers',
    number: 2007,
    doc: 'the least frontier over the workers, for each import of an export',
    columns: columns('export_id text', 'import_id text', 'time mz_timestamp'),
    key: ['export_id', 'import_id'],
    sql: `SELECT export_id, import_id, min(time) AS time
      FROM mz_introspection.mz_compute_import_frontiers_per_worker GROUP BY export_id, import_id`,
  }),
  view({
    schema: 'mz_introspection',
    name: 'mz_active_peeks',
    number: 2008,
    doc: 'reads under way; the same on all workers',
    columns: columns('id uuid', 'object_id text', 'type text', 'time mz_timestamp'),
    key: ['id'],
    sql: 'SELECT id, object_id, type, time FROM mz_introspection.mz_active_peeks_per_worker WHERE worker_id = 0',
  }),
  view({
    schema: 'mz_introspection',
    name: 'mz_compute_error_counts_per_worker',
    number: 2009,
    doc: 'errors that an export holds on each worker',
    columns: columns('export_id text', 'worker_id uint8', 'count int8'),
    key: ['export_id', 'worker_id'],
    sql: 'SELECT export_id, worker_id, count FROM mz_introspection.mz_compute_error_counts_raw',
  }),
  view({
    schema: 'mz_introspection',
    name: 'mz_compute_error_counts',
    number: 2010,
    doc: 'errors that an export holds; no row where there is none',
    columns: columns('export_id text', 'count numeric'),
    key: ['export_id'],
    sql: `SELECT export_id, sum(count) AS count
      FROM mz_introspection.mz_compute_error_counts_per_worker GROUP BY export_id HAVING sum(count) <> 0`,
  }),
];
