/**
 * A replica whose workers are threads of this process. Workers talk to each other over message channels of their own; batches are transferred,
 * never copied. The replica is lost when any of its threads ends by itself.
 */
import { MessageChannel, type MessagePort, Worker } from 'node:worker_threads';
import type { Logger } from '../base/clock.ts';
import { OOM, type SharedBudget, sharedBudget } from '../compute/memory-budget.ts';
import type { Command, ReplicaConnection, Response } from '../compute/protocol.ts';
import { CommandTexts } from '../compute/wire.ts';
import { serveStores } from '../persist/rpc.ts';
import type { StoreSet } from './shard-access.ts';
import { storePort } from './store-port.ts';
import { workerFlags } from './worker-flags.ts';
import { type FromWorker, type ToWorker, unfolded, type WorkerData } from './worker-protocol.ts';

export interface ThreadReplicaOptions {
  readonly workers: number;
  readonly stores: StoreSet;
  /** Null: the durable store is in memory too. */
  readonly dataDir: string | null;
  readonly processTag: string;
  readonly incarnation: string;
  /** Of the arrangements of all workers; the JavaScript heap of each thread is bounded along with it. */
  readonly memoryLimitBytes?: number | undefined;
  /** Of each thread's JavaScript heap; as much as its share of the limit if absent. */
  readonly heapLimitMb?: number;
  readonly logger: Logger;
}

/** Workers run as they lie beside this file: TypeScript in the source tree, JavaScript in the package. */
const ENTRY = new URL(
  `./worker-main${import.meta.url.slice(import.meta.url.lastIndexOf('.'))}`,
  import.meta.url,
);

/** How long a worker may take to end by itself. */
const CLOSE_MS = 2000;

/** A heap holds plans and state per key, columns lie outside it. A thread does not start with less than the first figure. */
const MIN_HEAP_MB = 64;

export class ThreadReplica implements ReplicaConnection {
  readonly workers: number;
  onResponse: (response: Response) => void = () => undefined;
  onLost: (reason: string) => void = () => undefined;
  readonly #logger: Logger;
  readonly #budget: SharedBudget | null;
  readonly #threads: Worker[] = [];
  readonly #servers: { close(): void }[] = [];
  readonly #ports: MessagePort[] = [];
  /** Sent together when the turn that sends them is over: a message wakes a thread. */
  readonly #outbox = new CommandTexts();
  #state: 'running' | 'closing' | 'lost' = 'running';

  constructor(options: ThreadReplicaOptions) {
    this.workers = options.workers;
    this.#logger = options.logger;
    const limit = options.memoryLimitBytes;
    this.#budget = limit === undefined ? null : sharedBudget(options.workers, limit);
    const mesh = meshPorts(options.workers);
    for (let index = 0; index < options.workers; index++) this.#start(index, options, mesh[index]!);
  }

  #start(index: number, o: ThreadReplicaOptions, peerPorts: readonly (MessagePort | null)[]): void {
    const serve = (store: 'durable' | 'memory'): MessagePort => {
      const { port1, port2 } = new MessageChannel();
      this.#servers.push(serveStores(storePort(port1), o.stores[store].stores));
      this.#ports.push(port1);
      return port2;
    };
    const data: WorkerData = {
      index,
      peers: o.workers,
      incarnation: o.incarnation,
      processTag: o.processTag,
      dataDir: o.dataDir,
      budget: this.#budget,
      durablePort: serve('durable'),
      memoryPort: serve('memory'),
      peerPorts,
    };
    const transferList = [data.durablePort, data.memoryPort, ...peerPorts.filter((p) => p !== null)];
    const heapLimitMb =
      o.heapLimitMb ??
      (o.memoryLimitBytes && Math.max(MIN_HEAP_MB, o.memoryLimitBytes / o.workers / 2 ** 20));
    const thread = new Worker(ENTRY, {
      workerData: data,
      transferList,
      name: `worker ${index}`,
      execArgv: workerFlags(),
      ...(heapLimitMb !== undefined && { resourceLimits: { maxOldGenerationSizeMb: heapLimitMb } }),
    });
    thread.on('message', (m: FromWorker) => this.#receive(m));
    thread.on('error', (error: NodeJS.ErrnoException) =>
      // V8 ends a thread whose heap is full; the process goes on.
      this.#lost(error.code === 'ERR_WORKER_OUT_OF_MEMORY' ? OOM : (error.stack ?? error.message)),
    );
    thread.on('exit', (code) => this.#lost(`worker ${index} ended with code ${code}`));
    this.#threads.push(thread);
  }

  #receive(m: FromWorker): void {
    switch (m.kind) {
      case 'responses':
        for (const r of unfolded(m.responses)) if (this.#state === 'running') this.onResponse(r);
        break;
      case 'log':
        this.#logger[m.level](m.fields, m.message);
        break;
      case 'failed':
        this.#logger[m.reason === OOM ? 'warn' : 'error']({ error: m.message }, 'a worker failed');
        this.#lost(m.reason);
        break;
      case 'closed':
        break;
    }
  }

  send(command: Command): void {
    if (this.#state !== 'running') return;
    if (this.#outbox.isEmpty) queueMicrotask(() => this.#flush());
    this.#outbox.add(command);
  }

  #flush(): void {
    if (this.#outbox.isEmpty) return;
    const commands = this.#outbox.take();
    for (const t of this.#threads) t.postMessage({ kind: 'commands', commands } satisfies ToWorker);
  }

  #lost(reason: string): void {
    if (this.#state !== 'running') return;
    this.#state = 'lost';
    void this.#end();
    this.onLost(reason);
  }

  async close(): Promise<void> {
    if (this.#state === 'running') {
      this.#state = 'closing';
      this.#flush();
      const exits = this.#threads.map((t) => new Promise<void>((resolve) => t.once('exit', () => resolve())));
      for (const t of this.#threads) t.postMessage({ kind: 'close' } satisfies ToWorker);
      const late = new Promise<void>((resolve) => setTimeout(resolve, CLOSE_MS).unref());
      await Promise.race([Promise.all(exits), late]);
    }
    await this.#end();
  }

  async #end(): Promise<void> {
    await Promise.all(this.#threads.map((t) => t.terminate()));
    for (const s of this.#servers) s.close();
    for (const p of this.#ports) p.close();
  }
}

/** A channel between each two workers: `ports[i][j]` is worker i's end of the one to j. */
function meshPorts(workers: number): (MessagePort | null)[][] {
  const ports = Array.from({ length: workers }, () => new Array<MessagePort | null>(workers).fill(null));
  for (let i = 0; i < workers; i++)
    for (let j = i + 1; j < workers; j++) {
      const { port1, port2 } = new MessageChannel();
      ports[i]![j] = port1;
      ports[j]![i] = port2;
    }
  return ports;
}
