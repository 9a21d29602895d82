/**
 * Statements of many sessions at once, in an order that a seed decides: what one of them names may be dropped, renamed or made by another while
 * it waits. Each is answered or refused with an error for users; afterwards the catalog stands by itself: a restart loads every object, and
 * when all is dropped nothing is left. It cannot see wrong answers: other suites compare those.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../packages/tidemark/src/base/error.ts';
import type { Started } from '../packages/tidemark/src/testkit/simulator.ts';
import { openWatched } from './support/watched.ts';

const FIRST = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 10);
const STATEMENTS = 24;

const SETUP = `CREATE CLUSTER c REPLICAS (r1 (SIZE '1'), r2 (SIZE '2')); CREATE CLUSTER d (SIZE '1');
  CREATE TABLE t (a int); CREATE TABLE u (a int); INSERT INTO u VALUES (1); CREATE VIEW v AS SELECT a FROM u;
  CREATE INDEX i IN CLUSTER c ON v (a); CREATE MATERIALIZED VIEW m IN CLUSTER c AS SELECT a + 1 AS a FROM u;
  CREATE REPLACEMENT MATERIALIZED VIEW r FOR m AS SELECT a + 2 AS a FROM u`;

/** Of what cluster, relations and replicas are for. */
const USES = [
  'SELECT a FROM u',
  'SELECT count(*) FROM u x, u y',
  'SELECT * FROM v',
  'SELECT a FROM m',
  'SELECT * FROM mz_introspection.mz_compute_exports_per_worker',
  'SELECT * FROM mz_introspection.mz_compute_exports e JOIN mz_objects o ON o.id = e.export_id',
  'SELECT * FROM mz_internal.mz_hydration_blockers',
  'BEGIN; SELECT a FROM u; SELECT a FROM v; COMMIT',
  'BEGIN; DECLARE x CURSOR FOR SELECT a FROM u; FETCH ALL FROM x; COMMIT',
  'SUBSCRIBE u',
  'INSERT INTO t SELECT a FROM u',
  'INSERT INTO t VALUES (1); INSERT INTO u VALUES (2)',
  'UPDATE u SET a = a + 1',
  'DELETE FROM u WHERE a IN (SELECT a FROM v)',
  'EXPLAIN SELECT a FROM u',
  'EXPLAIN ANALYZE MEMORY FOR INDEX i',
  'SHOW CREATE VIEW v',
] as const;

const CREATIONS = [
  'CREATE TABLE n (a int)',
  'CREATE VIEW n AS SELECT a FROM v',
  'CREATE MATERIALIZED VIEW n AS SELECT a FROM u',
  'CREATE MATERIALIZED VIEW n IN CLUSTER d AS SELECT a FROM m',
  'CREATE INDEX n ON u (a)',
  'CREATE INDEX n IN CLUSTER c ON v (a)',
  'CREATE INDEX n IN CLUSTER c ON m (a)',
  'CREATE REPLACEMENT MATERIALIZED VIEW n FOR m AS SELECT a FROM u',
  'CREATE SCHEMA n',
  "CREATE CLUSTER n (SIZE '1')",
  "CREATE CLUSTER REPLICA c.n (SIZE '1')",
] as const;

const CHANGES = [
  'ALTER MATERIALIZED VIEW m APPLY REPLACEMENT r',
  "ALTER CLUSTER c SET (INTROSPECTION INTERVAL '2s')",
  "ALTER CLUSTER d SET (SIZE '2')",
  'ALTER CLUSTER d SET (REPLICATION FACTOR 2)',
  'ALTER CLUSTER c RENAME TO e',
  'ALTER TABLE u RENAME TO n',
  'ALTER VIEW v RENAME TO n',
  "COMMENT ON TABLE u IS 'x'",
  "COMMENT ON CLUSTER c IS 'x'",
] as const;

const DROPS = [
  'DROP CLUSTER c CASCADE',
  'DROP CLUSTER d CASCADE',
  'DROP CLUSTER REPLICA c.r1',
  'DROP TABLE u CASCADE',
  'DROP VIEW v CASCADE',
  'DROP MATERIALIZED VIEW m CASCADE',
  'DROP MATERIALIZED VIEW r',
  'DROP INDEX i',
] as const;

async function atOnce(seed: number): Promise<{ answered: number; refused: number }> {
  const w = await openWatched({ seed });
  const { t } = w;
  const below = (n: number): number => t.random.below(n);
  await t.exec(SETUP);
  if (below(2) === 0) await t.advance(1500);
  const release = below(3) === 0 ? t.holdReads('u') : () => undefined;
  // All tables and the catalog commit together.
  const fast = below(2) === 0 ? t.slowAppends('t', 5) : () => undefined;
  const under: { readonly sql: string; readonly statement: Started }[] = [];
  for (let i = 0; i < STATEMENTS; i++) {
    const kinds = [USES, CREATIONS, CREATIONS, CREATIONS, CHANGES, DROPS];
    const kind = kinds[below(kinds.length)]!;
    const sql = kind[below(kind.length)]!;
    const where = `SET cluster = ${['c', 'c', 'd'][below(3)]}; SET statement_timeout = '20s'`;
    const replica = below(2) === 0 ? 'SET cluster_replica = r1;' : '';
    under.push({ sql, statement: t.start(`${where}; ${replica} ${sql}`) });
    // Those between two turns are under way together.
    if (below(4) > 0) continue;
    let turns = below(10);
    await t.time.pump(() => turns-- <= 0);
  }
  await t.advance(100);
  release();
  fast();
  const count = { answered: 0, refused: 0 };
  for (const { sql, statement } of under)
    await statement.result().then(
      () => count.answered++,
      (error: unknown) => {
        count.refused++;
        const isForUsers = error instanceof SqlError && !error.sqlstate.startsWith('XX');
        if (!isForUsers) throw new Error(`${sql}: ${(error as Error).stack}`, { cause: error });
      },
    );
  await t.restart();
  // Every replica has logged something when its log is looked at.
  await t.advance(2500);
  assert.deepEqual(w.complaints, []);
  for (const { name, id } of [...t.env.catalog.clusters()])
    if (id.startsWith('u') && name !== 'quickstart') await t.exec(`DROP CLUSTER ${name} CASCADE`);
  await w.finish();
  return count;
}

test(`statements at once: each is answered or refused, and the catalog stands, seeds ${FIRST} to ${FIRST + RUNS - 1}`, async () => {
  const all = { answered: 0, refused: 0 };
  for (let seed = FIRST; seed < FIRST + RUNS; seed++) {
    const { answered, refused } = await atOnce(seed).catch((error: unknown) => {
      throw new Error(`${(error as Error).message}\nreplay: SEED=${seed} RUNS=1`, { cause: error });
    });
    all.answered += answered;
    all.refused += refused;
  }
  const whole = RUNS < 4 || (all.answered > RUNS && all.refused > RUNS);
  assert.ok(whole, `some are answered and some refused: ${JSON.stringify(all)}`);
});
