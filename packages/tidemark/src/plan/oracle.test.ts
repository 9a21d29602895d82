/**
 * PostgreSQL (PGlite) as the oracle: random queries, planned, then interpreted as decorrelated, as optimised and as
 * lowered; all three must give PostgreSQL's rows. It cannot see faults of performance, of functions that both sides
 * compute with the same kernel wrongly in the same way, nor of changes over time.
 *
 * SEED=<n> RUNS=<n> replay; a failure prints both.
 */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { PGlite } from '@electric-sql/pglite';
import { SqlError } from '../base/error.ts';
import { textOf } from '../repr/format.ts';
import type { Row, SqlType } from '../repr/types.ts';
import { parseStatement } from '../sql/parse.ts';
import { finish, interpret } from './interpret.ts';
import { interpretLir } from './interpret-lir.ts';
import { lowerMir } from './lower.ts';
import { columnsOf } from './mir.ts';
import { ORACLE_TABLES, type OracleTable, oracleRows, QueryGenerator, Random } from './oracle-queries.ts';
import { planQuery } from './plan-query.ts';
import { TEST_CLUSTER, TEST_NAMES, TestCatalog } from './test-catalog.ts';

const SEED = Number(process.env.SEED ?? 20_261_129);
const RUNS = Number(process.env.RUNS ?? 300);
const QUERIES_PER_DATA = 15;
const CONTEXT = { timeZone: 'UTC', nowMicros: 0n };

let pg: PGlite;
before(async () => {
  pg = await PGlite.create();
});
after(() => pg.close());

const catalog = new TestCatalog();
for (const [name, t] of Object.entries(ORACLE_TABLES)) catalog.table(name, t.ddl);
catalog.index('t_a', 't', [0]);
catalog.index('u_d_a', 'u', [1, 0]);

const options = { catalog, names: TEST_NAMES, eval: CONTEXT };
const nameOf = (id: string): OracleTable =>
  [...catalog.items()].find((i) => i.id === id)!.name.item as OracleTable;

function queryOf(sql: string) {
  const statement = parseStatement(sql);
  assert.ok(statement.kind === 'selectStatement');
  return statement.query;
}
const textRow = (row: Row, types: readonly SqlType[]): string =>
  JSON.stringify(row.map((d, i) => (d === null ? null : textOf(types[i], d))));

/** The rows of each stage of the plan, in order. */
function ours(sql: string, data: ReadonlyMap<OracleTable, readonly Row[]>) {
  const plan = planQuery(queryOf(sql), options);
  const tables = (id: string): readonly Row[] => data.get(nameOf(id))!;
  const run = { tables, context: CONTEXT };
  const types = columnsOf(plan.mir).map((c) => c.type);
  const { root } = lowerMir(plan.mir, { cluster: TEST_CLUSTER, indexes: (id) => catalog.indexesOn(id) });
  const text = (bag: ReturnType<typeof interpret>): string[] =>
    finish(bag, plan.finishing, types).map((row) => textRow(row, types));
  return {
    decorrelated: text(interpret(plan.decorrelated, run)),
    optimized: text(interpret(plan.mir, run)),
    lowered: text(interpretLir(root, run)),
  };
}

/**
 * Grouping and set operations give a key's canonical form, where PostgreSQL gives the form of one of the rows: 1.0 and
 * 1.00, 0 and -0 are one value.
 */
const canonical = (row: string): string =>
  row
    .replace(/"(-?\d+)\.(\d*?)0*"/g, (_, i: string, f: string) => `"${f === '' ? i : `${i}.${f}`}"`)
    .replaceAll('"-0"', '"0"');

/** int4, int8, bool, text, float8, numeric: as the wire has them. */
const AS_TEXT = Object.fromEntries([16, 20, 23, 25, 701, 1700].map((oid) => [oid, (v: string) => v]));

async function theirs(sql: string): Promise<string[]> {
  const result = await pg.query(sql, [], { rowMode: 'array', parsers: AS_TEXT });
  return (result.rows as unknown[][]).map((row) => JSON.stringify(row));
}

async function load(random: Random): Promise<Map<OracleTable, readonly Row[]>> {
  const data = new Map<OracleTable, readonly Row[]>();
  for (const name of Object.keys(ORACLE_TABLES) as OracleTable[]) {
    const rows = oracleRows(random, name);
    await pg.exec(`DROP TABLE IF EXISTS ${name}; CREATE TABLE ${name} (${ORACLE_TABLES[name].ddl})`);
    if (rows.length === 0) {
      data.set(name, []);
      continue;
    }
    const values = `VALUES ${rows.map((r) => `(${r.join(', ')})`).join(', ')}`;
    await pg.exec(`INSERT INTO ${name} ${values}`);
    const plan = planQuery(queryOf(values), options);
    data.set(
      name,
      finish(
        interpret(plan.mir, { tables: () => [], context: CONTEXT }),
        plan.finishing,
        columnsOf(plan.mir).map((c) => c.type),
      ),
    );
  }
  return data;
}

test('random queries give the rows of PostgreSQL at every stage of the plan', async () => {
  const shapes = new Map<string, number>();
  let answered = 0;
  for (let run = 0; run < RUNS; run += QUERIES_PER_DATA) {
    const random = new Random(SEED + run);
    const data = await load(random);
    for (let q = 0; q < QUERIES_PER_DATA; q++) {
      const generator = new QueryGenerator(random);
      const sql = generator.query();
      const expected = await theirs(sql);
      if (expected.length > 0) answered++;
      for (const s of generator.shapes) shapes.set(s, (shapes.get(s) ?? 0) + 1);
      const replay = `SEED=${SEED + run} RUNS=1\n${sql}\n${[...data].map(([n, rows]) => `${n}: ${rows.map((r) => r.join(',')).join(' ')}`).join('\n')}`;
      let stages: ReturnType<typeof ours>;
      try {
        stages = ours(sql, data);
      } catch (e) {
        throw new Error(`${e instanceof SqlError ? e.sqlstate : ''} ${(e as Error).stack}\n${replay}`);
      }
      for (const [stage, rows] of Object.entries(stages))
        assert.deepEqual(rows.map(canonical).sort(), expected.map(canonical).sort(), `${stage}\n${replay}`);
    }
  }
  // A run that answers nothing, or that never meets a construct, tests nothing.
  assert.ok(answered > RUNS / 4, `${answered} of ${RUNS} queries have rows`);
  if (RUNS >= 300)
    for (const shape of [
      'join',
      'left join',
      'right join',
      'full join',
      'lateral',
      'exists',
      'not exists',
      'in',
      'not in',
      'any',
      'all',
      'scalar subquery',
      'group',
      'global aggregate',
      'distinct',
      'limit',
      'derived',
      'union',
      'except all',
      'intersect all',
    ])
      assert.ok((shapes.get(shape) ?? 0) > 0, `some query has ${shape}`);
});
