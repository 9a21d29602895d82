/** Notices across connections to one data directory. What it cannot see: how late they are. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { silentLogger } from '../base/clock.ts';
import { MemoryBlob } from '../persist/blob.ts';
import { rows, SCHEMA } from '../persist/fixtures.ts';
import { Shards } from '../persist/shards.ts';
import { encodeChanges } from '../persist/state.ts';
import type { ShardNotice } from '../persist/watch.ts';
import { EMPTY } from '../time/timestamp.ts';
import { DirectoryWatch } from './directory-watch.ts';
import { nodeClock, nodeRandom, nodeTimers } from './node-clock.ts';
import { SqliteConsensus } from './sqlite-consensus.ts';

const fence = { generation: 1, exportId: 'u1' };

async function directory(t: TestContext): Promise<{ path: string; writer: Shards; watch: DirectoryWatch }> {
  const dir = await mkdtemp(join(tmpdir(), 'tidemark-'));
  const path = join(dir, 'consensus.db');
  const consensus = new SqliteConsensus(path);
  const blob = new MemoryBlob();
  const writer = new Shards({ blob, consensus, clock: nodeClock, timers: nodeTimers, random: nodeRandom });
  const watch = new DirectoryWatch({ path, timers: nodeTimers, logger: silentLogger });
  const stop = watch.follow();
  t.after(async () => {
    stop();
    await writer.close();
    consensus.close();
    await rm(dir, { recursive: true });
  });
  return { path, writer, watch };
}

/** Notices of a shard as they come. */
function notices(watch: DirectoryWatch, shardId: string) {
  const got: ShardNotice[] = [];
  let wake: () => void = () => undefined;
  const end = watch.subscribe(shardId, (n) => {
    got.push(n);
    wake();
  });
  const until = async (done: (last: ShardNotice) => boolean): Promise<ShardNotice> => {
    for (;;) {
      const last = got.at(-1);
      if (last !== undefined && done(last)) return last;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };
  return { got, end, until };
}

test('a listener hears of what another connection appends, with its upper, and of nothing twice', async (t) => {
  const { writer, watch } = await directory(t);
  const shard = await writer.create('u1', { schema: SCHEMA, since: 0, fence });
  const other = await writer.create('u2', { schema: SCHEMA, since: 0, fence });
  const { got, end, until } = notices(watch, 'u1');
  for (let upper = 1; upper <= 3; upper++) {
    await other.compareAndAppend(fence, { expectedUpper: upper - 1, newUpper: upper });
    await shard.compareAndAppend(fence, {
      updates: [rows([[1, upper - 1, 1]])],
      expectedUpper: upper - 1,
      newUpper: upper,
    });
    const n = await until((last) => last.upper === upper);
    assert.deepEqual(n, { shardId: 'u1', seqno: shard.info().seqno, upper });
  }
  // A change that leaves the upper alone tells the old one.
  const hold = await shard.hold();
  assert.equal((await until((n) => n.seqno === shard.info().seqno)).upper, 3);
  await hold.release();
  await until((n) => n.seqno === shard.info().seqno);
  assert.equal(new Set(got.map((n) => n.seqno)).size, got.length, 'each entry is told once');
  end();
  const count = got.length;
  const { until: untilOther } = notices(watch, 'u2');
  await shard.compareAndAppend(fence, { expectedUpper: 3, newUpper: 4 });
  await other.compareAndAppend(fence, { expectedUpper: 3, newUpper: EMPTY });
  await untilOther((n) => n.upper === EMPTY);
  assert.equal(got.length, count, 'nothing comes after the end of a subscription');
});

test('what this process publishes is told at once, and not again when it is found in the file', async (t) => {
  const { writer, watch } = await directory(t);
  const shard = await writer.create('u1', { schema: SCHEMA, since: 0, fence });
  const { got, until } = notices(watch, 'u1');
  await until(() => true);
  await shard.compareAndAppend(fence, { expectedUpper: 0, newUpper: 7 });
  watch.publish([{ shardId: 'u1', seqno: shard.info().seqno, upper: 7 }]);
  const told = got.filter((n) => n.upper === 7);
  assert.equal(told.length, 1);
  const { until: untilOther } = notices(watch, 'u2');
  await writer.create('u2', { schema: SCHEMA, since: 0, fence });
  await untilOther(() => true);
  assert.equal(got.filter((n) => n.upper === 7).length, 1, 'the file was looked at, and said nothing new');
});

test('a shard that is removed elsewhere wakes its listeners, once', async (t) => {
  const { writer, watch } = await directory(t);
  await writer.create('u1', { schema: SCHEMA, since: 0, fence });
  const { got, until } = notices(watch, 'u1');
  await until((n) => n.seqno === 1);
  await writer.remove('u1');
  await until((n) => n.upper === EMPTY);
  const { until: untilOther } = notices(watch, 'u2');
  await writer.create('u2', { schema: SCHEMA, since: 0, fence });
  await untilOther(() => true);
  assert.equal(got.filter((n) => n.upper === EMPTY).length, 1);
});

test('a reader sees what another connection appends long before its poll', async (t) => {
  const { path, writer, watch } = await directory(t);
  await writer.create('u1', { schema: SCHEMA, since: 0, fence });
  const consensus = new SqliteConsensus(path);
  const reader = new Shards({
    ...{ blob: new MemoryBlob(), consensus, watch },
    ...{ clock: nodeClock, timers: nodeTimers, random: nodeRandom },
    // A poll would come after the test's end: only a notice can answer.
    pollMs: 2 ** 30,
  });
  t.after(async () => {
    await reader.close();
    consensus.close();
  });
  const waiting = (await reader.open('u1'))!.waitForUpper(41);
  const worker = new Worker(
    `const { DatabaseSync } = require('node:sqlite');
     const { workerData: { path, value } } = require('node:worker_threads');
     const db = new DatabaseSync(path);
     db.exec('PRAGMA busy_timeout = 10000');
     db.prepare('INSERT INTO entries VALUES (?, 2, ?)').run('shard/u1', value);
     db.close();`,
    { eval: true, workerData: { path, value: encodeChanges([{ op: 'upper', upper: 42 }], 'elsewhere') } },
  );
  const [upper] = await Promise.all([waiting, once(worker, 'exit')]);
  assert.equal(upper, 42);
});
