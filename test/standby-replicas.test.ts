/** A generation that stands by and replicas in processes of their own: it attaches to none of the leader's, and brings its own. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { type TestContext, test } from 'node:test';
import { silentLogger } from '../packages/tidemark/src/base/clock.ts';
import { serveReplica } from '../packages/tidemark/src/host/replica-server.ts';
import { type Database, open } from '../packages/tidemark/src/index.ts';
import { atEnd, temporaryDirectory } from './support/at-end.ts';

const LOOPBACK = '127.0.0.1';
const STATUS = `SELECT s.status, s.reason FROM mz_internal.mz_cluster_replica_statuses s
  JOIN mz_cluster_replicas r ON r.id = s.replica_id JOIN mz_clusters c ON c.id = r.cluster_id WHERE c.name = 'c'`;

async function replica(t: TestContext, dataDir: string): Promise<string> {
  const r = await serveReplica({
    listen: { host: LOOPBACK, port: 0 },
    dataDir,
    workers: 1,
    logger: silentLogger,
  });
  atEnd(t, () => r.close());
  return `${LOOPBACK}:${r.address.port}`;
}

/** Asked again when something may have moved: readiness is told, not polled. */
async function caughtUp(db: Database): Promise<void> {
  await db.ready({ timeoutMs: 120_000 });
  while (!db.leaderStatus().caughtUp) await db.query('SELECT count(*) FROM v');
}

/** Between the question and the promotion the leader may have moved on by more than counts as caught up. */
async function promoted(db: Database): Promise<void> {
  while (db.leaderStatus().role !== 'leader') {
    await caughtUp(db);
    await db.promote().catch((e: Error) => assert.match(e.message, /is not caught up/));
  }
}

test('a replica by address needs one of the candidate, which takes its place in the catalog', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const leader = await open({ dataDir, workers: 'inline' });
  atEnd(t, () => leader.close());
  const blue = await replica(t, dataDir);
  await leader.exec(`CREATE TABLE t (a int); INSERT INTO t VALUES (1);
    CREATE CLUSTER c REPLICAS (r1 (ADDRESSES ('${blue}'), WORKERS 1));
    CREATE MATERIALIZED VIEW v IN CLUSTER c AS SELECT a + 1 AS b FROM t`);
  assert.deepEqual((await leader.query('SELECT b FROM v')).rows, [{ b: 2 }]);

  const warnings: string[] = [];
  const without = await open({
    ...{ dataDir, workers: 'inline', readOnly: true, replicas: { 'c.r2': blue } },
    logger: {
      ...silentLogger,
      warn: (fields, message) => warnings.push(`${JSON.stringify(fields)} ${message}`),
    },
  });
  assert.deepEqual(warnings, ['{"replica":"c.r2"} the leader has no replica of this name at an address']);
  const missing = () => without.leaderStatus().missing.map((m) => [m.name, m.reason]);
  assert.ok(missing().some(([name, reason]) => name === 'r1' && reason === 'no_replica_of_its_own'));
  assert.deepEqual((await without.query(STATUS)).values, [
    ['offline', "the leader's; this process has none of its own for it"],
  ]);
  await assert.rejects(without.promote(), /not caught up/);
  await without.close();

  const green = await replica(t, dataDir);
  const candidate = await open({ dataDir, workers: 'inline', readOnly: true, replicas: { 'c.r1': green } });
  atEnd(t, () => candidate.close());
  await caughtUp(candidate);
  assert.deepEqual((await candidate.query('SELECT b FROM v')).rows, [{ b: 2 }]);
  await promoted(candidate);
  await candidate.exec('INSERT INTO t VALUES (2)');
  assert.deepEqual((await candidate.query('SELECT b FROM v ORDER BY b')).rows, [{ b: 2 }, { b: 3 }]);
  const { rows } = await candidate.query(
    "SELECT address FROM mz_cluster_replicas WHERE name = 'r1' AND address IS NOT NULL",
  );
  assert.deepEqual(rows, [{ address: green }]);
  await assert.rejects(leader.query('SELECT a FROM t'), /taken over/);
});

test('a replica is told of from its creation on, also while what listens at its address says nothing', async (t) => {
  const silent = createServer(() => undefined).listen(0, LOOPBACK);
  atEnd(t, () => silent.close());
  await once(silent, 'listening');
  const address = `${LOOPBACK}:${(silent.address() as AddressInfo).port}`;
  const db = await open({ dataDir: await temporaryDirectory(t), workers: 'inline' });
  atEnd(t, () => db.close());
  await db.exec(`CREATE CLUSTER c REPLICAS (r1 (ADDRESSES ('${address}'), WORKERS 1))`);
  assert.deepEqual((await db.query(STATUS)).values, [['offline', `dialling ${address}`]]);
  await db.exec('DROP CLUSTER c');
  assert.deepEqual((await db.query(STATUS)).values, []);
});
