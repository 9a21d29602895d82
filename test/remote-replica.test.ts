/**
 * A replica in a process of its own, as a user has it: `tidemark serve`, `tidemark replica` and a client of the wire. What is kept and what is
 * not, in every order of events, is for the simulator (`reconnect.test.ts`); here are the processes, sockets and files.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Client, ServerProcess } from './support/crash/server-process.ts';
import { ReplicaProcess, type ReplicaProcessOptions } from './support/replica-process.ts';
import { until } from './support/until.ts';

const TOKEN = 'a token of this test';
// What the servers that are started here show to replicas.
process.env['TIDEMARK_REPLICA_TOKEN'] = TOKEN;

const LIVES = `SELECT export_id, worker_id, event, occurred_at, reason
  FROM mz_introspection.mz_compute_lifecycle_events_per_worker WHERE export_id LIKE 'u%' ORDER BY 1, 2, 4, 3`;

class World {
  readonly dataDir: string;
  readonly #processes: { kill(): Promise<void> }[] = [];
  readonly #clients: Client[] = [];
  #port = 0;
  server!: ServerProcess;
  client!: Client;

  constructor(dataDir: string) {
    this.dataDir = dataDir;
  }

  static async open(t: TestContext): Promise<World> {
    const dir = await mkdtemp(join(tmpdir(), 'tidemark-replica-'));
    const w = new World(join(dir, 'data'));
    t.after(async () => {
      for (const c of w.#clients) await c.end();
      for (const p of w.#processes) await p.kill();
      await rm(dir, { recursive: true, force: true });
    });
    await w.serve();
    return w;
  }

  async serve(): Promise<void> {
    this.server = new ServerProcess(this.dataDir);
    this.#processes.push(this.server);
    const port = await this.server.ready();
    assert.ok(port !== null, this.server.log);
    this.#port = port;
    this.client = await this.connect();
  }

  async connect(): Promise<Client> {
    const client = await new Client(this.#port).connected();
    this.#clients.push(client);
    return client;
  }

  replica(options: Partial<ReplicaProcessOptions> & Pick<ReplicaProcessOptions, 'workers'>): ReplicaProcess {
    const r = new ReplicaProcess({ dataDir: this.dataDir, token: TOKEN, ...options });
    this.#processes.push(r);
    return r;
  }

  async rows(sql: string): Promise<string[][]> {
    return (await this.client.query(sql)).rows;
  }

  /** What a replica tells of itself: refused, not waited for, while it is dialled again, as after a silence that a loaded machine makes. */
  async logs(sql: string, done: (rows: string[][]) => boolean = () => true): Promise<string[][]> {
    const told = await until(
      () => this.rows(sql).catch(unlessNotConnected),
      (rows) => rows !== null && done(rows),
    );
    return told!;
  }

  /** Asks until the answer satisfies. */
  until(sql: string, done: (rows: string[][]) => boolean): Promise<string[][]> {
    return until(() => this.rows(sql), done);
  }

  /** Status and reason of the replica of cluster c. */
  status(done: (status: string, reason: string) => boolean): Promise<string[][]> {
    return this.until(
      `SELECT s.status, s.reason FROM mz_internal.mz_cluster_replica_statuses s
         JOIN mz_cluster_replicas r ON r.id = s.replica_id JOIN mz_clusters c ON c.id = r.cluster_id
        WHERE c.name = 'c'`,
      ([row]) => row !== undefined && done(row[0]!, row[1] ?? ''),
    );
  }

  async createCluster(port: number, workers: number): Promise<void> {
    await this.rows(`CREATE CLUSTER c REPLICAS (r1 (ADDRESSES ('127.0.0.1:${port}'), WORKERS ${workers}))`);
  }

  /** What asks a replica for its logs is refused as long as it is dialled. */
  async connectCluster(port: number, workers: number): Promise<void> {
    await this.createCluster(port, workers);
    await this.status((status) => status === 'online');
  }
}

function unlessNotConnected(e: Error & { code?: string }): null {
  if (e.code !== '55000' || !/is not connected/.test(e.message)) throw e;
  return null;
}

/** Objects on cluster c that are hydrated and durable; gives their lives. */
async function populate(w: World): Promise<string[][]> {
  await w.rows('SET cluster = c');
  await w.rows('CREATE TABLE t (a int, b text)');
  await w.rows("INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 20000) AS g");
  await w.rows('CREATE INDEX i ON t (a)');
  await w.rows('CREATE MATERIALIZED VIEW v AS SELECT a % 7 AS k, count(*) AS n FROM t GROUP BY a % 7');
  await w.rows('SELECT * FROM v');
  return w.logs(LIVES, (rows) => rows.length === 2 * 3 + 2 * 3 + 1);
}

const TOTAL = 'SELECT sum(n) FROM v';

test('L10: kill -9 of the environment, and the replica goes on: contents, and every instant of every life', async (t) => {
  const w = await World.open(t);
  const replica = w.replica({ workers: 2 });
  await w.connectCluster(await replica.ready(), 2);
  const before = await populate(w);
  assert.deepEqual(await w.rows('SELECT a, b FROM t WHERE a = 17'), [['17', 'row 17']]);
  // Columns of a result that comes in parts.
  const all = await w.rows('SELECT a, b FROM t');
  assert.equal(all.length, 20_000);
  assert.ok(all.every(([a, b]) => b === `row ${a}`));
  assert.deepEqual(
    await w.rows(
      "SELECT size, workers, address IS NOT NULL FROM mz_cluster_replicas WHERE name = 'r1' AND address IS NOT NULL",
    ),
    [['2', '2', 't']],
  );

  await w.server.kill();
  await w.serve();
  await w.rows('SET cluster = c');
  await w.rows("INSERT INTO t VALUES (0, 'zero')");
  assert.deepEqual(await w.rows(TOTAL), [['20001']]);
  assert.deepEqual(await w.rows('SELECT b FROM t WHERE a = 0'), [['zero']]);
  assert.deepEqual(await w.logs(LIVES), before);

  // A query that waits for the replica is among what is asked of it then: this time there is none.
  await w.server.kill();
  await w.serve();
  await w.status((status) => status === 'online');
  const outcomes = Object.fromEntries(
    await w.until(
      'SELECT outcome, count FROM mz_internal.mz_compute_reconciliations',
      (rows) => rows.length > 0,
    ),
  ) as Record<string, string>;
  assert.equal(outcomes['created'], '0', JSON.stringify(outcomes));
  assert.ok(Number(outcomes['retained']) >= 2);
  await w.rows('SET cluster = c');
  assert.deepEqual(await w.logs(LIVES), before);
  // Catalog relations are shards in the memory of the environment, and the query runs on the replica.
  const [named] = await w.logs(
    `SELECT o.name FROM mz_introspection.mz_compute_exports_per_worker e JOIN mz_objects o ON o.id = e.export_id
      WHERE o.name = 'v' LIMIT 1`,
  );
  assert.deepEqual(named, ['v']);

  assert.equal(await w.server.stop(), 0);
  assert.equal(await replica.stop(), 0, replica.log);
  assert.deepEqual(w.server.faults, []);
});

/** Events of ten indexes and ten views on one worker. */
const WHOLE = 10 * 3 + 10 * 4;

test('L12: kill -9 of the replica, and nothing of its previous life is shown; the next one is complete', async (t) => {
  const w = await World.open(t);
  let replica = w.replica({ workers: 1 });
  const port = await replica.ready();
  await w.connectCluster(port, 1);
  await w.rows('SET cluster = c');
  await w.rows('CREATE TABLE t (a int)');
  await w.rows('INSERT INTO t SELECT generate_series(1, 100)');
  for (let i = 0; i < 10; i++) {
    await w.rows(`CREATE INDEX i${i} ON t (a)`);
    await w.rows(`CREATE MATERIALIZED VIEW v${i} AS SELECT count(*) + ${i} AS n FROM t`);
  }
  await w.logs(LIVES, (rows) => rows.length === WHOLE);
  for (let round = 0; round < 3; round++) {
    const before = new Set((await w.logs(LIVES)).map(String));
    await replica.kill();
    replica = w.replica({ workers: 1, port });
    // Asked at once, and until the new life is whole: what is shown is of that life alone.
    for (let whole = false; !whole; ) {
      const rows = await w.rows(LIVES).catch((e: { code?: string }) => {
        assert.ok(['55000', '58000'].includes(e.code ?? ''), String(e));
        return null;
      });
      if (rows === null) continue;
      // The connection that broke may not be known yet: then all of them are of the life that ended just now.
      if (!rows.every((r) => before.has(String(r))))
        assert.deepEqual(
          rows.filter((r) => before.has(String(r))),
          [],
        );
      whole = rows.length === WHOLE && !before.has(String(rows[0]));
    }
    for (const [event, reason] of await w.logs(
      "SELECT DISTINCT event, reason FROM mz_introspection.mz_compute_lifecycle_events_per_worker WHERE event = 'installed'",
    ))
      assert.deepEqual([event, reason], ['installed', 'commanded']);
    assert.deepEqual(await w.rows('SELECT n FROM v4'), [['104']]);
  }
});

test('L24: the environment is restarted while the replica cannot be reached: the last finish stands, and the error is told; nothing is under way', async (t) => {
  const w = await World.open(t);
  let replica = w.replica({ workers: 2 });
  const port = await replica.ready();
  await w.createCluster(port, 2);
  await populate(w);
  const HISTORY = `SELECT h.status, h.object_count, h.finished_at FROM mz_internal.mz_replica_hydration_history h
    JOIN mz_cluster_replicas r ON r.id = h.replica_id JOIN mz_clusters c ON c.id = r.cluster_id
    WHERE c.name = 'c' ORDER BY h.started_at`;
  // Both objects, together or one after the other.
  const before = await w.until(
    HISTORY,
    (rows) =>
      rows.reduce((n, [, objects]) => n + Number(objects), 0) === 2 &&
      rows.every(([status]) => status === 'hydrated'),
  );
  await replica.kill();
  await w.server.kill();
  await w.serve();
  await w.status((status, reason) => status === 'offline' && reason.includes('ECONNREFUSED'));
  assert.deepEqual(await w.rows(HISTORY), before);
  assert.ok(before.at(-1)![2] !== null, 'with the time of its finish');
  const hydration = `SELECT h.hydrated, h.reason FROM mz_internal.mz_cluster_replica_hydration h
    JOIN mz_clusters c ON c.id = h.cluster_id WHERE c.name = 'c'`;
  await w.until(hydration, ([row]) => row?.[1] === 'replica_lost');
  assert.deepEqual(await w.rows(hydration), [['f', 'replica_lost']]);
  replica = w.replica({ workers: 2, port });
  await w.until(
    HISTORY,
    (rows) => rows.length > before.length && rows.every(([status]) => status === 'hydrated'),
  );
  await w.until(hydration, ([row]) => row?.[0] === 't');
  assert.deepEqual(await w.rows(hydration), [['t', null]]);
});

test('who reads while the replica cannot be reached is told so, and waits: until it is there, for as long as wanted, or until it is dropped', async (t) => {
  const w = await World.open(t);
  const replica = w.replica({ workers: 2 });
  const port = await replica.ready();
  await w.connectCluster(port, 2);
  await populate(w);
  await replica.kill();
  await w.status((status) => status === 'offline');

  let told: string | null = null;
  void w.client.notice().then((text) => {
    told = text;
  });
  // On a loaded machine the wait may not begin within a short time.
  for (let ms = 100; told === null; ms *= 2) {
    await w.rows(`SET statement_timeout = ${ms}`);
    await assert.rejects(w.rows(TOTAL), { code: '57014' });
  }
  assert.equal(told, 'no replica of cluster "c" is connected: waiting');
  await w.rows('RESET statement_timeout');
  await assert.rejects(w.rows(LIVES), { code: '55000', message: /replica "c.r1" is not connected/ });

  const waits = w.client.notice();
  const waiting = w.rows(TOTAL);
  await waits;
  const back = w.replica({ workers: 2, port });
  assert.deepEqual(await waiting, [['20000']]);

  await back.kill();
  await w.status((status) => status === 'offline');
  const other = await w.connect();
  const dropped = w.client.notice();
  const last = assert.rejects(w.rows(TOTAL), { code: '55000', message: /was dropped/ });
  await dropped;
  await other.query('DROP CLUSTER REPLICA c.r1');
  await last;
  await assert.rejects(w.rows(TOTAL), {
    code: '55000',
    message: 'cluster "c" has no replica to run the query on',
  });
});

test('a dead cable is noticed, the replica found again, and its lives are the same', async (t) => {
  const w = await World.open(t);
  const replica = w.replica({ workers: 2 });
  await w.connectCluster(await replica.ready(), 2);
  await w.rows('SET cluster = c');
  await w.rows('CREATE TABLE t (a int)');
  await w.rows('INSERT INTO t SELECT generate_series(1, 100)');
  await w.rows('CREATE INDEX i ON t (a)');
  const before = await w.logs(LIVES, (rows) => rows.length === 2 * 3);
  replica.pause();
  // In the history: the present reason is soon that of the next attempt.
  await w.until(
    `SELECT h.reason FROM mz_internal.mz_cluster_replica_status_history h
       JOIN mz_cluster_replicas r ON r.id = h.replica_id JOIN mz_clusters c ON c.id = r.cluster_id
      WHERE c.name = 'c' AND h.status = 'offline'`,
    (rows) => rows.some(([reason]) => /has said nothing for 5 s/.test(reason ?? '')),
  );
  replica.resume();
  await w.status((status) => status === 'online');
  assert.deepEqual(await w.rows('SELECT a FROM t WHERE a = 7'), [['7']]);
  assert.deepEqual(await w.logs(LIVES, (rows) => rows.length >= before.length), before);
});

test('a replica over another directory is refused, be it a copy: it would answer from what is there', async (t) => {
  const w = await World.open(t);
  await w.rows('CREATE TABLE t (a int)');
  const copy = `${w.dataDir}-copy`;
  await cp(w.dataDir, copy, { recursive: true });
  const elsewhere = w.replica({ workers: 1, dataDir: copy });
  const port = await elsewhere.ready();
  await w.createCluster(port, 1);
  await w.status((status, reason) => status === 'offline' && reason.includes('over another data directory'));
  assert.equal(await elsewhere.stop(), 0, elsewhere.log);
  const replica = w.replica({ workers: 1, port });
  await replica.ready();
  await w.status((status) => status === 'online');
  // Another start, and the same directory.
  await w.server.kill();
  await w.serve();
  await w.status((status) => status === 'online');
});

test('who does not know the token, asks for other workers or speaks something else is refused, and the replica stays', async (t) => {
  const w = await World.open(t);
  const replica = w.replica({ workers: 2, token: 'another token' });
  const port = await replica.ready();
  await w.createCluster(port, 2);
  await w.status((status, reason) => status === 'offline' && reason.includes('token'));
  assert.deepEqual(await w.rows('SELECT 1'), [['1']]);
  for (const bytes of ['GET / HTTP/1.1\r\n\r\n', '\x05\x00\x00\x00\x05{"a"}', '\x06\x00\x00\x00\x02{"a"}']) {
    const socket = connect(port, '127.0.0.1');
    socket.on('error', () => undefined).resume();
    socket.write(bytes, 'latin1');
    await once(socket, 'close');
  }
  await w.rows('DROP CLUSTER c CASCADE');
  assert.equal(await replica.stop(), 0, replica.log);

  const right = w.replica({ workers: 2 });
  const place = await right.ready();
  await w.createCluster(place, 3);
  await w.status(
    (status, reason) =>
      status === 'offline' && reason.includes('the replica has 2 workers, and 3 were asked for'),
  );
  const taken = w.rows(`CREATE CLUSTER d REPLICAS (r (ADDRESSES ('127.0.0.1:${place}'), WORKERS 1))`);
  await assert.rejects(taken, { code: '22023', message: /is the address of replica c\.r1$/ });
  await w.rows('DROP CLUSTER c CASCADE');
  await w.rows(`CREATE CLUSTER c REPLICAS ()`);
  await assert.rejects(w.rows("CREATE CLUSTER REPLICA c.r2 (ADDRESSES ('a:1', 'b:2'), WORKERS 2)"), {
    code: '0A000',
  });
  await assert.rejects(w.rows("CREATE CLUSTER REPLICA c.r2 (ADDRESSES ('nowhere'), WORKERS 2)"), {
    code: '22023',
  });
  await assert.rejects(w.rows("CREATE CLUSTER REPLICA c.r2 (ADDRESSES ('a:1'))"), { code: '22023' });
  await assert.rejects(w.rows("CREATE CLUSTER REPLICA c.r2 (SIZE '1', ADDRESSES ('a:1'), WORKERS 1)"), {
    code: '42601',
  });
});

test('a replica without a token listens on loopback alone, and only where there is a data directory', async (t) => {
  const w = await World.open(t);
  const open = new ReplicaProcess({ dataDir: w.dataDir, workers: 1, host: '0.0.0.0' });
  assert.equal(await open.exit(), 1);
  assert.match(open.log, /listening on 0\.0\.0\.0 requires a token/);
  const lost = new ReplicaProcess({ dataDir: join(w.dataDir, 'none'), workers: 1 });
  assert.equal(await lost.exit(), 1);
  assert.match(lost.log, /is not a data directory/);
});

test('a replica that is dropped gives up what it had, and serves the next cluster', async (t) => {
  const w = await World.open(t);
  const replica = w.replica({ workers: 1 });
  const port = await replica.ready();
  await w.connectCluster(port, 1);
  await w.rows('SET cluster = c');
  await w.rows('CREATE TABLE t (a int)');
  await w.rows('CREATE INDEX i ON t (a)');
  const [first] = await w.logs(LIVES, (rows) => rows.length === 3);
  await w.rows('DROP CLUSTER REPLICA c.r1');
  await w.rows(`CREATE CLUSTER REPLICA c.r2 (ADDRESSES ('127.0.0.1:${port}'), WORKERS 1)`);
  await w.status((status) => status === 'online');
  const [again] = await w.logs(LIVES, (rows) => rows.length === 3);
  assert.equal(again![2], 'installed');
  assert.notEqual(again![3], first![3]);
  assert.deepEqual(await w.rows('SELECT * FROM mz_internal.mz_compute_reconciliations'), []);
});
