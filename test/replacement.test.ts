/** A replacement computes beside the view that it is made for, holds back, and takes its place. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import { checkHydration } from './support/hydration-oracle.ts';

async function opened(workers = 1): Promise<TestEnvironment> {
  const t = await openTest({ workers });
  await t.exec(`CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 10), (1, 20), (2, 30);
    CREATE MATERIALIZED VIEW mv AS SELECT a, sum(b) AS s FROM t GROUP BY a`);
  return t;
}

const rows = (t: TestEnvironment, of = 'mv') => t.query(`SELECT a, s FROM ${of} ORDER BY a`);
const events = async (t: TestEnvironment, id: string) =>
  (
    await t.query(`SELECT event FROM mz_introspection.mz_compute_lifecycle_events_per_worker
      WHERE export_id = '${id}' AND (worker_id = 0 OR event NOT IN ('installed', 'started', 'hydrated')) ORDER BY occurred_at`)
  ).map((r) => r['event']);
const REPLACEMENT =
  'CREATE REPLACEMENT MATERIALIZED VIEW r FOR mv AS SELECT a, 2 * sum(b) AS s FROM t GROUP BY a';

for (const workers of [1, 2, 4])
  test(`applied, it writes to the original's shard under the original's id, on ${workers} workers`, async () => {
    const t = await opened(workers);
    await t.exec('CREATE INDEX i ON mv (a); CREATE VIEW over AS SELECT a, s + 1 AS s FROM mv');
    const id = t.id('mv');
    const shard = t.env.collections.shardOf(id);
    await t.exec(REPLACEMENT);
    const r = t.id('r');
    await t.advance(3000);
    assert.deepEqual(await events(t, r), ['installed', 'started', 'hydrated', 'write_blocked']);
    assert.deepEqual(
      await t.query(
        `SELECT reason, blocked_by FROM mz_internal.mz_hydration_blockers WHERE object_id = '${r}'`,
      ),
      [{ reason: 'read_only', blocked_by: id }],
    );
    assert.equal((await t.failure('SELECT * FROM r')).code, 'object_not_in_prerequisite_state');
    assert.equal((await t.failure('CREATE INDEX ON r (a)')).code, 'object_not_in_prerequisite_state');
    await t.exec('INSERT INTO t VALUES (3, 1)');
    assert.deepEqual(await rows(t), [
      { a: 1, s: 30n },
      { a: 2, s: 30n },
      { a: 3, s: 1n },
    ]);
    await t.exec('ALTER MATERIALIZED VIEW mv APPLY REPLACEMENT r');
    await t.exec('INSERT INTO t VALUES (4, 1)');
    const expected = [60n, 60n, 2n, 2n].map((s, i) => ({ a: i + 1, s }));
    assert.deepEqual(await rows(t), expected);
    assert.deepEqual(
      await rows(t, 'over'),
      expected.map(({ a, s }) => ({ a, s: s + 1n })),
    );
    assert.equal(t.id('mv'), id);
    assert.equal(t.env.collections.shardOf(id), shard);
    assert.equal((await t.failure('SELECT * FROM r')).code, 'undefined_table');
    await t.advance(3000);
    assert.deepEqual(await events(t, r), [
      'installed',
      'started',
      'hydrated',
      'write_blocked',
      'write_unblocked',
      'written',
    ]);
    assert.deepEqual(await events(t, id), [], 'what maintained it before is gone');
    assert.deepEqual(
      await t.query(`SELECT global_id FROM mz_internal.mz_object_global_ids WHERE id = '${id}'`),
      [{ global_id: r }],
    );
    assert.deepEqual(await t.query(`SELECT * FROM mz_internal.mz_hydration_blockers`), []);
    const [rollup] = await t.query(
      `SELECT written_at IS NOT NULL AS written FROM mz_internal.mz_compute_hydration_timestamps WHERE object_id = '${id}'`,
    );
    assert.deepEqual(rollup, { written: true });
    await t.restart();
    assert.deepEqual(await rows(t), expected);
    await t.exec('INSERT INTO t VALUES (5, 1)');
    assert.equal((await rows(t)).length, 5);
    await t.advance(3000);
    assert.deepEqual(await events(t, r), ['installed', 'started', 'hydrated', 'written']);
    await t.exec('DROP TABLE t CASCADE');
    await t.assertNothingLeft();
    await t.close();
  });

const TOLD = [
  'mz_hydration_statuses',
  'mz_compute_hydration_statuses',
  'mz_object_arrangement_sizes',
  'mz_compute_operator_hydration_statuses',
  'mz_hydration_progress',
  'mz_compute_hydration_timestamps',
];

test('what replicas tell of a replacement is told of the object that it maintains, as soon as it is applied', async () => {
  const t = await opened();
  const told = async (): Promise<unknown> =>
    Promise.all(
      TOLD.map(async (relation) => {
        const found = await t.query(`SELECT * FROM mz_internal.${relation} WHERE object_id LIKE 'u%'`);
        const ids = new Set(found.map((row) => row['object_id']));
        return [relation, [...ids], found.every((row) => row['hydrated'] !== false)];
      }),
    );
  const mv = t.id('mv');
  await t.exec(REPLACEMENT);
  const r = t.id('r');
  await t.advance(3000);
  const plan = 'EXPLAIN ANALYZE HYDRATION FOR MATERIALIZED VIEW mv';
  const before = (await t.query(plan)).length;
  await t.exec('ALTER MATERIALIZED VIEW mv APPLY REPLACEMENT r');
  await t.advance(3000);
  assert.deepEqual(
    await told(),
    TOLD.map((relation) => [relation, [mv], true]),
  );
  assert.notEqual(mv, r);
  const sizes = await t.query(`SELECT size > 0 AS known FROM mz_internal.mz_object_arrangement_sizes
    WHERE object_id = '${mv}'`);
  assert.deepEqual(sizes, [{ known: true }]);
  const mapped = await t.query(`SELECT DISTINCT m.name FROM mz_introspection.mz_mappable_objects m
    JOIN mz_introspection.mz_lir_mapping l ON l.global_id = m.global_id`);
  assert.deepEqual(mapped, [{ name: 'tidemark.public.mv' }], 'a way from its name to its plan');
  assert.ok(before > 0);
  assert.ok((await t.query(plan)).length >= before, 'its plan is that of what maintains it now');
  await t.exec('DROP TABLE t CASCADE');
  await t.advance(2000);
  assert.deepEqual(
    await told(),
    TOLD.map((relation) => [relation, [], true]),
  );
  await t.assertNothingLeft();
  await t.close();
});

test('a replacement can be dropped, outlives a restart unapplied, and goes with what it replaces', async () => {
  const t = await opened();
  await t.exec(`${REPLACEMENT}; DROP MATERIALIZED VIEW r`);
  await t.exec(REPLACEMENT);
  await t.restart();
  await t.advance(2000);
  assert.deepEqual(await events(t, t.id('r')), ['installed', 'started', 'hydrated', 'write_blocked']);
  assert.deepEqual((await rows(t))[0], { a: 1, s: 30n });
  assert.equal((await t.failure('DROP MATERIALIZED VIEW mv')).code, 'dependent_objects_still_exist');
  await t.exec('ALTER MATERIALIZED VIEW mv APPLY REPLACEMENT r');
  await t.exec('INSERT INTO t VALUES (9, 9)');
  assert.deepEqual((await rows(t))[0], { a: 1, s: 60n });
  await t.exec(REPLACEMENT);
  await t.exec('DROP MATERIALIZED VIEW mv CASCADE; DROP TABLE t');
  await t.assertNothingLeft();
  await t.close();
});

test('a replacement of a view that has come to its end is done, before a restart and after it', async () => {
  const t = await openTest();
  await t.exec(`CREATE TABLE t (a int); INSERT INTO t VALUES (1);
    CREATE MATERIALIZED VIEW mv WITH (REFRESH AT now() + interval '5 s') AS SELECT a FROM t;
    CREATE REPLACEMENT MATERIALIZED VIEW r FOR mv AS SELECT a + 1 AS a FROM t`);
  const blockers = () => t.query('SELECT object_id, reason FROM mz_internal.mz_hydration_blockers');
  const hydrated = () =>
    t.query(
      "SELECT object_id, hydrated FROM mz_internal.mz_hydration_statuses WHERE object_id LIKE 'u%' ORDER BY 1",
    );
  await t.advance(2000);
  checkHydration(t);
  assert.deepEqual(await blockers(), [{ object_id: t.id('r'), reason: 'read_only' }]);
  await t.advance(5000);
  const both = [
    { object_id: t.id('mv'), hydrated: true },
    { object_id: t.id('r'), hydrated: true },
  ];
  for (const when of ['before', 'after']) {
    checkHydration(t);
    assert.deepEqual(await blockers(), [], when);
    assert.deepEqual(await hydrated(), both, when);
    const refused = await t.failure('ALTER MATERIALIZED VIEW mv APPLY REPLACEMENT r');
    assert.equal(refused.message, '"mv" is complete for ever');
    if (when === 'before') await t.restart();
    await t.advance(2500);
  }
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('applied while it still computes, its contents come when they are there, and written says so', async () => {
  const t = await opened(2);
  await t.exec('CREATE TABLE u (a int); INSERT INTO u VALUES (1)');
  await t.advance(1000);
  const release = t.holdReads('u');
  await t.exec(`CREATE REPLACEMENT MATERIALIZED VIEW r FOR mv AS
    SELECT a, sum(b) + 1000 AS s FROM t WHERE EXISTS (SELECT 1 FROM u) GROUP BY a`);
  await t.exec('INSERT INTO t VALUES (7, 7)');
  const r = t.id('r');
  await t.exec('ALTER MATERIALIZED VIEW mv APPLY REPLACEMENT r');
  await t.advance(3000);
  assert.deepEqual(await events(t, r), ['installed', 'started']);
  const read = t.start('SELECT a, s FROM mv ORDER BY a');
  await t.advance(3000);
  assert.equal(read.isDone, false, 'it waits for what the view now is');
  release();
  assert.deepEqual((await read.result())[0], { a: 1, s: 1030n });
  await t.advance(2000);
  assert.deepEqual((await events(t, r)).at(-1), 'written');
  await t.exec('DROP TABLE t CASCADE; DROP TABLE u');
  await t.assertNothingLeft();
  await t.close();
});

test('with a schedule the new contents begin at its next refresh', async () => {
  const t = await opened();
  await t.exec(`CREATE REPLACEMENT MATERIALIZED VIEW r FOR mv WITH (REFRESH EVERY '1 minute') AS
    SELECT a, 0 * sum(b) AS s FROM t GROUP BY a`);
  await t.advance(2000);
  await t.exec('ALTER MATERIALIZED VIEW mv APPLY REPLACEMENT r');
  await t.exec('INSERT INTO t VALUES (8, 8)');
  assert.deepEqual((await rows(t))[0], { a: 1, s: 30n }, 'as it was, until then');
  await t.advance(62_000);
  assert.deepEqual(
    await rows(t),
    [1, 2, 8].map((a) => ({ a, s: 0n })),
  );
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('an index on what a view reads changes nothing of what the view promises', async () => {
  const t = await opened();
  const query = 'SELECT t.a, o.b FROM t JOIN t AS o ON t.a = o.a';
  await t.exec(`CREATE MATERIALIZED VIEW joined AS ${query}; CREATE INDEX by_a ON t (a)`);
  await t.exec(`CREATE REPLACEMENT MATERIALIZED VIEW same FOR joined AS ${query}; DROP INDEX by_a`);
  await t.exec(`CREATE REPLACEMENT MATERIALIZED VIEW again FOR joined AS ${query}`);
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('what cannot stand in is refused, with the difference', async () => {
  const t = await opened();
  await t.exec('CREATE TABLE n (x int NOT NULL); CREATE MATERIALIZED VIEW nn AS SELECT x FROM n');
  const refused = async (view: string, query: string) => {
    const e = await t.failure(`CREATE REPLACEMENT MATERIALIZED VIEW x FOR ${view} AS ${query}`);
    return `${e.code}: ${e.detail ?? e.message}`;
  };
  assert.match(
    await refused('mv', 'SELECT a FROM t'),
    /^invalid_parameter_value: .* the replacement no column/,
  );
  assert.match(await refused('mv', 'SELECT a, b AS s FROM t'), /of type int8 at position 2, .* int4/);
  assert.match(await refused('mv', 'SELECT a, b::int8 AS s FROM t'), /unique in \("a"\)/);
  assert.match(await refused('nn', 'SELECT a AS x FROM t'), /may be NULL/);
  assert.match(await refused('mv', 'SELECT a, s FROM mv'), /^invalid_object_definition/);
  assert.match(await refused('t', 'SELECT 1'), /^wrong_object_type/);
  await t.exec(`CREATE MATERIALIZED VIEW once WITH (REFRESH AT CREATION) AS SELECT a FROM t`);
  await t.advance(2000);
  assert.match(await refused('once', 'SELECT b AS a FROM t'), /^object_not_in_prerequisite_state/);
  await t.exec(REPLACEMENT);
  assert.match(
    await refused('r', 'SELECT a, sum(b) AS s FROM t GROUP BY a'),
    /^object_not_in_prerequisite_state/,
  );
  const other = await t.failure('ALTER MATERIALIZED VIEW nn APPLY REPLACEMENT r');
  assert.equal(other.code, 'object_not_in_prerequisite_state');
  await t.exec('DROP TABLE t CASCADE; DROP TABLE n CASCADE');
  await t.assertNothingLeft();
  await t.close();
});
