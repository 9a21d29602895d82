/**
 * The log relations, each declared once. Row types, packing, arrangement keys, catalog entries, `\d` text and the
 * docs page derive from these literals; a new relation is one literal here and one handler in `demux.ts`.
 *
 * `number` and `oid` never change once released: `si<N>` is cluster number × 1000 + `number`, and clients store OIDs.
 */
import type { ColumnDesc, RelationDesc, TypeName } from '../repr/types.ts';
import { type } from '../repr/types.ts';

export interface LogColumn {
  readonly name: string;
  readonly type: TypeName;
  readonly nullable: boolean;
  readonly doc: string;
}

export interface LogRelation {
  readonly number: number;
  readonly oid: number;
  readonly doc: string;
  readonly columns: readonly LogColumn[];
  /** Column positions promised unique, in column order; null promises nothing. */
  readonly key: readonly number[] | null;
}

const col = (name: string, t: TypeName, doc: string): LogColumn => ({ name, type: t, nullable: false, doc });
const nullable = (name: string, t: TypeName, doc: string): LogColumn => ({
  name,
  type: t,
  nullable: true,
  doc,
});

/** Marks where the grain puts its column. */
const WORKER: LogColumn = col('worker_id', 'uint8', 'worker that observed it');

/** A relation with a row per worker: the worker joins the key, in column order. */
function perWorker(r: {
  number: number;
  oid: number;
  doc: string;
  columns: readonly LogColumn[];
  key: readonly string[] | null;
}): LogRelation {
  const key =
    r.key === null ? null : r.columns.flatMap((c, i) => (c === WORKER || r.key!.includes(c.name) ? [i] : []));
  return { number: r.number, oid: r.oid, doc: r.doc, columns: r.columns, key };
}

const exportId = col('export_id', 'text', 'the exported collection');

export const LOG_RELATIONS = {
  mz_compute_exports_per_worker: perWorker({
    number: 1,
    oid: 20001,
    doc: 'the collections that the dataflows of a replica export',
    columns: [exportId, WORKER, col('dataflow_id', 'uint8', 'the dataflow that maintains it')],
    key: ['export_id'],
  }),
  mz_compute_frontiers_per_worker: perWorker({
    number: 2,
    oid: 20002,
    doc: 'the write frontier that each worker last reported for an export; no row once it is empty',
    columns: [exportId, WORKER, col('time', 'mz_timestamp', 'times before it are complete')],
    key: ['export_id'],
  }),
  mz_compute_import_frontiers_per_worker: perWorker({
    number: 3,
    oid: 20003,
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
    oid: 20004,
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
    oid: 20005,
    doc: 'errors that an export holds; a column and no multiplicity, for a worker may count below zero while the sum over workers does not',
    columns: [exportId, WORKER, col('count', 'int8', 'errors on this worker')],
    key: ['export_id'],
  }),
  mz_compute_hydration_times_per_worker: perWorker({
    number: 6,
    oid: 20006,
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
    oid: 20007,
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
} as const satisfies Record<string, LogRelation>;

export type LogName = keyof typeof LOG_RELATIONS;
export const LOG_NAMES = Object.keys(LOG_RELATIONS) as LogName[];

/** Log numbers stay below it, so that `si<N>` of two clusters never meet. */
export const LOGS_PER_CLUSTER = 1000;

export function logDesc(name: LogName): RelationDesc {
  const r: LogRelation = LOG_RELATIONS[name];
  const columns: ColumnDesc[] = r.columns.map((c) => ({
    name: c.name,
    type: type(c.type),
    nullable: c.nullable,
  }));
  return { columns, keys: r.key === null ? [] : [r.key] };
}

/** The columns that its index is arranged by: the key, or the whole row. */
export function logIndexKey(name: LogName): readonly number[] {
  const r: LogRelation = LOG_RELATIONS[name];
  return r.key ?? r.columns.map((_, i) => i);
}
