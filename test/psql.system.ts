/** psql against a real database: what a person sees. Run with `npm run test:system`; without psql it says so and fails. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { before, describe, it } from 'node:test';
import { wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();

function psql(args: readonly string[], input = ''): Promise<string> {
  const where = ['-h', '127.0.0.1', '-p', String(db.port), '-U', 'ada', '-d', 'tidemark'];
  const child = spawn('psql', ['-X', '-P', 'pager=off', ...where, ...args], {
    env: { PATH: process.env['PATH'] },
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk));
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.on('error', (cause) =>
      reject(new Error('this test needs psql (Debian: postgresql-client)', { cause })),
    );
    child.on('close', () => resolve(output));
  });
}

const run = (text: string, ...args: readonly string[]): Promise<string> => psql(args, text);
const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((l) => l.trimEnd())
    .filter((l) => l !== '');

describe('psql', () => {
  before(async () => {
    const output = await run(`
      create table t (a int not null, b text default 'x', c numeric(10,2));
      create index t_b on t (b);
      create view v as select a, b from t where a > 0;
      create materialized view mv as select b, count(*) as n from t group by b;
      insert into t values (1, 'one', 2.5), (2, null, null);
      comment on column t.a is 'a column';`);
    assert.deepEqual(lines(output), [
      'CREATE TABLE',
      'CREATE INDEX',
      'CREATE VIEW',
      'CREATE MATERIALIZED VIEW',
      'INSERT 0 2',
      'COMMENT',
    ]);
  });

  it('prints rows, also expanded', async () => {
    assert.deepEqual(lines(await run('select * from t order by a')), [
      ' a |  b  |  c',
      '---+-----+------',
      ' 1 | one | 2.50',
      ' 2 |     |',
      '(2 rows)',
    ]);
    assert.deepEqual(lines(await run('\\x\nselect a, b from t where a = 1')), [
      'Expanded display is on.',
      '-[ RECORD 1 ]',
      'a | 1',
      'b | one',
    ]);
  });

  it('lists', async () => {
    assert.match(await run('\\d'), /public \| mv +\| materialized view \| tidemark/);
    assert.match(await run('\\dt'), /public \| t +\| table/);
    assert.match(await run('\\dv'), /public \| v +\| view/);
    assert.match(await run('\\dm'), /public \| mv/);
    assert.match(await run('\\di'), /public \| t_b +\| index +\| tidemark \| t/);
    assert.match(await run('\\dn'), /public +\| tidemark/);
    assert.match(await run('\\l'), /tidemark \| tidemark \| UTF8/);
    assert.match(await run('\\du'), /tidemark/);
    assert.match(await run('\\df lower'), /pg_catalog \| lower \| text +\| text +\| func/);
    assert.match(await run('\\dC'), /integer +\| bigint/);
    assert.match(await run('\\conninfo'), /connected to database "tidemark"/);
  });

  it('describes', async () => {
    const table = await run('\\d+ t');
    assert.match(table, /Table "public\.t"/);
    assert.match(table, / a +\| integer +\| +\| not null \| .*a column/);
    assert.match(table, / b +\| text +\| +\| +\| 'x'/);
    assert.match(table, / c +\| numeric\(10,2\)/);
    assert.match(table, /Indexes:\n +"t_b" .*\(b\)/);
    assert.match(
      await run('\\d+ v'),
      /View definition:\n+ ?SELECT a, b FROM tidemark\.public\.t WHERE a > 0;/,
    );
    assert.match(await run('\\d mv'), /Materialized view "public\.mv"/);
    assert.match(await run('\\d t_b'), /Index "public\.t_b"/);
    assert.match(await run('\\d mz_tables'), /Table "mz_catalog\.mz_tables"|Did not find/);
    assert.match(await run('\\d nope'), /Did not find any relation named "nope"/);
  });

  it('fetches in pieces', async () => {
    const output = await run(
      'select n from generate_series(1, 25) n order by n',
      '-At',
      '-v',
      'FETCH_COUNT=10',
    );
    assert.deepEqual(
      lines(output),
      Array.from({ length: 25 }, (_, i) => String(i + 1)),
    );
  });

  it('shows where errors are', async () => {
    const output = await run('select a,\n  nope\nfrom t;', '-v', 'VERBOSITY=verbose');
    assert.match(output, /ERROR: {2}42703: column "nope" does not exist\nLINE 2: {3}nope\n {10}\^/);
    assert.match(await run('drop table t'), /DETAIL: .*view v depends on t/);
  });

  it('copies a table out; in is refused by name', async () => {
    assert.equal(await run('\\copy t to stdout', '-q'), '1\tone\t2.50\n2\t\\N\t\\N\n');
    assert.match(await run('\\copy t from /dev/null'), /ERROR: {2}COPY … FROM is not supported/);
  });

  it('stops a script at its first error', async () => {
    const output = await run(
      'begin;\ninsert into t values (9);\nselect nope;\ncommit;\nselect 1;',
      '-v',
      'ON_ERROR_STOP=1',
    );
    assert.match(output, /column "nope" does not exist/);
    assert.deepEqual(lines(await run('select count(*) from t where a = 9', '-At')), ['0']);
  });

  it('completes names with its own queries', async () => {
    // What Tab sends after `select * from `.
    const output = await run(
      "SELECT pg_catalog.quote_ident(c.relname) FROM pg_catalog.pg_class c WHERE (c.relkind IN ('r', 'S', 'v', 'm', 'f', 'p')) AND substring(pg_catalog.quote_ident(c.relname),1,2)='mv' AND pg_catalog.pg_table_is_visible(c.oid) LIMIT 1000",
      '-At',
    );
    assert.deepEqual(lines(output), ['mv']);
  });
});
