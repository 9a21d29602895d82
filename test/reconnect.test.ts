/**
 * Replicas that outlive their connection and their environment, in the simulator: what is kept, what is built anew, and what the logs and the
 * controllers say of it. What real processes and sockets add is in `remote-replica.test.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { userId } from '../packages/tidemark/src/base/ids.ts';
import { frontierOwner } from '../packages/tidemark/src/compute/frontier-owner.ts';
import type { TestEnvironment, TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { onWorkers } from './support/on-workers.ts';
import { openWatched, type Watched } from './support/watched.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const LOG = 'mz_introspection.mz_compute_lifecycle_events_per_worker';

const lives = (t: TestEnvironment): Promise<readonly TestRow[]> =>
  t.query(
    `SELECT export_id, worker_id, event, occurred_at::text, reason, details::text FROM ${LOG} ORDER BY 1, 2, 4, 3`,
  );

const outcomes = async (t: TestEnvironment): Promise<Record<string, number>> =>
  Object.fromEntries(
    (
      await t.query(
        "SELECT outcome, count FROM mz_internal.mz_compute_reconciliations WHERE replica_id = 'u1'",
      )
    )
      .filter((r) => r['count'] !== 0n)
      .map((r) => [String(r['outcome']), Number(r['count'])]),
  );

/** A table, an index, a view over the index; all hydrated and durable. */
async function populated(workers = 2): Promise<Watched> {
  const w = await openWatched({ seed: SEED, workers, outlive: true });
  await w.t.exec(`CREATE TABLE t (a int, b int);
    INSERT INTO t VALUES (1, 10), (2, 20), (3, 30);
    CREATE INDEX i ON t (a);
    CREATE MATERIALIZED VIEW v AS SELECT a, sum(b) AS s FROM t GROUP BY a`);
  await w.t.exec('SELECT * FROM v');
  await w.t.advance(2500);
  return w;
}

const PARTINGS: Readonly<Record<string, (t: TestEnvironment) => Promise<void>>> = {
  'the connection is cut': async (t) => {
    t.cut();
    await t.connected();
  },
  'the environment restarts': (t) => t.restart(),
  'the environment is killed': (t) => t.kill(),
};

for (const [what, part] of Object.entries(PARTINGS)) {
  onWorkers(
    `L10, R3, R13: ${what}, and no instant of any life changes, nor is anything installed again`,
    async (workers) => {
      const w = await populated(workers);
      const before = await lives(w.t);
      assert.ok(before.some((r) => r['event'] === 'written'));
      await w.t.advance(5000);
      await part(w.t);
      await w.t.connected();
      await w.t.exec('INSERT INTO t VALUES (4, 40)');
      assert.deepEqual(await w.t.query('SELECT a FROM v WHERE s = 40'), [{ a: 4 }]);
      await w.t.advance(2500);
      assert.deepEqual(await lives(w.t), before);
      const told = await outcomes(w.t);
      assert.equal(told['created'], undefined, JSON.stringify(told));
      assert.ok(told['retained']! >= 2, JSON.stringify(told));
      await w.finish();
    },
  );

  onWorkers(`I07: ${what}, and the logs tell of the same dataflows`, async (workers) => {
    const w = await populated(workers);
    const look = async () => [
      await w.t.query(
        'SELECT export_id, worker_id, dataflow_id FROM mz_introspection.mz_compute_exports_per_worker ORDER BY 1, 2',
      ),
    ];
    const before = await look();
    await part(w.t);
    await w.t.connected();
    await w.t.advance(2500);
    assert.deepEqual(await look(), before);
    await w.finish();
  });

  test(`${what} while an object is built: it goes on, and its start and hydration come once`, async () => {
    const w = await openWatched({ seed: SEED, workers: 2, outlive: true });
    const { t } = w;
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
    const release = t.holdReads('t');
    await t.exec('CREATE INDEX i ON t (a)');
    await t.advance(2000);
    const before = await lives(t);
    await part(t);
    await t.connected();
    release();
    await t.exec('SELECT a FROM t WHERE a = 1');
    await t.advance(2500);
    const after = await lives(t);
    const of = (rows: readonly TestRow[]) => rows.filter((r) => r['export_id'] === t.id('i'));
    assert.ok(of(before).length > 0);
    for (const row of of(before))
      assert.ok(
        of(after).some((r) => isDeepStrictEqual(r, row)),
        `the ${String(row['event'])} of worker ${String(row['worker_id'])} is still there`,
      );
    assert.equal(of(after).filter((r) => r['event'] === 'hydrated').length, 2);
    await w.finish();
  });
}

test('a permission that is lost with the connection is told of after all that the object had reached, and once', async () => {
  const replacement = userId(3);
  const owner = frontierOwner(replacement, 2);
  const heard = new Map<number, string[]>();
  const w = await openWatched({
    seed: SEED,
    workers: 2,
    outlive: true,
    onCommand: (c) => (c.kind === 'allowWrites' ? null : c),
    onHeard: (from, r) => {
      if (r.kind !== 'lifecycle' || r.id !== replacement || r.worker !== owner) return;
      heard.set(from.connection, [...(heard.get(from.connection) ?? []), r.stage]);
    },
  });
  const { t } = w;
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
  await t.exec('CREATE REPLACEMENT MATERIALIZED VIEW n FOR v AS SELECT a + 1 AS a FROM t');
  assert.equal(t.id('n'), replacement);
  await t.advance(1000);
  await t.exec('ALTER MATERIALIZED VIEW v APPLY REPLACEMENT n');
  t.cut();
  await t.connected();
  await t.advance(2500);
  const blocked = ['installed', 'started', 'hydrated', 'write_blocked'];
  assert.deepEqual([...heard.values()], [blocked, [...blocked, 'write_unblocked', 'written']]);
  assert.deepEqual(await t.query('SELECT a FROM v'), [{ a: 2 }]);
  await w.finish();
});

test('what is dropped while the replica is away goes there first of all, with its rows', async () => {
  const w = await populated();
  const id = w.t.id('v');
  w.t.cut();
  await w.t.exec('DROP MATERIALIZED VIEW v');
  await w.t.connected();
  await w.t.advance(2500);
  assert.ok(!(await lives(w.t)).some((r) => r['export_id'] === id));
  // With it goes what the environment itself reads there over each connection.
  assert.ok((await outcomes(w.t))['dropped']! >= 1);
  await w.finish();
});

test('what is created while the replica is away is commanded, and what is described otherwise is reconciled', async () => {
  const w = await populated();
  w.t.cut();
  await w.t.exec('CREATE MATERIALIZED VIEW n AS SELECT a FROM t');
  await w.t.connected();
  await w.t.exec('SELECT * FROM n');
  const n = w.t.id('n');
  await w.t.exec('ALTER MATERIALIZED VIEW v RENAME TO renamed');
  await w.t.restart();
  await w.t.connected();
  await w.t.advance(2500);
  const installed = (await lives(w.t)).filter((r) => r['event'] === 'installed');
  const reasons = (id: string) =>
    new Set(installed.filter((r) => r['export_id'] === id).map((r) => r['reason']));
  assert.deepEqual(reasons(n), new Set(['commanded']));
  assert.deepEqual(reasons(w.t.id('renamed')), new Set(['reconciled']));
  assert.deepEqual(await w.t.query('SELECT a, s::text AS s FROM renamed ORDER BY a'), [
    { a: 1, s: '10' },
    { a: 2, s: '20' },
    { a: 3, s: '30' },
  ]);
  assert.equal((await outcomes(w.t))['description'], 1);
  await w.finish();
});

test('a read under way ends with an error when the connection is cut, and leaves nothing on the replica', async () => {
  const w = await populated();
  const stalled = w.t.stallWorker(1);
  const read = w.t.start('SELECT count(*) FROM t WHERE a > 0');
  await w.t.advance(10);
  assert.equal(read.isDone, false);
  w.t.cut();
  stalled();
  await assert.rejects(read.result(), { code: 'system_error' });
  await w.t.connected();
  await w.t.advance(2500);
  assert.deepEqual(
    await w.t.query('SELECT id FROM mz_introspection.mz_active_peeks_per_worker WHERE time IS NULL'),
    [],
  );
  await w.finish();
});

test('a replica whose workers died is a new life: everything is installed again, commanded', async () => {
  const w = await populated();
  const before = await lives(w.t);
  await w.t.crash();
  await w.t.connected();
  await w.t.exec('SELECT * FROM v');
  await w.t.advance(2500);
  const after = await lives(w.t);
  const installed = (rows: readonly TestRow[]) =>
    rows.filter((r) => r['event'] === 'installed' && String(r['export_id']).startsWith('u'));
  assert.equal(installed(after).length, installed(before).length);
  for (const r of installed(after)) assert.equal(r['reason'], 'commanded');
  assert.notDeepEqual(installed(after), installed(before));
  await w.finish();
});

test('logs that are configured otherwise start the workers anew', async () => {
  const w = await populated();
  await w.t.exec("ALTER CLUSTER quickstart SET (INTROSPECTION INTERVAL '2s')");
  await w.t.connected();
  await w.t.exec('SELECT * FROM v');
  assert.deepEqual(await outcomes(w.t), {});
  await w.t.exec("ALTER CLUSTER quickstart SET (INTROSPECTION INTERVAL '1s')");
  await w.t.connected();
  await w.t.exec('SELECT * FROM v');
  await w.finish();
});
