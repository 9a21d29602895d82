/** The doors of generations: HTTP, the wire and the library, over two servers on one directory, in one process. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import pg from 'pg';
import { silentLogger } from '../packages/tidemark/src/base/clock.ts';
import { open } from '../packages/tidemark/src/index.ts';
import {
  type RunningServer,
  type ServerOptions,
  startServer,
} from '../packages/tidemark/src/server/server.ts';
import { atEnd, temporaryDirectory } from './support/at-end.ts';
import { connection, errorOf, rowsOf } from './support/wire-database.ts';

const HERE = { host: '127.0.0.1', port: 0 };

async function server(
  t: TestContext,
  dataDir: string,
  more: Partial<ServerOptions> = {},
): Promise<RunningServer> {
  const s = await startServer({
    ...{ dataDir, listen: HERE, http: HERE, logger: silentLogger },
    onFenced: () => undefined,
    ...more,
  });
  atEnd(t, () => s.close());
  return s;
}

async function client(t: TestContext, s: RunningServer): Promise<pg.Client> {
  const c = new pg.Client(connection(s.pg.port));
  c.on('error', () => undefined);
  await c.connect();
  atEnd(t, () => c.end());
  return c;
}

const url = (s: RunningServer, what: string): string => `http://127.0.0.1:${s.http.port}/api/leader/${what}`;

async function answer(
  response: Promise<Response>,
): Promise<{ status: number; body: Record<string, unknown> }> {
  const r = await response;
  return { status: r.status, body: (await r.json()) as Record<string, unknown> };
}

const post = (s: RunningServer, init: RequestInit = {}) =>
  answer(fetch(url(s, 'promote'), { method: 'POST', ...init }));

/** What the candidate waits for is told by its own readiness. */
async function caughtUp(s: RunningServer): Promise<void> {
  for (;;) {
    const { body } = await answer(fetch(url(s, 'status')));
    if (body['caughtUp'] === true) return;
    await fetch(`http://127.0.0.1:${s.http.port}/api/readyz`);
  }
}

/** Between the question and the promotion the leader may have moved on by more than counts as caught up. */
async function promoted(s: RunningServer, init: RequestInit = {}): ReturnType<typeof post> {
  for (;;) {
    await caughtUp(s);
    const given = await post(s, init);
    if ((given.body['error'] as { code?: string } | undefined)?.code !== '55000') return given;
  }
}

test('status, a refused promotion, a promotion; clients and cursors before, between and after', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const told = Promise.withResolvers<Error>();
  const leader = await server(t, dataDir, { onFenced: told.resolve });
  const before = await client(t, leader);
  await before.query('CREATE TABLE t (a int)');
  await before.query('INSERT INTO t VALUES (1)');
  await before.query('CREATE MATERIALIZED VIEW mv AS SELECT a + 1 AS b FROM t');
  assert.deepEqual((await answer(fetch(url(leader, 'status')))).body, {
    ...{ role: 'leader', generation: 1, caughtUp: true, missing: [] },
  });
  assert.equal((await post(leader)).status, 200, 'who leads has nothing to do');

  const candidate = await server(t, dataDir, { readOnly: true });
  const status = await answer(fetch(url(candidate, 'status')));
  assert.deepEqual([status.body['role'], status.body['generation']], ['read_only', 2]);
  await caughtUp(candidate);
  const after = await client(t, candidate);
  assert.deepEqual(await rowsOf(after, 'SELECT pg_is_in_recovery()'), [[true]]);
  assert.deepEqual(await rowsOf(after, 'SHOW transaction_read_only'), [['on']]);
  assert.equal((await errorOf(after.query('INSERT INTO t VALUES (9)'))).code, '25006');
  const reader = await client(t, candidate);
  await reader.query('BEGIN');
  await reader.query('DECLARE c CURSOR FOR SUBSCRIBE (SELECT a FROM t)');
  const fetched = async (): Promise<unknown> =>
    (await rowsOf(reader, "FETCH 1 c WITH (timeout = '120s')")).map((r) => r[2]);
  assert.deepEqual(await fetched(), [1]);

  assert.equal((await post(candidate, { body: '{"force": "yes"}' })).status, 400);
  assert.equal((await post(candidate, { headers: { origin: 'http://elsewhere.example' } })).status, 403);
  const { status: accepted, body } = await promoted(candidate);
  assert.deepEqual([accepted, body['role']], [200, 'leader']);
  await after.query('INSERT INTO t VALUES (2)');
  assert.deepEqual(await rowsOf(after, 'SELECT b FROM mv ORDER BY b'), [[2], [3]]);
  assert.deepEqual(await fetched(), [2], 'a SUBSCRIBE that began before goes on');
  assert.deepEqual(await rowsOf(after, 'SELECT pg_is_in_recovery()'), [[false]]);
  assert.deepEqual(await rowsOf(after, 'SHOW transaction_read_only'), [['off']]);
  assert.equal((await errorOf(before.query('SELECT a FROM t'))).code, '57P01');
  assert.match((await told.promise).message, /another process has taken over/);
});

test('a promotion takes the token where one is set, and always does off loopback', async (t) => {
  const dataDir = await temporaryDirectory(t);
  await server(t, dataDir);
  const candidate = await server(t, dataDir, { readOnly: true, token: 'open sesame' });
  await caughtUp(candidate);
  assert.equal((await post(candidate)).status, 401);
  assert.equal((await post(candidate, { headers: { authorization: 'Bearer open' } })).status, 401);
  const offLoopback = await server(t, dataDir, { readOnly: true, http: { host: '0.0.0.0', port: 0 } });
  assert.equal((await post(offLoopback)).status, 401);
  await offLoopback.close();
  const asked = { headers: { authorization: 'Bearer open sesame' } };
  assert.equal((await promoted(candidate, asked)).status, 200);
});

test('the library stands by, tells its status, and is promoted', async (t) => {
  const dataDir = await temporaryDirectory(t);
  const fenced = Promise.withResolvers<Error>();
  const leader = await open({ dataDir, workers: 'inline', onFenced: fenced.resolve });
  atEnd(t, () => leader.close());
  await leader.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a); INSERT INTO t VALUES (1)');
  const db = await open({ dataDir, workers: 'inline', readOnly: true });
  atEnd(t, () => db.close());
  await db.ready({ timeoutMs: 120_000 });
  assert.equal(db.leaderStatus().role, 'read_only');
  await assert.rejects(db.exec('INSERT INTO t VALUES (2)'), /read-only generation/);
  await db.promote({ force: true });
  assert.deepEqual(db.leaderStatus(), { role: 'leader', generation: 2, caughtUp: true, missing: [] });
  await db.exec('INSERT INTO t VALUES (2)');
  await assert.rejects(leader.query('SELECT a FROM t'), /taken over/);
  assert.match((await fenced.promise).message, /taken over/);
});

test('there is nothing to stand by for in memory, nor in a directory that nobody has set up', async (t) => {
  await assert.rejects(open({ memory: true, readOnly: true }), /no other process to stand by for/);
  await assert.rejects(
    open({ dataDir: await temporaryDirectory(t), readOnly: true }),
    /is not a data directory/,
  );
});
