import assert from 'node:assert/strict';
import { test } from 'node:test';
import { typeToString } from '../repr/types.ts';
import { LOG_NAMES, LOG_RELATIONS, LOGS_PER_CLUSTER, logDesc, logIndexKey } from './relations.ts';

/**
 * Every number and OID that was ever given, for good: clients store OIDs, and `si<N>` is made of the number. A relation
 * adds a line; no line changes or goes.
 */
const PINNED: Readonly<Record<string, readonly [number: number, oid: number]>> = {
  mz_compute_exports_per_worker: [1, 20001],
  mz_compute_frontiers_per_worker: [2, 20002],
  mz_compute_import_frontiers_per_worker: [3, 20003],
  mz_active_peeks_per_worker: [4, 20004],
  mz_compute_error_counts_raw: [5, 20005],
  mz_compute_hydration_times_per_worker: [6, 20006],
  mz_compute_lifecycle_events_per_worker: [7, 20007],
  mz_peek_durations_histogram_raw: [8, 20008],
  mz_compute_operator_hydration_statuses_per_worker: [9, 20009],
  mz_compute_lir_mapping_per_worker: [10, 20010],
  mz_compute_dataflow_global_ids_per_worker: [11, 20011],
  mz_cluster_prometheus_metrics: [15, 20015],
  mz_compute_dataflow_as_of_per_worker: [16, 20016],
  mz_cluster_replica_resource_usage: [17, 20017],
  mz_dataflow_operators_per_worker: [18, 20018],
  mz_dataflow_addresses_per_worker: [19, 20019],
  mz_dataflow_channels_per_worker: [20, 20020],
  mz_scheduling_elapsed_raw: [21, 20021],
  mz_compute_operator_durations_histogram_raw: [22, 20022],
  mz_scheduling_parks_histogram_raw: [23, 20023],
  mz_message_counts_sent_raw: [24, 20024],
  mz_message_counts_received_raw: [25, 20025],
  mz_message_batch_counts_sent_raw: [26, 20026],
  mz_message_batch_counts_received_raw: [27, 20027],
  mz_dataflow_operator_reachability_raw: [28, 20028],
  mz_arrangement_heap_size_raw: [12, 20012],
  mz_arrangement_heap_capacity_raw: [13, 20013],
  mz_arrangement_heap_allocations_raw: [14, 20014],
  mz_arrangement_batches_raw: [29, 20029],
  mz_arrangement_records_raw: [30, 20030],
  mz_arrangement_sharing_raw: [31, 20031],
  mz_arrangement_batcher_records_raw: [32, 20032],
  mz_arrangement_batcher_size_raw: [33, 20033],
  mz_arrangement_batcher_capacity_raw: [34, 20034],
  mz_arrangement_batcher_allocations_raw: [35, 20035],
};

test('numbers and OIDs never change', () => {
  const now = Object.fromEntries(LOG_NAMES.map((n) => [n, [LOG_RELATIONS[n].number, LOG_RELATIONS[n].oid]]));
  assert.deepEqual(now, PINNED);
});

test('numbers and OIDs are unique, and numbers of two clusters never meet', () => {
  const relations = Object.values(LOG_RELATIONS);
  assert.equal(new Set(relations.map((r) => r.number)).size, relations.length);
  assert.equal(new Set(relations.map((r) => r.oid)).size, relations.length);
  for (const r of relations) assert.ok(r.number > 0 && r.number < LOGS_PER_CLUSTER);
});

test('columns, keys and nullability are those that readers rely on', () => {
  const text = LOG_NAMES.map((name) => {
    const { columns, keys } = logDesc(name);
    const cols = columns
      .map((c) => `${c.name} ${typeToString(c.type)}${c.nullable ? ' null' : ''}`)
      .join(', ');
    const key = keys.map((k) => k.map((i) => columns[i]!.name).join(', ')).join('; ');
    return `${name}: ${cols} | ${key}`;
  });
  assert.deepEqual(text, [
    'mz_compute_exports_per_worker: export_id text, worker_id uint8, dataflow_id uint8 | export_id, worker_id',
    'mz_compute_frontiers_per_worker: export_id text, worker_id uint8, time mz_timestamp | export_id, worker_id',
    'mz_compute_import_frontiers_per_worker: export_id text, import_id text, worker_id uint8, time mz_timestamp | export_id, import_id, worker_id',
    'mz_active_peeks_per_worker: id uuid, worker_id uint8, object_id text, type text, time mz_timestamp | id, worker_id',
    'mz_compute_error_counts_raw: export_id text, worker_id uint8, count bigint | export_id, worker_id',
    'mz_compute_hydration_times_per_worker: export_id text, worker_id uint8, time_ns uint8 null, installed_at timestamp with time zone, started_at timestamp with time zone null, hydrated_at timestamp with time zone null | export_id, worker_id',
    'mz_compute_lifecycle_events_per_worker: export_id text, worker_id uint8, event text, occurred_at timestamp with time zone, reason text null, details jsonb null | ',
    'mz_peek_durations_histogram_raw: worker_id uint8, type text, duration_ns uint8 | ',
    'mz_compute_operator_hydration_statuses_per_worker: export_id text, lir_id uint8, worker_id uint8, hydrated boolean | export_id, lir_id, worker_id',
    'mz_compute_lir_mapping_per_worker: global_id text, lir_id uint8, worker_id uint8, operator text, parent_lir_id uint8 null, nesting uint2, operator_id_start uint8, operator_id_end uint8 | global_id, lir_id, worker_id',
    'mz_compute_dataflow_global_ids_per_worker: id uint8, worker_id uint8, global_id text | id, worker_id, global_id',
    'mz_cluster_prometheus_metrics: process_id uint8, metric_name text, metric_type text, labels jsonb, value double precision, help text | process_id, metric_name, labels',
    'mz_compute_dataflow_as_of_per_worker: dataflow_id uint8, worker_id uint8, time mz_timestamp | dataflow_id, worker_id',
    'mz_cluster_replica_resource_usage: process_id uint8, source text, metric text, value uint8 | process_id, source, metric',
    'mz_dataflow_operators_per_worker: id uint8, worker_id uint8, name text | id, worker_id',
    'mz_dataflow_addresses_per_worker: id uint8, worker_id uint8, address uint8 list | id, worker_id',
    'mz_dataflow_channels_per_worker: id uint8, worker_id uint8, from_index uint8, from_port uint8, to_index uint8, to_port uint8, type text | id, worker_id',
    'mz_scheduling_elapsed_raw: id uint8, worker_id uint8 | ',
    'mz_compute_operator_durations_histogram_raw: id uint8, worker_id uint8, duration_ns uint8 | ',
    'mz_scheduling_parks_histogram_raw: worker_id uint8, slept_for_ns uint8, requested_ns uint8 null | ',
    'mz_message_counts_sent_raw: channel_id uint8, from_worker_id uint8, to_worker_id uint8 | ',
    'mz_message_counts_received_raw: channel_id uint8, from_worker_id uint8, to_worker_id uint8 | ',
    'mz_message_batch_counts_sent_raw: channel_id uint8, from_worker_id uint8, to_worker_id uint8 | ',
    'mz_message_batch_counts_received_raw: channel_id uint8, from_worker_id uint8, to_worker_id uint8 | ',
    'mz_dataflow_operator_reachability_raw: id uint8, worker_id uint8, source uint8, port uint8, update_type text, time mz_timestamp null | ',
    'mz_arrangement_heap_size_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_heap_capacity_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_heap_allocations_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_batches_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_records_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_sharing_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_batcher_records_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_batcher_size_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_batcher_capacity_raw: operator_id uint8, worker_id uint8 | ',
    'mz_arrangement_batcher_allocations_raw: operator_id uint8, worker_id uint8 | ',
  ]);
});

test('a relation is arranged by its key, and without one by the whole row', () => {
  assert.deepEqual(logIndexKey('mz_compute_import_frontiers_per_worker'), [0, 1, 2]);
  assert.deepEqual(logIndexKey('mz_compute_lifecycle_events_per_worker'), [0, 1, 2, 3, 4, 5]);
});

test('every relation and column says what it is', () => {
  for (const r of Object.values(LOG_RELATIONS)) {
    assert.ok(r.doc.length > 20);
    for (const c of r.columns) assert.ok(c.doc.length > 4, c.name);
  }
});
