/** Refresh schedules: contents move at refreshes alone, and nothing of the lifecycle waits for one. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { checkHydration } from './support/hydration-oracle.ts';
import { onWorkers } from './support/on-workers.ts';
import { openWatched } from './support/watched.ts';

const EVENTS = (id: string) =>
  `SELECT DISTINCT event FROM mz_introspection.mz_compute_lifecycle_events_per_worker WHERE export_id = '${id}' ORDER BY 1`;

async function events(t: TestEnvironment, name: string): Promise<string[]> {
  return (await t.query(EVENTS(t.id(name)))).map((r) => r['event'] as string);
}

const refreshes = (t: TestEnvironment, name: string) =>
  t.query(`SELECT r.last_completed_refresh, r.next_refresh FROM mz_internal.mz_materialized_view_refreshes r
    WHERE r.materialized_view_id = '${t.id(name)}'`);

onWorkers('EVERY refreshes at creation and then by the interval', async (workers) => {
  const t = await openTest({ workers });
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
  await t.exec(`CREATE MATERIALIZED VIEW mv WITH (REFRESH EVERY '1 minute') AS SELECT sum(a) AS s FROM t`);
  assert.deepEqual(await t.query('SELECT s FROM mv'), [{ s: 3n }]);
  await t.exec('INSERT INTO t VALUES (10)');
  assert.deepEqual(await t.query('SELECT s FROM mv'), [{ s: 3n }], 'not before the next refresh');
  assert.deepEqual(await t.query('SELECT sum(a) AS s FROM t'), [{ s: 13n }]);
  await t.advance(61_000);
  assert.deepEqual(await t.query('SELECT s FROM mv'), [{ s: 13n }]);
  await t.exec('DELETE FROM t WHERE a = 1');
  await t.restart();
  assert.deepEqual(await t.query('SELECT s FROM mv'), [{ s: 13n }], 'a restart is no refresh');
  await t.advance(2000);
  assert.deepEqual(await events(t, 'mv'), ['hydrated', 'installed', 'started', 'written']);
  await t.advance(61_000);
  assert.deepEqual(await t.query('SELECT s FROM mv'), [{ s: 12n }]);
  const [row] = await refreshes(t, 'mv');
  assert.equal((row!['next_refresh'] as number) - (row!['last_completed_refresh'] as number), 60_000);
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

onWorkers(
  'L02: a first refresh that is far away: computed and written at once, and a read waits for it',
  async (workers) => {
    const t = await openTest({ workers });
    // An hour of two workers is a minute of this machine's.
    const minutes = workers === 1 ? 60 : 3;
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    await t.exec(
      `CREATE MATERIALIZED VIEW mv WITH (REFRESH AT now() + interval '${minutes} minutes') AS SELECT a FROM t`,
    );
    await t.advance(3000);
    assert.deepEqual(await events(t, 'mv'), ['hydrated', 'installed', 'started', 'written']);
    const [first] = await refreshes(t, 'mv');
    assert.equal(first!['last_completed_refresh'], null);
    const read = t.start('SELECT a FROM mv');
    const early = t.start(`SET statement_timeout = '2s'; SELECT a FROM mv`);
    await assert.rejects(early.result(), /statement timeout/);
    await t.exec('INSERT INTO t VALUES (2)');
    await t.advance((minutes * 60 - 30) * 1000);
    assert.equal(read.isDone, false);
    await t.advance(60_000);
    assert.equal(read.isDone, true);
    assert.deepEqual((await read.result()).map((r) => r['a']).sort(), [1, 2]);
    const [last] = await refreshes(t, 'mv');
    assert.deepEqual(
      [last!['last_completed_refresh'], last!['next_refresh']],
      [first!['next_refresh'], null],
    );
    await t.exec('DROP TABLE t CASCADE');
    await t.assertNothingLeft();
    await t.close();
  },
);

test('what a series was before its view was created is no refresh of it, and the next one lies ahead at once', async () => {
  const t = await openTest({ workers: 1 });
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  await t.exec(
    `CREATE MATERIALIZED VIEW mv WITH (REFRESH EVERY '1 day' ALIGNED TO '2000-01-01 00:00:00+00') AS SELECT a FROM t`,
  );
  const created = (await t.query('SELECT mz_now() AS now'))[0]!['now'] as number;
  for (let i = 0; i < 5; i++) {
    const [row] = await refreshes(t, 'mv');
    assert.equal(row!['last_completed_refresh'], null);
    assert.ok((row!['next_refresh'] as number) > created - 1000, 'of a time to come');
    if (i === 2) await t.restart();
    else await t.advance(1000);
  }
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('a view that refreshes once holds none of what its input becomes afterwards', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  await t.exec('CREATE MATERIALIZED VIEW once WITH (REFRESH AT CREATION) AS SELECT a FROM t');
  assert.deepEqual(await t.query('SELECT a FROM once'), [{ a: 1 }]);
  for (let i = 0; i < 20; i++) {
    await t.exec('UPDATE t SET a = a + 1');
    await t.advance(1000);
  }
  assert.deepEqual(await t.query('SELECT a FROM once'), [{ a: 1 }]);
  const since = t.env.collections.since(t.id('t'));
  assert.ok(since > t.time.nowMs() - 10_000, `the input compacts: ${t.time.nowMs() - since} ms behind`);
  await t.restart();
  assert.deepEqual(await t.query('SELECT a FROM once'), [{ a: 1 }]);
  assert.deepEqual(await events(t, 'once'), [], 'a sealed view needs no dataflow');
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

for (const outlive of [false, true])
  test(`a view past its last refresh does without the index that it read: a replica that ${outlive ? 'is cut off' : 'crashes'} comes back`, async () => {
    const w = await openWatched({ outlive });
    const { t } = w;
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)');
    await t.advance(2000);
    await t.exec('CREATE MATERIALIZED VIEW once WITH (REFRESH AT CREATION) AS SELECT a FROM t');
    await t.advance(2000);
    await t.exec('DROP INDEX i');
    await t.advance(2000);
    if (outlive) t.cut();
    else await t.crash();
    await t.exec('CREATE INDEX j ON t (a)');
    await t.advance(5000);
    await t.connected();
    checkHydration(t);
    assert.deepEqual(await t.query('SELECT object_id, reason FROM mz_internal.mz_hydration_blockers'), []);
    assert.deepEqual(await events(t, 'j'), ['hydrated', 'installed', 'started']);
    assert.deepEqual(await t.query('SELECT a FROM once'), [{ a: 1 }]);
    assert.deepEqual(await t.query('SELECT fresh FROM mz_internal.mz_introspection_freshness'), [
      { fresh: true },
    ]);
    const underWay = 'SELECT status FROM mz_internal.mz_replica_hydration_history WHERE finished_at IS NULL';
    assert.deepEqual(await t.query(underWay), []);
    assert.deepEqual(w.complaints, []);
    await w.finish();
  });

test('schedules combine, stand in SHOW CREATE, and are refused where they make no sense', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int)');
  const code = async (schedule: string) =>
    (await t.failure(`CREATE MATERIALIZED VIEW x WITH (${schedule}) AS SELECT a FROM t`)).code;
  assert.equal(await code(`REFRESH EVERY '1 month'`), 'invalid_parameter_value');
  assert.equal(await code(`REFRESH EVERY '0 s'`), 'invalid_parameter_value');
  assert.equal(await code(`REFRESH AT '2001-01-01'`), 'invalid_parameter_value');
  assert.equal(await code('REFRESH AT NULL'), 'null_value_not_allowed');
  assert.equal(await code(`REFRESH AT CREATION, REFRESH ON COMMIT`), 'invalid_parameter_value');
  assert.equal(await code(`REFRESH AT 'soon'`), 'invalid_datetime_format');
  assert.deepEqual(await t.query(`SELECT count(*) AS n FROM mz_internal.mz_materialized_view_refreshes`), [
    { n: 0n },
  ]);
  await t.exec(`CREATE MATERIALIZED VIEW mv WITH
    (REFRESH AT CREATION, REFRESH EVERY '10 s' ALIGNED TO '2100-01-01 00:00:03+00', REFRESH AT mz_now() + interval '2 s')
    AS SELECT count(*) AS n FROM t`);
  const [shown] = await t.query('SHOW CREATE MATERIALIZED VIEW mv');
  assert.match(
    shown!['create_sql'] as string,
    /REFRESH AT CREATION, REFRESH EVERY '10 s' ALIGNED TO 4102444803000, REFRESH AT \d+/,
  );
  assert.deepEqual(await t.query('SELECT n FROM mv'), [{ n: 0n }]);
  await t.exec('INSERT INTO t VALUES (1)');
  await t.advance(11_000);
  assert.deepEqual(await t.query('SELECT n FROM mv'), [{ n: 1n }]);
  await t.exec('CREATE VIEW twice AS SELECT 2 * n AS m FROM mv; CREATE INDEX twice_idx ON twice (m)');
  assert.deepEqual(await t.query('SELECT m FROM twice'), [{ m: 2n }], 'what stands on it is readable now');
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('a view that dies before its first write begins again: nothing is written before its as-of', async () => {
  const t = await openTest({ workers: 2 });
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
  const release = t.holdReads('t');
  await t.exec(`CREATE MATERIALIZED VIEW mv WITH (REFRESH EVERY '1 minute') AS SELECT count(*) AS n FROM t`);
  await t.advance(3000);
  const upper = t.env.collections.upper(t.id('mv'));
  assert.ok(upper === 0 || upper > t.env.collections.since(t.id('mv')), `the shard is at ${upper}`);
  await t.kill();
  release();
  await t.advance(60_000);
  assert.deepEqual(
    await t.query("SELECT reason FROM mz_internal.mz_hydration_blockers WHERE reason = 'failed'"),
    [],
  );
  await t.close();
});
