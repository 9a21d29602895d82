/** CREATE SINK … INTO METRICS: rows become samples, at complete times, and stand still while there are errors. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const samples = (t: TestEnvironment) =>
  t
    .metrics()
    .filter((s) => s.startsWith('orders'))
    .sort();
const told = (t: TestEnvironment, what: string) =>
  t.metrics().filter((s) => s.startsWith(`tidemark_metric_sink_${what}`));

const VIEW = `CREATE TABLE o (id int, region text, amount int);
  CREATE VIEW m AS SELECT 'orders' AS name, jsonb_build_object('region', region) AS labels, sum(1000 / amount) AS value,
    'gauge' AS type, 'orders by region' AS help FROM o GROUP BY region`;

for (const workers of [1, 2, 4])
  test(`samples follow the rows, on ${workers} workers`, async () => {
    const t = await openTest({ workers });
    await t.exec(
      `${VIEW}; INSERT INTO o VALUES (1, 'eu', 10), (2, 'us', 100); CREATE SINK s FROM m INTO METRICS`,
    );
    await t.advance(2000);
    assert.deepEqual(samples(t), ['orders{region=eu} 100', 'orders{region=us} 10']);
    await t.exec(`INSERT INTO o VALUES (3, 'eu', 1); DELETE FROM o WHERE id = 2`);
    await t.advance(2000);
    assert.deepEqual(samples(t), ['orders{region=eu} 1100']);
    const events =
      await t.query(`SELECT event, count(*) AS n FROM mz_introspection.mz_compute_lifecycle_events_per_worker
      WHERE export_id = '${t.id('s')}' GROUP BY event ORDER BY event`);
    assert.deepEqual(
      events,
      ['hydrated', 'installed', 'started'].map((event) => ({ event, n: BigInt(workers) })),
    );
    assert.deepEqual(await t.query(`SELECT name, type FROM mz_sinks`), [{ name: 's', type: 'metrics' }]);
    assert.deepEqual(await t.query('SELECT * FROM mz_internal.mz_hydration_blockers'), []);
    await t.restart();
    await t.advance(2000);
    assert.deepEqual(samples(t), ['orders{region=eu} 1100']);
    await t.exec('DROP SINK s');
    await t.advance(2000);
    assert.deepEqual(
      t.metrics().filter((s) => !s.startsWith('tidemark_worker_')),
      [],
    );
    await t.exec('DROP TABLE o CASCADE');
    await t.assertNothingLeft();
    await t.close();
  });

test('while errors live the samples stand still, and go on afterwards', async () => {
  const t = await openTest({ workers: 2 });
  await t.exec(`${VIEW}; INSERT INTO o VALUES (1, 'eu', 10); CREATE SINK s FROM m INTO METRICS`);
  await t.advance(2000);
  await t.exec(`INSERT INTO o VALUES (2, 'us', 0), (3, 'eu', 1)`);
  await t.advance(2000);
  assert.deepEqual(samples(t), ['orders{region=eu} 100']);
  assert.match(told(t, 'frozen').join(), / 1$/);
  await t.exec('DELETE FROM o WHERE id = 2');
  await t.advance(2000);
  assert.deepEqual(samples(t), ['orders{region=eu} 1100']);
  assert.match(told(t, 'frozen').join(), / 0$/);
  await t.exec('DROP TABLE o CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('rows that are no samples are left out and counted; other columns are refused', async () => {
  const t = await openTest();
  await t.exec(`CREATE TABLE r (name text, labels jsonb, value float8, type text, help text);
    CREATE SINK s FROM r INTO METRICS;
    INSERT INTO r VALUES ('orders', NULL, 1, NULL, NULL), ('orders', '{}', 2, 'counter', 'x'), ('orders', '{"a": 1, "b": ""}', 3, NULL, NULL),
      ('not a name', NULL, 1, NULL, NULL), ('orders', '{"__a": "x"}', 1, NULL, NULL), ('orders', '[1]', 1, NULL, NULL),
      ('orders', NULL, 1, 'speed', NULL), (NULL, NULL, 1, NULL, NULL), ('orders', NULL, NULL, NULL, NULL)`);
  await t.advance(2000);
  assert.deepEqual(samples(t), ['orders{a=1} 3', 'orders{} 3']);
  assert.match(told(t, 'invalid').join(), / 6$/);
  const refused = await t.failure('CREATE TABLE n (name text); CREATE SINK x FROM n INTO METRICS');
  assert.equal(refused.code, 'invalid_parameter_value');
  assert.match(refused.detail!, /column "labels" of type jsonb/);
  assert.equal((await t.failure('CREATE SINK x FROM s INTO METRICS')).code, 'wrong_object_type');
  assert.equal((await t.failure('SELECT * FROM s')).code, 'wrong_object_type');
  await t.exec('DROP TABLE n; DROP TABLE r CASCADE');
  await t.assertNothingLeft();
  await t.close();
});
