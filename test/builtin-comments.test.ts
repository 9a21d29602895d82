/** What builtin relations and their columns mean is said in SQL: by `mz_comments`, `SHOW COLUMNS` and the functions that `\d+` asks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';

test('builtin relations and their columns have comments, as those that users make have', async () => {
  const t = await openTest({ workers: 1 });
  const log = 'mz_introspection.mz_compute_lifecycle_events_per_worker';
  const grain =
    'installed, started and hydrated: once on each worker; write_blocked, write_unblocked and written: on one worker per object';
  assert.deepEqual(await t.query(`SELECT col_description('${log}'::regclass::oid, 3) AS c`), [{ c: grain }]);
  assert.deepEqual(
    await t.query(`SELECT col_description(attrelid, attnum) AS c FROM pg_attribute
      WHERE attrelid = '${log}'::regclass::oid AND attname = 'event'`),
    [{ c: grain }],
  );
  const described =
    await t.query(`SELECT description AS c FROM pg_description d JOIN mz_objects o ON o.oid = d.objoid
    WHERE o.name = 'mz_compute_lifecycle_events_per_worker' AND d.objsubid = 3`);
  assert.deepEqual(described, [{ c: grain }]);
  const without = await t.query(`SELECT o.name FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id
    LEFT JOIN mz_internal.mz_comments c ON c.id = o.id AND c.object_sub_id IS NULL
    WHERE s.name LIKE 'mz!_%' ESCAPE '!' AND o.type <> 'index' AND c.comment IS NULL`);
  assert.deepEqual(without, []);
  await t.exec(`CREATE TABLE t (a int); COMMENT ON COLUMN t.a IS 'mine'`);
  const [mine] = await t.query('SHOW COLUMNS FROM t');
  assert.equal(mine!['comment'], 'mine');
  await t.close();
});

test('what is said about a cluster, a replica and an object of the same id stays with each', async () => {
  const t = await openTest({ workers: 1 });
  const shown = async (what: string) =>
    (await t.query(`SHOW ${what}`)).map((r) => `${r['name']}: ${r['comment']}`);
  // System clusters have the ids of builtin relations.
  assert.deepEqual(await shown('CLUSTERS'), ['mz_catalog_server: ', 'quickstart: ']);
  await t.exec(`CREATE CLUSTER c REPLICAS (a (SIZE '1')); CREATE TABLE t (x int);
    COMMENT ON TABLE t IS 'a table'; COMMENT ON CLUSTER quickstart IS 'a cluster'`);
  const comments = await t.query(
    "SELECT object_type, comment FROM mz_internal.mz_comments WHERE id = 'u1' ORDER BY 1",
  );
  assert.deepEqual(
    comments.map((c) => [c['object_type'], c['comment']]),
    [
      ['cluster', 'a cluster'],
      ['table', 'a table'],
    ],
  );
  assert.deepEqual(await shown('TABLES'), ['t: a table']);
  assert.deepEqual(await shown('CLUSTERS'), ['c: ', 'mz_catalog_server: ', 'quickstart: a cluster']);
  assert.deepEqual(await t.query('SHOW SCHEMAS').then((rows) => rows.filter((r) => r['comment'] !== '')), []);
  assert.deepEqual(await t.query(`SELECT obj_description('t'::regclass::oid) AS d`), [{ d: 'a table' }]);
  const described = "SELECT description AS d FROM pg_description WHERE objoid = 't'::regclass::oid";
  assert.deepEqual(await t.query(described), [{ d: 'a table' }]);
  await t.exec(
    `COMMENT ON CLUSTER REPLICA c.a IS 'a replica'; COMMENT ON CLUSTER c IS 'another'; DROP TABLE t`,
  );
  assert.deepEqual(await shown('CLUSTERS'), ['c: another', 'mz_catalog_server: ', 'quickstart: a cluster']);
  const replicas = `SELECT r.name, k.comment FROM mz_internal.mz_comments k JOIN mz_cluster_replicas r ON r.id = k.id
    WHERE k.object_type = 'cluster replica'`;
  assert.deepEqual(await t.query(replicas), [{ name: 'a', comment: 'a replica' }]);
  await t.exec('COMMENT ON CLUSTER quickstart IS NULL; DROP CLUSTER c');
  assert.deepEqual(await t.query("SELECT id FROM mz_internal.mz_comments WHERE id LIKE 'u%'"), []);
  await t.close();
});

test('nobody else says what a system object is; a log is a source', async () => {
  const t = await openTest({ workers: 1 });
  const log = 'mz_introspection.mz_compute_exports_per_worker';
  for (const object of [
    `SOURCE ${log}`,
    'VIEW mz_introspection.mz_compute_exports',
    'TABLE mz_catalog.mz_tables',
  ])
    for (const statement of [`COMMENT ON ${object} IS 'x'`, `DROP ${object}`]) {
      const { code, message } = await t.failure(statement);
      assert.equal(code, 'insufficient_privilege', statement);
      assert.match(
        message,
        /^(system object ".*" cannot be changed|".*" is a system object and cannot be dropped)$/,
      );
    }
  for (const statement of [
    `COMMENT ON COLUMN ${log}.export_id IS 'x'`,
    "COMMENT ON CLUSTER mz_catalog_server IS 'x'",
  ])
    assert.equal((await t.failure(statement)).code, 'insufficient_privilege', statement);
  assert.equal((await t.failure(`DROP VIEW ${log}`)).hint, 'Use DROP SOURCE to remove a source.');
  await t.close();
});
