/** The results of some groups before and after a change, and what their difference emits. */
import { type Column, ColumnBuilder, concatColumns, sliceColumn } from '../../repr/column.ts';
import type { Timestamp } from '../../time/timestamp.ts';
import type { RuleOutput } from './state-rule.ts';

/** For each of some groups, by position: a row of the columns, or an error, or nothing. */
export interface GroupResults {
  /** The group's row, ROW_ABSENT or ROW_FAILED. Rows ascend with positions. */
  readonly rows: Int32Array;
  readonly columns: readonly Column[];
  /** By position, for those that failed. */
  readonly errors: ReadonlyMap<number, Uint8Array>;
}

export const ROW_ABSENT = -1;
export const ROW_FAILED = -2;
export const NO_ERRORS: ReadonlyMap<number, Uint8Array> = new Map();

/** The results that groups had when they were first touched, gathered while batches come in. */
export class OldResults {
  readonly #parts: GroupResults[] = [];
  #sealed: GroupResults | undefined;

  append(part: GroupResults): void {
    this.#parts.push(part);
  }

  /** Nothing more comes. */
  seal(): void {
    if (this.#sealed === undefined) this.#sealed = this.#joined();
  }

  #joined(): GroupResults {
    if (this.#parts.length === 1) return this.#parts[0]!;
    let groups = 0;
    for (const p of this.#parts) groups += p.rows.length;
    const rows = new Int32Array(groups);
    const errors = new Map<number, Uint8Array>();
    const filled = this.#parts.filter((p) => p.columns.length > 0);
    let at = 0;
    let base = 0;
    for (const p of this.#parts) {
      for (let i = 0; i < p.rows.length; i++) rows[at + i] = p.rows[i]! < 0 ? p.rows[i]! : base + p.rows[i]!;
      for (const [i, e] of p.errors) errors.set(at + i, e);
      at += p.rows.length;
      base += p.columns.length === 0 ? 0 : p.columns[0]!.length;
    }
    const width = filled.length === 0 ? 0 : filled[0]!.columns.length;
    const columns = Array.from({ length: width }, (_, c) => concatColumns(filled.map((p) => p.columns[c]!)));
    return { rows, columns, errors };
  }

  /** The results at positions [from, from + n). */
  slice(from: number, n: number): GroupResults {
    const all = this.#sealed!;
    if (from === 0 && n === all.rows.length) return all;
    const rows = all.rows.slice(from, from + n);
    // Without aggregates a row has no columns and its position says nothing.
    if (all.columns.length === 0) return { rows, columns: [], errors: errorsBetween(all.errors, from, n) };
    let first = -1;
    let last = -1;
    for (let i = 0; i < n; i++) {
      if (rows[i]! < 0) continue;
      if (first < 0) first = rows[i]!;
      last = rows[i]!;
      rows[i]! -= first;
    }
    const columns = first < 0 ? [] : all.columns.map((c) => sliceColumn(c, first, last + 1));
    return { rows, columns, errors: errorsBetween(all.errors, from, n) };
  }
}

function errorsBetween(
  all: ReadonlyMap<number, Uint8Array>,
  from: number,
  n: number,
): ReadonlyMap<number, Uint8Array> {
  if (all.size === 0) return NO_ERRORS;
  const errors = new Map<number, Uint8Array>();
  for (let i = 0; i < n; i++) {
    const e = all.get(from + i);
    if (e !== undefined) errors.set(i, e);
  }
  return errors;
}

export function endToEnd(a: Column | undefined, b: Column | undefined): Column {
  if (a === undefined || b === undefined) return (a ?? b)!;
  return concatColumns([a, b]);
}

/** Retracts and inserts the errors that differ. */
export function emitErrors(
  time: Timestamp,
  output: RuleOutput,
  old: ReadonlyMap<number, Uint8Array>,
  now: ReadonlyMap<number, Uint8Array>,
): void {
  if (old.size === 0 && now.size === 0) return;
  const bytes = new ColumnBuilder('bytes');
  const diffs: number[] = [];
  const put = (e: Uint8Array, diff: number): void => {
    bytes.pushBytes(e);
    diffs.push(diff);
  };
  for (const [i, e] of old) if (!sameBytes(e, now.get(i))) put(e, -1);
  for (const [i, e] of now) if (!sameBytes(e, old.get(i))) put(e, 1);
  if (diffs.length === 0) return;
  output.errs({
    length: diffs.length,
    columns: [bytes.finish()],
    times: time,
    diffs: Float64Array.from(diffs),
  });
}

const sameBytes = (a: Uint8Array, b: Uint8Array | undefined): boolean =>
  b !== undefined && a.length === b.length && a.every((x, i) => x === b[i]);
