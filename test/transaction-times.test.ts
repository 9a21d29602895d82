/** The one time of a transaction, from when it is chosen: what else it may read stays readable there, however long its first query takes. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { temporaryDirectory } from './support/at-end.ts';
import { onWorkers } from './support/on-workers.ts';

async function opened(workers: number): Promise<TestEnvironment> {
  const t = await openTest({ workers });
  await t.exec(`CREATE TABLE slow (x int); CREATE TABLE other (x int); INSERT INTO slow VALUES (1); INSERT INTO other VALUES (10);
    CREATE VIEW sums AS SELECT sum(x) AS x FROM other; CREATE INDEX sums_x ON sums (x);
    CREATE MATERIALIZED VIEW counted AS SELECT count(*) AS x FROM other`);
  await t.advance(2000);
  return t;
}

async function finish(t: TestEnvironment): Promise<void> {
  await t.exec('DROP TABLE slow; DROP TABLE other CASCADE');
  await t.assertNothingLeft();
  await t.close();
}

onWorkers(
  'after a first query of ten seconds tables, indexes and views are read as they were at its begin',
  async (workers) => {
    const t = await opened(workers);
    const release = t.holdReads('slow');
    const session = t.session();
    const ask = (sql: string) => t.start(sql, session).result();
    await ask('BEGIN');
    const first = t.start('SELECT x FROM slow', session);
    await t.advance(1000);
    await t.exec('INSERT INTO other VALUES (100)');
    await t.advance(10_000);
    assert.equal(first.isDone, false);
    release();
    assert.deepEqual(await first.result(), [{ x: 1 }]);
    assert.deepEqual(await ask('SELECT x FROM other'), [{ x: 10 }]);
    assert.deepEqual(await ask('SELECT x FROM sums'), [{ x: 10n }]);
    assert.deepEqual(await ask('SELECT x FROM counted'), [{ x: 1n }]);
    await ask('COMMIT');
    assert.deepEqual(await ask('SELECT x FROM sums'), [{ x: 110n }]);
    await finish(t);
  },
);

test('COPY fixes the time as any query does, and keeps to it', async (context) => {
  const directory = await temporaryDirectory(context);
  const t = await opened(1);
  const session = t.session();
  const ask = (sql: string) => t.start(sql, session).result();
  const copied = async (name: string): Promise<string> => {
    await ask(`COPY (SELECT x FROM other ORDER BY x) TO '${join(directory, name)}'`);
    return readFile(join(directory, name), 'utf8');
  };
  await ask('BEGIN');
  assert.equal(await copied('first'), '10\n');
  await t.exec('INSERT INTO other VALUES (100)');
  await t.advance(5000);
  assert.deepEqual(await ask('SELECT x FROM sums'), [{ x: 10n }]);
  assert.equal(await copied('again'), '10\n');
  await ask('COMMIT');
  assert.equal(await copied('later'), '10\n100\n');
  await finish(t);
});

test('a first query that is given up leaves no hold, and the transaction fails as with any error', async () => {
  const t = await opened(1);
  const release = t.holdReads('slow');
  const session = t.session();
  await t.start('BEGIN', session).result();
  const first = t.start('SELECT x FROM slow', session);
  await t.advance(1000);
  first.cancel();
  await assert.rejects(first.result(), { sqlstate: '57014' });
  release();
  await assert.rejects(t.start('SELECT 1', session).result(), { sqlstate: '25P02' });
  const since = t.env.collections.since(t.id('other'));
  await t.advance(5000);
  assert.ok(t.env.collections.since(t.id('other')) > since + 3000, 'nothing is held back any more');
  await t.start('ROLLBACK', session).result();
  await finish(t);
});
