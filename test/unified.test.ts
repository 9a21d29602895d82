/**
 * What all replicas tell, in relations of the environment: a row for each object on each replica, always; of the replica's present life, or
 * said not to be fresh. In the simulator.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { onWorkers } from './support/on-workers.ts';

async function simulated(
  options: { readonly workers: number; readonly seed?: number },
  body: (t: TestEnvironment) => Promise<void>,
): Promise<void> {
  const t = await openTest(options);
  await body(t);
  await t.exec('DROP TABLE IF EXISTS t CASCADE');
  await t.assertNothingLeft();
  await t.close();
}

const OBJECTS =
  'CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); CREATE INDEX i ON t (a); CREATE MATERIALIZED VIEW m AS SELECT a FROM t';

const statuses = (t: TestEnvironment): Promise<readonly TestRow[]> =>
  t.query(`
    SELECT o.name, s.replica_id, s.hydrated, s.hydration_time IS NULL AS unknown
    FROM mz_internal.mz_compute_hydration_statuses s JOIN mz_catalog.mz_objects o ON o.id = s.object_id
    WHERE s.object_id LIKE 'u%' ORDER BY o.name, s.replica_id`);
const freshness = (t: TestEnvironment): Promise<readonly TestRow[]> =>
  t.query('SELECT replica_id, fresh FROM mz_internal.mz_introspection_freshness ORDER BY 1');
const isFresh = async (t: TestEnvironment): Promise<boolean> =>
  (await freshness(t)).every((r) => r['fresh'] === true);
const rowsOf = (t: TestEnvironment, relation: string): Promise<readonly TestRow[]> =>
  t.query(`SELECT * FROM mz_internal.${relation} WHERE object_id LIKE 'u%' ORDER BY object_id, replica_id`);

async function untilFresh(t: TestEnvironment): Promise<void> {
  for (let s = 0; s < 30; s++) {
    if (await isFresh(t)) return;
    await t.advance(1000);
  }
  assert.fail(`it becomes fresh, seed ${t.seed}`);
}

const said = (rows: readonly TestRow[]): string[] =>
  rows.map((r) => `${r['name']} ${r['hydrated'] ? 'hydrated' : 'not'}${r['unknown'] ? ', unknown' : ''}`);

test('hydration, its time, and errors are of every worker, and follow objects as they come and go', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec(OBJECTS);
    await t.exec('CREATE VIEW v AS SELECT 1 / (a - 1) AS q FROM t; CREATE INDEX bad ON v (q)');
    assert.deepEqual(
      said(await statuses(t)),
      ['bad not, unknown', 'i not, unknown', 'm not, unknown'],
      'never missing',
    );
    await untilFresh(t);
    await t.advance(2000);
    assert.deepEqual(said(await statuses(t)), ['bad hydrated', 'i hydrated', 'm hydrated']);
    assert.deepEqual(
      await t.query('SELECT object_id FROM mz_internal.mz_hydration_statuses WHERE NOT hydrated'),
      [],
      'of logs neither, and none of the system cluster',
    );
    const errors = await rowsOf(t, 'mz_compute_error_counts_raw_unified');
    assert.deepEqual(
      errors.map((r) => `${r['object_id']} ${r['count']}`),
      [`${t.id('i')} 0`, `${t.id('m')} 0`, `${t.id('bad')} 1`],
    );
    const slowest = await t.query(`
      SELECT max(time_ns) AS ns, count(*) AS n FROM mz_introspection.mz_compute_hydration_times_per_worker WHERE export_id = '${t.id('i')}'`);
    const times = await rowsOf(t, 'mz_compute_hydration_times');
    assert.deepEqual(
      [slowest[0]!['n'], slowest[0]!['ns']],
      [2n, times.find((r) => r['object_id'] === t.id('i'))!['time_ns']],
    );
    await t.exec('DELETE FROM t WHERE a = 1; DROP INDEX i');
    await t.advance(2500);
    assert.deepEqual(said(await statuses(t)), ['bad hydrated', 'm hydrated']);
    const healed = await rowsOf(t, 'mz_compute_error_counts_raw_unified');
    assert.deepEqual(
      healed.map((r) => Number(String(r['count']))),
      [0, 0],
    );
    assert.equal(
      (await t.query("SELECT * FROM mz_internal.mz_told_hydration_times WHERE object_id LIKE 't%'")).length,
      0,
    );
  }));

test('an object that one worker has not hydrated is not hydrated', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
    await untilFresh(t);
    const release = t.holdReads('t');
    await t.exec('CREATE INDEX i ON t (a)');
    await t.advance(3000);
    assert.deepEqual(said(await statuses(t)), ['i not, unknown']);
    release();
    await t.advance(3000);
    assert.deepEqual(said(await statuses(t)), ['i hydrated']);
  }));

onWorkers(
  'L12: after a replica was lost its objects are shown as not hydrated until it has told all of them again',
  (workers) =>
    simulated({ workers, seed: workers }, async (t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
      const names: string[] = [];
      for (let i = 0; i < 5; i++) {
        await t.exec(
          `CREATE MATERIALIZED VIEW m${i} AS SELECT a + ${i} AS a FROM t; CREATE INDEX i${i} ON m${i} (a)`,
        );
        names.push(`i${i}`, `m${i}`);
      }
      names.sort();
      await untilFresh(t);
      await t.advance(3000);
      assert.deepEqual(
        said(await statuses(t)),
        names.map((n) => `${n} hydrated`),
      );
      const before = new Map(
        (await rowsOf(t, 'mz_compute_hydration_times')).map((r) => [r['object_id'], r['time_ns']]),
      );
      await t.crash();
      for (let look = 0; look < 60; look++) {
        const rows = await statuses(t);
        const fresh = await isFresh(t);
        assert.deepEqual(
          rows.map((r) => r['name']),
          names,
          'none is missing',
        );
        if (!fresh)
          assert.deepEqual(
            said(rows),
            names.map((n) => `${n} not, unknown`),
            'nothing of the life before',
          );
        else {
          const now = await rowsOf(t, 'mz_compute_hydration_times');
          for (const r of now)
            assert.notEqual(r['time_ns'], before.get(r['object_id']), 'no stamp of the life before');
        }
        await t.advance(50 + t.random.below(200));
      }
      await untilFresh(t);
      await t.advance(3000);
      assert.deepEqual(
        said(await statuses(t)),
        names.map((n) => `${n} hydrated`),
      );
    }),
);

onWorkers(
  'L30: right after a restart of the environment there is a row for each object on each replica, with NULL',
  (workers) =>
    simulated({ workers }, async (t) => {
      await t.exec(`ALTER CLUSTER quickstart SET (REPLICATION FACTOR 2); ${OBJECTS}`);
      await untilFresh(t);
      const replicas = t.env.catalog.cluster('quickstart')!.replicas.map((r) => r.id);
      const each = ['i', 'm'].flatMap((name) => replicas.map((replica) => ({ name, replica })));
      await t.restart();
      assert.deepEqual(
        (await freshness(t)).map((r) => r['fresh']),
        [false, false],
      );
      for (const [relation, measure] of [
        ['mz_compute_hydration_times', 'time_ns'],
        ['mz_object_arrangement_sizes', 'size'],
        ['mz_compute_error_counts_raw_unified', 'count'],
      ] as const) {
        const rows = await rowsOf(t, relation);
        assert.deepEqual(
          rows.map((r) => [r['object_id'], r['replica_id'], r[measure]]),
          each.map(({ name, replica }) => [t.id(name), replica, null]),
          relation,
        );
      }
      const now = async (): Promise<unknown> =>
        (await statuses(t)).map((r) => [r['name'], r['replica_id'], r['hydrated'], r['unknown']]);
      assert.deepEqual(
        await now(),
        each.map(({ name, replica }) => [name, replica, false, true]),
      );
      await untilFresh(t);
      await t.advance(2000);
      assert.deepEqual(
        await now(),
        each.map(({ name, replica }) => [name, replica, true, false]),
      );
      await t.exec('ALTER CLUSTER quickstart RESET (REPLICATION FACTOR)');
    }),
);

test('I08: sizes are ordered as the rows are, of all objects, and of the present life, after a restart and after a crash', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int)');
    for (const n of [10, 1000, 100_000])
      await t.exec(`
        CREATE VIEW v${n} AS SELECT a FROM t WHERE a <= ${n}; CREATE INDEX i${n} ON v${n} (a)`);
    await t.exec('INSERT INTO t SELECT generate_series(1, 100000)');
    await untilFresh(t);
    await t.advance(3000);
    const sizes = async (): Promise<(readonly [string, bigint | null])[]> =>
      (
        await t.query(`
          SELECT o.name, s.size FROM mz_internal.mz_object_arrangement_sizes s JOIN mz_catalog.mz_objects o ON o.id = s.object_id
          WHERE s.object_id LIKE 'u%' ORDER BY s.size, o.name`)
      ).map((r) => [String(r['name']), r['size'] as bigint | null]);
    const names = ['i10', 'i1000', 'i100000'];
    const before = await sizes();
    assert.deepEqual(
      before.map(([name]) => name),
      names,
    );
    assert.ok(before[0]![1]! * 10n < before[1]![1]! && before[1]![1]! * 10n < before[2]![1]!, String(before));
    for (const [what, begin, a] of [
      ['restart', () => t.restart(), 5000],
      ['crash', () => t.crash(), 500],
    ] as const) {
      await t.exec(`DELETE FROM t WHERE a > ${a}`);
      await t.advance(3000);
      await begin();
      assert.deepEqual(
        await sizes(),
        names.map((name) => [name, null]),
        `after the ${what}`,
      );
      await t.connected();
      await untilFresh(t);
      const first = await sizes();
      assert.deepEqual(first.map(([name]) => name).sort(), names);
      assert.ok(
        first.every(([, size]) => size === null || size < before[2]![1]! / 10n),
        `the first that is told after the ${what} is of the new life: ${first}`,
      );
      await t.advance(3000);
      const after = await sizes();
      assert.ok(
        after.every(([, size]) => size !== null && size < before[2]![1]! / 10n),
        String(after),
      );
    }
    await t.advance(5 * 60_000);
    const history = await t.query(
      'SELECT DISTINCT object_id, hydration_complete FROM mz_internal.mz_object_arrangement_size_history',
    );
    assert.deepEqual(
      history.map((r) => r['hydration_complete']),
      [true, true, true],
    );
  }));

test('a view that is complete for ever has hydrated, though no replica maintains it', () =>
  simulated({ workers: 1 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    await t.exec('CREATE MATERIALIZED VIEW once WITH (REFRESH AT CREATION) AS SELECT a FROM t');
    await untilFresh(t);
    await t.advance(2000);
    assert.deepEqual((await t.query('SELECT object_id FROM mz_internal.mz_sealed_views')).length, 1);
    await t.restart();
    await untilFresh(t);
    await t.advance(2000);
    assert.deepEqual(said(await statuses(t)), ['once hydrated, unknown']);
    await t.exec('DROP TABLE t CASCADE');
    await t.advance(500);
    assert.deepEqual(await t.query('SELECT object_id FROM mz_internal.mz_sealed_views'), []);
  }));

test('I06: no row of a replica is left when it is dropped', () =>
  simulated({ workers: 1 }, async (t) => {
    await t.exec("CREATE CLUSTER c REPLICAS (r1 (SIZE '1'), r2 (SIZE '2')); SET cluster = c");
    await t.exec(OBJECTS);
    await untilFresh(t);
    await t.advance(2000);
    const [gone, stays] = t.env.catalog.cluster('c')!.replicas.map((r) => r.id);
    const relations = [
      'mz_introspection_freshness',
      'mz_told_hydration_times',
      'mz_compute_hydration_times',
      'mz_compute_hydration_statuses',
      'mz_cluster_replica_statuses',
    ];
    const replicas = async (relation: string): Promise<unknown[]> =>
      (await t.query(`SELECT DISTINCT replica_id FROM mz_internal.${relation}`)).map((r) => r['replica_id']);
    for (const r of relations) assert.ok((await replicas(r)).includes(gone), r);
    await t.exec('DROP CLUSTER REPLICA c.r1');
    await t.advance(1000);
    for (const r of relations) {
      const left = await replicas(r);
      assert.ok(!left.includes(gone) && left.includes(stays), r);
    }
    await t.exec('DROP TABLE t CASCADE; RESET cluster; DROP CLUSTER c');
    await t.advance(1000);
    for (const r of relations) assert.ok(!(await replicas(r)).includes(stays), r);
  }));

test('with introspection off a replica is not fresh, and its objects are said not to be hydrated', () =>
  simulated({ workers: 1 }, async (t) => {
    await t.exec("CREATE CLUSTER quiet (SIZE '2', INTROSPECTION INTERVAL 0); SET cluster = quiet");
    await t.exec(OBJECTS);
    await t.advance(5000);
    const quiet = t.env.catalog.cluster('quiet')!.replicas[0]!.id;
    assert.deepEqual((await freshness(t)).find((r) => r['replica_id'] === quiet)!['fresh'], false);
    assert.deepEqual(said(await statuses(t)), ['i not, unknown', 'm not, unknown']);
    await t.exec('DROP TABLE t CASCADE; RESET cluster; DROP CLUSTER quiet');
  }));

test("the environment's own subscribes are in no log", () =>
  simulated({ workers: 2 }, async (t) => {
    await t.advance(3000);
    const exports = 'SELECT export_id FROM mz_introspection.mz_compute_exports_per_worker';
    assert.deepEqual(await t.query(`${exports} WHERE export_id LIKE 't%'`), []);
    assert.deepEqual(await t.query('SELECT * FROM mz_internal.mz_subscriptions'), []);
  }));
