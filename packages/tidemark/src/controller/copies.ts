/** COPY … TO a file: each is written by one replica, waits until that is there, and ends once: with its rows, an error, or because it is given up. */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { CopyToResponse, DataflowDescription } from '../compute/protocol.ts';
import { sqlErrorOf } from '../expr/eval-error.ts';
import { exportIds } from './command-history.ts';
import { type Members, refuseForEver } from './members.ts';

interface Copy {
  readonly replicaId: ReplicaId;
  readonly answer: PromiseWithResolvers<number>;
}

export interface CopiesOptions extends Members {
  readonly create: (dataflow: DataflowDescription, replicaId: ReplicaId) => void;
  readonly drop: (id: GlobalId) => void;
  /** Why whoever reads the collection would wait for ever. */
  readonly failure: (id: GlobalId) => SqlError | undefined;
}

export class Copies {
  readonly #o: CopiesOptions;
  readonly #open = new Map<GlobalId, Copy>();

  constructor(options: CopiesOptions) {
    this.#o = options;
  }

  get size(): number {
    return this.#open.size;
  }

  /** Builds a dataflow with one COPY on a replica, any if none is `wanted`; the number of rows, once they are written. */
  async run(dataflow: DataflowDescription, wanted: ReplicaId | undefined): Promise<number> {
    refuseForEver(this.#o, wanted);
    const { replicas, members } = this.#o;
    const [replicaId] = wanted === undefined ? [...replicas.keys(), ...members] : [wanted];
    const [id] = exportIds(dataflow) as [GlobalId];
    assert(!this.#open.has(id), `copy ${id} is started once`);
    try {
      this.#o.create(dataflow, replicaId!);
      const failure = this.#o.failure(id);
      if (failure !== undefined) throw failure;
      const answer = Promise.withResolvers<number>();
      this.#open.set(id, { replicaId: replicaId!, answer });
      return await answer.promise;
    } finally {
      this.#open.delete(id);
      this.#o.drop(id);
    }
  }

  receive(r: CopyToResponse): void {
    const { result } = r;
    if (result.kind === 'rows') this.#open.get(r.id)?.answer.resolve(result.rows);
    else if (result.kind === 'error') this.fail(r.id, sqlErrorOf(result));
    else this.fail(r.id, new SqlError('query_canceled', 'the COPY was ended'));
  }

  fail(id: GlobalId, error: SqlError): void {
    this.#open.get(id)?.answer.reject(error);
  }

  /** A replica is gone, or `targets` on it. */
  leave(replicaId: ReplicaId, error: () => SqlError, targets?: ReadonlySet<GlobalId>): void {
    for (const [id, c] of this.#open)
      if (c.replicaId === replicaId && targets?.has(id) !== false) this.fail(id, error());
  }
}
