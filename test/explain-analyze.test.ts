/**
 * EXPLAIN ANALYZE of running plans: what a node holds stands under that node, the rows of a measure add up to the dataflow's, and the
 * text reads as EXPLAIN's does.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { openWireDatabase } from './support/wire-database.ts';

const OBJECTS = `
  CREATE TABLE t (a int, b int);
  CREATE TABLE s (a int, c int);
  INSERT INTO t SELECT x, x % 50 FROM generate_series(1, 1000) AS x;
  INSERT INTO s SELECT x, x FROM generate_series(1, 500) AS x;
  CREATE MATERIALIZED VIEW pairs AS SELECT t.b, s.c FROM t JOIN s ON t.a = s.a;
  CREATE VIEW last AS SELECT DISTINCT ON (b) b, a FROM t ORDER BY b, a DESC;
  CREATE INDEX last_by_b ON last (b);
  CREATE INDEX also_by_a ON last (a)`;

async function running(workers: number): Promise<TestEnvironment> {
  const t = await openTest({ seed: workers, workers });
  await t.exec(OBJECTS);
  await t.advance(5000);
  return t;
}

const total = (rows: readonly TestRow[], column: string): bigint =>
  rows.reduce((n, r) => n + ((r[column] as bigint | null) ?? 0n), 0n);

const node = (rows: readonly TestRow[], name: RegExp): TestRow => {
  const found = rows.filter((r) => name.test(String(r['operator'])));
  assert.equal(found.length, 1, `${name} in ${rows.map((r) => r['operator']).join('\n')}`);
  return found[0]!;
};

for (const workers of [1, 2])
  test(`memory stands under the node that holds it, and adds up, on ${workers} worker(s)`, async () => {
    const t = await running(workers);
    for (const [what, dataflow] of [
      ['MATERIALIZED VIEW pairs', 'materialized view pairs'],
      ['INDEX last_by_b', 'index last_by_b'],
      ['INDEX also_by_a', 'index also_by_a'],
    ]) {
      const rows = await t.query(`EXPLAIN ANALYZE MEMORY FOR ${what}`);
      const [whole] = await t.query(
        `SELECT records, size FROM mz_introspection.mz_records_per_dataflow WHERE name = '${dataflow}'`,
      );
      assert.equal(total(rows, 'records'), whole!['records'], what);
      assert.equal(total(rows, 'bytes'), whole!['size'], what);
      const skew = await t.query(`EXPLAIN ANALYZE MEMORY WITH SKEW FOR ${what}`);
      assert.equal(skew.length, workers * rows.length);
      assert.equal(total(skew, 'bytes'), whole!['size'], what);
    }
    const pairs = await t.query('EXPLAIN ANALYZE MEMORY, CPU, HYDRATION FOR MATERIALIZED VIEW pairs');
    // Both inputs are arranged by the key of the join: a thousand rows and five hundred.
    const arranged = pairs.filter((r) => /ArrangeBy keys/.test(String(r['operator'])));
    assert.deepEqual(arranged.map((r) => r['records']).sort(), [1000n, 500n]);
    for (const r of arranged) assert.ok((r['bytes'] as bigint) > 4000n);
    assert.equal(node(pairs, /Join stages=1/)['hydrated'], `${workers} of ${workers}`);
    assert.notEqual(node(pairs, /Join stages=1/)['elapsed'], null);
    const last = await t.query('EXPLAIN ANALYZE MEMORY, HYDRATION FOR INDEX last_by_b');
    assert.equal(node(last, /TopK group_by/)['records'], 1000n);
    assert.equal(node(last, /^Index last_by_b$/)['records'], 50n);
    assert.equal(node(last, /^Index last_by_b$/)['hydrated'], `${workers} of ${workers}`);
    await t.close();
  });

test('nodes are indented as EXPLAIN indents them, from the root down', async () => {
  const t = await running(1);
  const explained = (await t.query('EXPLAIN PHYSICAL PLAN FOR MATERIALIZED VIEW pairs'))
    .map((r) => String(Object.values(r)[0]))
    .flatMap((line) => (/^\s*\d+: /.test(line) ? [line.replace(/Get .*/, 'Get')] : []));
  const [title, ...nodes] = (await t.query('EXPLAIN ANALYZE MEMORY FOR MATERIALIZED VIEW pairs')).map((r) =>
    String(r['operator']),
  );
  assert.equal(title, 'Materialized view pairs');
  assert.deepEqual(
    nodes.map((n) => n.replace(/^ {2}/, '').replace(/Get .*/, 'Get')).sort(),
    explained.sort(),
  );
  const numbers = nodes.map((n) => Number(/\d+/.exec(n)![0]));
  assert.deepEqual(
    numbers,
    [...numbers].sort((a, b) => b - a),
  );
  await t.close();
});

test('AS SQL is the query that answers, and another cluster cannot', async () => {
  const t = await running(1);
  const lines = await t.query('EXPLAIN ANALYZE MEMORY FOR INDEX last_by_b AS SQL');
  const sql = lines.map((r) => r['SQL']).join('\n');
  assert.deepEqual(await t.query(sql), await t.query('EXPLAIN ANALYZE MEMORY FOR INDEX last_by_b'));
  await t.exec("CREATE CLUSTER other (SIZE '1'); SET cluster = other");
  await assert.rejects(t.query('EXPLAIN ANALYZE CPU FOR INDEX last_by_b'), {
    code: 'object_not_in_prerequisite_state',
    message: '"last_by_b" is maintained by cluster "quickstart", which alone can tell about it',
  });
  await t.close();
});

test('with introspection off it is refused, and says how to turn it on', async () => {
  const t = await running(1);
  await t.exec(
    `CREATE CLUSTER off REPLICAS (r1 (SIZE '1', INTROSPECTION INTERVAL 0)); SET cluster = off; CREATE INDEX o ON t (a)`,
  );
  await t.advance(3000);
  await assert.rejects(t.query('EXPLAIN ANALYZE MEMORY FOR INDEX o'), {
    code: 'object_not_in_prerequisite_state',
    message: 'introspection of cluster "off" is off, so nothing tells what "o" costs',
    hint: 'give the cluster, or one of its replicas, an INTROSPECTION INTERVAL above 0',
  });
  assert.ok((await t.query('EXPLAIN ANALYZE MEMORY FOR INDEX o AS SQL')).length > 0);
  await t.exec("CREATE CLUSTER REPLICA off.r2 (SIZE '1')");
  await t.advance(3000);
  await t.exec('SET cluster_replica = r2');
  assert.equal((await t.query('EXPLAIN ANALYZE MEMORY FOR INDEX o'))[0]!['records'], 1000n);
  await t.close();
});

test('a client gets rows with names and types', async () => {
  const db = await openWireDatabase();
  try {
    const c = await db.client();
    await c.query("CREATE CLUSTER quick (SIZE '1', INTROSPECTION INTERVAL '20ms')");
    await c.query('SET cluster = quick');
    await c.query('CREATE TABLE t (a int)');
    await c.query('INSERT INTO t SELECT generate_series(1, 100)');
    await c.query('CREATE INDEX i ON t (a)');
    const ask = () => c.query('EXPLAIN ANALYZE MEMORY, CPU, HYDRATION FOR INDEX i');
    let answer = await ask();
    while (answer.rows[0]?.hydrated !== '1 of 1' || answer.rows[0].records !== '100') answer = await ask();
    assert.deepEqual(
      answer.fields.map((f) => f.name),
      ['operator', 'records', 'bytes', 'elapsed', 'hydrated'],
    );
    assert.equal(answer.rows.length, 1);
    assert.equal(answer.rows[0].operator, 'Index i');
  } finally {
    await db.close();
  }
});
