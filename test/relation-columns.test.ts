/**
 * What readers of introspection are promised: the columns of every relation with their types, in their order, and which may be NULL, as a
 * client of the Postgres wire finds them. A literal, written by hand from the contract: it is never made from the tables that it checks.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { rowsOf, wireDatabase } from './support/wire-database.ts';

/** Types in short; `?`: may be NULL. */
const TYPES: Readonly<Record<string, string>> = {
  text: 'text',
  uint2: 'uint2',
  uint8: 'uint8',
  int8: 'bigint',
  numeric: 'numeric',
  float8: 'double precision',
  bool: 'boolean',
  uuid: 'uuid',
  time: 'mz_timestamp',
  timestamptz: 'timestamp with time zone',
  jsonb: 'jsonb',
  interval: 'interval',
  list: 'uint8 list',
};

const MEASURES = 'records int8?, batches int8?, size int8?, capacity int8?, allocations int8?';
const OPERATOR = 'operator_id uint8, worker_id uint8';
const MESSAGES = 'channel_id uint8, from_worker_id uint8, to_worker_id uint8';
const LIR =
  'operator text, parent_lir_id uint8?, nesting uint2, operator_id_start uint8, operator_id_end uint8';
const ENDS =
  'from_operator_id uint8?, from_operator_address list, to_operator_id uint8?, to_operator_address list, type text';
const INSTANTS =
  'installed_at timestamptz?, started_at timestamptz?, hydrated_at timestamptz?, written_at timestamptz?';

const CONTRACT: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'logs of dataflows': {
    mz_compute_exports_per_worker: 'export_id text, worker_id uint8, dataflow_id uint8',
    mz_compute_frontiers_per_worker: 'export_id text, worker_id uint8, time time',
    mz_compute_import_frontiers_per_worker: 'export_id text, import_id text, worker_id uint8, time time',
    mz_active_peeks_per_worker: 'id uuid, worker_id uint8, object_id text, type text, time time',
    mz_peek_durations_histogram_raw: 'worker_id uint8, type text, duration_ns uint8',
    mz_compute_error_counts_raw: 'export_id text, worker_id uint8, count int8',
    mz_compute_hydration_times_per_worker:
      'export_id text, worker_id uint8, time_ns uint8?, installed_at timestamptz, started_at timestamptz?, hydrated_at timestamptz?',
    mz_compute_lifecycle_events_per_worker:
      'export_id text, worker_id uint8, event text, occurred_at timestamptz, reason text?, details jsonb?',
    mz_compute_operator_hydration_statuses_per_worker:
      'export_id text, lir_id uint8, worker_id uint8, hydrated bool',
    mz_compute_lir_mapping_per_worker: `global_id text, lir_id uint8, worker_id uint8, ${LIR}`,
    mz_compute_dataflow_global_ids_per_worker: 'id uint8, worker_id uint8, global_id text',
    mz_arrangement_heap_size_raw: OPERATOR,
    mz_arrangement_heap_capacity_raw: OPERATOR,
    mz_arrangement_heap_allocations_raw: OPERATOR,
    mz_cluster_prometheus_metrics:
      'process_id uint8, metric_name text, metric_type text, labels jsonb, value float8, help text',
    mz_compute_dataflow_as_of_per_worker: 'dataflow_id uint8, worker_id uint8, time time',
    mz_cluster_replica_resource_usage: 'process_id uint8, source text, metric text, value uint8',
  },
  'logs of the runtime': {
    mz_dataflow_operators_per_worker: 'id uint8, worker_id uint8, name text',
    mz_dataflow_addresses_per_worker: 'id uint8, worker_id uint8, address list',
    mz_dataflow_channels_per_worker:
      'id uint8, worker_id uint8, from_index uint8, from_port uint8, to_index uint8, to_port uint8, type text',
    mz_scheduling_elapsed_raw: 'id uint8, worker_id uint8',
    mz_compute_operator_durations_histogram_raw: 'id uint8, worker_id uint8, duration_ns uint8',
    mz_scheduling_parks_histogram_raw: 'worker_id uint8, slept_for_ns uint8, requested_ns uint8?',
    mz_message_counts_sent_raw: MESSAGES,
    mz_message_counts_received_raw: MESSAGES,
    mz_message_batch_counts_sent_raw: MESSAGES,
    mz_message_batch_counts_received_raw: MESSAGES,
    mz_dataflow_operator_reachability_raw:
      'id uint8, worker_id uint8, source uint8, port uint8, update_type text, time time?',
  },
  'logs of arrangements': {
    mz_arrangement_batches_raw: OPERATOR,
    mz_arrangement_records_raw: OPERATOR,
    mz_arrangement_sharing_raw: OPERATOR,
    mz_arrangement_batcher_records_raw: OPERATOR,
    mz_arrangement_batcher_size_raw: OPERATOR,
    mz_arrangement_batcher_capacity_raw: OPERATOR,
    mz_arrangement_batcher_allocations_raw: OPERATOR,
  },
  'views over logs': {
    mz_dataflows_per_worker: 'id uint8?, worker_id uint8, name text',
    mz_dataflows: 'id uint8?, name text',
    mz_dataflow_addresses: 'id uint8, address list',
    mz_dataflow_channels:
      'id uint8, from_index uint8, from_port uint8, to_index uint8, to_port uint8, type text',
    mz_dataflow_operators: 'id uint8, name text',
    mz_dataflow_global_ids: 'id uint8, global_id text',
    mz_compute_dataflow_as_of: 'dataflow_id uint8, time time',
    mz_mappable_objects: 'name text, global_id text',
    mz_lir_mapping: `global_id text, lir_id uint8, ${LIR}`,
    mz_dataflow_operator_dataflows_per_worker:
      'id uint8, name text, worker_id uint8, dataflow_id uint8, dataflow_name text',
    mz_dataflow_operator_dataflows: 'id uint8, name text, dataflow_id uint8, dataflow_name text',
    mz_dataflow_operator_parents_per_worker: 'id uint8, parent_id uint8, worker_id uint8',
    mz_dataflow_operator_parents: 'id uint8, parent_id uint8',
    mz_dataflow_channel_operators_per_worker: `id uint8, worker_id uint8, ${ENDS}`,
    mz_dataflow_channel_operators: `id uint8, ${ENDS}`,
    mz_compute_exports: 'export_id text, dataflow_id uint8',
    mz_compute_frontiers: 'export_id text, time time',
    mz_compute_import_frontiers: 'export_id text, import_id text, time time',
    mz_active_peeks: 'id uuid, object_id text, type text, time time',
    mz_peek_durations_histogram_per_worker: 'worker_id uint8, type text, duration_ns uint8, count int8',
    mz_peek_durations_histogram: 'type text, duration_ns uint8, count numeric',
    mz_scheduling_elapsed_per_worker: 'id uint8, worker_id uint8, elapsed_ns int8',
    mz_scheduling_elapsed: 'id uint8, elapsed_ns numeric',
    mz_compute_operator_durations_histogram_per_worker:
      'id uint8, worker_id uint8, duration_ns uint8, count int8',
    mz_compute_operator_durations_histogram: 'id uint8, duration_ns uint8, count numeric',
    mz_scheduling_parks_histogram_per_worker:
      'worker_id uint8, slept_for_ns uint8, requested_ns uint8?, count int8',
    mz_scheduling_parks_histogram: 'slept_for_ns uint8, requested_ns uint8?, count numeric',
    mz_compute_error_counts_per_worker: 'export_id text, worker_id uint8, count int8',
    mz_compute_error_counts: 'export_id text, count numeric',
    mz_message_counts_per_worker: `${MESSAGES}, sent int8, received int8, batch_sent int8, batch_received int8`,
    mz_message_counts:
      'channel_id uint8, sent numeric, received numeric, batch_sent numeric, batch_received numeric',
    mz_dataflow_operator_reachability_per_worker:
      'id uint8, worker_id uint8, port uint8, update_type text, time time?, count int8',
    mz_dataflow_operator_reachability: 'id uint8, port uint8, update_type text, time time?, count numeric',
    mz_arrangement_sizes_per_worker: `${OPERATOR}, ${MEASURES}`,
    mz_arrangement_sizes: `operator_id uint8, ${MEASURES}`,
    mz_arrangement_sharing_per_worker: `${OPERATOR}, count int8`,
    mz_arrangement_sharing: 'operator_id uint8, count int8',
    mz_records_per_dataflow_operator_per_worker: `id uint8, name text, worker_id uint8, dataflow_id uint8, ${MEASURES}`,
    mz_records_per_dataflow_operator: `id uint8, name text, dataflow_id uint8, ${MEASURES}`,
    mz_records_per_dataflow_per_worker: `id uint8, name text, worker_id uint8, ${MEASURES}`,
    mz_records_per_dataflow: `id uint8, name text, ${MEASURES}`,
    mz_dataflow_arrangement_sizes: `id uint8, name text, ${MEASURES}`,
  },
  'what all replicas tell': {
    // A replica that is not fresh has told nothing: its measures are NULL.
    mz_compute_error_counts_raw_unified: 'replica_id text, object_id text, count numeric?',
    mz_compute_hydration_times: 'replica_id text, object_id text, time_ns uint8?',
    mz_compute_operator_hydration_statuses:
      'replica_id text, object_id text, physical_plan_node_id uint8?, hydrated bool',
    mz_object_arrangement_sizes: 'replica_id text, object_id text, size int8?',
    mz_compute_hydration_statuses: 'object_id text, replica_id text, hydrated bool, hydration_time interval?',
    mz_hydration_statuses: 'object_id text, replica_id text?, hydrated bool?',
    mz_object_arrangement_size_history:
      'replica_id text, object_id text, size int8, collection_timestamp timestamptz, hydration_complete bool',
  },
  'what readers join with': {
    mz_frontiers: 'object_id text, read_frontier time?, write_frontier time?',
    mz_cluster_replica_frontiers: 'object_id text, replica_id text, write_frontier time?',
    mz_compute_dependencies: 'object_id text, dependency_id text',
    mz_materialized_view_refreshes:
      'materialized_view_id text, last_completed_refresh time?, next_refresh time?',
    mz_object_global_ids: 'id text, global_id text',
    mz_audit_events:
      'id uint8, event_type text, object_type text, details jsonb, user text?, occurred_at timestamptz',
  },
  'the life of objects': {
    mz_hydration_blockers:
      'object_id text?, replica_id text?, cluster_id text, stage text?, reason text, since timestamptz, blocked_by text?, details jsonb?',
    mz_compute_hydration_timestamps: `object_id text, replica_id text, ${INSTANTS}`,
    mz_cluster_replica_hydration:
      'cluster_id text, replica_id text?, hydrated bool, reason text?, objects uint8, hydrated_objects uint8, started_at timestamptz?, hydrated_at timestamptz?, written_at timestamptz?, slowest_object_id text?',
    mz_object_hydration_history:
      'object_id text, cluster_id text, replica_id text, generation uint8, installed_at timestamptz, started_at timestamptz?, hydrated_at timestamptz?, written_at timestamptz?, ended_at timestamptz?, status text, as_of time, queue_ns uint8?, compute_ns uint8?, blocked_ns uint8?, write_ns uint8?, peak_arrangement_bytes uint8?',
    mz_replica_hydration_history:
      'cluster_id text, replica_id text, generation uint8, started_at timestamptz, finished_at timestamptz?, object_count uint8, peak_arrangement_bytes uint8?, status text',
    mz_introspection_freshness: 'replica_id text, fresh bool, since timestamptz',
    mz_hydration_progress: 'object_id text, replica_id text, rows_done uint8, rows_total uint8?',
  },
};

/** Of which no columns are promised but that they are there. */
const THERE = [
  'mz_subscriptions',
  'mz_clusters',
  'mz_cluster_replicas',
  'mz_indexes',
  'mz_materialized_views',
  'mz_tables',
  'mz_sources',
  'mz_sinks',
  'mz_objects',
  'mz_schemas',
  'mz_columns',
  'mz_comments',
];

const inWords = (columns: string): string[] =>
  columns.split(', ').map((column) => {
    const [, name, type, nullable] = /^(\w+) (\w+)(\??)$/.exec(column) ?? [];
    assert.ok(name !== undefined && TYPES[type!] !== undefined, column);
    return `${name} ${TYPES[type!]}${nullable === '?' ? ' null' : ''}`;
  });

const db = await wireDatabase();
const c = await db.client();

const schemaOf = async (relation: string): Promise<unknown> => {
  const [row] = await rowsOf(
    c,
    'SELECT s.name FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id WHERE o.name = $1',
    [relation],
  );
  assert.ok(row, `${relation} exists`);
  return row[0];
};

describe('the columns that introspection promises', () => {
  for (const [part, relations] of Object.entries(CONTRACT))
    it(part, async () => {
      const rows = await rowsOf(
        c,
        `SELECT r.name, c.name || ' ' || c.type || CASE WHEN c.nullable THEN ' null' ELSE '' END
         FROM mz_objects r JOIN mz_columns c ON c.id = r.id WHERE r.name LIKE 'mz_%' ORDER BY r.name, c.position`,
      );
      const found = (relation: string): unknown[] =>
        rows.flatMap(([r, column]) => (r === relation ? [column] : []));
      for (const [relation, columns] of Object.entries(relations)) {
        assert.deepEqual(found(relation), inWords(columns), relation);
        const { fields } = await c.query(`SELECT * FROM ${await schemaOf(relation)}.${relation} LIMIT 0`);
        assert.deepEqual(
          fields.map((f) => f.name),
          columns.split(', ').map((column) => column.split(' ')[0]),
        );
      }
    });

  it('and other relations that readers join with are there', async () => {
    for (const relation of THERE)
      await c.query(`SELECT * FROM ${await schemaOf(relation)}.${relation} LIMIT 0`);
  });
});
