/**
 * What waits for something that has failed ends with the error: every kind of read, through every way in which it can stand on the table
 * whose parts cannot be read (an index, a view, a view of another cluster over that, indexes on those), whenever it is issued: when the
 * failure is known, while the first try runs, between two tries. The clock is virtual: a read that nobody answers fails its test.
 * Not seen here: failures of the wire, and of COPY to a file, which has its tests beside the controller.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../packages/tidemark/src/base/error.ts';
import { type } from '../packages/tidemark/src/repr/types.ts';
import type { FileReader } from '../packages/tidemark/src/storage/file-source.ts';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const OBJECTS = `
  CREATE CLUSTER other SIZE '1'; CREATE CLUSTER third SIZE '1';
  CREATE TABLE broken (a int); CREATE TABLE whole (n bigint);
  INSERT INTO broken VALUES (1), (2);
  CREATE INDEX i ON broken (a);
  CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM broken;
  CREATE MATERIALIZED VIEW w IN CLUSTER other AS SELECT n FROM v;
  CREATE INDEX on_v IN CLUSTER other ON v (n);
  CREATE INDEX on_w IN CLUSTER third ON w (n)`;

/** Cluster, and what is read there. */
const READS: readonly (readonly [cluster: string, sql: string])[] = [
  ['quickstart', 'SELECT a FROM broken'],
  ['quickstart', 'SELECT a FROM broken WHERE a = 1'],
  ['quickstart', 'SELECT x.a FROM broken x, broken y WHERE x.a = y.a'],
  ['quickstart', 'SELECT n FROM v'],
  ['quickstart', 'SELECT n FROM w'],
  ['quickstart', 'SUBSCRIBE broken'],
  ['quickstart', 'SUBSCRIBE w'],
  ['other', 'SELECT n FROM v'],
  ['other', 'SELECT n FROM w'],
  ['other', 'SUBSCRIBE (SELECT n + 1 FROM v)'],
  ['third', 'SELECT a FROM broken'],
  ['third', 'SELECT n FROM v'],
  ['third', 'SELECT x.n FROM v x, v y'],
  ['third', 'SELECT n FROM w'],
  ['third', 'SELECT w.n FROM w, v'],
  ['third', 'SELECT n FROM whole WHERE n IN (SELECT n FROM v)'],
  ['third', 'INSERT INTO whole SELECT n FROM v'],
  ['third', 'DELETE FROM whole WHERE n IN (SELECT n FROM w)'],
  ['third', 'COPY (SELECT n FROM v) TO STDOUT'],
  ['third', 'SUBSCRIBE v'],
  ['third', 'SUBSCRIBE (SELECT w.n FROM w, v)'],
];

/** Leaves all of them under way. */
const startAll = (t: TestEnvironment) =>
  READS.map(([cluster, sql]) => ({ cluster, sql, read: t.start(`SET cluster = ${cluster}; ${sql}`) }));

async function allFail(started: ReturnType<typeof startAll>): Promise<void> {
  for (const { cluster, sql, read } of started)
    await assert.rejects(read.result(), /the disk is broken/, `${sql} on ${cluster}`);
}

const MOMENTS: readonly { readonly name: string; run(t: TestEnvironment): Promise<void> }[] = [
  {
    name: 'known: told at once',
    run: async (t) => {
      t.breakReads('broken');
      await t.restart();
      await t.advance(100);
      await allFail(startAll(t));
    },
  },
  {
    name: 'of the first try, while the reads wait',
    run: async (t) => {
      const release = t.holdReads('broken');
      await t.restart();
      const started = startAll(t);
      await t.advance(2000);
      for (const { cluster, sql, read } of started) assert.equal(read.isDone, false, `${sql} on ${cluster}`);
      t.breakReads('broken');
      release();
      await allFail(started);
    },
  },
  {
    name: 'of a later try, of reads that came between two',
    run: async (t) => {
      t.breakReads('broken');
      await t.restart();
      await t.advance(100);
      const release = t.holdReads('broken');
      await t.advance(1000);
      const started = startAll(t);
      await t.advance(2000);
      for (const { cluster, sql, read } of started) assert.equal(read.isDone, false, `${sql} on ${cluster}`);
      release();
      await allFail(started);
    },
  },
];

for (const { name, run } of MOMENTS)
  for (const replicas of [1, 2])
    test(`a failure ${name}; ${replicas} replicas`, async () => {
      const t = await openTest({ seed: 7, workers: 2 });
      await t.exec(OBJECTS);
      if (replicas > 1) await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 2)');
      await t.advance(2000);
      await run(t);
      await t.exec('DROP TABLE broken CASCADE; INSERT INTO whole VALUES (7)');
      assert.deepEqual(await t.query('SELECT n FROM whole'), [{ n: 7n }]);
      await t.exec('DROP TABLE whole; DROP CLUSTER other; DROP CLUSTER third');
      if (replicas > 1) await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)');
      await t.assertNothingLeft();
      await t.close();
    });

test('a source turns out to be unreadable: what waits for it is told, also through a view and an index', async () => {
  let failed = (_: SqlError): void => undefined;
  const files: FileReader = {
    describe: () =>
      Promise.resolve({
        desc: { columns: [{ name: 'a', type: type('int4'), nullable: true }], keys: [] },
        rowsKnown: null,
        bytes: 9,
      }),
    read: () =>
      new Promise((_, reject) => {
        failed = reject;
      }),
  };
  const t = await openTest({ files });
  await t.exec(`CREATE CLUSTER other SIZE '1'; CREATE SOURCE s FROM FILE '/rows.csv';
    CREATE MATERIALIZED VIEW v AS SELECT a FROM s; CREATE INDEX i ON s (a)`);
  const started = [
    'SELECT a FROM s',
    'SELECT a FROM v',
    'SET cluster = other; SELECT a FROM v',
    'SET cluster = other; SELECT a FROM s',
    'SUBSCRIBE v',
  ].map((sql) => [sql, t.start(sql)] as const);
  await t.advance(2000);
  for (const [sql, read] of started) assert.equal(read.isDone, false, sql);
  failed(new SqlError('data_corrupted', 'row 3 has two values'));
  for (const [sql, read] of started)
    await assert.rejects(
      read.result(),
      (e: SqlError) => e.message === 'source "s" could not be loaded' && e.detail === 'row 3 has two values',
      sql,
    );
  assert.match((await t.failure('SELECT a FROM v')).message, /source "s" could not be loaded/);
  await t.exec('DROP SOURCE s CASCADE; DROP CLUSTER other');
  await t.assertNothingLeft();
  await t.close();
});
