/**
 * A replica whose workers are plain objects of this thread, on an injected scheduler: for embedding, for tests and for the simulator. The same
 * workers, commands and responses as on threads; a message takes one turn of the scheduler.
 */
import type { Clock, Logger, Random, Timers } from '../base/clock.ts';
import { ComputeWorker } from '../compute/compute-worker.ts';
import { lostReason, MemoryBudget, OOM, type SharedBudget, sharedBudget } from '../compute/memory-budget.ts';
import type { Command, ReplicaConnection, Response } from '../compute/protocol.ts';
import type { MeshMessage } from '../dataflow/mesh.ts';
import type { LogUpdates } from '../introspection/compute-log.ts';
import type { MetricsRegistry } from '../introspection/metrics-registry.ts';
import type { ResourceUsage } from '../introspection/process-log.ts';
import { EarliestTimer } from './earliest-timer.ts';
import { openFile } from './file-writer.ts';
import { inMemory, type StoreSet, shardAccess, watchUpper } from './shard-access.ts';

export interface InProcessReplicaOptions {
  readonly workers: number;
  readonly stores: StoreSet;
  readonly clock: Clock;
  /** Per worker, for skew; `clock` if absent. */
  readonly workerClock?: (index: number) => Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly incarnation: string;
  /** Of the arrangements of all workers. */
  readonly memoryLimitBytes?: number | undefined;
  /** Runs `f` soon, never before it returns. */
  readonly schedule: (f: () => void) => void;
  /** Draws the order in which operators, and workers within a turn, run. */
  readonly random?: Random;
  /** False: the worker stands still, and what is sent to it waits. `wake` when that has changed. */
  readonly runs?: (index: number) => boolean;
  /** What a worker may say of the machine. */
  readonly usage?: (worker: number) => Iterable<ResourceUsage>;
  /** Where COPY … TO writes, if not to the machine's files at its own pace. */
  readonly openFile?: typeof openFile;
  /** Sees what each worker's log says. */
  readonly onLogUpdates?: (worker: number, updates: LogUpdates) => void;
}

export class InProcessReplica implements ReplicaConnection {
  readonly workers: number;
  onResponse: (response: Response) => void = () => undefined;
  onLost: (reason: string) => void = () => undefined;
  readonly #o: InProcessReplicaOptions;
  readonly #budget: SharedBudget | undefined = undefined;
  readonly #workers: readonly ComputeWorker[];
  /** What was sent to each worker and not yet taken. */
  readonly #inboxes: (() => void)[][];
  readonly #responses: Response[] = [];
  #scheduled = false;
  readonly #tick: EarliestTimer;
  #closed = false;

  constructor(options: InProcessReplicaOptions) {
    this.#o = options;
    this.workers = options.workers;
    const { workers, memoryLimitBytes, clock, timers } = options;
    if (memoryLimitBytes !== undefined) this.#budget = sharedBudget(workers, memoryLimitBytes);
    this.#tick = new EarliestTimer({ clock, timers, f: () => this.wake() });
    this.#inboxes = Array.from({ length: options.workers }, () => []);
    this.#workers = Array.from({ length: options.workers }, (_, i) => this.#worker(i));
  }

  #worker(index: number): ComputeWorker {
    const o = this.#o;
    return new ComputeWorker({
      index,
      peers: o.workers,
      mesh: { send: (to, message) => this.#deliver(index, to, message) },
      clock: o.workerClock?.(index) ?? o.clock,
      timers: o.timers,
      logger: o.logger,
      openFile: o.openFile ?? openFile,
      shards: shardAccess(o.stores),
      inMemory,
      watch: (shardId, onUpper) => watchUpper(o.stores, shardId, onUpper),
      send: (r) => this.#responses.push(r),
      onWake: () => this.wake(),
      incarnation: o.incarnation,
      ...(this.#budget !== undefined && { budget: new MemoryBudget(this.#budget, index) }),
      ...(o.usage !== undefined && { usage: () => o.usage!(index) }),
      ...(o.random !== undefined && { random: o.random }),
      ...(o.onLogUpdates !== undefined && { onLogUpdates: (u: LogUpdates) => o.onLogUpdates!(index, u) }),
    });
  }

  #deliver(from: number, to: number, message: MeshMessage): void {
    this.#inboxes[to]!.push(() => this.#workers[to]!.receive(from, message));
    this.wake();
  }

  send(command: Command): void {
    for (const [i, w] of this.#workers.entries()) this.#inboxes[i]!.push(() => w.handle(command));
    this.wake();
  }

  wake(): void {
    if (this.#scheduled || this.#closed || this.#workers === undefined) return;
    this.#scheduled = true;
    this.#o.schedule(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    try {
      const running = this.#running();
      let more = false;
      for (const i of running) for (const f of this.#inboxes[i]!.splice(0)) f();
      for (const i of running) if (this.#workers[i]!.step() === 'more') more = true;
      for (const r of this.#responses.splice(0)) this.onResponse(r);
      if (more || running.some((i) => this.#inboxes[i]!.length > 0)) this.wake();
      else this.#tickLater();
    } catch (error) {
      this.#lost(error);
    }
  }

  /** The workers that take part in this turn, in the order they do. */
  #running(): readonly number[] {
    const { runs, random } = this.#o;
    const order = this.#workers.map((_, i) => i).filter((i) => runs?.(i) ?? true);
    if (random === undefined) return order;
    for (let i = order.length - 1; i > 0; i--) {
      const j = Math.floor(random.next() * (i + 1));
      [order[i], order[j]] = [order[j]!, order[i]!];
    }
    return order;
  }

  /** The logs want a turn each interval, though nothing else happens. Of a worker that stands still they do in vain. */
  #tickLater(): void {
    if (this.#closed) return;
    const running = this.#workers.filter((_, i) => this.#o.runs?.(i) ?? true);
    this.#tick.within(Math.min(...running.map((w) => w.nextTickMs ?? Number.POSITIVE_INFINITY)));
  }

  /** A failed assertion in a worker ends the replica, never the environment. */
  #lost(error: unknown): void {
    const reason = lostReason(error);
    this.#o.logger[reason === OOM ? 'warn' : 'error']({ error }, 'a worker failed');
    this.#end();
    this.onLost(reason);
  }

  #end(): void {
    this.#closed = true;
    this.#tick.cancel();
    for (const w of this.#workers) w.close();
  }

  async close(): Promise<void> {
    if (!this.#closed) this.#end();
  }

  /** What each worker counts and what metric sinks keep. */
  get metrics(): readonly MetricsRegistry[] {
    return this.#workers.map((w) => w.metrics);
  }

  /** For tests: what lives on each worker. */
  debugCounts(): ReturnType<ComputeWorker['debugCounts']>[] {
    return this.#workers.map((w) => w.debugCounts());
  }
}
