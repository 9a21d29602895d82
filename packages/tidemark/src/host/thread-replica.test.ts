import assert from 'node:assert/strict';
import { test } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import { MemoryBlob } from '../persist/blob.ts';
import { MemoryConsensus } from '../persist/consensus.ts';
import { Shards } from '../persist/shards.ts';
import { nodeClock, nodeRandom, nodeTimers } from './node-clock.ts';
import { memoryPartCodec } from './part-codec.ts';
import { ThreadReplica } from './thread-replica.ts';

test('a worker whose heap is full ends its replica as oom, and nothing else', async () => {
  const shards = (): Shards =>
    new Shards({
      clock: nodeClock,
      timers: nodeTimers,
      random: nodeRandom,
      codec: memoryPartCodec,
      blob: new MemoryBlob(),
      consensus: new MemoryConsensus(),
    });
  const stores = { durable: shards(), memory: shards() };
  const replica = new ThreadReplica({
    workers: 2,
    stores,
    dataDir: null,
    processTag: 'test',
    incarnation: 'test',
    logger: silentLogger,
    // Less than the engine's own code takes.
    heapLimitMb: 4,
  });
  const reason = await new Promise<string>((resolve) => {
    replica.onLost = resolve;
  });
  assert.equal(reason, 'oom');
  await replica.close();
  await stores.durable.close();
  await stores.memory.close();
});
