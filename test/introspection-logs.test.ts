/**
 * What a replica tells about itself, driven by the real engine in the simulator and read in SQL: of what is known about an object
 * (its rows, its plan, its workers), each relation says just that. At every timestamp of every test no running sum is
 * negative, and when all is dropped nothing of it is left in any log.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { openWatched, type Watched } from './support/watched.ts';

const LOGS = 'mz_introspection';

async function watched(workers: number, f: (t: TestEnvironment, w: Watched) => Promise<void>): Promise<void> {
  const w = await openWatched({ workers });
  await f(w.t, w);
  await w.finish();
}

const numbers = (rows: readonly TestRow[], column: string): number[] => rows.map((r) => Number(r[column]));
const sum = (rows: readonly TestRow[], column: string): number =>
  numbers(rows, column).reduce((a, b) => a + b, 0);

/** Counts of a raw relation, for the operators of one export. */
const measured = (t: TestEnvironment, log: string, exportId: string): Promise<readonly TestRow[]> =>
  t.query(
    `SELECT m.worker_id, o.name, count(*) AS n
     FROM ${LOGS}.${log} m, ${LOGS}.mz_dataflow_operators_per_worker o,
          ${LOGS}.mz_dataflow_addresses_per_worker a, ${LOGS}.mz_compute_exports_per_worker e
     WHERE m.operator_id = o.id AND m.worker_id = o.worker_id AND a.id = o.id AND a.worker_id = o.worker_id
       AND e.worker_id = o.worker_id AND e.dataflow_id = a.address[1]::text::uint8 AND e.export_id = '${exportId}'
     GROUP BY m.worker_id, o.name`,
  );

const ROWS = 500;
const FILL = `INSERT INTO t SELECT x, x % 10 FROM generate_series(1, ${ROWS}) AS g(x)`;

for (const workers of [1, 2, 4])
  test(`an index of ${ROWS} rows on ${workers} workers: records, batches, bytes, buffers, handles`, () =>
    watched(workers, async (t) => {
      await t.exec(`CREATE TABLE t (a int, b int); ${FILL}; CREATE INDEX i ON t (a)`);
      await t.advance(2500);
      const id = t.id('i');
      const of = async (log: string): Promise<readonly TestRow[]> =>
        (await measured(t, log, id)).filter((r) => String(r['name']).startsWith('ArrangeBy'));
      const records = await of('mz_arrangement_records_raw');
      assert.equal(records.length, workers, 'every worker has a part');
      assert.equal(sum(records, 'n'), ROWS);
      for (const n of numbers(await of('mz_arrangement_batches_raw'), 'n')) assert.ok(n >= 1 && n < 10);
      const size = sum(await of('mz_arrangement_heap_size_raw'), 'n');
      assert.ok(size >= ROWS * 8, `two int4 a row are ${ROWS * 8} bytes, it says ${size}`);
      assert.ok(sum(await of('mz_arrangement_heap_capacity_raw'), 'n') >= size);
      assert.ok(sum(await of('mz_arrangement_heap_allocations_raw'), 'n') >= 5 * workers);
      assert.ok(sum(await of('mz_arrangement_sharing_raw'), 'n') >= workers);
      assert.deepEqual(await of('mz_arrangement_batcher_records_raw'), [], 'nothing waits');
      await t.exec(`DELETE FROM t WHERE a <= ${ROWS / 2}`);
      await t.advance(5000);
      const less = sum(await of('mz_arrangement_records_raw'), 'n');
      assert.ok(less >= ROWS / 2 && less <= ROWS * 1.5, `${less} updates are left of ${ROWS / 2} rows`);
    }));

for (const workers of [1, 2, 4])
  test(`messages on ${workers} workers: rows that crossed, sent as often as received`, () =>
    watched(workers, async (t) => {
      await t.exec(`CREATE TABLE t (a int, b int); ${FILL}; CREATE INDEX i ON t (a)`);
      await t.advance(2500);
      const counts = async (log: string): Promise<readonly TestRow[]> =>
        t.query(
          `SELECT m.from_worker_id, m.to_worker_id, m.channel_id, count(*) AS n
           FROM ${LOGS}.${log} m, ${LOGS}.mz_dataflow_channels_per_worker c,
                ${LOGS}.mz_dataflow_operators_per_worker o, ${LOGS}.mz_dataflow_addresses_per_worker a,
                ${LOGS}.mz_dataflow_addresses_per_worker s
           WHERE m.channel_id = c.id AND c.worker_id = 0 AND s.id = c.id AND s.worker_id = 0
             AND a.worker_id = 0 AND o.worker_id = 0 AND a.id = o.id AND o.name LIKE 'ArrangeBy%'
             AND a.address::text = replace(s.address::text, '}', ',' || c.to_index::text || '}')
           GROUP BY m.from_worker_id, m.to_worker_id, m.channel_id`,
        );
      const sent = await counts('mz_message_counts_sent_raw');
      assert.equal(sum(sent, 'n'), ROWS);
      const key = (r: TestRow): string => `${r['from_worker_id']}>${r['to_worker_id']}=${r['n']}`;
      const received = await counts('mz_message_counts_received_raw');
      assert.deepEqual(received.map(key).sort(), sent.map(key).sort());
      const batches = await counts('mz_message_batch_counts_sent_raw');
      assert.ok(sum(batches, 'n') >= 1 && sum(batches, 'n') <= sum(sent, 'n'));
      assert.deepEqual(
        (await counts('mz_message_batch_counts_received_raw')).map(key).sort(),
        batches.map(key).sort(),
      );
      assert.equal(new Set(sent.map((r) => r['to_worker_id'])).size, workers, 'every worker got some');
    }));

/** The operators of each node of an object's plan, on worker 0. */
async function operatorsByNode(t: TestEnvironment, id: string): Promise<ReadonlyMap<string, string[]>> {
  const rows = await t.query(
    `SELECT l.lir_id, l.operator, o.name FROM ${LOGS}.mz_compute_lir_mapping_per_worker l
     JOIN ${LOGS}.mz_dataflow_operators_per_worker o
       ON o.worker_id = l.worker_id AND o.id >= l.operator_id_start AND o.id < l.operator_id_end
     WHERE l.global_id = '${id}' AND l.worker_id = 0`,
  );
  const out = new Map<string, string[]>();
  for (const r of rows) {
    const node = `${r['lir_id']}: ${String(r['operator']).split(' ')[0]}`;
    out.set(node, [...(out.get(node) ?? []), String(r['name'])]);
  }
  return out;
}

test('a plan: each node has the operators that do its work and no others, and is hydrated when they are', () =>
  watched(2, async (t) => {
    await t.exec(`CREATE TABLE t (a int, b int); CREATE TABLE u (b int, c text); ${FILL};
      INSERT INTO u SELECT x, 'name' FROM generate_series(0, 9) AS g(x)`);
    const release = t.holdReads('t');
    await t.exec(`CREATE MATERIALIZED VIEW v AS
      SELECT u.c, t.a FROM t JOIN u ON t.b = u.b ORDER BY t.a DESC LIMIT 7`);
    const id = t.id('v');
    await t.advance(1500);
    const statuses = (): Promise<readonly TestRow[]> =>
      t.query(`SELECT lir_id, worker_id, hydrated
        FROM ${LOGS}.mz_compute_operator_hydration_statuses_per_worker WHERE export_id = '${id}'`);
    const before = await statuses();
    assert.ok(before.length >= 4 && before.length % 2 === 0, 'join and top-k on two workers at least');
    assert.ok(before.some((r) => r['hydrated'] === false));
    release();
    await t.advance(2500);
    const after = await statuses();
    assert.equal(after.length, before.length);
    assert.ok(after.every((r) => r['hydrated'] === true));
    const nodes = await operatorsByNode(t, id);
    const of = (what: string): string[] => [...nodes].filter(([n]) => n.includes(what)).flatMap(([, o]) => o);
    assert.deepEqual(
      of('Join').filter((n) => n === 'Join'),
      ['Join'],
    );
    const arranged = [...of('Join'), ...of('ArrangeBy')].filter((n) => n.startsWith('ArrangeBy'));
    assert.equal(arranged.length, 2, 'one for each side, under the node that asked for it');
    assert.deepEqual(
      of('TopK').filter((n) => n === 'TopK'),
      ['TopK'],
    );
    const all = [...nodes.values()].flat();
    assert.equal(all.filter((n) => n === 'Join' || n === 'TopK').length, 2, 'no operator is under two nodes');
    const lir = await t.query(`SELECT lir_id, parent_lir_id, nesting, operator_id_start, operator_id_end
      FROM ${LOGS}.mz_compute_lir_mapping_per_worker WHERE global_id = '${id}' AND worker_id = 1`);
    assert.equal(lir.filter((r) => r['parent_lir_id'] === null).length, 1, 'one root');
    for (const r of lir) {
      assert.ok(Number(r['operator_id_start']) <= Number(r['operator_id_end']));
      const parent = lir.find((p) => p['lir_id'] === r['parent_lir_id']);
      assert.equal(Number(r['nesting']), parent === undefined ? 0 : Number(parent['nesting']) + 1);
    }
  }));

test('a dataflow: its as-of, what it computes, its scopes, and what each address stands for', () =>
  watched(2, async (t) => {
    await t.exec(`CREATE TABLE t (a int, b int); ${FILL}; CREATE MATERIALIZED VIEW v AS SELECT a FROM t`);
    const id = t.id('v');
    await t.advance(2500);
    const [of] = await t.query(
      `SELECT dataflow_id FROM ${LOGS}.mz_compute_exports_per_worker WHERE export_id = '${id}' AND worker_id = 0`,
    );
    const dataflow = of!['dataflow_id'];
    const ids = await t.query(
      `SELECT worker_id, global_id FROM ${LOGS}.mz_compute_dataflow_global_ids_per_worker WHERE id = ${dataflow}`,
    );
    assert.deepEqual(ids.map((r) => `${r['worker_id']} ${r['global_id']}`).sort(), [`0 ${id}`, `1 ${id}`]);
    const [asOf] = await t.query(
      `SELECT a.time::text AS as_of, l.details ->> 'as_of' AS said
       FROM ${LOGS}.mz_compute_dataflow_as_of_per_worker a, ${LOGS}.mz_compute_lifecycle_events_per_worker l
       WHERE a.dataflow_id = ${dataflow} AND a.worker_id = 1 AND l.worker_id = 1 AND l.export_id = '${id}'
         AND l.event = 'installed'`,
    );
    assert.equal(asOf!['as_of'], asOf!['said']);
    const operators = await t.query(
      `SELECT o.name, a.address::text AS at FROM ${LOGS}.mz_dataflow_operators_per_worker o
       JOIN ${LOGS}.mz_dataflow_addresses_per_worker a ON a.id = o.id AND a.worker_id = o.worker_id
       WHERE o.worker_id = 1 AND (a.address::text = '{${dataflow}}' OR a.address::text LIKE '{${dataflow},%')`,
    );
    assert.equal(new Set(operators.map((r) => r['at'])).size, operators.length, 'an address is one operator');
    const root = operators.find((r) => r['at'] === `{${dataflow}}`);
    assert.match(String(root?.['name']), /v/);
    assert.ok(operators.length > 5);
    const loose = await t.query(
      `SELECT c.id FROM ${LOGS}.mz_dataflow_channels_per_worker c
       LEFT JOIN ${LOGS}.mz_dataflow_addresses_per_worker a ON a.id = c.id AND a.worker_id = c.worker_id
       WHERE a.id IS NULL`,
    );
    assert.deepEqual(loose, [], 'every channel has the address of its scope');
  }));

test('time: operators that ran have taken some, runs are counted, sleeps and reads too', () =>
  watched(1, async (t) => {
    await t.exec(`CREATE TABLE t (a int, b int); ${FILL}; CREATE INDEX i ON t (a)`);
    await t.advance(2500);
    const peeks = `SELECT type, count(*) AS n FROM ${LOGS}.mz_peek_durations_histogram_raw GROUP BY type`;
    const before = await t.query(peeks);
    for (let i = 0; i < 5; i++) await t.query('SELECT * FROM t WHERE a = 3');
    await t.advance(2500);
    const count = (rows: readonly TestRow[], type: string): number =>
      Number(rows.find((r) => r['type'] === type)?.['n'] ?? 0);
    assert.ok(count(await t.query(peeks), 'index') - count(before, 'index') >= 5);
    const busy = await t.query(
      `SELECT o.name, count(*) AS ns FROM ${LOGS}.mz_scheduling_elapsed_raw e
       JOIN ${LOGS}.mz_dataflow_operators_per_worker o ON o.id = e.id AND o.worker_id = e.worker_id
       GROUP BY o.id, o.name`,
    );
    assert.ok(busy.some((r) => String(r['name']).startsWith('ArrangeBy') && Number(r['ns']) > 0));
    const runs = await t.query(
      `SELECT duration_ns, count(*) AS n FROM ${LOGS}.mz_compute_operator_durations_histogram_raw GROUP BY duration_ns`,
    );
    assert.ok(sum(runs, 'n') > 10);
    for (const d of numbers(runs, 'duration_ns')) assert.equal(Math.log2(d) % 1, 0, `${d} is a power of two`);
    const parks = await t.query(
      `SELECT slept_for_ns, requested_ns, count(*) AS n FROM ${LOGS}.mz_scheduling_parks_histogram_raw
       GROUP BY slept_for_ns, requested_ns`,
    );
    assert.ok(sum(parks, 'n') > 2);
    assert.ok(
      parks.every((r) => r['requested_ns'] !== null),
      'the log asks for a turn each interval',
    );
  }));

test('reachability: the inputs of an arrangement stand where its table is complete, its output no further', () =>
  watched(2, async (t) => {
    await t.exec(`CREATE TABLE t (a int, b int); ${FILL}; CREATE INDEX i ON t (a)`);
    await t.advance(2500);
    const rows = await t.query(
      `SELECT r.worker_id, r.update_type, r.time::text AS time
       FROM ${LOGS}.mz_dataflow_operator_reachability_raw r, ${LOGS}.mz_dataflow_addresses_per_worker s,
            ${LOGS}.mz_dataflow_addresses_per_worker a, ${LOGS}.mz_dataflow_operators_per_worker o
       WHERE s.id = r.id AND s.worker_id = r.worker_id AND o.worker_id = r.worker_id AND a.worker_id = r.worker_id
         AND a.id = o.id AND o.name LIKE 'ArrangeBy%'
         AND a.address::text = replace(s.address::text, '}', ',' || r.source::text || '}')`,
    );
    for (const worker of [0, 1]) {
      const of = (type: string): number[] =>
        numbers(
          rows.filter((r) => Number(r['worker_id']) === worker && r['update_type'] === type),
          'time',
        );
      assert.equal(of('target').length, 1, 'one input');
      assert.equal(of('source').length, 1, 'one capability, one output');
      assert.ok(of('source')[0]! <= of('target')[0]!);
    }
  }));

test('an index of what never changes keeps the operators that its bytes belong to, and no channel', () =>
  watched(1, async (t) => {
    await t.exec('CREATE VIEW v AS SELECT * FROM (VALUES (1), (2), (3)) AS x(a); CREATE INDEX i ON v (a)');
    await t.advance(2500);
    const id = t.id('i');
    const records = await measured(t, 'mz_arrangement_records_raw', id);
    assert.equal(
      sum(
        records.filter((r) => String(r['name']).startsWith('ArrangeBy')),
        'n',
      ),
      3,
    );
    const roots = await t.query(
      `SELECT o.name FROM ${LOGS}.mz_dataflow_operators_per_worker o, ${LOGS}.mz_dataflow_addresses_per_worker a
       WHERE a.id = o.id AND a.worker_id = o.worker_id AND a.address::text = '{' || (
         SELECT dataflow_id::text FROM ${LOGS}.mz_compute_exports_per_worker WHERE export_id = '${id}') || '}'`,
    );
    assert.equal(roots.length, 1, 'the dataflow is still there to be named');
    assert.deepEqual(await t.query(`SELECT * FROM ${LOGS}.mz_dataflow_channels_per_worker`), []);
    await t.exec('DROP INDEX i');
    await t.advance(2500);
    assert.deepEqual(await t.query(`SELECT * FROM ${LOGS}.mz_dataflow_operators_per_worker`), []);
  }));

test('introspection shows itself when debugging only, and with the interval at 0 is empty and complete at once', async () => {
  const t = await openTest();
  const named = async (cluster: string): Promise<readonly TestRow[]> => {
    await t.exec(`SET cluster = ${cluster}`);
    return t.query(`SELECT name FROM ${LOGS}.mz_dataflow_operators_per_worker WHERE name = 'Introspection'`);
  };
  assert.deepEqual(await named('quickstart'), []);
  await t.exec("CREATE CLUSTER d (SIZE '1', INTROSPECTION DEBUGGING = true)");
  await t.advance(2500);
  assert.equal((await named('d')).length, 1);
  const si = await t.query(
    `SELECT count(*) AS n FROM ${LOGS}.mz_compute_exports_per_worker WHERE export_id LIKE 'si%'`,
  );
  assert.ok(Number(si[0]!['n']) > 30);
  await t.exec("CREATE CLUSTER z (SIZE '1', INTROSPECTION INTERVAL = '0')");
  assert.deepEqual(await named('z'), []);
  await t.exec('DROP CLUSTER d; DROP CLUSTER z; SET cluster = quickstart');
  await t.assertNothingLeft();
  await t.close();
});

const METRICS = `SELECT metric_name, labels ->> 'worker' AS worker, value FROM ${LOGS}.mz_cluster_prometheus_metrics`;

test('metrics: what each worker counts, one row a sample; none at all once they are not wanted', async () => {
  const t = await openTest({ workers: 2 });
  await t.exec(`CREATE TABLE t (a int, b int); ${FILL}; CREATE INDEX i ON t (a)`);
  await t.advance(2500);
  const value = async (name: string, worker: string): Promise<number> => {
    const rows = await t.query(
      `${METRICS} WHERE metric_name = '${name}' AND labels ->> 'worker' = '${worker}'`,
    );
    assert.equal(rows.length, 1, `${name} of worker ${worker}`);
    return Number(rows[0]!['value']);
  };
  for (const worker of ['0', '1']) {
    const bytes = await value('tidemark_worker_arrangement_bytes', worker);
    assert.ok(bytes > ROWS * 2, `${bytes} bytes on worker ${worker}`);
    assert.ok(
      (await value('tidemark_worker_collections', worker)) > 35,
      'the indexes of logs, and the one of t',
    );
  }
  const before = await value('tidemark_worker_peeks_total', '1');
  for (let i = 0; i < 3; i++) await t.query('SELECT * FROM t WHERE a = 1');
  await t.advance(2500);
  assert.ok((await value('tidemark_worker_peeks_total', '1')) >= before + 3);
  await t.exec("ALTER SYSTEM SET metrics_interval = '0'");
  await t.advance(2500);
  assert.deepEqual(await t.query(METRICS), []);
  await t.restart();
  await t.advance(2500);
  assert.deepEqual(await t.query(METRICS), [], 'also of replicas that start later');
  await t.exec("ALTER SYSTEM SET metrics_interval = '10s'");
  await t.advance(2500);
  const peeksTotal = (): Promise<number> => value('tidemark_worker_peeks_total', '0');
  const first = await peeksTotal();
  await t.advance(4000);
  assert.equal(await peeksTotal(), first, 'not as often as the log');
  await t.advance(10_000);
  assert.ok((await peeksTotal()) > first);
  assert.equal((await t.failure("ALTER SYSTEM SET metrics_interval = 'often'")).sqlstate, '22023');
  await t.exec('ALTER SYSTEM RESET metrics_interval');
  await t.advance(2500);
  assert.ok((await t.query(METRICS)).length > 10);
  await t.close();
});

test('I01: dataflows that come and go fast: at no timestamp is a running sum of any log negative', () =>
  // The checker looks at every relation at every timestamp.
  watched(2, async (t) => {
    await t.exec(`CREATE TABLE t (a int, b int); ${FILL}`);
    for (let i = 0; i < 100; i++) {
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT b, count(*) FROM t GROUP BY b');
      if (i % 5 === 0) await t.advance((i * 37) % 1700);
      await t.exec('DROP MATERIALIZED VIEW v');
    }
    await t.advance(2500);
    assert.deepEqual(await t.query(`SELECT * FROM ${LOGS}.mz_dataflow_operators_per_worker`), []);
    assert.deepEqual(await t.query(`SELECT * FROM ${LOGS}.mz_dataflow_operator_reachability_raw`), []);
  }));

test('I02: a view whose inputs have ended has no operators any more, and is still read', () =>
  watched(2, async (t) => {
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT * FROM generate_series(1, 30) AS g(x)');
    await t.advance(4000);
    assert.equal((await t.query('SELECT * FROM v')).length, 30);
    await t.advance(2500);
    assert.deepEqual(await t.query(`SELECT * FROM ${LOGS}.mz_dataflow_operators_per_worker`), []);
    const counts = ['mz_arrangement_records_raw', 'mz_scheduling_elapsed_raw', 'mz_message_counts_sent_raw'];
    for (const log of counts) assert.deepEqual(await t.query(`SELECT * FROM ${LOGS}.${log}`), [], log);
  }));

test('I03: views of distinct counts come and go, and the bytes of arrangements are back where they were', () =>
  watched(1, async (t) => {
    await t.exec(`CREATE TABLE t (a int, b int); ${FILL}`);
    const bytes = async (): Promise<readonly TestRow[]> => {
      await t.advance(2500);
      return t.query(`SELECT operator_id, count(*) AS n FROM ${LOGS}.mz_arrangement_heap_capacity_raw
        GROUP BY operator_id`);
    };
    assert.deepEqual(await bytes(), []);
    for (let i = 0; i < 10; i++) {
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT count(DISTINCT a) FROM t');
      if (i === 0) assert.ok(sum(await bytes(), 'n') > ROWS * 4);
      await t.exec('DROP MATERIALIZED VIEW v');
    }
    assert.deepEqual(await bytes(), []);
  }));
