/**
 * What dataflows cost, as views over a replica's log relations: sizes, time, messages. A raw relation holds no numbers, the
 * multiplicity of a row is the number; so `count(*)` is the measure, and the sum over workers follows.
 */
import type { BuiltinView } from './declare.ts';
import { introspectionView, WORKER } from './views-introspection.ts';

const SIZES = [
  'records int8? | rows held, pending ones included',
  'batches int8? | batches held',
  'size int8? | bytes used',
  'capacity int8? | bytes allocated',
  'allocations int8? | allocations that hold them',
] as const;

const sums = (of: string): string =>
  ['records', 'batches', 'size', 'capacity', 'allocations']
    .map((m) => `sum(${of}.${m})::int8 AS ${m}`)
    .join(', ');

/** The measures, and the raw relations that count towards each: what is arranged, and what waits to be. */
const MEASURES: Readonly<Record<string, readonly string[]>> = {
  records: ['mz_arrangement_records_raw', 'mz_arrangement_batcher_records_raw'],
  batches: ['mz_arrangement_batches_raw'],
  size: ['mz_arrangement_heap_size_raw', 'mz_arrangement_batcher_size_raw'],
  capacity: ['mz_arrangement_heap_capacity_raw', 'mz_arrangement_batcher_capacity_raw'],
  allocations: ['mz_arrangement_heap_allocations_raw', 'mz_arrangement_batcher_allocations_raw'],
};

/** Each unit of each measure as a row with a 1 in its column: one pass adds them all, and what no row names stays NULL. */
const UNITS = Object.entries(MEASURES)
  .flatMap(([measure, relations]) => relations.map((relation) => ({ measure, relation })))
  .map(({ measure, relation }) => {
    const ones = Object.keys(MEASURES).map((m) => (m === measure ? `1 AS ${m}` : `NULL::int4 AS ${m}`));
    return `SELECT operator_id, worker_id, ${ones.join(', ')} FROM mz_introspection.${relation}`;
  })
  .join(' UNION ALL ');

const COUNT = 'count int8 | how often';

/** Counts of a raw relation on each worker, and their sums. */
function counted(o: {
  readonly numbers: readonly [number, number];
  readonly raw: string;
  readonly name: string;
  readonly doc: string;
  /** In the order of the relations; a `worker_id` stands among them where it belongs. */
  readonly columns: readonly string[];
  readonly measure: string;
  readonly measureDoc: string;
}): readonly BuiltinView[] {
  const names = o.columns.map((c) => c.split(' ')[0]!);
  const global = o.columns.filter((c) => c !== WORKER);
  const globalNames = global.map((c) => c.split(' ')[0]!);
  return [
    introspectionView({
      name: `${o.name}_per_worker`,
      number: o.numbers[0],
      doc: `${o.doc}, on each worker`,
      columns: [...o.columns, `${o.measure} int8 | ${o.measureDoc}`],
      key: names,
      sql: `SELECT ${names.join(', ')}, count(*) AS ${o.measure} FROM mz_introspection.${o.raw} GROUP BY ${names.join(', ')}`,
    }),
    introspectionView({
      name: o.name,
      number: o.numbers[1],
      doc: `${o.doc}, over all workers`,
      columns: [...global, `${o.measure} numeric | ${o.measureDoc}`],
      key: globalNames,
      sql: `SELECT ${globalNames.join(', ')}, sum(${o.measure}) AS ${o.measure}
        FROM mz_introspection.${o.name}_per_worker GROUP BY ${globalNames.join(', ')}`,
    }),
  ];
}

const DURATION = 'duration_ns uint8 | nanoseconds, rounded up to a power of two';
const OPERATOR = 'id uint8 | of the operator';

const MESSAGES = [
  'sent int8 | records sent',
  'received int8 | records received',
  'batch_sent int8 | batches sent',
  'batch_received int8 | batches received',
] as const;

const messageCount = (raw: string): string =>
  `(SELECT channel_id, from_worker_id, to_worker_id, count(*) AS count FROM mz_introspection.${raw} GROUP BY channel_id, from_worker_id, to_worker_id)`;

const RUNTIME_VIEWS: readonly BuiltinView[] = [
  ...counted({
    numbers: [2321, 2322],
    raw: 'mz_peek_durations_histogram_raw',
    name: 'mz_peek_durations_histogram',
    doc: 'how long reads took to answer',
    columns: [WORKER, 'type text | `index` or `persist`', DURATION],
    measure: 'count',
    measureDoc: 'how many reads',
  }),
  ...counted({
    numbers: [2323, 2324],
    raw: 'mz_scheduling_elapsed_raw',
    name: 'mz_scheduling_elapsed',
    doc: 'how long each operator has run',
    columns: [OPERATOR, WORKER],
    measure: 'elapsed_ns',
    measureDoc: 'nanoseconds',
  }),
  ...counted({
    numbers: [2325, 2326],
    raw: 'mz_compute_operator_durations_histogram_raw',
    name: 'mz_compute_operator_durations_histogram',
    doc: 'how long the turns of each operator took',
    columns: [OPERATOR, WORKER, DURATION],
    measure: 'count',
    measureDoc: 'how many turns',
  }),
  ...counted({
    numbers: [2327, 2328],
    raw: 'mz_scheduling_parks_histogram_raw',
    name: 'mz_scheduling_parks_histogram',
    doc: 'how long workers slept',
    columns: [
      WORKER,
      'slept_for_ns uint8 | nanoseconds, rounded up to a power of two',
      'requested_ns uint8? | what was asked for, rounded likewise; NULL: until woken',
    ],
    measure: 'count',
    measureDoc: 'how many times',
  }),
  introspectionView({
    name: 'mz_message_counts_per_worker',
    number: 2329,
    doc: 'what went through each channel, from worker to worker',
    columns: [
      'channel_id uint8 | the channel',
      'from_worker_id uint8 | worker that sent',
      'to_worker_id uint8 | worker that received',
      ...MESSAGES,
    ],
    key: ['channel_id', 'from_worker_id', 'to_worker_id'],
    sql: `
      SELECT s.channel_id, s.from_worker_id, s.to_worker_id,
        s.count AS sent, r.count AS received, bs.count AS batch_sent, br.count AS batch_received
      FROM ${messageCount('mz_message_counts_sent_raw')} s
      JOIN ${messageCount('mz_message_counts_received_raw')} r USING (channel_id, from_worker_id, to_worker_id)
      JOIN ${messageCount('mz_message_batch_counts_sent_raw')} bs USING (channel_id, from_worker_id, to_worker_id)
      JOIN ${messageCount('mz_message_batch_counts_received_raw')} br USING (channel_id, from_worker_id, to_worker_id)`,
  }),
  introspectionView({
    name: 'mz_message_counts',
    number: 2330,
    doc: 'what went through each channel',
    columns: ['channel_id uint8 | the channel', ...MESSAGES.map((c) => c.replace(' int8', ' numeric'))],
    key: ['channel_id'],
    sql: `
      SELECT channel_id, sum(sent) AS sent, sum(received) AS received,
        sum(batch_sent) AS batch_sent, sum(batch_received) AS batch_received
      FROM mz_introspection.mz_message_counts_per_worker GROUP BY channel_id`,
  }),
];

const SIZE_VIEWS: readonly BuiltinView[] = [
  introspectionView({
    name: 'mz_arrangement_sizes_per_worker',
    number: 2331,
    doc: 'what each operator holds, on each worker',
    columns: ['operator_id uint8 | the operator', WORKER, ...SIZES],
    key: ['operator_id', 'worker_id'],
    indexed: { number: 501, by: ['operator_id', 'worker_id'] },
    sql: `
      SELECT s.operator_id, s.worker_id, s.records, s.batches, s.size, s.capacity, s.allocations
      FROM (
        SELECT u.operator_id, u.worker_id, ${sums('u')} FROM (${UNITS}) u GROUP BY u.operator_id, u.worker_id
      ) s
      JOIN mz_introspection.mz_dataflow_operators_per_worker o ON o.id = s.operator_id AND o.worker_id = s.worker_id`,
  }),
  introspectionView({
    name: 'mz_arrangement_sizes',
    number: 2332,
    doc: 'what each operator holds',
    columns: ['operator_id uint8 | the operator', ...SIZES],
    key: ['operator_id'],
    indexed: { number: 502, by: ['operator_id'] },
    sql: `SELECT s.operator_id, ${sums('s')} FROM mz_introspection.mz_arrangement_sizes_per_worker s GROUP BY s.operator_id`,
  }),
  introspectionView({
    name: 'mz_arrangement_sharing_per_worker',
    number: 2333,
    doc: 'how many readers hold the arrangement of an operator, on each worker',
    columns: ['operator_id uint8 | the operator', WORKER, COUNT],
    key: ['operator_id', 'worker_id'],
    sql: `SELECT operator_id, worker_id, count(*) AS count
      FROM mz_introspection.mz_arrangement_sharing_raw GROUP BY operator_id, worker_id`,
  }),
  introspectionView({
    name: 'mz_arrangement_sharing',
    number: 2334,
    doc: 'how many readers hold the arrangement of an operator; the same on all workers',
    columns: ['operator_id uint8 | the operator', COUNT],
    key: ['operator_id'],
    sql: 'SELECT operator_id, count FROM mz_introspection.mz_arrangement_sharing_per_worker WHERE worker_id = 0',
  }),
  introspectionView({
    name: 'mz_records_per_dataflow_operator_per_worker',
    number: 2335,
    doc: 'the operators of each dataflow with what they hold, on each worker',
    columns: [OPERATOR, 'name text | what it does', WORKER, 'dataflow_id uint8 | its dataflow', ...SIZES],
    key: ['id', 'worker_id'],
    sql: `
      SELECT o.id, o.name, o.worker_id, o.dataflow_id, s.records, s.batches, s.size, s.capacity, s.allocations
      FROM mz_introspection.mz_dataflow_operator_dataflows_per_worker o
      LEFT JOIN mz_introspection.mz_arrangement_sizes_per_worker s ON s.operator_id = o.id AND s.worker_id = o.worker_id`,
  }),
  introspectionView({
    name: 'mz_records_per_dataflow_operator',
    number: 2336,
    doc: 'the operators of each dataflow with what they hold',
    columns: [OPERATOR, 'name text | what it does', 'dataflow_id uint8 | its dataflow', ...SIZES],
    key: ['id', 'name', 'dataflow_id'],
    sql: `
      SELECT r.id, r.name, r.dataflow_id, ${sums('r')}
      FROM mz_introspection.mz_records_per_dataflow_operator_per_worker r GROUP BY r.id, r.name, r.dataflow_id`,
  }),
  // A row of NULLs for each dataflow and the sizes of its operators, added up: what an outer join would say at several times its cost.
  introspectionView({
    name: 'mz_records_per_dataflow_per_worker',
    number: 2337,
    doc: 'what each dataflow holds, on each worker; NULL where it has no arrangement',
    columns: ['id uint8 | of the dataflow', 'name text | says what it maintains', WORKER, ...SIZES],
    key: ['id', 'name', 'worker_id'],
    indexed: { number: 503, by: ['id', 'name', 'worker_id'] },
    // Added up before names are looked up: what an arrangement holds changes all the time, and moves one row of its dataflow.
    sql: `
      WITH roots AS (SELECT DISTINCT id, name, worker_id FROM mz_introspection.mz_dataflows_per_worker),
      added AS (
        SELECT u.id, u.worker_id, ${sums('u')}
        FROM (
          SELECT a.address[1] AS id, s.worker_id, s.records, s.batches, s.size, s.capacity, s.allocations
          FROM mz_introspection.mz_arrangement_sizes_per_worker s
          JOIN mz_introspection.mz_dataflow_addresses_per_worker a ON a.id = s.operator_id AND a.worker_id = s.worker_id
          UNION ALL
          SELECT id, worker_id, NULL::int8, NULL::int8, NULL::int8, NULL::int8, NULL::int8 FROM roots
        ) u
        GROUP BY u.id, u.worker_id
      )
      SELECT d.id, d.name, d.worker_id, u.records, u.batches, u.size, u.capacity, u.allocations
      FROM added u JOIN roots d ON d.id = u.id AND d.worker_id = u.worker_id`,
  }),
  introspectionView({
    name: 'mz_records_per_dataflow',
    number: 2338,
    doc: 'what each dataflow holds; NULL where it has no arrangement',
    columns: ['id uint8 | of the dataflow', 'name text | says what it maintains', ...SIZES],
    key: ['id', 'name'],
    indexed: { number: 504, by: ['id', 'name'] },
    sql: `SELECT r.id, r.name, ${sums('r')}
      FROM mz_introspection.mz_records_per_dataflow_per_worker r GROUP BY r.id, r.name`,
  }),
  introspectionView({
    name: 'mz_dataflow_arrangement_sizes',
    number: 2339,
    doc: 'what the arrangements of each dataflow hold; NULL where it has none',
    columns: ['id uint8 | of the dataflow', 'name text | says what it maintains', ...SIZES],
    key: ['id', 'name'],
    sql: `SELECT id, name, records, batches, size, capacity, allocations FROM mz_introspection.mz_records_per_dataflow`,
  }),
];

export const MEASURE_VIEWS: readonly BuiltinView[] = [...RUNTIME_VIEWS, ...SIZE_VIEWS];
