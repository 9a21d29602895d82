/** Appends while a large merge is under way on another thread. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { COMPACTION, inlinePressure } from './compact.ts';
import { accumulate, FENCE, memoryShards, readAll, rows, type Update } from './fixtures.ts';

test('small appends are folded beside a merge elsewhere, and do not wait for its end', async () => {
  let askedFor: readonly number[] = [];
  let asked!: () => void;
  const isAsked = new Promise<void>((resolve) => (asked = resolve));
  let end!: () => void;
  const ended = new Promise<void>((resolve) => (end = resolve));
  const shards = memoryShards({
    compaction: { pieceRows: 100 },
    mergeElsewhere: async (_, ids) => {
      askedFor = ids;
      asked();
      await ended;
      return 'here';
    },
  });
  const shard = await shards.create('u1', {
    schema: { oks: ['i64'], errs: ['bytes'] },
    since: 0,
    fence: FENCE,
  });
  const all: Update[] = [];
  let upper = 0;
  const append = async (values: readonly number[]): Promise<void> => {
    const updates = values.map((v): Update => [v, upper, 1]);
    all.push(...updates);
    const result = await shard.compareAndAppend(FENCE, {
      updates: [rows(updates)],
      expectedUpper: upper,
      newUpper: ++upper,
    });
    assert.equal(result.kind, 'ok');
  };
  for (let i = 0; i < COMPACTION.fanOut; i++)
    await append(Array.from({ length: 2000 }, (_, k) => i * 10_000 + k));
  await isAsked;
  let worst = 0;
  for (let i = 0; i < 12 * COMPACTION.inlineParts; i++) {
    await append([i]);
    worst = Math.max(worst, inlinePressure({ ...shard.log.state }, COMPACTION));
  }
  assert.ok(worst < 6, `the tail stays short: ${worst}`);
  for (const id of askedFor)
    assert.ok(
      shard.info().batches.some((b) => b.id === id),
      'the merge still fits',
    );
  end();
  await shard.settle();
  const listing = await shard.snapshot(upper - 1);
  assert.deepEqual(accumulate(await readAll(shards, listing.parts)), accumulate(all));
  listing.release();
  await shards.close();
});
