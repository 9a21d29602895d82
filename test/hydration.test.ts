/** Why is it not ready: blockers and rollups, in the simulator, one fault a test. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readiness } from '../packages/tidemark/src/adapter/readiness.ts';
import type { Command } from '../packages/tidemark/src/compute/protocol.ts';
import { batchOf } from '../packages/tidemark/src/repr/rows.ts';
import { type } from '../packages/tidemark/src/repr/types.ts';
import type { FileReader } from '../packages/tidemark/src/storage/file-source.ts';
import type { TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import {
  blockers,
  held,
  micros,
  missing,
  replicas,
  rollup,
  short,
  watched,
} from './support/hydration-queries.ts';
import { onWorkers } from './support/on-workers.ts';

onWorkers('computing, waiting for an index that computes, and done', (workers) =>
  watched({ workers }, async (t) => {
    const release = await held(t);
    await t.exec('CREATE INDEX i ON slow (a); CREATE MATERIALIZED VIEW v AS SELECT a FROM slow');
    await t.exec('CREATE MATERIALIZED VIEW w AS SELECT a FROM quick; CREATE INDEX j ON quick (a)');
    await t.advance(1000);
    assert.deepEqual(short(await blockers(t)), [
      ['i', 'started', 'computing', null],
      ['v', 'installed', 'waiting_for_inputs', 'i'],
    ]);
    assert.deepEqual(missing(t), [
      'i on replica quickstart.r1: started, computing',
      'v on replica quickstart.r1: installed, waiting_for_inputs (waits for i)',
    ]);
    release();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
    assert.equal(readiness(t.env).ready, true);
  }),
);

onWorkers(
  'L19: a view that is created while its input is held has its blocker at once, before the log has its row',
  (workers) =>
    watched({ workers }, async (t) => {
      await held(t);
      await t.exec('CREATE INDEX i ON slow (a)');
      const created = micros(t);
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM slow');
      const [row] = await blockers(t, `b.object_id = '${t.id('v')}'`);
      assert.ok(['installing', 'waiting_for_inputs'].includes(String(row!['reason'])));
      assert.ok(Number(row!['since']) >= created - 1000);
      // An interval of the log, and the time that it takes to be complete.
      await t.advance(1100);
      const [later] = await blockers(t, `b.object_id = '${t.id('v')}'`);
      assert.deepEqual([later!['reason'], later!['blocked_by']], ['waiting_for_inputs', 'i']);
      assert.equal(later!['since'], (await rollup(t, 'v'))!['installed_at'], 'since it was installed');
      const log = 'mz_introspection.mz_compute_lifecycle_events_per_worker';
      const logged = await t.query(`SELECT DISTINCT event FROM ${log} WHERE export_id = '${t.id('v')}'`);
      assert.deepEqual(logged, [{ event: 'installed' }]);
      await t.exec('DROP TABLE slow CASCADE');
    }),
);

onWorkers(
  'L27: one of five objects is stuck: the replica is not hydrated, and it is named, with how long',
  (workers) =>
    watched({ workers }, async (t) => {
      const release = await held(t);
      for (let i = 0; i < 4; i++)
        await t.exec(`CREATE MATERIALIZED VIEW q${i} AS SELECT a + ${i} AS a FROM quick`);
      await t.exec('CREATE MATERIALIZED VIEW stuck AS SELECT a FROM slow');
      await t.advance(60_000);
      const [r] = await replicas(t);
      assert.partialDeepStrictEqual(r, {
        hydrated: false,
        reason: 'computing',
        objects: 5n,
        hydrated_objects: 4n,
        hydrated_at: null,
        written_at: null,
        slowest: 'stuck',
      });
      const [b] = await blockers(t);
      assert.ok(micros(t) - Number(b!['since']) > 59_000_000, 'a minute');
      assert.deepEqual(missing(t), ['stuck on replica quickstart.r1: started, computing']);
      release();
      await t.advance(1000);
      const [done] = await replicas(t);
      assert.partialDeepStrictEqual(done, { hydrated: true, reason: null, slowest: 'stuck' });
      const stuck = await rollup(t, 'stuck');
      assert.equal(done!['hydrated_at'], stuck!['hydrated_at']);
      assert.equal(done!['written_at'], stuck!['written_at']);
    }),
);

test('one worker that stands still: the object is not installed, and the rollup does not claim it', () =>
  watched({ workers: 4 }, async (t) => {
    await held(t);
    const release = t.stallWorker(3);
    const created = t.start('CREATE INDEX i ON quick (a)');
    await t.advance(3000);
    const [b] = await blockers(t);
    assert.partialDeepStrictEqual(b, { name: 'i', stage: null, reason: 'installing' });
    assert.deepEqual(JSON.parse(String(b!['details'])), { workers: 4, installed: 3 });
    assert.equal((await rollup(t, 'i'))!['hydrated_at'], null);
    release();
    await created.result();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
    const done = await rollup(t, 'i');
    assert.notEqual(done!['hydrated_at'], null);
    await t.exec('DROP TABLE slow CASCADE');
  }));

test('a view that is computed and whose append is held is writing; it is ready all the same', () =>
  watched({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const go = [t.stallWorker(0), t.stallWorker(1)];
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    const release = t.holdAppends('v');
    for (const f of go) f();
    await t.advance(2000);
    const [b] = await blockers(t);
    assert.deepEqual(short([b!]), [['v', 'hydrated', 'writing', null]]);
    const before = await rollup(t, 'v');
    assert.deepEqual([b!['since'], before!['written_at']], [before!['hydrated_at'], null]);
    assert.deepEqual(missing(t), []);
    release();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
    const after = await rollup(t, 'v');
    assert.ok(Number(after!['written_at']) - Number(after!['hydrated_at']) > 1_900_000);
  }));

const readOnly = (c: Command): Command =>
  c.kind === 'createDataflow' && c.dataflow.sinkExports.length > 0
    ? { ...c, dataflow: { ...c.dataflow, mayWrite: false } }
    : c;

test('a view without permission is read_only, since it was blocked; with it, it is written and done', () =>
  watched({ workers: 2, onCommand: readOnly }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    await t.advance(3000);
    const [b] = await blockers(t);
    assert.deepEqual(short([b!]), [['v', 'write_blocked', 'read_only', null]]);
    assert.ok(Number(b!['since']) >= Number((await rollup(t, 'v'))!['hydrated_at']));
    assert.deepEqual(missing(t), [], 'readiness lists neither read_only nor writing');
    const [r] = await replicas(t);
    assert.partialDeepStrictEqual(r, { hydrated: true, written_at: null });
    const release = t.holdAppends('v');
    t.sendTo('quickstart', { kind: 'allowWrites', id: t.id('v') });
    await t.advance(1000);
    assert.deepEqual(short(await blockers(t)), [['v', 'write_unblocked', 'writing', null]]);
    release();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
  }));

test('a lost replica: every object says so, with the stage it had, and nothing of the previous life is shown', () =>
  watched({ workers: 2 }, async (t) => {
    const release = await held(t);
    await t.exec('CREATE INDEX i ON quick (a); CREATE INDEX s ON slow (a)');
    await t.advance(1000);
    const lost = micros(t);
    await t.crash();
    const rows = await blockers(t);
    assert.deepEqual(short(rows), [
      ['i', 'hydrated', 'replica_lost', null],
      ['s', 'started', 'replica_lost', null],
    ]);
    for (const r of rows) assert.ok(Math.abs(Number(r['since']) - lost) < 10_000);
    assert.equal((await rollup(t, 'i'))!['installed_at'], null);
    assert.partialDeepStrictEqual((await replicas(t))[0], { hydrated: false, reason: 'replica_lost' });
    await t.connected();
    release();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
  }));

for (const sign of [1, -1])
  onWorkers(
    `L03: clocks of workers and environment that differ by ${sign * 5} seconds, one ahead and one behind, lose no rollup, and no interval is negative`,
    (workers) => {
      const skewMs = Array.from({ length: workers }, (_, i) => (i % 2 === 0 ? sign : -sign) * 5000);
      return watched({ workers, skewMs }, async (t) => {
        await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
        await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t; CREATE INDEX i ON t (a)');
        await t.advance(1000);
        assert.deepEqual(await blockers(t), []);
        for (const name of ['v', 'i']) {
          const r = await rollup(t, name);
          assert.ok(r !== undefined && r['installed_at'] !== null && r['started_at'] !== null, name);
          assert.notEqual(r['hydrated_at'], null, name);
        }
        const v = await rollup(t, 'v');
        assert.ok((v!['written_at'] as bigint) >= (v!['hydrated_at'] as bigint), 'never before computed');
        assert.partialDeepStrictEqual((await replicas(t))[0], { hydrated: true, hydrated_objects: 2n });
        await t.advance(12_000);
        const history =
          await t.query(`SELECT object_id, queue_ns >= 0 AND compute_ns >= 0 AND coalesce(blocked_ns, 0) >= 0
          AND coalesce(write_ns, 0) >= 0 AS clamped FROM mz_internal.mz_object_hydration_history ORDER BY 1`);
        assert.deepEqual(
          history,
          ['v', 'i'].map((name) => ({ object_id: t.id(name), clamped: true })),
        );
      });
    },
  );

onWorkers(
  'L26: what has nothing to restore is done, after a restart too: over a table that is empty, one that was never written, a source without rows, what is complete for ever',
  async (workers) => {
    const columns = [{ name: 'a', type: type('int4'), nullable: true }];
    const files: FileReader = {
      describe: async () => ({ desc: { columns, keys: [] }, rowsKnown: 0, bytes: 0 }),
      read: async () => undefined,
    };
    await watched({ workers, files }, async (t) => {
      await t.exec('CREATE TABLE never (a int); CREATE INDEX i ON never (a)');
      await t.exec('CREATE TABLE emptied (a int); INSERT INTO emptied VALUES (1); DELETE FROM emptied');
      await t.exec(
        "CREATE INDEX j ON emptied (a); CREATE SOURCE s FROM FILE 'empty.csv'; CREATE INDEX l ON s (a)",
      );
      await t.exec('CREATE MATERIALIZED VIEW c AS SELECT 1 AS a; CREATE INDEX k ON c (a)');
      for (const restart of [false, true]) {
        if (restart) await t.restart();
        await t.advance(3000);
        assert.deepEqual(await blockers(t), []);
        assert.deepEqual(
          missing(t, { maxLagMs: 0 }),
          [],
          'a constant has no lag, and neither has what keeps up',
        );
        assert.partialDeepStrictEqual((await replicas(t))[0], {
          ...{ hydrated: true, objects: 5n, hydrated_objects: 5n },
        });
        const hydrated = await t.query(`SELECT export_id, count(*) AS n FROM
          mz_introspection.mz_compute_lifecycle_events_per_worker WHERE event = 'hydrated' AND export_id LIKE 'u%'
          GROUP BY export_id ORDER BY export_id`);
        // After the restart nothing computes what is sealed.
        const names = restart ? ['i', 'j', 'l', 'k'] : ['i', 'j', 'l', 'c', 'k'];
        assert.deepEqual(
          hydrated,
          names.map((name) => ({ export_id: t.id(name), n: BigInt(workers) })),
        );
      }
    });
  },
);

onWorkers(
  'L29: a view that refreshes once is sealed: done also after a restart, without instants, and holds nothing',
  (workers) =>
    watched({ workers }, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
      await t.exec('CREATE MATERIALIZED VIEW once WITH (REFRESH AT CREATION) AS SELECT count(*) AS n FROM t');
      await t.advance(2000);
      assert.deepEqual(await blockers(t), []);
      const before = t.env.collections.since(t.id('t'));
      for (let i = 0; i < 20; i++) await t.exec(`INSERT INTO t VALUES (${i})`);
      await t.advance(20_000);
      assert.ok(t.env.collections.since(t.id('t')) > before, 'its input compacts on');
      await t.restart();
      await t.advance(1000);
      assert.deepEqual(await blockers(t), []);
      assert.equal(readiness(t.env).ready, true);
      assert.partialDeepStrictEqual(await rollup(t, 'once'), { installed_at: null, hydrated_at: null });
      assert.partialDeepStrictEqual((await replicas(t))[0], {
        hydrated: true,
        objects: 1n,
        hydrated_objects: 1n,
      });
    }),
);

test('nothing of it needs the log: with introspection off it says the same', () =>
  watched({ workers: 1 }, async (t) => {
    await t.exec("CREATE CLUSTER quiet (SIZE '2', INTROSPECTION INTERVAL 0); SET cluster = quiet");
    const release = await held(t);
    await t.exec('CREATE INDEX i ON slow (a); CREATE MATERIALIZED VIEW v AS SELECT a FROM slow');
    await t.advance(1000);
    assert.deepEqual(short(await blockers(t)), [
      ['i', 'started', 'computing', null],
      ['v', 'installed', 'waiting_for_inputs', 'i'],
    ]);
    release();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
    assert.partialDeepStrictEqual(await replicas(t, 'quiet'), [{ hydrated: true, objects: 2n }]);
    await t.exec('DROP TABLE slow CASCADE; DROP CLUSTER quiet; SET cluster = quickstart');
  }));

test('a thousand objects that hydrate cause a handful of commits, not one each', () =>
  watched({ workers: 1 }, async (t) => {
    await t.exec('CREATE TABLE t (a int)');
    for (let i = 0; i < 30; i++) await t.exec(`CREATE INDEX i${i} ON t (a)`);
    await t.advance(2000);
    const commits = { before: 0, during: 0 };
    const stop = t.env.collections.onUpper((id) => {
      if (id === t.id('t')) commits.during++;
    });
    await t.crash();
    await t.connected();
    await t.advance(1000);
    stop();
    assert.deepEqual(await blockers(t), []);
    // 30 objects went through replica_lost, installing, computing, done: the clock ticks by itself meanwhile.
    assert.ok(commits.during <= 12, `${commits.during} commits`);
  }));

test('an unreadable part: the object has failed, with the error; what reads its index waits for it; readable again, all is done', () =>
  watched({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const repair = t.breakReads('t');
    const created = micros(t);
    await t.exec('CREATE INDEX i ON t (a); CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    for (let i = 0; i < 10; i++) {
      await t.advance(1000);
      const rows = await blockers(t);
      assert.deepEqual(
        rows.map((r) => [r['name'], r['reason'], r['blocked_by']]),
        [
          ['i', 'failed', null],
          ['v', 'waiting_for_inputs', 'i'],
        ],
        `after ${i + 1} s, through every retry`,
      );
      assert.match(String(rows[0]!['details']), /the disk is broken/);
      assert.ok(Number(rows[0]!['since']) > created);
    }
    assert.equal((await rollup(t, 'i'))!['hydrated_at'], null);
    repair();
    await t.advance(35_000);
    assert.deepEqual(await blockers(t), []);
    assert.equal(readiness(t.env).ready, true);
  }));

test('the next episode of what failed: until a worker has told of it, nothing of the last one is shown', () =>
  watched({ workers: 1 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const repair = t.breakReads('t');
    await t.exec('CREATE INDEX i ON t (a)');
    for (let failed = false; !failed; ) {
      await t.advance(50);
      failed = (await blockers(t)).some((r) => r['reason'] === 'failed');
    }
    assert.notEqual((await rollup(t, 'i'))!['started_at'], null);
    const goOn = t.stallWorker(0);
    await t.advance(1000);
    const { installed_at, started_at } = (await rollup(t, 'i'))!;
    assert.deepEqual([installed_at, started_at], [null, null]);
    goOn();
    repair();
    await t.advance(35_000);
    assert.deepEqual(await blockers(t), []);
  }));

test('a generation that stands by: its views are read_only, it is ready; once promoted they are done', () =>
  watched({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t; CREATE INDEX i ON t (a)');
    await t.advance(1000);
    const candidate = await t.standby({ workers: 2 });
    await candidate.caughtUp();
    await candidate.advance(1000);
    assert.deepEqual(short(await blockers(candidate)), [['v', 'write_blocked', 'read_only', null]]);
    assert.deepEqual(await blockers(t), []);
    assert.equal(readiness(candidate.env).ready, true);
    await candidate.close();
    await t.exec('DROP TABLE t CASCADE');
  }));

onWorkers(
  'L15: two replicas: one query gives the verdict of each, a constant view has no part in the lag',
  (workers) =>
    watched({ workers }, async (t) => {
      const release = await held(t);
      await t.exec(
        'CREATE MATERIALIZED VIEW one AS SELECT 1 AS a; CREATE MATERIALIZED VIEW v AS SELECT a FROM quick',
      );
      await t.exec('CREATE INDEX i ON slow (a)');
      await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 2)');
      await t.advance(3000);
      const verdicts = `SELECT r.name, h.hydrated, h.reason, h.objects, h.hydrated_objects, o.name AS slowest
        FROM mz_internal.mz_cluster_replica_hydration h
        JOIN mz_catalog.mz_cluster_replicas r ON r.id = h.replica_id
        LEFT JOIN mz_catalog.mz_objects o ON o.id = h.slowest_object_id ORDER BY r.name`;
      const late = { hydrated: false, reason: 'computing', objects: 3n, hydrated_objects: 2n, slowest: 'i' };
      assert.deepEqual(await t.query(verdicts), [
        { name: 'r1', ...late },
        { name: 'r2', ...late },
      ]);
      assert.equal((await blockers(t)).length, 2, 'a row for each replica');
      assert.equal((await t.query('SELECT * FROM mz_internal.mz_compute_hydration_timestamps')).length, 6);
      release();
      await t.advance(1000);
      assert.deepEqual(await blockers(t), []);
      for (const r of await t.query(verdicts))
        assert.partialDeepStrictEqual(r, { hydrated: true, reason: null });
      // Only the one that is lost says so, and only it has to prove itself.
      await t.crash();
      assert.deepEqual(
        (await t.query(verdicts)).map((r) => [r['name'], r['hydrated'], r['reason']]),
        [
          ['r1', false, 'replica_lost'],
          ['r2', true, null],
        ],
      );
      await t.connected();
      await t.advance(2000);
      const { missing: left } = readiness(t.env);
      assert.deepEqual(
        left.map((m) => [m.replicaId, m.reason]),
        [[t.replicaOf().id, 'unstable']],
      );
      await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 1)');
      assert.equal((await t.query('SELECT * FROM mz_internal.mz_compute_hydration_timestamps')).length, 3);
      assert.equal((await t.query(verdicts)).length, 1);
    }),
);

onWorkers(
  'L21: a view over a source that has not delivered is not computed, and names the source; once that is loaded, it is',
  async (workers) => {
    const { promise: delivered, resolve: deliver } = Promise.withResolvers<void>();
    const columns = [{ name: 'a', type: type('int4'), nullable: true }];
    const files: FileReader = {
      describe: async () => ({ desc: { columns, keys: [] }, rowsKnown: 2, bytes: 10 }),
      async read(_, __, onBatch) {
        await delivered;
        await onBatch(batchOf([type('int4')], [[1], [2]]), { rowsRead: 2, bytesRead: 10 });
      },
    };
    await watched({ workers, files }, async (t) => {
      await t.exec("CREATE SOURCE s FROM FILE 'orders.csv'; CREATE MATERIALIZED VIEW v AS SELECT a FROM s");
      await t.advance(20_000);
      const [b] = await blockers(t);
      assert.deepEqual(short([b!]), [['v', 'installed', 'waiting_for_inputs', 's']]);
      assert.equal((await rollup(t, 'v'))!['hydrated_at'], null);
      assert.equal(readiness(t.env).ready, false);
      deliver();
      await t.advance(3000);
      assert.deepEqual(await blockers(t), []);
      assert.equal(readiness(t.env).ready, true);
      assert.deepEqual(await t.query('SELECT count(*) AS n FROM v'), [{ n: 2n }]);
    });
  },
);

test('in a transaction the relations are read at one time, and go on after it', () =>
  watched({ workers: 1 }, async (t) => {
    const release = await held(t);
    await t.exec('CREATE INDEX i ON slow (a)');
    await t.advance(1000);
    const reader = t.session();
    const read = (): Promise<readonly TestRow[]> =>
      t.start('SELECT * FROM mz_internal.mz_hydration_blockers', reader).result();
    await t.start('BEGIN', reader).result();
    const first = await read();
    assert.equal(first.length, 1);
    release();
    await t.advance(3000);
    assert.deepEqual(await read(), first);
    await t.start('COMMIT', reader).result();
    assert.deepEqual(await read(), []);
    reader.close();
  }));
