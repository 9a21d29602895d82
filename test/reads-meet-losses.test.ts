/**
 * Reads of every kind while replicas die, lose their connection, are dropped and made, in an order that a seed decides. Each read ends
 * with the right rows, with an error for users, or is given up by its reader; once everything is dropped nothing is left. It cannot
 * see a read that was answered later than it could have been.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { SqlError } from '../packages/tidemark/src/base/error.ts';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/index.ts';
import { SeededRandom } from '../packages/tidemark/src/testkit/random.ts';
import { temporaryDirectory } from './support/at-end.ts';

const FIRST = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 6);
const STEPS = 40;

interface Read {
  readonly sql: string;
  readonly started: ReturnType<TestEnvironment['start']>;
}

const readsOf = (directory: string): readonly string[] => [
  'SELECT sum(a) AS a FROM t',
  'SELECT a FROM i',
  'SELECT a FROM m',
  'BEGIN; SELECT a FROM i; SELECT sum(a) AS a FROM t; COMMIT',
  `COPY (SELECT a FROM m) TO '${join(directory, 'm.csv')}'`,
  'INSERT INTO u SELECT a FROM i',
];

for (let seed = FIRST; seed < FIRST + RUNS; seed++)
  test(`each read ends, whatever becomes of replicas (SEED=${seed} RUNS=1)`, async (context) => {
    const reads = readsOf(await temporaryDirectory(context));
    const t = await openTest({ seed, outlive: seed % 2 === 0 });
    const r = new SeededRandom(seed);
    await t.exec(`CREATE CLUSTER c REPLICAS (r1 (SIZE '1')); SET cluster = c; CREATE TABLE u (a int8); CREATE TABLE t (a int);
      INSERT INTO t VALUES (1), (2); CREATE VIEW i AS SELECT sum(a) AS a FROM t; CREATE INDEX ON i (a);
      CREATE MATERIALIZED VIEW m AS SELECT sum(a) AS a FROM t`);
    const replicas = new Set(['r1']);
    let made = 1;
    let open: Read[] = [];
    const pick = <T>(from: readonly T[]): T => from[r.below(from.length)]!;
    const begin = (): void => {
      const sql = pick(reads);
      const where = r.below(3) === 0 ? `SET cluster_replica = ${pick(['r1', 'r2', 'r3'])};` : '';
      const timeout = r.below(3) === 0 ? `SET statement_timeout = '${r.below(3000) + 1}ms';` : '';
      open.push({ sql, started: t.start(`SET cluster = c; ${where} ${timeout} ${sql}`) });
    };
    const ended = async ({ sql, started }: Read): Promise<void> => {
      try {
        const { rows } = await started.result();
        if (sql.startsWith('SELECT')) assert.deepEqual(rows, [{ a: 3n }], sql);
      } catch (error) {
        assert.ok(error instanceof SqlError && error.code !== 'internal_error', `${sql}: ${String(error)}`);
      }
    };
    for (let step = 0; step < STEPS; step++) {
      const action = r.below(10);
      if (action < 5) begin();
      else if (action === 5 && replicas.size > 0) await t.crash({ cluster: 'c' }).catch(() => undefined);
      else if (action === 6 && seed % 2 === 0 && replicas.size > 0) t.cut({ cluster: 'c' });
      else if (action === 7 && made < 6) {
        const name = `r${++made}`;
        await t.exec(`CREATE CLUSTER REPLICA c.${name} (SIZE '1')`);
        replicas.add(name);
      } else if (action === 8 && replicas.size > 0) {
        const name = pick([...replicas]);
        await t.exec(`DROP CLUSTER REPLICA c.${name}`);
        replicas.delete(name);
      } else if (open.length > 0) pick(open).started.cancel();
      await t.advance(r.below(900));
      for (const read of open.filter((o) => o.started.isDone)) await ended(read);
      open = open.filter((o) => !o.started.isDone);
    }
    for (const name of replicas) await t.exec(`DROP CLUSTER REPLICA c.${name}`);
    await t.advance(1000);
    assert.deepEqual(
      open.filter((o) => !o.started.isDone).map((o) => o.sql),
      [],
      'without a replica that may come nobody waits',
    );
    for (const read of open) await ended(read);
    await t.exec('DROP TABLE t CASCADE; DROP TABLE u; DROP CLUSTER c');
    await t.assertNothingLeft();
    await t.close();
  });

test('a read that waits for the store hears its timeout and its cancel', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  const release = t.hang();
  const reads = ['SELECT a FROM t', 'SUBSCRIBE t', 'SELECT mz_now(), a FROM t', 'UPDATE t SET a = 2'];
  const timed = reads.map((sql) => t.start(`SET statement_timeout = '1s'; ${sql}`));
  const canceled = reads.map((sql) => t.start(sql));
  await t.run();
  for (const s of canceled) s.cancel();
  for (const s of [...timed, ...canceled])
    await assert.rejects(s.result(), (e: SqlError) => e.sqlstate === '57014');
  release();
  assert.deepEqual((await t.query('SELECT a FROM t')).values, [[1]]);
  await t.close();
});
