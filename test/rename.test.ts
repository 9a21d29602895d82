/** New names for objects, schemas and clusters: definitions follow, what runs goes on, and a start finds everything under them. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const created = async (t: TestEnvironment, kind: string, name: string): Promise<string> =>
  (await t.query(`SHOW CREATE ${kind} ${name}`))[0]!['create_sql'] as string;

async function opened(): Promise<TestEnvironment> {
  const t = await openTest();
  await t.exec(`CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x'), (2, 'y');
    CREATE VIEW v AS SELECT public.t.a, t.b FROM t WHERE t.a > 0;
    CREATE MATERIALIZED VIEW mv AS SELECT v.*, o.a AS other FROM v JOIN t AS o ON o.a = v.a;
    CREATE INDEX i ON mv (b)`);
  return t;
}

const rows = (t: TestEnvironment, name: string) => t.query(`SELECT a, b, other FROM ${name} ORDER BY a`);
const ROWS = [
  { a: 1, b: 'x', other: 1 },
  { a: 2, b: 'y', other: 2 },
];

test('a renamed object is read under its new name, and by what read it before', async () => {
  const t = await opened();
  const before = await t.query(`SELECT id FROM mz_objects WHERE name IN ('t', 'v', 'mv', 'i') ORDER BY id`);
  await t.exec(
    'ALTER TABLE t RENAME TO t2; ALTER VIEW v RENAME TO v2; ALTER MATERIALIZED VIEW mv RENAME TO mv2; ALTER INDEX i RENAME TO i2',
  );
  for (let start = 0; start < 2; start++) {
    assert.deepEqual(await rows(t, 'mv2'), ROWS);
    assert.equal((await t.failure('SELECT * FROM mv')).code, 'undefined_table');
    assert.match(
      await created(t, 'VIEW', 'v2'),
      /^CREATE VIEW tidemark\.public\.v2 AS SELECT t\.a, t\.b FROM tidemark\.public\.t2 AS t/,
    );
    assert.match(await created(t, 'INDEX', 'i2'), /^CREATE INDEX i2 .* ON tidemark\.public\.mv2/);
    const now = await t.query(
      `SELECT id FROM mz_objects WHERE name IN ('t2', 'v2', 'mv2', 'i2') ORDER BY id`,
    );
    assert.deepEqual(now, before, 'the same objects');
    await t.restart();
  }
  await t.exec(`INSERT INTO t2 VALUES (3, 'z')`);
  assert.equal((await rows(t, 'mv2')).length, 3);
  await t.exec('DROP TABLE t2 CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('schemas: a new name, an object that moves, and two that change places', async () => {
  const t = await opened();
  await t.exec('CREATE SCHEMA blue; CREATE SCHEMA green; ALTER MATERIALIZED VIEW mv SET SCHEMA blue');
  assert.deepEqual(await rows(t, 'blue.mv'), ROWS);
  assert.match(await created(t, 'INDEX', 'blue.i'), /ON tidemark\.blue\.mv/);
  await t.exec('CREATE MATERIALIZED VIEW green.mv AS SELECT 7 AS a, b, a AS other FROM t');
  await t.exec('CREATE VIEW over AS SELECT blue.mv.a FROM blue.mv');
  await t.exec('ALTER SCHEMA blue SWAP WITH green');
  for (let start = 0; start < 2; start++) {
    assert.deepEqual(await rows(t, 'green.mv'), ROWS);
    assert.equal((await rows(t, 'blue.mv'))[0]!['a'], 7);
    assert.deepEqual(
      await t.query('SELECT a FROM over ORDER BY a'),
      [{ a: 1 }, { a: 2 }],
      'it reads what it read',
    );
    await t.restart();
  }
  await t.exec('ALTER SCHEMA green RENAME TO red');
  assert.deepEqual(await rows(t, 'red.mv'), ROWS);
  await t.exec('DROP SCHEMA red CASCADE; DROP SCHEMA blue CASCADE; DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('clusters change names and places; what runs there goes on', async () => {
  const t = await opened();
  await t.exec(
    `CREATE CLUSTER other (SIZE '1'); CREATE MATERIALIZED VIEW om IN CLUSTER other AS SELECT a FROM t`,
  );
  await t.advance(2000);
  const installed = () =>
    t.query(`SELECT occurred_at FROM mz_introspection.mz_compute_lifecycle_events_per_worker
      WHERE export_id = '${t.id('mv')}' AND event = 'installed'`);
  const before = await installed();
  await t.exec('ALTER CLUSTER quickstart SWAP WITH other');
  assert.deepEqual(
    await t.query(`SELECT c.name FROM mz_clusters c JOIN mz_materialized_views m ON m.cluster_id = c.id
    WHERE m.name IN ('mv', 'om') ORDER BY m.name`),
    [{ name: 'other' }, { name: 'quickstart' }],
  );
  await t.exec('ALTER CLUSTER other RENAME TO prod; SET cluster = prod');
  assert.deepEqual(await installed(), before, 'nothing was installed anew');
  assert.match(await created(t, 'MATERIALIZED VIEW', 'mv'), /IN CLUSTER prod /);
  await t.restart();
  assert.deepEqual(await rows(t, 'mv'), ROWS);
  await t.exec('SET cluster = quickstart');
  assert.deepEqual(await t.query('SELECT a FROM om ORDER BY a'), [{ a: 1 }, { a: 2 }]);
  await t.exec('DROP TABLE t CASCADE; DROP CLUSTER quickstart; ALTER CLUSTER prod RENAME TO quickstart');
  await t.assertNothingLeft();
  await t.close();
});

test('a name that is taken, of the system, or of nothing is refused, and nothing changes', async () => {
  const t = await opened();
  const code = async (sql: string) => (await t.failure(sql)).code;
  assert.equal(await code('ALTER TABLE t RENAME TO v'), 'duplicate_table');
  assert.equal(await code('ALTER TABLE nothing RENAME TO x'), 'undefined_table');
  assert.equal(await code('ALTER VIEW t RENAME TO x'), 'wrong_object_type');
  assert.equal(await code('ALTER TABLE mz_catalog.mz_tables RENAME TO x'), 'insufficient_privilege');
  assert.equal(await code('ALTER SCHEMA public RENAME TO mz_catalog'), 'duplicate_schema');
  assert.equal(await code('ALTER SCHEMA public SWAP WITH nothing'), 'invalid_schema_name');
  assert.equal(await code('ALTER CLUSTER mz_catalog_server RENAME TO x'), 'insufficient_privilege');
  assert.equal(await code('ALTER CLUSTER quickstart SWAP WITH nothing'), 'undefined_object');
  await t.exec('ALTER TABLE IF EXISTS nothing RENAME TO x');
  assert.deepEqual(await rows(t, 'mv'), ROWS);
  await t.close();
});
