/** Faults that engines of this kind had, as queries with their answers; each at every stage of the plan. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { textOf } from '../repr/format.ts';
import type { Row } from '../repr/types.ts';
import { parseStatement } from '../sql/parse.ts';
import { finish, interpret } from './interpret.ts';
import { interpretLir } from './interpret-lir.ts';
import { lowerMir } from './lower.ts';
import { columnsOf } from './mir.ts';
import { planQuery } from './plan-query.ts';
import { TEST_CLUSTER, TEST_NAMES, TestCatalog } from './test-catalog.ts';

const catalog = new TestCatalog({
  one: 'f1 int4',
  two: 'f1 int4',
  p: 'k int4',
  none: 'k int4',
  pair: 'f1 int4, f2 int4',
  nul: 'a int4',
  vins: 'vin text, updated int4',
  comp: 'id int4, company text',
  n: 'x int4',
  big: 'v int8',
  worker: 'id uint8, n int8',
});
const DATA: Readonly<Record<string, readonly Row[]>> = {
  one: [[1], [2]],
  two: [[1]],
  p: [[1], [2], [null]],
  none: [],
  pair: [[1, 5]],
  nul: [[null]],
  vins: [
    ['a', 1],
    ['a', 5],
    ['b', 4],
  ],
  comp: [
    [1, 'x'],
    [2, null],
    [3, 'z'],
  ],
  n: [[null], [1], [2]],
  big: [[9_000_000_000_000_000_000n], [9_000_000_000_000_000_000n]],
  worker: [
    [1n, 1n],
    [2n ** 64n - 1n, -1n],
    [3n, 2n],
  ],
};

function answers(sql: string): readonly string[][] {
  const context = { timeZone: 'UTC' };
  const statement = parseStatement(sql);
  assert.ok(statement.kind === 'selectStatement');
  const plan = planQuery(statement.query, { catalog, names: TEST_NAMES, eval: context });
  const tables = (id: Parameters<typeof catalog.item>[0]): readonly Row[] =>
    DATA[catalog.item(id)!.name.item];
  const run = { tables, context };
  const types = columnsOf(plan.mir).map((c) => c.type);
  const { root } = lowerMir(plan.mir, { cluster: TEST_CLUSTER, indexes: (id) => catalog.indexesOn(id) });
  const ordered = plan.finishing.orderBy.length > 0;
  const bags = [interpret(plan.decorrelated, run), interpret(plan.mir, run), interpretLir(root, run)];
  return bags.map((bag) => {
    const rows = finish(bag, plan.finishing, types).map((r) =>
      r.map((d, i) => (d === null ? '∅' : textOf(types[plan.finishing.project[i]], d))).join(','),
    );
    return ordered ? rows : rows.sort();
  });
}

/** Query and rows, `∅` for NULL; in order where the query orders. */
const CASES: readonly (readonly [string, readonly string[]])[] = [
  // A test on the count of the nullable side leaves the left join one.
  [
    'SELECT count(two.f1) FROM one LEFT JOIN two ON one.f1 = two.f1 GROUP BY one.f1 HAVING count(two.f1) >= 0',
    ['0', '1'],
  ],
  ['SELECT count(b.k) FROM p b RIGHT JOIN p a ON false', ['0']],
  ['SELECT count(b.k) FROM none b RIGHT JOIN none a ON false', ['0']],
  ['SELECT k FROM p a WHERE EXISTS (SELECT 1 FROM p b WHERE b.k IS NOT DISTINCT FROM a.k)', ['1', '2', '∅']],
  ['SELECT (SELECT count(*) FROM one LEFT JOIN two ON one.f1 = a.k) FROM p a WHERE k IS NULL', ['2']],
  [
    'SELECT l.f1, r.f1 FROM pair l LEFT JOIN pair r ON l.f2 = r.f1 WHERE l.f1 IS NOT NULL AND r.f1 IS NULL',
    ['1,∅'],
  ],
  // NULL keys meet nothing, on either side.
  ['SELECT l.a, r.a FROM nul l FULL JOIN nul r ON l.a = r.a', ['∅,∅', '∅,∅']],
  // A grand total has its row over nothing, and only it.
  ['SELECT count(*), sum(k) FROM none', ['0,∅']],
  ['SELECT k, count(*) FROM none GROUP BY k', []],
  ['SELECT count(*) FROM none HAVING count(*) > 0', []],
  ['SELECT (SELECT count(*) FROM none WHERE none.k = one.f1) FROM one', ['0', '0']],
  ['SELECT vin FROM vins GROUP BY vin ORDER BY max(updated) DESC LIMIT 1', ['a']],
  // Three-valued logic.
  ['SELECT x FROM n WHERE x = NULL', []],
  ['SELECT x FROM n WHERE NOT (x = 1)', ['2']],
  ['SELECT x FROM n WHERE x NOT IN (1, NULL)', []],
  ['SELECT x FROM n WHERE x NOT IN (SELECT x FROM n)', []],
  ['SELECT x FROM n WHERE x NOT IN (SELECT k FROM none)', ['1', '2', '∅']],
  ['SELECT x FROM n WHERE x IN (SELECT x FROM n)', ['1', '2']],
  ['SELECT count(x), count(*) FROM n', ['2,3']],
  // NULL sorts last going up, first going down.
  ['SELECT id FROM comp ORDER BY company DESC LIMIT 1', ['2']],
  ['SELECT id FROM comp ORDER BY company LIMIT 1', ['1']],
  ['SELECT id FROM comp ORDER BY company DESC NULLS LAST LIMIT 1', ['3']],
  ['SELECT x FROM n WHERE EXISTS (SELECT 1 FROM n LIMIT 0)', []],
  // Literals that JSON takes for one are not one.
  [
    "SELECT sum(f1 + 'Infinity'::float8), sum(f1 + '-Infinity'::float8), sum(f1 * 'NaN'::float8), sum(f1 * NULL::float8) FROM two",
    ['Infinity,-Infinity,NaN,∅'],
  ],
  [
    `SELECT sum(x) FROM (SELECT f1 + 'Infinity'::float8 AS x FROM two) s GROUP BY x
     UNION ALL SELECT sum(x) FROM (SELECT f1 + '-Infinity'::float8 AS x FROM two) s GROUP BY x`,
    ['-Infinity', 'Infinity'],
  ],
  [
    "SELECT string_agg(DISTINCT (v + 1::int8)::text, ',' ORDER BY (v + 1::int8)::text) FROM big",
    ['9000000000000000001'],
  ],
  // Sums grow wider, never wrap.
  ['SELECT sum(v) FROM big', ['18000000000000000000']],
  // Signed and unsigned meet where both fit, and do not wrap.
  ['SELECT n FROM worker WHERE id = n', ['1']],
  ['SELECT n FROM worker WHERE id > n', ['-1', '2']],
  ['SELECT w.n FROM worker w JOIN one ON w.id = one.f1', ['1']],
  // A schema by its name.
  ["SELECT 'public'::regnamespace::oid", ['2200']],
  // A branch that is not taken asks no subquery.
  ['SELECT CASE WHEN f1 < 9 THEN f1 ELSE (SELECT x FROM n) END FROM one', ['1', '2']],
  ['WITH c AS (SELECT f1 FROM one) SELECT a.f1, b.f1 FROM c a JOIN c b ON a.f1 < b.f1', ['1,2']],
  ['SELECT o.f1, s.g FROM one o, LATERAL generate_series(1, o.f1) AS s (g)', ['1,1', '2,1', '2,2']],
];

for (const [sql, rows] of CASES)
  test(sql, () => {
    for (const stage of answers(sql)) assert.deepEqual(stage, rows);
  });

test('more than one row of a scalar subquery is an error of its query alone', () => {
  const refused = (e: unknown): boolean => e instanceof SqlError && e.sqlstate === '21000';
  assert.throws(() => answers('SELECT (SELECT x FROM n) FROM one'), refused);
  assert.deepEqual(answers('SELECT (SELECT x FROM n) FROM none')[1], []);
});
