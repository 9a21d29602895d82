/** Started by data-dir.test.ts to be killed: appends one row a time and says each time that was acknowledged. */
import { writeSync } from 'node:fs';
import { realTimers, rows, SCHEMA } from '../persist/fixtures.ts';
import { Shards } from '../persist/shards.ts';
import { DataDir } from './data-dir.ts';
import { nodePartCodec } from './part-codec.ts';

const dir = await DataDir.open(process.argv[2]!);
const shards = new Shards({
  blob: dir.blob,
  consensus: dir.consensus,
  clock: { nowMs: () => Date.now(), monotonicNs: () => performance.now() * 1e6 },
  timers: realTimers,
  random: { next: Math.random, bytes: (n) => crypto.getRandomValues(new Uint8Array(n)) },
  codec: nodePartCodec,
  // Small, so that the kill falls between a blob and its entry often enough.
  inlineMaxBytes: 400,
  compaction: { inlineParts: 4, fanOut: 2 },
});
const shard = await shards.create('u1', { schema: SCHEMA, since: 0, fence: dir.epoch });
await shard.takeOver(dir.epoch);
for (let t = shard.upper; ; t++) {
  const done = await shard.compareAndAppend(dir.epoch, {
    updates: [rows([[t, t, 1]])],
    expectedUpper: t,
    newUpper: t + 1,
  });
  if (done.kind !== 'ok') throw new Error(`append at ${t}: ${done.kind}`);
  writeSync(1, `${t}\n`);
}
