/**
 * Faults that engines like this one have had with the bookkeeping of introspection, with leaks, peeks and subscribes: the cases that need more
 * than their neighbours have. In the simulator, but for one that looks at the heap of a process.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { ColumnBuilder } from '../packages/tidemark/src/repr/column.ts';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { Subscribed } from '../packages/tidemark/src/testkit/subscribed.ts';
import { onWorkers } from './support/on-workers.ts';

const LOGS = 'mz_introspection';

const subscribe = (t: TestEnvironment, query: string): Promise<Subscribed> =>
  t.settle(Subscribed.start(t.session(), `SUBSCRIBE (${query}) WITH (PROGRESS)`));

/** At every time: no row is there less than never. Gives how many rows are there in the end. */
function checkSums(relation: string, { updates }: Subscribed): number {
  const counts = new Map<string, number>();
  const touched = new Set<string>();
  let time = 0;
  const look = (): void => {
    for (const key of touched) {
      const n = counts.get(key)!;
      assert.ok(n >= 0, `at ${time} ${relation} has ${n} copies of ${key}`);
      if (n === 0) counts.delete(key);
    }
    touched.clear();
  };
  for (const u of [...updates].sort((a, b) => a.time - b.time)) {
    if (u.time !== time) look();
    time = u.time;
    const key = JSON.stringify(u.row);
    counts.set(key, (counts.get(key) ?? 0) + u.diff);
    touched.add(key);
  }
  look();
  return counts.size;
}

const KINDS = [
  ['MATERIALIZED VIEW', 'o', 'AS SELECT b, count(*) AS n FROM t GROUP BY b'],
  ['INDEX', 'o', 'ON t (b)'],
  ['MATERIALIZED VIEW', 'o', 'AS SELECT x.a, y.b FROM t x JOIN t y ON x.a = y.b ORDER BY 1 LIMIT 3'],
  ['MATERIALIZED VIEW', 'o', 'AS SELECT 1 / (a - 3) AS q FROM t'],
] as const;

test('I01: dataflows come and go under subscribes of every relation of introspection: no sum is ever negative', async () => {
  const workers = 2;
  const t = await openTest({ workers, seed: 2 });
  await t.exec(
    'CREATE TABLE t (a int, b int); INSERT INTO t SELECT x, x % 4 FROM generate_series(1, 20) AS g(x)',
  );
  const relations = (
    await t.query(`SELECT o.name FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id
        WHERE s.name = '${LOGS}' AND o.type <> 'index' ORDER BY 1`)
  ).map((r) => String(r['name']));
  assert.ok(relations.length > 70);
  const subscribes = new Map<string, Subscribed>();
  for (const r of relations) subscribes.set(r, await subscribe(t, `SELECT * FROM ${LOGS}.${r}`));
  for (let i = 0; i < 30; i++) {
    const [kind, name, definition] = KINDS[i % KINDS.length]!;
    await t.exec(`CREATE ${kind} ${name} ${definition}`);
    if (i % 3 === 0) await t.advance((i * 331) % 1500);
    await t.exec(`DROP ${kind} ${name}`);
  }
  await t.advance(3000);
  for (const [relation, s] of subscribes) {
    await t.settle(s.completeBefore(t.time.nowMs() - 2000));
    assert.equal(s.ended, undefined, relation);
    checkSums(relation, s);
  }
  const exports = subscribes.get('mz_compute_exports_per_worker')!.updates;
  assert.ok(exports.filter((u) => u.diff < 0 && u.row[0]!.startsWith('u')).length > workers, 'it saw drops');
  for (const s of subscribes.values()) s.close();
  await t.exec('DROP TABLE t');
  await t.assertNothingLeft();
  await t.close();
});

test('I03: what views of distinct counts took of the heap is given back when they are dropped', async () => {
  const program = fileURLToPath(new URL('./support/heap-churn.ts', import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ['--expose-gc', program]);
  const { empty, withView, before, after, rounds } = JSON.parse(stdout) as Record<string, number>;
  const ofOne = withView! - empty!;
  assert.ok(ofOne > 1e6, `such a view is seen in the heap: ${stdout}`);
  assert.ok(Math.abs(after! - before!) < before! / 10, `within a tenth of what it was: ${stdout}`);
  assert.ok((after! - before!) / rounds! < ofOne / 8, `none leaves an eighth of itself: ${stdout}`);
});

for (const [type, index] of [
  ['persist', ''],
  ['index', 'CREATE INDEX i ON t (a);'],
] as const)
  test(`I04: a slow read (${type}) aimed at a replica that is dropped: an error, no row of it, and its input compacts`, async () => {
    const t = await openTest();
    await t.exec("CREATE CLUSTER c REPLICAS (r1 (SIZE '2'), r2 (SIZE '2')); SET cluster = c");
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const release = t.holdReads('t');
    await t.exec(index === '' ? 'SELECT 1' : index);
    const reading = t.start('SET cluster = c; SET cluster_replica = r1; SELECT a FROM t');
    await t.advance(2500);
    const peeks = async (replica: string): Promise<readonly TestRow[]> => {
      await t.exec(`SET cluster_replica = ${replica}`);
      return t.query(
        `SELECT DISTINCT type FROM ${LOGS}.mz_active_peeks_per_worker WHERE object_id LIKE 'u%'`,
      );
    };
    assert.deepEqual([await peeks('r1'), await peeks('r2')], [[{ type }], []]);
    const asked = t.time.nowMs();
    const { id } = t.env.catalog.cluster('c')!;
    await t.exec('DROP CLUSTER REPLICA c.r1');
    await assert.rejects(reading.result(), /replica .* was dropped/);
    assert.deepEqual([t.env.instance(id).live.peeks, await peeks('r2')], [0, []]);
    release();
    for (let i = 0; i < 10; i++) await t.exec(`INSERT INTO t VALUES (${i})`);
    // Holds move in steps of some seconds.
    await t.advance(12_000);
    const [row] = await t.query(
      `SELECT read_frontier AS since FROM mz_internal.mz_frontiers WHERE object_id = '${t.id('t')}'`,
    );
    assert.ok(Number(row!['since']) > asked, 'nothing holds its history any more');
    await t.exec("SET cluster_replica = ''; DROP TABLE t CASCADE; DROP CLUSTER c; SET cluster = quickstart");
    await t.assertNothingLeft();
    await t.close();
  });

/** What introspection says of objects, without what a restart may change: numbers of operators, times, bytes. */
const ASPECTS: Readonly<Record<string, string>> = {
  exports: `SELECT export_id FROM ${LOGS}.mz_compute_exports`,
  dataflows: `SELECT name FROM ${LOGS}.mz_dataflows`,
  operators: `SELECT dataflow_name, name FROM ${LOGS}.mz_dataflow_operator_dataflows`,
  channels: `SELECT type, count(*)::text AS n FROM ${LOGS}.mz_dataflow_channels GROUP BY type`,
  plans: `SELECT global_id, lir_id::text, operator, coalesce(parent_lir_id::text, '-') AS parent, nesting::text FROM ${LOGS}.mz_lir_mapping`,
  names: `SELECT name, global_id FROM ${LOGS}.mz_mappable_objects`,
  imports: `SELECT export_id, import_id FROM ${LOGS}.mz_compute_import_frontiers`,
  errors: `SELECT export_id, count::text FROM ${LOGS}.mz_compute_error_counts`,
  arranged: `SELECT name, records::text FROM ${LOGS}.mz_records_per_dataflow_operator WHERE records > 0`,
  events: `SELECT export_id, worker_id::text, event, coalesce(reason, '-') AS reason FROM ${LOGS}.mz_compute_lifecycle_events_per_worker WHERE export_id NOT LIKE 't%'`,
  statuses: `SELECT object_id, coalesce(replica_id, '-') AS replica, hydrated::text FROM mz_internal.mz_hydration_statuses`,
  operatorStatuses: `SELECT object_id, physical_plan_node_id::text AS node, hydrated::text FROM mz_internal.mz_compute_operator_hydration_statuses`,
  sizes: `SELECT object_id, (size IS NULL)::text AS none FROM mz_internal.mz_object_arrangement_sizes`,
  replicas: 'SELECT replica_id, hydrated::text, objects::text FROM mz_internal.mz_cluster_replica_hydration',
  indexes: 'SELECT id, name FROM mz_indexes',
  dependencies: 'SELECT object_id, dependency_id FROM mz_internal.mz_compute_dependencies',
};

onWorkers(
  'I07: introspection says the same after a restart as before it, but of what is sealed',
  async (workers) => {
    const t = await openTest({ workers });
    await t.exec(`CREATE TABLE t (a int, b int); INSERT INTO t SELECT x, x % 4 FROM generate_series(1, 20) AS g(x);
      CREATE INDEX i ON t (a); CREATE VIEW v AS SELECT b, count(*) AS n FROM t GROUP BY b; CREATE INDEX j ON v (n);
      CREATE MATERIALIZED VIEW m AS SELECT x.a, y.n FROM t x JOIN v y ON x.b = y.b;
      CREATE MATERIALIZED VIEW e AS SELECT 1 / (a - 3) AS q FROM t; CREATE MATERIALIZED VIEW k AS SELECT 1 AS a`);
    const sealed = t.id('k');
    const look = async (): Promise<Readonly<Record<string, readonly string[]>>> => {
      await t.advance(3500);
      const out: Record<string, readonly string[]> = {};
      for (const [aspect, sql] of Object.entries(ASPECTS)) {
        const rows = (await t.query(sql)).map((r) => Object.values(r).map(String));
        const others = rows.filter((r) => !r.includes(sealed) && !r.some((c) => /\bk\b/.test(c)));
        out[aspect] = others.map((r) => r.join(' ')).sort();
      }
      return out;
    };
    const before = await look();
    for (const [aspect, rows] of Object.entries(before)) assert.ok(rows.length > 0, `${aspect} has rows`);
    await t.restart();
    const after = await look();
    for (const aspect of Object.keys(ASPECTS)) assert.deepEqual(after[aspect], before[aspect], aspect);
    await t.close();
  },
);

test('I09: a subscribe of the error count sees three, two, one, and then no row; never less, never stuck', async () => {
  const t = await openTest({ workers: 2 });
  await t.exec('CREATE TABLE t (a int, b int); INSERT INTO t VALUES (0, 1), (0, 2), (0, 3), (1, 4)');
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT 1 / a AS q FROM t');
  const s = await subscribe(
    t,
    `SELECT count FROM ${LOGS}.mz_compute_error_counts WHERE export_id = '${t.id('v')}'`,
  );
  for (const b of [1, 2, 3]) {
    await t.advance(2500);
    await t.exec(`DELETE FROM t WHERE b = ${b}`);
  }
  await t.advance(3500);
  s.read();
  assert.deepEqual(
    s.updates.filter((u) => u.diff > 0).map((u) => u.row[0]),
    ['3', '2', '1'],
  );
  assert.deepEqual(s.contents(), []);
  s.close();
  await t.close();
});

onWorkers(
  'I10: an unmatched retraction under an aggregate is one error that names its key',
  async (workers) => {
    const t = await openTest({ workers });
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a');
    await t.advance(1500);
    const b = new ColumnBuilder('i32', 1);
    b.pushNumber(7);
    const batch = { length: 1, columns: [b.finish()], times: 0, diffs: -1 };
    await t.settle(
      t.env.group.write({ updates: new Map([[t.env.collections.shardOf(t.id('t')), [batch]]]) }),
    );
    const error = await t.failure('SELECT * FROM v');
    assert.match(`${error.message} ${error.detail ?? ''}`, /negative.*7|7.*negative/);
    await t.advance(2500);
    const count = `SELECT count::text AS n FROM ${LOGS}.mz_compute_error_counts WHERE export_id = '${t.id('v')}'`;
    assert.deepEqual(await t.query(count), [{ n: '1' }]);
    await t.exec('INSERT INTO t VALUES (7)');
    assert.equal((await t.query('SELECT * FROM v')).length, 2, 'matched, it is forgotten');
    await t.advance(2500);
    assert.deepEqual(await t.query(count), []);
    await t.close();
  },
);
