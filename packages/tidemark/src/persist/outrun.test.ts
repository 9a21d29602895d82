/** Two processes that maintain one shard: the pins of neither keep the other from deleting what it merged. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MemoryBlob } from './blob.ts';
import { COMPACTION } from './compact.ts';
import { MemoryConsensus } from './consensus.ts';
import { accumulate, FENCE, memoryShards, readAll, rows, SCHEMA, type Update } from './fixtures.ts';

/** Reads wait here once they are to. */
class HeldReads extends MemoryBlob {
  readonly #under: MemoryBlob;
  #gate: Promise<void> | null = null;
  #arrived: () => void = () => undefined;

  constructor(under: MemoryBlob) {
    super();
    this.#under = under;
  }

  /** `arrived` resolves when a read waits. */
  hold(): { readonly arrived: Promise<void>; readonly release: () => void } {
    const gate = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    this.#gate = gate.promise;
    this.#arrived = arrived.resolve;
    return { arrived: arrived.promise, release: gate.resolve };
  }

  override async get(key: string): ReturnType<MemoryBlob['get']> {
    if (this.#gate !== null) this.#arrived();
    await this.#gate;
    return this.#under.get(key);
  }
  override put(key: string, bytes: Uint8Array): Promise<void> {
    return this.#under.put(key, bytes);
  }
  override delete(key: string): Promise<void> {
    return this.#under.delete(key);
  }
  override list(prefix: string): ReturnType<MemoryBlob['list']> {
    return this.#under.list(prefix);
  }
}

test('a merge whose batches another process has merged, and deleted, is given up without an error', async () => {
  const consensus = new MemoryConsensus();
  const stored = new MemoryBlob();
  const reads = new HeldReads(stored);
  // Whoever appends merges nothing here: the two are the others.
  const writer = memoryShards({ consensus, blob: stored, inlineMaxBytes: 0, compaction: { fanOut: 100 } });
  const first = memoryShards({ consensus, blob: stored, inlineMaxBytes: 0 });
  const second = memoryShards({ consensus, blob: reads, inlineMaxBytes: 0 });
  const written = await writer.create('u1', { schema: SCHEMA, since: 0, fence: FENCE });
  const all: Update[] = [];
  for (let t = 0; t < COMPACTION.fanOut; t++) {
    const updates: Update[] = [[t, t, 1]];
    all.push(...updates);
    await written.compareAndAppend(FENCE, { updates: [rows(updates)], expectedUpper: t, newUpper: t + 1 });
  }
  const shard = (await first.open('u1'))!;
  const other = (await second.open('u1'))!;
  const { arrived, release } = reads.hold();
  const maintained = other.maintain();
  await arrived;
  await shard.maintain();
  release();
  await maintained;
  assert.equal(shard.info().batches.length, 1, 'the first one merged them');
  const listing = await other.snapshot(COMPACTION.fanOut - 1);
  assert.deepEqual(accumulate(await readAll(second, listing.parts)), accumulate(all));
  listing.release();
  await writer.close();
  await first.close();
  await second.close();
});
