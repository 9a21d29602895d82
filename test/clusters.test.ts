/** Clusters of several replicas through the wire: what users say, what the catalog answers, what is left after a restart. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type pg from 'pg';
import { errorOf, openWireDatabase, rowsOf } from './support/wire-database.ts';

const replicas = (c: pg.Client, cluster: string): Promise<unknown[][]> =>
  rowsOf(
    c,
    `select r.name, r.size from mz_cluster_replicas r join mz_clusters c on c.id = r.cluster_id
     where c.name = '${cluster}' order by 1`,
  );

async function withDatabase(body: (c: pg.Client) => Promise<void>): Promise<void> {
  const db = await openWireDatabase();
  try {
    await body(await db.client());
  } finally {
    await db.close();
  }
}

test('a managed cluster has as many replicas of its size as its factor says, and follows both', () =>
  withDatabase(async (c) => {
    await c.query("create cluster c (size '1', replication factor 2)");
    assert.deepEqual(await replicas(c, 'c'), [
      ['r1', '1'],
      ['r2', '1'],
    ]);
    await c.query('create table t (a int); insert into t values (1), (2)');
    await c.query('create materialized view v in cluster c as select sum(a) as s from t');
    await c.query('create index i in cluster c on v (s); set cluster = c');
    for (const replica of ['r1', 'r2']) {
      await c.query(`set cluster_replica = ${replica}`);
      assert.deepEqual(await rowsOf(c, 'select s from v'), [['3']], replica);
      // It answers at once: what it has not logged yet is not in it.
      const log = 'select count(*) >= 0 from mz_introspection.mz_compute_exports';
      assert.deepEqual(await rowsOf(c, log), [[true]]);
    }
    await c.query('reset cluster_replica');
    const e = await errorOf(c.query('select * from mz_introspection.mz_compute_exports'));
    assert.deepEqual([e.code, e.hint], ['55000', 'SET cluster_replica to one of r1, r2']);
    await c.query('alter cluster c set (replication factor 3)');
    assert.equal((await replicas(c, 'c')).length, 3);
    await c.query("alter cluster c set (size '2', replication factor 1)");
    assert.deepEqual(await replicas(c, 'c'), [['r1', '2']]);
    await c.query('insert into t values (4)');
    assert.deepEqual(await rowsOf(c, 'select s from v'), [['7']], 'the new replica goes on');
    await c.query('alter cluster c set (replication factor 0)');
    const none = await errorOf(c.query('select s from v'));
    assert.equal(none.code, '55000');
    assert.match(String(none.hint), /ALTER CLUSTER c SET \(REPLICATION FACTOR 1\)/);
    await c.query('alter cluster c reset (replication factor)');
    assert.deepEqual(await rowsOf(c, 'select s from v'), [['7']]);
    await c.query("alter cluster c set (introspection interval '100ms')");
    assert.deepEqual(
      await rowsOf(c, "select introspection_interval::text, managed from mz_clusters where name = 'c'"),
      [['00:00:00.1', true]],
    );
    assert.deepEqual(await rowsOf(c, 'select s from v'), [['7']], 'its replica started anew');
  }));

test('an unmanaged cluster has the replicas that were made, and may become managed and back', () =>
  withDatabase(async (c) => {
    await c.query("create cluster u replicas (a (size '1'), b (size '2'))");
    await c.query("create cluster replica u.r1 size '1'");
    assert.equal((await errorOf(c.query("create cluster replica u.r1 size '1'"))).code, '42710');
    await c.query("create cluster replica if not exists u.r1 size '1'");
    await c.query('drop cluster replica u.b');
    assert.deepEqual(await replicas(c, 'u'), [
      ['a', '1'],
      ['r1', '1'],
    ]);
    const size = await errorOf(c.query("alter cluster u set (size '2')"));
    assert.deepEqual([size.code, size.message], ['55000', 'cannot change SIZE of unmanaged cluster "u"']);
    await c.query('alter cluster u set (managed)');
    assert.deepEqual(await replicas(c, 'u'), [
      ['r1', '1'],
      ['r2', '1'],
    ]);
    for (const sql of ['drop cluster replica u.r1', "create cluster replica u.r3 size '1'"])
      assert.match((await errorOf(c.query(sql))).message, /cannot modify managed cluster "u"/);
    await c.query('alter cluster u set (managed = false)');
    await c.query('drop cluster replica u.r1');
    assert.deepEqual(await replicas(c, 'u'), [['r2', '1']]);
  }));

test('I06: a replica that was dropped has no row left in any relation', () =>
  withDatabase(async (c) => {
    await c.query("create cluster c replicas (r1 (size '1'), r2 (size '1'))");
    await c.query('create table t (a int); create materialized view v in cluster c as select a from t');
    const [[id]] = (await rowsOf(
      c,
      "select r.id from mz_cluster_replicas r join mz_clusters c on c.id = r.cluster_id where c.name = 'c' and r.name = 'r2'",
    )) as [[string]];
    const relations = await rowsOf(
      c,
      `select s.name || '.' || o.name from mz_objects o join mz_schemas s on s.id = o.schema_id
         join mz_columns k on k.id = o.id
       where k.name = 'replica_id' and o.type in ('table', 'view') order by 1`,
    );
    assert.ok(relations.length >= 4, String(relations));
    const mentions = async (): Promise<unknown[]> => {
      const found: unknown[] = [];
      for (const [name] of relations)
        if ((await rowsOf(c, `select 1 from ${String(name)} where replica_id = '${id}' limit 1`)).length > 0)
          found.push(name);
      return found;
    };
    assert.ok((await mentions()).includes('mz_internal.mz_cluster_replica_statuses'));
    await c.query('drop cluster replica c.r2');
    const present = (await mentions()).filter((name) => !String(name).endsWith('_history'));
    assert.deepEqual(present, [], 'only histories survive their replicas');
    assert.deepEqual(await rowsOf(c, `select 1 from mz_cluster_replicas where id = '${id}'`), []);
  }));

test('the limit of hydration is the same for all sessions, and may be reset', () =>
  withDatabase(async (c) => {
    assert.deepEqual(await rowsOf(c, 'show compute_hydration_concurrency'), [['4']]);
    await c.query('alter system set compute_hydration_concurrency = 7');
    assert.deepEqual(await rowsOf(c, 'show compute_hydration_concurrency'), [['7']]);
    assert.deepEqual(
      await rowsOf(
        c,
        "select setting, context from pg_settings where name = 'compute_hydration_concurrency'",
      ),
      [['7', 'sighup']],
    );
    await c.query('alter system reset all');
    assert.deepEqual(await rowsOf(c, 'show compute_hydration_concurrency'), [['4']]);
  }));

test('clusters, replicas and the limit survive a restart, also under new names', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tidemark-clusters-'));
  try {
    let db = await openWireDatabase({ dataDir });
    let c = await db.client();
    await c.query("create cluster one (size '1', replication factor 2); create cluster two (size '2')");
    await c.query('create table t (a int); insert into t values (5)');
    await c.query(
      'create materialized view v in cluster one as select a from t; create index i in cluster two on t (a)',
    );
    await c.query('alter cluster one swap with two; alter cluster two rename to three');
    await c.query('alter system set compute_hydration_concurrency = 2');
    const told = async (): Promise<unknown> => [
      await replicas(c, 'one'),
      await replicas(c, 'three'),
      await rowsOf(c, 'select c.name from mz_clusters c join mz_materialized_views v on v.cluster_id = c.id'),
      await rowsOf(c, 'show compute_hydration_concurrency'),
    ];
    const before = await told();
    assert.deepEqual(before, [
      [['r1', '2']],
      [
        ['r1', '1'],
        ['r2', '1'],
      ],
      [['three']],
      [['2']],
    ]);
    await db.close();
    db = await openWireDatabase({ dataDir });
    c = await db.client();
    assert.deepEqual(await told(), before);
    await c.query('insert into t values (6); set cluster = three');
    assert.deepEqual(await rowsOf(c, 'select sum(a) from v'), [['11']]);
    await db.close();
  } finally {
    await rm(dataDir, { recursive: true });
  }
});
