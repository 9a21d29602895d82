/** The whole engine through the clients that people use: node-postgres, its cursors and pools, postgres.js. */
import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import pg from 'pg';
import Cursor from 'pg-cursor';
import postgres from 'postgres';
import { send } from '../packages/tidemark/src/pgwire/wire-client.fixture.ts';
import { connection, errorOf, rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();

describe('node-postgres', () => {
  it('runs simple queries, several in a text', async () => {
    const c = await db.client();
    const results = (await c.query(
      "create table simple1 (a int, b text); insert into simple1 values (1, 'x'), (2, null); select * from simple1 order by a",
    )) as unknown as pg.QueryResult[];
    assert.deepEqual(
      results.map((r) => [r.command, r.rowCount, r.rows]),
      [
        ['CREATE', null, []],
        ['INSERT', 2, []],
        [
          'SELECT',
          2,
          [
            { a: 1, b: 'x' },
            { a: 2, b: null },
          ],
        ],
      ],
    );
    assert.deepEqual((await c.query('')).rows, []);
    assert.deepEqual((await c.query(' ; ;')).rows, []);
  });

  it('runs parameterised and named statements', async () => {
    const c = await db.client();
    assert.deepEqual(await rowsOf(c, 'select $1::int + 1, $2::text, $3::timestamptz', [41, 'ü', null]), [
      [42, 'ü', null],
    ]);
    const named = (n: number): Promise<pg.QueryResult> =>
      c.query({ name: 'double', text: 'select $1::int * 2 as d', values: [n] });
    for (const n of [1, 2, 3]) assert.deepEqual((await named(n)).rows, [{ d: n * 2 }]);
    await c.query('deallocate "double"');
    assert.equal((await errorOf(named(4))).code, '26000');
  });

  it('describes what EXPLAIN, SHOW, FETCH and EXECUTE answer to the extended protocol', async () => {
    const c = await db.client();
    const extended = (text: string): Promise<pg.QueryResult> =>
      c.query({ text, queryMode: 'extended' } as pg.QueryConfig);
    assert.match(String(Object.values((await extended('explain select 1')).rows[0])), /Constant|1/);
    assert.deepEqual((await extended('show server_version')).rows, [{ server_version: '15.0' }]);
    assert.ok((await extended('show all')).rows.length > 20);
    await extended('prepare p1 as select 1 as one');
    assert.deepEqual((await extended('execute p1')).rows, [{ one: 1 }]);
    await extended('begin');
    await extended('declare c1 cursor for select generate_series(1, 3) as n');
    assert.deepEqual((await extended('fetch 2 from c1')).rows, [{ n: 1 }, { n: 2 }]);
    await extended('commit');
  });

  it('reads a portal piece by piece', async () => {
    const c = await db.client();
    const cursor = c.query(new Cursor<{ n: number }>('select n from generate_series(1, 2500) n order by n'));
    const sizes: number[] = [];
    let next = 1;
    for (let rows = await cursor.read(1000); rows.length > 0; rows = await cursor.read(1000)) {
      sizes.push(rows.length);
      for (const r of rows) assert.equal(r.n, next++);
    }
    await cursor.close();
    assert.deepEqual(sizes, [1000, 1000, 500]);
    assert.deepEqual(await rowsOf(c, 'select 1'), [[1]]);
  });

  it('pools connections', async () => {
    const pool = new pg.Pool({ ...connection(db.port), max: 4 });
    db.onClose(() => pool.end());
    const rows = await Promise.all(
      Array.from({ length: 20 }, (_, i) => pool.query('select $1::int as i', [i])),
    );
    assert.deepEqual(
      rows.map((r) => r.rows[0].i),
      Array.from({ length: 20 }, (_, i) => i),
    );
  });

  it('tells which fields an error has', async () => {
    const c = await db.client();
    await c.query('create table fields1 (a int not null, b text)');
    const unknown = await errorOf(c.query('select a,\n  nope from fields1'));
    assert.deepEqual(
      [unknown.severity, unknown.code, unknown.message, unknown.position],
      ['ERROR', '42703', 'column "nope" does not exist', '13'],
    );
    const nulls = await errorOf(c.query('insert into fields1 values (null)'));
    assert.deepEqual(
      [nulls.code, nulls.schema, nulls.table, nulls.column],
      ['23502', 'public', 'fields1', 'a'],
    );
    await c.query('create view fields2 as select a from fields1');
    const needed = await errorOf(c.query('drop table fields1'));
    assert.deepEqual(
      [needed.code, needed.detail, needed.hint],
      ['2BP01', 'view fields2 depends on fields1', 'Use DROP ... CASCADE to drop the dependent objects too.'],
    );
  });

  it('passes notices and settings on', async () => {
    const c = await db.client({ application_name: 'first', options: '-c statement_timeout=5min' });
    const notices: string[] = [];
    c.on('notice', (n) => notices.push(`${n.severity} ${n.code}: ${n.message}`));
    await c.query('create table if not exists notes1 (a int); create table if not exists notes1 (a int)');
    await c.query('drop table if exists notes2');
    await c.query('commit');
    assert.deepEqual(notices, [
      'NOTICE 00000: relation "notes1" already exists, skipping',
      'NOTICE 00000: table "notes2" does not exist, skipping',
      'WARNING 25P01: there is no transaction in progress',
    ]);
    assert.deepEqual(await rowsOf(c, 'show statement_timeout'), [['5min']]);
    assert.deepEqual(
      await rowsOf(
        c,
        'select application_name from mz_internal.mz_sessions where id = pg_backend_pid()::uint8',
      ),
      [['first']],
    );
    await c.query("set application_name = 'second'");
    assert.deepEqual(
      await rowsOf(c, "select setting, source from pg_settings where name = 'application_name'"),
      [['second', 'session']],
    );
  });

  it('falls back from a database that does not exist', async () => {
    const notices: string[] = [];
    const c = new pg.Client({ ...connection(db.port), database: 'nowhere' });
    c.on('notice', (n) => notices.push(n.message ?? ''));
    await c.connect();
    db.onClose(() => c.end());
    assert.deepEqual(await rowsOf(c, 'select current_database()'), [['tidemark']]);
    assert.deepEqual(notices, ['database "nowhere" does not exist, using "tidemark"']);
  });

  it('is forgotten when it leaves, also in the middle of a statement', async () => {
    const c = await db.client();
    const sessions = async (): Promise<string> =>
      (
        await rowsOf(c, "select count(*) from mz_internal.mz_sessions where application_name = 'leaver'")
      )[0]![0] as string;
    await c.query('create cluster left1 replicas (); create table left2 (a int)');
    await c.query('create materialized view left3 in cluster left1 as select count(*) from left2');
    await c.query('insert into left2 values (1)');
    const leaver = await db.client({ application_name: 'leaver' });
    while ((await sessions()) !== '1');
    const waiting = leaver.query('select * from left3').catch((e: Error) => e.message);
    (leaver as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    assert.match(String(await waiting), /terminated/);
    while ((await sessions()) !== '0');
    await c.query('drop cluster left1 cascade');
  });

  it('is told when it asks for a setting that does not exist', async () => {
    const c = new pg.Client({ ...connection(db.port), options: '-c nope=1' });
    c.on('error', () => {});
    const e = await errorOf(c.connect());
    assert.deepEqual([e.severity, e.code], ['FATAL', '42704']);
  });

  it('cancels what runs, and ends it when time is up', async () => {
    const c = await db.client();
    const other = await db.client();
    // A materialized view of a cluster without replicas is never complete: reading it elsewhere waits.
    await c.query('create cluster stuck1 replicas ()');
    await c.query('create table stuck2 (a int)');
    await c.query('create materialized view stuck3 in cluster stuck1 as select count(*) from stuck2');
    await c.query('insert into stuck2 values (1)');
    const [[pid]] = (await rowsOf(c, 'select pg_backend_pid()')) as [[number]];
    const waiting = errorOf(c.query('select * from stuck3'));
    const key = c as unknown as { readonly processID: number; readonly secretKey: number };
    assert.equal(key.processID, pid);
    const secret = Buffer.alloc(4);
    secret.writeInt32BE(key.secretKey);
    connect(db.port, '127.0.0.1').end(send.cancel(key.processID, secret));
    const error = await waiting;
    assert.deepEqual([error.code, error.message], ['57014', 'canceling statement due to user request']);
    await c.query("set statement_timeout = '50ms'");
    const late = await errorOf(c.query('select * from stuck3'));
    assert.deepEqual([late.code, late.message], ['57014', 'canceling statement due to statement timeout']);
    assert.deepEqual(await rowsOf(other, 'select count(*) from stuck2'), [['1']]);
    await c.query('set statement_timeout = 0');
    await c.query('drop cluster stuck1 cascade');
  });
});

describe('postgres.js', () => {
  const open = (): postgres.Sql => {
    const { user, ...rest } = connection(db.port);
    const sql = postgres({ ...rest, username: user, onnotice: () => {}, max: 2 });
    db.onClose(() => sql.end());
    return sql;
  };

  it('starts, reads types, prepares', async () => {
    const sql = open();
    await sql`create table js1 (id int, tags text[], at timestamptz, doc jsonb)`;
    const at = new Date('2026-03-01T10:00:00.123Z');
    await sql`insert into js1 ${sql([{ id: 1, tags: ['a', 'b"c'], at, doc: sql.json({ k: [1, null] }) }])}`;
    const rows = await sql`select * from js1 where id = ${1}`;
    assert.deepEqual([...rows], [{ id: 1, tags: ['a', 'b"c'], at, doc: { k: [1, null] } }]);
    assert.deepEqual(
      [...(await sql`select id from js1 where id = any(${[1, 2, 3]})`)].map((r) => r['id']),
      [1],
    );
  });

  it('runs transactions and takes them back', async () => {
    const sql = open();
    await sql`create table js2 (a int)`;
    await sql.begin(async (tx) => {
      await tx`insert into js2 values (1)`;
      await tx`insert into js2 values (2)`;
    });
    await assert.rejects(
      sql.begin(async (tx) => {
        await tx`insert into js2 values (3)`;
        throw new Error('changed my mind');
      }),
      /changed my mind/,
    );
    assert.deepEqual(
      [...(await sql`select a from js2 order by a`)].map((r) => r['a']),
      [1, 2],
    );
  });

  it('reads with cursors', async () => {
    const sql = open();
    const sizes: number[] = [];
    await sql`select * from generate_series(1, 25) n`.cursor(10, (rows) => {
      sizes.push(rows.length);
    });
    assert.deepEqual(sizes, [10, 10, 5]);
  });
});
