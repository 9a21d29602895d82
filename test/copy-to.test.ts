/** COPY … TO: the rows of a query to the client, or to a file that a replica writes. */
import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { after, before, test } from 'node:test';
import type pg from 'pg';
import copyStreams from 'pg-copy-streams';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';
import { wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();
let client: pg.Client;
let dir: string;

before(async () => {
  client = await db.client();
  dir = await mkdtemp(join(tmpdir(), 'tidemark-copy-'));
  await client.query(`CREATE TABLE t (a int, b text);
    INSERT INTO t VALUES (1, 'plain'), (2, E'tab\\tand\\nline'), (3, 'quo"te, comma'), (4, NULL), (5, ''), (5, ''), (6, E'back\\\\slash')`);
});
after(() => rm(dir, { recursive: true }));

const out = (sql: string): Promise<string> =>
  text(Readable.from(client.query(copyStreams.to(sql)) as AsyncIterable<Buffer>));
const refused = async (sql: string): Promise<string> => {
  const e = await client.query(sql).then(
    () => assert.fail(`${sql} is refused`),
    (error: { code: string; message: string }) => error,
  );
  return `${e.code} ${e.message}`;
};

const CSV = '1,plain\n2,"tab\tand\nline"\n3,"quo""te, comma"\n4,\n5,""\n5,""\n6,back\\slash\n';
const TEXT = '1\tplain\n2\ttab\\tand\\nline\n3\tquo"te, comma\n4\t\\N\n5\t\n5\t\n6\tback\\\\slash\n';

test('to the client, as text and as CSV', async () => {
  assert.equal(await out('COPY (SELECT * FROM t ORDER BY a) TO STDOUT'), TEXT);
  assert.equal(await out('COPY (SELECT * FROM t ORDER BY a) TO STDOUT (FORMAT CSV)'), CSV);
  assert.equal(
    await out(
      `COPY (SELECT a, b FROM t WHERE a IN (1, 4)) TO STDOUT (FORMAT CSV, HEADER, DELIMITER '|', NULL 'none')`,
    ),
    'a|b\n1|plain\n4|none\n',
  );
  const table = await out('COPY t (b) TO STDOUT');
  assert.equal(table.split('\n').length, 8);
});

test('to a file, which is there when it is whole', async () => {
  const path = join(dir, 'rows.csv');
  const r = await client.query(`COPY (SELECT * FROM t ORDER BY a) TO '${path}' (FORMAT CSV)`);
  assert.equal(r.rowCount, 7);
  assert.equal(await readFile(path, 'utf8'), CSV);
  await writeFile(join(dir, 'old'), 'kept until the new one is whole');
  await client.query(`COPY (SELECT a FROM t ORDER BY a DESC LIMIT 2) TO '${join(dir, 'old')}'`);
  assert.equal(await readFile(join(dir, 'old'), 'utf8'), '6\n5\n');
  await client.query(`COPY (SELECT 1, 'constant' AS c) TO '${join(dir, 'constant')}' (FORMAT CSV, HEADER)`);
  assert.equal(await readFile(join(dir, 'constant'), 'utf8'), '?column?,c\n1,constant\n');
  assert.deepEqual((await readdir(dir)).sort(), ['constant', 'old', 'rows.csv']);
});

test('an error in what is copied, a path that cannot be, or a URL: no file, and a word about it', async () => {
  assert.match(await refused(`COPY (SELECT 1 / (a - 1) FROM t) TO '${dir}/x'`), /^22012 division by zero/);
  assert.match(
    await refused(`COPY t TO '${dir}/missing/x'`),
    /^58P01 could not open file .* for writing: no such directory/,
  );
  assert.match(await refused(`COPY t TO 'relative'`), /^22023 .*absolute path/);
  assert.match(await refused(`COPY t TO 's3://bucket/x'`), /^0A000 .*URL \(s3\)/);
  assert.match(await refused(`COPY t TO STDOUT (FORMAT binary)`), /^0A000 /);
  assert.match(await refused(`COPY t TO STDOUT (DELIMITER 'ab')`), /^22023 /);
  assert.match(await refused('COPY t FROM STDIN'), /^0A000 /);
  assert.deepEqual(
    (await readdir(dir)).filter((f) => f.includes('x')),
    [],
  );
});

for (const workers of [1, 2, 4])
  test(`a copy is installed and started, nothing more, and leaves nothing, on ${workers} workers`, async () => {
    const stages: string[] = [];
    const t = await openTest({ workers });
    await t.exec('CREATE TABLE u (a int); INSERT INTO u SELECT * FROM generate_series(1, 500)');
    t.env.clusters.onLifecycle((e) => e.objectId.startsWith('t') && stages.push(`${e.worker} ${e.stage}`));
    const path = join(dir, `copied-${workers}`);
    const begun = t.time.nowMs();
    await t.exec(`COPY (SELECT a % 10, count(*) FROM u GROUP BY 1) TO '${path}'`);
    assert.ok(t.time.nowMs() - begun < 1000, 'time does not leap while the disk works');
    const expected = Array.from({ length: workers }, (_, w) => [`${w} installed`, `${w} started`]).flat();
    assert.deepEqual(stages.sort(), expected);
    assert.equal((await readFile(path, 'utf8')).split('\n').length, 11);
    const release = t.holdReads('u');
    const held = t.start(`COPY u TO '${path}.held'`);
    await t.advance(1000);
    held.cancel();
    await assert.rejects(held.result(), /cancel/);
    const lost = t.start(`COPY u TO '${path}.held'`);
    await t.advance(1000);
    await t.crash();
    await assert.rejects(lost.result(), /lost/);
    release();
    await t.connected();
    await t.advance(2000);
    assert.deepEqual(
      (await readdir(dir)).filter((f) => f.includes('held')),
      [],
    );
    await t.exec('DROP TABLE u');
    await t.assertNothingLeft();
    await t.close();
  });
