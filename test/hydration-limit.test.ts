/** Blockers of what waits for a slot to hydrate, in the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readiness } from '../packages/tidemark/src/adapter/readiness.ts';
import { blockers, held, micros, replicas, rollup, short, watched } from './support/hydration-queries.ts';
import { onWorkers } from './support/on-workers.ts';

onWorkers(
  'L18: a limit of 0 pauses everything: the blocker names the setting; set back, it goes on',
  (workers) =>
    watched({ workers }, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
      await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 0');
      const created = micros(t);
      await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t; CREATE INDEX i ON t (a)');
      await t.advance(5000);
      const rows = await blockers(t);
      assert.deepEqual(short(rows), [
        ['v', 'installed', 'hydration_limit', null],
        ['i', 'installed', 'hydration_limit', null],
      ]);
      for (const r of rows) {
        const details = { setting: 'compute_hydration_concurrency', value: 0 };
        assert.deepEqual(JSON.parse(String(r['details'])), details);
        assert.ok(Number(r['since']) >= created && Number(r['since']) < created + 1_000_000, 'queue entry');
      }
      assert.partialDeepStrictEqual((await replicas(t))[0], { hydrated: false, reason: 'hydration_limit' });
      await t.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
      await t.advance(1000);
      assert.deepEqual(await blockers(t), []);
      assert.equal(readiness(t.env).ready, true);
    }),
);

onWorkers(
  'L20: one slot and its holder stuck: the next one shows who blocks it, other statements go on; then it goes',
  (workers) =>
    watched({ workers }, async (t) => {
      const release = await held(t);
      await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 1');
      await t.exec('CREATE MATERIALIZED VIEW first AS SELECT a FROM slow');
      await t.exec('CREATE MATERIALIZED VIEW second AS SELECT a FROM quick');
      await t.exec('CREATE MATERIALIZED VIEW third AS SELECT a + 1 AS a FROM quick');
      await t.advance(3000);
      assert.deepEqual(short(await blockers(t)), [
        ['first', 'started', 'computing', null],
        ['second', 'installed', 'hydration_limit', 'first'],
        ['third', 'installed', 'hydration_limit', 'first'],
      ]);
      assert.deepEqual(await t.query('SELECT a FROM quick'), [{ a: 1 }], 'queries pass');
      await t.exec('DROP MATERIALIZED VIEW first');
      await t.advance(1000);
      assert.deepEqual(await blockers(t), []);
      for (const r of await t.query(`SELECT installed_at, started_at, hydrated_at
      FROM mz_internal.mz_compute_hydration_timestamps`)) {
        assert.ok(Number(r['started_at']) - Number(r['installed_at']) > 2_900_000, 'the queue counted');
        assert.ok(Number(r['hydrated_at']) - Number(r['started_at']) < 500_000);
      }
      release();
      await t.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
    }),
);

test('who holds the slot changes: those in the queue say so', () =>
  watched({ workers: 1 }, async (t) => {
    const release = await held(t);
    await t.exec('CREATE TABLE slow2 (a int); INSERT INTO slow2 VALUES (1)');
    const release2 = t.holdReads('slow2');
    await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 1');
    await t.exec(
      'CREATE INDEX first ON slow (a); CREATE INDEX second ON slow2 (a); CREATE INDEX third ON quick (a)',
    );
    await t.advance(1000);
    const third = async (): Promise<unknown> =>
      (await blockers(t, `b.object_id = '${t.id('third')}'`))[0]!['blocked_by'];
    assert.equal(await third(), 'first');
    release();
    await t.advance(1000);
    assert.equal(await third(), 'second');
    release2();
    await t.advance(1000);
    assert.deepEqual(await blockers(t), []);
    await t.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
  }));

onWorkers(
  'L05: while the only slot is taken, what shares a hydrated index is done and what reads one waits its turn; install, start and computed are all there',
  (workers) =>
    watched({ workers }, async (t) => {
      const release = await held(t);
      await t.exec('CREATE VIEW v AS SELECT a FROM quick WHERE a > 0; CREATE INDEX i ON v (a)');
      await t.advance(1000);
      await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 1');
      await t.exec('CREATE MATERIALIZED VIEW stuck AS SELECT a FROM slow; CREATE INDEX j ON v (a)');
      await t.exec('CREATE VIEW over AS SELECT a + 1 AS b FROM v; CREATE INDEX k ON over (b)');
      await t.advance(2000);
      assert.deepEqual(short(await blockers(t)), [
        ['stuck', 'started', 'computing', null],
        ['k', 'installed', 'hydration_limit', 'stuck'],
      ]);
      const j = await rollup(t, 'j');
      assert.equal(j!['started_at'], j!['installed_at'], 'it waited for nothing');
      release();
      await t.advance(2500);
      assert.deepEqual(await blockers(t), []);
      const k = await rollup(t, 'k');
      assert.ok(Number(k!['started_at']) - Number(k!['installed_at']) > 1_900_000, 'it waited for the slot');
      for (const name of ['j', 'k']) {
        // That they stand in order is looked at as they are written.
        const log =
          await t.query(`SELECT event, count(*) AS n FROM mz_introspection.mz_compute_lifecycle_events_per_worker
          WHERE export_id = '${t.id(name)}' GROUP BY event ORDER BY event`);
        const n = BigInt(workers);
        assert.deepEqual(
          log,
          ['hydrated', 'installed', 'started'].map((event) => ({ event, n })),
          name,
        );
      }
      await t.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
    }),
);
