/**
 * Updates of the log relations between two drains, as columns in the end. Rows of datums for what is told once in a life; numbers in typed
 * arrays for what is told all the time, where a text column is an index into its words.
 */
import { assert } from '../base/assert.ts';
import type { Batch } from '../repr/batch.ts';
import { type Column, ColumnBuilder } from '../repr/column.ts';
import { batchOf } from '../repr/rows.ts';
import { encodeUtf8 } from '../repr/text.ts';
import { kindOf, type Row, type SqlType } from '../repr/types.ts';
import { type LogName, logDesc } from './relations.ts';

/** The most columns that a relation of numbers has. */
const MAX_NUMBERS = 6;
/** The columns, the time, the multiplicity. */
const STRIDE = MAX_NUMBERS + 2;

/** What the numbers in text columns stand for. */
const WORDS: Partial<Record<LogName, readonly string[]>> = {
  mz_peek_durations_histogram_raw: ['index', 'persist'],
  mz_dataflow_operator_reachability_raw: ['source', 'target'],
};

class RowUpdates {
  readonly rows: Row[] = [];
  readonly times: number[] = [];
  readonly diffs: number[] = [];
}

class NumberUpdates {
  readonly #types: readonly SqlType[];
  readonly #words: readonly Uint8Array[];
  #data = new Float64Array(64 * STRIDE);
  #length = 0;

  constructor(log: LogName) {
    this.#types = logDesc(log).columns.map((c) => c.type);
    assert(this.#types.length <= MAX_NUMBERS, `${log} has at most ${MAX_NUMBERS} columns`);
    this.#words = (WORDS[log] ?? []).map(encodeUtf8);
  }

  get length(): number {
    return this.#length;
  }

  /** Where the next update is to be written. */
  next(): { readonly data: Float64Array; readonly at: number } {
    const at = this.#length++ * STRIDE;
    if (at === this.#data.length) {
      const grown = new Float64Array(this.#data.length * 2);
      grown.set(this.#data);
      this.#data = grown;
    }
    return { data: this.#data, at };
  }

  take(): Batch {
    const n = this.#length;
    const times = new Float64Array(n);
    const diffs = new Float64Array(n);
    for (let i = 0, p = MAX_NUMBERS; i < n; i++, p += STRIDE) {
      times[i] = this.#data[p]!;
      diffs[i] = this.#data[p + 1]!;
    }
    const columns = this.#types.map((t, k) => this.#column(t, k));
    this.#length = 0;
    return { length: n, columns, times, diffs };
  }

  #column(type: SqlType, k: number): Column {
    const kind = kindOf(type);
    const b = new ColumnBuilder(kind, this.#length);
    for (let i = 0, p = k; i < this.#length; i++, p += STRIDE) {
      const v = this.#data[p]!;
      if (Number.isNaN(v)) b.pushNull();
      else if (kind === 'i64') b.pushI64Number(v);
      else if (kind === 'bytes') b.pushBytes(this.#words[v]!);
      else b.pushNumber(v);
    }
    return b.finish();
  }
}

export class LogBuffer {
  /** The log time of what is told next. */
  time = 0;
  readonly #rows = new Map<LogName, RowUpdates>();
  readonly #numbers = new Map<LogName, NumberUpdates>();

  row(log: LogName, row: Row, diff: number): void {
    let u = this.#rows.get(log);
    if (u === undefined) this.#rows.set(log, (u = new RowUpdates()));
    u.rows.push(row);
    u.times.push(this.time);
    u.diffs.push(diff);
  }

  /** A row of numbers, NaN for NULL, with its multiplicity. */
  count(log: LogName, diff: number, a: number, b: number, c = 0, d = 0, e = 0, f = 0): void {
    let u = this.#numbers.get(log);
    if (u === undefined) this.#numbers.set(log, (u = new NumberUpdates(log)));
    const { data, at } = u.next();
    data[at] = a;
    data[at + 1] = b;
    data[at + 2] = c;
    data[at + 3] = d;
    data[at + 4] = e;
    data[at + 5] = f;
    data[at + MAX_NUMBERS] = this.time;
    data[at + MAX_NUMBERS + 1] = diff;
  }

  /** Everything told since the last call. */
  take(): Map<LogName, Batch> {
    const out = new Map<LogName, Batch>();
    for (const [log, u] of this.#rows) {
      const types = logDesc(log).columns.map((c) => c.type);
      out.set(log, batchOf(types, u.rows, u));
    }
    this.#rows.clear();
    for (const [log, u] of this.#numbers) {
      if (u.length === 0) continue;
      assert(!out.has(log), `${log} is told in rows or in numbers`);
      out.set(log, u.take());
    }
    return out;
  }
}
