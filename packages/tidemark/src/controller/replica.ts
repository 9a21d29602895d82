/**
 * One replica as the controller sees it: its connection behind the hydration limiter, the frontiers that each worker reported, and what
 * failed on it. A replica's frontier is the least over its workers; a worker that does not own a sink's frontier
 * reports it empty. Lives as long as its connection: what comes back is another one of these.
 *
 * A dataflow that failed, or that the replica could not keep over a reconnect, is dropped and created again, and what its earlier
 * episode still says must not be taken for the new one's. Each creation is answered by one `installed` of each worker,
 * in order: a worker's words count once it has installed what was created last.
 */
import type { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { Command, FrontiersResponse, ReplicaConnection, Response } from '../compute/protocol.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import { exportIds } from './command-history.ts';
import { HydrationLimiter, type Queued } from './limiter.ts';

interface WorkerFrontiers {
  readonly write: Frontier[];
  readonly input: Frontier[];
  readonly output: Frontier[];
}

/** Of one export: how often it was created over this connection, and installed by each worker. */
interface Episodes {
  created: number;
  readonly installed: number[];
  /** Workers that have hydrated the last one. */
  readonly hydrated: Set<number>;
}

export interface ReplicaOptions {
  readonly id: ReplicaId;
  readonly connection: ReplicaConnection;
  readonly nowMs: () => number;
  /** Of the hydration limiter; undefined: whatever is scheduled starts. */
  readonly capacity: (() => number) | undefined;
}

const least = (fs: readonly Frontier[]): Frontier => {
  let m = EMPTY;
  for (const f of fs) if (f < m) m = f;
  return m;
};

export class Replica {
  readonly id: ReplicaId;
  readonly connection: ReplicaConnection;
  /** What ended on a host error here, and has not been created again. */
  readonly failures: Map<GlobalId, SqlError> = new Map();
  readonly #frontiers = new Map<GlobalId, WorkerFrontiers>();
  readonly #episodes = new Map<GlobalId, Episodes>();
  readonly #limiter: HydrationLimiter | null;

  constructor(options: ReplicaOptions) {
    const { id, connection, nowMs, capacity } = options;
    this.id = id;
    this.connection = connection;
    this.#limiter =
      capacity === undefined
        ? null
        : new HydrationLimiter({
            workers: connection.workers,
            capacity,
            nowMs,
            send: (c) => connection.send(c),
          });
  }

  get workers(): number {
    return this.connection.workers;
  }

  send(command: Command): void {
    if (command.kind === 'createDataflow')
      for (const id of exportIds(command.dataflow)) {
        const e = this.#episodes.get(id);
        if (e === undefined)
          this.#episodes.set(id, {
            created: 1,
            installed: new Array<number>(this.workers).fill(0),
            hydrated: new Set(),
          });
        else {
          e.created++;
          e.hydrated.clear();
        }
      }
    if (this.#limiter === null) this.connection.send(command);
    else this.#limiter.send(command);
  }

  /** False: it is of an episode that has ended. */
  receive(r: Response): boolean {
    if (
      r.kind !== 'frontiers' &&
      r.kind !== 'lifecycle' &&
      r.kind !== 'failed' &&
      r.kind !== 'subscribeResponse'
    )
      return true;
    const e = this.#episodes.get(r.id);
    if (r.kind === 'lifecycle' && r.stage === 'installed' && e !== undefined) e.installed[r.worker]!++;
    if (e !== undefined && e.installed[r.worker]! < e.created) return false;
    if (r.kind === 'frontiers') this.#frontiersOf(r);
    if (r.kind === 'lifecycle' && r.stage === 'hydrated') e?.hydrated.add(r.worker);
    this.#limiter?.receive(r);
    return true;
  }

  #frontiersOf(r: FrontiersResponse): void {
    let f = this.#frontiers.get(r.id);
    if (f === undefined) {
      const zero = (): Frontier[] => new Array<Frontier>(this.workers).fill(MIN_TIME);
      f = { write: zero(), input: zero(), output: zero() };
      this.#frontiers.set(r.id, f);
    }
    if (r.write !== undefined) f.write[r.worker] = r.write;
    if (r.input !== undefined) f.input[r.worker] = r.input;
    if (r.output !== undefined) f.output[r.worker] = r.output;
  }

  write(id: GlobalId): Frontier {
    return this.#least(id, 'write');
  }

  /** What its dataflow has read of its imports. */
  input(id: GlobalId): Frontier {
    return this.#least(id, 'input');
  }

  output(id: GlobalId): Frontier {
    return this.#least(id, 'output');
  }

  /** What every worker has reported: nothing yet is the least frontier. */
  #least(id: GlobalId, which: keyof WorkerFrontiers): Frontier {
    const f = this.#frontiers.get(id);
    return f === undefined ? MIN_TIME : least(f[which]);
  }

  /** Every worker has. */
  isHydrated(id: GlobalId): boolean {
    return this.#episodes.get(id)?.hydrated.size === this.workers;
  }

  /** Undefined: it does not wait in the limiter's queue. */
  queued(id: GlobalId): Queued | undefined {
    return this.#limiter?.queued(id);
  }

  /** The limiter's capacity may have changed. */
  step(): void {
    this.#limiter?.step();
  }

  /** The export is about to be created again. */
  restart(id: GlobalId): void {
    this.#frontiers.delete(id);
    this.failures.delete(id);
  }

  forget(id: GlobalId): void {
    this.#frontiers.delete(id);
    this.#episodes.delete(id);
    this.failures.delete(id);
  }
}
