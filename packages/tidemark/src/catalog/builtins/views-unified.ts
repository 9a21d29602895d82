/**
 * What replicas tell, for readers: a row for each object on each replica, always. Where a replica is not fresh (it was lost, or has not told
 * everything yet) nothing of an earlier life stands in it: not hydrated, measures NULL.
 */
import { type BuiltinView, columns, view } from './declare.ts';

const OBJECT = ['replica_id text', 'object_id text'] as const;

/** Every maintained object on every replica of its cluster. */
const EACH = `
  (SELECT f.replica_id, o.id AS object_id, f.fresh
  FROM mz_internal.mz_introspection_freshness f
  JOIN mz_catalog.mz_cluster_replicas r ON r.id = f.replica_id
  JOIN (
    SELECT id, cluster_id FROM mz_catalog.mz_indexes
    UNION ALL SELECT id, cluster_id FROM mz_catalog.mz_materialized_views
    UNION ALL SELECT id, cluster_id FROM mz_catalog.mz_sinks WHERE cluster_id IS NOT NULL
  ) o ON o.cluster_id = r.cluster_id)`;

const told = (relation: string, columns: string): string => `
  SELECT e.replica_id, e.object_id, ${columns}
  FROM ${EACH} e
  LEFT JOIN mz_internal.${relation} t ON t.replica_id = e.replica_id AND t.object_id = e.object_id`;

export const UNIFIED_VIEWS: readonly BuiltinView[] = [
  view({
    schema: 'mz_internal',
    name: 'mz_compute_error_counts_raw_unified',
    number: 2401,
    doc: 'errors that an object holds on a replica',
    columns: columns(...OBJECT, 'count numeric? | NULL: not known'),
    sql: told('mz_told_error_counts', 'CASE WHEN e.fresh THEN coalesce(t.count, 0) END AS count'),
  }),
  view({
    schema: 'mz_internal',
    name: 'mz_compute_hydration_times',
    number: 2402,
    doc: 'how long an object took to hydrate on a replica, by its slowest worker',
    columns: columns(...OBJECT, 'time_ns uint8? | NULL: not hydrated, or not known'),
    sql: told('mz_told_hydration_times', 'CASE WHEN e.fresh THEN t.time_ns END AS time_ns'),
  }),
  view({
    schema: 'mz_internal',
    name: 'mz_compute_operator_hydration_statuses',
    number: 2403,
    doc: 'whether each node of an object’s plan has hydrated on a replica, on all of its workers',
    columns: columns(
      ...OBJECT,
      'physical_plan_node_id uint8? | NULL: the replica has not said which nodes there are',
      'hydrated bool',
    ),
    sql: `
      SELECT replica_id, object_id, node AS physical_plan_node_id, hydrated FROM (
        ${told('mz_told_operator_hydration', 'CASE WHEN e.fresh THEN t.physical_plan_node_id END AS node, e.fresh AND coalesce(t.hydrated, false) AS hydrated, e.fresh')}
      ) s WHERE NOT fresh OR node IS NOT NULL`,
  }),
  view({
    schema: 'mz_internal',
    name: 'mz_object_arrangement_sizes',
    number: 2404,
    doc: 'bytes of the arrangements of an object on a replica; told again when they have changed by more than a sixteenth',
    columns: columns(...OBJECT, 'size int8? | NULL: it has none, or it is not known'),
    sql: told('mz_told_arrangement_sizes', 'CASE WHEN e.fresh THEN t.size END AS size'),
  }),
  view({
    schema: 'mz_internal',
    name: 'mz_compute_hydration_statuses',
    number: 2405,
    doc: 'whether an object has hydrated on a replica, and how long that took; a sealed view has, and took no time',
    columns: columns('object_id text', 'replica_id text', 'hydrated bool', 'hydration_time interval?'),
    sql: `
      SELECT t.object_id, t.replica_id, t.time_ns IS NOT NULL OR s.object_id IS NOT NULL AS hydrated,
        (t.time_ns / 1000)::float8 * INTERVAL '1 microsecond' AS hydration_time
      FROM mz_internal.mz_compute_hydration_times t
      LEFT JOIN mz_internal.mz_sealed_views s ON s.object_id = t.object_id`,
  }),
  view({
    schema: 'mz_internal',
    name: 'mz_hydration_statuses',
    number: 2406,
    doc: 'the same of every index, materialized view and sink on clusters of users, and of every source, which has hydrated once it has loaded',
    columns: columns('object_id text', 'replica_id text?', 'hydrated bool?'),
    sql: `
      SELECT o.id AS object_id, s.replica_id, coalesce(s.hydrated, false) AS hydrated
      FROM (
        SELECT id, cluster_id FROM mz_catalog.mz_indexes
        UNION ALL SELECT id, cluster_id FROM mz_catalog.mz_materialized_views
        UNION ALL SELECT id, cluster_id FROM mz_catalog.mz_sinks
      ) o LEFT JOIN mz_internal.mz_compute_hydration_statuses s ON s.object_id = o.id
      WHERE o.cluster_id NOT LIKE 's%'
      UNION ALL SELECT id, NULL::text, status = 'running' FROM mz_internal.mz_source_statuses`,
  }),
];
