/** The statements that the catalog keeps of objects: a start reads each of them again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { awaitReadiness } from '../packages/tidemark/src/adapter/readiness.ts';
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
