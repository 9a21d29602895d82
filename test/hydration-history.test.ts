/**
 * The history of hydration as a user reads it, in the simulator: exactly one row for each life that a replica told of, whatever
 * happens to the object, the replica and the environment.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { onWorkers } from './support/on-workers.ts';

const OBJECTS = 'mz_internal.mz_object_hydration_history';
const REPLICAS = 'mz_internal.mz_replica_hydration_history';
const STATUSES = 'mz_internal.mz_cluster_replica_status_history';

async function withTest(workers: number, body: (t: TestEnvironment) => Promise<void>): Promise<void> {
  const t = await openTest({ workers });
  await body(t);
  await t.close();
}

/** Rows without what differs between runs. */
const of = (rows: readonly TestRow[], ...columns: readonly string[]): readonly unknown[][] =>
  rows.map((r) => columns.map((c) => (typeof r[c] === 'bigint' ? Number(r[c]) : r[c])));

test('an object that lived for an instant leaves a row, and so does one that is dropped while it is built', () =>
  withTest(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const creating = t.start('CREATE INDEX i ON t (a); DROP INDEX i');
    await creating.result();
    const release = t.holdReads('t');
    await t.exec('CREATE INDEX j ON t (a)');
    await t.advance(1000);
    await t.exec('DROP INDEX j');
    release();
    await t.advance(1000);
    const rows = await t.query(`SELECT * FROM ${OBJECTS} ORDER BY installed_at`);
    assert.equal(rows.length, 2);
    assert.ok(rows.every((r) => r['ended_at'] !== null));
    assert.deepEqual(of(rows.slice(1), 'status', 'hydrated_at', 'compute_ns'), [['dropped', null, null]]);
  }));

test('a view: every instant, every interval, the bytes it took; a second life is a second row', () =>
  withTest(2, async (t) => {
    await t.exec('CREATE TABLE t (a int)');
    await t.exec(`INSERT INTO t VALUES ${Array.from({ length: 500 }, (_, i) => `(${i})`).join()}`);
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a');
    await t.advance(2000);
    const rows = await t.query(`SELECT *, installed_at <= started_at AND started_at <= hydrated_at
      AND hydrated_at <= written_at AND written_at = ended_at AS ordered FROM ${OBJECTS}`);
    assert.deepEqual(of(rows, 'object_id', 'status', 'ordered', 'blocked_ns', 'generation'), [
      [t.id('v'), 'hydrated', true, 0, 1],
    ]);
    assert.ok(Number(rows[0]!['peak_arrangement_bytes']) > 500 * 4);
    await t.crash();
    await t.connected();
    await t.advance(2000);
    const after = await t.query(`SELECT status FROM ${OBJECTS} ORDER BY installed_at`);
    assert.deepEqual(of(after, 'status'), [['hydrated'], ['hydrated']]);
    const replica = await t.query(`SELECT object_count, status FROM ${REPLICAS} ORDER BY started_at`);
    assert.deepEqual(of(replica, 'object_count', 'status'), [
      [0, 'hydrated'],
      [1, 'hydrated'],
      [1, 'hydrated'],
    ]);
  }));

test('a replica that dies takes what was under way with it; one that is dropped, too', () =>
  withTest(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const release = t.holdReads('t');
    await t.exec('CREATE INDEX i ON t (a)');
    await t.advance(500);
    await t.crash();
    await t.advance(100);
    const look = (): Promise<readonly TestRow[]> =>
      t.query(`SELECT status, ended_at IS NULL AS open FROM ${OBJECTS} ORDER BY installed_at`);
    assert.deepEqual(of(await look(), 'status', 'open'), [['hydrating', true]], 'away: it may come back');
    await t.connected();
    await t.advance(500);
    assert.deepEqual(of(await look(), 'status', 'open'), [
      ['lost', false],
      ['hydrating', true],
    ]);
    await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)');
    await t.advance(500);
    assert.deepEqual(of(await look(), 'status', 'open'), [
      ['lost', false],
      ['lost', false],
    ]);
    const statuses = await t.query(
      `SELECT status, reason FROM ${STATUSES} WHERE replica_id = 'u1' ORDER BY occurred_at`,
    );
    assert.deepEqual(of(statuses, 'status', 'reason'), [
      ['online', null],
      ['offline', 'crashed by the test'],
      ['online', null],
      ['offline', 'dropped'],
    ]);
    release();
  }));

onWorkers('L09: a replica without objects has an episode of none, log indexes are not counted', (workers) =>
  withTest(workers, async (t) => {
    await t.exec(`CREATE CLUSTER c REPLICAS (r (SIZE '${workers}'))`);
    await t.advance(1000);
    const id = t.replicaOf('c').id;
    const look = (): Promise<readonly TestRow[]> =>
      t.query(`SELECT object_count, status FROM ${REPLICAS} WHERE replica_id = '${id}' ORDER BY started_at`);
    assert.deepEqual(of(await look(), 'object_count', 'status'), [[0, 'hydrated']]);
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i IN CLUSTER c ON t (a)');
    await t.advance(1000);
    assert.deepEqual(of(await look(), 'object_count', 'status'), [
      [0, 'hydrated'],
      [1, 'hydrated'],
    ]);
  }),
);

const PROGRESS =
  'SELECT object_id, rows_done, rows_total FROM mz_internal.mz_hydration_progress ORDER BY object_id';

onWorkers(
  'L16, L17: progress weighs inputs by rows, is fixed by the as-of, and completes when the object is hydrated',
  (workers) =>
    withTest(workers, async (t) => {
      await t.exec('CREATE TABLE big (a int)');
      for (let i = 0; i < 10; i++) await t.exec('INSERT INTO big SELECT generate_series(1, 1000)');
      const small = ['s1', 's2', 's3'];
      for (const s of small)
        await t.exec(`CREATE TABLE ${s} (a int); INSERT INTO ${s} SELECT generate_series(1, 10)`);
      const look = async (): Promise<readonly unknown[][]> =>
        of(await t.query(PROGRESS), 'rows_done', 'rows_total');
      const release = t.holdReads('big', { letThrough: 1 });
      await t.exec(
        'CREATE MATERIALIZED VIEW v AS SELECT big.a FROM big, s1, s2, s3 WHERE big.a = s1.a AND s1.a = s2.a AND s2.a = s3.a',
      );
      await t.advance(3000);
      const part = await look();
      assert.deepEqual(
        part,
        [[1030, 10_030]],
        'a tenth of big and the small tables: a tenth, not four of five',
      );
      await t.exec('INSERT INTO big SELECT generate_series(1, 500)');
      await t.advance(3000);
      assert.deepEqual(await look(), part, 'what is inserted later does not count');
      release();
      await t.advance(3000);
      assert.deepEqual(await look(), [[10_030, 10_030]]);
      await t.exec('CREATE INDEX i ON v (a)');
      await t.exec('CREATE MATERIALIZED VIEW w AS SELECT a FROM v WHERE a > 3');
      await t.advance(3000);
      const [, , w] = await look();
      assert.deepEqual(w, [10, 10], 'the updates in the arrangement that it imports');
      await t.exec('DROP MATERIALIZED VIEW w');
      await t.advance(1000);
      assert.equal((await look()).length, 2);
      await t.crash();
      await t.advance(300);
      assert.deepEqual(await look(), [], 'what a replica had read is gone with it');
      await t.connected();
      await t.advance(3000);
      const again = await look();
      assert.ok(again.length === 2 && again.every(([done, total]) => done === total && done !== null));
    }),
);

onWorkers('L24: what was under way when the environment ended is not under way for ever', (workers) =>
  withTest(workers, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX done ON t (a)');
    await t.advance(500);
    const release = t.holdReads('t');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    await t.exec('CREATE INDEX i ON v (a)');
    await t.advance(500);
    await t.restart();
    release();
    await t.advance(3000);
    const open = await t.query(`SELECT * FROM ${OBJECTS} WHERE ended_at IS NULL`);
    assert.deepEqual(open, []);
    const replicas = await t.query(
      `SELECT status FROM ${REPLICAS} WHERE finished_at IS NULL OR status = 'hydrating'`,
    );
    assert.deepEqual(replicas, []);
  }),
);

onWorkers(
  'L24: a replica that was done and cannot come back shows its last finish, and the error',
  (workers) =>
    withTest(workers, async (t) => {
      await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
      await t.advance(1000);
      await t.crash();
      await t.advance(100);
      const [last] =
        await t.query(`SELECT r.status, r.finished_at IS NOT NULL AS finished, s.status AS now, s.reason
      FROM ${REPLICAS} r JOIN mz_internal.mz_cluster_replica_statuses s ON s.replica_id = r.replica_id
      ORDER BY r.started_at DESC LIMIT 1`);
      assert.deepEqual(last, {
        status: 'hydrated',
        finished: true,
        now: 'offline',
        reason: 'crashed by the test',
      });
    }),
);

test('rows are kept for hydration_history_retention', () =>
  withTest(1, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    assert.deepEqual(await t.query('SHOW hydration_history_retention'), [
      { hydration_history_retention: '30 days' },
    ]);
    assert.equal((await t.failure("SET hydration_history_retention = '1 day'")).sqlstate, '22023');
    assert.equal(
      (await t.failure("ALTER SYSTEM SET hydration_history_retention = '1 month'")).sqlstate,
      '22023',
    );
    assert.equal((await t.failure("ALTER SYSTEM SET no_such = '1'")).sqlstate, '42704');
    await t.exec("ALTER SYSTEM SET hydration_history_retention = '10 minutes'");
    await t.restart();
    await t.advance(1000);
    const [before] = await t.query(`SELECT count(*) AS n FROM ${OBJECTS}`);
    assert.equal(Number(before!['n']), 2);
    await t.advance(12 * 60_000);
    assert.deepEqual(await t.query(`SELECT * FROM ${OBJECTS}`), []);
    assert.deepEqual(await t.query(`SELECT * FROM ${REPLICAS}`), []);
    const statuses = await t.query(`SELECT status FROM ${STATUSES} WHERE replica_id = 'u1'`);
    assert.deepEqual(statuses, [{ status: 'online' }], 'the newest stays: it tells who runs the replica');
    await t.exec('ALTER SYSTEM RESET hydration_history_retention');
    assert.deepEqual(await t.query('SHOW hydration_history_retention'), [
      { hydration_history_retention: '30 days' },
    ]);
  }));

const ALL = `SELECT * FROM ${OBJECTS} ORDER BY installed_at, object_id`;

test('an environment that dies and comes back finds its replicas as they were: nothing is lost, nothing told twice', async () => {
  const t = await openTest({ workers: 2, outlive: true });
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)');
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t; CREATE INDEX gone ON t (a)');
  await t.advance(1000);
  const release = t.holdReads('t');
  await t.exec('CREATE INDEX late ON v (n); CREATE MATERIALIZED VIEW w AS SELECT a + 1 AS b FROM t');
  await t.exec('CREATE TABLE u (a int)');
  await t.advance(1000);
  const before = await t.query(ALL);
  const replicas = await t.query(`SELECT * FROM ${REPLICAS} ORDER BY started_at`);
  await t.kill();
  await t.connected();
  await t.advance(2000);
  assert.deepEqual(await t.query(ALL), before);
  assert.deepEqual(await t.query(`SELECT * FROM ${REPLICAS} ORDER BY started_at`), replicas);
  release();
  t.cut();
  await t.exec('DROP INDEX gone');
  await t.connected();
  await t.advance(3000);
  const after = await t.query(ALL);
  assert.deepEqual(of(after, 'object_id', 'installed_at'), of(before, 'object_id', 'installed_at'));
  assert.ok(after.every((r) => r['status'] === 'hydrated' && r['ended_at'] !== null));
  assert.deepEqual(await t.query(`SELECT * FROM ${REPLICAS} WHERE finished_at IS NULL`), []);
  await t.close();
});

test('a generation that stands by keeps its history to itself, and writes it when it is promoted', async () => {
  const t = await openTest({ workers: 2 });
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)');
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t');
  await t.advance(1000);
  const before = await t.query(ALL);
  const next = await t.standby();
  await next.caughtUp();
  await next.advance(1000);
  assert.deepEqual(await next.query(ALL), before, 'it reads what the leader has written');
  await next.promote();
  await next.advance(2000);
  const after = await next.query(ALL);
  assert.deepEqual(after.slice(0, before.length), before);
  assert.deepEqual(of(after.slice(before.length), 'object_id', 'generation', 'status'), [
    [next.id('i'), 2, 'hydrated'],
    [next.id('v'), 2, 'hydrated'],
  ]);
  const [, v] = after.slice(before.length);
  assert.ok(Number(v!['blocked_ns']) > 0, 'it was computed long before it was permitted to write');
  assert.ok(v!['written_at'] !== null && v!['ended_at'] === v!['written_at']);
  await next.close();
  await t.close();
});

test('what docs/history.md shows is run as it stands', () =>
  withTest(1, async (t) => {
    const text = readFileSync(new URL('../docs/history.md', import.meta.url), 'utf8');
    const blocks = [...text.matchAll(/^```sql\n(.*?)^```/gms)].map((m) => m[1]!);
    assert.equal(blocks.length, 2);
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const [queries, limits] = blocks.map((b) => b.split(/;.*\n/).filter((q) => q.trim() !== ''));
    const [slowest] = await t.query(queries![0]!);
    assert.equal(slowest!['name'], 'i');
    assert.deepEqual(await t.query(queries![1]!), []);
    for (const sql of limits!) await t.exec(sql);
  }));

onWorkers(
  'what goes down with an index that it reads has failed with it, each time; no replica was lost',
  (workers) =>
    withTest(workers, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a FROM t');
      const release = t.breakReads('t');
      await t.exec('CREATE INDEX i ON v (a); CREATE MATERIALIZED VIEW m AS SELECT a FROM v');
      const statuses = async (): Promise<readonly unknown[][]> =>
        of(
          await t.query(`SELECT DISTINCT object_id, status FROM ${OBJECTS} ORDER BY object_id, status`),
          'object_id',
          'status',
        );
      await t.advance(3000);
      const [i, m] = [t.id('i'), t.id('m')];
      const failed = (await statuses()).filter(([, status]) => status !== 'hydrating');
      assert.deepEqual(failed, [
        [i, 'failed'],
        [m, 'failed'],
      ]);
      release();
      await t.advance(60_000);
      assert.deepEqual(await statuses(), [
        [i, 'failed'],
        [i, 'hydrated'],
        [m, 'failed'],
        [m, 'hydrated'],
      ]);
    }),
);
