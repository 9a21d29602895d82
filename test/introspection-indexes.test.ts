/**
 * Indexes of views over logs, which every replica keeps, and whose rows a query gets: that of one replica, at once, also where it has
 * just come, and also where introspection is off.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { BUILTIN_VIEWS } from '../packages/tidemark/src/catalog/builtins/builtins.ts';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';

const INDEXED = BUILTIN_VIEWS.filter((v) => v.indexed !== undefined).sort(
  (a, b) => a.indexed!.number - b.indexed!.number,
);
const ON_BOTH = "CREATE CLUSTER c REPLICAS (r1 (SIZE '1'), r2 (SIZE '2'))";

const explained = async (t: TestEnvironment, sql: string): Promise<string> =>
  (await t.query(`EXPLAIN ${sql}`)).map((r) => Object.values(r).join()).join('\n');

async function refusal(run: Promise<unknown>): Promise<Record<string, unknown>> {
  const error: unknown = await run.then(
    () => assert.fail('it is refused'),
    (e: unknown) => e,
  );
  return error as Record<string, unknown>;
}

test('an index for each view that is read often, on each cluster, with ids that never change; gone with the cluster', async () => {
  const t = await openTest();
  const indexes = (): Promise<readonly TestRow[]> =>
    t.query(`SELECT i.id, i.name, r.name AS view, c.name AS cluster FROM mz_catalog.mz_indexes i
      JOIN mz_catalog.mz_relations r ON r.id = i.on_id JOIN mz_catalog.mz_clusters c ON c.id = i.cluster_id
      WHERE r.type = 'view' ORDER BY i.id`);
  const before = await indexes();
  assert.equal(before.length, 2 * INDEXED.length);
  await t.exec(ON_BOTH);
  const number = INDEXED[0]!.indexed!.number;
  assert.ok(number > 500);
  const own = (await indexes()).filter((i) => i['cluster'] === 'c');
  assert.deepEqual(
    own,
    INDEXED.map((v) => ({
      id: `si${2000 + v.indexed!.number}`,
      name: `${v.name}_u2_primary_idx`,
      view: v.name,
      cluster: 'c',
    })),
  );
  await t.exec('SET cluster = c; SET cluster_replica = r2');
  await t.advance(3000);
  const exports = await t.query(
    "SELECT export_id FROM mz_introspection.mz_compute_exports WHERE export_id LIKE 'si25%' ORDER BY export_id",
  );
  assert.deepEqual(
    exports.map((e) => e['export_id']),
    own.map((i) => i['id']),
  );
  await t.exec('RESET cluster; RESET cluster_replica; DROP CLUSTER c');
  assert.deepEqual(await indexes(), before);
  await t.assertNothingLeft();
  await t.close();
});

test('a key of an index may be NULL where the column that it takes may be', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int NOT NULL, b int); CREATE INDEX i ON t (b, a)');
  const keys = `SELECT i.name, k.nullable AS key, c.nullable AS column FROM mz_catalog.mz_index_columns k
    JOIN mz_catalog.mz_indexes i ON i.id = k.index_id JOIN mz_catalog.mz_columns c ON c.id = i.on_id AND c.position = k.on_position`;
  assert.deepEqual(await t.query(`SELECT key, "column" FROM (${keys}) k WHERE name = 'i' ORDER BY key`), [
    { key: false, column: false },
    { key: true, column: true },
  ]);
  assert.deepEqual(await t.query(`SELECT name FROM (${keys}) k WHERE key <> "column"`), []);
  await t.restart();
  assert.deepEqual(await t.query(`SELECT name FROM (${keys}) k WHERE key <> "column"`), []);
  await t.close();
});

test('what a replica tells is asked of one replica', async () => {
  const t = await openTest();
  await t.exec(`${ON_BOTH}; SET cluster = c`);
  await t.advance(3000);
  const workers = 'SELECT DISTINCT worker_id FROM mz_introspection.mz_compute_exports_per_worker';
  for (const sql of [workers, `SELECT * FROM mz_introspection.${INDEXED[0]!.name}`]) {
    const e = await refusal(t.query(sql));
    assert.equal(e['code'], 'object_not_in_prerequisite_state');
    assert.match(String(e['hint']), /SET cluster_replica to one of r1, r2/);
  }
  await t.exec('SET cluster_replica = r1');
  assert.equal((await t.query(workers)).length, 1);
  assert.match(await explained(t, `SELECT * FROM mz_introspection.${INDEXED[0]!.name}`), /_primary_idx/);
  await t.exec('SET cluster_replica = r2');
  assert.equal((await t.query(workers)).length, 2);
  await t.exec('SET cluster_replica = r3');
  assert.match(String((await refusal(t.query(workers)))['message']), /"c.r3" does not exist/);
  // Tables are anybody's to read.
  await t.exec('RESET cluster_replica; CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  assert.equal((await t.query('SELECT * FROM t')).length, 1);
  await t.close();
});

test('without a replica a read is refused at once, and says what to do', async () => {
  const t = await openTest();
  await t.exec('CREATE CLUSTER c REPLICAS (); SET cluster = c; CREATE TABLE t (a int)');
  const reads = [
    'SELECT * FROM t',
    'SELECT * FROM mz_introspection.mz_compute_exports',
    `SELECT * FROM mz_introspection.${INDEXED[0]!.name}`,
  ];
  for (const sql of reads) {
    const e = await refusal(t.query(sql));
    assert.equal(e['code'], 'object_not_in_prerequisite_state');
    assert.match(String(e['hint']), /CREATE CLUSTER REPLICA/);
  }
  // The catalog answers.
  assert.ok((await t.query('SELECT * FROM mz_catalog.mz_objects')).length > 0);
  await t.close();
});

test('a replica that has just come back answers from its raw logs, without waiting', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
  await t.advance(5000);
  const views = INDEXED.map((v) => `SELECT * FROM mz_introspection.${v.name}`);
  for (const sql of views) assert.match(await explained(t, sql), /_u1_primary_idx \(all of it\)/);
  // It comes back, and has said nothing yet: planned over the logs themselves.
  const resume = t.stallWorker(0);
  await t.crash();
  await t.advance(3000);
  for (const sql of views) {
    const plan = await explained(t, sql);
    assert.doesNotMatch(plan, /\(all of it\)/);
    assert.match(plan, /- mz_\w+(_raw|_per_worker)_u1_primary_idx \(shared with the dataflow\)/);
  }
  const began = t.time.nowMs();
  const waiting = views.map((sql) => t.start(sql));
  resume();
  for (const w of waiting) await w.result();
  assert.ok(t.time.nowMs() - began < 1000, 'an interval of the log is a second');
  await t.advance(5000);
  for (const sql of views) {
    assert.match(await explained(t, sql), /_u1_primary_idx \(all of it\)/);
    await t.query(sql);
  }
  await t.close();
});

test('with introspection off every index is there, complete and empty at once', async () => {
  const t = await openTest();
  await t.exec("CREATE CLUSTER quiet (SIZE '2', INTROSPECTION INTERVAL 0); SET cluster = quiet");
  for (const v of BUILTIN_VIEWS.filter((b) => b.schema === 'mz_introspection')) {
    const before = t.time.nowMs();
    assert.deepEqual(await t.query(`SELECT * FROM mz_introspection.${v.name}`), [], v.name);
    assert.ok(t.time.nowMs() - before < 100, v.name);
  }
  for (const v of INDEXED)
    assert.match(await explained(t, `SELECT * FROM mz_introspection.${v.name}`), /_primary_idx/);
  await t.close();
});

test('after everything is dropped the indexed views are as empty as they were', async () => {
  const t = await openTest({ workers: 2 });
  const contents = async (): Promise<readonly unknown[]> => {
    const out: unknown[] = [];
    for (const v of INDEXED) out.push(await t.query(`SELECT * FROM mz_introspection.${v.name}`));
    return out;
  };
  await t.advance(3000);
  const before = await contents();
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); CREATE INDEX i ON t (a)');
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a');
  await t.advance(3000);
  assert.notDeepEqual(await contents(), before);
  await t.exec('DROP MATERIALIZED VIEW v; DROP TABLE t CASCADE');
  await t.advance(3000);
  assert.deepEqual(await contents(), before);
  await t.assertNothingLeft();
  await t.close();
});
