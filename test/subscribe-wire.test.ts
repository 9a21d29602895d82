/** SUBSCRIBE through the door that users take: rows as they come, COPY, cursors, cancelling, leaving; and the library's iterator. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import pg from 'pg';
import { to as copyTo } from 'pg-copy-streams';
import Cursor from 'pg-cursor';
import { open } from '../packages/tidemark/src/index.ts';
import { send } from '../packages/tidemark/src/pgwire/wire-client.fixture.ts';
import { errorOf, rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();
const admin = await db.client();

const subscriptions = async (): Promise<number> =>
  (await rowsOf(admin, 'SELECT id FROM mz_internal.mz_subscriptions')).length;

/** Until every subscribe is gone. */
async function allGone(): Promise<void> {
  while ((await subscriptions()) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
}

interface Change {
  readonly mz_timestamp: string;
  readonly mz_diff: string;
  readonly a: number;
}

/** With an end in the near future; in a farther one where the statement comes too late for it. */
async function withEnd<T>(run: (upTo: string) => Promise<T>): Promise<T> {
  for (let ms = 1500; ; ms *= 2)
    try {
      return await run(`UP TO ${Date.now() + ms}`);
    } catch (e) {
      if (!/is before AS OF/.test((e as Error).message)) throw e;
    }
}

describe('SUBSCRIBE over the wire', () => {
  it('sends rows as they come, with types that clients know, and ends when cancelled', async () => {
    await admin.query('CREATE TABLE plain (a int); INSERT INTO plain VALUES (1)');
    const c = await db.client();
    const query = new pg.Query<Change, []>('SUBSCRIBE plain');
    const ended = new Promise<Error | undefined>((resolve) => {
      query.on('error', resolve);
      query.on('end', () => resolve(undefined));
    });
    const rows: Change[] = [];
    let wake = (): void => undefined;
    query.on('row', (row) => {
      rows.push(row as Change);
      wake();
    });
    c.query(query);
    const until = async (n: number): Promise<void> => {
      while (rows.length < n) await new Promise<void>((resolve) => (wake = resolve));
    };
    await until(1);
    await admin.query('INSERT INTO plain VALUES (2)');
    await until(2);
    await admin.query('DELETE FROM plain WHERE a = 1');
    await until(3);
    assert.deepEqual(
      rows.map((r) => [r.a, r.mz_diff]),
      [
        [1, '1'],
        [2, '1'],
        [1, '-1'],
      ],
    );
    assert.match(rows[0]!.mz_timestamp, /^\d{13}$/);
    const [pid] = (
      await rowsOf(admin, 'SELECT id, referenced_object_ids FROM mz_internal.mz_subscriptions')
    )[0]!;
    assert.match(String(pid), /^t\d+$/);
    const { processID, secretKey } = c as unknown as { processID: number; secretKey: number };
    const cancel = connect(db.port, '127.0.0.1');
    await once(cancel, 'connect');
    const secret = Buffer.alloc(4);
    secret.writeInt32BE(secretKey);
    cancel.end(send.cancel(processID, secret));
    assert.equal(((await ended) as pg.DatabaseError).code, '57014');
    assert.deepEqual(await rowsOf(c, 'SELECT a FROM plain'), [[2]]);
    await allGone();
  });

  it('describes its columns', async () => {
    await admin.query('CREATE TABLE described (k int, v text)');
    const { fields } = await withEnd((upTo) => admin.query(`SUBSCRIBE described WITH (PROGRESS) ${upTo}`));
    assert.deepEqual(
      fields.map((f) => `${f.name} ${f.dataTypeID}`),
      ['mz_timestamp 1700', 'mz_progressed 16', 'mz_diff 20', 'k 23', 'v 25'],
    );
  });

  it('streams as COPY', async () => {
    await admin.query(
      "CREATE TABLE copied (a int, b text); INSERT INTO copied VALUES (1, E'x\\ty\\\\'), (2, NULL)",
    );
    const c = await db.client();
    const text = await withEnd(async (upTo) => {
      let all = '';
      for await (const chunk of c.query(copyTo(`COPY (SUBSCRIBE copied ${upTo}) TO STDOUT`)))
        all += String(chunk);
      return all;
    });
    const lines = text.split('\n').map((l) => l.replace(/^\d{13}/, 'T'));
    assert.deepEqual(lines.sort(), ['', 'T\t1\t1\tx\\ty\\\\', 'T\t1\t2\t\\N']);
    const error = await errorOf(c.query('COPY (SUBSCRIBE copied) TO STDOUT WITH (FORMAT binary)'));
    assert.equal(error.code, '0A000');
    await allGone();
  });

  it('is read by cursors of SQL', async () => {
    await admin.query('CREATE TABLE fetched (a int); INSERT INTO fetched VALUES (1), (2)');
    const c = await db.client();
    await c.query('BEGIN; DECLARE c CURSOR FOR SUBSCRIBE fetched');
    assert.equal((await c.query('FETCH 1 c')).rows.length, 1);
    assert.equal((await c.query('FETCH ALL c')).rows.length, 1);
    const waiting = c.query("FETCH 1 c WITH (timeout = '120s')");
    await admin.query('INSERT INTO fetched VALUES (3)');
    const { rows } = (await waiting) as pg.QueryResult<Change>;
    assert.deepEqual(
      rows.map((r) => r.a),
      [3],
    );
    assert.deepEqual((await c.query("FETCH ALL c WITH (timeout = '0s')")).rows, []);
    await c.query('COMMIT');
    await allGone();
  });

  it('is read by cursors of the protocol, and ends when they are closed', async () => {
    await admin.query('CREATE TABLE portal (a int); INSERT INTO portal VALUES (1), (2), (3)');
    const c = await db.client();
    const cursor = c.query(new Cursor<Change>('SUBSCRIBE portal'));
    assert.equal((await cursor.read(2)).length, 2);
    assert.equal((await cursor.read(1)).length, 1);
    const next = cursor.read(1);
    await admin.query('INSERT INTO portal VALUES (4)');
    assert.deepEqual(
      (await next).map((r) => r.a),
      [4],
    );
    await cursor.close();
    assert.deepEqual(await rowsOf(c, 'SELECT 1'), [[1]]);
    await allGone();
  });

  it('tells why it ends', async () => {
    await admin.query('CREATE TABLE gone (a int)');
    const c = await db.client();
    const error = errorOf(c.query('SUBSCRIBE gone'));
    while ((await subscriptions()) === 0);
    await admin.query('DROP TABLE gone');
    assert.equal((await error).code, '42P01');
    assert.equal((await errorOf(c.query('SUBSCRIBE gone'))).code, '42P01');
    assert.equal((await errorOf(c.query('SUBSCRIBE plain ENVELOPE UPSERT (KEY (z))'))).code, '42703');
    await c.query("SET statement_timeout = '200ms'");
    assert.equal((await errorOf(c.query('SUBSCRIBE plain'))).code, '57014');
    await allGone();
  });

  // Nothing is written: the socket itself has to tell.
  it('I13: is gone when the socket of a quiet one is cut', async () => {
    await admin.query('CREATE TABLE quiet (a int)');
    const c = new pg.Client({ host: '127.0.0.1', port: db.port, user: 'ada', database: 'tidemark' });
    c.on('error', () => undefined);
    await c.connect();
    c.query('SUBSCRIBE quiet').catch(() => undefined);
    while ((await subscriptions()) === 0);
    (c as unknown as { connection: { stream: { destroy(): void } } }).connection.stream.destroy();
    await allGone();
  });
});

describe('subscribe of the library', () => {
  it('iterates, and ends when the loop is left, when its signal aborts, and with an error', async () => {
    const lib = await open({ memory: true, workers: 'inline' });
    await lib.exec("CREATE TABLE t (a int, b text); INSERT INTO t VALUES (1, 'x')");
    const seen: unknown[] = [];
    for await (const row of lib.subscribe('SUBSCRIBE t')) {
      assert.equal(typeof row['mz_timestamp'], 'number');
      seen.push([row['mz_diff'], row['a'], row['b']]);
      if (seen.length === 1) await lib.exec("UPDATE t SET b = 'y'");
      if (seen.length === 3) break;
    }
    assert.deepEqual(seen.slice(1).sort(), [
      [-1, 1, 'x'],
      [1, 1, 'y'],
    ]);
    const abort = new AbortController();
    let rows = 0;
    for await (const row of lib.subscribe('SUBSCRIBE t WITH (PROGRESS)', { signal: abort.signal })) {
      rows++;
      if (row['mz_progressed'] === false) abort.abort();
    }
    assert.ok(rows >= 2);
    await assert.rejects(lib.subscribe('SELECT 1').next(), { code: 'wrong_object_type' });
    await assert.rejects(lib.query('SUBSCRIBE t'), { code: 'feature_not_supported' });
    const failing = lib.subscribe('SUBSCRIBE (SELECT 1 / (a - 1) FROM t)');
    await assert.rejects(failing.next(), { code: 'division_by_zero' });
    await lib.close();
    assert.equal((await lib.subscribe('SUBSCRIBE t').next()).done, true);
  });
});
