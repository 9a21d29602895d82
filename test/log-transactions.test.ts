/** A transaction reads the logs of a replica at one time, whatever else it reads and whatever happens to the replica meanwhile. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Session } from '../packages/tidemark/src/adapter/session.ts';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const EXPORTS = "SELECT count(*) AS n FROM mz_introspection.mz_compute_exports WHERE export_id LIKE 'u%'";

const asked = (t: TestEnvironment, session: Session) => async (sql: string) =>
  (await t.start(sql, session).result())[0]?.['n'];

test('a log is read at one time from its first read on, also where a table was read before', async () => {
  const t = await openTest();
  await t.exec(`CREATE TABLE t (a int); CREATE INDEX i ON t (a);
    CREATE VIEW stages AS SELECT export_id, count(*) AS n FROM mz_introspection.mz_compute_lifecycle_events_per_worker
      WHERE export_id LIKE 'u%' GROUP BY export_id;
    CREATE INDEX stages_by_export ON stages (export_id)`);
  await t.advance(3000);
  const ask = asked(t, t.session());
  await ask('BEGIN');
  assert.equal(await ask('SELECT count(*) AS n FROM t'), 0n);
  const first = await ask(EXPORTS);
  assert.equal(first, 2n);
  const stages = await ask('SELECT count(*) AS n FROM stages');
  assert.equal(stages, 2n);
  await t.exec('CREATE INDEX j ON t (a); CREATE INDEX k ON t (a)');
  await t.advance(10_000);
  assert.equal(await ask(EXPORTS), first);
  assert.equal(await ask('SELECT count(*) AS n FROM stages'), stages);
  await ask('COMMIT');
  assert.equal(await ask(EXPORTS), 4n);
  assert.equal(await ask('SELECT count(*) AS n FROM stages'), 4n);
  await t.exec('DROP VIEW stages CASCADE; DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('a transaction does not take one life of a replica for another, nor one replica for another', async () => {
  const t = await openTest();
  await t.exec(`CREATE TABLE t (a int); CREATE INDEX i ON t (a);
    CREATE CLUSTER two (SIZE '1', REPLICATION FACTOR 2)`);
  await t.advance(3000);
  const session = t.session();
  const ask = asked(t, session);
  const refused = async (): Promise<void> => {
    await assert.rejects(ask(EXPORTS), {
      code: 'serialization_failure',
      message: 'this transaction has read logs of another replica, or of this one before it was lost',
    });
    await ask('ROLLBACK');
  };
  await ask('BEGIN');
  assert.equal(await ask(EXPORTS), 1n);
  await t.crash();
  await t.connected();
  await t.advance(3000);
  await refused();
  assert.equal(await ask(EXPORTS), 1n);
  await ask('SET cluster = two; SET cluster_replica = r1; BEGIN');
  assert.equal(await ask(EXPORTS), 0n);
  await ask('SET cluster_replica = r2');
  await refused();
  await t.exec('DROP TABLE t CASCADE; DROP CLUSTER two');
  await t.assertNothingLeft();
  await t.close();
});
