/** The contract suites over this machine's stores, and what only they can get wrong. */
import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import type { SqlError } from '../base/error.ts';
import { blobContract } from '../persist/blob.contract.ts';
import { consensusContract } from '../persist/consensus.contract.ts';
import { ints, SCHEMA, texts } from '../persist/fixtures.ts';
import { decodePart, encodePart, encodePartSoon } from '../persist/part.ts';
import { DiskBlob } from './disk-blob.ts';
import { ioError } from './io-error.ts';
import { nodePartCodec } from './part-codec.ts';
import { SqliteConsensus, sqliteError } from './sqlite-consensus.ts';

const temp = () => mkdtemp(join(tmpdir(), 'tidemark-'));
const gone = (path: string) => rm(path, { recursive: true, force: true });

blobContract('disk blob', async () => {
  const path = await temp();
  return { blob: new DiskBlob(path), end: () => gone(path) };
});

consensusContract('sqlite consensus', async () => {
  const path = await temp();
  const consensus = new SqliteConsensus(join(path, 'consensus.db'));
  return {
    consensus,
    end: () => {
      consensus.close();
      return gone(path);
    },
  };
});

test('two connections to one consensus file agree', async () => {
  const path = await temp();
  const [a, b] = [new SqliteConsensus(join(path, 'c.db')), new SqliteConsensus(join(path, 'c.db'))];
  const value = new Uint8Array([1]);
  const results = await Promise.all(
    [a, b, a, b].map((c) => c.compareAndSet([{ key: 'k', expected: null, value }], 'each')),
  );
  assert.equal(results.flat().filter((r) => r.applied).length, 1);
  assert.equal((await b.head('k'))!.seqno, 1);
  a.close();
  b.close();
  await gone(path);
});

test('what an interrupted write left is not a blob, and is cleaned', async () => {
  const path = await temp();
  await mkdir(join(path, 'u1'));
  await mkdir(join(path, 'u2'));
  await writeFile(join(path, 'u1', 'k.1-0.tmp'), 'half');
  const blob = new DiskBlob(path);
  await blob.put('u1/k', new Uint8Array([1]));
  assert.deepEqual(await blob.list(''), ['u1/k']);
  await blob.clean();
  assert.deepEqual(await readdir(join(path, 'u1')), ['k']);
  assert.deepEqual(await readdir(path), ['u1']);
  await gone(path);
});

test('a full or failing disk is said to be one', async () => {
  const blob = new DiskBlob('/dev/full');
  await assert.rejects(blob.put('u1/k', new Uint8Array([1])), (e: SqlError) => e.code === 'io_error');
  const path = await temp();
  await writeFile(join(path, 'u1'), 'not a directory');
  await assert.rejects(
    new DiskBlob(path).get('u1/k'),
    (e: SqlError) => e.code === 'io_error' && e.message === 'part u1/k could not be read',
  );
  await writeFile(join(path, 'c.db'), 'this is not a database, it only has its name, and is long enough');
  assert.equal(ioError('x', Object.assign(new Error(), { code: 'ENOSPC' })).code, 'disk_full');
  assert.equal(sqliteError('x', Object.assign(new Error(), { errcode: 13 })).code, 'disk_full');
  assert.equal(sqliteError('x', Object.assign(new Error(), { errcode: 778 })).code, 'io_error');
  assert.throws(
    () => new SqliteConsensus(join(path, 'c.db')),
    (e: SqlError) => e.code === 'data_corrupted',
  );
  await gone(path);
});

test('a compressed part reads as the same updates, and its checksum is the same in native code', () => {
  const n = 5000;
  const oks = ints(Array.from({ length: n }, (_, i) => [i % 10, 3, 1] as const));
  const u = { oks, errs: texts([['e', 3, 1]]) };
  const plain = encodePart(u);
  const packed = encodePart(u, nodePartCodec);
  assert.ok(packed.length * 3 < plain.length);
  assert.deepEqual(decodePart(packed, 'p', SCHEMA, nodePartCodec), decodePart(plain, 'p', SCHEMA));
  assert.deepEqual(decodePart(plain.slice(), 'p', SCHEMA, nodePartCodec).oks.length, n);
  packed[packed.length >> 1]! ^= 1;
  assert.throws(() => decodePart(packed, 'p', SCHEMA, nodePartCodec), /part p is corrupt/);
});

test('a part compressed off the thread reads as the same updates, small or large', async () => {
  for (const n of [1, 5000, 60_000]) {
    const oks = ints(Array.from({ length: n }, (_, i) => [(i * 7919) % 1000, 3 + (i % 5), 1] as const));
    const u = { oks, errs: texts([['e', 3, 1]]) };
    const packed = await encodePartSoon(u, nodePartCodec);
    assert.ok(n === 1 || packed.length * 2 < encodePart(u).length);
    assert.deepEqual(decodePart(packed, 'p', SCHEMA, nodePartCodec), decodePart(encodePart(u), 'p', SCHEMA));
  }
});
