/**
 * Merges batches of durable shards on a thread of its own, one a process, started with the first merge that is large. The environment's thread and
 * those of workers hand over shard and batches, and wait; a merge takes seconds, and they have answers to give.
 *
 * Delay of the environment's event loop during 20 updates of 50,000 rows, on two busy cores (Node 24, 2026-11-29, two runs in turn): merging on
 * that thread p99 85 to 106 ms, p99.9 289 to 457 ms, at most 872 ms; here p99 32 to 35 ms, p99.9 95 ms, at most 250 ms. What is left
 * is the updates themselves. Time of the processor is the same.
 *
 * A thread that dies takes its merges with it and nothing else: what it staged is an orphan that the next start deletes, as
 * after a crash of the process. From then on each thread merges for itself, in bounded pieces, until the process starts anew.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Logger } from '../base/clock.ts';
import { type ErrorCode, SqlError } from '../base/error.ts';
import type { MergeElsewhere } from '../persist/log.ts';
import { serveStores } from '../persist/rpc.ts';
import type { Stores } from '../persist/shards.ts';
import type { CompactorData, FromCompactor, ToCompactor } from './compactor-protocol.ts';
import { storePort } from './store-port.ts';
import { workerFlags } from './worker-flags.ts';

/** The thread's entry lies beside this file: TypeScript in the source tree, JavaScript in the package. */
const ENTRY = new URL(
  `./compactor-main${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`,
  import.meta.url,
);

type Outcome = Awaited<ReturnType<MergeElsewhere>>;

interface Asked {
  readonly resolve: (outcome: Outcome) => void;
  readonly reject: (error: SqlError) => void;
}

interface Thread {
  readonly worker: Worker;
  readonly server: { close(): void };
  readonly port: MessagePort;
}

export interface CompactorOptions {
  readonly dataDir: string;
  readonly processTag: string;
  readonly logger: Logger;
  /** Whose notices and pins the thread shares. */
  readonly stores: () => Stores;
}

export class Compactor {
  readonly #o: CompactorOptions;
  readonly #asked = new Map<number, Asked>();
  #thread: Thread | null = null;
  #state: 'serving' | 'broken' | 'closed' = 'serving';
  #next = 0;

  constructor(options: CompactorOptions) {
    this.#o = options;
  }

  readonly merge: MergeElsewhere = async (shardId, ids) => {
    if (this.#state === 'broken') return 'here';
    if (this.#state === 'closed') return 'outrun';
    this.#thread ??= this.#start();
    const id = this.#next++;
    const { worker } = this.#thread;
    return new Promise<Outcome>((resolve, reject) => {
      this.#asked.set(id, { resolve, reject });
      worker.postMessage({ kind: 'merge', id, shardId, ids } satisfies ToCompactor);
    });
  };

  #start(): Thread {
    const { dataDir, processTag, stores } = this.#o;
    const { port1, port2 } = new MessageChannel();
    const server = serveStores(storePort(port1), stores());
    const data: CompactorData = { dataDir, processTag, storePort: port2 };
    const worker = new Worker(ENTRY, {
      workerData: data,
      transferList: [port2],
      name: 'compactor',
      execArgv: workerFlags(),
    });
    worker.on('message', (m: FromCompactor) => this.#receive(m));
    worker.on('error', (error) => this.#lost(error));
    worker.on('exit', () => this.#lost(null));
    return { worker, server, port: port1 };
  }

  #receive(m: FromCompactor): void {
    const asked = this.#asked.get(m.id);
    this.#asked.delete(m.id);
    if (m.kind === 'done') asked?.resolve(m.outcome);
    else asked?.reject(new SqlError(m.code as ErrorCode, m.message));
  }

  #lost(error: unknown): void {
    if (this.#state === 'serving') {
      this.#state = 'broken';
      this.#o.logger.error({ error }, 'the thread that merges ended; each thread merges for itself');
    }
    this.#thread?.server.close();
    this.#thread?.port.close();
    this.#thread = null;
    const outcome = this.#state === 'closed' ? 'outrun' : 'here';
    for (const { resolve } of this.#asked.values()) resolve(outcome);
    this.#asked.clear();
  }

  /** Gives up what is being merged; it is merged after the next start. */
  async close(): Promise<void> {
    this.#state = 'closed';
    const thread = this.#thread;
    if (thread === null) return;
    const ended = new Promise<void>((resolve) => thread.worker.once('exit', () => resolve()));
    thread.worker.postMessage({ kind: 'close' } satisfies ToCompactor);
    await ended;
  }
}
