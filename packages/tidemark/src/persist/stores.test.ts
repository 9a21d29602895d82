/** The contract suites over what runs without a machine: in memory, and over a port. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { SqlError } from '../base/error.ts';
import { SeededRandom } from '../testkit/random.ts';
import { blobContract } from './blob.contract.ts';
import { MemoryBlob } from './blob.ts';
import { consensusContract } from './consensus.contract.ts';
import { MemoryConsensus } from './consensus.ts';
import { FENCE, memoryShards, readAll, rows, SCHEMA } from './fixtures.ts';
import { MemoryPins } from './pins.ts';
import { remoteStores, type StorePort, serveStores } from './rpc.ts';
import type { Stores } from './shards.ts';
import { MemoryWatch } from './watch.ts';

const none = async () => undefined;
blobContract('memory blob', async () => ({ blob: new MemoryBlob(), end: none }));
consensusContract('memory consensus', async () => ({ consensus: new MemoryConsensus(), end: none }));

const wrap = (port: MessagePort): StorePort => ({
  post: (m, transfer) => port.postMessage(m, transfer),
  onMessage: (f) => void port.on('message', f),
});

function remote(stores: Partial<Stores> = {}) {
  const base = {
    blob: new MemoryBlob(),
    consensus: new MemoryConsensus(),
    watch: new MemoryWatch(),
    pins: new MemoryPins(),
    ...stores,
  };
  const here = memoryShards({ ...base, pollMs: 1e9, inlineMaxBytes: 0 });
  const local = { ...base, here };
  const { port1, port2 } = new MessageChannel();
  const server = serveStores(wrap(port1), local);
  const there = remoteStores(wrap(port2));
  const end = async () => {
    there.close();
    server.close();
    port1.close();
  };
  return { local, there, server, end };
}

blobContract('blob over a port', async () => {
  const { there, end } = remote();
  return { blob: there.blob, end };
});
consensusContract('consensus over a port', async () => {
  const { there, end } = remote();
  return { consensus: there.consensus, end };
});

test('errors cross the port as what they are', async () => {
  const blob = new MemoryBlob();
  blob.get = async () => {
    throw new SqlError('disk_full', 'no room', { detail: 'none' });
  };
  const { there, end } = remote({ blob });
  await assert.rejects(
    there.blob.get('k'),
    (e: SqlError) => e.code === 'disk_full' && e.message === 'no room' && e.detail === 'none',
  );
  await end();
  await assert.rejects(there.blob.get('k'), (e: SqlError) => e.code === 'connection_failure');
});

test('a reader behind a port hears of an append, and pins what it reads until its port ends', async () => {
  const { local, there, server, end } = remote();
  const { here } = local;
  const far = memoryShards({ ...there, pollMs: 1e9, random: new SeededRandom(2) });
  const shard = await here.create('u1', { schema: SCHEMA, since: 0, fence: FENCE });
  const snapshot = (await far.open('u1'))!.snapshot(3);
  await shard.compareAndAppend(FENCE, { updates: [rows([[1, 2, 1]])], expectedUpper: 0, newUpper: 4 });
  const listing = await snapshot;
  assert.deepEqual(await readAll(far, listing.parts), [[1, 3, 1]]);
  const keys = await local.blob.list('');
  assert.deepEqual(await local.pins.pinned(keys), keys);
  server.close();
  assert.deepEqual(await local.pins.pinned(keys), []);
  await end();
});
