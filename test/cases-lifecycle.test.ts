/**
 * Faults that engines like this one have had with hydration, readiness and what survives, and what must hold of every lifecycle: the cases that
 * need more than their neighbours have. In the simulator on 1, 2 and 4 workers; one on worker threads, by the wire.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readiness } from '../packages/tidemark/src/adapter/readiness.ts';
import type { GlobalId } from '../packages/tidemark/src/base/ids.ts';
import { frontierOwner } from '../packages/tidemark/src/compute/frontier-owner.ts';
import type { Command } from '../packages/tidemark/src/compute/protocol.ts';
import type { TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { Subscribed } from '../packages/tidemark/src/testkit/subscribed.ts';
import type { TestOptions } from '../packages/tidemark/src/testkit/test-options.ts';
import { onWorkers } from './support/on-workers.ts';
import { openWatched, type Watched } from './support/watched.ts';
import { openWireDatabase, rowsOf } from './support/wire-database.ts';

const LIFECYCLE = 'mz_introspection.mz_compute_lifecycle_events_per_worker';

async function watched(
  options: TestOptions,
  body: (t: TestEnvironment, w: Watched) => Promise<void>,
): Promise<void> {
  const w = await openWatched(options);
  await body(w.t, w);
  await w.finish();
}

const eventsOf = async (t: TestEnvironment, id: GlobalId): Promise<readonly string[]> =>
  (await t.query(`SELECT event FROM ${LIFECYCLE} WHERE export_id = '${id}' ORDER BY occurred_at`)).map((r) =>
    String(r['event']),
  );

onWorkers(
  'however often a view refreshes, its log stays as it was, with at most three rows a worker and three more',
  (workers) => {
    const held: GlobalId[] = [];
    const onCommand = (c: Command): Command => {
      if (c.kind !== 'createDataflow' || !c.dataflow.name.endsWith('blocked')) return c;
      for (const s of c.dataflow.sinkExports) held.push(s.id);
      return { ...c, dataflow: { ...c.dataflow, mayWrite: false } };
    };
    return watched({ workers, onCommand }, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      for (const name of ['free', 'blocked'])
        await t.exec(
          `CREATE MATERIALIZED VIEW ${name} WITH (REFRESH EVERY '1 second') AS SELECT count(*) AS n FROM t`,
        );
      await t.advance(3000);
      assert.deepEqual(held, [t.id('blocked')]);
      for (const id of held) t.sendTo('quickstart', { kind: 'allowWrites', id });
      await t.advance(3000);
      const look = async (): Promise<readonly (readonly string[])[]> => [
        await eventsOf(t, t.id('free')),
        await eventsOf(t, t.id('blocked')),
      ];
      const first = await look();
      assert.deepEqual(
        first.map((events) => events.length),
        [3 * workers + 1, 3 * workers + 3],
      );
      for (let i = 0; i < 30; i++) {
        await t.exec(`INSERT INTO t VALUES (${i})`);
        await t.advance(1000);
      }
      assert.deepEqual(await look(), first);
      for (const name of ['free', 'blocked'])
        assert.ok(
          Number((await t.query(`SELECT n FROM ${name}`))[0]!['n']) > 25,
          `${name} went on refreshing`,
        );
    });
  },
);

for (const workers of [2, 4])
  test(`of many views each is written by one worker, the elected one, and not all by the same, on ${workers} workers`, () =>
    watched({ workers }, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      for (let i = 0; i < 16; i++)
        await t.exec(`CREATE MATERIALIZED VIEW v${i} AS SELECT a + ${i} AS a FROM t`);
      await t.advance(4000);
      const rows = await t.query(`SELECT export_id, worker_id FROM ${LIFECYCLE} WHERE event = 'written'`);
      assert.equal(rows.length, 16);
      for (const r of rows)
        assert.equal(Number(r['worker_id']), frontierOwner(r['export_id'] as GlobalId, workers));
      assert.equal(new Set(rows.map((r) => r['worker_id'])).size, workers, 'each worker has some');
    }));

onWorkers(
  'L06: what is constant has started when it is first seen, and has not waited: also in its history',
  (workers) =>
    watched({ workers }, async (t) => {
      const log = await t.settle(
        Subscribed.start(t.session(), `SUBSCRIBE (SELECT * FROM ${LIFECYCLE}) WITH (PROGRESS)`),
      );
      await t.exec(
        'CREATE MATERIALIZED VIEW k AS SELECT 1 AS a; CREATE VIEW c AS SELECT 2 AS a; CREATE INDEX i ON c (a)',
      );
      await t.advance(2500);
      await t.settle(log.completeBefore(t.time.nowMs() - 1000));
      log.close();
      for (const name of ['k', 'i']) {
        for (let worker = 0; worker < workers; worker++) {
          const seen = log.updates.filter(({ row }) => row[0] === t.id(name) && row[1] === String(worker));
          const first = seen.filter((u) => u.time === seen[0]?.time).map((u) => u.row[2]);
          assert.ok(first.includes('installed') && first.includes('started'), `${name} at first: ${first}`);
        }
        const rows =
          await t.query(`SELECT a.worker_id, b.occurred_at - a.occurred_at < INTERVAL '1 millisecond' AS at_once
          FROM ${LIFECYCLE} a JOIN ${LIFECYCLE} b ON a.export_id = b.export_id AND a.worker_id = b.worker_id
          WHERE a.export_id = '${t.id(name)}' AND a.event = 'installed' AND b.event = 'started'`);
        // The view may be sealed, and its dataflow gone with its inputs; its rows stay until it is dropped.
        assert.equal(rows.length, workers, name);
        assert.ok(rows.every((r) => r['at_once'] === true));
        const [history] =
          await t.query(`SELECT queue_ns < 1000000 AS at_once FROM mz_internal.mz_object_hydration_history
          WHERE object_id = '${t.id(name)}'`);
        assert.equal(history!['at_once'], true, name);
      }
    }),
);

test('L11: while a join hydrates on worker threads, its log is asked over and over, and answers', async () => {
  const db = await openWireDatabase({ workers: 'threads' });
  try {
    const [c, other] = [await db.client(), await db.client()];
    await c.query("CREATE CLUSTER busy (SIZE '2', INTROSPECTION INTERVAL '20ms'); SET cluster = busy");
    await other.query('SET cluster = busy');
    await c.query(
      'CREATE TABLE t (a int, b int); INSERT INTO t SELECT x, x % 3 FROM generate_series(1, 4000) AS g(x)',
    );
    await c.query(
      'CREATE MATERIALIZED VIEW v AS SELECT sum(x.a * y.a % 7) AS s FROM t x JOIN t y ON x.b = y.b AND x.a <> y.a',
    );
    const [[id]] = (await rowsOf(c, "SELECT id FROM mz_objects WHERE name = 'v'")) as [[string]];
    let [early, started] = [0, 0];
    for (;;) {
      const events = (await rowsOf(other, `SELECT event FROM ${LIFECYCLE} WHERE export_id = '${id}'`)).flat();
      if (events.filter((e) => e === 'hydrated').length === 2) break;
      early++;
      if (events.includes('started')) started++;
    }
    assert.ok(
      early >= 5 && started >= 3,
      `${early} answers before it was hydrated, ${started} after it began`,
    );
  } finally {
    await db.close();
  }
});

onWorkers(
  'L12: a crash at every point of ten views and ten indexes: what is shown is complete and of this life, or said not to be',
  (workers) =>
    watched({ workers }, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      const names = Array.from({ length: 10 }, (_, i) => [`v${i}`, `i${i}`]).flat();
      for (let i = 0; i < 10; i++)
        await t.exec(
          `CREATE MATERIALIZED VIEW v${i} AS SELECT a + ${i} AS a FROM t; CREATE INDEX i${i} ON v${i} (a)`,
        );
      const ids = names.map((n) => t.id(n)).sort();
      for (let round = 0; round < 3; round++) {
        await t.advance(3000 + round * 211);
        const crashed = t.time.nowMs() * 1000;
        await t.crash();
        let fresh = false;
        for (let step = 0; step < 14; step++) {
          // The pauses before it is connected again grow.
          if (step === 6) await t.connected();
          const rows = await t.query(`SELECT h.object_id, h.installed_at, s.hydrated, f.fresh, f.since
            FROM mz_internal.mz_compute_hydration_timestamps h
            JOIN mz_internal.mz_hydration_statuses s ON s.object_id = h.object_id AND s.replica_id = h.replica_id
            JOIN mz_internal.mz_introspection_freshness f ON f.replica_id = h.replica_id
            WHERE h.object_id LIKE 'u%' ORDER BY h.object_id`);
          for (const r of rows) {
            if (r['installed_at'] !== null) assert.ok(Number(r['installed_at']) >= crashed, 'of this life');
            if (r['fresh'] === false) assert.equal(r['hydrated'], false, 'not fresh, not hydrated');
          }
          fresh = rows.length > 0 && rows[0]!['fresh'] === true;
          const shown = rows.map((r) => r['object_id']).sort();
          if (fresh) assert.deepEqual(shown, ids, 'fresh is complete');
          await t.advance(150 + step * 40);
        }
        assert.ok(fresh, 'in the end it is fresh');
      }
    }),
);

onWorkers(
  'L20: behind a build that is stuck in the only slot, DDL goes on and a read that waits ends with its timeout',
  (workers) =>
    watched({ workers }, async (t) => {
      await t.exec(
        'CREATE TABLE slow (a int); INSERT INTO slow VALUES (1); CREATE TABLE t (a int); INSERT INTO t VALUES (2)',
      );
      await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 1');
      const release = t.holdReads('slow');
      await t.exec('CREATE MATERIALIZED VIEW stuck AS SELECT a FROM slow');
      await t.advance(500);
      const asked = t.time.nowMs();
      await t.exec('CREATE MATERIALIZED VIEW next AS SELECT a FROM t; CREATE TABLE u (a int); DROP TABLE u');
      assert.ok(t.time.nowMs() - asked < 2000, 'no statement waits for the slot');
      await t.advance(500);
      const [row] = await t.query(`SELECT reason, blocked_by FROM mz_internal.mz_hydration_blockers
        WHERE object_id = '${t.id('next')}'`);
      assert.deepEqual(row, { reason: 'hydration_limit', blocked_by: t.id('stuck') });
      await t.exec("SET statement_timeout = '1s'");
      const error = await t.failure('SELECT a FROM next');
      assert.deepEqual([error.sqlstate, t.time.nowMs() - asked < 4000], ['57014', true]);
      await t.exec('RESET statement_timeout');
      release();
      assert.deepEqual(await t.query('SELECT a FROM next'), [{ a: 2 }]);
      await t.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
    }),
);

onWorkers(
  'L28: a worker dies in the middle of a build with a query waiting: an error, and then nothing is busy',
  (workers) =>
    watched({ workers }, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      const release = t.holdReads('t');
      await t.exec('CREATE INDEX i ON t (a)');
      const waiting = t.start('SELECT a FROM t');
      await t.advance(500);
      await t.crash();
      await assert.rejects(waiting.result(), /replica .* was lost/);
      assert.equal(t.env.instance(t.env.catalog.cluster('quickstart')!.id).live.peeks, 0);
      await t.connected();
      await t.advance(3000);
      const again = t.start('SELECT a FROM t');
      await t.advance(1000);
      assert.equal(again.isDone, false, 'it waits for the rebuilt index');
      const turns = t.time.turns;
      await t.advance(20_000);
      const perSecond = (t.time.turns - turns) / 20;
      assert.ok(perSecond < 150 * workers, `${perSecond} turns in a second of waiting`);
      release();
      assert.deepEqual(await again.result(), [{ a: 1 }]);
      await t.advance(2000);
      assert.equal(readiness(t.env, { stableForMs: 1000 }).ready, true);
    }),
);

/** Records in the arrangements of an export, over all workers. */
async function recordsOf(t: TestEnvironment, id: GlobalId): Promise<number> {
  const [row] = await t.query(`SELECT count(*) AS n FROM mz_introspection.mz_arrangement_records_raw r
    JOIN mz_introspection.mz_dataflow_operator_dataflows_per_worker d ON d.id = r.operator_id AND d.worker_id = r.worker_id
    JOIN mz_introspection.mz_compute_exports_per_worker e ON e.dataflow_id = d.dataflow_id AND e.worker_id = r.worker_id
    WHERE e.export_id = '${id}'`);
  return Number(row!['n']);
}

onWorkers('L29: a view refreshed once holds nothing of a hundred thousand updates that follow', (workers) =>
  watched({ workers }, async (t) => {
    await t.exec(
      'CREATE TABLE t (k int, a int); INSERT INTO t SELECT x, 0 FROM generate_series(1, 1000) AS g(x)',
    );
    await t.exec('CREATE INDEX i ON t (k)');
    await t.exec('CREATE MATERIALIZED VIEW once WITH (REFRESH AT CREATION) AS SELECT sum(a) AS s FROM t');
    await t.advance(2000);
    const since = async (): Promise<number> => {
      const rows = await t.query(
        `SELECT read_frontier AS f FROM mz_internal.mz_frontiers WHERE object_id IN ('${t.id('t')}', '${t.id('i')}')`,
      );
      assert.equal(rows.length, 2);
      return Math.min(...rows.map((r) => Number(r['f'])));
    };
    const before = await since();
    const records: number[] = [];
    for (let i = 0; i < 100; i++) {
      await t.exec('UPDATE t SET a = a + 1');
      if (i % 10 === 9) await t.advance(3000);
      if (i % 50 !== 49) continue;
      await t.advance(12_000);
      records.push(await recordsOf(t, t.id('i')));
    }
    assert.ok((await since()) - before > 20_000, 'the read frontiers of its input move on');
    assert.ok(
      records[0]! < 40_000 && records[1]! <= records[0]! * 1.1,
      `of 200,000 changes of rows there are ${records.join(', then ')}`,
    );
    assert.deepEqual(await t.query('SELECT s::text FROM once'), [{ s: '0' }]);
  }),
);
