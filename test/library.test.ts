/** The library as a user embeds it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Database, open, type SqlError } from '../packages/tidemark/src/index.ts';

async function withDatabase(f: (db: Database) => Promise<void>): Promise<void> {
  const db = await open({ memory: true, workers: 'inline' });
  try {
    await f(db);
  } finally {
    await db.close();
  }
}

test('values come back as JavaScript has them, and as text where it has none that is exact', () =>
  withDatabase(async (db) => {
    const { rows, fields, command } = await db.query(
      `SELECT 1 AS i, 9007199254740993 AS b, 1.50 AS n, true AS t, 'x' AS s, ARRAY[1, NULL] AS a,
              '{"k": [1]}'::jsonb AS j, '2026-01-02 03:04:05.678901+00'::timestamptz AS ts, NULL::int AS z, 0.5::float8 AS f`,
    );
    assert.equal(command, 'SELECT 1');
    assert.deepEqual(rows, [
      {
        i: 1,
        b: 9007199254740993n,
        n: '1.50',
        t: true,
        s: 'x',
        a: [1, null],
        j: { k: [1] },
        ts: '2026-01-02 03:04:05.678901+00',
        z: null,
        f: 0.5,
      },
    ]);
    assert.equal(fields.find((f) => f.name === 'n')?.type, 'numeric');
  }));

test('columns that share a name are all there by position', () =>
  withDatabase(async (db) => {
    const { values, fields } = await db.query('SELECT 1, 2, 3 AS a');
    assert.deepEqual(values, [[1, 2, 3]]);
    assert.deepEqual(
      fields.map((f) => f.name),
      ['?column?', '?column?', 'a'],
    );
  }));

test('parameters take JavaScript values of every kind', () =>
  withDatabase(async (db) => {
    await db.exec('CREATE TABLE t (i int, s text, j jsonb, ts timestamptz, b bool, a int[], x bytea)');
    const when = new Date('2026-11-29T01:02:03.004Z');
    await db.query('INSERT INTO t VALUES ($1, $2, $3, $4, $5, $6, $7)', [
      7,
      "it's",
      { a: 1 },
      when,
      false,
      [1, null, 3],
      new Uint8Array([0, 255]),
    ]);
    const { rows } = await db.query('SELECT * FROM t WHERE i = $1 AND s = $2', [7n, "it's"]);
    assert.deepEqual(rows, [
      {
        i: 7,
        s: "it's",
        j: { a: 1 },
        ts: '2026-11-29 01:02:03.004+00',
        b: false,
        a: [1, null, 3],
        x: new Uint8Array([0, 255]),
      },
    ]);
  }));

test('exec runs several statements and gives the last result; query refuses more than one', () =>
  withDatabase(async (db) => {
    const last = await db.exec(
      'CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); SELECT sum(a) AS s FROM t',
    );
    assert.deepEqual(last.rows, [{ s: 3n }]);
    await assert.rejects(db.query('SELECT 1; SELECT 2'), (e: SqlError) => e.sqlstate === '42601');
    await assert.rejects(db.query('SELECT $1::int', []), (e: SqlError) => e.sqlstate === '42P02');
  }));

test('an error leaves the database usable, and a failed statement changes nothing', () =>
  withDatabase(async (db) => {
    await db.exec('CREATE TABLE t (a int NOT NULL)');
    await assert.rejects(
      db.query('INSERT INTO t VALUES (1), (NULL)'),
      (e: SqlError) => e.sqlstate === '23502',
    );
    assert.deepEqual((await db.query('SELECT count(*) AS n FROM t')).rows, [{ n: 0n }]);
  }));

test('ready resolves when all is hydrated, and does not wait for a cluster without replicas', () =>
  withDatabase(async (db) => {
    await db.ready();
    await db.exec('CREATE TABLE t (a int); CREATE MATERIALIZED VIEW fine AS SELECT a FROM t');
    await db.ready({ timeoutMs: 120_000 });
    await db.exec('CREATE CLUSTER empty REPLICAS (); CREATE INDEX late IN CLUSTER empty ON t (a)');
    await db.ready({ cluster: 'empty', timeoutMs: 120_000 });
    await assert.rejects(db.ready({ cluster: 'nope' }), (e: SqlError) => e.sqlstate === '42704');
  }));

test('lifecycle gives past events first, then new ones, each transition once and in order', () =>
  withDatabase(async (db) => {
    await db.exec('CREATE TABLE t (a int); CREATE MATERIALIZED VIEW one AS SELECT a FROM t');
    await db.ready();
    await db.query('SELECT * FROM one');
    const seen: string[] = [];
    const reading = (async () => {
      for await (const e of db.lifecycle()) seen.push(`${e.objectId} ${e.event} ${e.worker}`);
    })();
    await db.exec('CREATE INDEX two ON t (a)');
    await db.ready();
    await db.query('SELECT * FROM t');
    await db.close();
    await reading;
    assert.deepEqual(seen, [
      'u2 installed 0',
      'u2 started 0',
      'u2 hydrated 0',
      'u2 written 0',
      'u3 installed 0',
      'u3 started 0',
      'u3 hydrated 0',
    ]);
  }));

test('open wants one place for the data, and a closed database says so', async () => {
  await assert.rejects(open(), (e: SqlError) => e.sqlstate === '22023');
  await assert.rejects(open({ memory: true, dataDir: 'x' }), (e: SqlError) => e.sqlstate === '22023');
  const db = await open({ memory: true, workers: 'inline' });
  await db.close();
  await db.close();
  await assert.rejects(db.query('SELECT 1'), (e: SqlError) => e.sqlstate === '57P01');
  await assert.rejects(db.ready(), (e: SqlError) => e.sqlstate === '57P01');
});

test('what query and ready cannot do is refused by its name', () =>
  withDatabase(async (db) => {
    await db.exec('CREATE TABLE t (a int)');
    await assert.rejects(db.query('COPY t TO STDOUT'), /^SqlError: COPY … TO STDOUT in query/);
    await assert.rejects(db.query('SUBSCRIBE t'), /^SqlError: SUBSCRIBE in query/);
    for (const options of [{ timeoutMs: -1 }, { stableForMs: Number.NaN }, { maxLagMs: '1s' as never }])
      await assert.rejects(db.ready(options), (e: SqlError) => e.sqlstate === '22023');
  }));
