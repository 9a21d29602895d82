import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { DatabaseSync } from 'node:sqlite';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import type { SqlError } from '../base/error.ts';
import { accumulate, readAll, realTimers } from '../persist/fixtures.ts';
import { Shards } from '../persist/shards.ts';
import { DataDir, FORMAT_VERSION } from './data-dir.ts';
import { nodePartCodec } from './part-codec.ts';

const temp = () => mkdtemp(join(tmpdir(), 'tidemark-'));
const gone = (path: string) => rm(path, { recursive: true, force: true });

test('a start is counted, a generation is kept', async () => {
  const path = await temp();
  for (const start of [1, 2, 3]) {
    const dir = await DataDir.open(path);
    assert.deepEqual(dir.epoch, { generation: 1, start });
    dir.close();
  }
  await gone(path);
});

test('a second writer is refused and told who holds the directory; a reader is not', async () => {
  const path = await temp();
  const dir = await DataDir.open(path);
  await assert.rejects(
    DataDir.open(path),
    (e: SqlError) =>
      e.code === 'object_in_use' && e.message.includes(`process ${process.pid} on ${hostname()}`),
  );
  const reader = await DataDir.open(path, { readOnly: true });
  assert.deepEqual([reader.epoch, reader.writable], [{ generation: 1, start: 1 }, false]);
  dir.close();
  reader.close();
  await gone(path);
});

test('a promotion waits for no lock: what the old writer holds is of a generation that is over', async () => {
  const path = await temp();
  const old = await DataDir.open(path);
  const [one, other] = [
    await DataDir.open(path, { readOnly: true }),
    await DataDir.open(path, { readOnly: true }),
  ];
  assert.deepEqual(await one.promote(), { generation: 2, start: 1 });
  assert.deepEqual(await one.promote(), { generation: 2, start: 1 }, 'twice is once');
  await assert.rejects(other.promote(), (e: SqlError) => e.code === 'object_in_use');
  await assert.rejects(DataDir.open(path), (e: SqlError) => e.code === 'object_in_use');
  one.close();
  await assert.rejects(other.promote(), /another process was promoted to generation 2/);
  const next = await DataDir.open(path);
  assert.deepEqual(next.epoch, { generation: 2, start: 2 }, 'a start keeps the generation');
  assert.deepEqual(
    (await readdir(path)).filter((f) => /^lock.*db$/.test(f)),
    ['lock-2.db'],
    'locks of generations that are over are gone',
  );
  for (const dir of [old, other, next]) dir.close();
  await gone(path);
});

test('a writer that stopped in the middle of a transaction is named, and the promotion tried again when it is gone', async () => {
  const path = await temp();
  const old = await DataDir.open(path);
  const hanging = new DatabaseSync(join(path, 'consensus.db'));
  hanging.exec('BEGIN IMMEDIATE');
  const candidate = await DataDir.open(path, { readOnly: true, busyMs: 20 });
  await assert.rejects(candidate.promote(), (e: SqlError) =>
    /held by process \d+ on .* stopped in the middle of a write/.test(e.message),
  );
  hanging.close();
  assert.deepEqual(await candidate.promote(), { generation: 2, start: 1 });
  old.close();
  candidate.close();
  await gone(path);
});

test('of two promotions at once one succeeds', async () => {
  const path = await temp();
  (await DataDir.open(path)).close();
  const dirs = [await DataDir.open(path, { readOnly: true }), await DataDir.open(path, { readOnly: true })];
  const results = await Promise.allSettled(dirs.map((d) => d.promote()));
  assert.deepEqual(results.map((r) => r.status).sort(), ['fulfilled', 'rejected']);
  for (const d of dirs) d.close();
  await gone(path);
});

test('a newer format and a stranger are refused', async () => {
  const path = await temp();
  await writeFile(join(path, 'notes.txt'), 'mine');
  await assert.rejects(DataDir.open(path), (e: SqlError) => e.code === 'undefined_file');
  await assert.rejects(DataDir.open(path, { readOnly: true }), /is not a data directory/);
  await rm(join(path, 'notes.txt'));
  (await DataDir.open(path)).close();
  const format = join(path, 'FORMAT');
  assert.equal(await readFile(format, 'utf8'), `tidemark data directory, format ${FORMAT_VERSION}\n`);
  await writeFile(format, 'tidemark data directory, format 99\n');
  await assert.rejects(DataDir.open(path), (e: SqlError) => /format 99.*up to 1/.test(e.message));
  await gone(path);
});

const CHILD = fileURLToPath(new URL('./kill-child.fixture.ts', import.meta.url));

interface Writer {
  readonly child: ChildProcess;
  /** The greatest time that was acknowledged. */
  acknowledged: number;
  readonly exited: Promise<unknown>;
}

async function startWriter(path: string, atLeast: number): Promise<Writer> {
  const child = spawn(process.execPath, [CHILD, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  const writer: Writer = { child, acknowledged: -1, exited: once(child, 'exit') };
  const reached = Promise.withResolvers<void>();
  createInterface({ input: child.stdout! }).on('line', (line) => {
    writer.acknowledged = Number(line);
    if (writer.acknowledged >= atLeast) reached.resolve();
  });
  await Promise.race([reached.promise, writer.exited]);
  return writer;
}

test('kill -9: what was acknowledged is there once, the directory opens, garbage goes', async () => {
  const path = await temp();
  let from = 0;
  for (let round = 0; round < 3; round++) {
    const writer = await startWriter(path, from + 300);
    await assert.rejects(DataDir.open(path), (e: SqlError) =>
      e.message.includes(`process ${writer.child.pid} `),
    );
    writer.child.kill('SIGKILL');
    await writer.exited;
    const { acknowledged } = writer;
    assert.ok(acknowledged >= from + 300, `round ${round} acknowledged ${acknowledged}`);
    const dir = await DataDir.open(path);
    const shards = new Shards({
      blob: dir.blob,
      consensus: dir.consensus,
      clock: { nowMs: () => Date.now(), monotonicNs: () => performance.now() * 1e6 },
      timers: realTimers,
      random: { next: Math.random, bytes: (n) => crypto.getRandomValues(new Uint8Array(n)) },
      codec: nodePartCodec,
    });
    const shard = (await shards.open('u1'))!;
    const upper = shard.upper;
    assert.ok(upper > acknowledged, `the upper ${upper} has passed ${acknowledged}`);
    const listing = await shard.snapshot(upper - 1);
    const sum = accumulate(await readAll(shards, listing.parts));
    assert.deepEqual(sum, new Map(Array.from({ length: upper }, (_, t) => [t, 1])));
    listing.release();
    await shard.collectGarbage(0);
    const named = new Set(shard.info().batches.flatMap((b) => b.parts.flatMap((p) => p.key ?? [])));
    assert.deepEqual(new Set(await dir.blob.list('')), named);
    for (const key of named) assert.ok((await stat(join(path, 'parts', key))).size > 0);
    await shards.close();
    dir.close();
    from = upper;
  }
  await gone(path);
});
