/** What a crash or a full disk leaves in the stores, and that it goes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { MemoryBlob } from './blob.ts';
import { MemoryConsensus } from './consensus.ts';
import { FENCE, memoryShards, readAll, rows, SCHEMA, type Update } from './fixtures.ts';

const created = { schema: SCHEMA, since: 0, fence: FENCE };

test('a sweep removes strange shards and every blob that no state names', async () => {
  const [blob, consensus] = [new MemoryBlob(), new MemoryConsensus()];
  const before = memoryShards({ blob, consensus, inlineMaxBytes: 0 });
  for (const id of ['kept', 'stray', 'halfway']) {
    const shard = await before.create(id, created);
    await shard.compareAndAppend(FENCE, { updates: [rows([[1, 0, 1]])], expectedUpper: 0, newUpper: 1 });
    await shard.stageParts(rows([[2, 1, 1]]));
  }
  // A removal that was cut short: the state went, its blobs did not.
  await consensus.remove('shard/halfway');
  assert.equal((await blob.list('')).length, 6);

  const after = memoryShards({ blob, consensus });
  await after.sweep(new Set(['kept']));
  assert.deepEqual(await after.list(), ['kept']);
  const kept = (await after.open('kept'))!;
  const named = kept.info().batches.flatMap((b) => b.parts.map((p) => p.key));
  assert.deepEqual(await blob.list(''), named);
  assert.deepEqual(await readAll(after, (await kept.snapshot(0)).parts), [[1, 0, 1]]);
});

test('on a full disk an append and a staging leave no blob behind', async () => {
  const inner = new MemoryBlob();
  let space = 1;
  const blob = {
    get: (key: string) => inner.get(key),
    list: (prefix: string) => inner.list(prefix),
    delete: (key: string) => inner.delete(key),
    put: async (key: string, bytes: Uint8Array) => {
      if (space-- <= 0) throw new SqlError('disk_full', 'no space');
      await inner.put(key, bytes);
    },
  };
  const shards = memoryShards({ blob, inlineMaxBytes: 0 });
  const shard = await shards.create('u1', created);
  const many = Array.from({ length: 200_000 }, (_, i): Update => [i, 0, 1]);
  const full = (e: SqlError) => e.code === 'disk_full';
  await assert.rejects(shard.stageParts(rows(many)), full);
  space = 1;
  const updates = [rows([[1, 0, 1]]), rows([[2, 0, 1]])];
  await assert.rejects(shard.compareAndAppend(FENCE, { updates, expectedUpper: 0, newUpper: 1 }), full);
  const other = await shards.create('u2', created);
  space = 1;
  const both = [shard, other].map((s) => ({
    shard: s,
    updates: [updates[0]!],
    expectedUpper: 0,
    newUpper: 1,
  }));
  await assert.rejects(shards.appendAll(FENCE, both), full);
  assert.deepEqual(await inner.list(''), []);
  assert.equal((await shard.refresh()).upper, 0);
});
