/**
 * Rows by their multiplicity: a table of whole rows, for each how often it is there and how often it was emitted.
 *
 *   distinct:   output(row) = 1 if count(row) > 0;  count(row) < 0 is an error that names the collection
 *   threshold:  output(row) = max(0, count(row))
 *
 * Cost: one table look-up a row; a flush is linear in the rows that were touched.
 */
import { assert } from '../../base/assert.ts';
import type { Batch } from '../../repr/batch.ts';
import type { Kind } from '../../repr/types.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import { type GroupError, negativeError } from './accumulators/accumulator.ts';
import { emitErrors, NO_ERRORS } from './group-results.ts';
import { GroupTable, type HashRows } from './group-table.ts';
import { type DescribeKey, type EncodeError, encodeGroupError } from './reduce-rule.ts';
import { FLUSH_STEP, MAX_ABSORB, type RuleOutput, type StateRule } from './state-rule.ts';
import { addArray, growF64, growI32, growU8, roomFor, type StateSize } from './state-size.ts';

export interface CountSpec {
  readonly mode: 'distinct' | 'threshold';
  readonly collection: string;
  readonly kinds: readonly Kind[];
  readonly encodeError: EncodeError;
  readonly describeKey?: DescribeKey;
  /** For tests that make every row collide. */
  readonly hash?: HashRows;
}

export class CountRule implements StateRule {
  readonly #once: boolean;
  readonly #rows: GroupTable;
  readonly #spec: CountSpec;
  readonly #negative: GroupError;
  /** By row id. */
  #counts: Float64Array<ArrayBuffer> = new Float64Array(0);
  #emitted: Float64Array<ArrayBuffer> = new Float64Array(0);
  #failed: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #isTouched: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #touched: Int32Array<ArrayBuffer> = new Int32Array(0);
  #touchedCount = 0;
  #flushed = 0;
  readonly #ids: Int32Array<ArrayBuffer> = new Int32Array(MAX_ABSORB);

  constructor(spec: CountSpec) {
    this.#once = spec.mode === 'distinct';
    this.#rows = new GroupTable(spec.kinds, spec.hash);
    this.#spec = spec;
    this.#negative = negativeError(spec.collection);
  }

  get pending(): boolean {
    return this.#touchedCount > 0;
  }

  absorb(batch: Batch): void {
    assert(this.#flushed === 0, 'nothing is absorbed during a flush');
    const n = batch.length;
    const ids = this.#ids;
    this.#rows.assign(batch.columns, n, ids);
    this.#resize(n);
    const counts = this.#counts;
    const isTouched = this.#isTouched;
    const { diffs } = batch;
    for (let i = 0; i < n; i++) {
      const id = ids[i]!;
      counts[id]! += typeof diffs === 'number' ? diffs : diffs[i]!;
      if (isTouched[id] !== 0) continue;
      isTouched[id] = 1;
      this.#touched[this.#touchedCount++] = id;
    }
  }

  #resize(n: number): void {
    const need = this.#touchedCount + n;
    if (need > this.#touched.length) this.#touched = growI32(this.#touched, roomFor(need));
    const ids = this.#rows.idBound;
    if (ids <= this.#counts.length) return;
    const room = roomFor(ids);
    this.#counts = growF64(this.#counts, room);
    this.#emitted = growF64(this.#emitted, room);
    this.#failed = growU8(this.#failed, room);
    this.#isTouched = growU8(this.#isTouched, room);
  }

  flush(time: Timestamp, output: RuleOutput, fuel: Fuel): boolean {
    while (this.#flushed < this.#touchedCount) {
      if (fuel.exhausted) return false;
      const from = this.#flushed;
      const step = Math.floor(fuel.portion(Math.min(FLUSH_STEP, this.#touchedCount - from)));
      fuel.spend(step);
      this.#flushed = from + step;
      this.#emit(time, output, this.#touched.subarray(from, from + step));
    }
    this.#touchedCount = 0;
    this.#flushed = 0;
    if (this.#touched.length > 4 * MAX_ABSORB) this.#touched = new Int32Array(0);
    return true;
  }

  #emit(time: Timestamp, output: RuleOutput, ids: Int32Array): void {
    const changed = new Int32Array(ids.length);
    const diffs = new Float64Array(ids.length);
    const gone = new Map<number, Uint8Array>();
    const come = new Map<number, Uint8Array>();
    let k = 0;
    for (let i = 0; i < ids.length; i++) {
      const id = ids[i]!;
      const count = this.#counts[id]!;
      assert(Number.isSafeInteger(count), 'a multiplicity stays within 2^53');
      const now = count <= 0 ? 0 : this.#once ? 1 : count;
      const d = now - this.#emitted[id]!;
      if (d !== 0) {
        changed[k] = id;
        diffs[k++] = d;
        this.#emitted[id] = now;
      }
      const failed = this.#once && count < 0 ? 1 : 0;
      if (failed !== this.#failed[id]) {
        const error = encodeGroupError(this.#spec, this.#negative, this.#rows, id);
        (failed === 1 ? come : gone).set(i, error);
        this.#failed[id] = failed;
      }
    }
    if (k > 0)
      output.oks({
        length: k,
        columns: this.#rows.keys.gather(changed, k),
        times: time,
        diffs: diffs.slice(0, k),
      });
    if (gone.size > 0) emitErrors(time, output, gone, NO_ERRORS);
    if (come.size > 0) emitErrors(time, output, NO_ERRORS, come);
    for (let i = 0; i < ids.length; i++) {
      this.#isTouched[ids[i]!] = 0;
      if (this.#counts[ids[i]!] === 0) this.#rows.free(ids[i]!);
    }
  }

  addSize(size: StateSize): void {
    const live = this.#rows.live;
    size.records += live;
    this.#rows.addSize(size);
    for (const a of [this.#counts, this.#emitted, this.#failed, this.#isTouched]) addArray(size, a, live);
    addArray(size, this.#touched, this.#touchedCount);
  }
}
