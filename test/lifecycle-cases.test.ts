/** Faults that engines like this one have had with hydration and its bookkeeping, kept as cases. In the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lifecycleEvents } from '../packages/tidemark/src/adapter/lifecycle-feed.ts';
import { readiness } from '../packages/tidemark/src/adapter/readiness.ts';
import type { LifecycleEvent } from '../packages/tidemark/src/controller/lives.ts';
import { ColumnBuilder } from '../packages/tidemark/src/repr/column.ts';
import type { TestEnvironment, TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { Subscribed } from '../packages/tidemark/src/testkit/subscribed.ts';
import { onWorkers } from './support/on-workers.ts';
import { openWatched, type Watched } from './support/watched.ts';

const LIFECYCLE = 'mz_introspection.mz_compute_lifecycle_events_per_worker';
const EXPORTS = 'mz_introspection.mz_compute_exports_per_worker';

async function watched(
  workers: number,
  body: (t: TestEnvironment, w: Watched) => Promise<void>,
): Promise<void> {
  const w = await openWatched({ workers });
  await body(w.t, w);
  await w.finish();
}

const errorCount = async (t: TestEnvironment, name: string): Promise<unknown> => {
  const sql = `SELECT count FROM mz_introspection.mz_compute_error_counts WHERE export_id = '${t.id(name)}'`;
  return (await t.query(sql)).map((r) => String(r['count']));
};

test('I03: views of distinct counts come and go, and the memory they took goes with them', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int, f int)');
    await t.exec(`INSERT INTO t VALUES ${Array.from({ length: 500 }, (_, i) => `(${i % 9}, ${i})`).join()}`);
    for (let i = 0; i < 10; i++) {
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a, count(DISTINCT f) AS n FROM t GROUP BY a');
      await t.advance(500);
      await t.exec('DROP MATERIALIZED VIEW v');
    }
    await t.advance(2000);
    assert.deepEqual(await t.orphans(), [], 'parts of dropped views are deleted');
    await t.exec('DROP TABLE t');
    await t.assertNothingLeft();
  }));

test('I04: a slow read of a replica that is dropped ends with an error, and holds nothing', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const release = t.holdReads('t');
    const reading = t.start('SELECT a FROM t');
    await t.advance(100);
    assert.equal(reading.isDone, false);
    assert.ok(t.env.collections.holds > 0);
    await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 0)');
    await assert.rejects(reading.result(), /replica .* was dropped/);
    assert.equal(t.env.collections.holds, 0);
    release();
    await t.exec('ALTER CLUSTER quickstart RESET (REPLICATION FACTOR)');
    assert.deepEqual(await t.query('SELECT a FROM t'), [{ a: 1 }]);
  }));

test('I07: what introspection says of living objects is the same after a restart of the environment', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX i ON t (a)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a');
    const look = async (): Promise<readonly TestRow[]> => {
      await t.advance(2500);
      return t.query(
        `SELECT l.export_id, l.worker_id, event, reason FROM ${LIFECYCLE} l, ${EXPORTS} e
         WHERE l.export_id = e.export_id AND l.worker_id = e.worker_id ORDER BY 1, 2, 3`,
      );
    };
    const before = await look();
    assert.ok(before.length > 13);
    await t.restart();
    assert.deepEqual(await look(), before);
  }));

test('I09: the error count follows the errors down to none', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int, b int); INSERT INTO t VALUES (0, 1), (0, 2), (0, 3), (1, 4)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT 1 / a AS q FROM t');
    for (const [n, b] of [
      [3, 1],
      [2, 2],
      [1, 3],
    ] as const) {
      await t.advance(2500);
      assert.deepEqual(await errorCount(t, 'v'), [String(n)]);
      await t.exec(`DELETE FROM t WHERE b = ${b}`);
    }
    await t.advance(2500);
    assert.deepEqual(await errorCount(t, 'v'), []);
  }));

test('a division by zero in one row fails reads of its view, and heals with the row', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (0), (2)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT 10 / a AS q FROM t; CREATE INDEX i ON v (q)');
    assert.equal((await t.failure('SELECT q FROM v')).sqlstate, '22012');
    await t.advance(2500);
    assert.deepEqual([await errorCount(t, 'v'), await errorCount(t, 'i')], [['1'], ['1']]);
    assert.equal(readiness(t.env).ready, true, 'errors are data: the view is as ready as any');
    await t.exec('DELETE FROM t WHERE a = 0');
    assert.deepEqual(await t.query('SELECT q FROM v'), [{ q: 5 }]);
    await t.advance(2500);
    assert.deepEqual([await errorCount(t, 'v'), await errorCount(t, 'i')], [[], []]);
  }));

test('I10: an unmatched retraction is an error that names the collection, never a negative count', () =>
  watched(1, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    const b = new ColumnBuilder('i32', 1);
    b.pushNumber(7);
    const batch = { length: 1, columns: [b.finish()], times: 0, diffs: -1 };
    await t.settle(
      t.env.group.write({ updates: new Map([[t.env.collections.shardOf(t.id('t')), [batch]]]) }),
    );
    for (const sql of [
      'SELECT * FROM t',
      'SELECT count(*) FROM t WHERE a = 7',
      'SELECT a, count(*) FROM t GROUP BY a',
    ]) {
      const error = await t.failure(sql);
      assert.match(error.message, /negative/, sql);
    }
  }));

onWorkers(
  'I15: a write is seen at once, by its session and by others, in the table and in its views',
  (workers) =>
    watched(workers, async (t) => {
      await t.exec(
        'CREATE TABLE t (a int); CREATE MATERIALIZED VIEW v AS SELECT a FROM t; CREATE INDEX i ON v (a)',
      );
      await t.exec('INSERT INTO t VALUES (1), (2)');
      for (const from of ['t', 'v']) {
        const sql = `SELECT count(*) AS n FROM ${from}`;
        assert.deepEqual(await t.query(sql), [{ n: 2n }]);
        assert.deepEqual(await t.start(sql).result(), [{ n: 2n }]);
      }
    }),
);

onWorkers(
  'L08: a view that is dropped while it is built takes its rows with it: in a subscribe they add up to none',
  (workers) =>
    watched(workers, async (t, w) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      const log = await t.settle(
        Subscribed.start(t.session(), `SUBSCRIBE (SELECT * FROM ${LIFECYCLE}) WITH (PROGRESS)`),
      );
      const release = t.holdReads('t');
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a');
      const id = t.id('v');
      await t.advance(2000);
      assert.ok(w.checker.exports.has(id));
      await t.exec('DROP MATERIALIZED VIEW v');
      await t.advance(2000);
      assert.ok(!w.checker.exports.has(id));
      release();
      await t.settle(log.completeBefore(t.time.nowMs() - 1000));
      const ofView = log.updates.filter((u) => u.row[0] === id);
      const added = ofView.filter((u) => u.diff > 0).map((u) => u.row[2]);
      assert.deepEqual(
        added.sort(),
        ['installed', 'started'].flatMap((event) => Array(workers).fill(event)),
      );
      assert.equal(
        ofView.reduce((sum, u) => sum + u.diff, 0),
        0,
      );
      // It asserts that none is there less than never.
      for (const { time } of log.updates) log.contents(time);
      log.close();
    }),
);

test('a life shorter than the interval leaves no trace in the log, and was reported', () =>
  watched(1, async (t, w) => {
    await t.exec('CREATE TABLE t (a int)');
    await t.advance(1000 - (t.time.nowMs() % 1000) + 50);
    const events: LifecycleEvent[] = [];
    const stop = t.env.clusters.onLifecycle((e) => events.push(e));
    await t.exec('CREATE INDEX i ON t (a)');
    const id = t.id('i');
    await t.advance(5);
    await t.exec('DROP INDEX i');
    await t.advance(2500);
    stop();
    assert.deepEqual(
      events.filter((e) => e.objectId === id).map((e) => e.stage),
      ['installed', 'started', 'hydrated'],
    );
    assert.ok(!w.checker.exports.has(id));
  }));

onWorkers('L11: the log answers while a view hydrates, and shows it', (workers) =>
  watched(workers, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const release = t.holdReads('t');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    await t.advance(1500);
    const asked = t.time.nowMs();
    const rows = await t.query(`SELECT event FROM ${LIFECYCLE} WHERE export_id = '${t.id('v')}'`);
    assert.ok(t.time.nowMs() - asked < 100, 'without waiting for the view or the interval');
    assert.ok(rows.length > 0 && !rows.some((r) => r['event'] === 'written'));
    const { ready, missing } = readiness(t.env, { cluster: 'quickstart' });
    assert.equal(ready, false);
    assert.deepEqual(
      missing.map((m) => [m.name, m.reason]),
      [['v', 'computing']],
    );
    release();
    await t.advance(1000);
    assert.equal(readiness(t.env, { cluster: 'quickstart' }).ready, true);
  }),
);

onWorkers(
  'L22, L23: a listener before, one in the middle and one after see every transition once and in order',
  (workers) =>
    watched(workers, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      const abort = new AbortController();
      const listen = (): LifecycleEvent[] => {
        const seen: LifecycleEvent[] = [];
        void (async () => {
          for await (const e of lifecycleEvents(t.env, {}, abort.signal)) seen.push(e);
        })();
        return seen;
      };
      const lists = [listen()];
      const stop = t.env.clusters.onLifecycle(() => {
        if (lists.length === 1) lists.push(listen());
      });
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
      await t.advance(2000);
      lists.push(listen());
      await t.advance(10);
      const expected = ['installed', 'started', 'hydrated'];
      for (const seen of lists) {
        for (let worker = 0; worker < workers; worker++) {
          const stages = seen.filter((e) => e.worker === worker).map((e) => e.stage);
          assert.deepEqual(
            stages.filter((s) => s !== 'written'),
            expected,
          );
        }
        assert.equal(seen.filter((e) => e.stage === 'written').length, 1);
        assert.equal(seen.at(-1)!.stage, 'written');
        assert.equal(seen.length, 3 * workers + 1);
      }
      stop();
      abort.abort();
    }),
);

onWorkers(
  'L28: whoever waits for an object whose worker dies gets an error; then it is built anew',
  (workers) =>
    watched(workers, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      const release = t.holdReads('t');
      await t.exec('CREATE INDEX i ON t (a)');
      const waiting = t.start('SELECT a FROM t');
      await t.advance(500);
      assert.equal(waiting.isDone, false);
      await t.crash();
      await assert.rejects(waiting.result(), /replica .* was lost/);
      assert.equal(readiness(t.env).missing[0]!.reason, 'replica_lost');
      release();
      await t.connected();
      assert.deepEqual(await t.query('SELECT a FROM t'), [{ a: 1 }]);
      await t.advance(2000);
      assert.equal(readiness(t.env, { stableForMs: 1000 }).ready, true);
    }),
);

onWorkers('L12: right after a crash the logs answer, with nothing of the previous life', (workers) =>
  watched(workers, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    for (let round = 0; round < 3; round++) {
      await t.advance(20_000);
      const crashed = t.time.nowMs() * 1000;
      await t.crash();
      await t.connected();
      const rows = await t.query(`SELECT occurred_at FROM ${LIFECYCLE}`);
      for (const r of rows) assert.ok(Number(r['occurred_at']) >= crashed, 'not of the previous life');
    }
  }),
);

test('a dropped index lives on for its importer, and its life is over for readers', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const release = t.holdReads('t');
    await t.exec('CREATE INDEX i ON t (a); CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    const id = t.id('i');
    await t.exec('DROP INDEX i');
    await t.advance(1000);
    release();
    await t.advance(2500);
    const { lives } = t.env.instance(t.env.catalog.cluster('quickstart')!.id);
    assert.deepEqual(
      [...lives.events()].filter((e) => e.objectId === id),
      [],
    );
    const exports = `SELECT * FROM ${EXPORTS} WHERE export_id = '${id}'`;
    assert.equal((await t.query(exports)).length, 2, 'held by the view');
    assert.deepEqual(await t.query('SELECT a FROM v'), [{ a: 1 }]);
    await t.exec('DROP MATERIALIZED VIEW v');
    await t.advance(2500);
    assert.deepEqual(await t.query(exports), []);
  }));

onWorkers(
  'a further index on a view reads the first one, counts the errors itself, and outlives it',
  (workers) =>
    watched(workers, async (t) => {
      await t.exec('CREATE TABLE t (a int, b int); INSERT INTO t VALUES (0, 1), (1, 2), (2, 2)');
      await t.exec('CREATE VIEW v AS SELECT 10 / a AS q, b FROM t; CREATE INDEX i ON v (q)');
      await t.exec('CREATE INDEX same ON v (q); CREATE INDEX other ON v (b)');
      const [i, same, other] = [t.id('i'), t.id('same'), t.id('other')];
      await t.advance(2500);
      const imports = await t.query(`SELECT DISTINCT export_id, import_id
      FROM mz_introspection.mz_compute_import_frontiers WHERE import_id = '${i}' ORDER BY 1`);
      assert.deepEqual(
        imports,
        [same, other].map((id) => ({ export_id: id, import_id: i })),
      );
      for (const name of ['i', 'same', 'other']) assert.deepEqual(await errorCount(t, name), ['1'], name);
      await t.exec('DELETE FROM t WHERE a = 0; DROP INDEX i; INSERT INTO t VALUES (5, 7)');
      for (const how of ['at once', 'after a restart', 'after a crash']) {
        if (how === 'after a restart') await t.restart();
        if (how === 'after a crash') await t.crash();
        await t.connected();
        assert.deepEqual(await t.query('SELECT b FROM v WHERE q = 2'), [{ b: 7 }], how);
        assert.deepEqual(await t.query('SELECT q FROM v WHERE b = 7'), [{ q: 2 }], how);
        await t.advance(2500);
        for (const name of ['same', 'other'])
          assert.deepEqual(await errorCount(t, name), [], `${name} ${how}`);
      }
    }),
);

test('interval 0: logs are there, complete and empty at once; readiness and the event stream go on', async () => {
  const w = await openWatched({});
  const { t } = w;
  await t.exec("CREATE CLUSTER quiet (SIZE '2', INTROSPECTION INTERVAL 0); SET cluster = quiet");
  await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
  const events: LifecycleEvent[] = [];
  const stop = t.env.clusters.onLifecycle((e) => events.push(e));
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
  const asked = t.time.nowMs();
  for (const round of [1, 2]) {
    assert.deepEqual(await t.query(`SELECT * FROM ${LIFECYCLE}`), [], `round ${round}`);
    assert.deepEqual(await t.query(`SELECT t.a FROM ${EXPORTS}, t`), []);
    await t.advance(15_000);
  }
  assert.ok(t.time.nowMs() - asked < 30_100, 'no read waited');
  assert.equal(readiness(t.env, { cluster: 'quiet' }).ready, true);
  assert.equal(events.filter((e) => e.objectId === t.id('v')).length, 7);
  stop();
  await t.exec('DROP TABLE t CASCADE; DROP CLUSTER quiet');
  await w.finish();
});

test('a transaction reads the logs at one time, also when it goes on for long', () =>
  watched(1, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(2000);
    await t.exec('BEGIN');
    const sql = `SELECT * FROM ${LIFECYCLE} ORDER BY export_id, event`;
    const first = await t.query(sql);
    await t.start('CREATE INDEX j ON t (a)').result();
    await t.advance(10_000);
    assert.deepEqual(await t.query(sql), first);
    await t.exec('COMMIT');
    assert.ok((await t.query(sql)).length > first.length);
  }));

test('a view that is dropped while its append is under way is no failure of anything', () =>
  watched(2, async (t, w) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    await t.advance(2000);
    const release = t.holdAppends('v');
    await t.exec('INSERT INTO t VALUES (2)');
    await t.advance(500);
    const stalls = [t.stallWorker(0), t.stallWorker(1)];
    await t.exec('DROP MATERIALIZED VIEW v');
    release();
    await t.advance(3000);
    for (const go of stalls) go();
    await t.advance(1000);
    assert.deepEqual(w.complaints, []);
  }));

test('a peek that waits is in the log on every worker, and is retired when it is cancelled', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const release = t.holdReads('t');
    await t.exec('CREATE INDEX i ON t (a)');
    const waiting = t.start('SELECT a FROM t');
    await t.advance(2500);
    const peeks = `SELECT object_id, type, worker_id FROM mz_introspection.mz_active_peeks_per_worker WHERE object_id = '${t.id('i')}'`;
    const rows = await t.query(peeks);
    assert.deepEqual(rows.map((r) => [r['type'], Number(r['worker_id'])]).sort(), [
      ['index', 0],
      ['index', 1],
    ]);
    waiting.cancel();
    await assert.rejects(waiting.result(), /canceling statement due to user request/);
    await t.advance(2500);
    assert.deepEqual(await t.query(peeks), []);
    release();
  }));

test('a cancel that the first statement of a text no longer hears ends the second', () =>
  watched(1, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const release = t.holdReads('t');
    const waiting = t.start('SET extra_float_digits = 1; SELECT a FROM t');
    waiting.cancel();
    await assert.rejects(waiting.result(), /canceling statement due to user request/);
    release();
  }));

test('a listener that comes late hears the past of several objects in the order in which it happened', () =>
  watched(2, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const heard: LifecycleEvent[] = [];
    const stop = t.env.clusters.onLifecycle((e) => {
      if (e.objectId.startsWith('u')) heard.push(e);
    });
    for (const name of ['v', 'w', 'x']) {
      await t.exec(`CREATE MATERIALIZED VIEW ${name} AS SELECT a FROM t`);
      await t.advance(300);
    }
    const past: LifecycleEvent[] = [];
    const abort = new AbortController();
    void (async () => {
      for await (const e of lifecycleEvents(t.env, {}, abort.signal)) past.push(e);
    })();
    await t.advance(10);
    assert.equal(heard.length, 21);
    assert.deepEqual(past, heard);
    stop();
    abort.abort();
  }));

test('a replica that is connected again repeats what it told: the listener hears it once; another life is another', () =>
  watched(1, async (t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const heard: LifecycleEvent[] = [];
    const abort = new AbortController();
    void (async () => {
      for await (const e of lifecycleEvents(t.env, {}, abort.signal)) heard.push(e);
    })();
    await t.advance(10);
    assert.equal(heard.length, 3);
    // What a reconnect does to the books: they begin anew, and the replica says everything again.
    const { lives } = t.env.instance(t.env.catalog.cluster('quickstart')!.id);
    const { id } = t.replicaOf();
    const told = [...lives.events()].filter((e) => e.objectId === t.id('i'));
    lives.forgetReplica(id, true);
    for (const { objectId, occurredAt, reason, stage, worker, asOf } of told)
      lives.receive(id, {
        ...{ kind: 'lifecycle', id: objectId, life: 1, worker, stage, occurredAt, asOf },
        reason: reason as 'commanded' | 'inputs_available' | null,
      });
    await t.advance(10);
    assert.equal(heard.length, 3, 'with the same instants it is no transition');
    await t.crash();
    await t.connected();
    await t.advance(1000);
    assert.equal(heard.length, 6);
    abort.abort();
  }));
