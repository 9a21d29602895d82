/**
 * A replica whose workers are plain objects of this thread, on an injected scheduler: for embedding, for tests and for the simulator. The same
 * workers, commands and responses as on threads; a message takes one turn of the scheduler.
 */
import type { Clock, Logger, Random, Timers } from '../base/clock.ts';
import { ComputeWorker } from '../compute/compute-worker.ts';
import type { Command, ReplicaConnection, Response } from '../compute/protocol.ts';
import type { MeshMessage } from '../dataflow/mesh.ts';
import { type StoreSet, shardAccess, watchUpper } from './shard-access.ts';

export interface InProcessReplicaOptions {
  readonly workers: number;
  readonly stores: StoreSet;
  readonly clock: Clock;
  /** Per worker, for skew; `clock` if absent. */
  readonly workerClock?: (index: number) => Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly incarnation: string;
  /** Runs `f` soon, never before it returns. */
  readonly schedule: (f: () => void) => void;
  readonly random?: Random;
}

export class InProcessReplica implements ReplicaConnection {
  readonly workers: number;
  onResponse: (response: Response) => void = () => undefined;
  onLost: (reason: string) => void = () => undefined;
  readonly #o: InProcessReplicaOptions;
  readonly #workers: readonly ComputeWorker[];
  readonly #inbox: (() => void)[] = [];
  readonly #responses: Response[] = [];
  #scheduled = false;
  #cancelTick: (() => void) | null = null;
  #closed = false;

  constructor(options: InProcessReplicaOptions) {
    this.#o = options;
    this.workers = options.workers;
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
      shards: shardAccess(o.stores),
      watch: (shardId, onUpper) => watchUpper(o.stores, shardId, onUpper),
      send: (r) => this.#responses.push(r),
      onWake: () => this.#wake(),
      incarnation: o.incarnation,
      ...(o.random !== undefined && { random: o.random }),
    });
  }

  #deliver(from: number, to: number, message: MeshMessage): void {
    this.#inbox.push(() => this.#workers[to]!.receive(from, message));
    this.#wake();
  }

  send(command: Command): void {
    for (const w of this.#workers) this.#inbox.push(() => w.handle(command));
    this.#wake();
  }

  #wake(): void {
    if (this.#scheduled || this.#closed || this.#workers === undefined) return;
    this.#scheduled = true;
    this.#o.schedule(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    try {
      for (const f of this.#inbox.splice(0)) f();
      let more = false;
      for (const w of this.#workers) if (w.step() === 'more') more = true;
      for (const r of this.#responses.splice(0)) this.onResponse(r);
      if (more || this.#inbox.length > 0) this.#wake();
      else this.#tickLater();
    } catch (error) {
      this.#lost(error);
    }
  }

  /** The logs want a turn each interval, though nothing else happens. */
  #tickLater(): void {
    const ms = this.#workers[0]!.nextTickMs;
    if (ms === null || this.#cancelTick !== null || this.#closed) return;
    this.#cancelTick = this.#o.timers.after(ms, () => {
      this.#cancelTick = null;
      this.#wake();
    });
  }

  /** A failed assertion in a worker ends the replica, never the environment. */
  #lost(error: unknown): void {
    this.#o.logger.error({ error }, 'a worker failed');
    this.#end();
    this.onLost(error instanceof Error ? error.message : String(error));
  }

  #end(): void {
    this.#closed = true;
    this.#cancelTick?.();
    for (const w of this.#workers) w.close();
  }

  async close(): Promise<void> {
    if (!this.#closed) this.#end();
  }

  /** For tests: what lives on each worker. */
  debugCounts(): ReturnType<ComputeWorker['debugCounts']>[] {
    return this.#workers.map((w) => w.debugCounts());
  }
}
