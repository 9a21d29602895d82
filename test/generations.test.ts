/**
 * Read-only generations on virtual time: a second process stands by over the same stores, follows, is promoted, and fences the first.
 * What two real processes add (locks, sockets, kill -9) is in `cutover.test.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { isEmpty } from '../packages/tidemark/src/time/timestamp.ts';
import { onWorkers } from './support/on-workers.ts';

const STAGES = 'SELECT event, reason FROM mz_introspection.mz_compute_lifecycle_events_per_worker';

/** The stages of an object as its log has them, in order; each once, however many workers. */
async function stages(t: TestEnvironment, name: string): Promise<readonly string[]> {
  await t.advance(2000);
  const rows = await t.query(`${STAGES} WHERE export_id = '${t.id(name)}' ORDER BY occurred_at, event`);
  return [...new Set(rows.map((r) => `${r['event']}${r['reason'] === 'read_only' ? '(read_only)' : ''}`))];
}

const column = (rows: readonly Record<string, unknown>[], name: string): unknown[] =>
  rows.map((r) => r[name]).sort();

async function pair(workers = 2): Promise<{ leader: TestEnvironment; candidate: TestEnvironment }> {
  const leader = await openTest({ workers });
  await leader.exec(`CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2);
    CREATE MATERIALIZED VIEW mv AS SELECT a * 10 AS b FROM t; CREATE INDEX i ON t (a)`);
  await leader.advance(1000);
  return { leader, candidate: await leader.standby({ workers }) };
}

for (const [old, isThere] of [
  ['lives', true],
  ['has ended', false],
] as const)
  onWorkers(
    `L07: a view with contents is blocked, not written, until the promotion; then unblocked, then written; the old process ${old}`,
    async (workers) => {
      const { leader, candidate } = await pair(workers);
      if (!isThere) await leader.close();
      await candidate.caughtUp();
      const blocked = ['installed', 'started', 'hydrated', 'write_blocked(read_only)'];
      assert.deepEqual(await stages(candidate, 'mv'), blocked);
      assert.deepEqual(column(await candidate.query('SELECT * FROM mv'), 'b'), [10, 20]);
      await candidate.promote();
      await candidate.exec('INSERT INTO t VALUES (3)');
      assert.deepEqual(column(await candidate.query('SELECT * FROM mv'), 'b'), [10, 20, 30]);
      assert.deepEqual(await stages(candidate, 'mv'), [...blocked, 'write_unblocked', 'written']);
      if (isThere) await leader.close();
      await candidate.close();
    },
  );

onWorkers('L13: a cluster without replicas is listed and blocks no promotion', async (workers) => {
  const { leader, candidate } = await pair(workers);
  await leader.exec('CREATE CLUSTER empty REPLICAS (); CREATE INDEX e IN CLUSTER empty ON t (a)');
  await candidate.until(
    () => candidate.env.catalog.cluster('empty') !== undefined,
    'the cluster is followed',
  );
  await candidate.caughtUp();
  assert.deepEqual(
    candidate.status.missing.map((m) => [m.name, m.reason]),
    [['empty', 'no_replica']],
  );
  await candidate.promote();
  await leader.close();
  await candidate.close();
});

onWorkers('L14: what the leader creates meanwhile counts', async (workers) => {
  const { leader, candidate } = await pair(workers);
  await candidate.caughtUp();
  const go = candidate.stallWorker(0);
  await leader.exec('CREATE MATERIALIZED VIEW mv2 AS SELECT count(*) AS n FROM t');
  await candidate.until(
    () => candidate.status.missing.some((m) => m.name === 'mv2' || m.reason === 'catalog_behind'),
    'the candidate knows of it',
  );
  await assert.rejects(candidate.promote(), /not caught up/);
  go();
  await candidate.caughtUp();
  assert.deepEqual(await candidate.query('SELECT * FROM mv2'), [{ n: 2n }]);
  await leader.close();
  await candidate.close();
});

test('a promotion that is asked for while the candidate follows a late tick waits for that, and is not refused', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  const go = candidate.stallWorker(0);
  await candidate.advance(3000);
  assert.deepEqual([...new Set(candidate.status.missing.map((m) => m.reason))], ['lagging']);
  await assert.rejects(candidate.promote(), /not caught up/);
  go();
  assert.equal(candidate.status.caughtUp, false, 'nothing has followed yet');
  await candidate.promote();
  assert.equal(candidate.status.role, 'leader');
  await leader.close();
  await candidate.close();
});

test('the catalog is followed: objects come, change their name, and go', async () => {
  const { leader, candidate } = await pair();
  await leader.exec(`CREATE TABLE u (x int, y text); INSERT INTO u VALUES (1, 'one'); CREATE VIEW v AS SELECT x FROM u;
    CREATE INDEX vi ON v (x); ALTER TABLE u RENAME TO w; COMMENT ON TABLE w IS 'renamed'; DROP INDEX i;
    CREATE CLUSTER c (SIZE '1'); CREATE MATERIALIZED VIEW m IN CLUSTER c AS SELECT x + 1 AS z FROM v`);
  assert.deepEqual(await candidate.query('SELECT * FROM w'), [{ x: 1, y: 'one' }]);
  assert.deepEqual(await candidate.query('SELECT * FROM v'), [{ x: 1 }]);
  assert.equal((await candidate.failure('SELECT * FROM u')).code, 'undefined_table');
  await candidate.exec('SET cluster = c');
  assert.deepEqual(await candidate.query('SELECT * FROM m'), [{ z: 2 }]);
  await candidate.caughtUp();
  await leader.exec('DROP CLUSTER c CASCADE; DROP TABLE w CASCADE; DROP TABLE t CASCADE');
  await candidate.exec('RESET cluster');
  const left = await candidate.query("SELECT name FROM mz_objects WHERE id LIKE 'u%' ORDER BY name");
  assert.deepEqual(left, []);
  await candidate.caughtUp();
  await candidate.promote();
  await leader.close();
  await candidate.close();
});

test('a candidate writes nothing: statements that would are refused with 25006', async () => {
  const { leader, candidate } = await pair();
  for (const sql of [
    'INSERT INTO t VALUES (9)',
    'DELETE FROM t',
    'CREATE TABLE x (a int)',
    'DROP TABLE t',
    "CREATE CLUSTER c (SIZE '1')",
  ])
    assert.equal((await candidate.failure(sql)).sqlstate, '25006', sql);
  assert.deepEqual(column(await leader.query('SELECT a FROM t'), 'a'), [1, 2]);
  await candidate.close();
  await leader.exec('DROP TABLE t CASCADE');
  await leader.assertNothingLeft();
  await leader.close();
});

test('a write that the leader acknowledged is seen by the next strict read of the candidate', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  for (let n = 3; n < 10; n++) {
    await leader.exec(`INSERT INTO t VALUES (${n})`);
    assert.deepEqual(await candidate.query(`SELECT a FROM t WHERE a = ${n}`), [{ a: n }]);
    assert.deepEqual(await candidate.query('SELECT count(*) AS n FROM mv'), [{ n: BigInt(n) }]);
  }
  await leader.close();
  await candidate.close();
});

test('the old leader answers nothing stale, accepts nothing, and is told to stop', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  await candidate.promote();
  await candidate.exec('INSERT INTO t VALUES (3)');
  assert.equal((await leader.failure('SELECT * FROM t')).sqlstate, '57P01');
  assert.equal((await leader.failure('INSERT INTO t VALUES (4)')).sqlstate, '57P01');
  assert.equal((await leader.failure('CREATE TABLE x (a int)')).sqlstate, '57P01');
  assert.match(leader.fenced?.message ?? '', /another process has taken over/);
  assert.deepEqual(column(await candidate.query('SELECT a FROM t'), 'a'), [1, 2, 3]);
  await leader.close();
  await candidate.exec('DROP TABLE t CASCADE');
  await candidate.close();
});

test('a leader that hangs is taken over all the same, and finds out when it wakes up', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  const wake = leader.stop();
  const lost = leader.start('INSERT INTO t VALUES (100)');
  await candidate.advance(90_000);
  await candidate.caughtUp();
  await candidate.promote();
  await candidate.exec('INSERT INTO t VALUES (3)');
  wake();
  await assert.rejects(lost.result(), /taken over/);
  await candidate.advance(5000);
  assert.ok(leader.fenced !== null, 'it was told to stop');
  assert.deepEqual(column(await candidate.query('SELECT a FROM t'), 'a'), [1, 2, 3]);
  assert.deepEqual(column(await candidate.query('SELECT b FROM mv'), 'b'), [10, 20, 30]);
  await leader.close();
  await candidate.close();
});

test('of two candidates one is promoted; the other is told to start anew', async () => {
  const { leader, candidate } = await pair();
  const other = await leader.standby();
  await candidate.caughtUp();
  await other.caughtUp();
  await candidate.promote();
  await assert.rejects(other.promote(), /another process/);
  await candidate.advance(2000);
  assert.match(other.fenced?.message ?? '', /cannot stand by any longer/);
  await candidate.promote();
  assert.equal(candidate.status.role, 'leader');
  for (const t of [leader, other, candidate]) await t.close();
});

test('after a promotion a restart keeps the generation, and a next candidate takes over again', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  await candidate.promote();
  await leader.close();
  await candidate.restart();
  await candidate.exec('INSERT INTO t VALUES (3)');
  const next = await candidate.standby();
  await next.caughtUp();
  assert.equal(next.status.generation, 3);
  await next.promote();
  await next.exec('INSERT INTO t VALUES (4)');
  assert.deepEqual(column(await next.query('SELECT b FROM mv'), 'b'), [10, 20, 30, 40]);
  await candidate.close();
  await next.close();
});

test('what the leader commits until the moment it is fenced is there, objects and rows', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  leader.beforePromotion(`CREATE TABLE late (a int); INSERT INTO late VALUES (7); INSERT INTO t VALUES (3);
    CREATE MATERIALIZED VIEW latest AS SELECT max(a) AS m FROM late; DROP INDEX i`);
  await candidate.promote();
  assert.deepEqual(await candidate.query('SELECT * FROM late'), [{ a: 7 }]);
  assert.deepEqual(column(await candidate.query('SELECT b FROM mv'), 'b'), [10, 20, 30]);
  await candidate.exec('INSERT INTO late VALUES (8)');
  assert.deepEqual(await candidate.query('SELECT * FROM latest'), [{ m: 8 }]);
  // Permitted before it was computed: nothing was held back.
  assert.deepEqual((await stages(candidate, 'latest')).slice(-2), ['hydrated', 'written']);
  await leader.close();
  await candidate.exec('DROP TABLE t CASCADE; DROP TABLE late CASCADE');
  await candidate.advance(3000);
  assert.deepEqual(await candidate.orphans(), []);
  await candidate.close();
});

test('a candidate that slept longer than its leases last cannot be promoted, and says so', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  const wake = candidate.stop();
  await leader.advance(200_000);
  wake();
  await assert.rejects(candidate.promote({ force: true }));
  await candidate.advance(10_000);
  assert.match(candidate.fenced?.message ?? '', /slept too long/);
  await candidate.close();
  assert.deepEqual(column(await leader.query('SELECT a FROM t'), 'a'), [1, 2]);
  await leader.close();
});

test('a restart of the leader changes nothing for the candidate', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  await leader.restart();
  await leader.exec('INSERT INTO t VALUES (3); CREATE TABLE u (a int)');
  assert.deepEqual(column(await candidate.query('SELECT a FROM t'), 'a'), [1, 2, 3]);
  assert.deepEqual(await candidate.query('SELECT * FROM u'), []);
  await candidate.caughtUp();
  await candidate.promote();
  await candidate.exec('INSERT INTO u VALUES (1)');
  await leader.close();
  await candidate.close();
});

test('an old leader that does not know of the promotion yet deletes nothing that the new one reads', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  const wake = leader.stop();
  await candidate.promote();
  const { catalogShard } = candidate.env;
  const { parts, release } = await catalogShard.snapshot(catalogShard.upper - 1);
  const read = new Set(parts.map((p) => p.part.key));
  const isReplaced = (): boolean => catalogShard.info().garbage.some((key) => read.has(key));
  for (let i = 0; !isReplaced(); i++) await candidate.exec(`CREATE TABLE t${i} (a int)`);
  wake();
  await leader.settle(leader.env.catalogShard.refresh());
  await leader.settle(leader.env.catalogShard.maintain());
  for (const part of parts) await candidate.env.options.stores.durable.readPart(part);
  release();
  await leader.close();
  await candidate.close();
});

test('a view that came to its end before a candidate heard of it has hydrated there', async () => {
  const { leader, candidate } = await pair();
  await candidate.caughtUp();
  const wake = candidate.stop();
  await leader.exec('CREATE MATERIALIZED VIEW once WITH (REFRESH AT CREATION) AS SELECT a FROM t');
  await leader.until(
    () => isEmpty(leader.env.collections.upper(leader.id('once'))),
    'it is complete for ever',
  );
  wake();
  await candidate.until(() => candidate.env.catalog.item(leader.id('once')) !== undefined, 'it is heard of');
  await candidate.caughtUp();
  await candidate.advance(2500);
  const statuses = `SELECT hydrated FROM mz_internal.mz_hydration_statuses WHERE object_id = '${leader.id('once')}'`;
  assert.deepEqual(await candidate.query(statuses), [{ hydrated: true }]);
  await leader.close();
  await candidate.close();
});
