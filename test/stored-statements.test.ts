/** The statements that the catalog keeps of objects: a start reads each of them again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { leaderStatus } from '../packages/tidemark/src/adapter/promotion.ts';
import { awaitReadiness, describeMissing, readiness } from '../packages/tidemark/src/adapter/readiness.ts';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';

test('a default index on what has at most one row, or no columns, has a key without parts, and is there after a restart', async () => {
  const t = await openTest();
  await t.exec(`CREATE VIEW one AS SELECT 1 AS x, 2 AS y; CREATE VIEW nothing AS SELECT; CREATE MATERIALIZED VIEW m AS SELECT 3 AS z;
    CREATE DEFAULT INDEX ON one; CREATE DEFAULT INDEX ON nothing; CREATE DEFAULT INDEX ON m; CREATE INDEX again ON one ()`);
  const indexes = () =>
    t
      .query(`SELECT name FROM mz_indexes WHERE id LIKE 'u%' ORDER BY name`)
      .then((r) => r.map((i) => i['name']));
  const names = ['again', 'm_primary_idx', 'nothing_primary_idx', 'one_primary_idx'];
  assert.deepEqual(await indexes(), names);
  await t.restart();
  assert.deepEqual(await indexes(), names);
  await t.settle(awaitReadiness(t.env, {}));
  assert.deepEqual(await t.query('SELECT x, y, z FROM one, m'), [{ x: 1, y: 2, z: 3 }]);
  await t.close();
});

test('what cannot be read again keeps its shard, and its replica is not ready: here, and where another version stands by', async () => {
  const t = await openTest();
  await t.exec(
    'CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE MATERIALIZED VIEW v AS SELECT a FROM t',
  );
  await t.settle(awaitReadiness(t.env, {}));
  const { env } = t;
  const { entity, item } = [...env.catalog.loadedItems()].find((l) => l.item.name.item === 'v')!;
  const foreign = { ...entity!, createSql: 'CREATE MATERIALIZED VIEW v FROM A LATER VERSION' };
  const candidate = await t.standby();
  await candidate.caughtUp();
  await env.transact({ remove: [entity!], put: [foreign], items: new Map([[item.id, item]]) });
  const why = (of: typeof t): readonly string[] => readiness(of.env).missing.map(describeMissing);
  await candidate.until(() => why(candidate).length > 0, 'the candidate has heard of it');
  const told = ['v on replica quickstart.r1: not installed, failed'];
  assert.deepEqual(why(candidate), told);
  assert.equal(leaderStatus(candidate.env).caughtUp, false);
  await candidate.close();
  await t.restart();
  assert.deepEqual(why(t), told);
  assert.match(String(readiness(t.env).missing[0]!.details!['error']), /syntax error/);
  assert.equal(t.env.catalog.item(item.id), undefined);
  assert.ok(
    (await t.settle(t.env.options.stores.durable.list())).includes(foreign.shard!),
    'another version may read it',
  );
  await t.close();
});
