/**
 * What a SUBSCRIBE shows of an interval: its updates as rows, in order of time. `mz_timestamp` comes first, then with PROGRESS
 * `mz_progressed`, then `mz_diff` and the columns; a row of progress ends each interval and says that nothing before its time comes any more.
 *
 * ENVELOPE UPSERT tells, per timestamp and key, what there is afterwards: `upsert` with the values, `delete`, or `key_violation` where
 * several rows of the key came at once. It keeps no state, so it believes that the key is one; rows of a key that came at
 * different times are not held against each other.
 */
import type { SubscribeBatch } from '../controller/subscribes.ts';
import type { SubscribePlan } from '../plan/statement/plan.ts';
import { upsertColumns } from '../plan/statement/subscribe.ts';
import { type Batch, concatBatches, diffAt, gatherBatch, timeAt } from '../repr/batch.ts';
import { type Column, ColumnBuilder, gather, NO_OFFSETS } from '../repr/column.ts';
import { type SortKey, sortIndices } from '../repr/compare.ts';
import { pushDatum } from '../repr/datum.ts';
import { rowsEqual } from '../repr/hash.ts';
import { Numeric } from '../repr/numeric.ts';
import { kindOf, type SqlType, type } from '../repr/types.ts';
import { EMPTY, type Timestamp } from '../time/timestamp.ts';

const NUMERIC = type('numeric');
const TEXT = type('text');
const TIME = type('mz_timestamp');

type Output = Pick<SubscribePlan, 'output' | 'progress'> & {
  /** Of the query's columns. */
  readonly types: readonly SqlType[];
};

/** Rows of an interval, each once: none, or several batches of one shape. */
export function subscribeRows(o: Output, interval: SubscribeBatch): Batch[] {
  const rows = interval.parts.length === 0 ? [] : shown(o, interval.parts);
  if (o.progress && interval.upper !== EMPTY) rows.push(progressRow(o, interval.upper));
  return rows;
}

function shown(o: Output, parts: readonly Batch[]): Batch[] {
  const { output } = o;
  const [first] = parts;
  const oneTime = typeof first!.times === 'number' && parts.every((p) => p.times === first!.times);
  // A snapshot: however large, nothing of it is moved.
  if (output.kind === 'diffs' && oneTime) return parts.map((p) => withDiffs(o, p));
  const all = concatBatches(parts);
  const keys: SortKey[] = [sortKey(numbers(all, all.times), TIME)];
  if (output.kind === 'ordered')
    for (const { column, desc, nullsFirst } of output.orderBy) {
      const isDiff = column === all.columns.length;
      const of = isDiff ? numbers(all, all.diffs) : all.columns[column]!;
      keys.push({ column: of, type: isDiff ? TIME : o.types[column]!, desc, nullsFirst });
    }
  if (output.kind === 'upsert') for (const k of output.key) keys.push(sortKey(all.columns[k]!, o.types[k]!));
  const sorted = gatherBatch(all, sortIndices(keys, all.length), all.length);
  return [output.kind === 'upsert' ? upserts(o, output.key, sorted) : withDiffs(o, sorted)];
}

const sortKey = (column: Column, t: SqlType): SortKey => ({
  column,
  type: t,
  desc: false,
  nullsFirst: false,
});

function numbers(b: Batch, of: Batch['times']): Column {
  const values = typeof of === 'number' ? new Float64Array(b.length).fill(of) : of;
  return { kind: 'f64', length: b.length, validity: null, values, offsets: NO_OFFSETS };
}

function withDiffs(o: Output, b: Batch): Batch {
  const diffs = new ColumnBuilder('i64', b.length);
  for (let i = 0; i < b.length; i++) diffs.pushI64Number(diffAt(b, i));
  return row(b.length, [...heading(o, b), diffs.finish(), ...b.columns]);
}

const row = (length: number, columns: readonly Column[]): Batch => ({ length, columns, times: 0, diffs: 1 });

/** The time, and that this is not progress. */
function heading(o: Output, b: Batch, indices?: Int32Array): Column[] {
  const n = indices?.length ?? b.length;
  const times = new TimeColumn(n);
  for (let i = 0; i < n; i++) times.push(timeAt(b, indices === undefined ? i : indices[i]!));
  const columns = [times.finish()];
  if (o.progress) columns.push(flags(n, 0));
  return columns;
}

const flags = (n: number, value: 0 | 1): Column => ({
  kind: 'bool',
  length: n,
  validity: null,
  values: new Uint8Array(n).fill(value),
  offsets: NO_OFFSETS,
});

/** Times as numeric, each distinct one encoded once while it repeats. */
class TimeColumn {
  readonly #rows: ColumnBuilder;
  #last = -1;
  #encoded: Column | undefined;

  constructor(n: number) {
    this.#rows = new ColumnBuilder('bytes', n);
  }

  push(time: Timestamp): void {
    if (time !== this.#last || this.#encoded === undefined) {
      const one = new ColumnBuilder('bytes', 1);
      pushDatum(NUMERIC, one, new Numeric(time, null, 0));
      this.#encoded = one.finish();
      this.#last = time;
    }
    this.#rows.pushFrom(this.#encoded, 0);
  }

  finish(): Column {
    return this.#rows.finish();
  }
}

function progressRow(o: Output, upper: Timestamp): Batch {
  const times = new TimeColumn(1);
  times.push(upper);
  const { output } = o;
  const order =
    output.kind === 'upsert' ? upsertColumns(o.types.length, output.key) : o.types.map((_, i) => i);
  const nulls = (['i64', ...order.map((i) => kindOf(o.types[i]!))] as const).map((kind, i) => {
    const b = new ColumnBuilder(i === 0 && output.kind === 'upsert' ? kindOf(TEXT) : kind, 1);
    b.pushNull();
    return b.finish();
  });
  return row(1, [times.finish(), flags(1, 1), ...nulls]);
}

/** One row a timestamp and key, from updates sorted by both. */
function upserts(o: Output, key: readonly number[], b: Batch): Batch {
  const keys = key.map((k) => b.columns[k]!);
  const states = new ColumnBuilder(kindOf(TEXT), b.length);
  const heads = new Int32Array(b.length);
  const values = new Int32Array(b.length);
  let n = 0;
  for (let at = 0; at < b.length; ) {
    let added = 0;
    let value = -1;
    const from = at;
    const time = timeAt(b, from);
    for (; at < b.length && timeAt(b, at) === time && rowsEqual(keys, from, keys, at); at++) {
      if (diffAt(b, at) <= 0) continue;
      added += diffAt(b, at);
      value = at;
    }
    pushDatum(TEXT, states, added === 0 ? 'delete' : added === 1 ? 'upsert' : 'key_violation');
    heads[n] = from;
    values[n++] = added === 1 ? value : -1;
  }
  const at = heads.subarray(0, n);
  const columns = upsertColumns(b.columns.length, key).map((c, i) =>
    gather(b.columns[c]!, i < key.length ? at : values, n),
  );
  return row(n, [...heading(o, b, at), states.finish(), ...columns]);
}
