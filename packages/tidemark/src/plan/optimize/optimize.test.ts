/**
 * Each rule, before and after, as text. What is expected was written by a real run (`REWRITE=1`) and read by hand; that
 * the rows stay the same is what `oracle.test.ts` says.
 */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { parseStatement } from '../../sql/parse.ts';
import { explainMir } from '../explain.ts';
import type { Mir } from '../mir.ts';
import { planQuery } from '../plan-query.ts';
import { TEST_NAMES, TestCatalog } from '../test-catalog.ts';
import { projectEarly } from './demand.ts';
import { foldConstants } from './fold.ts';
import { fuseJoins } from './fuse-joins.ts';
import { joinOnIndexes } from './index-joins.ts';
import { orderJoins } from './join-order.ts';
import { inlineLets, shareEqual } from './lets.ts';
import { optimizeLogically, RULES, throughIndexes } from './optimize.ts';
import { pushPredicates } from './pushdown.ts';
import { cancelUnion, redundantReduce } from './redundant.ts';
import type { Rule } from './rule.ts';

const catalog = new TestCatalog({
  t: 'a int4 not null, b int4, c text, key (a)',
  u: 'a int4, d int4',
  w: 'd int4 not null, e text, key (d)',
});
catalog.index('u_a', 'u', [0]);
const options = { catalog, names: TEST_NAMES, eval: { timeZone: 'UTC' } };
const rules = {
  context: options.eval,
  indexes: (id: Parameters<typeof catalog.indexesOn>[0]) => catalog.indexesOn(id),
};
const names = { nameOf: (id: Parameters<typeof catalog.item>[0]) => catalog.item(id)!.name.item };

function decorrelated(sql: string): Mir {
  const statement = parseStatement(sql);
  assert.ok(statement.kind === 'selectStatement');
  return planQuery(statement.query, options).decorrelated;
}

/** `prepare`: rules that bring the plan to where the rule has something to do. */
const CASES: readonly { readonly rule: Rule; readonly sql: string; readonly prepare?: readonly Rule[] }[] = [
  { rule: foldConstants, sql: 'SELECT a + (1 + 2) FROM t WHERE 1 = 1 AND a IS NOT NULL AND b > 2 * 3' },
  { rule: foldConstants, sql: 'SELECT a FROM t WHERE false UNION ALL SELECT d FROM u' },
  { rule: foldConstants, sql: 'SELECT x + 1 FROM (VALUES (1), (2), (3)) AS v (x) WHERE x > 1' },
  {
    rule: pushPredicates,
    sql: 'SELECT * FROM t JOIN u ON t.a = u.a WHERE t.b = 1 AND u.a = 5 AND t.b < u.d',
  },
  {
    rule: pushPredicates,
    sql: 'SELECT * FROM (SELECT b, count(*) FROM t GROUP BY b) s (b, n) WHERE b > 3 AND n > 1',
  },
  { rule: pushPredicates, sql: 'SELECT * FROM t JOIN u ON t.a = u.a WHERE 10 / t.b > 1' },
  {
    rule: pushPredicates,
    sql: 'SELECT * FROM (SELECT a FROM t UNION ALL SELECT d FROM u) s (x) WHERE x = 1',
  },
  {
    rule: pushPredicates,
    sql: 'SELECT * FROM t LEFT JOIN u ON t.a = u.a WHERE u.d = 1',
    prepare: [inlineLets],
  },
  {
    rule: pushPredicates,
    sql: 'SELECT s.a, v.d FROM (SELECT t.a, lower(t.c) AS k FROM t JOIN w ON t.b = w.d) s JOIN w v ON v.e = s.k',
    prepare: [fuseJoins],
  },
  {
    rule: fuseJoins,
    sql: 'SELECT t.a, w.e FROM (t JOIN u ON t.a = u.a) JOIN w ON u.d = w.d',
    prepare: [pushPredicates],
  },
  { rule: projectEarly, sql: 'SELECT t.a FROM t JOIN u ON t.a = u.a', prepare: [pushPredicates] },
  { rule: projectEarly, sql: 'SELECT n FROM (SELECT b, count(*), max(c) FROM t GROUP BY b) s (b, n, m)' },
  { rule: redundantReduce, sql: 'SELECT DISTINCT a, b FROM t' },
  { rule: redundantReduce, sql: 'SELECT DISTINCT b FROM (SELECT b FROM t GROUP BY b) s' },
  { rule: cancelUnion, sql: 'SELECT b FROM t EXCEPT ALL SELECT b FROM t', prepare: [inlineLets] },
  { rule: inlineLets, sql: 'WITH c AS (SELECT b, count(*) FROM t GROUP BY b) SELECT * FROM c' },
  {
    rule: shareEqual,
    sql: 'SELECT b, count(*) FROM t GROUP BY b UNION ALL SELECT b, count(*) FROM t GROUP BY b',
  },
  {
    rule: orderJoins,
    sql: "SELECT 1 FROM t, w, u WHERE t.a = u.a AND u.d = w.d AND t.c = 'x'",
    prepare: [fuseJoins, pushPredicates],
  },
  {
    rule: joinOnIndexes,
    sql: 'SELECT w.e, u.d FROM u JOIN w ON u.a = w.d',
    prepare: [pushPredicates, projectEarly],
  },
];

const FILE = new URL('./rules.expected.txt', import.meta.url);

test('each rule does what its text says', () => {
  const sections = CASES.map(({ rule, sql, prepare = [] }) => {
    const before = prepare.reduce((plan, r) => r.apply(plan, rules), decorrelated(sql));
    const after = rule.apply(before, rules);
    const [b, a] = [explainMir(before, names), explainMir(after, names)];
    assert.notEqual(a, b, `${rule.name} changes: ${sql}`);
    return `## ${rule.name}: ${sql}\n\n${b}\n\n=>\n\n${a}\n`;
  });
  const text = sections.join('\n');
  if (process.env.REWRITE !== undefined) writeFileSync(FILE, text);
  assert.equal(text, readFileSync(FILE, 'utf8'));
});

test('every rule has a case', () => {
  const covered = new Set(CASES.map((c) => c.rule.name));
  assert.deepEqual(
    RULES.map((r) => r.name).filter((n) => !covered.has(n)),
    [],
  );
});

test('a plan that is optimised stays as it is', () => {
  for (const { sql } of CASES) {
    const optimize = (mir: Mir): Mir => throughIndexes(optimizeLogically(mir, rules), rules);
    const once = optimize(decorrelated(sql));
    assert.equal(explainMir(optimize(once), names), explainMir(once, names), sql);
  }
});
