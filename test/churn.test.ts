/**
 * Tables of thousands of rows that change in bulk, so that arrangements merge and compact: each view against
 * PostgreSQL after every change, on two workers. Random workloads (`fuzz.test.ts`) see more constructs on fewer rows.
 *
 * SEED=<n> draws other changes.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runWorkload } from '../packages/tidemark/src/testkit/differential.ts';
import { TestEngine } from '../packages/tidemark/src/testkit/engine.ts';
import type { ColumnKind } from '../packages/tidemark/src/testkit/generator.ts';
import { SeededRandom } from '../packages/tidemark/src/testkit/random.ts';
import type { Workload, WorkloadStep } from '../packages/tidemark/src/testkit/workload.ts';
import { openReference } from './support/reference.ts';

const SEED = Number(process.env.SEED ?? 17);
const STEPS = 14;

const QUERIES: readonly (readonly [kinds: string, sql: string])[] = [
  ['illi', 'SELECT k, count(*), sum(v), max(v) FROM big GROUP BY k'],
  ['llni', 'SELECT count(DISTINCT v), sum(DISTINCT v), avg(v), min(v) FROM big'],
  ['ii', 'SELECT k, v FROM big ORDER BY v DESC NULLS LAST, k, id LIMIT 20 OFFSET 5'],
  ['ii', 'SELECT DISTINCT ON (k) k, v FROM big ORDER BY k, v, id'],
  ['it', 'SELECT big.id, small.name FROM big JOIN small ON big.k = small.k WHERE big.v % 7 = 0'],
  [
    'itl',
    'SELECT small.k, name, count(big.id) FROM small LEFT JOIN big ON big.k = small.k GROUP BY small.k, name',
  ],
  [
    'ii',
    'SELECT s.k, b.k FROM (SELECT DISTINCT k FROM small) AS s FULL JOIN (SELECT k FROM big GROUP BY k) AS b ON s.k = b.k',
  ],
  ['i', '(SELECT v FROM big) EXCEPT ALL (SELECT v + 1 FROM big)'],
  ['it', "SELECT k, string_agg(v::text, ',' ORDER BY v) FROM big WHERE v < 40 GROUP BY k"],
  ['il', 'SELECT k, (SELECT count(*) FROM small WHERE small.k < b.k) FROM (SELECT DISTINCT k FROM big) AS b'],
];

/** Each statement touches from a few rows to most of them. */
function change(random: SeededRandom): WorkloadStep {
  const n = 2 + random.below(9);
  const at = random.below(n);
  const sql = random.pick([
    `UPDATE big SET v = v + 1 WHERE id % ${n} = ${at}`,
    `UPDATE big SET k = ${random.below(40)}, v = NULL WHERE id % ${n * 9} = ${at}`,
    `DELETE FROM big WHERE id % ${n} = ${at}`,
    `INSERT INTO big SELECT id + 10000, k, v FROM big WHERE id % ${n} = ${at}`,
    `INSERT INTO big SELECT g, g * ${n} % 31, nullif(g * ${n} % 97, ${at}) FROM generate_series(1, ${n * 120}) AS g`,
    `DELETE FROM small WHERE k % ${n} = ${at}`,
    `INSERT INTO small SELECT g, 'n' || g FROM generate_series(${at}, 30, ${n}) AS g`,
  ]);
  return [{ sql }];
}

test('views over thousands of rows follow every change', async () => {
  const random = new SeededRandom(SEED);
  const column = (name: string, kind: ColumnKind) => ({ name, kind });
  const workload: Workload = {
    seed: SEED,
    workers: 2,
    tables: [
      { name: 'big', columns: [column('id', 'i'), column('k', 'i'), column('v', 'i')] },
      { name: 'small', columns: [column('k', 'i'), column('name', 't')] },
    ],
    queries: QUERIES.map(([kinds, sql], number) => ({
      number,
      sql,
      kinds: [...kinds] as ColumnKind[],
      constructs: [],
      // Some see the data come, some begin amid it.
      createdAt: number % 3,
    })),
    indexes: [{ on: 'big', column: 'k', createdAt: 1 }],
    steps: [
      [{ sql: 'INSERT INTO big SELECT g, g % 37, g * 7919 % 503 FROM generate_series(1, 2000) AS g' }],
      [{ sql: "INSERT INTO small SELECT g, 'n' || g FROM generate_series(1, 30) AS g" }],
      ...Array.from({ length: STEPS }, () => change(random)),
    ],
  };
  const reference = await openReference();
  const engine = await TestEngine.open({
    workers: 'seeded',
    seed: SEED,
    schedule: (f) => void setImmediate(f),
  });
  try {
    const { difference, compared, answered } = await runWorkload(workload, engine, reference, {
      interpret: false,
    });
    assert.equal(difference, null, `SEED=${SEED}`);
    assert.deepEqual(engine.faults, []);
    assert.ok(compared > 400 && answered > 130, `${compared} compared, ${answered} with rows`);
  } finally {
    await engine.close();
    await reference.close();
  }
});
