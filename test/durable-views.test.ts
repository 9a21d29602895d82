/** When a view counts as computed, and when as durable. In the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const STAGES = 'mz_introspection.mz_compute_lifecycle_events_per_worker';
const HISTORY = 'mz_internal.mz_object_hydration_history';

async function withTest(workers: number, body: (t: TestEnvironment) => Promise<void>): Promise<void> {
  const t = await openTest({ workers });
  await body(t);
  await t.close();
}

test('L01: a view whose shard has data is not hydrated before its rows are processed again, nor written', () =>
  withTest(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (2000), (30)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t, generate_series(1, t.a)');
    assert.deepEqual(await t.query('SELECT n FROM v'), [{ n: 2030n }]);
    const release = t.holdReads('t');
    await t.crash();
    await t.connected();
    await t.advance(5000);
    const events = `SELECT DISTINCT event FROM ${STAGES} WHERE export_id = '${t.id('v')}' ORDER BY 1`;
    assert.deepEqual(await t.query(events), [{ event: 'installed' }, { event: 'started' }]);
    release();
    await t.advance(3000);
    const [row] = await t.query(`SELECT hydrated_at <= written_at AS ordered, compute_ns >= 5000000000 AS late
      FROM ${HISTORY} WHERE object_id = '${t.id('v')}' ORDER BY installed_at DESC LIMIT 1`);
    assert.deepEqual(row, { ordered: true, late: true });
  }));

test('L04: twenty views with slow shards: one worker says written, for each once, when it is durable', () =>
  withTest(4, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 100)');
    const release = [t.holdReads('t')];
    const views = Array.from({ length: 20 }, (_, i) => `v${i}`);
    for (const [i, v] of views.entries())
      await t.exec(
        `CREATE MATERIALIZED VIEW ${v} AS SELECT a % ${i + 2} AS k, count(*) AS n FROM t GROUP BY 1`,
      );
    await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 20');
    const appends = views.map((v) => t.holdAppends(v));
    for (const f of release) f();
    await t.advance(2500);
    const written = `SELECT export_id, count(*) AS n FROM ${STAGES} WHERE event = 'written' GROUP BY 1`;
    assert.deepEqual(await t.query(written), []);
    for (const f of appends) f();
    await t.advance(3000);
    const rows = await t.query(written);
    assert.deepEqual([rows.length, rows.every((r) => r['n'] === 1n)], [20, true]);
    const slow = await t.query(`SELECT count(*) AS n FROM ${HISTORY} WHERE write_ns >= 2000000000`);
    assert.deepEqual(slow, [{ n: 20n }]);
  }));

test('L25: the log and the histories answer while a table is being compacted', () =>
  withTest(1, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const release = t.holdReads('t');
    for (let i = 0; i < 40; i++) await t.exec(`INSERT INTO t SELECT generate_series(1, ${i + 1})`);
    let done = false;
    const compaction = t.env.collections
      .shard(t.id('t'))
      .maintain()
      .then(() => {
        done = true;
      });
    const [{ n }] = (await t.query(
      `SELECT count(*) AS n FROM ${STAGES} WHERE export_id = '${t.id('i')}'`,
    )) as [{ n: bigint }];
    assert.equal(n, 3n);
    assert.equal((await t.query(`SELECT status FROM ${HISTORY}`)).length, 1);
    const wasUnderWay = !done;
    release();
    await t.settle(compaction);
    assert.ok(wasUnderWay, 'the compaction waited for the disk meanwhile');
  }));
