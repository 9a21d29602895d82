/** The socket listener driven by the clients that people use. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { describe, it, type TestContext } from 'node:test';
import pg from 'pg';
import { from as copyFrom, to as copyTo } from 'pg-copy-streams';
import Cursor from 'pg-cursor';
import postgres from 'postgres';
import { silentLogger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { CannedBackend } from '../pgwire/canned-backend.fixture.ts';
import { send, until } from '../pgwire/wire-client.fixture.ts';
import { type ListenPgOptions, listenPg, type PgServer } from './pg-server.ts';
import { scramAuth } from './scram-auth.ts';

interface Started {
  readonly backend: CannedBackend;
  readonly server: PgServer;
}

async function start(t: TestContext, options: Partial<ListenPgOptions> = {}): Promise<Started> {
  const backend = new CannedBackend();
  const server = await listenPg({
    host: '127.0.0.1',
    port: 0,
    backend,
    auth: { kind: 'trust' },
    logger: silentLogger,
    ...options,
  });
  t.after(() => server.close());
  return { backend, server };
}

async function pgClient(
  t: TestContext,
  { port }: PgServer,
  config: pg.ClientConfig = {},
): Promise<pg.Client> {
  const client = new pg.Client({ host: '127.0.0.1', port, user: 'ada', database: 'd', ...config });
  client.on('error', () => {});
  await client.connect();
  t.after(() => client.end().catch(() => {}));
  return client;
}

async function rawSocket(t: TestContext, { port }: PgServer): Promise<Socket> {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'connect');
  return socket;
}

/** A self-signed certificate for 127.0.0.1. */
function certificate(t: TestContext): { key: string; cert: string } {
  const dir = mkdtempSync(join(tmpdir(), 'tidemark-tls-'));
  t.after(() => rmSync(dir, { recursive: true }));
  const [key, cert] = [join(dir, 'key'), join(dir, 'cert')];
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1'];
  const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', '-nodes', ...curve, ...subject, '-keyout', key, '-out', cert], {
    stdio: 'ignore',
  });
  return { key: readFileSync(key, 'utf8'), cert: readFileSync(cert, 'utf8') };
}

const sqlstate = (code: string) => (error: unknown) => (error as { code?: string }).code === code;

describe('node-postgres', () => {
  it('runs simple and prepared queries', async (t) => {
    const { server, backend } = await start(t);
    const client = await pgClient(t, server, { application_name: 'test' });
    assert.equal(backend.sessions[0].startup.applicationName, 'test');
    const simple = await client.query('rows 3');
    assert.deepEqual(simple.rows.at(-1), { n: 3, label: 'row 3' });
    assert.equal(simple.command, 'SELECT');
    assert.equal(simple.rowCount, 3);
    const several = (await client.query('select 1; insert 4')) as unknown as pg.QueryResult[];
    assert.deepEqual(
      several.map((result) => result.rowCount),
      [1, 4],
    );
    for (const value of ['x', 'grüße 🌊', '', null]) {
      const { rows } = await client.query({ name: 'echo', text: 'echo $1, $2', values: [value, 'y'] });
      assert.deepEqual(rows, [{ a: value, b: 'y' }]);
    }
    const { rows } = await client.query('types');
    assert.deepEqual(rows[0], {
      ...{
        b: true,
        s: -2,
        i: 70000,
        l: '-9007199254740993',
        d: 1.5,
        t: 'grüße 🌊',
        y: Buffer.from([0, 255]),
        z: null,
      },
    });
  });

  it('sees errors with their fields and goes on', async (t) => {
    const { server } = await start(t);
    const client = await pgClient(t, server);
    const error = await client.query('fail').catch((reason: unknown) => reason);
    assert.ok(error instanceof pg.DatabaseError);
    assert.deepEqual(
      [error.code, error.message, error.detail, error.hint, error.position, error.table, error.constraint],
      ['23505', 'duplicate key', 'the detail', 'the hint', '3', 't', 't_pk'],
    );
    await assert.rejects(client.query({ text: 'crash', values: ['1'] }), sqlstate('XX000'));
    assert.equal((await client.query('select 5')).rows[0]['?column?'], 5);
    const notice = once(client, 'notice');
    await client.query('notice');
    assert.equal((await notice)[0].message, 'mind the gap');
  });

  it('reads a large result through a cursor, and leaves it in the middle', async (t) => {
    const { server, backend } = await start(t);
    const client = await pgClient(t, server);
    const cursor = client.query(new Cursor<{ n: number }>('rows 250'));
    const counts: number[] = [];
    for (let rows = await cursor.read(100); rows.length > 0; rows = await cursor.read(100))
      counts.push(rows.length);
    assert.deepEqual(counts, [100, 100, 50]);
    const endless = client.query(new Cursor<{ n: number }>('endless'));
    assert.equal((await endless.read(10)).length, 10);
    await endless.close();
    assert.equal((await client.query('select 1')).rowCount, 1);
    assert.equal(backend.open.size, 1);
  });

  it('copies in and out', async (t) => {
    const { server, backend } = await start(t);
    const client = await pgClient(t, server);
    const lines = Array.from({ length: 20_000 }, (_, i) => `${i}\tline ${i}\n`);
    const into = client.query(copyFrom('copy t from stdin'));
    await pipeline(Readable.from(lines), into);
    assert.equal(into.rowCount, 20_000);
    assert.equal(backend.copied[0], lines.join(''));
    const chunks: Buffer[] = [];
    for await (const chunk of client.query(copyTo('copy 10000 to stdout'))) chunks.push(chunk as Buffer);
    const text = Buffer.concat(chunks).toString();
    assert.equal(text.split('\n').length, 10_001);
    assert.ok(text.endsWith('10000\trow 10000\n'));
    await assert.rejects(
      pipeline(Readable.from(['x\n']), client.query(copyFrom('copy broken from stdin'))),
      sqlstate('22P04'),
    );
    assert.equal((await client.query('select 1')).rowCount, 1);
  });

  it('serves a pool', async (t) => {
    const { server, backend } = await start(t);
    const pool = new pg.Pool({ host: '127.0.0.1', port: server.port, user: 'ada', max: 5 });
    const results = await Promise.all(
      Array.from({ length: 200 }, (_, i) => pool.query({ name: 'e', text: 'echo $1', values: [String(i)] })),
    );
    assert.deepEqual(
      results.map(({ rows }) => rows[0].a),
      Array.from({ length: 200 }, (_, i) => String(i)),
    );
    await pool.end();
    await until(() => backend.open.size === 0, 'all sessions closed');
  });
});

describe('postgres.js', () => {
  it('runs queries, errors, transactions, cursors and copies', async (t) => {
    const { server, backend } = await start(t);
    const sql = postgres({
      host: '127.0.0.1',
      port: server.port,
      user: 'ada',
      max: 2,
      fetch_types: false,
      onnotice() {},
    });
    t.after(() => sql.end());
    const [row] = await sql.unsafe('echo $1, $2', ['left', 'right']);
    assert.deepEqual({ ...row }, { a: 'left', b: 'right' });
    await assert.rejects(sql.unsafe('fail'), sqlstate('23505'));
    await assert.rejects(sql.unsafe('fail', [], { prepare: true }), sqlstate('23505'));
    await sql.begin(async (inner) => {
      await inner.unsafe('select 1');
    });
    let seen = 0;
    for await (const rows of sql.unsafe('rows 250', [], { prepare: true }).cursor(100)) seen += rows.length;
    assert.equal(seen, 250);
    const lines: string[] = [];
    for await (const chunk of await sql.unsafe('copy 3 to stdout').readable()) lines.push(String(chunk));
    assert.equal(lines.join(''), '1\trow 1\n2\trow 2\n3\trow 3\n');
    await pipeline(Readable.from(['1\ta\n']), await sql.unsafe('copy t from stdin').writable());
    await until(() => backend.copied.length === 1, 'the copy arrived');
  });

  it('cancels a query', async (t) => {
    const { server, backend } = await start(t);
    const sql = postgres({ host: '127.0.0.1', port: server.port, user: 'ada', max: 1, fetch_types: false });
    t.after(() => sql.end());
    const query = sql.unsafe('wait');
    const failed = assert.rejects(query, sqlstate('57014'));
    await until(() => backend.waiting === 1, 'the statement runs');
    query.cancel();
    await failed;
    assert.equal((await sql.unsafe('select 3'))[0]['?column?'], 3);
  });
});

describe('authentication and encryption', () => {
  it('checks passwords with SCRAM', async (t) => {
    const auth = await scramAuth({ ada: 'pencil' });
    const { server } = await start(t, { auth });
    const client = await pgClient(t, server, { password: 'pencil' });
    assert.equal((await client.query('select 1')).rowCount, 1);
    const sql = postgres({
      host: '127.0.0.1',
      port: server.port,
      user: 'ada',
      password: 'pencil',
      fetch_types: false,
    });
    assert.equal((await sql.unsafe('select 1')).length, 1);
    await sql.end();
    await assert.rejects(pgClient(t, server, { password: 'pen' }), sqlstate('28P01'));
    await assert.rejects(pgClient(t, server, { user: 'bob', password: 'pencil' }), sqlstate('28P01'));
  });

  it('chooses the rule by the client’s address', async (t) => {
    const peers: string[] = [];
    const { server } = await start(t, {
      auth: (peer) => {
        peers.push(peer);
        return { kind: 'trust' };
      },
    });
    await pgClient(t, server);
    assert.deepEqual(peers, ['127.0.0.1']);
  });

  it('speaks TLS, and may insist on it', async (t) => {
    const files = certificate(t);
    const { server, backend } = await start(t, { tls: { ...files, required: true } });
    const client = await pgClient(t, server, { ssl: { ca: files.cert } });
    assert.equal((await client.query('rows 5000')).rowCount, 5000);
    assert.equal(backend.sessions[0].startup.tls, true);
    await assert.rejects(pgClient(t, server), sqlstate('28000'));
    const socket = await rawSocket(t, server);
    socket.write(send.untyped({ long: 80877103 }));
    const [answer] = await once(socket, 'data');
    assert.equal(String(answer), 'S');
    socket.write('no handshake at all');
    await once(socket, 'close');
    assert.equal((await client.query('select 1')).rowCount, 1);
  });
});

describe('the listener', () => {
  it('frees a session whose client was killed in the middle of a statement', async (t) => {
    const { server, backend } = await start(t);
    for (const [text, leave] of [
      ['wait', 'destroy'],
      ['wait', 'end'],
      ['wait', 'resetAndDestroy'],
      ['endless', 'resetAndDestroy'],
      ['endless', 'destroy'],
      ['copy changes to stdout', 'destroy'],
      ['copy t from stdin', 'destroy'],
    ] as const) {
      const socket = await rawSocket(t, server);
      const seen = backend.sessions.length;
      socket.write(Buffer.concat([send.startup(), send.query(text)]));
      await once(socket, 'data');
      await until(() => backend.sessions.length > seen, 'a session');
      socket[leave]();
      await until(() => backend.open.size === 0 && backend.results === 0, `${text} is freed after ${leave}`);
    }
  });

  it('does not run ahead of a client that does not read', async (t) => {
    const { server, backend } = await start(t);
    const socket = await rawSocket(t, server);
    socket.pause();
    socket.write(Buffer.concat([send.startup(), send.query('endless')]));
    await until(() => backend.pages > 0, 'the result starts');
    // Until the socket's buffers are full, and then not one page more.
    let pages = -1;
    let still = 0;
    await until(() => {
      still = pages === backend.pages ? still + 1 : 0;
      pages = backend.pages;
      return still > 100;
    }, 'the result stands still');
    socket.resume();
    await until(() => backend.pages > pages, 'the result goes on');
  });

  it('limits connections, yet lets a cancel request in', async (t) => {
    const { server, backend } = await start(t, { maxConnections: 1 });
    const sql = postgres({ host: '127.0.0.1', port: server.port, user: 'ada', max: 1, fetch_types: false });
    t.after(() => sql.end());
    const query = sql.unsafe('wait');
    const failed = assert.rejects(query, sqlstate('57014'));
    await until(() => backend.waiting === 1, 'the statement runs');
    await assert.rejects(pgClient(t, server), sqlstate('53300'));
    query.cancel();
    await failed;
    await sql.end();
    await until(() => backend.open.size === 0, 'the place is free');
    const next = await pgClient(t, server);
    assert.equal((await next.query('select 1')).rowCount, 1);
  });

  it('closes a connection that does not authenticate in time', async (t) => {
    const { server } = await start(t, { authenticationTimeoutMs: 1 });
    const socket = await rawSocket(t, server);
    const [answer] = await once(socket, 'data');
    assert.match(String(answer), /authentication due to timeout/);
    await once(socket, 'close');
  });

  it('says what is wrong with a port or an address', async (t) => {
    const { server } = await start(t);
    await assert.rejects(
      start(t, { port: server.port }),
      (error) =>
        error instanceof SqlError &&
        error.message === `could not listen on 127.0.0.1:${server.port}: the port is in use`,
    );
    await assert.rejects(start(t, { host: '192.0.2.1' }), /this machine does not have the address/);
  });

  it('ends every session when it closes', async (t) => {
    const { server, backend } = await start(t);
    const idle = await pgClient(t, server);
    const ended = new Promise<void>((resolve) => idle.once('end', () => resolve()));
    const busy = await pgClient(t, server);
    const failed = assert.rejects(busy.query('wait'), sqlstate('57P01'));
    await until(() => backend.waiting === 1, 'the statement runs');
    const closing = server.close();
    await failed;
    await ended;
    await closing;
    assert.equal(backend.open.size, 0);
    await server.close();
    const late = connect(server.port, '127.0.0.1');
    const [error] = await once(late, 'error');
    assert.equal((error as NodeJS.ErrnoException).code, 'ECONNREFUSED');
  });

  it('closes though a client neither reads nor closes', async (t) => {
    const { server, backend } = await start(t);
    const socket = await rawSocket(t, server);
    socket.pause();
    socket.write(Buffer.concat([send.startup(), send.query('endless')]));
    await until(() => backend.pages > 0, 'the result starts');
    await server.close();
    assert.equal(backend.open.size, 0);
  });
});
