/**
 * COPY … TO a file: each is written by one replica and ends once: with its rows, an error, or because it is given up. One that finds no
 * replica connected is the first one's that comes, unless it names one.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { CopyToResponse, DataflowDescription } from '../compute/protocol.ts';
import { sqlErrorOf } from '../expr/eval-error.ts';
import type { Collection } from './collection.ts';
import { type CommandHistory, exportIds } from './command-history.ts';
import { type Members, refuseForEver } from './members.ts';

interface Copy {
  replicaId: ReplicaId;
  /** Any replica may write it, and none has been told to. */
  isFree: boolean;
  readonly answer: PromiseWithResolvers<number>;
}

export interface CopiesOptions extends Members {
  readonly collections: ReadonlyMap<GlobalId, Collection>;
  readonly history: Pick<CommandHistory, 'move'>;
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
      const isFree = wanted === undefined && !replicas.has(replicaId!);
      this.#open.set(id, { replicaId: replicaId!, isFree, answer });
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
    const c = this.#open.get(id);
    if (c === undefined) return;
    c.isFree = false;
    c.answer.reject(error);
  }

  /** A replica is connected, and about to be told what it has. */
  joining(replicaId: ReplicaId): void {
    for (const [id, c] of this.#open)
      if (c.isFree) {
        c.isFree = false;
        this.#move(id, c, replicaId);
      }
  }

  #move(id: GlobalId, c: Copy, replicaId: ReplicaId): void {
    c.replicaId = replicaId;
    this.#o.collections.get(id)!.replicaId = replicaId;
    this.#o.history.move(id, replicaId);
  }

  /** A replica is gone, or `targets` on it. */
  leave(replicaId: ReplicaId, error: () => SqlError, targets?: ReadonlySet<GlobalId>): void {
    for (const [id, c] of this.#open) {
      if (c.replicaId !== replicaId || targets?.has(id) === false) continue;
      const [other] = c.isFree ? this.#o.members : [];
      if (other === undefined) this.fail(id, error());
      else this.#move(id, c, other);
    }
  }
}
