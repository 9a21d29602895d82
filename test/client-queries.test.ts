/**
 * What drivers, query builders and database browsers ask when they connect (test/data/clients, a file a client): each question is answered,
 * and the answers name what is there. The statements were written down after the clients' own; each may ask more in its newer versions.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { before, describe, it } from 'node:test';
import type pg from 'pg';
import { parseStatements } from '../packages/tidemark/src/sql/parse.ts';
import { errorOf, rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();
const dir = new URL('data/clients/', import.meta.url);

describe('what clients ask at start', () => {
  let c: pg.Client;
  before(async () => {
    c = await db.client();
    await c.query(`
      create table t (a int not null, b varchar(20) default 'x', c numeric(10,2), d timestamptz, e int[]);
      create index t_a on t (a);
      create view v as select a from t;
      create materialized view mv as select count(*) as n from t`);
  });

  for (const file of readdirSync(dir))
    it(file.replace('.sql', ''), async () => {
      for (const { text } of parseStatements(readFileSync(new URL(file, dir), 'utf8'))) {
        const simple = await c.query(text);
        const extended = await c.query({ text, queryMode: 'extended' } as pg.QueryConfig);
        assert.deepEqual(extended.rows.length, simple.rows.length);
      }
    });

  it('information_schema tells the columns', async () => {
    const rows = await rowsOf(
      c,
      "select column_name, data_type, udt_name, is_nullable, column_default, character_maximum_length, numeric_precision, numeric_scale from information_schema.columns where table_name = 't' order by ordinal_position",
    );
    assert.deepEqual(rows, [
      ['a', 'integer', 'int4', 'NO', null, null, 32, 0],
      ['b', 'character varying', 'varchar', 'YES', "'x'", 20, null, null],
      ['c', 'numeric', 'numeric', 'YES', null, null, 10, 2],
      ['d', 'timestamp with time zone', 'timestamptz', 'YES', null, null, null, null],
      ['e', 'ARRAY', '_int4', 'YES', null, null, null, null],
    ]);
    assert.deepEqual(
      await rowsOf(
        c,
        "select table_name, table_type from information_schema.tables where table_schema = 'public' order by 1",
      ),
      [
        ['mv', 'MATERIALIZED VIEW'],
        ['t', 'BASE TABLE'],
        ['v', 'VIEW'],
      ],
    );
  });

  it('names are read as OIDs, wherever they come from', async () => {
    const [[oid]] = (await rowsOf(c, "select oid from pg_class where relname = 't'")) as [[number]];
    assert.deepEqual(await rowsOf(c, "select 't'::regclass::oid, 'public.t'::text::regclass::oid"), [
      [oid, oid],
    ]);
    assert.deepEqual(
      await rowsOf(
        c,
        `select ('"' || table_schema || '"."' || table_name || '"')::regclass::oid from information_schema.tables where table_name = 't'`,
      ),
      [[oid]],
    );
    assert.deepEqual(await rowsOf(c, "select '{int,text[]}'::regtype[]::oid[], 'array_in'::regproc::oid"), [
      [[23, 1009], 750],
    ]);
    assert.equal((await errorOf(c.query("select 'nope'::text::regclass"))).code, '42P01');
    assert.equal((await errorOf(c.query("select 'lower_nope'::regproc"))).code, '42883');
  });

  it('every relation of the catalog can be read, and has the columns it says', async () => {
    const relations = await rowsOf(
      c,
      'select s.name, r.name from mz_relations r join mz_schemas s on s.id = r.schema_id where s.database_id is null order by 1, 2',
    );
    assert.ok(relations.length > 80);
    const declared = await rowsOf(
      c,
      'select s.name, r.name, c.name, c.type_oid from mz_columns c join mz_relations r on r.id = c.id join mz_schemas s on s.id = r.schema_id order by c.position',
    );
    for (const [schema, name] of relations) {
      // The multiplicity of a row in them is a measure: nanoseconds, bytes.
      const few = String(name).endsWith('_raw') ? ' limit 10' : '';
      const { fields } = await c.query(`select * from ${schema}.${name}${few}`);
      assert.deepEqual(
        fields.map((f) => [schema, name, f.name, f.dataTypeID]),
        declared.filter(([s, n]) => s === schema && n === name),
      );
    }
  });
});
