/**
 * Peeks under way: each is sent to every worker of one replica, and its answer is put together from theirs. Every peek
 * ends exactly once: with rows, with an error, cancelled, or because its target or replica went. One that may run anywhere moves
 * to another replica when its own is lost, and begins anew there. Until its replica is there it waits, and nobody is asked.
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
  /** Under a uuid of its own on each replica that it was moved to: what the earlier ones still say is nobody's. */
  readonly command: PeekCommand;
  /** Undefined: it waits for one. */
  readonly replicaId: ReplicaId | undefined;
  /** The one replica that may answer it; undefined: any. */
  readonly wanted: ReplicaId | undefined;
  readonly answer: Promise<Batch>;
}

interface PendingPeek extends RunningPeek {
  command: PeekCommand;
  replicaId: ReplicaId | undefined;
  readonly workersLeft: Set<number>;
  readonly parts: Batch[];
  error: SqlError | undefined;
  resolve(rows: Batch): void;
  reject(error: Error): void;
}

export class Peeks {
  /** By the uuid under which it runs now. */
  readonly #pending = new Map<string, PendingPeek>();

  get size(): number {
    return this.#pending.size;
  }

  /** It waits until it is run. */
  start(command: PeekCommand, wanted: ReplicaId | undefined): RunningPeek {
    const { promise, resolve, reject } = Promise.withResolvers<Batch>();
    const peek: PendingPeek = {
      command,
      replicaId: undefined,
      wanted,
      answer: promise,
      workersLeft: new Set(),
      parts: [],
      error: undefined,
      resolve,
      reject,
    };
    this.#pending.set(command.uuid, peek);
    return peek;
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

  /** Begins on a replica, or anew on another one: what the first one said is forgotten. */
  run({ command }: RunningPeek, replica: PeekReplica, uuid: string): void {
    const peek = this.#pending.get(command.uuid);
    assert(peek !== undefined, `peek ${command.uuid} is under way`);
    this.#pending.delete(command.uuid);
    this.#pending.set(uuid, peek);
    peek.command = { ...command, uuid };
    peek.replicaId = replica.id;
    peek.workersLeft.clear();
    for (let w = 0; w < replica.workers; w++) peek.workersLeft.add(w);
    peek.parts.length = 0;
    peek.error = undefined;
  }

  matching(which: (p: RunningPeek) => boolean): readonly RunningPeek[] {
    return [...this.#pending.values()].filter(which);
  }

  fail({ command: { uuid } }: RunningPeek, error: Error): void {
    const peek = this.#pending.get(uuid);
    if (peek === undefined) return;
    this.#pending.delete(uuid);
    peek.reject(error);
  }
}

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
