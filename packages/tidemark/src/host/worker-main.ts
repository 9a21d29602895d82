/**
 * Entry of a worker thread: one ComputeWorker, its ports, and the loop that gives it time. Between two slices the event loop turns, so
 * commands and other workers' messages come in; an idle worker sleeps until a message or the logs' next interval.
 */
import { parentPort, workerData } from 'node:worker_threads';
import { assert } from '../base/assert.ts';
import type { Logger } from '../base/clock.ts';
import { ComputeWorker } from '../compute/compute-worker.ts';
import { lostReason, MemoryBudget } from '../compute/memory-budget.ts';
import { batchOfResponse, type Response } from '../compute/protocol.ts';
import { unpackCommands } from '../compute/wire.ts';
import { remoteStores } from '../persist/rpc.ts';
import { Shards } from '../persist/shards.ts';
import { batchBuffers } from '../repr/batch.ts';
import { consensusPath, partsPath } from './data-dir.ts';
import { DiskBlob } from './disk-blob.ts';
import { EarliestTimer } from './earliest-timer.ts';
import { openFile } from './file-writer.ts';
import { nodeClock, nodeRandom, nodeTimers } from './node-clock.ts';
import { nodePartCodec } from './part-codec.ts';
import { PortMesh } from './port-mesh.ts';
import { processUsage, threadUsage } from './resource-usage.ts';
import { inMemory, shardAccess, watchUpper } from './shard-access.ts';
import { SqliteConsensus } from './sqlite-consensus.ts';
import { storePort } from './store-port.ts';
import { type FromWorker, folded, type ToWorker, type WorkerData } from './worker-protocol.ts';

assert(parentPort !== null, 'a worker runs on a thread of its own');
const port = parentPort;
const data = workerData as WorkerData;

const post = (message: FromWorker, transfer: ArrayBuffer[] = []): void => port.postMessage(message, transfer);

const log =
  (level: 'debug' | 'info' | 'warn' | 'error') =>
  (fields: object, message: string): void =>
    post({ kind: 'log', level, fields: describe(fields), message });
const logger: Logger = { debug: log('debug'), info: log('info'), warn: log('warn'), error: log('error') };

/** Errors lose their text in a structured clone of an object that holds them. */
function describe(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([k, v]) => [k, v instanceof Error ? (v.stack ?? v.message) : v]),
  );
}

const common = {
  clock: nodeClock,
  timers: nodeTimers,
  random: nodeRandom,
  logger,
  codec: nodePartCodec,
  processTag: data.processTag,
};
const memoryPort = remoteStores(storePort(data.memoryPort));
const openMemory = (): Shards => new Shards({ ...common, ...memoryPort });

function openDurable(): Shards {
  const { dataDir } = data;
  return new Shards({
    ...common,
    ...remoteStores(storePort(data.durablePort)),
    // On disk every thread reads and writes for itself; only notices and pins go through the process's own thread.
    ...(dataDir !== null && {
      blob: new DiskBlob(partsPath(dataDir)),
      consensus: new SqliteConsensus(consensusPath(dataDir)),
    }),
  });
}

const stores = { durable: openDurable(), memory: openMemory() };
let hellos = 0;

/** Another environment may have come, or the same with a new connection: what is known of shards in its memory is of the old one. */
function forgetMemory(): void {
  if (hellos++ === 0) return;
  void stores.memory.close();
  stores.memory = openMemory();
}

const responses: Response[] = [];
let scheduled = false;
const tick = new EarliestTimer({ clock: nodeClock, timers: nodeTimers, f: wake });

function wake(): void {
  if (scheduled) return;
  scheduled = true;
  setImmediate(turn);
}

const mesh = new PortMesh(data.peerPorts);
const worker = new ComputeWorker({
  index: data.index,
  peers: data.peers,
  mesh,
  clock: nodeClock,
  timers: nodeTimers,
  logger,
  openFile,
  shards: shardAccess(stores),
  inMemory,
  watch: (shardId, onUpper) => watchUpper(stores, shardId, onUpper),
  send: (r) => responses.push(r),
  onWake: wake,
  incarnation: data.incarnation,
  ...(data.budget !== null && { budget: new MemoryBudget(data.budget, data.index) }),
  usage: () => [...(data.index === 0 ? processUsage() : []), ...threadUsage(`worker ${data.index}`)],
});

function turn(): void {
  scheduled = false;
  const more = guarded(() => worker.step()) === 'more';
  flush();
  if (more) wake();
  else tickLater();
}

function tickLater(): void {
  const ms = worker.nextTickMs;
  if (ms !== null) tick.within(ms);
}

function flush(): void {
  if (responses.length === 0) return;
  const buffers: ArrayBuffer[] = [];
  for (const r of responses) {
    const batch = batchOfResponse(r);
    if (batch !== null) buffers.push(...batchBuffers(batch));
  }
  post({ kind: 'responses', responses: folded(responses.splice(0)) }, [...new Set(buffers)]);
}

/** A failed assertion of ours ends the replica; the environment hears why, and lives on. */
function guarded<T>(f: () => T): T | undefined {
  try {
    return f();
  } catch (error) {
    fail(error);
    return undefined;
  }
}

function fail(error: unknown): void {
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  post({ kind: 'failed', reason: lostReason(error), message });
}

process.on('uncaughtException', fail);
process.on('unhandledRejection', fail);

mesh.onReceived((from, messages) => {
  guarded(() => {
    for (const message of messages) worker.receive(from, message);
  });
  wake();
});

port.on('message', (message: ToWorker) => {
  if (message.kind === 'close') {
    void close();
    return;
  }
  guarded(() => {
    for (const text of message.commands)
      for (const command of unpackCommands(text)) {
        if (command.kind === 'hello') forgetMemory();
        worker.handle(command);
      }
  });
  wake();
});

async function close(): Promise<void> {
  worker.close();
  await stores.durable.close();
  await stores.memory.close();
  post({ kind: 'closed' });
  process.exit(0);
}
