/**
 * Rows of (name, labels, value, type, help) folded into samples, at complete times alone. Rows of one name and the same labels add up. A
 * row that is no sample (a name or label that Prometheus does not take, NULL, an unknown type) is left out and counted. While errors
 * live the samples stay as they were before the first of them.
 */
import {
  isLabelName,
  isMetricName,
  type Labels,
  METRIC_TYPES,
  type MetricType,
  type Sample,
  sortedLabels,
} from '../../introspection/metrics-registry.ts';
import { type Json, JsonNumber, JsonObject } from '../../repr/json-parse.ts';
import type { Frontier, Timestamp } from '../../time/timestamp.ts';

export interface MetricRow {
  readonly name: string | null;
  /** An object of strings, numbers and booleans; null: no labels. */
  readonly labels: Json;
  readonly value: number | null;
  readonly type: string | null;
  readonly help: string | null;
}

/** Samples of one name and the same labels; equal values are one entry, so that what a retraction takes away is exact. */
interface Series {
  readonly name: string;
  readonly labels: Labels;
  readonly rows: Map<
    string,
    { readonly value: number; readonly type: MetricType; readonly help: string; count: number }
  >;
}

interface Due {
  rows: { readonly row: MetricRow; readonly diff: number }[];
  errors: number;
}

export class MetricFold {
  readonly #series = new Map<string, Series>();
  readonly #due = new Map<Timestamp, Due>();
  #errors = 0;
  #invalid = 0;
  #frozen: readonly Sample[] | null = null;

  add(time: Timestamp, row: MetricRow, diff: number): void {
    this.#dueAt(time).rows.push({ row, diff });
  }

  addErrors(time: Timestamp, n: number): void {
    this.#dueAt(time).errors += n;
  }

  #dueAt(time: Timestamp): Due {
    let due = this.#due.get(time);
    if (due === undefined) this.#due.set(time, (due = { rows: [], errors: 0 }));
    return due;
  }

  /** Folds what is complete. */
  advance(frontier: Frontier): void {
    const times = [...this.#due.keys()].filter((t) => t < frontier).sort((a, b) => a - b);
    for (const time of times) {
      const { rows, errors } = this.#due.get(time)!;
      this.#due.delete(time);
      const before = this.#errors;
      this.#errors += errors;
      if (before === 0 && this.#errors !== 0) this.#frozen = [...this.#now()];
      for (const { row, diff } of rows) this.#fold(row, diff);
      if (this.#errors === 0) this.#frozen = null;
    }
  }

  #fold(row: MetricRow, diff: number): void {
    const labels = labelsOf(row.labels);
    const type = METRIC_TYPES.find((t) => t === (row.type ?? 'untyped'));
    const { name, value } = row;
    if (name === null || !isMetricName(name) || value === null || labels === null || type === undefined) {
      this.#invalid += diff;
      return;
    }
    const key = JSON.stringify([name, labels]);
    let series = this.#series.get(key);
    if (series === undefined) this.#series.set(key, (series = { name, labels, rows: new Map() }));
    const help = row.help ?? '';
    const rowKey = JSON.stringify([`${value}`, type, help]);
    const held = series.rows.get(rowKey);
    if (held === undefined) series.rows.set(rowKey, { value, type, help, count: diff });
    else if (held.count + diff === 0) series.rows.delete(rowKey);
    else held.count += diff;
    if (series.rows.size === 0) this.#series.delete(key);
  }

  *#now(): Iterable<Sample> {
    for (const { name, labels, rows } of this.#series.values()) {
      const [first] = [...rows.values()];
      let value = 0;
      for (const r of rows.values()) value += r.value * r.count;
      yield { name, labels, value, type: first!.type, help: first!.help };
    }
  }

  samples(): Iterable<Sample> {
    return this.#frozen ?? this.#now();
  }

  /** Rows that are no samples, now. */
  get invalid(): number {
    return this.#invalid;
  }

  get isFrozen(): boolean {
    return this.#frozen !== null;
  }
}

/** Null: they are none. */
function labelsOf(value: Json): Labels | null {
  if (value === null) return [];
  if (!(value instanceof JsonObject)) return null;
  const labels: Record<string, string> = {};
  for (const [i, name] of value.keys.entries()) {
    const v = value.values[i]!;
    const text =
      v instanceof JsonNumber ? v.text : typeof v === 'object' && v !== null ? null : String(v ?? '');
    if (text === null || !isLabelName(name)) return null;
    // As Prometheus has it, an empty label is none.
    if (text !== '') labels[name] = text;
  }
  return sortedLabels(labels);
}
