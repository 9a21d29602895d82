/** A replica that would pass its byte limit ends as `oom`, comes back after a pause, and takes nothing else with it. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { openTest, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { openWireDatabase, type WireDatabase } from './support/wire-database.ts';

const STATUS =
  'SELECT s.status, s.reason FROM mz_internal.mz_cluster_replica_statuses s, mz_cluster_replicas r, mz_clusters c';
const OF_C = "WHERE s.replica_id = r.id AND r.cluster_id = c.id AND c.name = 'c'";
const ROWS = "INSERT INTO t SELECT a, repeat('x', 200) FROM generate_series(1, 20000) AS a";

test('the replica ends, with its reason in the statuses and in its episode; more memory, and it hydrates', async () => {
  const t = await openTest({ workers: 2 });
  await t.exec("CREATE CLUSTER c (SIZE '2', MEMORY LIMIT '1MB'); CREATE TABLE t (a int, b text)");
  await t.exec(ROWS);
  await t.exec('CREATE INDEX other ON t (a)');
  await t.exec('CREATE INDEX i IN CLUSTER c ON t (a)');
  await t.advance(2500);
  const replica = t.replicaOf('c').id;
  const history = (): Promise<readonly TestRow[]> =>
    t.query(`SELECT status, reason FROM mz_internal.mz_cluster_replica_status_history
      WHERE replica_id = '${replica}' ORDER BY occurred_at`);
  const statuses = await history();
  assert.deepEqual(statuses.slice(0, 4), [
    { status: 'online', reason: null },
    { status: 'offline', reason: 'oom' },
    { status: 'online', reason: null },
    { status: 'offline', reason: 'oom' },
  ]);
  const episodes = await t.query(`SELECT status FROM mz_internal.mz_replica_hydration_history
    WHERE replica_id = '${replica}' ORDER BY started_at`);
  assert.deepEqual(episodes.slice(0, 3), [{ status: 'hydrated' }, { status: 'oom' }, { status: 'oom' }]);
  assert.deepEqual(await t.query('SELECT count(*) AS n FROM t WHERE a = 7'), [{ n: 1n }], 'others live on');
  await t.exec("ALTER CLUSTER c SET (MEMORY LIMIT '64MB')");
  await t.advance(2500);
  assert.deepEqual(await t.query(`${STATUS} ${OF_C}`), [{ status: 'online', reason: null }]);
  const hydrated = `SELECT status FROM mz_internal.mz_object_hydration_history
    WHERE object_id = '${t.id('i')}' AND replica_id = '${t.replicaOf('c').id}'`;
  assert.deepEqual(await t.query(hydrated), [{ status: 'hydrated' }]);
  await t.exec('ALTER CLUSTER c RESET (MEMORY LIMIT)');
  await t.advance(1000);
  assert.deepEqual(await t.query(`${STATUS} ${OF_C}`), [{ status: 'online', reason: null }]);
  await t.exec('DROP CLUSTER c CASCADE; DROP TABLE t');
  await t.assertNothingLeft();
  await t.close();
});

test('what is no size of memory, or has no place there, is refused', async () => {
  const t = await openTest({});
  const codes: [string, string][] = [
    ["CREATE CLUSTER c (SIZE '1', MEMORY LIMIT 'much')", '22023'],
    ["CREATE CLUSTER c (SIZE '1', MEMORY LIMIT '5kB')", '22023'],
    ["CREATE CLUSTER c (MEMORY LIMIT '1GB')", '22023'],
    ["CREATE CLUSTER c (MEMORY LIMIT '1GB') REPLICAS (r (SIZE '1'))", '42601'],
    ["CREATE CLUSTER c REPLICAS (r (ADDRESSES ('127.0.0.1:9'), WORKERS 1, MEMORY LIMIT '1GB'))", '0A000'],
  ];
  for (const [sql, code] of codes) assert.equal((await t.failure(sql)).sqlstate, code, sql);
  await t.exec("CREATE CLUSTER c REPLICAS (r (SIZE '1', MEMORY LIMIT '1GB'))");
  await t.close();
});

let db: WireDatabase | undefined;
after(() => db?.close());

test('on threads, by the wire: the process and its other clusters answer while a replica of one runs out', async () => {
  db = await openWireDatabase({ workers: 'threads' });
  const client = await db.client();
  await client.query("CREATE CLUSTER c (SIZE '2', MEMORY LIMIT '1MB')");
  await client.query('CREATE TABLE t (a int, b text)');
  await client.query(ROWS);
  await client.query('CREATE INDEX i IN CLUSTER c ON t (a)');
  for (let rows: unknown[] = []; rows.length === 0; )
    ({ rows } = await client.query(`${STATUS} ${OF_C} AND s.reason = 'oom'`));
  assert.deepEqual((await client.query('SELECT count(*)::int AS n FROM t')).rows, [{ n: 20_000 }]);
});
