/**
 * Rules of the lifecycle that say what must not be there: rows that outlive their object, and objects that are nobody's to wait for. The
 * other rules are in `lifecycle.test.ts`.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Row } from '../packages/tidemark/src/repr/types.ts';
import { openWatched } from './support/watched.ts';

const LIFECYCLE = 'mz_compute_lifecycle_events_per_worker';
const TIMES = 'mz_introspection.mz_compute_hydration_times_per_worker';

test('R12: what a drop takes back is what was written, though the clock was set, a start back-filled and the view compacted meanwhile', async () => {
  // The Schedule of the index over an index never comes: its start is written when it is found hydrated.
  const w = await openWatched({
    workers: 2,
    onCommand: (c) => (c.kind === 'schedule' && c.id === 'u3' ? null : c),
  });
  const { t } = w;
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)');
  await t.advance(2000);
  await t.exec('CREATE INDEX j ON t (a); CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
  assert.equal(t.id('j'), 'u3');
  await t.advance(3000);
  t.time.step(3_600_000);
  for (let i = 0; i < 5; i++) {
    await t.exec(`INSERT INTO t VALUES (${i})`);
    await t.advance(5000);
  }
  const rows = (): readonly Row[] => w.checker.contents(LIFECYCLE).filter((r) => /^u/.test(String(r[0])));
  assert.equal(rows().length, 6 + 6 + 7);
  t.time.step(-7_200_000);
  await t.exec('DROP INDEX j');
  await t.exec('DROP MATERIALIZED VIEW v');
  await t.advance(3000);
  assert.deepEqual(
    rows().map((r) => String(r[0])),
    Array.from({ length: 6 }, () => t.id('i')),
    'an orphan would be a row that was derived anew',
  );
  // At every timestamp the checker saw no count below zero, which a row that was never written would have left.
  await w.finish();
});

test('R15: rollups, blockers and readiness leave out logs, the system cluster and queries; the older relation keeps logs', async () => {
  const w = await openWatched({ workers: 2 });
  const { t } = w;
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)');
  await t.exec('CREATE TABLE slow (a int); INSERT INTO slow VALUES (1)');
  await t.advance(1000);
  const release = t.holdReads('slow');
  const query = t.start('SELECT count(*) FROM slow, t');
  await t.advance(1000);
  assert.equal(query.isDone, false, 'a query is under way, and is hydrating');
  const { lives } = t.env.instance(t.env.catalog.cluster('quickstart')!.id);
  const classes = new Set(lives.events().map((e) => /^[a-z]+/.exec(e.objectId)![0]));
  assert.deepEqual([...classes].sort(), ['si', 't', 'u'], 'the replica told of all of them');
  const ids = async (sql: string): Promise<unknown[]> => (await t.query(sql)).map((r) => r['id']);
  const rollup = 'SELECT object_id AS id FROM mz_internal.mz_compute_hydration_timestamps';
  assert.deepEqual(await ids(rollup), [t.id('i')]);
  assert.deepEqual(await ids('SELECT object_id AS id FROM mz_internal.mz_hydration_blockers'), []);
  assert.deepEqual(
    await t.query('SELECT cluster_id, hydrated, objects FROM mz_internal.mz_cluster_replica_hydration'),
    [{ cluster_id: t.env.catalog.cluster('quickstart')!.id, hydrated: true, objects: 1n }],
  );
  const logs = await ids(`SELECT DISTINCT export_id AS id FROM ${TIMES} WHERE export_id LIKE 'si%'`);
  assert.ok(logs.length > 5, 'its readers expect them');
  release();
  await query.result();
  await w.finish();
});
