/**
 * What users get wrong, one line each: exactly one error with its SQLSTATE and (where the words are ours) its message. After each the server
 * goes on in the same session, and the catalog is as it was.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type pg from 'pg';
import { fields, message, send } from '../packages/tidemark/src/pgwire/wire-client.fixture.ts';
import { RawClient } from './support/raw-client.ts';
import { errorOf, rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();
const dir = mkdtempSync(join(tmpdir(), 'tidemark-bad-'));
after(() => rmSync(dir, { recursive: true }));

const SETUP = `
  create table t (a int not null, b text, c numeric(10,2));
  create view v as select a, b from t;
  create materialized view mv as select b, count(*) as n from t group by b;
  create index t_a on t (a);
  create schema sc; create table sc.x (a int)`;

type Case = readonly [sql: string, code: string, message?: string | RegExp];

const SYNTAX: readonly Case[] = [
  ['selec 1', '42601', 'syntax error at or near "selec"'],
  ['select (1', '42601', 'syntax error at end of input'],
  ["select 'open", '42601', /unterminated quoted string/],
  ['select "open', '42601', /unterminated quoted identifier/],
  ['select /* open', '42601', /unterminated \/\* comment/],
  ['select from where', '42601'],
  ['create table', '42601'],
  ['create table x (a)', '42601'],
  ['insert into t values', '42601'],
  ['select 1 limit 1 limit 2', '42601'],
  ['select $0', '42P02', 'there is no parameter $0'],
  ['select 1 +', '42601'],
  ['select * from t order by', '42601'],
  ['drop t', '42601'],
  ['\u0001', '42601'],
];

const NAMES: readonly Case[] = [
  ['select nope from t', '42703', 'column "nope" does not exist'],
  ['select t.nope from t', '42703', 'column t.nope does not exist'],
  ['select x.a from t', '42P01', 'missing FROM-clause entry for table "x"'],
  ['select * from nope', '42P01', 'relation "nope" does not exist'],
  ['select * from nope.t', '42P01', 'relation "nope.t" does not exist'],
  ['select * from a.b.c.d', '42601', 'improper qualified name (too many dotted names): a.b.c.d'],
  ['select nope(1)', '42883', 'function nope(integer) does not exist'],
  ['select lower(1, 2)', '42883', 'function lower(integer, integer) does not exist'],
  ["select 'x'::nope", '42704', 'type "nope" does not exist'],
  ['create table x (a nope)', '42704', 'type "nope" does not exist'],
  ['create table nope.x (a int)', '3F000', 'schema "nope" does not exist'],
  ['create view x as select * from nope', '42P01'],
  ['create index on nope (a)', '42P01'],
  ['create index i2 on t (nope)', '42703'],
  ['create index i2 in cluster nope on t (a)', '42704', /nope/],
  ['create materialized view x in cluster nope as select 1 as a', '42704', /nope/],
  ['drop table nope', '42P01', /nope/],
  ['drop view t', '42809', /"t" is not a view/],
  ['drop table v', '42809', /"v" is not a table/],
  ['drop cluster nope', '42704', /nope/],
  ['drop schema nope', '3F000', /nope/],
  ['insert into nope values (1)', '42P01'],
  ['insert into v values (1)', '42809'],
  ['insert into t (nope) values (1)', '42703'],
  ['insert into t (a, a) values (1, 2)', '42701'],
  ['update t set nope = 1', '42703'],
  ['delete from mv', '42809'],
  ["select 'nope'::regclass", '42P01', 'relation "nope" does not exist'],
  ['show nope', '42704', 'unrecognized configuration parameter "nope"'],
  ['select * from t, t', '42712'],
  ['select a from t, v', '42702', 'column reference "a" is ambiguous'],
  ['execute nope', '26000', 'prepared statement "nope" does not exist'],
  ['fetch 1 from nope', '34000', 'cursor "nope" does not exist'],
  ["comment on table nope is 'x'", '42P01'],
  ["comment on column t.nope is 'x'", '42703'],
];

const TYPES_AND_VALUES: readonly Case[] = [
  ["select 1 + 'x'", '22P02', 'invalid input syntax for type integer: "x"'],
  ['select true + 1', '42883', 'operator does not exist: boolean + integer'],
  ['select a from t where b = 1', '42883', 'operator does not exist: text = integer'],
  ["select 'x'::int", '22P02', 'invalid input syntax for type integer: "x"'],
  ["select '2026-02-30'::date", '22008'],
  ["select 'nope'::timestamptz", '22007'],
  ["select '{'::jsonb", '22P02'],
  ["select '{1,'::int[]", '22P02'],
  ["select 'zz'::uuid", '22P02'],
  ['select 1/0', '22012', 'division by zero'],
  ['select 1 where 1/0 = 1', '22012', 'division by zero'],
  ['select 2147483647 + 1', '22003', 'integer out of range'],
  ['select 9223372036854775808::int8', '22003'],
  ['select 1e1000::float8', '22003'],
  ['select sqrt(-1)', '2201F'],
  ['select ln(0)', '2201E'],
  [`select ${'9'.repeat(60)}.0 * ${'9'.repeat(60)}`, '22003'],
  [`select '1e100000'::numeric`, '22003'],
  ["select substring('x', 1, -1)", '22011'],
  ["select 'x' ~ '('", '2201B'],
  ['select case when 1 then 2 end', '42804'],
  ['select a from t union select b from t', '42804'],
  ['select 1 union select 1, 2', '42601'],
  ['select (select 1, 2)', '42601'],
  ['select (select x from generate_series(1, 2) x)', '21000'],
  ['select a, count(*) from t', '42803'],
  ['select sum(count(*)) from t', '42803'],
  ['select a from t where count(*) > 1', '42803'],
  ['select a from t group by 5', '42P10'],
  ['select a from t order by 5', '42P10'],
  ['select 1 limit -1', '2201W'],
  ['select 1 offset -1', '2201X'],
  [
    'insert into t values (null)',
    '23502',
    'null value in column "a" of relation "t" violates not-null constraint',
  ],
  ["insert into t values ('x')", '22P02'],
  ['insert into t values (1, 2, 3, 4)', '42601'],
  ['insert into t (a, b) values (1)', '42601'],
  ['insert into t values (true)', '42804'],
  ['insert into t values (1, null, 123456789.00)', '22003'],
  ['values (1), (1, 2)', '42601'],
  ['select $1', '42P02', 'there is no parameter $1'],
  ['select * from t where a', '42804'],
  ["set timezone = 'Nowhere/At_all'", '22023'],
  ["set statement_timeout = 'soon'", '22023'],
];

const OBJECTS: readonly Case[] = [
  ['show create view mv', '42809', '"mv" is not a view'],
  ['create table t (a int)', '42P07', 'relation "t" already exists'],
  ['create view t as select 1 as a', '42P07', 'relation "t" already exists'],
  ['create index t_a on t (b)', '42P07', 'relation "t_a" already exists'],
  ['create schema sc', '42P06', 'schema "sc" already exists'],
  ['create schema mz_own', '42939'],
  ["create cluster quickstart (size '1')", '42710', 'cluster "quickstart" already exists'],
  ['create table x (a int, a int)', '42701', 'column "a" specified more than once'],
  ['create view x as select 1 as a, 2 as a', '42701'],
  ['create view x (a, b) as select 1', '42601'],
  ['drop table t', '2BP01', 'cannot drop t because other objects depend on it'],
  ['drop schema sc', '2BP01', 'cannot drop schema sc because other objects depend on it'],
  ['drop cluster quickstart', '2BP01', 'cannot drop cluster quickstart because other objects depend on it'],
  ['drop table mz_catalog.mz_tables', '42501', '"mz_tables" is a system object and cannot be dropped'],
  ['drop view pg_catalog.pg_class', '42501'],
  ['drop schema mz_catalog', '42501'],
  ['drop cluster mz_catalog_server', '42501'],
  ['create table mz_catalog.x (a int)', '42501'],
  ['insert into mz_catalog.mz_tables select * from mz_catalog.mz_tables', '42809'],
  ["create cluster x (size 'huge')", '22023', 'unknown cluster replica size "huge"'],
  ["create cluster x (size '0')", '22023'],
  ['create cluster x', '22023'],
  ["create cluster x (size '1', nope 1)", '22023'],
  ["create cluster x (size '1', introspection interval 'often')", '22007'],
  ["create cluster x (size '1', replication factor -1)", '22023'],
  ["create cluster replica nope.r1 size '1'", '42704'],
  ["create cluster replica quickstart.r1 size '1'", '55000', /managed cluster/],
  ["create cluster replica quickstart.r2 size '1'", '55000', /managed cluster/],
  ['drop cluster replica quickstart.r1', '55000', /managed cluster/],
  ["create cluster x (size '1', replication factor 1000)", '22023'],
  ["create cluster x replicas (r1 (size '1'), r1 (size '1'))", '42710'],
  ["create cluster x (size '1') replicas ()", '42601'],
  ["alter cluster quickstart set (size 'huge')", '22023'],
  ['alter cluster quickstart set (replication factor 1.5)', '22023'],
  ['alter cluster quickstart set (managed = false, replication factor 2)', '55000'],
  ['alter cluster quickstart reset (size)', '22023'],
  ["alter cluster mz_catalog_server set (size '2')", '42501'],
  ['alter cluster nope set (managed = false)', '42704'],
  ['set compute_hydration_concurrency = 2', '22023', /same for all sessions/],
  ['alter system set compute_hydration_concurrency = -1', '22023'],
  ['alter system set nope = 1', '42704'],
];

/** Each names what is not there. */
const UNSUPPORTED: readonly Case[] = [
  ['explain analyze select 1', '0A000', 'EXPLAIN ANALYZE of a query is not supported'],
  ['show create cluster quickstart', '0A000', 'SHOW CREATE CLUSTER is not supported'],
  ['show create table mz_internal.mz_hydration_blockers', '0A000'],
  ['copy t from stdin', '0A000', /COPY/],
  ["create cluster x (size 'scale=2,workers=1')", '0A000', /scale/],
  ['alter table t owner to ada', '0A000', /OWNER/],
  ["alter system set timezone = 'UTC'", '0A000', /ALTER SYSTEM/],
  ['select row_number() over (order by a) from t', '0A000', /window/],
  ['select sum(a) over () from t', '0A000', /window/],
  [
    'with mutually recursive r (a int) as (select 1 union select a from r) select * from r',
    '0A000',
    /RECURSIVE/,
  ],
  ['with recursive r (a) as (select 1 union select a + 1 from r) select * from r', '0A000', /RECURSIVE/],
  ['create temporary table x (a int)', '0A000', /temporary/],
  ['create temporary view x as select 1 as a', '0A000', /temporary/],
  ['create or replace view v as select 1 as a', '0A000', /OR REPLACE/],
  ["create connection x to postgres (host 'h')", '0A000', /CONNECTION/],
  ["create secret x as 'y'", '0A000', /SECRET/],
  ['create source x from load generator counter', '0A000', /counter/i],
  ['create table x (a int primary key)', '0A000', /PRIMARY KEY/],
  ['create table x (a int unique)', '0A000', /UNIQUE/],
  ['create table x (a int check (a > 0))', '0A000', /CHECK/],
  ['create table x (a int references t (a))', '0A000', /FOREIGN KEY|REFERENCES/],
  ['create index x on t ((a + 1))', '0A000', /expression/],
  ['insert into t values (1) on conflict do nothing', '0A000', /ON CONFLICT/],
  ['select * from t as of 1', '0A000', /AS OF/],
  ['explain timestamp for select * from t', '0A000', /EXPLAIN TIMESTAMP/],
  ['select * from t for update', '0A000', /FOR UPDATE/],
  ['set datestyle = german', '0A000', /DateStyle/],
  ["set client_encoding = 'LATIN1'", '0A000', /client_encoding/],
];

describe('bad input', () => {
  let c: pg.Client;
  let catalog: unknown[][];
  const everything = (): Promise<unknown[][]> =>
    rowsOf(
      c,
      "select 'object', id, name from mz_objects union all select 'cluster', id, name from mz_clusters union all select 'replica', id, name from mz_cluster_replicas union all select 'schema', id, name from mz_schemas union all select 'comment', id, comment from mz_internal.mz_comments order by 1, 2, 3",
    );
  before(async () => {
    c = await db.client();
    await c.query(SETUP);
    catalog = await everything();
  });

  const groups: Readonly<Record<string, readonly Case[]>> = {
    'is refused by the grammar': SYNTAX,
    'names what is not there': NAMES,
    'has wrong types or values': TYPES_AND_VALUES,
    'clashes with objects': OBJECTS,
    'asks for what does not exist yet': UNSUPPORTED,
  };
  for (const [what, cases] of Object.entries(groups))
    it(what, async () => {
      const wrong: string[] = [];
      for (const [sql, code, text] of cases) {
        const found = await outcome(sql);
        if (found.code !== code || (text !== undefined && !matches(text, found.message)))
          wrong.push(`${sql.slice(0, 100)}: ${found.code} ${found.message}, expected ${code} ${text ?? ''}`);
      }
      assert.deepEqual(wrong, []);
      assert.deepEqual(await everything(), catalog);
      assert.deepEqual(await rowsOf(c, 'select count(*) from t'), [['0']]);
    });

  async function outcome(
    sql: string,
  ): Promise<{ readonly code: string | undefined; readonly message: string }> {
    try {
      await c.query(sql);
      return { code: 'accepted', message: '' };
    } catch (error) {
      const { code, message } = error as pg.DatabaseError;
      return { code, message };
    }
  }

  it('is a file that is not what it is said to be', async () => {
    const file = (name: string, content: string): string => {
      writeFileSync(join(dir, name), content);
      return join(dir, name);
    };
    const source = (path: string, rest: string): string => `create source x from file '${path}' ${rest}`;
    const cases: readonly Case[] = [
      [source(join(dir, 'missing.parquet'), '(format parquet)'), '58P01', /missing\.parquet/],
      [
        source(file('broken.parquet', 'PAR1 this is no parquet file PAR1'), '(format parquet)'),
        'XX001',
        /broken\.parquet/,
      ],
      [source(file('empty.parquet', ''), '(format parquet)'), 'XX001', /empty\.parquet/],
      [source(dir, '(format csv)'), '42809', /is a directory/],
      [source(file('a.csv', '1,2\n3,4\n'), '(format nope)'), '22023', 'unknown file format "nope"'],
      [
        source(file('short.csv', '1,2,3\n4,5\n'), '(format csv)'),
        '22P04',
        /line 2: missing data for column "column3"/,
      ],
      [source(file('a.csv', '1,2\n'), "(format csv, delimiter '::')"), '22023', /delimiter/],
      [source(file('a.csv', '1,2\n'), '(format csv, nope 1)'), '0A000', /NOPE/],
      [
        source(file('a.csv', '1,2\n'), '(format csv)').replace(' from', ' (column1 text, column2 int8) from'),
        '42804',
        /column1/,
      ],
    ];
    const wrong: string[] = [];
    for (const [sql, code, text] of cases) {
      const found = await outcome(sql);
      if (found.code !== code || (text !== undefined && !matches(text, found.message)))
        wrong.push(`${sql}: ${found.code} ${found.message}`);
    }
    assert.deepEqual(wrong, []);
    assert.deepEqual(await everything(), catalog);
  });

  it('is a file whose fault shows late: the source says so instead of waiting', async () => {
    const path = join(dir, 'late.csv');
    writeFileSync(path, `${Array.from({ length: 30_000 }, (_, i) => `${i},x`).join('\n')}\nnope,x\n`);
    await c.query(`create source late from file '${path}' (format csv)`);
    const status = async (): Promise<unknown> =>
      (await rowsOf(c, "select status from mz_internal.mz_source_statuses where name = 'late'"))[0]?.[0];
    while ((await status()) !== 'stalled');
    const e = await errorOf(c.query('select count(*) from late'));
    assert.deepEqual([e.code, e.message], ['55000', 'source "late" could not be loaded']);
    assert.match(
      e.detail ?? '',
      /line 30001, column "column1": invalid input syntax for type bigint: "nope"/,
    );
    await c.query('drop source late');
    assert.deepEqual(await everything(), catalog);
  });

  it('is too much', async () => {
    const deep = `select ${'('.repeat(5000)}1${')'.repeat(5000)}`;
    assert.equal((await errorOf(c.query(deep))).code, '54001');
    assert.equal((await errorOf(c.query(`select ${'1 + '.repeat(20_000)}1`))).code, '54001');
    const wide = `select ${Array.from({ length: 10_000 }, (_, i) => `${i} as c${i}`).join(', ')}`;
    const e = await errorOf(c.query(wide));
    assert.deepEqual([e.code, e.message], ['54011', 'target lists can have at most 1664 entries']);
    const table = `create table x (${Array.from({ length: 2000 }, (_, i) => `c${i} int`).join(', ')})`;
    assert.equal((await errorOf(c.query(table))).code, '54011');
    assert.deepEqual(await everything(), catalog);
  });

  it('has parameters that do not fit', async () => {
    const text = 'select $1::int + $2::int';
    assert.equal((await errorOf(c.query(text, [1]))).code, '08P01');
    assert.equal((await errorOf(c.query(text, [1, 2, 3]))).code, '08P01');
    const e = await errorOf(c.query(text, ['x', 2]));
    assert.deepEqual([e.code, e.message], ['22P02', 'invalid input syntax for type integer: "x"']);
    assert.equal((await errorOf(c.query(text, [Buffer.from([1]), 2]))).code, '22P03');
    assert.equal((await errorOf(c.query('select $2::int', [1, 2]))).code, '42P18');
    assert.equal(
      (
        await errorOf(
          c.query({ text: 'select 1; select 2', values: [], queryMode: 'extended' } as pg.QueryConfig),
        )
      ).code,
      '42601',
    );
    assert.deepEqual(await rowsOf(c, text, [1, 2]), [[3]]);
  });

  it('is not UTF-8', async () => {
    const raw = await RawClient.connect(db.port);
    try {
      const broken = message(
        0x51,
        Buffer.from([...Buffer.from("select '"), 0xff, 0xfe, ...Buffer.from("'"), 0]),
      );
      const replies = await raw.exchange(broken);
      assert.equal(replies.filter((r) => r.type === 'E').length, 1);
      assert.equal(fields(replies.find((r) => r.type === 'E'))['C'], '22021');
      const more = await raw.exchange(send.query('select 1'));
      assert.deepEqual(
        more.map((r) => r.type),
        ['T', 'D', 'C', 'Z'],
      );
      const param = await raw.exchange(
        send.parse('select $1::text'),
        message(0x42, '', '', { short: 0 }, { short: 1 }, { long: 1 }, 0xff, { short: 0 }),
        send.execute(),
        send.sync(),
      );
      assert.equal(fields(param.find((r) => r.type === 'E'))['C'], '22021');
    } finally {
      raw.end();
    }
  });
});

const matches = (expected: string | RegExp, found: string): boolean =>
  typeof expected === 'string' ? expected === found : expected.test(found);
