/**
 * An aggregate's state for all groups, column at a time: arrays by group id. An accumulator is linear or keeps an
 * ordered multiset; in both cases a change costs the same whatever the size of its group, and never scans it.
 *
 * Retraction is exact: after updates that cancel, the state of a group is the one it had before, bit for bit where
 * it can be seen. The result over no non-null rows is NULL (for counts 0).
 */
import { type ErrorCode, SqlError } from '../../../base/error.ts';
import type { Column, ColumnBuilder } from '../../../repr/column.ts';
import type { Kind } from '../../../repr/types.ts';
import type { StateSize } from '../state-size.ts';

export interface Accumulator {
  /** Kind of the result column. */
  readonly outKind: Kind;
  /** Group ids below `groups` may come from now on; those never seen are zero. */
  resize(groups: number): void;
  /** Rows [0, n): row i changes group `gids[i]` by `diffs[i]` copies of the arguments at i. */
  update(gids: Int32Array, args: readonly Column[], diffs: Float64Array, n: number): void;
  /**
   * Pushes one result for each of `gids[0..n)`. A result that cannot be told (overflow, a negative multiplicity)
   * is reported to `errors` under its position, and what is pushed there does not matter.
   */
  write(gids: Int32Array, n: number, out: ColumnBuilder, errors: GroupErrors): void;
  /** Whether the updates of the group cancel exactly. */
  isZero(gid: number): boolean;
  /** The group is gone; its id will be reused. Only called where `isZero`. */
  clear(gid: number): void;
  addSize(size: StateSize): void;
}

/** A new accumulator for each operator instance: plans hold factories. */
export type AccumulatorFactory = () => Accumulator;

export interface GroupError {
  readonly code: ErrorCode;
  readonly message: string;
  /** It names the key of its group. */
  readonly namesKey?: true;
}

/** What went wrong while results were written: the first error of a position stands. */
export class GroupErrors {
  readonly byPosition: Map<number, GroupError> = new Map();
  readonly #collection: string;

  constructor(collection: string) {
    this.#collection = collection;
  }

  fail(position: number, code: ErrorCode, message: string): void {
    if (!this.byPosition.has(position)) this.byPosition.set(position, { code, message });
  }

  /** Some row was retracted more often than it was inserted. */
  negative(position: number): void {
    if (!this.byPosition.has(position)) this.byPosition.set(position, negativeError(this.#collection));
  }
}

export const negativeError = (collection: string): GroupError => ({
  code: 'internal_error',
  message: `${collection} has a negative accumulated count`,
  namesKey: true,
});

/** Runs a finishing step; an error for users becomes the error of that position. Returns whether it went well. */
export function trySql(position: number, errors: GroupErrors, step: () => void): boolean {
  try {
    step();
    return true;
  } catch (e) {
    if (!(e instanceof SqlError)) throw e;
    errors.fail(position, e.code, e.message);
    return false;
  }
}
