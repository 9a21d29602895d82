/**
 * Everything psql 15 sends for its backslash commands (test/data/psql), replayed over the wire. The files hold a real server's OIDs: each is
 * replaced by the OID of what the file's first statement finds here. What psql shows of it is in psql.system.ts.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import type pg from 'pg';
import { parseStatements } from '../packages/tidemark/src/sql/parse.ts';
import { rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();
const dir = new URL('data/psql/', import.meta.url);
const FIRST_USER_OID = 16384;

const SETUP = [
  "create table t (a int not null, b text default 'x', c numeric(10,2))",
  'create index t_b on t (b)',
  "comment on table t is 'a table'",
  "comment on column t.a is 'a column'",
  'create view v as select a, b from t where a > 0',
  'create materialized view mv as select b, count(*) as n from t group by b',
  'create table u (x int)',
];

/** One file's answers. */
async function replay(c: pg.Client, name: string): Promise<Record<string, unknown>[][]> {
  const answers: Record<string, unknown>[][] = [];
  let oid: unknown;
  for (const { text } of parseStatements(readFileSync(new URL(`${name}.sql`, dir), 'utf8'))) {
    const known = text.replace(/(?<=\D)\d{5}(?=\D)/g, (n) =>
      oid === undefined || Number(n) < FIRST_USER_OID ? n : String(oid),
    );
    const { rows } = await c.query(known);
    oid ??= (rows[0] as Record<string, unknown> | undefined)?.['oid'];
    answers.push(rows as Record<string, unknown>[]);
  }
  return answers;
}

describe('the statements of psql', () => {
  let c: pg.Client;
  before(async () => {
    c = await db.client();
    for (const s of SETUP) await c.query(s);
  });

  /** `\sf f` asks for a function that users define: there are none. */
  const REFUSED: Readonly<Record<string, string>> = { sf: '42883' };

  for (const file of readdirSync(dir)) {
    const name = file.replace('.sql', '');
    it(name, async () => {
      const code = REFUSED[name];
      if (code === undefined) assert.ok((await replay(c, name)).length > 0);
      else await assert.rejects(replay(c, name), { code });
    });
  }

  const shown = async (name: string, ...columns: readonly string[]): Promise<unknown[][]> =>
    (await replay(c, name))[0]!.map((r) => columns.map((k) => r[k]));

  it('list what is there', async () => {
    assert.deepEqual(await shown('d', 'Schema', 'Name', 'Type'), [
      ['public', 'mv', 'materialized view'],
      ['public', 't', 'table'],
      ['public', 'u', 'table'],
      ['public', 'v', 'view'],
    ]);
    assert.deepEqual(await shown('dt', 'Name'), [['t'], ['u']]);
    assert.deepEqual(await shown('dv', 'Name'), [['v']]);
    assert.deepEqual(await shown('dm', 'Name'), [['mv']]);
    assert.deepEqual(await shown('di', 'Name', 'Table'), [['t_b', 't']]);
    assert.deepEqual(await shown('l', 'Name', 'Encoding'), [['tidemark', 'UTF8']]);
    assert.deepEqual(await shown('du', 'rolname'), [['tidemark']]);
    assert.ok((await shown('dn', 'Name')).flat().includes('public'));
  });

  it('describe a table', async () => {
    const [found, kind, columns, indexes] = await replay(c, 'd-table-verbose');
    assert.equal(found![0]!['relname'], 't');
    assert.deepEqual([kind![0]!['relkind'], kind![0]!['relhasindex']], ['r', true]);
    assert.deepEqual(
      columns!.map((r) => [
        r['attname'],
        r['format_type'],
        r['pg_get_expr'],
        r['attnotnull'],
        r['col_description'],
      ]),
      [
        ['a', 'integer', null, true, 'a column'],
        ['b', 'text', "'x'", false, null],
        ['c', 'numeric(10,2)', null, false, null],
      ],
    );
    assert.deepEqual(
      indexes!.map((r) => [r['relname'], r['pg_get_indexdef']]),
      [['t_b', 'CREATE INDEX t_b IN CLUSTER quickstart ON tidemark.public.t (b)']],
    );
    assert.deepEqual(await rowsOf(c, "select obj_description('t'::regclass, 'pg_class')"), [['a table']]);
  });

  it('describe a view by its query, an index by its columns', async () => {
    const definition = (await replay(c, 'd-view')).flat().find((r) => 'pg_get_viewdef' in r);
    assert.equal(definition!['pg_get_viewdef'], 'SELECT a, b FROM tidemark.public.t WHERE a > 0;');
    const [, , keys] = await replay(c, 'd-index');
    assert.deepEqual(
      keys!.map((r) => [r['attname'], r['format_type'], r['is_key']]),
      [['b', 'text', 'yes']],
    );
  });

  it('name functions with their arguments', async () => {
    const rows = await shown('df-pattern', 'Name', 'Result data type', 'Argument data types', 'Type');
    assert.deepEqual(rows, [['lower', 'text', 'text', 'func']]);
  });
});
