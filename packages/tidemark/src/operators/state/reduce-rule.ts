/**
 * GROUP BY: for each key the results of some aggregates.
 *
 *   output = { key ++ results(rows of key) | key with rows };  a change of a group emits -old, +new at that time
 *
 * State: a table of groups, the number of rows of each, and one accumulator per aggregate. The old row of a group
 * is written down when its first change of the open time comes and compared when the time closes, so that a group
 * whose result stayed emits nothing. A group with an error (a result out of range; a count or a multiplicity that
 * became negative, which names the collection) emits that error as data in place of its row, and takes it back
 * when the group heals. A group vanishes when no rows are left *and* its aggregates cancel exactly; rows that
 * cancel in number alone are a negative accumulation, and the state stays until it heals.
 *
 * Without rows there is no group, for the empty key too: the row of a global aggregate over nothing is the plan's.
 *
 * Cost: a row one table look-up and one step per aggregate; a flush is linear in the groups that were touched.
 */
import { assert } from '../../base/assert.ts';
import type { ErrorCode } from '../../base/error.ts';
import type { Batch } from '../../repr/batch.ts';
import { type Column, ColumnBuilder, gather, isNull } from '../../repr/column.ts';
import { rowsEqual } from '../../repr/hash.ts';
import type { Kind } from '../../repr/types.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import {
  type Accumulator,
  type AccumulatorFactory,
  type GroupError,
  GroupErrors,
} from './accumulators/accumulator.ts';
import {
  emitErrors,
  endToEnd,
  type GroupResults,
  NO_ERRORS,
  OldResults,
  ROW_ABSENT,
  ROW_FAILED,
} from './group-results.ts';
import { GroupTable, type HashRows } from './group-table.ts';
import { FLUSH_STEP, MAX_ABSORB, type RuleOutput, type StateRule } from './state-rule.ts';
import { addArray, growF64, growI32, roomFor, type StateSize } from './state-size.ts';

export type EncodeError = (code: ErrorCode, message: string, detail?: string) => Uint8Array;

/** A key in words, for an error: its columns, of one row. */
export type DescribeKey = (columns: readonly Column[]) => string;

/** An error of a group, which tells of what key it is where that says something. */
export function encodeGroupError(
  spec: { readonly encodeError: EncodeError; readonly describeKey?: DescribeKey },
  { code, message, namesKey }: GroupError,
  groups: GroupTable,
  group: number,
): Uint8Array {
  if (namesKey !== true || spec.describeKey === undefined || groups.keys.columns.length === 0)
    return spec.encodeError(code, message);
  return spec.encodeError(code, message, spec.describeKey(groups.keys.gather(Int32Array.of(group), 1)));
}

export interface AggregateSpec {
  readonly accumulator: AccumulatorFactory;
  /** Positions of the argument columns in the input. */
  readonly args: readonly number[];
  /** Position of a boolean column: only rows where it is true are aggregated (`FILTER`). */
  readonly filter?: number;
}

export interface ReduceSpec {
  /** Names the collection in errors, as a user knows it. */
  readonly collection: string;
  /** Positions of the key columns in the input, and their kinds. Floats and the like come in canonical form. */
  readonly keys: readonly number[];
  readonly keyKinds: readonly Kind[];
  readonly aggregates: readonly AggregateSpec[];
  readonly encodeError: EncodeError;
  readonly describeKey?: DescribeKey;
  /** For tests that make every key collide. */
  readonly hash?: HashRows;
}

export class ReduceRule implements StateRule {
  readonly #spec: ReduceSpec;
  readonly #groups: GroupTable;
  readonly #accumulators: readonly Accumulator[];
  /** By group: rows, and 1 + position among the touched (0 = untouched). */
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);
  #touchedAt: Int32Array<ArrayBuffer> = new Int32Array(0);
  /** Groups touched at the open time, in that order, and what the output had for them before. */
  #touched: Int32Array<ArrayBuffer> = new Int32Array(0);
  #touchedCount = 0;
  #old = new OldResults();
  #flushed = 0;
  readonly #gids: Int32Array<ArrayBuffer> = new Int32Array(MAX_ABSORB);
  readonly #diffs: Float64Array<ArrayBuffer> = new Float64Array(MAX_ABSORB);

  constructor(spec: ReduceSpec) {
    this.#spec = spec;
    this.#groups = new GroupTable(spec.keyKinds, spec.hash);
    this.#accumulators = spec.aggregates.map((a) => a.accumulator());
  }

  get pending(): boolean {
    return this.#touchedCount > 0;
  }

  absorb(batch: Batch): void {
    const n = batch.length;
    assert(this.#flushed === 0, 'nothing is absorbed during a flush');
    const gids = this.#gids;
    this.#groups.assign(
      this.#spec.keys.map((k) => batch.columns[k]!),
      n,
      gids,
    );
    this.#resize();
    this.#touch(gids, n);
    let diffs = this.#diffs;
    if (typeof batch.diffs === 'number') diffs.fill(batch.diffs, 0, n);
    else diffs = batch.diffs;
    const counts = this.#counts;
    for (let i = 0; i < n; i++) counts[gids[i]!]! += diffs[i]!;
    this.#spec.aggregates.forEach((a, k) => {
      const args = a.args.map((p) => batch.columns[p]!);
      if (a.filter === undefined) this.#accumulators[k]!.update(gids, args, diffs, n);
      else updateFiltered(this.#accumulators[k]!, batch.columns[a.filter]!, gids, args, diffs, n);
    });
  }

  #resize(): void {
    const groups = this.#groups.idBound;
    if (groups > this.#counts.length) {
      this.#counts = growF64(this.#counts, roomFor(groups));
      this.#touchedAt = growI32(this.#touchedAt, roomFor(groups));
    }
    for (const a of this.#accumulators) a.resize(groups);
  }

  /** Notes the groups that are touched for the first time at this open time, with their results so far. */
  #touch(gids: Int32Array, n: number): void {
    const from = this.#touchedCount;
    if (from + n > this.#touched.length) this.#touched = growI32(this.#touched, roomFor(from + n));
    const at = this.#touchedAt;
    const touched = this.#touched;
    let count = from;
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      if (at[g] !== 0) continue;
      touched[count++] = g;
      at[g] = count;
    }
    this.#touchedCount = count;
    if (count > from) this.#old.append(this.#resultsOf(touched.subarray(from, count)));
  }

  /** What the output has, or should have, for the groups. */
  #resultsOf(gids: Int32Array): GroupResults {
    const n = gids.length;
    const rows = new Int32Array(n).fill(ROW_ABSENT);
    const live = new Int32Array(n);
    const positions = new Int32Array(n);
    const errors = new GroupErrors(this.#spec.collection);
    let k = 0;
    for (let i = 0; i < n; i++) {
      const g = gids[i]!;
      const count = this.#counts[g]!;
      assert(Number.isSafeInteger(count), 'the rows of a group stay within 2^53');
      if (count === 0 && this.#isZero(g)) continue;
      if (count <= 0) errors.negative(k);
      live[k] = g;
      positions[k++] = i;
    }
    if (k === 0) return { rows, columns: [], errors: NO_ERRORS };
    const columns = this.#accumulators.map((a) => {
      const out = new ColumnBuilder(a.outKind, k);
      a.write(live, k, out, errors);
      return out.finish();
    });
    for (let i = 0; i < k; i++) rows[positions[i]!] = i;
    if (errors.byPosition.size === 0) return { rows, columns, errors: NO_ERRORS };
    const encoded = new Map<number, Uint8Array>();
    for (const [i, e] of errors.byPosition) {
      rows[positions[i]!] = ROW_FAILED;
      encoded.set(positions[i]!, encodeGroupError(this.#spec, e, this.#groups, live[i]!));
    }
    return { rows, columns, errors: encoded };
  }

  #isZero(g: number): boolean {
    const list = this.#accumulators;
    for (let k = 0; k < list.length; k++) if (!list[k]!.isZero(g)) return false;
    return true;
  }

  flush(time: Timestamp, output: RuleOutput, fuel: Fuel): boolean {
    this.#old.seal();
    while (this.#flushed < this.#touchedCount) {
      if (fuel.exhausted) return false;
      const from = this.#flushed;
      const step = Math.floor(fuel.portion(Math.min(FLUSH_STEP, this.#touchedCount - from)));
      fuel.spend(step);
      this.#flushed = from + step;
      const gids = this.#touched.subarray(from, from + step);
      const now = this.#resultsOf(gids);
      this.#emit(time, output, gids, this.#old.slice(from, step), now);
      for (let i = 0; i < step; i++) this.#settle(gids[i]!, now.rows[i]!);
    }
    this.#touchedCount = 0;
    this.#flushed = 0;
    this.#old = new OldResults();
    if (this.#touched.length > 4 * MAX_ABSORB) this.#touched = new Int32Array(0);
    return true;
  }

  #settle(g: number, result: number): void {
    this.#touchedAt[g] = 0;
    if (result !== ROW_ABSENT) return;
    for (const a of this.#accumulators) a.clear(g);
    this.#groups.free(g);
  }

  #emit(time: Timestamp, output: RuleOutput, gids: Int32Array, old: GroupResults, now: GroupResults): void {
    const n = gids.length;
    const changed = new Int32Array(2 * n);
    const rows = new Int32Array(2 * n);
    const diffs = new Float64Array(2 * n);
    const oldRows = old.columns.length > 0 ? old.columns[0]!.length : 0;
    let k = 0;
    for (let i = 0; i < n; i++) {
      const a = old.rows[i]!;
      const b = now.rows[i]!;
      if (a >= 0 && b >= 0 && rowsEqual(old.columns, a, now.columns, b)) continue;
      if (a >= 0) {
        changed[k] = gids[i]!;
        rows[k] = a;
        diffs[k++] = -1;
      }
      if (b >= 0) {
        changed[k] = gids[i]!;
        rows[k] = oldRows + b;
        diffs[k++] = 1;
      }
    }
    if (k > 0) {
      const keys = this.#groups.keys.gather(changed, k);
      const results = this.#accumulators.map((_, c) =>
        gather(endToEnd(old.columns[c], now.columns[c]), rows, k),
      );
      output.oks({ length: k, columns: [...keys, ...results], times: time, diffs: diffs.slice(0, k) });
    }
    emitErrors(time, output, old.errors, now.errors);
  }

  addSize(size: StateSize): void {
    size.records += this.#groups.live;
    this.#groups.addSize(size);
    addArray(size, this.#counts, this.#groups.live);
    addArray(size, this.#touchedAt, this.#groups.live);
    addArray(size, this.#touched, this.#touchedCount);
    for (const a of this.#accumulators) a.addSize(size);
  }
}

function updateFiltered(
  accumulator: Accumulator,
  filter: Column,
  gids: Int32Array,
  args: readonly Column[],
  diffs: Float64Array,
  n: number,
): void {
  const rows = new Int32Array(n);
  let k = 0;
  for (let i = 0; i < n; i++) if (filter.values[i] === 1 && !isNull(filter, i)) rows[k++] = i;
  if (k === 0) return;
  const someGids = new Int32Array(k);
  const someDiffs = new Float64Array(k);
  for (let i = 0; i < k; i++) {
    someGids[i] = gids[rows[i]!]!;
    someDiffs[i] = diffs[rows[i]!]!;
  }
  accumulator.update(
    someGids,
    args.map((c) => gather(c, rows, k)),
    someDiffs,
    k,
  );
}
