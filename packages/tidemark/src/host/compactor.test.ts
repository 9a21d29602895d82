/** Merges on a thread of their own: what they leave behind, beside what, and without the thread. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import { accumulate, FENCE, readAll, rows, SCHEMA, type Update } from '../persist/fixtures.ts';
import type { MergeElsewhere } from '../persist/log.ts';
import { MemoryPins } from '../persist/pins.ts';
import type { Shard } from '../persist/shard.ts';
import { Shards } from '../persist/shards.ts';
import { Compactor } from './compactor.ts';
import { DataDir } from './data-dir.ts';
import { nodeClock, nodeRandom, nodeTimers } from './node-clock.ts';
import { nodePartCodec } from './part-codec.ts';

const ROWS = 20_000;

class Directory implements AsyncDisposable {
  readonly path: string;
  readonly dir: DataDir;
  readonly compactor: Compactor;
  readonly shards: Shards;
  readonly outcomes: string[] = [];

  private constructor(path: string, dir: DataDir, compactorPath: string) {
    this.path = path;
    this.dir = dir;
    const processTag = 'compactor-test';
    this.compactor = new Compactor({
      dataDir: compactorPath,
      processTag,
      logger: silentLogger,
      stores: () => this.shards.stores,
    });
    const mergeElsewhere: MergeElsewhere = async (shardId, ids) => {
      const outcome = await this.compactor.merge(shardId, ids);
      this.outcomes.push(outcome);
      return outcome;
    };
    this.shards = new Shards({
      blob: dir.blob,
      consensus: dir.consensus,
      pins: new MemoryPins(),
      clock: nodeClock,
      timers: nodeTimers,
      random: nodeRandom,
      codec: nodePartCodec,
      processTag,
      mergeElsewhere,
    });
  }

  static async open(compactorPath?: string): Promise<Directory> {
    const path = join(await mkdtemp(join(tmpdir(), 'tidemark-')), 'data');
    return new Directory(path, await DataDir.open(path), compactorPath ?? path);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.compactor.close();
    await this.shards.close();
    this.dir.close();
    await rm(this.path, { recursive: true, force: true });
  }
}

/** The values 0 to ROWS, replaced at each time but the first. */
async function fill(shard: Shard, times: number): Promise<Update[]> {
  const all: Update[] = [];
  for (let t = 0; t < times; t++) {
    const updates: Update[] = [];
    for (let i = 0; i < ROWS; i++) {
      if (t > 0) updates.push([i * times + t - 1, t, -1]);
      updates.push([i * times + t, t, 1]);
    }
    const result = await shard.compareAndAppend(FENCE, {
      updates: [rows(updates)],
      expectedUpper: t,
      newUpper: t + 1,
    });
    assert.equal(result.kind, 'ok');
    all.push(...updates);
  }
  return all;
}

async function contents(shards: Shards, shard: Shard, at: number): Promise<Map<number, number>> {
  const listing = await shard.snapshot(at);
  const read = await readAll(shards, listing.parts);
  listing.release();
  return accumulate(read);
}

test('a large merge runs elsewhere, changes no contents, and leaves nothing behind', async () => {
  await using d = await Directory.open();
  const shard = await d.shards.create('u1', { schema: SCHEMA, since: 0, fence: FENCE });
  const hold = await shard.hold();
  const all = await fill(shard, 6);
  await hold.downgrade(5);
  await shard.maintain();
  assert.ok(d.outcomes.includes('merged'), d.outcomes.join());
  assert.ok(!d.outcomes.includes('here'));
  assert.ok(shard.info().batches.length < 6);
  assert.deepEqual(await contents(d.shards, shard, 5), accumulate(all));
  await hold.release();
  await shard.maintain();
  const named = new Set(shard.info().batches.flatMap((b) => b.parts.map((p) => p.key)));
  for (const key of await d.dir.blob.list('')) assert.ok(named.has(key), key);
});

test('a thread that cannot work leaves merging to those who ask', async () => {
  await using d = await Directory.open(join(tmpdir(), 'tidemark-nowhere', 'data'));
  const shard = await d.shards.create('u1', { schema: SCHEMA, since: 0, fence: FENCE });
  const all = await fill(shard, 6);
  await shard.maintain();
  assert.ok(d.outcomes.includes('here') && !d.outcomes.includes('merged'), d.outcomes.join());
  assert.ok(shard.info().batches.length < 6);
  assert.deepEqual(await contents(d.shards, shard, 5), accumulate(all));
});

test('what is under way at the end is given up, and nothing of it stays', async () => {
  await using d = await Directory.open();
  const shard = await d.shards.create('u1', { schema: SCHEMA, since: 0, fence: FENCE });
  await fill(shard, 2);
  const ids = shard.info().batches.map((b) => b.id);
  const merges = [d.compactor.merge('u1', ids), d.compactor.merge('u1', ids)];
  await d.compactor.close();
  for (const outcome of await Promise.all(merges)) assert.match(outcome, /merged|outrun/);
  await shard.refresh();
  const named = new Set([
    ...shard.info().batches.flatMap((b) => b.parts.map((p) => p.key)),
    ...shard.info().garbage,
  ]);
  for (const key of await d.dir.blob.list('')) assert.ok(named.has(key), key);
  assert.equal(await d.compactor.merge('u1', ids), 'outrun');
});
