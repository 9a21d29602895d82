/** Readers of one shard in one process: what they ask of consensus does not grow with their number. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';
import { MemoryBlob } from './blob.ts';
import { MemoryConsensus } from './consensus.ts';
import { FENCE, memoryShards, rows, SCHEMA } from './fixtures.ts';
import { MemoryPins } from './pins.ts';
import type { Shard } from './shard.ts';
import type { ListenStep, Quiet } from './shard-types.ts';
import { MemoryWatch } from './watch.ts';

const READERS = 200;
const created = { schema: SCHEMA, since: 0, fence: FENCE };

/** Two processes: one writes, the other reads, and every read of consensus by the latter is counted, and may fail. */
async function world(options: { readonly pollMs?: number; readonly deaf?: boolean } = {}) {
  const consensus = new MemoryConsensus();
  const watch = new MemoryWatch();
  const shared = { blob: new MemoryBlob(), pins: new MemoryPins() };
  const writing = memoryShards({ ...shared, consensus, watch });
  const shard = await writing.create('u1', created);
  await shard.compareAndAppend(FENCE, { updates: [rows([[1, 2, 1]])], expectedUpper: 0, newUpper: 5 });
  const reads = { count: 0, failing: 0 };
  const counted = {
    head: (key: string) => consensus.head(key),
    compareAndSet: consensus.compareAndSet.bind(consensus),
    remove: (key: string) => consensus.remove(key),
    list: (prefix: string) => consensus.list(prefix),
    read: async (key: string, after: number) => {
      reads.count++;
      if (reads.failing > 0) {
        reads.failing--;
        throw new SqlError('io_error', 'the read failed');
      }
      return consensus.read(key, after);
    },
  };
  const reading = memoryShards({
    ...shared,
    consensus: counted,
    watch: options.deaf === true ? new MemoryWatch() : watch,
    pollMs: options.pollMs ?? 1e9,
  });
  const seen = (await reading.open('u1'))!;
  const end = new AbortController();
  const tick = (newUpper: Frontier) =>
    shard.compareAndAppend(FENCE, { expectedUpper: shard.upper, newUpper });
  return { writing, shard, seen, reads, end, tick };
}

/** One that listens from the beginning on, and where it is. */
async function reader(shard: Shard, signal: AbortSignal, until: Frontier = EMPTY) {
  const listen = await shard.listen(4);
  const waiting = new Map<Frontier, () => void>();
  const quiet: Quiet = {
    until,
    advanced: (frontier) => waiting.get(frontier)?.(),
  };
  const next: Promise<ListenStep | null> = listen.next(signal, quiet);
  const reached = (frontier: Frontier): Promise<void> =>
    listen.frontier >= frontier
      ? Promise.resolve()
      : new Promise((resolve) => waiting.set(frontier, resolve));
  return { listen, next, reached };
}

test('a tick is read once for all who listen, and each of them hears of it', async () => {
  const { seen, reads, end, tick } = await world();
  const readers = await Promise.all(Array.from({ length: READERS }, () => reader(seen, end.signal)));
  await tick(6);
  await Promise.all(readers.map((r) => r.reached(6)));
  reads.count = 0;
  for (let upper = 7; upper < 17; upper++) {
    await tick(upper);
    await Promise.all(readers.map((r) => r.reached(upper)));
  }
  assert.equal(reads.count, 10);
  end.abort();
  for (const r of readers) await assert.rejects(r.next, /canceled/);
});

test('a step with parts is given to each, after the quiet ones before it', async () => {
  const { shard, seen, end, tick } = await world();
  const readers = await Promise.all(Array.from({ length: 3 }, () => reader(seen, end.signal)));
  await tick(6);
  await Promise.all(readers.map((r) => r.reached(6)));
  await shard.compareAndAppend(FENCE, { updates: [rows([[7, 8, 1]])], expectedUpper: 6, newUpper: 9 });
  for (const r of readers) {
    const step = (await r.next)!;
    assert.deepEqual([step.lower, step.upper, step.parts.length], [6, 9, 1]);
    r.listen.close();
  }
});

test('a quiet step that ends where a listen wants to end is given', async () => {
  const { seen, end, tick } = await world();
  const r = await reader(seen, end.signal, 8);
  await tick(7);
  await r.reached(7);
  await tick(10);
  assert.deepEqual(await r.next, { lower: 7, upper: 10, parts: [] });
});

test('a read that fails once fails one of those who listen, and the others go on', async () => {
  const { seen, reads, end, tick } = await world();
  const readers = await Promise.all(Array.from({ length: 3 }, () => reader(seen, end.signal)));
  await tick(6);
  await Promise.all(readers.map((r) => r.reached(6)));
  reads.failing = 1;
  await tick(7);
  await assert.rejects(readers[0]!.next, /the read failed/);
  await Promise.all(readers.slice(1).map((r) => r.reached(7)));
  end.abort();
  for (const r of readers.slice(1)) await assert.rejects(r.next, /canceled/);
});

test('all who listen hear that the shard is gone', async () => {
  const { writing, seen, end, tick } = await world();
  const readers = await Promise.all(Array.from({ length: 3 }, () => reader(seen, end.signal)));
  await tick(6);
  await Promise.all(readers.map((r) => r.reached(6)));
  await writing.remove('u1');
  for (const r of readers) await assert.rejects(r.next, { code: 'undefined_object' });
});

test('whoever hears no notices looks by himself', async () => {
  const { seen, end, tick } = await world({ deaf: true, pollMs: 1 });
  const r = await reader(seen, end.signal);
  await tick(6);
  await r.reached(6);
  await tick(7);
  await r.reached(7);
  end.abort();
  await assert.rejects(r.next, /canceled/);
});

test('who listens again after the last one left hears of what came meanwhile', async () => {
  const { seen, end, tick } = await world();
  const first = await reader(seen, end.signal);
  await tick(6);
  await first.reached(6);
  end.abort();
  await assert.rejects(first.next, /canceled/);
  await tick(7);
  const again = new AbortController();
  const second = await reader(seen, again.signal);
  await second.reached(7);
  again.abort();
  await assert.rejects(second.next, /canceled/);
});
