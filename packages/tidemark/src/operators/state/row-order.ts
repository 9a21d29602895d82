/**
 * A total order of rows: the ORDER BY columns as SQL compares them, then every column by its bytes. The second
 * part breaks ties deterministically (the same answer on every worker and after every restart) and makes equal
 * mean identical, so that a retraction finds its row by the order alone.
 */
import { type Column, i64ToNumber, isNull, NO_OFFSETS, TWO32 } from '../../repr/column.ts';
import type { Kind } from '../../repr/types.ts';
import type { GrowableColumns } from './growable-columns.ts';

/** Compares two cells that are not NULL. */
export type CompareCells = (a: Column, i: number, b: Column, j: number) => number;

export interface OrderColumn {
  /** Position in the row. */
  readonly column: number;
  readonly compare: CompareCells;
  readonly desc: boolean;
  readonly nullsFirst: boolean;
}

/** Orders cells of one kind by their bytes: numbers by value (NaN last, -0 before 0), bytes as unsigned bytes. */
const compareRaw: CompareCells = (a, i, b, j) => {
  const va = a.values;
  const vb = b.values;
  switch (a.kind) {
    case 'i64': {
      const high = va[2 * i + 1]! - vb[2 * j + 1]!;
      return high !== 0 ? high : (va[2 * i]! >>> 0) - (vb[2 * j]! >>> 0);
    }
    case 'f64':
      return compareDoubles(va[i]!, vb[j]!);
    case 'bytes':
      return compareBytes(a, i, b, j);
    default:
      return va[i]! - vb[j]!;
  }
};

function compareDoubles(x: number, y: number): number {
  if (x < y) return -1;
  if (x > y) return 1;
  if (x === y) return x !== 0 || Object.is(x, y) ? 0 : Object.is(x, -0) ? -1 : 1;
  return Number.isNaN(x) ? (Number.isNaN(y) ? 0 : 1) : -1;
}

function compareBytes(a: Column, i: number, b: Column, j: number): number {
  const va = a.values;
  const vb = b.values;
  const p = a.offsets[i]!;
  const q = b.offsets[j]!;
  const la = a.offsets[i + 1]! - p;
  const lb = b.offsets[j + 1]! - q;
  const n = Math.min(la, lb);
  for (let k = 0; k < n; k++) {
    const d = va[p + k]! - vb[q + k]!;
    if (d !== 0) return d;
  }
  return la - lb;
}

const RAW = { compare: compareRaw, desc: false, nullsFirst: false } as const;

export class RowOrder {
  readonly #order: readonly OrderColumn[];
  readonly #width: number;
  /** What the prefix is made of. */
  readonly #first: OrderColumn | undefined;
  readonly #prefix: Prefix;

  constructor(order: readonly OrderColumn[], kinds: readonly Kind[]) {
    this.#order = order;
    this.#width = kinds.length;
    this.#first = order[0] ?? (kinds.length > 0 ? { column: 0, ...RAW } : undefined);
    this.#prefix =
      this.#first === undefined ? 'none' : prefixOf(kinds[this.#first.column]!, this.#first.compare);
  }

  /**
   * A number that orders rows as far as it can: a lesser row never has a greater one. Kept beside each row, it
   * decides nearly all comparisons of numbers and instants without touching the row.
   */
  prefix(columns: readonly Column[], i: number): number {
    if (this.#prefix === 'none') return 0;
    const first = this.#first!;
    const c = columns[first.column]!;
    if (isNull(c, i)) return first.nullsFirst ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
    let v = c.values[i]!;
    if (this.#prefix === 'i64') v = i64ToNumber(c.values as Int32Array, i);
    else if (this.#prefix === 'u64') v = (c.values[2 * i + 1]! >>> 0) * TWO32 + (c.values[2 * i]! >>> 0);
    else if (Number.isNaN(v)) v = Number.POSITIVE_INFINITY;
    return first.desc ? -v : v;
  }

  /** Row i of a batch against a stored row. */
  compare(a: readonly Column[], i: number, b: GrowableColumns, slot: number): number {
    const stored = b.columns;
    for (const o of this.#order) {
      const c = stored[o.column]!;
      const d = compareNullable(a[o.column]!, i, c, slot << c.shift, o);
      if (d !== 0) return d;
    }
    for (let k = 0; k < this.#width; k++) {
      const c = stored[k]!;
      const d = compareNullable(a[k]!, i, c, slot << c.shift, RAW);
      if (d !== 0) return d;
    }
    return 0;
  }

  /** Two stored rows. */
  compareSlots(rows: GrowableColumns, s: number, t: number): number {
    const stored = rows.columns;
    for (const o of this.#order) {
      const c = stored[o.column]!;
      const d = compareNullable(c, s << c.shift, c, t << c.shift, o);
      if (d !== 0) return d;
    }
    for (let k = 0; k < this.#width; k++) {
      const c = stored[k]!;
      const d = compareNullable(c, s << c.shift, c, t << c.shift, RAW);
      if (d !== 0) return d;
    }
    return 0;
  }
}

type Prefix = 'none' | 'number' | 'i64' | 'u64';

/** Kind i64 carries signed and unsigned types; the comparison tells which, asked for -1 against 1. */
function prefixOf(kind: Kind, compare: CompareCells): Prefix {
  if (kind === 'bytes') return 'none';
  if (kind !== 'i64') return 'number';
  const probe: Column = {
    kind,
    length: 2,
    validity: null,
    values: Int32Array.of(-1, -1, 1, 0),
    offsets: NO_OFFSETS,
  };
  return compare(probe, 0, probe, 1) < 0 ? 'i64' : 'u64';
}

function compareNullable(
  a: Column,
  i: number,
  b: Column,
  j: number,
  o: Pick<OrderColumn, 'compare' | 'desc' | 'nullsFirst'>,
): number {
  if (a.validity !== null || b.validity !== null) {
    const x = isNull(a, i);
    const y = isNull(b, j);
    if (x || y) return x === y ? 0 : x === o.nullsFirst ? -1 : 1;
  }
  const d = o.compare(a, i, b, j);
  return o.desc ? -d : d;
}
