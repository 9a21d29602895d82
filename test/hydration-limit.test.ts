/** Blockers of what waits for a slot to hydrate, in the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readiness } from '../packages/tidemark/src/adapter/readiness.ts';
import { blockers, held, micros, replicas, rollup, short, watched } from './support/hydration-queries.ts';

test('L18: a limit of 0 pauses everything: the blocker names the setting; set back, it goes on', () =>
  watched({ workers: 2 }, async (t) => {
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
  }));

test('L20: one slot and its holder stuck: the next one shows who blocks it, other statements go on; then it goes', () =>
  watched({ workers: 2 }, async (t) => {
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
  }));

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

test('L05: an index over a hydrated one is done while the only slot is taken: install, start and computed are all there', () =>
  watched({ workers: 2 }, async (t) => {
    const release = await held(t);
    await t.exec('CREATE INDEX i ON quick (a)');
    await t.advance(1000);
    await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 1');
    await t.exec('CREATE MATERIALIZED VIEW stuck AS SELECT a FROM slow; CREATE INDEX j ON quick (a)');
    await t.advance(2000);
    assert.deepEqual(short(await blockers(t)), [['stuck', 'started', 'computing', null]]);
    const j = await rollup(t, 'j');
    assert.equal(j!['started_at'], j!['installed_at'], 'it waited for nothing');
    assert.ok((j!['hydrated_at'] as bigint) >= (j!['started_at'] as bigint));
    release();
    await t.exec('ALTER SYSTEM RESET compute_hydration_concurrency');
    await t.advance(1000);
  }));
