import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { SqlError } from '../base/error.ts';
import { SeededRandom } from '../testkit/random.ts';
import { EMPTY } from '../time/timestamp.ts';
import { MemoryBlob } from './blob.ts';
import { MemoryConsensus } from './consensus.ts';
import {
  accumulate,
  FENCE,
  memoryShards,
  readAll,
  realTimers,
  rows,
  SCHEMA,
  TestClock,
  texts,
  type Update,
} from './fixtures.ts';
import { MemoryPins } from './pins.ts';
import { shareOf } from './read.ts';
import { Shards } from './shards.ts';
import { MemoryWatch } from './watch.ts';

const created = { schema: SCHEMA, since: 0, fence: FENCE };

test('a snapshot is the sum of the appends up to its as-of, brought forward to it', async () => {
  const shards = memoryShards();
  const shard = await shards.create('u1', created);
  const append = (updates: Update[], expectedUpper: number, newUpper: number) =>
    shard.compareAndAppend(FENCE, { updates: [rows(updates)], expectedUpper, newUpper });
  assert.equal(
    (
      await append(
        [
          [1, 0, 1],
          [2, 3, 1],
        ],
        0,
        5,
      )
    ).kind,
    'ok',
  );
  assert.equal(
    (
      await append(
        [
          [1, 5, -1],
          [3, 7, 2],
        ],
        5,
        9,
      )
    ).kind,
    'ok',
  );
  const listing = await shard.snapshot(5);
  assert.deepEqual((await readAll(shards, listing.parts)).sort(), [
    [1, 5, -1],
    [1, 5, 1],
    [2, 5, 1],
  ]);
  listing.release();
  const later = await shard.snapshot(8);
  assert.deepEqual(
    accumulate(await readAll(shards, later.parts)),
    new Map([
      [2, 1],
      [3, 2],
    ]),
  );
  later.release();
});

test('an append on another upper changes nothing and says the upper', async () => {
  const blob = new MemoryBlob();
  const shards = memoryShards({ blob, inlineMaxBytes: 0 });
  const shard = await shards.create('u1', created);
  await shard.compareAndAppend(FENCE, { expectedUpper: 0, newUpper: 10 });
  const lost = { updates: [rows([[1, 0, 1]])], expectedUpper: 0, newUpper: 11 };
  assert.deepEqual(await shard.compareAndAppend(FENCE, lost), { kind: 'mismatch', shardId: 'u1', upper: 10 });
  assert.deepEqual(await blob.list(''), []);
  await assert.rejects(
    shard.compareAndAppend(FENCE, { updates: [rows([[1, 9, 1]])], expectedUpper: 10, newUpper: 11 }),
    /times of an append to u1 lie in \[10, 11\)/,
  );
});

test('fences: a promotion, a later start, a replacement', async () => {
  const shards = memoryShards();
  const table = await shards.create('u1', created);
  assert.equal(await table.takeOver({ generation: 1, start: 2 }), null);
  const refused = await table.compareAndAppend(FENCE, { expectedUpper: 0, newUpper: 1 });
  assert.equal(refused.kind === 'fenced' && refused.by, 'start');
  assert.equal((await table.takeOver(FENCE))?.kind, 'fenced');
  assert.equal(await table.takeOver({ generation: 2, start: 1 }), null);
  const old = await table.compareAndAppend({ generation: 1, start: 2 }, { expectedUpper: 0, newUpper: 1 });
  assert.equal(old.kind === 'fenced' && old.by, 'generation');

  const first = { generation: 1, exportId: 'u2' };
  const output = await shards.create('u2', { ...created, fence: first });
  await output.compareAndAppend(first, { expectedUpper: 0, newUpper: 40 });
  const second = { generation: 1, exportId: 'u3' };
  assert.equal((await output.takeOver(second))?.kind, 'fenced');
  assert.equal(await output.takeOver(second, { replacement: true }), null);
  assert.equal(output.takenOverAt, 40);
  const by = await output.compareAndAppend(first, { expectedUpper: 40, newUpper: 41 });
  assert.equal(by.kind === 'fenced' && by.by, 'export');
  assert.equal(await output.takeOver({ generation: 2, exportId: 'u3' }), null);
  assert.equal(output.takenOverAt, 40, 'a promotion keeps the upper of the take-over');
});

test('reads below the since fail and name both times', async () => {
  const shards = memoryShards();
  const shard = await shards.create('u1', { ...created, since: 20 });
  await shard.compareAndAppend(FENCE, { expectedUpper: 0, newUpper: 30 });
  await assert.rejects(shard.snapshot(19), (e: SqlError) => /19/.test(e.message) && /20/.test(e.message));
  await assert.rejects(shard.listen(19), /19.*20/);
  await assert.rejects(shard.hold({ since: 19 }), /19.*20/);
});

test('holds keep the since; releasing the last one leaves it', async () => {
  const shards = memoryShards();
  const shard = await shards.create('u1', created);
  const a = await shard.hold({ since: 5 });
  const b = await shard.hold({ since: 7, durableName: 'controller' });
  assert.equal(shard.since, 5);
  await b.downgrade(20);
  assert.equal(shard.since, 5);
  await a.downgrade(12);
  await a.downgrade(3);
  assert.equal(shard.since, 12);
  await a.release();
  assert.equal(shard.since, 20);
  await b.release();
  assert.equal(shard.since, 20);
});

test('a dead reader is let go, a durable hold is not', async () => {
  const clock = new TestClock();
  const stores = { blob: new MemoryBlob(), consensus: new MemoryConsensus(), clock };
  const dead = memoryShards({ ...stores, random: new SeededRandom(1), leaseMs: 100 });
  const alive = memoryShards({ ...stores, random: new SeededRandom(2), leaseMs: 100 });
  const shard = await alive.create('u1', created);
  await (await dead.open('u1'))!.hold({ since: 3 });
  const hold = await alive.open('u1').then((s) => s!.hold({ since: 9 }));
  await shard.refresh();
  clock.now += 99;
  await shard.maintain();
  assert.equal(shard.since, 3);
  clock.now += 2;
  await shard.maintain();
  assert.equal(shard.since, 9);
  await hold.release();
  await shard.hold({ since: 10, durableName: 'controller' });
  clock.now += 1e9;
  await shard.maintain();
  assert.deepEqual(shard.info().holds, [{ holdId: 'controller', since: 10 }]);
});

test('a listener gets what follows, in order, without a poll; sealing ends it', async () => {
  const shards = memoryShards({ pollMs: 1e9 });
  const shard = await shards.create('u1', created);
  await shard.compareAndAppend(FENCE, { updates: [rows([[1, 2, 1]])], expectedUpper: 0, newUpper: 5 });
  const listen = await shard.listen(2);
  const first = (await listen.next())!;
  assert.deepEqual([first.lower, first.upper, first.parts.length], [3, 5, 0]);
  const waiting = listen.next();
  await shard.compareAndAppend(FENCE, { updates: [rows([[4, 6, 1]])], expectedUpper: 5, newUpper: 8 });
  const second = (await waiting)!;
  assert.deepEqual([second.lower, second.upper], [5, 8]);
  assert.deepEqual(await readAll(shards, second.parts), [[4, 6, 1]]);
  const abort = new AbortController();
  const canceled = listen.next(abort.signal);
  abort.abort();
  await assert.rejects(canceled, (e: SqlError) => e.code === 'query_canceled');
  const last = listen.next();
  await shard.compareAndAppend(FENCE, { expectedUpper: 8, newUpper: EMPTY });
  assert.deepEqual({ ...(await last)!, parts: 0 }, { lower: 8, upper: EMPTY, parts: 0 });
  assert.equal(await listen.next(), null);
});

test('another process hears of an append: by its notice, and by polling if that was lost', async () => {
  for (const watched of [true, false]) {
    const watch = new MemoryWatch();
    const stores = { blob: new MemoryBlob(), consensus: new MemoryConsensus() };
    const writer = memoryShards({ ...stores, watch });
    const reader = memoryShards({
      ...stores,
      ...(watched ? { watch, pollMs: 1e9 } : { pollMs: 1 }),
      random: new SeededRandom(3),
    });
    const w = await writer.create('u1', created);
    const r = (await reader.open('u1'))!;
    const snapshot = r.snapshot(4);
    await w.compareAndAppend(FENCE, { updates: [rows([[9, 1, 1]])], expectedUpper: 0, newUpper: 5 });
    // The poll's timer does not keep the process alive.
    const alive = setInterval(() => undefined, 1000);
    assert.deepEqual(await readAll(reader, (await snapshot).parts), [[9, 4, 1]]);
    clearInterval(alive);
  }
});

test('a transaction over shards applies to all or none', async () => {
  const shards = memoryShards();
  const [a, b] = [await shards.create('u1', created), await shards.create('u2', created)];
  const both = (expectedUpper: number, newUpper: number) =>
    shards.appendAll(FENCE, [
      { shard: a, updates: [rows([[1, expectedUpper, 1]])], expectedUpper, newUpper },
      { shard: b, expectedUpper, newUpper },
    ]);
  assert.equal((await both(0, 10)).kind, 'ok');
  await b.compareAndAppend(FENCE, { expectedUpper: 10, newUpper: 11 });
  assert.deepEqual(await both(10, 20), { kind: 'mismatch', shardId: 'u2', upper: 11 });
  assert.deepEqual([a.upper, b.upper], [10, 11]);
  assert.equal(a.info().rows, 1);
});

test('shares are disjoint, complete and about equal', async () => {
  const shards = memoryShards({ inlineMaxBytes: 0 });
  const shard = await shards.create('u1', created);
  for (let t = 0; t < 37; t++)
    await shard.compareAndAppend(FENCE, { updates: [rows([[t, t, 1]])], expectedUpper: t, newUpper: t + 1 });
  const { parts } = await shard.snapshot(36);
  const shares = [0, 1, 2].map((w) => shareOf(parts, w, 3));
  assert.deepEqual(new Set(shares.flat()), new Set(parts));
  const loads = shares.map((s) => s.reduce((n, p) => n + p.part.rows, 0));
  assert.ok(Math.max(...loads) - Math.min(...loads) <= Math.max(...parts.map((p) => p.part.rows)));
});

test('many small appends leave a small state, few blobs, no orphans', async () => {
  const blob = new MemoryBlob();
  const consensus = new MemoryConsensus();
  const shards = memoryShards({ blob, consensus });
  const shard = await shards.create('u1', created);
  const n = 3000;
  for (let t = 0; t < n; t++)
    await shard.compareAndAppend(FENCE, { updates: [rows([[t, t, 1]])], expectedUpper: t, newUpper: t + 1 });
  await shard.maintain();
  const entries = await consensus.read('shard/u1', 0);
  const bytes = entries.reduce((m, e) => m + e.value.length, 0);
  assert.ok(bytes < 100_000, `the state's log has ${bytes} bytes`);
  const keys = await blob.list('');
  assert.ok(keys.length < 20, `${keys.length} blobs`);
  assert.deepEqual(
    new Set(keys),
    new Set(shard.info().batches.flatMap((b) => b.parts.flatMap((p) => p.key ?? []))),
  );
  const sum = accumulate(await readAll(shards, (await shard.snapshot(n - 1)).parts));
  assert.deepEqual(sum, new Map(Array.from({ length: n }, (_, i) => [i, 1])));
});

test('compaction sums what the since has passed, and nothing that can still be told apart', async () => {
  const shards = memoryShards({ compaction: { slackRows: 50 } });
  const shard = await shards.create('u1', created);
  const hold = await shard.hold({ since: 0 });
  for (let t = 0; t < 200; t++)
    await shard.compareAndAppend(FENCE, {
      updates: [rows([[1, t, t % 2 === 0 ? 1 : -1]])],
      expectedUpper: t,
      newUpper: t + 1,
    });
  await shard.maintain();
  for (const t of [0, 1, 17, 150, 199])
    assert.equal(accumulate(await readAll(shards, (await shard.snapshot(t)).parts)).get(1) ?? 0, (t + 1) % 2);
  await hold.downgrade(199);
  for (let t = 200; t < 264; t++)
    await shard.compareAndAppend(FENCE, { updates: [rows([[2, t, 1]])], expectedUpper: t, newUpper: t + 1 });
  await shard.maintain();
  assert.ok(shard.info().rows < 140, `${shard.info().rows} updates are left`);
});

test('a pinned blob outlives its compaction; orphans go after their grace', async () => {
  const blob = new MemoryBlob();
  const clock = new TestClock();
  const shards = memoryShards({ blob, clock, inlineMaxBytes: 0, compaction: { fanOut: 2 } });
  const shard = await shards.create('u1', created);
  const append = (t: number) =>
    shard.compareAndAppend(FENCE, { updates: [rows([[t, t, 1]])], expectedUpper: t, newUpper: t + 1 });
  await append(0);
  const listing = await shard.snapshot(0);
  await append(1);
  await shard.maintain();
  assert.equal(shard.info().batches.length, 1);
  assert.deepEqual(await readAll(shards, listing.parts), [[0, 0, 1]]);
  listing.release();
  const staged = await shard.stageParts(rows([[5, 5, 1]]));
  clock.now += 50;
  assert.equal(await shard.collectGarbage(100), 0);
  clock.now += 51;
  assert.equal(await shard.collectGarbage(100), 1);
  assert.equal(await blob.get(staged[0]!.key!), null);
  assert.equal((await blob.list('')).length, 1);
});

test('errors ride along and keep their multiplicities', async () => {
  const shards = memoryShards();
  const shard = await shards.create('u1', created);
  const errs = texts([
    ['division by zero', 1, 1],
    ['division by zero', 2, -1],
  ]);
  await shard.compareAndAppend(FENCE, {
    updates: [{ oks: rows([[1, 1, 1]]).oks, errs }],
    expectedUpper: 0,
    newUpper: 3,
  });
  const [part] = (await shard.snapshot(1)).parts;
  const read = await shards.readPart(part!);
  assert.deepEqual([read.oks.length, read.errs.length, read.errs.times], [1, 1, 1]);
});

test('a shard that is gone is said to be', async () => {
  const shards = memoryShards({ pollMs: 1e9 });
  const shard = await shards.create('u1', created);
  const waiting = assert.rejects(shard.snapshot(5), /shard u1 does not exist/);
  await shards.remove('u1');
  await waiting;
  assert.equal(await shards.open('u1'), null);
  await assert.rejects(
    shard.compareAndAppend(FENCE, { expectedUpper: 0, newUpper: 1 }),
    /shard u1 does not exist/,
  );
});

test('a second opener sees the same state as the first', async () => {
  const stores = { blob: new MemoryBlob(), consensus: new MemoryConsensus() };
  const first = memoryShards(stores);
  const shard = await first.create('u1', { ...created, schema: { ...SCHEMA, desc: { columns: ['a'] } } });
  await shard.hold({ since: 1, durableName: 'c' });
  for (let t = 0; t < 100; t++)
    await shard.compareAndAppend(FENCE, { updates: [rows([[t, t, 1]])], expectedUpper: t, newUpper: t + 1 });
  await shard.maintain();
  const second = new Shards({
    ...stores,
    clock: new TestClock(),
    timers: realTimers,
    random: new SeededRandom(5),
  });
  assert.deepEqual((await second.open('u1'))!.info(), shard.info());
});

test('pins count', async () => {
  const pins = new MemoryPins();
  await pins.pin(['a', 'b']);
  await pins.pin(['a']);
  pins.unpin(['a', 'b']);
  assert.deepEqual(await pins.pinned(['a', 'b']), ['a']);
});

test('a listen ends with an error once its times could no longer be told apart', async () => {
  const shards = memoryShards();
  const shard = await shards.create('u1', created);
  await shard.compareAndAppend(FENCE, { updates: [rows([[1, 2, 1]])], expectedUpper: 0, newUpper: 10 });
  const hold = await shard.hold();
  const [good, late] = [await shard.listen(4), await shard.listen(4)];
  await hold.downgrade(4);
  assert.equal((await good.next())!.lower, 5);
  await hold.downgrade(5);
  await assert.rejects(late.next(), /from 5 on.*compacted up to 5/);
});

test('a reader that pins while the collector is at work keeps its blob', async () => {
  const pins = new MemoryPins();
  const consensus = new MemoryConsensus();
  const blob = new MemoryBlob();
  const shards = memoryShards({ pins, consensus, blob, inlineMaxBytes: 0, compaction: { fanOut: 2 } });
  const shard = await shards.create('u1', created);
  const append = (t: number) =>
    shard.compareAndAppend(FENCE, { updates: [rows([[t, t, 1]])], expectedUpper: t, newUpper: t + 1 });
  await append(0);
  const [key] = await blob.list('');
  // The pin falls between the collector's look at the pins and its entry that gives the blob up.
  const write = consensus.compareAndSet.bind(consensus);
  consensus.compareAndSet = async (ops, mode) => {
    if (shard.info().batches.length === 1 && shard.upper === 2) await pins.pin([key!]);
    return write(ops, mode);
  };
  await append(1);
  await shard.maintain();
  assert.equal(shard.info().batches[0]!.parts.length, 1);
  assert.notEqual(await blob.get(key!), null);
  pins.unpin([key!]);
  assert.equal(await shard.collectGarbage(0), 1);
  assert.equal(await blob.get(key!), null);
});
