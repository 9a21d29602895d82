/**
 * Peeks under way: each is sent to every worker of one replica, and its answer is put together from theirs. Every peek
 * ends exactly once: with rows, with an error, cancelled, or because its target or replica went. One that may run anywhere moves
 * to another replica when its own is lost, and begins anew there.
 */

import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { ReplicaId } from '../base/ids.ts';
import { orderAndCut, projected } from '../compute/finishing.ts';
import type { PeekCommand, PeekResponse } from '../compute/protocol.ts';
import { sqlErrorOf } from '../expr/eval-error.ts';
import { type Batch, concatBatches, emptyBatch } from '../repr/batch.ts';
import { kindOf } from '../repr/types.ts';

/** Where a peek runs. */
interface PeekReplica {
  readonly id: ReplicaId;
  readonly workers: number;
}

export interface RunningPeek {
  readonly command: PeekCommand;
  readonly replicaId: ReplicaId;
  /** Whether another replica may answer it. */
  readonly movable: boolean;
}

interface PendingPeek extends RunningPeek {
  replicaId: ReplicaId;
  readonly workersLeft: Set<number>;
  readonly parts: Batch[];
  error: SqlError | undefined;
  resolve(rows: Batch): void;
  reject(error: Error): void;
}

export class Peeks {
  readonly #pending = new Map<string, PendingPeek>();

  get size(): number {
    return this.#pending.size;
  }

  start(command: PeekCommand, replica: PeekReplica, movable: boolean): Promise<Batch> {
    const { promise, resolve, reject } = Promise.withResolvers<Batch>();
    this.#pending.set(command.uuid, {
      command,
      replicaId: replica.id,
      movable,
      workersLeft: workersOf(replica),
      parts: [],
      error: undefined,
      resolve,
      reject,
    });
    return promise;
  }

  /** True when this response was the last one: the peek is over. */
  receive(replicaId: ReplicaId, r: PeekResponse): boolean {
    const peek = this.#pending.get(r.uuid);
    // Ended on our side meanwhile; or never this replica's to answer.
    if (peek === undefined || peek.replicaId !== replicaId) return false;
    switch (r.result.kind) {
      case 'rows':
        peek.parts.push(r.result.batch);
        if (r.result.more) return false;
        break;
      case 'error':
        // Rows of a collection in error need not add up, and the error may be another worker's.
        if (peek.error === undefined || peek.error.code === 'data_corrupted')
          peek.error = sqlErrorOf(r.result);
        break;
      case 'canceled':
        peek.error ??= canceled();
        break;
    }
    peek.workersLeft.delete(r.worker);
    if (peek.workersLeft.size > 0) return false;
    this.#pending.delete(r.uuid);
    if (peek.error !== undefined) peek.reject(peek.error);
    else peek.resolve(finish(peek.command, peek.parts));
    return true;
  }

  /** Begins anew on another replica; what the first one said is forgotten. */
  move(uuid: string, replica: PeekReplica): void {
    const peek = this.#pending.get(uuid);
    assert(peek !== undefined, `peek ${uuid} is under way`);
    peek.replicaId = replica.id;
    peek.workersLeft.clear();
    for (const w of workersOf(replica)) peek.workersLeft.add(w);
    peek.parts.length = 0;
    peek.error = undefined;
  }

  matching(which: (p: RunningPeek) => boolean): readonly RunningPeek[] {
    return [...this.#pending.values()].filter(which);
  }

  fail(uuid: string, error: Error): void {
    const peek = this.#pending.get(uuid);
    if (peek === undefined) return;
    this.#pending.delete(uuid);
    peek.reject(error);
  }

  /** Ends every peek that the filter names; gives their uuids. */
  failAll(which: (p: RunningPeek) => boolean, error: () => Error): string[] {
    const uuids = this.matching(which).map((p) => p.command.uuid);
    for (const uuid of uuids) this.fail(uuid, error());
    return uuids;
  }
}

const workersOf = (r: PeekReplica): Set<number> => new Set(Array.from({ length: r.workers }, (_, i) => i));

/** What was read went: an index, or what a dataflow reads. Whether the relation itself went is the catalog's to tell. */
export class GoneError extends SqlError {
  constructor(what: string) {
    super('undefined_table', `${what} was dropped meanwhile`);
  }
}

export const canceled = (): SqlError =>
  new SqlError('query_canceled', 'canceling statement due to user request');

function finish(command: PeekCommand, parts: readonly Batch[]): Batch {
  const kinds = command.desc.columns.map((c) => kindOf(c.type));
  const all = parts.length === 0 ? emptyBatch(kinds) : concatBatches(parts);
  const types = command.desc.columns.map((c) => c.type);
  return projected(orderAndCut(all, types, command.finishing), command.finishing.project);
}
