/**
 * One replica as the controller sees it: its connection, and the frontiers that each worker reported. A replica's
 * frontier is the least over its workers; a worker that does not own a sink's frontier reports it empty.
 */
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { FrontiersResponse, ReplicaConnection } from '../compute/protocol.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';

interface WorkerFrontiers {
  readonly write: Frontier[];
  readonly input: Frontier[];
  readonly output: Frontier[];
}

const least = (fs: readonly Frontier[]): Frontier => {
  let m = EMPTY;
  for (const f of fs) if (f < m) m = f;
  return m;
};

export class Replica {
  readonly id: ReplicaId;
  readonly connection: ReplicaConnection;
  readonly #frontiers = new Map<GlobalId, WorkerFrontiers>();

  constructor(id: ReplicaId, connection: ReplicaConnection) {
    this.id = id;
    this.connection = connection;
  }

  get workers(): number {
    return this.connection.workers;
  }

  receive(r: FrontiersResponse): void {
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

  output(id: GlobalId): Frontier {
    return this.#least(id, 'output');
  }

  /** What every worker has reported: nothing yet is the least frontier. */
  #least(id: GlobalId, which: keyof WorkerFrontiers): Frontier {
    const f = this.#frontiers.get(id);
    return f === undefined ? MIN_TIME : least(f[which]);
  }

  forget(id: GlobalId): void {
    this.#frontiers.delete(id);
  }
}
