/** Run as a process with --expose-gc: what the heap holds before and after views of distinct counts came and went. */
import { setImmediate as turn } from 'node:timers/promises';
import { openTest } from '../../packages/tidemark/src/testkit/simulator.ts';

const [ROWS, ROUNDS, WARM_UP] = [15_000, 20, 6];

const t = await openTest({ workers: 2 });
await t.exec(
  `CREATE TABLE t (a int, f int); INSERT INTO t SELECT x % 50, x FROM generate_series(1, ${ROWS}) AS g(x)`,
);

async function churn(n: number): Promise<void> {
  for (let i = 0; i < n; i++) {
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a, count(DISTINCT f) AS n FROM t GROUP BY a');
    await t.query('SELECT * FROM v');
    await t.exec('DROP MATERIALIZED VIEW v');
    await t.advance(1500);
  }
}

async function bytes(): Promise<number> {
  // The simulation remembers what was said; an environment does not.
  t.trace.length = 0;
  for (let i = 0; i < 4; i++) {
    await turn();
    globalThis.gc!();
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

const empty = await bytes();
await churn(1);
await t.exec('CREATE MATERIALIZED VIEW kept AS SELECT a, count(DISTINCT f) AS n FROM t GROUP BY a');
await t.query('SELECT * FROM kept');
const withView = await bytes();
await t.exec('DROP MATERIALIZED VIEW kept');
await churn(WARM_UP);
const before = await bytes();
await churn(ROUNDS);
const after = await bytes();
await t.close();
process.stdout.write(JSON.stringify({ empty, withView, before, after, rounds: ROUNDS }));
