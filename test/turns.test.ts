/** Statements that read before they write: which wait for which, and that a wait can be given up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest } from '../packages/tidemark/src/testkit/index.ts';

test('an update that cannot read yet holds up those that would see its writes, or write what it reads, and nobody else', async () => {
  const t = await openTest();
  await t.exec(`CREATE TABLE a (x int); CREATE TABLE b (x int); CREATE TABLE c (x int); CREATE TABLE d (x int); CREATE TABLE e (x int);
    CREATE MATERIALIZED VIEW sums AS SELECT sum(x) AS x FROM a; CREATE VIEW through AS SELECT x + 1 AS x FROM sums;
    INSERT INTO a VALUES (1); INSERT INTO b VALUES (10); INSERT INTO c VALUES (100)`);
  const release = t.holdReads('b');
  const stuck = t.start('INSERT INTO a SELECT x FROM b');
  const waiting = [
    'UPDATE a SET x = x + 1',
    'UPDATE b SET x = x + 1',
    'INSERT INTO d SELECT x FROM through',
  ].map((sql) => t.start(sql));
  await t.exec('UPDATE c SET x = x + 1');
  await t.exec('DELETE FROM e; INSERT INTO c SELECT x FROM c');
  assert.deepEqual(
    [stuck, ...waiting].map((s) => s.isDone),
    [false, false, false, false],
  );
  release();
  for (const s of [stuck, ...waiting]) await s.result();
  assert.deepEqual(
    (
      await t.query(
        "SELECT 'a', x FROM a UNION ALL SELECT 'b', x FROM b UNION ALL SELECT 'd', x FROM d ORDER BY 1, 2",
      )
    ).values,
    [
      ['a', 2],
      ['a', 11],
      ['b', 11],
      ['d', 14],
    ],
  );
  assert.deepEqual((await t.query('SELECT x FROM c')).values, [[101], [101]]);
  await t.close();
});

test('who waits for its turn ends with its time, with a cancel, and then holds up nobody', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE a (x int); CREATE TABLE b (x int); INSERT INTO b VALUES (1)');
  const release = t.holdReads('b');
  const stuck = t.start('INSERT INTO a SELECT x FROM b');
  const timed = t.start("SET statement_timeout = '1s'; UPDATE a SET x = x + 10");
  const canceled = t.start('UPDATE a SET x = x + 100');
  const last = t.start('UPDATE a SET x = x + 1000');
  await t.run();
  canceled.cancel();
  await assert.rejects(canceled.result(), { sqlstate: '57014' });
  await assert.rejects(timed.result(), { sqlstate: '57014' });
  assert.deepEqual([stuck.isDone, last.isDone], [false, false]);
  release();
  await last.result();
  assert.deepEqual((await t.query('SELECT x FROM a')).values, [[1001]]);
  await t.close();
});

test('what a statement reads may become something else while it waits: then it waits for that too', async () => {
  const t = await openTest();
  await t.exec(`CREATE TABLE a (x int); CREATE TABLE b (x int); CREATE TABLE c (x int); CREATE TABLE n (x int); INSERT INTO b VALUES (1), (2);
    CREATE SCHEMA s; CREATE SCHEMA o; CREATE VIEW s.v AS SELECT x FROM a; CREATE VIEW o.v AS SELECT x FROM c`);
  const releaseB = t.holdReads('b');
  const stuck = t.start('INSERT INTO a SELECT x FROM b');
  const reader = t.start('INSERT INTO n SELECT sum(x) FROM s.v');
  const releaseN = t.holdReads('n');
  const other = t.start('INSERT INTO c SELECT count(*) FROM n');
  await t.run();
  await t.exec('ALTER SCHEMA s SWAP WITH o');
  releaseB();
  await stuck.result();
  assert.deepEqual([reader.isDone, other.isDone], [false, false]);
  releaseN();
  for (const s of [reader, other]) await s.result();
  assert.deepEqual((await t.query('SELECT x FROM c')).values, [[0]]);
  assert.deepEqual((await t.query('SELECT x FROM n')).values, [[0]]);
  await t.close();
});
