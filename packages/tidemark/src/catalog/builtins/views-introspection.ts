/**
 * What dataflows are made of, as views over a replica's log relations. Where every worker builds the same, the view shows worker 0's
 * rows; `_per_worker` shows all. Addresses lead from an operator to its scope and its dataflow: the first element is the dataflow's,
 * the last one the operator's place in its scope.
 */
import { type BuiltinView, columns, type IndexedView, view } from './declare.ts';

interface Spec {
  readonly name: string;
  readonly number: number;
  readonly doc: string;
  readonly columns: readonly string[];
  readonly key?: readonly string[];
  readonly indexed?: IndexedView;
  readonly sql: string;
}

export function introspectionView({ columns: specs, ...v }: Spec): BuiltinView {
  return view({ ...v, schema: 'mz_introspection', columns: columns(...specs) });
}

export const WORKER = 'worker_id uint8 | worker that observed it';

/** The view of one worker's rows, for what is the same on all of them. */
function ofWorkerZero(v: Omit<Spec, 'sql'> & { readonly from: string }): BuiltinView {
  const { from, ...rest } = v;
  const names = v.columns.map((c) => c.split(' ')[0]).join(', ');
  return introspectionView({
    ...rest,
    doc: `${v.doc}; the same on all workers`,
    sql: `SELECT ${names} FROM mz_introspection.${from} WHERE worker_id = 0`,
  });
}

const OPERATOR_ADDRESSES = `
  operator_addresses AS (
    SELECT o.id, o.worker_id, o.name, a.address
    FROM mz_introspection.mz_dataflow_operators_per_worker o
    JOIN mz_introspection.mz_dataflow_addresses_per_worker a ON a.id = o.id AND a.worker_id = o.worker_id
  )`;

const DATAFLOW_ID = 'dataflow_id uint8 | the dataflow that it belongs to';
const DATAFLOW_NAME = 'dataflow_name text | name of that dataflow';
const PARENT_ID = 'parent_id uint8 | the operator of the scope that holds it';

const CHANNEL_OPERATORS = [
  'from_operator_id uint8? | the operator that sends; NULL: the edge of a scope',
  'from_operator_address uint8_list | its place',
  'to_operator_id uint8? | the operator that receives; NULL: the edge of a scope',
  'to_operator_address uint8_list | its place',
  'type text | what is sent',
] as const;

const REACHABILITY = [
  'port uint8 | number of the port',
  'update_type text | `source`: a time held at an output; `target`: the frontier of an input',
  'time mz_timestamp? | that time; NULL: none any more',
  'count int8 | how many times it is held',
] as const;

export const INTROSPECTION_VIEWS: readonly BuiltinView[] = [
  introspectionView({
    name: 'mz_dataflows_per_worker',
    number: 2301,
    doc: 'the dataflows of each worker',
    columns: ['id uint8? | of the dataflow', WORKER, 'name text | says what it maintains'],
    sql: `
      SELECT a.address[1] AS id, o.worker_id, o.name
      FROM mz_introspection.mz_dataflow_addresses_per_worker a
      JOIN mz_introspection.mz_dataflow_operators_per_worker o ON o.id = a.id AND o.worker_id = a.worker_id
      WHERE list_length(a.address) = 1`,
  }),
  ofWorkerZero({
    name: 'mz_dataflows',
    number: 2302,
    doc: 'the dataflows of a replica',
    columns: ['id uint8? | of the dataflow', 'name text | says what it maintains'],
    from: 'mz_dataflows_per_worker',
  }),
  ofWorkerZero({
    name: 'mz_dataflow_addresses',
    number: 2303,
    doc: 'where operators and channels stand',
    columns: [
      'id uint8 | of the operator or channel',
      'address uint8_list | from the dataflow inwards; of a channel: its scope',
    ],
    key: ['id'],
    from: 'mz_dataflow_addresses_per_worker',
  }),
  ofWorkerZero({
    name: 'mz_dataflow_channels',
    number: 2304,
    doc: 'the channels between operators',
    columns: [
      'id uint8 | of the channel',
      'from_index uint8 | place of the sender in the scope; 0: its edge',
      'from_port uint8 | output of the sender',
      'to_index uint8 | place of the receiver in the scope; 0: its edge',
      'to_port uint8 | input of the receiver',
      'type text | what is sent',
    ],
    key: ['id'],
    from: 'mz_dataflow_channels_per_worker',
  }),
  ofWorkerZero({
    name: 'mz_dataflow_operators',
    number: 2305,
    doc: 'the operators of the dataflows',
    columns: ['id uint8 | of the operator', 'name text | what it does'],
    key: ['id'],
    from: 'mz_dataflow_operators_per_worker',
  }),
  ofWorkerZero({
    name: 'mz_dataflow_global_ids',
    number: 2306,
    doc: 'the objects that a dataflow builds',
    columns: ['id uint8 | of the dataflow', 'global_id text | of the object'],
    key: ['id', 'global_id'],
    from: 'mz_compute_dataflow_global_ids_per_worker',
  }),
  introspectionView({
    name: 'mz_compute_dataflow_as_of',
    number: 2307,
    doc: 'the time from which a dataflow computes; the least over the workers',
    columns: ['dataflow_id uint8 | the dataflow', 'time mz_timestamp | its as-of'],
    key: ['dataflow_id'],
    sql: `SELECT dataflow_id, min(time) AS time
      FROM mz_introspection.mz_compute_dataflow_as_of_per_worker GROUP BY dataflow_id`,
  }),
  introspectionView({
    name: 'mz_mappable_objects',
    number: 2308,
    doc: 'the objects of the catalog that the replica maintains, with every object that their dataflow builds: a way from a name to the plan in mz_lir_mapping',
    columns: ['name text | database, schema and object', 'global_id text | an object of its dataflow'],
    sql: `
      SELECT coalesce(d.name || '.', '') || s.name || '.' || o.name AS name, g.global_id
      FROM mz_catalog.mz_objects o
      JOIN mz_catalog.mz_schemas s ON s.id = o.schema_id
      LEFT JOIN mz_catalog.mz_databases d ON d.id = s.database_id
      JOIN mz_internal.mz_object_global_ids i ON i.id = o.id
      JOIN mz_introspection.mz_compute_exports e ON e.export_id = i.global_id
      JOIN mz_introspection.mz_dataflow_global_ids g ON g.id = e.dataflow_id`,
  }),
  ofWorkerZero({
    name: 'mz_lir_mapping',
    number: 2309,
    doc: 'the nodes of the plans that run, and the operators that each became',
    columns: [
      'global_id text | the object that the plan builds',
      'lir_id uint8 | of the node, within its plan',
      'operator text | what the node does, as EXPLAIN PHYSICAL PLAN writes it',
      'parent_lir_id uint8? | the node that reads it',
      'nesting uint2 | its depth in the plan',
      'operator_id_start uint8 | its first operator',
      'operator_id_end uint8 | one past its last; equal to the first: it has none',
    ],
    key: ['global_id', 'lir_id'],
    from: 'mz_compute_lir_mapping_per_worker',
  }),
  introspectionView({
    name: 'mz_dataflow_operator_dataflows_per_worker',
    number: 2310,
    doc: 'the dataflow of each operator, on each worker',
    columns: ['id uint8 | of the operator', 'name text | what it does', WORKER, DATAFLOW_ID, DATAFLOW_NAME],
    sql: `
      WITH ${OPERATOR_ADDRESSES},
      -- Computed columns behind DISTINCT are columns to the join above it, and so its keys.
      inside AS (SELECT DISTINCT id, name, worker_id, address[1] AS dataflow_id FROM operator_addresses),
      roots AS (SELECT DISTINCT id, name, worker_id FROM mz_introspection.mz_dataflows_per_worker)
      SELECT o.id, o.name, o.worker_id, r.id AS dataflow_id, r.name AS dataflow_name
      FROM inside o JOIN roots r ON r.id = o.dataflow_id AND r.worker_id = o.worker_id`,
  }),
  ofWorkerZero({
    name: 'mz_dataflow_operator_dataflows',
    number: 2311,
    doc: 'the dataflow of each operator',
    columns: ['id uint8 | of the operator', 'name text | what it does', DATAFLOW_ID, DATAFLOW_NAME],
    from: 'mz_dataflow_operator_dataflows_per_worker',
  }),
  introspectionView({
    name: 'mz_dataflow_operator_parents_per_worker',
    number: 2312,
    doc: 'the scope of each operator, on each worker',
    columns: ['id uint8 | of the operator', PARENT_ID, WORKER],
    sql: `
      WITH ${OPERATOR_ADDRESSES}
      SELECT o.id, p.id AS parent_id, o.worker_id
      FROM operator_addresses o
      JOIN operator_addresses p
        ON p.worker_id = o.worker_id AND p.address = list_slice(o.address, 1, list_length(o.address) - 1)`,
  }),
  ofWorkerZero({
    name: 'mz_dataflow_operator_parents',
    number: 2313,
    doc: 'the scope of each operator',
    columns: ['id uint8 | of the operator', PARENT_ID],
    from: 'mz_dataflow_operator_parents_per_worker',
  }),
  introspectionView({
    name: 'mz_dataflow_channel_operators_per_worker',
    number: 2314,
    doc: 'the operators at the ends of each channel, on each worker',
    columns: ['id uint8 | of the channel', WORKER, ...CHANNEL_OPERATORS],
    sql: `
      WITH ${OPERATOR_ADDRESSES},
      ends AS (
        SELECT c.id, c.worker_id, c.type,
          list_append(a.address, c.from_index) AS from_address, list_append(a.address, c.to_index) AS to_address
        FROM mz_introspection.mz_dataflow_channels_per_worker c
        JOIN mz_introspection.mz_dataflow_addresses_per_worker a ON a.id = c.id AND a.worker_id = c.worker_id
      )
      SELECT e.id, e.worker_id, f.id AS from_operator_id, e.from_address AS from_operator_address,
        t.id AS to_operator_id, e.to_address AS to_operator_address, e.type
      FROM ends e
      LEFT JOIN operator_addresses f ON f.address = e.from_address AND f.worker_id = e.worker_id
      LEFT JOIN operator_addresses t ON t.address = e.to_address AND t.worker_id = e.worker_id`,
  }),
  ofWorkerZero({
    name: 'mz_dataflow_channel_operators',
    number: 2315,
    doc: 'the operators at the ends of each channel',
    columns: ['id uint8 | of the channel', ...CHANNEL_OPERATORS],
    from: 'mz_dataflow_channel_operators_per_worker',
  }),
  introspectionView({
    name: 'mz_dataflow_operator_reachability_per_worker',
    number: 2316,
    doc: 'the times that each operator holds or waits for, on each worker',
    columns: ['id uint8 | of the operator', WORKER, ...REACHABILITY],
    sql: `
      WITH ${OPERATOR_ADDRESSES},
      held AS (
        SELECT r.worker_id, r.port, r.update_type, r.time, count(*) AS count,
          CASE WHEN r.source = 0 THEN s.address ELSE list_append(s.address, r.source) END AS address
        FROM mz_introspection.mz_dataflow_operator_reachability_raw r
        JOIN operator_addresses s ON s.id = r.id AND s.worker_id = r.worker_id
        GROUP BY r.worker_id, r.port, r.update_type, r.time,
          CASE WHEN r.source = 0 THEN s.address ELSE list_append(s.address, r.source) END
      )
      SELECT o.id, h.worker_id, h.port, h.update_type, h.time, h.count
      FROM held h
      JOIN operator_addresses o ON o.worker_id = h.worker_id AND o.address = h.address`,
  }),
  introspectionView({
    name: 'mz_dataflow_operator_reachability',
    number: 2317,
    doc: 'the times that each operator holds or waits for, over all workers',
    columns: [
      'id uint8 | of the operator',
      ...REACHABILITY.slice(0, 3),
      'count numeric | how many times it is held',
    ],
    sql: `
      SELECT id, port, update_type, time, sum(count) AS count
      FROM mz_introspection.mz_dataflow_operator_reachability_per_worker GROUP BY id, port, update_type, time`,
  }),
];
