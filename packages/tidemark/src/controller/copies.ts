/** COPY … TO a file under way: each is written by one replica, and ends once: with its rows, an error, or because it is given up. */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { CopyToResponse } from '../compute/protocol.ts';
import { sqlErrorOf } from '../expr/eval-error.ts';

interface Copy {
  readonly replicaId: ReplicaId;
  readonly answer: PromiseWithResolvers<number>;
}

export class Copies {
  readonly #open = new Map<GlobalId, Copy>();

  get size(): number {
    return this.#open.size;
  }

  /** Rows written. */
  async start(id: GlobalId, replicaId: ReplicaId): Promise<number> {
    assert(!this.#open.has(id), `copy ${id} is started once`);
    const answer = Promise.withResolvers<number>();
    this.#open.set(id, { replicaId, answer });
    try {
      return await answer.promise;
    } finally {
      this.#open.delete(id);
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
