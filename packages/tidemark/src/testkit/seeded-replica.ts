/**
 * A replica whose workers run in one thread in an order drawn from a seed: which worker is told, which message arrives,
 * which operator runs next. Commands reach a worker in their order and messages of a pair of workers in theirs, as on
 * threads; everything else may happen in any order.
 */
import { ComputeWorker, type ComputeWorkerOptions } from '../compute/compute-worker.ts';
import type { Command, ReplicaConnection, Response } from '../compute/protocol.ts';
import { LocalMesh } from '../dataflow/local-mesh.ts';
import type { SeededRandom } from './random.ts';

type Shared = Pick<ComputeWorkerOptions, 'clock' | 'timers' | 'logger' | 'shards' | 'watch' | 'incarnation'>;

export interface SeededReplicaOptions extends Shared {
  readonly workers: number;
  readonly random: SeededRandom;
  /** Runs `f` soon, never before it returns. */
  readonly schedule: (f: () => void) => void;
}

/** Steps of a turn before whoever else shares the thread has its own. */
const STEPS_PER_TURN = 16;

export class SeededReplica implements ReplicaConnection {
  readonly workers: number;
  onResponse: (response: Response) => void = () => undefined;
  onLost: (reason: string) => void = () => undefined;
  readonly #o: SeededReplicaOptions;
  readonly #workers: ComputeWorker[] = [];
  readonly #mesh: LocalMesh;
  readonly #commands: Command[][];
  readonly #responses: Response[] = [];
  #scheduled = false;
  #cancelTick: (() => void) | null = null;
  #closed = false;

  constructor(options: SeededReplicaOptions) {
    this.#o = options;
    this.workers = options.workers;
    this.#mesh = new LocalMesh(options.workers, () => this.#wake());
    this.#commands = Array.from({ length: options.workers }, () => []);
    for (let index = 0; index < options.workers; index++) {
      const worker = new ComputeWorker({
        ...options,
        index,
        peers: options.workers,
        mesh: this.#mesh.end(index),
        send: (r) => this.#responses.push(r),
        onWake: () => this.#wake(),
      });
      this.#mesh.attach(index, worker);
      this.#workers.push(worker);
    }
  }

  send(command: Command): void {
    for (const queue of this.#commands) queue.push(command);
    this.#wake();
  }

  #wake(): void {
    if (this.#scheduled || this.#closed) return;
    this.#scheduled = true;
    this.#o.schedule(() => this.#turn());
  }

  #turn(): void {
    this.#scheduled = false;
    if (this.#closed) return;
    try {
      for (let i = 0; i < STEPS_PER_TURN; i++) this.#act();
      // A turn without chance in it, so that idleness is found out.
      let more = this.#mesh.pending > 0 || this.#commands.some((q) => q.length > 0);
      if (!more) for (const w of this.#workers) if (w.step() === 'more') more = true;
      more ||= this.#mesh.pending > 0;
      for (const r of this.#responses.splice(0)) this.onResponse(r);
      if (more) this.#wake();
      else this.#tickLater();
    } catch (error) {
      this.#o.logger.error({ error }, 'a worker failed');
      this.#end();
      this.onLost(error instanceof Error ? error.message : String(error));
    }
  }

  #act(): void {
    const { random } = this.#o;
    const index = random.below(this.workers);
    switch (random.below(3)) {
      case 0: {
        const command = this.#commands[index]!.shift();
        if (command !== undefined) this.#workers[index]!.handle(command);
        return;
      }
      case 1:
        this.#mesh.deliverOne(random);
        return;
      default:
        this.#workers[index]!.step();
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

  #end(): void {
    this.#closed = true;
    this.#cancelTick?.();
    for (const w of this.#workers) w.close();
  }

  async close(): Promise<void> {
    if (!this.#closed) this.#end();
  }
}
