/** Introspection of one replica that is not that of its cluster: its interval, and whether it shows itself. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { openWireDatabase, rowsOf } from './support/wire-database.ts';

const LOGS = 'mz_introspection';

const itself = (t: TestEnvironment): Promise<readonly TestRow[]> =>
  t.query(`SELECT name FROM ${LOGS}.mz_dataflow_operators_per_worker WHERE name = 'Introspection'`);

/** The newest time of the log. */
async function timeOfLog(t: TestEnvironment): Promise<bigint> {
  const [row] = await t.query(`SELECT time FROM ${LOGS}.mz_compute_frontiers_per_worker
    WHERE export_id LIKE 'si%' AND worker_id = 0 LIMIT 1`);
  return BigInt(Number(row!['time']));
}

for (const workers of [1, 2])
  test(`each replica logs as it was made to, on ${workers} workers, before and after a restart`, async () => {
    const t = await openTest();
    await t.exec(`CREATE CLUSTER c REPLICAS (
      slow (SIZE '${workers}', INTROSPECTION INTERVAL '4s'),
      off (SIZE '${workers}', INTROSPECTION INTERVAL 0),
      plain (SIZE '${workers}'))`);
    await t.exec(`CREATE CLUSTER REPLICA c.open (SIZE '${workers}', INTROSPECTION DEBUGGING = true)`);
    await t.exec('SET cluster = c; CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    const hasIndex = async (replica: string): Promise<number> => {
      await t.exec(`SET cluster_replica = ${replica}`);
      const sql = `SELECT * FROM ${LOGS}.mz_compute_exports_per_worker WHERE export_id = '${t.id('i')}'`;
      return (await t.query(sql)).length;
    };
    const look = async (): Promise<void> => {
      await t.advance(6500);
      for (const replica of ['slow', 'plain', 'open'])
        assert.equal(await hasIndex(replica), workers, replica);
      assert.equal(await hasIndex('off'), 0);
      await t.exec('SET cluster_replica = slow');
      assert.equal((await timeOfLog(t)) % 4000n, 0n, 'times of the log are multiples of its interval');
      for (const replica of ['slow', 'off', 'plain']) {
        await t.exec(`SET cluster_replica = ${replica}`);
        assert.deepEqual(await itself(t), [], replica);
      }
      await t.exec('SET cluster_replica = open');
      assert.equal((await itself(t)).length, workers);
      const fresh = await t.query(`SELECT r.name FROM mz_internal.mz_introspection_freshness f
        JOIN mz_cluster_replicas r ON r.id = f.replica_id JOIN mz_clusters c ON c.id = r.cluster_id
        WHERE f.fresh AND c.name = 'c' ORDER BY 1`);
      assert.deepEqual(
        fresh.map((r) => r['name']),
        ['open', 'plain', 'slow'],
        'what logs nothing is never fresh',
      );
    };
    await look();
    await t.restart();
    await t.exec('SET cluster = c');
    await look();
    await t.exec("SET cluster_replica = ''; ALTER CLUSTER c SET (INTROSPECTION INTERVAL '2s')");
    await t.advance(6500);
    await t.exec('SET cluster_replica = slow');
    assert.equal(
      (await timeOfLog(t)) % 4000n,
      0n,
      'its own interval stays when the cluster gets another one',
    );
    await t.exec("SET cluster_replica = ''; DROP TABLE t CASCADE; DROP CLUSTER c; SET cluster = quickstart");
    await t.assertNothingLeft();
    await t.close();
  });

test('over the wire; and what makes no sense is refused', async () => {
  const db = await openWireDatabase();
  try {
    const c = await db.client();
    await c.query("CREATE CLUSTER w REPLICAS (r1 (SIZE '1', INTROSPECTION INTERVAL '50ms'))");
    await c.query('SET cluster = w');
    await c.query('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    const sql = `SELECT count(*)::int FROM ${LOGS}.mz_compute_lifecycle_events_per_worker
      WHERE export_id LIKE 'u%' AND event = 'hydrated'`;
    for (;;) if (((await rowsOf(c, sql))[0] as [number])[0] === 1) break;
    for (const bad of ["INTROSPECTION INTERVAL '-1s'", "INTROSPECTION DEBUGGING = 'perhaps'"])
      await assert.rejects(c.query(`CREATE CLUSTER REPLICA w.r2 (SIZE '1', ${bad})`), { code: '22023' });
  } finally {
    await db.close();
  }
});
