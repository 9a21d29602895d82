/** Who changed what in the catalog, and when: a row for each object, in the commit of the change, over restarts and promotions. In the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const events = async (t: TestEnvironment): Promise<readonly string[]> => {
  const rows =
    await t.query(`SELECT event_type, object_type, coalesce(details ->> 'name', details ->> 'id') AS name
    FROM mz_audit_events WHERE "user" = 'tidemark' ORDER BY id`);
  return rows.map((r) => `${r['event_type']} ${r['object_type']} ${r['name']}`);
};

test('each change of each object has its row, with who made it and when, and a refused one has none', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a); CREATE VIEW v AS SELECT a FROM t');
  await t.exec("CREATE MATERIALIZED VIEW m AS SELECT a FROM v; COMMENT ON TABLE t IS 'x'; CREATE SCHEMA s");
  await t.exec("CREATE CLUSTER c REPLICAS (r1 (SIZE '1')); ALTER TABLE t RENAME TO u");
  await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 2');
  assert.match((await t.failure('CREATE TABLE u (b int)')).message, /already exists/);
  const before = await t.query('SELECT count(*)::int AS n FROM mz_audit_events');
  await t.exec('INSERT INTO u VALUES (1)');
  assert.deepEqual(
    await t.query('SELECT count(*)::int AS n FROM mz_audit_events'),
    before,
    'rows are no catalog',
  );
  const id = t.id('u');
  await t.exec('DROP TABLE u CASCADE; DROP CLUSTER c CASCADE');
  const seen = await events(t);
  for (const event of [
    'create table t',
    'create index i',
    'create view v',
    'create materialized-view m',
    `create comment ${id}`,
    'create schema s',
    'create cluster c',
    'create cluster-replica r1',
    'alter table u',
    'create setting compute_hydration_concurrency',
    'drop index i',
    'drop materialized-view m',
    'drop view v',
    'drop table u',
    'drop cluster-replica r1',
    'drop cluster c',
  ])
    assert.equal(seen.filter((e) => e === event).length, 1, `${event} once, of\n${seen.join('\n')}`);
  assert.ok(seen.indexOf('create table t') < seen.indexOf('drop table u'));
  const [span] = await t.query(`SELECT max(occurred_at) - min(occurred_at) < INTERVAL '1 hour' AS near,
    count(DISTINCT id) = count(*) AS ids FROM mz_audit_events`);
  assert.deepEqual(span, { near: true, ids: true });
  await t.close();
});

test('what was seen stays, in its order, after a restart, a kill and a promotion', async () => {
  const leader = await openTest({ workers: 2 });
  await leader.exec('CREATE TABLE a (x int)');
  await leader.restart();
  await leader.exec('CREATE TABLE b (x int)');
  await leader.kill();
  await leader.exec('CREATE TABLE c (x int)');
  const expected = ['create table a', 'create table b', 'create table c'];
  assert.deepEqual(await events(leader), expected);
  const next = await leader.standby();
  await next.caughtUp();
  assert.deepEqual(await events(next), expected, 'a process that stands by reads it');
  await next.promote();
  await next.exec('DROP TABLE a; CREATE TABLE d (x int)');
  assert.deepEqual(await events(next), [...expected, 'drop table a', 'create table d']);
  await leader.close();
  await next.close();
});
