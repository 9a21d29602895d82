/** What lies in a data directory, read beside the server or after it: states of shards, files of parts, bytes. */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { DataDir } from '../../../packages/tidemark/src/host/data-dir.ts';
import { nodeClock, nodeRandom, nodeTimers } from '../../../packages/tidemark/src/host/node-clock.ts';
import { nodePartCodec } from '../../../packages/tidemark/src/host/part-codec.ts';
import type { ShardInfo } from '../../../packages/tidemark/src/persist/shard-types.ts';
import { Shards } from '../../../packages/tidemark/src/persist/shards.ts';

export interface DiskReport {
  readonly shards: ReadonlyMap<string, ShardInfo>;
  /** Files that no state names. */
  readonly orphans: readonly string[];
  /** Of everything in the directory. */
  readonly bytes: number;
}

export async function inspectDisk(dataDir: string): Promise<DiskReport> {
  const dir = await DataDir.open(dataDir, { readOnly: true });
  try {
    const shards = new Shards({
      clock: nodeClock,
      timers: nodeTimers,
      random: nodeRandom,
      codec: nodePartCodec,
      blob: dir.blob,
      consensus: dir.consensus,
    });
    // Files first: one that is named later was staged meanwhile.
    const files = await dir.blob.list('');
    const infos = new Map<string, ShardInfo>();
    const named = new Set<string>();
    for (const id of await shards.list()) {
      const shard = await shards.open(id);
      if (shard === null) continue;
      const info = shard.info();
      infos.set(id, info);
      for (const k of info.garbage) named.add(k);
      for (const b of info.batches) for (const p of b.parts) if (p.key !== null) named.add(p.key);
    }
    await shards.close();
    return { shards: infos, orphans: files.filter((f) => !named.has(f)), bytes: await bytesUnder(dataDir) };
  } finally {
    dir.close();
  }
}

export async function bytesUnder(path: string): Promise<number> {
  let n = 0;
  for (const e of await readdir(path, { recursive: true, withFileTypes: true }))
    if (e.isFile())
      n += await stat(join(e.parentPath, e.name)).then(
        (s) => s.size,
        () => 0,
      );
  return n;
}
