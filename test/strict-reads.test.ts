/** What was acknowledged is seen, by every session and by every way of reading; concurrent writes lose nothing. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import type pg from 'pg';
import { errorOf, openWireDatabase, rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();

describe('strict reads', () => {
  let writer: pg.Client;
  let reader: pg.Client;
  before(async () => {
    writer = await db.client();
    reader = await db.client();
    await writer.query(`
      create table t (k int not null, v int);
      create view plain as select v, count(*) as n from t group by v;
      create view indexed as select v, sum(k) as s from t group by v;
      create index indexed_v on indexed (v);
      create index t_k on t (k);
      create materialized view mv as select v, count(*) as n from t group by v;
      create materialized view over_mv as select sum(n) as total from mv;
      create index mv_v on mv (v)`);
  });

  it('see each write, through table, view, index and materialized view', async () => {
    for (let k = 1; k <= 25; k++) {
      await writer.query('insert into t values ($1, $2)', [k, k % 3]);
      const v = k % 3;
      const all = Array.from({ length: k }, (_, i) => i + 1);
      const mine = all.filter((x) => x % 3 === v);
      const reads: readonly (readonly [string, unknown[][]])[] = [
        ['select count(*) from t', [[String(k)]]],
        [`select v from t where k = ${k}`, [[v]]],
        [`select n from plain where v = ${v}`, [[String(mine.length)]]],
        [`select s from indexed where v = ${v}`, [[String(mine.reduce((a, b) => a + b, 0))]]],
        [`select n from mv where v = ${v}`, [[String(mine.length)]]],
        ['select total from over_mv', [[String(k)]]],
      ];
      for (const [text, rows] of reads)
        assert.deepEqual(await rowsOf(reader, text), rows, `${text} after ${k}`);
    }
    await writer.query('delete from t where k > 3');
    assert.deepEqual(await rowsOf(reader, 'select total from over_mv'), [['3']]);
  });

  it('go on another way when the index they use is dropped under them', async () => {
    await writer.query('create table wide (k int, v int)');
    await writer.query('insert into wide select g, g % 7 from generate_series(1, 20000) g');
    for (let i = 0; i < 8; i++) {
      await writer.query('create index wide_k on wide (k)');
      const read = rowsOf(reader, 'select v from wide where k = 9');
      // The read is under way, in another stage each time.
      await new Promise((resolve) => setTimeout(resolve, i));
      await writer.query('drop index wide_k');
      assert.deepEqual(await read, [[2]]);
    }
  });

  it('agree with each other at one time', async () => {
    await reader.query('begin');
    for (let i = 0; i < 5; i++) {
      await writer.query('insert into t values (100, 100)');
      const rows = await rowsOf(
        reader,
        'select (select count(*) from t) as a, (select total from over_mv) as b, (select sum(n) from mv) as c, (select count(*) from t where k = 100) as d',
      );
      const [[a, b, c, d]] = rows as [[string, string, string, string]];
      assert.deepEqual([a, a, Number(a)], [b, c, 3 + Number(d)]);
    }
    await reader.query('commit');
  });

  it('reads views through the indexes on them', async () => {
    const plan = (await rowsOf(reader, 'explain physical plan for select * from indexed where v = 1')).join(
      '\n',
    );
    assert.match(plan, /indexed/);
    assert.doesNotMatch(plan, /Reduce/);
  });
});

describe('an index on a view', () => {
  const SETUP = `
    create table base (k int, v int); insert into base values (1, 10), (1, 20), (2, 5);
    create view sums as select k, sum(v) as s from base group by k;
    create index sums_k on sums (k);
    create index sums_s on sums (s);
    create materialized view top as select max(s) as m from sums;
    create view over as select k, s + 1 as s1 from sums;
    create index over_k on over (k)`;

  it('is imported by what reads the view, and outlives its name', async () => {
    const c = await db.client();
    await c.query(SETUP);
    assert.deepEqual(await rowsOf(c, 'select m from top'), [['30']]);
    await c.query('drop index sums_k');
    await c.query('insert into base values (2, 95)');
    assert.deepEqual(await rowsOf(c, 'select m from top'), [['100']]);
    await c.query('drop index sums_s');
    await c.query('insert into base values (3, 200)');
    assert.deepEqual(await rowsOf(c, 'select m, (select s1 from over where k = 3) from top'), [
      ['200', '201'],
    ]);
    assert.deepEqual(await rowsOf(c, 'select s from sums where k = 2'), [['100']]);
  });

  it('comes back after a restart', async (t) => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tidemark-view-index-'));
    t.after(() => rmSync(dataDir, { recursive: true }));
    const first = await openWireDatabase({ dataDir });
    await (await first.client()).query(SETUP);
    await first.close();
    const second = await openWireDatabase({ dataDir });
    const c = await second.client();
    await c.query('insert into base values (2, 95)');
    assert.deepEqual(await rowsOf(c, 'select m, (select s1 from over where k = 2) from top'), [
      ['100', '101'],
    ]);
    await second.close();
  });
});

describe('an error in a row', () => {
  it('fails reads of what holds it, and goes with the row', async () => {
    const c = await db.client();
    await c.query(`
      create table ratios (a int, b int); insert into ratios values (6, 3);
      create view ratio as select a / b as r from ratios;
      create index ratio_r on ratio (r);
      create materialized view ratio_sum as select sum(a / b) as s from ratios`);
    const reads = ['select r from ratio', 'select s from ratio_sum', 'select a / b from ratios'];
    for (const text of reads) assert.equal(String((await rowsOf(c, text))[0]![0]), '2');
    await c.query('insert into ratios values (1, 0)');
    for (const text of reads) assert.equal((await errorOf(c.query(text))).code, '22012', text);
    assert.deepEqual(await rowsOf(c, 'select count(*) from ratios'), [['2']]);
    await c.query('delete from ratios where b = 0');
    for (const text of reads) assert.equal(String((await rowsOf(c, text))[0]![0]), '2');
  });
});

describe('concurrent writers', () => {
  it('lose no update', async () => {
    const [sessions, each] = [6, 8];
    const clients = await Promise.all(Array.from({ length: sessions }, () => db.client()));
    await clients[0]!.query(
      'create table counter (id int, n int); insert into counter values (1, 0), (2, 100)',
    );
    await Promise.all(
      clients.map(async (c) => {
        for (let i = 0; i < each; i++) await c.query('update counter set n = n + 1 where id = 1');
      }),
    );
    assert.deepEqual(await rowsOf(clients[0]!, 'select id, n from counter order by id'), [
      [1, sessions * each],
      [2, 100],
    ]);
  });

  it('delete a row once', async () => {
    const [a, b] = [await db.client(), await db.client()];
    await a.query('create table once (x int); insert into once values (1)');
    const counts = await Promise.all(
      [a, b, a, b].map(async (c) => (await c.query('delete from once where x = 1')).rowCount),
    );
    assert.equal(
      counts.reduce((x, y) => x! + y!, 0),
      1,
    );
    assert.deepEqual(await rowsOf(a, 'select count(*) from once'), [['0']]);
  });
});

describe('a view made while a writer is open', () => {
  it('has the rows that are committed later', async () => {
    const [a, b] = [await db.client(), await db.client()];
    await a.query('create table race (x int)');
    await a.query('begin');
    await a.query('insert into race select 1');
    await a.query('insert into race values (1), (2), (3), (4), (5), (6), (7), (8), (9)');
    await b.query('create materialized view race_count as select count(*) as n from race');
    await a.query('commit');
    assert.deepEqual(await rowsOf(b, 'select n from race_count'), [['10']]);
  });
});

describe('a cluster', () => {
  it('without replicas refuses reads at once, and the catalog still answers', async () => {
    const c = await db.client();
    await c.query('create table bare1 (a int); create cluster bare replicas (); set cluster = bare');
    const e = await errorOf(c.query('select * from bare1'));
    assert.deepEqual(
      [e.code, e.message, e.hint],
      ['55000', 'cluster "bare" has no replica to run the query on', 'use CREATE CLUSTER REPLICA to add one'],
    );
    assert.deepEqual(await rowsOf(c, "select name from mz_tables where name = 'bare1'"), [['bare1']]);
    assert.deepEqual(await rowsOf(c, 'select 1 + 1'), [[2]]);
    assert.equal((await errorOf(c.query('select * from mz_introspection.mz_compute_exports'))).code, '55000');
    await c.query("create cluster replica bare.r1 size '1'");
    assert.deepEqual(await rowsOf(c, 'select count(*) from bare1'), [['0']]);
    await c.query('drop cluster bare cascade');
  });

  it('may be set before it exists, and is missed by queries', async () => {
    const c = await db.client();
    await c.query('create table later1 (a int); set cluster = later');
    const e = await errorOf(c.query('select * from later1'));
    assert.deepEqual([e.code, e.message], ['42704', "unknown cluster 'later'"]);
    assert.deepEqual(await rowsOf(c, "select count(*) from mz_clusters where name = 'later'"), [['0']]);
    await c.query("create cluster later size '1'");
    assert.deepEqual(await rowsOf(c, 'select count(*) from later1'), [['0']]);
    await c.query("set cluster_replica = 'r9'");
    const r = await errorOf(c.query('select * from later1'));
    assert.deepEqual([r.code, r.message], ['42704', 'cluster replica "later.r9" does not exist']);
    await c.query("set cluster_replica = 'r1'");
    assert.deepEqual(await rowsOf(c, 'select count(*) from later1'), [['0']]);
    await c.query('drop cluster later cascade');
  });
});
