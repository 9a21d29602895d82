import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseStatements } from '../sql/parse.ts';
import { generateWorkload, shrink, type Workload, workloadSql } from './workload.ts';

test('a seed draws one workload, and another seed another', () => {
  assert.deepEqual(generateWorkload(7), generateWorkload(7));
  assert.notDeepEqual(generateWorkload(7), generateWorkload(8));
});

test('every workload parses, and meets the constructs it is for', () => {
  const constructs = new Set<string>();
  for (let seed = 0; seed < 300; seed++) {
    const w = generateWorkload(seed);
    parseStatements(workloadSql(w));
    for (const q of w.queries) for (const c of q.constructs) constructs.add(c);
  }
  for (const c of [
    ...['join', 'left join', 'right join', 'full join', 'cross join', 'lateral', 'table function', 'derived'],
    ...['union', 'union all', 'except', 'except all', 'intersect', 'intersect all', 'with', 'distinct on'],
    ...['exists', 'not exists', 'in', 'not in', 'any', 'all', 'scalar subquery', 'distinct', 'limit'],
    ...['group by', 'global aggregate', 'having', 'aggregate distinct', 'aggregate filter', 'fallible'],
  ])
    assert.ok(constructs.has(c), `some query has ${c}`);
});

test('shrinking leaves what the failure needs', async () => {
  const w = generateWorkload(3);
  // Fails as long as the second query and some insert into t1 are there.
  const fails = (x: Workload): Promise<boolean> =>
    Promise.resolve(
      x.queries.some((q) => q.number === 1) && x.steps.flat().some((s) => 'insert' in s && s.insert === 't1'),
    );
  assert.ok(await fails(w));
  const small = await shrink(w, fails, 1000);
  assert.deepEqual(
    small.queries.map((q) => q.number),
    [1],
  );
  assert.equal(small.steps.length, 1);
  const [statement] = small.steps[0]!;
  assert.ok('rows' in statement! && statement.rows.length === 1);
  assert.equal(small.workers, 1);
});
