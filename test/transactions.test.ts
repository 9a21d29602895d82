/** Transactions, settings, prepared statements and cursors of SQL, and what other sessions see when. */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type pg from 'pg';
import { errorOf, rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();

const codeOf = async (run: Promise<unknown>): Promise<string | undefined> => (await errorOf(run)).code;

describe('transactions', () => {
  it('write all or nothing', async () => {
    const [a, b] = [await db.client(), await db.client()];
    await a.query('create table tx1 (x int not null); create table tx2 (x int)');
    await a.query('begin');
    await a.query('insert into tx1 values (1)');
    await a.query('insert into tx2 values (1)');
    assert.deepEqual(await rowsOf(b, 'select count(*) from tx1'), [['0']]);
    await a.query('commit');
    assert.deepEqual(await rowsOf(b, 'select * from tx1, tx2'), [[1, 1]]);
    await a.query('begin');
    await a.query('insert into tx1 values (2)');
    await a.query('rollback');
    assert.deepEqual(await rowsOf(b, 'select count(*) from tx1'), [['1']]);
  });

  it('refuse everything after an error until they end', async () => {
    const c = await db.client();
    await c.query('create table tx3 (x int)');
    await c.query('begin');
    await c.query('insert into tx3 values (1)');
    assert.equal(await codeOf(c.query('select nope')), '42703');
    for (const s of ['select 1', 'insert into tx3 values (2)', 'show timezone', 'begin'])
      assert.equal(await codeOf(c.query(s)), '25P02', s);
    assert.equal(await codeOf(c.query('select $1::int', [1])), '25P02');
    assert.equal((await c.query('commit')).command, 'ROLLBACK');
    assert.deepEqual(await rowsOf(c, 'select count(*) from tx3'), [['0']]);
  });

  it('read at one time', async () => {
    const [a, b] = [await db.client(), await db.client()];
    await a.query('create table tx4 (x int); insert into tx4 values (1)');
    await a.query('create materialized view tx4_sum as select sum(x) as s from tx4');
    await a.query('begin');
    assert.deepEqual(await rowsOf(a, 'select x from tx4'), [[1]]);
    await b.query('insert into tx4 values (10)');
    await b.query('update tx4 set x = 2 where x = 1');
    assert.deepEqual(await rowsOf(a, 'select x from tx4'), [[1]]);
    assert.deepEqual(await rowsOf(a, 'select s from tx4_sum'), [['1']]);
    const [[first]] = await rowsOf(a, 'select now()');
    const [[second]] = await rowsOf(a, 'select now()');
    assert.deepEqual(first, second);
    await a.query('commit');
    assert.deepEqual(await rowsOf(a, 'select s from tx4_sum'), [['12']]);
  });

  it('read past an index that is younger than they are, and say what is not as old', async () => {
    const [a, b] = [await db.client(), await db.client()];
    await a.query('create table tx14 (x int); create table tx15 (x int); insert into tx15 values (1)');
    await a.query('create view tx15_sum as select sum(x) as s from tx15');
    await a.query('begin');
    assert.deepEqual(await rowsOf(a, 'select count(*) from tx14'), [['0']]);
    await b.query('insert into tx15 values (10)');
    await b.query('create index on tx15 (x); create index on tx15_sum (s)');
    await b.query('create table tx16 (x int)');
    // Through the new indexes, which have nothing from before the second row.
    assert.deepEqual(await rowsOf(b, 'select s from tx15_sum'), [['11']]);
    assert.deepEqual(await rowsOf(a, 'select x from tx15'), [[1]]);
    assert.deepEqual(await rowsOf(a, 'select s from tx15_sum'), [['1']]);
    assert.deepEqual(await rowsOf(a, 'select count(*) from tx15 p, tx15 q where p.x = q.x'), [['1']]);
    const late = await errorOf(a.query('select * from tx16'));
    assert.equal(late.code, '40001');
    assert.match(late.message, /"tx16" cannot be read at the time of this transaction/);
    await a.query('rollback');
    assert.deepEqual(await rowsOf(a, 'select s from tx15_sum'), [['11']]);
  });

  it('either read or write', async () => {
    const c = await db.client();
    await c.query('create table tx5 (x int)');
    const cases: readonly (readonly [string, string, string])[] = [
      [
        'select * from tx5',
        'insert into tx5 values (1)',
        'writing in a transaction that has read is not supported',
      ],
      [
        'insert into tx5 values (1)',
        'select * from tx5',
        'reading in a transaction that has written is not supported',
      ],
      [
        'insert into tx5 values (1)',
        'update tx5 set x = 1',
        'UPDATE in a transaction block is not supported',
      ],
      ['select 1', 'delete from tx5', 'DELETE in a transaction block is not supported'],
      [
        'select 1',
        'insert into tx5 select 1 from tx5',
        'INSERT … SELECT in a transaction block is not supported',
      ],
    ];
    for (const [first, then, message] of cases) {
      await c.query('begin');
      await c.query(first);
      const e = await errorOf(c.query(then));
      assert.deepEqual([e.code, e.message], ['0A000', message]);
      assert.ok(e.hint !== undefined);
      await c.query('rollback');
    }
    await c.query('begin');
    assert.equal(await codeOf(c.query('create table tx6 (x int)')), '25001');
    await c.query('rollback');
    assert.deepEqual(await rowsOf(c, 'select count(*) from tx5'), [['0']]);
  });

  it('may be read-only', async () => {
    const c = await db.client();
    await c.query('create table tx7 (x int)');
    for (const s of [
      'insert into tx7 values (1)',
      'update tx7 set x = 1',
      'create view tx8 as select 1 as a',
    ]) {
      await c.query('begin read only');
      const code = await codeOf(c.query(s));
      assert.ok(code === '25006' || (code === '25001' && s.startsWith('create')), `${s}: ${code}`);
      await c.query('rollback');
    }
    await c.query('insert into tx7 values (1)');
    await c.query('set session characteristics as transaction read only');
    assert.equal(await codeOf(c.query('insert into tx7 values (2)')), '25006');
    assert.equal(await codeOf(c.query('create view tx8 as select 1 as a')), '25006');
    await c.query('begin read write');
    await c.query('insert into tx7 values (3)');
    await c.query('commit');
    assert.deepEqual(await rowsOf(c, 'select count(*) from tx7'), [['2']]);
  });

  it('take the writes of one text together', async () => {
    const c = await db.client();
    await c.query('create table tx9 (x int not null)');
    assert.equal(await codeOf(c.query('insert into tx9 values (1); insert into tx9 values (null)')), '23502');
    assert.deepEqual(await rowsOf(c, 'select count(*) from tx9'), [['0']]);
    await c.query('insert into tx9 values (1); insert into tx9 values (2)');
    assert.deepEqual(await rowsOf(c, 'select count(*) from tx9'), [['2']]);
    assert.equal(await codeOf(c.query('begin; insert into tx9 values (3); select 1/0; commit')), '22012');
    assert.equal((await c.query('commit')).command, 'ROLLBACK');
    const { length } = (await c.query(
      'create schema s11; create table s11.t (a int); insert into s11.t values (1); create materialized view s11.mv as select sum(a) from s11.t; select * from s11.mv; drop schema s11 cascade',
    )) as unknown as pg.QueryResult[];
    assert.equal(length, 6);
    assert.equal(await codeOf(c.query('select * from s11.t')), '42P01');
  });

  it('chain', async () => {
    const c = await db.client();
    await c.query('create table tx10 (x int)');
    await c.query('begin; insert into tx10 values (1); commit and chain');
    await c.query('insert into tx10 values (2)');
    await c.query('rollback');
    assert.deepEqual(await rowsOf(c, 'select x from tx10'), [[1]]);
  });
});

describe('settings', () => {
  it('are set, shown, reset', async () => {
    const c = await db.client();
    await c.query("set timezone to 'Europe/Berlin'; set extra_float_digits = 3; set my.own = 'x'");
    assert.deepEqual(await rowsOf(c, 'show timezone'), [['Europe/Berlin']]);
    assert.deepEqual(await rowsOf(c, 'show my.own'), [['x']]);
    await c.query('reset timezone');
    assert.deepEqual(await rowsOf(c, 'show timezone'), [['UTC']]);
    await c.query('discard all');
    assert.equal(await codeOf(c.query('show my.own')), '42704');
    assert.equal(await codeOf(c.query('set nope = 1')), '42704');
    assert.equal(await codeOf(c.query("set timezone = 'Mars/Olympus'")), '22023');
    await c.query('set standard_conforming_strings = on');
    assert.equal(await codeOf(c.query('set standard_conforming_strings = off')), '22023');
  });

  it('end with the transaction they are local to, and with one that fails', async () => {
    const c = await db.client();
    const zone = async (): Promise<unknown> => (await rowsOf(c, 'show timezone'))[0]![0];
    await c.query("begin; set local timezone = 'Asia/Tokyo'");
    assert.equal(await zone(), 'Asia/Tokyo');
    await c.query('commit');
    assert.equal(await zone(), 'UTC');
    await c.query("begin; set timezone = 'Asia/Tokyo'; rollback");
    assert.equal(await zone(), 'UTC');
    await c.query("begin; set local timezone = 'Asia/Tokyo'; set timezone = 'Europe/Rome'; commit");
    assert.equal(await zone(), 'Europe/Rome');
    await c.query('begin isolation level serializable');
    assert.deepEqual(await rowsOf(c, 'show transaction_isolation'), [['serializable']]);
    await c.query('commit');
    assert.deepEqual(await rowsOf(c, 'show transaction_isolation'), [['strict serializable']]);
  });

  it('tell where names are looked up', async () => {
    const c = await db.client();
    await c.query('create schema look1; create table look1.here (a int); set search_path = look1, public');
    assert.deepEqual(await rowsOf(c, 'select count(*) from here'), [['0']]);
    assert.deepEqual(await rowsOf(c, 'select current_schema(), current_schemas(false)'), [
      ['look1', '{look1,public}'],
    ]);
    await c.query('create table made_there (a int)');
    assert.deepEqual(await rowsOf(c, 'select count(*) from look1.made_there'), [['0']]);
  });
});

describe('prepared statements of SQL', () => {
  it('share their names with the protocol', async () => {
    const c = await db.client();
    await c.query('prepare p (int, text) as select $1 + 1 as a, $2 as b');
    assert.deepEqual(await rowsOf(c, "execute p (1, 'x')"), [[2, 'x']]);
    assert.deepEqual(await rowsOf(c, "execute p ('41', null)"), [[42, null]]);
    assert.equal(await codeOf(c.query('execute p (1)')), '42601');
    assert.equal(await codeOf(c.query('prepare p as select 1')), '42P05');
    await c.query({ name: 'q', text: 'select 7 as seven' });
    assert.deepEqual(await rowsOf(c, 'execute q'), [[7]]);
    await c.query('deallocate p');
    assert.equal(await codeOf(c.query("execute p (1, 'x')")), '26000');
    await c.query('deallocate all');
    assert.equal(await codeOf(c.query('execute q')), '26000');
  });

  it('follow the catalog', async () => {
    const c = await db.client();
    await c.query('create table prep1 (a int); insert into prep1 values (1)');
    const read = (): Promise<pg.QueryResult> => c.query({ name: 'read1', text: 'select * from prep1' });
    assert.deepEqual((await read()).rows, [{ a: 1 }]);
    await c.query('create index prep1_a on prep1 (a); insert into prep1 values (2)');
    assert.equal((await read()).rows.length, 2);
    await c.query("drop table prep1; create table prep1 (b text); insert into prep1 values ('new')");
    const e = await errorOf(read());
    assert.deepEqual([e.code, e.message], ['0A000', 'cached plan must not change result type']);
  });
});

describe('cursors of SQL', () => {
  it('give rows as they are asked for', async () => {
    const c = await db.client();
    assert.equal(await codeOf(c.query('declare c cursor for select 1')), '25P01');
    await c.query('begin; declare c cursor for select n from generate_series(1, 7) n order by n desc');
    assert.deepEqual(await rowsOf(c, 'fetch 2 from c'), [[7], [6]]);
    assert.deepEqual(await rowsOf(c, 'fetch forward 3 from c'), [[5], [4], [3]]);
    assert.deepEqual(await rowsOf(c, 'fetch all from c'), [[2], [1]]);
    assert.equal((await c.query('fetch 1 from c')).rowCount, 0);
    await c.query('close c');
    assert.equal(await codeOf(c.query('fetch 1 from c')), '34000');
    await c.query('rollback');
    await c.query('begin; declare d cursor for select 1; commit');
    assert.equal(await codeOf(c.query('fetch 1 from d')), '34000');
    await c.query('declare h cursor with hold for select 1 as a');
    assert.deepEqual(await rowsOf(c, 'fetch 5 from h'), [[1]]);
    await c.query('close all');
  });
});
