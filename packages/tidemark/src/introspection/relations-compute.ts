/** Log relations about collections: exports, frontiers, hydration, peeks, and what became of a plan. */
import { col, counted, type LogRelation, nullable, perWorker, plain, WORKER } from './log-relation.ts';

const exportId = col('export_id', 'text', 'the exported collection');

export const COMPUTE_RELATIONS = {
  mz_compute_exports_per_worker: perWorker({
    number: 1,
    doc: 'the collections that the dataflows of a replica export',
    columns: [exportId, WORKER, col('dataflow_id', 'uint8', 'the dataflow that maintains it')],
    key: ['export_id'],
  }),
  mz_compute_frontiers_per_worker: perWorker({
    number: 2,
    doc: 'the write frontier that each worker last reported for an export; no row once it is empty',
    columns: [exportId, WORKER, col('time', 'mz_timestamp', 'times before it are complete')],
    key: ['export_id'],
  }),
  mz_compute_import_frontiers_per_worker: perWorker({
    number: 3,
    doc: 'the frontier of each collection that an export reads',
    columns: [
      exportId,
      col('import_id', 'text', 'the collection read'),
      WORKER,
      col('time', 'mz_timestamp', 'times before it have been read'),
    ],
    key: ['export_id', 'import_id'],
  }),
  mz_active_peeks_per_worker: perWorker({
    number: 4,
    doc: 'reads that a worker has accepted and not yet answered',
    columns: [
      col('id', 'uuid', 'of the read'),
      WORKER,
      col('object_id', 'text', 'the index or shard read'),
      col('type', 'text', '`index` or `persist`'),
      col('time', 'mz_timestamp', 'the time it reads at'),
    ],
    key: ['id'],
  }),
  mz_compute_error_counts_raw: perWorker({
    number: 5,
    doc: 'errors that an export holds; a column and no multiplicity, for a worker may count below zero while the sum over workers does not',
    columns: [exportId, WORKER, col('count', 'int8', 'errors on this worker')],
    key: ['export_id'],
  }),
  mz_compute_hydration_times_per_worker: perWorker({
    number: 6,
    doc: 'the compact summary of an export: when its reported output frontier passed its as-of',
    columns: [
      exportId,
      WORKER,
      nullable('time_ns', 'uint8', 'nanoseconds from installed_at to hydrated_at'),
      col('installed_at', 'timestamptz', 'the dataflow was created'),
      nullable('started_at', 'timestamptz', 'its computation was unblocked'),
      nullable('hydrated_at', 'timestamptz', 'its reported output frontier passed the as-of'),
    ],
    key: ['export_id'],
  }),
  mz_compute_lifecycle_events_per_worker: perWorker({
    number: 7,
    doc: 'the life of an export, a row a stage: installed, started, hydrated, write_blocked, write_unblocked, written',
    columns: [
      exportId,
      WORKER,
      col(
        'event',
        'text',
        'installed, started and hydrated: once on each worker; write_blocked, write_unblocked and written: on one worker per object',
      ),
      col('occurred_at', 'timestamptz', "instant of the event itself, by this worker's clock"),
      nullable(
        'reason',
        'text',
        'installed: commanded, reconciled; started: inputs_available, hydration_limit; write_blocked: read_only',
      ),
      nullable(
        'details',
        'jsonb',
        'for reading one row, e.g. {"as_of": "1764428400000"}: the time that the snapshot is taken at, as a string',
      ),
    ],
    // (export_id, worker_id, event) is unique, but a key is a promise that an optimizer acts on: a false one
    // corrupts results, and the wide index costs only memory.
    key: null,
  }),
  mz_peek_durations_histogram_raw: counted({
    number: 8,
    doc: 'how long reads took from being accepted to their answer; a row a read, never taken back',
    columns: [
      WORKER,
      col('type', 'text', '`index` or `persist`'),
      col('duration_ns', 'uint8', 'the smallest power of two that is at least the nanoseconds it took'),
    ],
  }),
  mz_compute_operator_hydration_statuses_per_worker: perWorker({
    number: 9,
    doc: 'whether the output of each node of a plan has passed the as-of; nodes that compute nothing have no rows',
    columns: [
      exportId,
      col('lir_id', 'uint8', 'the node of the plan'),
      WORKER,
      col('hydrated', 'bool', 'its output has passed the as-of'),
    ],
    key: ['export_id', 'lir_id'],
  }),
  mz_compute_lir_mapping_per_worker: perWorker({
    number: 10,
    doc: 'what each node of a plan became: the operators that do its work',
    columns: [
      col('global_id', 'text', 'the collection that the plan computes'),
      col('lir_id', 'uint8', 'the node of the plan, unique within it'),
      WORKER,
      col('operator', 'text', 'what the node does, as EXPLAIN names it'),
      nullable('parent_lir_id', 'uint8', 'the node that reads it; NULL for the root'),
      col('nesting', 'uint2', 'its depth in the plan'),
      col('operator_id_start', 'uint8', 'the first operator id that may be its own'),
      col('operator_id_end', 'uint8', 'one past the last; equal to the first when it has no operators'),
    ],
    key: ['global_id', 'lir_id'],
  }),
  mz_compute_dataflow_global_ids_per_worker: perWorker({
    number: 11,
    doc: 'the collections that each dataflow computes',
    columns: [
      col('id', 'uint8', 'the dataflow'),
      WORKER,
      col('global_id', 'text', 'a collection that it computes'),
    ],
    key: ['id', 'global_id'],
  }),
  mz_cluster_prometheus_metrics: plain({
    number: 15,
    doc: 'the metrics of each process of a replica, as its registry has them',
    columns: [
      col('process_id', 'uint8', 'the process, 0 for the first'),
      col('metric_name', 'text', 'of the sample: a histogram has _bucket, _sum and _count'),
      col('metric_type', 'text', 'counter, gauge or histogram'),
      col('labels', 'jsonb', 'label names and values'),
      col('value', 'float8', 'of the sample'),
      col('help', 'text', 'what it measures'),
    ],
    key: ['process_id', 'metric_name', 'labels'],
  }),
  mz_compute_dataflow_as_of_per_worker: perWorker({
    number: 16,
    doc: 'the time at which each dataflow begins: its snapshot is taken there',
    columns: [col('dataflow_id', 'uint8', 'the dataflow'), WORKER, col('time', 'mz_timestamp', 'its as-of')],
    key: ['dataflow_id'],
  }),
  mz_cluster_replica_resource_usage: plain({
    number: 17,
    doc: 'what each process of a replica takes of its machine',
    columns: [
      col('process_id', 'uint8', 'the process, 0 for the first'),
      col('source', 'text', 'what takes it: `process`, or the thread of one worker, `worker 0`'),
      col('metric', 'text', 'what is measured; _bytes and _ns are units'),
      col('value', 'uint8', 'the figure'),
    ],
    key: ['process_id', 'source', 'metric'],
  }),
} as const satisfies Record<string, LogRelation>;
