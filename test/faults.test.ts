/**
 * Faults other than a kill: a full disk, a part whose bytes changed, a worker that dies, a directory or a port that cannot be had. Each
 * time whoever is concerned gets a clear error, nothing is half done, everything else goes on, and it heals.
 */
import assert from 'node:assert/strict';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Worker } from 'node:worker_threads';
import type { SqlError } from '../packages/tidemark/src/base/error.ts';
import { openEnvironment } from '../packages/tidemark/src/host/open-environment.ts';
import { Database } from '../packages/tidemark/src/server/database.ts';
import { atEnd, temporaryDirectory } from './support/at-end.ts';
import { ServerProcess } from './support/crash/server-process.ts';
import { Disk } from './support/faulty-environment.ts';
import { untilEqual } from './support/until.ts';

const values = async (db: Database, sql: string): Promise<unknown[][]> =>
  (await db.query(sql)).rows.map((r) => Object.values(r));

// ---- A full disk

const MANY = "SELECT g, repeat('row ' || g::text, 9) FROM generate_series(1, 3000) AS g";

test('no space for parts: a large insert is refused whole, a view waits and is written when there is space', async (t) => {
  const disk = new Disk();
  const db = new Database(await disk.open());
  atEnd(t, () => db.close());
  await db.exec('CREATE TABLE t (a int, b text); CREATE TABLE u (a int, b text)');
  await db.exec(`INSERT INTO t ${MANY}`);
  const before = (await disk.blob.list('')).length;
  disk.full = 'blobs';
  await assert.rejects(db.query(`INSERT INTO u ${MANY}`), (e: SqlError) => e.code === 'disk_full');
  await db.exec("INSERT INTO u VALUES (1, 'short')");
  const file = join(await temporaryDirectory(t), 'rows.csv');
  await writeFile(file, `${Array.from({ length: 3000 }, (_, i) => `${i},row ${i}`).join('\n')}\n`);
  await db.exec(`CREATE SOURCE s FROM FILE '${file}'`);
  const stalled = "SELECT status, error FROM mz_internal.mz_source_statuses WHERE name = 's'";
  await untilEqual(async () => (await values(db, stalled))[0]?.[0], 'stalled');
  assert.deepEqual(await values(db, 'SELECT * FROM u'), [[1, 'short']]);
  await db.exec('CREATE MATERIALIZED VIEW v AS SELECT a, b FROM t WHERE a > 0');
  const refused = disk.refused;
  await untilEqual(async () => disk.refused > refused, true);
  assert.equal((await disk.blob.list('')).length, before, 'nothing lies about that nobody names');
  const read = values(db, 'SELECT count(*), max(a) FROM v');
  disk.full = 'no';
  assert.deepEqual(await read, [[3000n, 3000]]);
  await db.exec(`INSERT INTO u ${MANY}`);
  assert.deepEqual(await values(db, 'SELECT count(*) FROM u'), [[3001n]]);
  assert.deepEqual(await values(db, 'SELECT count(*) FROM s'), [[3000n]]);
});

test('no space at all: writers and DDL are told, reads go on, nothing is half there, and it heals', async (t) => {
  const disk = new Disk();
  let opened = await disk.open();
  let db = new Database(opened);
  atEnd(t, () => db.close());
  await db.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  await db.exec('CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t');
  assert.deepEqual(await values(db, 'SELECT s FROM v'), [[1n]]);
  disk.full = 'all';
  for (const sql of [
    'INSERT INTO t VALUES (2)',
    'UPDATE t SET a = 7',
    'CREATE TABLE u (a int)',
    'CREATE MATERIALIZED VIEW w AS SELECT a FROM t',
    'DROP MATERIALIZED VIEW v',
  ])
    await assert.rejects(db.query(sql), (e: SqlError) => e.code === 'disk_full', sql);
  assert.deepEqual(await values(db, 'SELECT a FROM t'), [[1]]);
  const names = "SELECT name FROM mz_objects WHERE id LIKE 'u%' ORDER BY name";
  assert.deepEqual(await values(db, names), [['t'], ['v']]);
  // What happens meanwhile by itself is told later.
  const lost = { table: 'mz_cluster_replica_statuses', key: 'lost' } as const;
  opened.env.setLive([{ ...lost, rows: [['lost', 'offline', 'a test', 0n]] }]);
  disk.full = 'no';
  await db.exec('INSERT INTO t VALUES (4)');
  assert.deepEqual(await values(db, 'SELECT s FROM v'), [[5n]]);
  await db.exec('CREATE TABLE u (a int)');
  assert.deepEqual(await values(db, names), [['t'], ['u'], ['v']]);
  const told = "SELECT reason FROM mz_internal.mz_cluster_replica_statuses WHERE replica_id = 'lost'";
  await untilEqual(() => values(db, told), [['a test']]);
  opened.env.setLive([{ ...lost, rows: [] }]);
  await untilEqual(() => values(db, told), []);
  await db.close();
  opened = await disk.open();
  db = new Database(opened);
  assert.deepEqual(await values(db, names), [['t'], ['u'], ['v']]);
  assert.deepEqual(await values(db, 'SELECT (SELECT s FROM v), (SELECT sum(a) FROM t)'), [[5n, 5n]]);
});

test('the store carries a commit out and falls silent: the writer hears when it speaks again, once is once', async (t) => {
  const disk = new Disk();
  const db = new Database(await disk.open());
  atEnd(t, () => db.close());
  await db.exec('CREATE TABLE t (a int)');
  disk.deaf = true;
  const { refused } = disk;
  const created = db.exec('CREATE TABLE u (a int)');
  const written = db.exec('INSERT INTO t VALUES (1)');
  await untilEqual(async () => disk.refused >= refused + 8, true);
  disk.deaf = false;
  // A shard of its own is made before the commit: that may fail for good, and then nothing of it is there.
  const there = await created.then(
    () => true,
    () => false,
  );
  await written;
  assert.deepEqual(await values(db, 'SELECT a FROM t'), [[1]]);
  const names = "SELECT name FROM mz_tables WHERE id LIKE 'u%' ORDER BY name";
  assert.deepEqual(await values(db, names), there ? [['t'], ['u']] : [['t']]);
  await db.exec('INSERT INTO t VALUES (2)');
  assert.deepEqual(await values(db, 'SELECT count(*), sum(a) FROM t'), [[2n, 3n]]);
});

// ---- A corrupt part

test('a part whose bytes changed: its object says which, others work, the server starts', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const open = async () => new Database(await openEnvironment({ dataDir, workers: 'inline' }));
  let db = await open();
  atEnd(t, () => db.close());
  await db.exec('CREATE TABLE whole (a int, b text); CREATE TABLE broken (a int, b text)');
  await db.exec('CREATE INDEX i ON broken (a)');
  await db.exec('CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM broken');
  for (const table of ['whole', 'broken']) await db.exec(`INSERT INTO ${table} ${MANY}`);
  const [[id]] = (await values(db, "SELECT id FROM mz_tables WHERE name = 'broken'")) as [[string]];
  await db.close();

  const parts = join(dataDir, 'parts');
  const shard = (await readdir(parts)).find((s) => s.startsWith(`${id}-`))!;
  const [file] = await readdir(join(parts, shard));
  const bytes = await readFile(join(parts, shard, file!));
  bytes[bytes.length >> 1]! ^= 0x40;
  await writeFile(join(parts, shard, file!), bytes);

  db = await open();
  const corrupt = (e: SqlError) =>
    e.code === 'data_corrupted' && e.message.includes(`part ${shard}/${file} is corrupt`);
  await assert.rejects(db.query('SELECT count(*) FROM broken'), corrupt);
  await db.exec("CREATE CLUSTER other SIZE '1'; SET cluster = other");
  await assert.rejects(db.query('SELECT b FROM broken WHERE a = 5'), corrupt);
  // Read from its shard on another cluster than the one where it cannot go on.
  await assert.rejects(db.query('SELECT n FROM v'), corrupt);
  await assert.rejects(db.query('SELECT x.n FROM v AS x, v AS y'), corrupt);
  assert.deepEqual(await values(db, 'SELECT count(*) FROM whole'), [[3000n]]);
  await db.exec('DROP TABLE broken CASCADE');
  await db.exec("INSERT INTO whole VALUES (0, '')");
  assert.deepEqual(await values(db, 'SELECT count(*) FROM whole'), [[3001n]]);
});

// ---- A slow reader

test("a view's sink holds the shard that it reads back, so that compaction does not outrun it", async (t) => {
  const opened = await new Disk().open();
  const db = new Database(opened);
  atEnd(t, () => db.close());
  await db.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  await db.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
  assert.deepEqual(await values(db, 'SELECT a FROM v'), [[1]]);
  const [[id]] = (await values(db, 'SELECT id FROM mz_materialized_views')) as [[string]];
  const { durable } = opened.env.options.stores;
  const shardId = (await durable.list()).find((s) => s.startsWith(`${id}-`))!;
  const holders = async () => (await (await durable.open(shardId))!.refresh()).holds.length;
  assert.equal(await holders(), 2, "the environment's hold, and the sink's own");
});

// ---- A worker that dies

test('a worker thread dies: the read under way ends with an error, the replica comes back hydrated', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const threads: Worker[] = [];
  const seen = (w: Worker) => threads.push(w);
  process.on('worker', seen);
  atEnd(t, () => process.off('worker', seen));
  const opened = await openEnvironment({ dataDir });
  const db = new Database(opened);
  atEnd(t, () => db.close());
  await db.exec('CREATE TABLE t (a int)');
  await db.exec('INSERT INTO t SELECT * FROM generate_series(1, 2000)');
  await db.exec("CREATE CLUSTER c SIZE '2'; SET cluster = c");
  // The system cluster's, the default cluster's, and these two.
  await untilEqual(async () => threads.length, 4);
  const worker = threads[3]!;
  await db.exec('CREATE INDEX i ON t (a)');
  await db.exec('CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t');
  assert.deepEqual(await values(db, 'SELECT n FROM v'), [[2000n]]);

  const statuses = `SELECT status FROM mz_internal.mz_cluster_replica_statuses
    JOIN mz_cluster_replicas r ON r.id = replica_id JOIN mz_clusters c ON c.id = r.cluster_id WHERE c.name = 'c'`;
  const losses = `SELECT count(*) FROM mz_internal.mz_cluster_replica_status_history
    JOIN mz_cluster_replicas r ON r.id = replica_id JOIN mz_clusters c ON c.id = r.cluster_id
    WHERE c.name = 'c' AND status = 'offline'`;
  await untilEqual(() => values(db, statuses), [['online']]);
  // A cross join: long under way when the thread goes.
  const slow = db.query('SELECT count(*) FROM t x, t y, t z WHERE x.a + y.a = z.a * 7 + 1');
  const failed = assert.rejects(
    slow,
    (e: SqlError) => e.code === 'system_error' && /was lost/.test(e.message),
  );
  const instance = opened.env.instance(opened.env.catalog.cluster('c')!.id);
  await untilEqual(async () => instance.live.peeks, 1);
  await worker.terminate();
  await failed;
  // It is back after half a second: that it was away is in the history.
  await untilEqual(() => values(db, losses), [[1n]]);
  await untilEqual(() => values(db, statuses), [['online']]);
  await db.exec('INSERT INTO t VALUES (0)');
  assert.deepEqual(await values(db, 'SELECT n FROM v'), [[2001n]]);
  assert.deepEqual(await values(db, 'SELECT count(*) FROM t'), [[2001n]]);
  await db.ready({ cluster: 'c', timeoutMs: 120_000 });

  // A command that no controller sends: the worker's assertion fails, and ends the replica, not the environment.
  const tunables = { maxResultSize: 1 };
  const logging = { ...opened.env.catalog.logging(instance.clusterId) };
  let refused: SqlError | null = null;
  // Each time it stays away for twice as long: a test that is too slow to find it away loses it again.
  for (let lost = 2n; refused === null; lost++) {
    instance.replicas[0]!.connection.send({ kind: 'createInstance', logging, tunables });
    await untilEqual(() => values(db, losses), [[lost]]);
    // What a replica tells of itself is not waited for; what it computes is.
    const told = db.query('SELECT count(*) FROM mz_introspection.mz_compute_exports_per_worker');
    refused = await told.then(
      () => null,
      (e: SqlError) => e,
    );
    assert.deepEqual(await values(db, 'SELECT n FROM v'), [[2001n]]);
  }
  assert.equal(refused.code, 'object_not_in_prerequisite_state');
  assert.match(refused.message, /"c.r1" is not connected/);
  await untilEqual(() => values(db, statuses), [['online']]);
  await db.exec('INSERT INTO t VALUES (0)');
  assert.deepEqual(await values(db, 'SELECT n FROM v'), [[2002n]]);
});

// ---- Starts that cannot be

async function refusedStart(dataDir: string, more: readonly string[], want: RegExp): Promise<void> {
  const server = new ServerProcess(dataDir, more);
  assert.equal(await server.ready(), null);
  assert.notEqual(await server.exit(), 0);
  assert.match(server.log, want);
  assert.equal(server.log.trimEnd().split('\n').length, 1, `one line says it: ${server.log}`);
}

test('a port in use, a directory that cannot be made, a newer format: one line, and an exit code', async (t) => {
  const path = await temporaryDirectory(t);
  const taken = createServer().listen(0, '127.0.0.1');
  atEnd(t, () => taken.close());
  await new Promise((resolve) => taken.once('listening', resolve));
  const { port } = taken.address() as { port: number };
  await refusedStart(join(path, 'a'), ['--listen', `127.0.0.1:${port}`], /the port is in use/);
  await writeFile(join(path, 'file'), '');
  await refusedStart(join(path, 'file', 'data'), [], /could not be made/);
  // Nobody can make a directory there: not even asked to make all above it.
  await refusedStart('/proc/tidemark/data', [], /could not be made/);
  await writeFile(join(path, 'a', 'FORMAT'), 'tidemark data directory, format 99\n');
  await refusedStart(join(path, 'a'), [], /has format 99, and this version knows formats up to \d/);
});
