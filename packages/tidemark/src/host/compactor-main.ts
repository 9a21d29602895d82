/**
 * Entry of the thread that merges batches of shards for the others of its process: they stay free for commands, queries and dataflows, and it
 * may take its time. Parts and consensus it opens for itself; notices and pins are the process's.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { remoteStores } from '../persist/rpc.ts';
import { Shards } from '../persist/shards.ts';
import type { CompactorData, FromCompactor, ToCompactor } from './compactor-protocol.ts';
import { consensusPath, partsPath } from './data-dir.ts';
import { DiskBlob } from './disk-blob.ts';
import { nodeClock, nodeRandom, nodeTimers } from './node-clock.ts';
import { nodePartCodec } from './part-codec.ts';
import { SqliteConsensus } from './sqlite-consensus.ts';
import { storePort } from './store-port.ts';

assert(parentPort !== null, 'batches are merged on a thread of its own');
const port = parentPort;
const data = workerData as CompactorData;
const post = (m: FromCompactor): void => port.postMessage(m);

const { pins, watch } = remoteStores(storePort(data.storePort));
const consensus = new SqliteConsensus(consensusPath(data.dataDir));
const shards = new Shards({
  clock: nodeClock,
  timers: nodeTimers,
  random: nodeRandom,
  codec: nodePartCodec,
  processTag: data.processTag,
  blob: new DiskBlob(partsPath(data.dataDir)),
  consensus,
  pins,
  watch,
});

let closing = false;
const underWay = new Set<Promise<void>>();

async function pause(): Promise<void> {
  await nextTurn();
  if (closing) throw new SqlError('admin_shutdown', 'the process is stopping');
}

async function merge(id: number, shardId: string, ids: readonly number[]): Promise<void> {
  try {
    await pause();
    post({ kind: 'done', id, outcome: await shards.mergeFor(shardId, ids, pause) });
  } catch (error) {
    if (closing) return post({ kind: 'done', id, outcome: 'outrun' });
    const [code, message] =
      error instanceof SqlError
        ? [error.code, error.message]
        : ['internal_error', error instanceof Error ? (error.stack ?? error.message) : String(error)];
    post({ kind: 'failed', id, code, message });
  }
}

port.on('message', (m: ToCompactor) => {
  if (m.kind === 'close') {
    closing = true;
    void end();
    return;
  }
  // Side by side: a small one does not wait for a large one, and each holds a pass in memory.
  const run = merge(m.id, m.shardId, m.ids).finally(() => underWay.delete(run));
  underWay.add(run);
});

async function end(): Promise<void> {
  await Promise.all(underWay);
  consensus.close();
  port.close();
  data.storePort.close();
}
