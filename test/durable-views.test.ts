/** When a view counts as computed, and when as durable. In the simulator. */
import assert from 'node:assert/strict';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { onWorkers } from './support/on-workers.ts';

const STAGES = 'mz_introspection.mz_compute_lifecycle_events_per_worker';
const HISTORY = 'mz_internal.mz_object_hydration_history';

async function withTest(workers: number, body: (t: TestEnvironment) => Promise<void>): Promise<void> {
  const t = await openTest({ workers });
  await body(t);
  await t.close();
}

for (const [kind, schedule] of [
  ['', ''],
  [' refreshed once a day', "WITH (REFRESH EVERY '1 day')"],
] as const)
  onWorkers(
    `L01: a view${kind} whose shard has data is not hydrated before its rows are processed again, nor written before that`,
    (workers) =>
      withTest(workers, async (t) => {
        await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (20000), (30)');
        await t.exec(
          `CREATE MATERIALIZED VIEW v ${schedule} AS SELECT count(*) AS n FROM t, generate_series(1, t.a)`,
        );
        assert.deepEqual(await t.query('SELECT n FROM v'), [{ n: 20_030n }]);
        const release = t.holdReads('t');
        await t.crash();
        await t.connected();
        const events = async (): Promise<readonly unknown[]> =>
          (await t.query(`SELECT event FROM ${STAGES} WHERE export_id = '${t.id('v')}' ORDER BY 1`)).map(
            (r) => r['event'],
          );
        const all = (event: string): readonly string[] => Array.from({ length: workers }, () => event);
        const begun = [...all('installed'), ...all('started')];
        await t.advance(2500);
        for (let s = 0; s < 3; s++) {
          assert.deepEqual(await events(), begun, 'its shard was past the as-of all along');
          await t.advance(1000);
        }
        release();
        await t.advance(3000);
        assert.deepEqual(await events(), [...all('hydrated'), ...begun, 'written']);
        const [row] =
          await t.query(`SELECT hydrated_at <= written_at AS ordered, compute_ns >= 5000000000 AS late
          FROM ${HISTORY} WHERE object_id = '${t.id('v')}' ORDER BY installed_at DESC LIMIT 1`);
        assert.deepEqual(row, { ordered: true, late: true });
        assert.deepEqual(await t.query('SELECT n FROM v'), [{ n: 20_030n }]);
      }),
  );

onWorkers(
  'L04: twenty views whose sinks are slow by two seconds: one worker says written, for each once, when it is durable',
  (workers) =>
    withTest(workers, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t SELECT generate_series(1, 100)');
      const release = t.holdReads('t');
      await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 20');
      const views = Array.from({ length: 20 }, (_, i) => `v${i}`);
      for (const [i, v] of views.entries())
        await t.exec(
          `CREATE MATERIALIZED VIEW ${v} AS SELECT a % ${i + 2} AS k, count(*) AS n FROM t GROUP BY 1`,
        );
      const slow = views.map((v) => t.slowAppends(v, 2000));
      release();
      const written = `SELECT export_id FROM ${STAGES} WHERE event = 'written'`;
      await t.advance(1500);
      assert.deepEqual(await t.query(written), [], 'computed, and not durable');
      await t.advance(5000);
      const rows = await t.query(written);
      assert.deepEqual(rows.map((r) => r['export_id']).sort(), views.map((v) => t.id(v)).sort());
      const early =
        await t.query(`SELECT w.export_id FROM ${STAGES} w JOIN ${STAGES} h ON h.export_id = w.export_id
        WHERE w.event = 'written' AND h.event = 'hydrated' AND w.occurred_at < h.occurred_at + INTERVAL '2 seconds'`);
      assert.deepEqual(early, [], 'two seconds after the last worker had computed it');
      const [history] = await t.query(`SELECT count(*) AS n FROM ${HISTORY} WHERE write_ns >= 2000000000`);
      assert.deepEqual(history, { n: 20n });
      for (const f of slow) f();
      // The last one of each view is still under way.
      await t.advance(2000);
    }),
);

onWorkers('L25: the log and the histories answer while a table is being compacted', (workers) =>
  withTest(workers, async (t) => {
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
    assert.equal(n, BigInt(3 * workers));
    assert.equal((await t.query(`SELECT status FROM ${HISTORY}`)).length, 1);
    const wasUnderWay = !done;
    release();
    await t.settle(compaction);
    assert.ok(wasUnderWay, 'the compaction waited for the disk meanwhile');
  }),
);

onWorkers(
  'a view that a restart finds without contents begins where its shard does, though the index that it reads begins earlier now',
  (workers) =>
    withTest(workers, async (t) => {
      await t.exec('CREATE MATERIALIZED VIEW c AS SELECT 1 AS a; CREATE INDEX ON c (a)');
      await t.advance(2000);
      const releases = Array.from({ length: workers }, (_, i) => t.stallWorker(i));
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a + 1 AS b FROM c');
      await t.crash();
      for (const release of releases) release();
      // The index is not there yet: this one begins where that may.
      await t.exec('CREATE MATERIALIZED VIEW w AS SELECT a + 2 AS b FROM c');
      await t.restart();
      await t.advance(3000);
      assert.deepEqual(await t.query('SELECT b FROM v'), [{ b: 2 }]);
      assert.deepEqual(await t.query('SELECT b FROM w'), [{ b: 3 }]);
    }),
);
