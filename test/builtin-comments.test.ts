/** What builtin relations and their columns mean is said in SQL: by `mz_comments`, `SHOW COLUMNS` and the functions that `\d+` asks. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';

test('builtin relations and their columns have comments, as those that users make have', async () => {
  const t = await openTest({ workers: 1 });
  const log = 'mz_introspection.mz_compute_lifecycle_events_per_worker';
  const grain =
    'installed, started and hydrated: once on each worker; write_blocked, write_unblocked and written: on one worker per object';
  assert.deepEqual(await t.query(`SELECT col_description('${log}'::regclass::oid, 3) AS c`), [{ c: grain }]);
  assert.deepEqual(
    await t.query(`SELECT col_description(attrelid, attnum) AS c FROM pg_attribute
      WHERE attrelid = '${log}'::regclass::oid AND attname = 'event'`),
    [{ c: grain }],
  );
  const described =
    await t.query(`SELECT description AS c FROM pg_description d JOIN mz_objects o ON o.oid = d.objoid
    WHERE o.name = 'mz_compute_lifecycle_events_per_worker' AND d.objsubid = 3`);
  assert.deepEqual(described, [{ c: grain }]);
  const without = await t.query(`SELECT o.name FROM mz_objects o JOIN mz_schemas s ON s.id = o.schema_id
    LEFT JOIN mz_internal.mz_comments c ON c.id = o.id AND c.object_sub_id IS NULL
    WHERE s.name LIKE 'mz!_%' ESCAPE '!' AND o.type <> 'index' AND c.comment IS NULL`);
  assert.deepEqual(without, []);
  await t.exec(`CREATE TABLE t (a int); COMMENT ON COLUMN t.a IS 'mine'`);
  const [mine] = await t.query('SHOW COLUMNS FROM t');
  assert.equal(mine!['comment'], 'mine');
  await t.close();
});
