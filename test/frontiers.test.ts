/** Frontiers as SQL shows them: no further than the truth, at most a tick behind it, gone with what they are of. In the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { EMPTY } from '../packages/tidemark/src/time/timestamp.ts';

const frontiers = async (t: TestEnvironment): Promise<ReadonlyMap<unknown, readonly unknown[]>> => {
  const rows = await t.query('SELECT object_id, read_frontier, write_frontier FROM mz_internal.mz_frontiers');
  return new Map(rows.map((r) => [r['object_id'], [r['read_frontier'], r['write_frontier']]]));
};

const onReplicas = async (t: TestEnvironment): Promise<readonly string[]> => {
  const rows = await t.query(`SELECT o.name AS object, r.name AS replica, f.write_frontier
    FROM mz_cluster_replica_frontiers f JOIN mz_objects o ON o.id = f.object_id
    JOIN mz_cluster_replicas r ON r.id = f.replica_id ORDER BY 1, 2`);
  return rows.map((r) => `${r['object']} ${r['replica']}${r['write_frontier'] === null ? ' complete' : ''}`);
};

for (const workers of [1, 2, 4])
  test(`frontiers of every kind of object, on ${workers} workers`, async () => {
    const t = await openTest({ workers });
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.exec(
      "CREATE MATERIALIZED VIEW v AS SELECT a FROM t; CREATE MATERIALIZED VIEW k AS SELECT 'x' AS a",
    );
    await t.exec(`CREATE VIEW m AS SELECT 'n' AS name, '{}'::jsonb AS labels, count(*)::float8 AS value,
      'gauge' AS type, '' AS help FROM t; CREATE SINK s FROM m INTO METRICS`);
    await t.advance(5000);
    const now = t.time.nowMs();
    const shown = await frontiers(t);
    assert.deepEqual([...shown.keys()].sort(), ['t', 'i', 'v', 'k', 's'].map((n) => t.id(n)).sort());
    for (const name of ['t', 'i', 'v'] as const) {
      const [read, write] = shown.get(t.id(name)) as [number, number];
      assert.ok(read <= write && write <= now + 2 && write > now - 2200, `${name}: ${read} ${write} ${now}`);
    }
    assert.ok(Number(shown.get(t.id('t'))![1]) <= t.env.collections.upper(t.id('t')));
    assert.equal(shown.get(t.id('k'))![1], null, 'a constant is complete for ever');
    assert.equal(t.env.collections.upper(t.id('k')), EMPTY);
    assert.equal(shown.get(t.id('s'))![0], null, 'nobody reads a sink');
    assert.ok(Number(shown.get(t.id('s'))![1]) > now - 2200);
    assert.deepEqual(await onReplicas(t), ['i r1', 'k r1 complete', 's r1', 'v r1']);
    await t.advance(3000);
    const later = await frontiers(t);
    for (const name of ['t', 'i', 'v', 's'])
      assert.ok(Number(later.get(t.id(name))![1]) > Number(shown.get(t.id(name))![1]), `${name} goes on`);

    await t.exec('DROP INDEX i; DROP SINK s');
    assert.equal((await frontiers(t)).size, 3, 'rows go with their object, at once');
    assert.deepEqual(await onReplicas(t), ['k r1 complete', 'v r1']);
    await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 2)');
    await t.advance(3000);
    assert.deepEqual(
      (await onReplicas(t)).filter((r) => r.startsWith('v')),
      ['v r1', 'v r2'],
    );
    await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)');
    assert.deepEqual(
      (await onReplicas(t)).filter((r) => r.endsWith('r2')),
      [],
      'and with their replica',
    );
    await t.exec('DROP MATERIALIZED VIEW k; DROP VIEW m; DROP TABLE t CASCADE');
    assert.equal((await frontiers(t)).size, 0);
    await t.assertNothingLeft();
    await t.close();
  });

test('a replica that hangs is behind, and what it maintains with it; a lost one has no rows', async () => {
  const t = await openTest({ workers: 2 });
  await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
  await t.advance(3000);
  const go = t.stallWorker(1);
  await t.advance(5000);
  const shown = await frontiers(t);
  const [of, index] = [shown.get(t.id('t'))!, shown.get(t.id('i'))!];
  assert.ok(Number(of[1]) - Number(index[1]) > 3000, 'one worker is enough to hold an index back');
  go();
  await t.crash();
  await t.advance(0);
  await t.exec('INSERT INTO t VALUES (1)');
  await t.until(
    () => t.env.instance(t.env.catalog.cluster('quickstart')!.id).replicas.length > 0,
    'it is back',
  );
  await t.advance(3000);
  assert.deepEqual(await onReplicas(t), ['i r1']);
  const after = await frontiers(t);
  assert.ok(Number(after.get(t.id('t'))![1]) - Number(after.get(t.id('i'))![1]) < 2000);
  await t.close();
});

test('a subscribe of frontiers is told with each tick, and causes none', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int)');
  await t.advance(2500);
  let moves = 0;
  const stop = t.env.collections.onUpper((id) => {
    if (id === t.id('t')) moves++;
  });
  await t.advance(10_000);
  stop();
  assert.ok(moves >= 9 && moves <= 11, `${moves} commits in ten seconds of quiet`);
  await t.close();
});
