/** Statements to plans: what is resolved, normalised, refused; and reads that need no dataflow. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { parseStatement } from '../sql/parse.ts';
import { fastPath } from './peek.ts';
import type { Plan } from './statement/plan.ts';
import { describeStatement, planStatement } from './statement.ts';
import { TEST_CLUSTER, TEST_NAMES, TestCatalog } from './test-catalog.ts';

const catalog = new TestCatalog({ t: 'a int4 not null, b int4, c text, key (a)', u: 'a int4' });
catalog.index('t_a', 't', [0]);
const context = { catalog, names: TEST_NAMES, eval: { timeZone: 'UTC' }, cluster: TEST_CLUSTER };
const plan = (sql: string): Plan => planStatement(parseStatement(sql), context)!;
function planned<K extends Plan['kind']>(sql: string, kind: K): Extract<Plan, { kind: K }> {
  const p = plan(sql);
  assert.equal(p.kind, kind);
  return p as Extract<Plan, { kind: K }>;
}

test('definitions are written with every name in full, but for WITH queries', () => {
  const cases: Record<string, string> = {
    'CREATE VIEW v AS WITH t AS (SELECT * FROM t) SELECT t.* FROM t JOIN u ON t.a = u.a':
      'CREATE VIEW d.public.v AS WITH t AS (SELECT * FROM d.public.t) SELECT t.* FROM t JOIN d.public.u ON t.a = u.a',
    'CREATE MATERIALIZED VIEW m AS SELECT a FROM t WHERE a IN (SELECT a FROM u)':
      'CREATE MATERIALIZED VIEW d.public.m IN CLUSTER quickstart AS SELECT a FROM d.public.t WHERE a IN (SELECT a FROM d.public.u)',
    'CREATE DEFAULT INDEX ON t': 'CREATE INDEX t_primary_idx IN CLUSTER quickstart ON d.public.t (a)',
    'CREATE INDEX ON t (b, lower(c))':
      'CREATE INDEX t_b_lower_idx IN CLUSTER quickstart ON d.public.t (b, lower(c))',
  };
  for (const [sql, text] of Object.entries(cases)) {
    const p = plan(sql);
    assert.ok('createSql' in p);
    assert.equal(p.createSql, text);
    // It reads back, and means the same.
    const again = plan(text);
    assert.ok('createSql' in again);
    assert.equal(again.createSql, text);
  }
});

test('INSERT yields whole rows of the table', () => {
  const p = planned(
    'INSERT INTO t (c, a) VALUES (DEFAULT, 1), (upper($1), 2)'.replace('upper($1)', "'x'"),
    'insert',
  );
  assert.ok(p.source.mir.op === 'Constant' && !('error' in p.source.mir.rows));
  assert.deepEqual(
    p.source.mir.rows.map((r) => r.row),
    [
      [1, null, null],
      [2, null, 'x'],
    ],
  );
  assert.deepEqual(p.notNull, [0]);
});

test('UPDATE reads the old row and the new one', () => {
  const p = planned("UPDATE t SET b = b + 1, c = 'y' WHERE a = 1", 'update');
  assert.equal(p.arity, 3);
  assert.deepEqual(
    p.read.desc.columns.map((c) => c.name),
    ['a', 'b', 'c', 'a', 'b', 'c'],
  );
});

test('parameters take the types of their uses', () => {
  const typesOf = (sql: string): string[] =>
    describeStatement(parseStatement(sql), context).paramTypes.map((t) => t.name);
  assert.deepEqual(typesOf('SELECT a FROM t WHERE a = $1 AND c LIKE $2 LIMIT $3'), ['int4', 'text', 'int8']);
  assert.deepEqual(typesOf('INSERT INTO t VALUES ($1, $2, $3)'), ['int4', 'int4', 'text']);
  assert.deepEqual(typesOf('SELECT $1::numeric + 1, $2'), ['numeric', 'text']);
  assert.deepEqual(typesOf('UPDATE t SET b = $2 WHERE a = $1'), ['int4', 'int4']);
});

test('parameters with values are literals', () => {
  const p = planStatement(parseStatement('SELECT a FROM t WHERE a = $1 LIMIT $2'), {
    ...context,
    paramValues: [7, 3n],
  });
  assert.ok(p?.kind === 'select');
  assert.equal(p.query.finishing.limit, 3);
  const path = fastPath(p.query.mir, { cluster: TEST_CLUSTER, indexes: (id) => catalog.indexesOn(id) });
  assert.ok(path?.kind === 'index');
  assert.deepEqual(path.literals, [[7]]);
});

test('a read of one arranged collection needs no dataflow', () => {
  const pathOf = (sql: string) =>
    fastPath(planned(sql, 'select').query.mir, {
      cluster: TEST_CLUSTER,
      indexes: (id) => catalog.indexesOn(id),
    });
  const lookup = pathOf('SELECT c FROM t WHERE a IN (1, 2) AND b > 3');
  assert.ok(lookup?.kind === 'index');
  assert.deepEqual(lookup.literals, [[1], [2]]);
  assert.equal(lookup.mfp.filter.length, 1);
  const scan = pathOf('SELECT a + 1 FROM t');
  assert.ok(scan?.kind === 'index');
  assert.equal(scan.literals, undefined);
  assert.equal(pathOf('SELECT 1 + 1')?.kind, 'constant');
  assert.equal(pathOf('SELECT count(*) FROM t'), undefined);
  assert.equal(pathOf('SELECT * FROM u'), undefined);
});

test('mz_now() stands in a comparison of WHERE, and now() in no maintained query', () => {
  const refusal = (sql: string): string => {
    try {
      plan(sql);
    } catch (e) {
      assert.ok(e instanceof SqlError);
      return e.message;
    }
    return '';
  };
  const view = (select: string): string => `CREATE MATERIALIZED VIEW m AS ${select}`;
  assert.equal(refusal(view('SELECT a FROM t WHERE mz_now() <= b')), '');
  const misplaced = 'mz_now() is not supported in this position of a maintained query';
  assert.equal(refusal(view('SELECT mz_now() FROM t')), misplaced);
  assert.equal(
    refusal(view('SELECT a FROM t WHERE CASE WHEN mz_now() > 5 THEN true ELSE false END')),
    misplaced,
  );
  assert.equal(refusal(view('SELECT now() FROM t')), 'now() cannot be used in a maintained query');
  assert.equal(refusal('CREATE VIEW v AS SELECT now() FROM t'), '');
});

test('DROP IF EXISTS says what is missing, and takes no other kind', () => {
  const p = planned('DROP TABLE IF EXISTS t, zz', 'drop');
  assert.deepEqual(p.missing, ['table "zz" does not exist, skipping']);
  assert.deepEqual(
    p.objects.map((o) => o.name?.item),
    ['t'],
  );
  assert.throws(() => plan('DROP VIEW t'), { message: '"t" is not a view' });
});

test('EXPLAIN names the indexes that a run would read, and how', () => {
  const used = (sql: string): readonly string[] => {
    const { lines } = planned(sql, 'explain');
    const at = lines.indexOf('Used indexes:');
    return at < 0 ? [] : lines.slice(at + 1).map((l) => l.trim());
  };
  assert.deepEqual(used('EXPLAIN SELECT * FROM t WHERE a = 1'), ['- t_a (lookup of one key)']);
  assert.deepEqual(used('EXPLAIN SELECT * FROM t WHERE a IN (1, 2)'), ['- t_a (lookup of 2 keys)']);
  assert.deepEqual(used('EXPLAIN SELECT * FROM t'), ['- t_a (all of it)']);
  assert.deepEqual(used('EXPLAIN SELECT t.c FROM t JOIN u ON t.a = u.a'), [
    '- t_a (shared with the dataflow)',
  ]);
  assert.deepEqual(used('EXPLAIN SELECT * FROM u'), []);
  assert.deepEqual(used('EXPLAIN RAW PLAN FOR SELECT * FROM t'), []);
});

test('EXPLAIN PHYSICAL PLAN reads through the index', () => {
  const p = planned('EXPLAIN PHYSICAL PLAN FOR SELECT t.c FROM t JOIN u ON t.a = u.a', 'explain');
  assert.ok(p.lines.some((l) => l.includes('Get t through t_a [#0]')));
  assert.ok(!p.lines.some((l) => /ArrangeBy.*\n.*Get t/.test(l)));
});
