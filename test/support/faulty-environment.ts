/**
 * An environment whose disk can be full: writes to the blob store and to consensus fail as they do when there is no space left, for
 * as long as the test says. Workers run on this thread, so that they meet the same disk.
 */
import { startEnvironment } from '../../packages/tidemark/src/adapter/boot.ts';
import { silentLogger } from '../../packages/tidemark/src/base/clock.ts';
import { SqlError } from '../../packages/tidemark/src/base/error.ts';
import { ThreadFileReader } from '../../packages/tidemark/src/host/file-reader.ts';
import { InProcessReplica } from '../../packages/tidemark/src/host/in-process-replica.ts';
import { nodeClock, nodeRandom, nodeTimers } from '../../packages/tidemark/src/host/node-clock.ts';
import type { OpenedEnvironment } from '../../packages/tidemark/src/host/open-environment.ts';
import { memoryPartCodec } from '../../packages/tidemark/src/host/part-codec.ts';
import { type Blob, MemoryBlob } from '../../packages/tidemark/src/persist/blob.ts';
import { type Consensus, MemoryConsensus } from '../../packages/tidemark/src/persist/consensus.ts';
import { Shards } from '../../packages/tidemark/src/persist/shards.ts';

/** What survives an environment, and how full it is. */
export class Disk {
  readonly blob: MemoryBlob = new MemoryBlob();
  readonly consensus: MemoryConsensus = new MemoryConsensus();
  /** Which writes find no space. */
  full: 'no' | 'blobs' | 'all' = 'no';
  /** Transactions are carried out, their answers get lost, and nothing can be asked. */
  deaf = false;
  /** Writes that found none. */
  refused = 0;
  #start = 0;

  #space(needed: 'blobs' | 'all'): void {
    if (this.full !== 'all' && this.full !== needed) return;
    this.refused++;
    throw new SqlError('disk_full', 'no space left on the device');
  }

  #answer<T>(value: T): T {
    if (!this.deaf) return value;
    this.refused++;
    throw new SqlError('connection_failure', 'the store does not answer');
  }

  #faultyBlob(): Blob {
    const { blob } = this;
    return {
      get: (key) => blob.get(key),
      put: async (key, bytes) => {
        this.#space('blobs');
        await blob.put(key, bytes);
      },
      delete: (key) => blob.delete(key),
      list: (prefix) => blob.list(prefix),
    };
  }

  #faultyConsensus(): Consensus {
    const { consensus } = this;
    return {
      head: async (key) => this.#answer(await consensus.head(key)),
      read: async (key, after) => this.#answer(await consensus.read(key, after)),
      compareAndSet: async (ops, mode) => {
        this.#space('all');
        return this.#answer(await consensus.compareAndSet(ops, mode));
      },
      remove: (key) => consensus.remove(key),
      list: (prefix) => consensus.list(prefix),
    };
  }

  /** The next start of an environment on it. */
  async open(): Promise<OpenedEnvironment> {
    const common = { clock: nodeClock, timers: nodeTimers, random: nodeRandom, codec: memoryPartCodec };
    const stores = {
      durable: new Shards({ ...common, blob: this.#faultyBlob(), consensus: this.#faultyConsensus() }),
      memory: new Shards({ ...common, blob: new MemoryBlob(), consensus: new MemoryConsensus() }),
    };
    const start = ++this.#start;
    const env = await startEnvironment({
      stores,
      generation: 1,
      start,
      clock: nodeClock,
      timers: nodeTimers,
      random: nodeRandom,
      logger: silentLogger,
      files: new ThreadFileReader(),
      createReplica: ({ workers }) =>
        new InProcessReplica({
          workers,
          stores,
          clock: nodeClock,
          timers: nodeTimers,
          logger: silentLogger,
          incarnation: `start ${start}`,
          schedule: (f) => void setImmediate(f),
        }),
      defaultWorkers: 1,
      tickMs: 100,
      onFenced: (error) => {
        throw error;
      },
    });
    return { env, close: () => env.close() };
  }
}
