/**
 * Peeks under way: each is sent to every worker of one replica, and its answer is put together from theirs. Every peek
 * ends exactly once: with rows, with an error, cancelled, or because its target or replica went.
 */

import { assert } from '../base/assert.ts';
import { type ErrorCode, SQLSTATE, SqlError } from '../base/error.ts';
import type { ReplicaId } from '../base/ids.ts';
import type { PeekCommand, PeekResponse } from '../compute/protocol.ts';
import type { RowSetFinishing } from '../plan/lir.ts';
import { type Batch, concatBatches, diffAt, emptyBatch, gatherBatch } from '../repr/batch.ts';
import { sortIndices } from '../repr/compare.ts';
import { kindOf, type SqlType } from '../repr/types.ts';

interface PendingPeek {
  readonly command: PeekCommand;
  readonly replicaId: ReplicaId;
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

  start(command: PeekCommand, replicaId: ReplicaId, workers: number): Promise<Batch> {
    const { promise, resolve, reject } = Promise.withResolvers<Batch>();
    const workersLeft = new Set(Array.from({ length: workers }, (_, i) => i));
    this.#pending.set(command.uuid, {
      command,
      replicaId,
      workersLeft,
      parts: [],
      error: undefined,
      resolve,
      reject,
    });
    return promise;
  }

  /** True when this response was the last one: the peek is over. */
  receive(r: PeekResponse): boolean {
    const peek = this.#pending.get(r.uuid);
    if (peek === undefined) return false; // ended on our side meanwhile
    switch (r.result.kind) {
      case 'rows':
        peek.parts.push(r.result.batch);
        if (r.result.more) return false;
        break;
      case 'error': {
        const { code, message, detail, hint } = r.result;
        peek.error ??= new SqlError(code as ErrorCode, message, { detail, hint });
        assert(peek.error.code in SQLSTATE, `a peek's error has a known code: ${code}`);
        break;
      }
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

  fail(uuid: string, error: Error): void {
    const peek = this.#pending.get(uuid);
    if (peek === undefined) return;
    this.#pending.delete(uuid);
    peek.reject(error);
  }

  /** Ends every peek that the filter names; gives their uuids. */
  failAll(
    which: (p: { command: PeekCommand; replicaId: ReplicaId }) => boolean,
    error: () => Error,
  ): string[] {
    const uuids = [...this.#pending].filter(([, p]) => which(p)).map(([uuid]) => uuid);
    for (const uuid of uuids) this.fail(uuid, error());
    return uuids;
  }
}

export const canceled = (): SqlError =>
  new SqlError('query_canceled', 'canceling statement due to user request');

function finish(command: PeekCommand, parts: readonly Batch[]): Batch {
  const kinds = command.desc.columns.map((c) => kindOf(c.type));
  const all = parts.length === 0 ? emptyBatch(kinds) : concatBatches(parts);
  return finishRows(
    all,
    command.desc.columns.map((c) => c.type),
    command.finishing,
  );
}

/**
 * Order, offset and limit by multiplicity, projection. Diffs of the result are multiplicities; rows stay
 * consolidated, so that a million equal rows are one.
 */
export function finishRows(rows: Batch, types: readonly SqlType[], f: RowSetFinishing): Batch {
  const project = (b: Batch): Batch => ({ ...b, columns: f.project.map((p) => b.columns[p]!) });
  if (f.orderBy.length === 0 && f.limit === null && f.offset === 0) return project(rows);
  const keys = f.orderBy.map(({ column, desc, nullsFirst }) => ({
    column: rows.columns[column]!,
    type: types[column]!,
    desc,
    nullsFirst,
  }));
  const order = sortIndices(keys, rows.length);
  const indices = new Int32Array(rows.length);
  const diffs = new Float64Array(rows.length);
  let skip = f.offset;
  let left = f.limit ?? Number.POSITIVE_INFINITY;
  let n = 0;
  for (let k = 0; k < rows.length && left > 0; k++) {
    const i = order[k]!;
    let m = diffAt(rows, i);
    const skipped = Math.min(skip, m);
    skip -= skipped;
    m = Math.min(m - skipped, left);
    if (m <= 0) continue;
    left -= m;
    indices[n] = i;
    diffs[n++] = m;
  }
  return project({ ...gatherBatch(rows, indices, n), diffs: diffs.slice(0, n) });
}
