/** Where each maintained object of users stands on each replica: rows that the environment keeps from what replicas report. */
import { table } from './builtin-table.ts';
import { columns } from './declare.ts';

const INSTANTS = [
  'installed_at timestamptz? | the least over the workers',
  'started_at timestamptz? | the least over the workers',
  'hydrated_at timestamptz? | the greatest over the workers: computed',
  'written_at timestamptz? | durable; never before hydrated_at, and NULL for what writes nothing',
] as const;

export const HYDRATION_TABLES = [
  table({
    schema: 'mz_internal',
    name: 'mz_hydration_blockers',
    number: 1030,
    doc: 'why an object is not done on a replica: one row for each that is not, none for one that is. An index is done when it is hydrated, a view when it is written',
    columns: columns(
      'object_id text? | NULL: the cluster has no objects, and no replica either',
      'replica_id text? | NULL: the cluster has no replica',
      'cluster_id text',
      'stage text? | the last one that all workers reached',
      'reason text | no_replica, replica_lost, installing, waiting_for_inputs, hydration_limit, computing, read_only, writing, failed',
      'since timestamptz | from when on it is for this reason',
      'blocked_by text? | the object that it waits for',
      'details jsonb? | for reading one row, e.g. {"workers": 4, "hydrated": 3}',
    ),
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_compute_hydration_timestamps',
    number: 1031,
    doc: 'the stages of an object on a replica, over its workers: each is set only when every worker has reported it',
    columns: columns('object_id text', 'replica_id text', ...INSTANTS),
    key: ['object_id', 'replica_id'],
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_cluster_replica_hydration',
    number: 1032,
    doc: 'whether a replica is hydrated, since when, and which object it waits or waited for longest',
    columns: columns(
      'cluster_id text',
      'replica_id text? | NULL: the cluster has no replica',
      'hydrated bool | connected, and every object of users is hydrated',
      'reason text? | of the object that is named, as in mz_hydration_blockers; NULL when hydrated',
      'objects uint8 | indexes and materialized views of users',
      'hydrated_objects uint8',
      'started_at timestamptz? | the least over the objects',
      'hydrated_at timestamptz? | the greatest over the objects, once all are hydrated',
      'written_at timestamptz? | the greatest over the views, once all are written; NULL without views',
      'slowest_object_id text? | the object not hydrated that was installed first, else the one that took longest from installed to hydrated',
    ),
  }),
  table({
    schema: 'mz_internal',
    name: 'mz_hydration_progress',
    number: 1044,
    doc: 'how much of its snapshot each object has put through on each replica; it never goes back, and stays at the total',
    columns: columns(
      'object_id text',
      'replica_id text',
      'rows_done uint8 | updates read and passed on; short of the total until every worker is hydrated',
      'rows_total uint8? | updates to read at the as-of, of shards and imported indexes; NULL before every worker has looked',
    ),
    key: ['object_id', 'replica_id'],
  }),
] as const;
