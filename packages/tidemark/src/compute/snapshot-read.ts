/**
 * The contents of a collection at one time, filtered, mapped and summed: what a peek answers. Fed with batches (of an index's trace, or
 * of a shard's parts), works with fuel, and keeps the rows that remain in buckets, so that no step is long.
 *
 * Errors first: a positive count of errors is the answer. A negative count of anything is an error that
 * names the collection: a wrong number must not look like data.
 */

import { rowErrorAt } from '../expr/eval-error.ts';
import type { MfpEvaluator } from '../expr/mfp.ts';
import type { RowError } from '../expr/scalar.ts';
import { type Batch, concatBatches, diffAt, emptyBatch, gatherBatch, timeAt } from '../repr/batch.ts';
import { columnBytes } from '../repr/column.ts';
import { packedBatch } from '../repr/packed.ts';
import type { Kind } from '../repr/types.ts';
import type { Timestamp } from '../time/timestamp.ts';
import type { Fuel } from '../trace/fuel.ts';
import { Correction } from './correction.ts';
import type { ErrorResult } from './protocol.ts';

export type ReadResult = { readonly kind: 'rows'; readonly batch: Batch } | ErrorResult;

export interface SnapshotReadOptions {
  readonly asOf: Timestamp;
  readonly evaluate: MfpEvaluator;
  /** Of the rows after evaluation. */
  readonly kinds: readonly Kind[];
  /** Names the collection in errors. */
  readonly objectId: string;
  readonly maxResultSize: number;
  /** More copies of a row than this are cut from the answer; undefined: none are. */
  readonly wanted?: number;
}

export class SnapshotRead {
  readonly #o: SnapshotReadOptions;
  readonly #rows = new Correction();
  readonly #errors = new Correction();
  readonly #out: Batch[] = [];
  #bucket = 0;
  #bytes = 0;
  #failed: RowError | undefined;

  constructor(options: SnapshotReadOptions) {
    this.#o = options;
  }

  /** Rows of the collection at any times; those after the as-of do not count. */
  oks(batch: Batch): void {
    const now = upTo(batch, this.#o.asOf);
    if (now.length === 0) return;
    const { oks, errs } = this.#o.evaluate(now);
    if (oks !== null) this.#rows.insert(oks, 1);
    if (errs !== null) this.#errors.insert(errs, 1);
  }

  errs(batch: Batch): void {
    this.#errors.insert(upTo(batch, this.#o.asOf), 1);
  }

  /** After the last batch: sums the rows. True when `result` stands. */
  finish(fuel: Fuel): boolean {
    if (this.#bucket === 0) this.#checkErrors();
    while (this.#failed === undefined && this.#bucket < this.#rows.buckets) {
      if (fuel.exhausted) return false;
      const rows = this.#rows.before(this.#bucket++, 0, Number.POSITIVE_INFINITY);
      if (rows === null) continue;
      fuel.spend(4 * rows.length);
      this.#accept(rows);
    }
    return true;
  }

  #checkErrors(): void {
    for (let b = 0; b < this.#errors.buckets; b++) {
      const errs = this.#errors.before(b, 0, Number.POSITIVE_INFINITY);
      for (let i = 0; i < (errs?.length ?? 0); i++) {
        if (diffAt(errs!, i) > 0) this.#failed ??= rowErrorAt(errs!, i);
        else this.#negative();
      }
    }
  }

  #negative(): void {
    this.#failed ??= {
      code: 'data_corrupted',
      message: `collection ${this.#o.objectId} has a negative number of copies of a row`,
    };
  }

  #accept(rows: Batch): void {
    const { wanted = Number.POSITIVE_INFINITY } = this.#o;
    let copies = 0;
    for (let i = 0; i < rows.length; i++) {
      const d = diffAt(rows, i);
      if (d < 0) return this.#negative();
      copies += Math.min(d, wanted);
    }
    // On multiplicities, before anything is expanded: one row can stand for a billion.
    let bytes = 0;
    for (const c of rows.columns) bytes += columnBytes(c).used;
    this.#bytes += (bytes / rows.length) * copies;
    if (this.#bytes > this.#o.maxResultSize)
      this.#failed = {
        code: 'program_limit_exceeded',
        message: `the result is larger than ${this.#o.maxResultSize} bytes`,
        hint: 'add a LIMIT, aggregate, or raise max_result_size',
      };
    this.#out.push(rows);
  }

  get result(): ReadResult {
    if (this.#failed !== undefined) return { kind: 'error', ...this.#failed };
    const all = this.#out.length === 0 ? emptyBatch(this.#o.kinds) : concatBatches(this.#out);
    // A buffer of its own: the answer may be transferred to another thread, and columns may be shared with a trace.
    return { kind: 'rows', batch: packedBatch(all) };
  }
}

/** The rows at or before a time, all brought to one time. */
function upTo(batch: Batch, asOf: Timestamp): Batch {
  if (typeof batch.times === 'number')
    return batch.times <= asOf ? { ...batch, times: 0 } : emptyBatch(batch.columns.map((c) => c.kind));
  const indices = new Int32Array(batch.length);
  let n = 0;
  for (let i = 0; i < batch.length; i++) if (timeAt(batch, i) <= asOf) indices[n++] = i;
  return { ...(n === batch.length ? batch : gatherBatch(batch, indices, n)), times: 0 };
}
