/**
 * SQL order by type over cells, and sorting by several columns. Text orders by bytes (the "C" collation), NaN is
 * the greatest float, numbers ignore trailing zeros. Total: cells that compare equal are equal in canonical form.
 */
import type { SqlArray, SqlList, SqlRecord } from './array.ts';
import { type Column, i64ToNumber, isNull } from './column.ts';
import { decodeValue } from './datum.ts';
import { compareInterval, decodeInterval, type Interval } from './interval.ts';
import { compareJson } from './json.ts';
import { compareNumeric, decodeNumeric, type Numeric } from './numeric.ts';
import { compareBytes, compareText, textAt, trimPadding } from './text.ts';
import { type Datum, type Kind, kindOf, type SqlType } from './types.ts';

/** Negative, zero or positive; for cells that are not NULL. */
export type CellComparator = (a: Column, i: number, b: Column, j: number) => number;

const compareFloat = (x: number, y: number): number =>
  x < y ? -1 : x > y ? 1 : x === y ? 0 : Number.isNaN(x) ? (Number.isNaN(y) ? 0 : 1) : -1;

const byNumber: CellComparator = (a, i, b, j) => a.values[i]! - b.values[j]!;
const byDouble: CellComparator = (a, i, b, j) => compareFloat(a.values[i]!, b.values[j]!);
const byI64: CellComparator = (a, i, b, j) => {
  const high = a.values[2 * i + 1]! - b.values[2 * j + 1]!;
  return high !== 0 ? high : (a.values[2 * i]! >>> 0) - (b.values[2 * j]! >>> 0);
};
const byU64: CellComparator = (a, i, b, j) => {
  const high = (a.values[2 * i + 1]! >>> 0) - (b.values[2 * j + 1]! >>> 0);
  return high !== 0 ? high : (a.values[2 * i]! >>> 0) - (b.values[2 * j]! >>> 0);
};
/** Text, bytea, uuid. */
export const byBytes: CellComparator = (a, i, b, j) =>
  compareBytes(
    a.values as Uint8Array,
    a.offsets[i]!,
    a.offsets[i + 1]!,
    b.values as Uint8Array,
    b.offsets[j]!,
    b.offsets[j + 1]!,
  );
const byNumeric: CellComparator = (a, i, b, j) =>
  compareNumeric(
    decodeNumeric(a.values as Uint8Array, a.offsets[i]!, a.offsets[i + 1]!),
    decodeNumeric(b.values as Uint8Array, b.offsets[j]!, b.offsets[j + 1]!),
  );
const byInterval: CellComparator = (a, i, b, j) =>
  compareInterval(
    decodeInterval(a.values as Uint8Array, a.offsets[i]!),
    decodeInterval(b.values as Uint8Array, b.offsets[j]!),
  );
const byJson: CellComparator = (a, i, b, j) => compareJson(textAt(a, i), textAt(b, j));

/** Bytes without trailing spaces: `char(n)` does not compare them. */
function unpadded(c: Column, i: number): number {
  let end = c.offsets[i + 1]!;
  while (end > c.offsets[i]! && c.values[end - 1] === 32) end--;
  return end;
}
const byPadded: CellComparator = (a, i, b, j) =>
  compareBytes(
    a.values as Uint8Array,
    a.offsets[i]!,
    unpadded(a, i),
    b.values as Uint8Array,
    b.offsets[j]!,
    unpadded(b, j),
  );

export function comparator(type: SqlType): CellComparator {
  switch (type.name) {
    case 'numeric':
      return byNumeric;
    case 'interval':
      return byInterval;
    case 'jsonb':
      return byJson;
    case 'bpchar':
      return byPadded;
    case 'uint8':
      return byU64;
    case 'float4':
    case 'float8':
      return byDouble;
    case 'array':
    case 'list':
    case 'record': {
      const compare = datumComparator(type);
      const value = (c: Column, i: number): Datum =>
        decodeValue(type, c.values as Uint8Array, c.offsets[i]!, c.offsets[i + 1]!);
      return (a, i, b, j) => compare(value(a, i), value(b, j));
    }
    default: {
      const kind = kindOf(type);
      return kind === 'i64' ? byI64 : kind === 'bytes' ? byBytes : byNumber;
    }
  }
}

/** The same order over datums, for literals and elements; not NULL. */
export function datumComparator(type: SqlType): (a: Datum, b: Datum) => number {
  switch (type.name) {
    case 'numeric':
      return (a, b) => compareNumeric(a as Numeric, b as Numeric);
    case 'interval':
      return (a, b) => compareInterval(a as Interval, b as Interval);
    case 'jsonb':
      return (a, b) => compareJson(a as string, b as string);
    case 'bpchar':
      return (a, b) => compareText(trimPadding(a as string), trimPadding(b as string));
    case 'bytea':
      return (a, b) => {
        const x = a as Uint8Array;
        const y = b as Uint8Array;
        return compareBytes(x, 0, x.length, y, 0, y.length);
      };
    case 'array': {
      const items = itemsComparator(() => type.elem!);
      return (a, b) => compareArrays(a as SqlArray, b as SqlArray, items);
    }
    case 'list': {
      const items = itemsComparator(() => type.elem!);
      return (a, b) => items((a as SqlList).items, (b as SqlList).items);
    }
    case 'record': {
      const items = itemsComparator((k) => type.fields![k]!);
      return (a, b) => items((a as SqlRecord).items, (b as SqlRecord).items);
    }
    default:
      return plainComparator(kindOf(type));
  }
}

function plainComparator(kind: Kind): (a: Datum, b: Datum) => number {
  switch (kind) {
    case 'bool':
      return (a, b) => Number(a) - Number(b);
    case 'i32':
    case 'f64':
      return (a, b) => compareFloat(a as number, b as number);
    case 'i64':
      return (a, b) => ((a as bigint) < (b as bigint) ? -1 : (a as bigint) > (b as bigint) ? 1 : 0);
    case 'bytes':
      return (a, b) => compareText(a as string, b as string);
  }
}

/** Element by element, NULL greatest, then the shorter first. */
function itemsComparator(type: (k: number) => SqlType): (a: readonly Datum[], b: readonly Datum[]) => number {
  const comparators: ((a: Datum, b: Datum) => number)[] = [];
  return (a, b) => {
    const n = Math.min(a.length, b.length);
    for (let k = 0; k < n; k++) {
      const x = a[k]!;
      const y = b[k]!;
      if (x === null || y === null) {
        if (x !== y) return x === null ? 1 : -1;
        continue;
      }
      comparators[k] ??= datumComparator(type(k));
      const d = comparators[k]!(x, y);
      if (d !== 0) return d;
    }
    return a.length - b.length;
  };
}

function compareArrays(
  a: SqlArray,
  b: SqlArray,
  items: (a: readonly Datum[], b: readonly Datum[]) => number,
): number {
  let d = items(a.items, b.items);
  if (d === 0) d = a.dims.length - b.dims.length;
  for (let k = 0; d === 0 && k < a.dims.length; k++)
    d = a.dims[k]! - b.dims[k]! || a.lowers[k]! - b.lowers[k]!;
  return d;
}

// --- sorting

/** One key of ORDER BY. PostgreSQL puts NULLs last ascending and first descending unless told. */
export interface SortKey {
  readonly type: SqlType;
  readonly column: Column;
  readonly desc: boolean;
  readonly nullsFirst: boolean;
}

/** Row numbers [0, n) in order; stable. */
export function sortIndices(keys: readonly SortKey[], n: number): Int32Array<ArrayBuffer> {
  const out = new Int32Array(n);
  for (let i = 0; i < n; i++) out[i] = i;
  if (keys.length === 0) return out;
  const compare = keys.length === 1 ? keyComparator(keys[0]!) : manyComparator(keys);
  // The row number decides last, so that equal keys keep their order whatever the engine's sort does.
  return out.sort((i, j) => compare(i, j) || i - j);
}

function manyComparator(keys: readonly SortKey[]): (i: number, j: number) => number {
  const each = keys.map(keyComparator);
  return (i, j) => {
    for (const compare of each) {
      const d = compare(i, j);
      if (d !== 0) return d;
    }
    return 0;
  };
}

function keyComparator(key: SortKey): (i: number, j: number) => number {
  const values = valueComparator(key);
  const c = key.column;
  if (c.validity === null) return values;
  const whenNull = key.nullsFirst ? -1 : 1;
  return (i, j) => {
    const x = isNull(c, i);
    const y = isNull(c, j);
    if (x || y) return x === y ? 0 : x ? whenNull : -whenNull;
    return values(i, j);
  };
}

/** Comparison of two rows' values; fixed kinds read the typed array directly. */
function valueComparator(key: SortKey): (i: number, j: number) => number {
  const c = key.column;
  const sign = key.desc ? -1 : 1;
  const v = c.values;
  const float = key.type.name === 'float4' || key.type.name === 'float8';
  if (!float && (c.kind === 'i32' || c.kind === 'bool' || c.kind === 'f64'))
    return (i, j) => sign * (v[i]! - v[j]!);
  if (c.kind === 'i64' && key.type.name !== 'uint8') {
    // Doubles order safe integers exactly; one pass finds whether all are.
    const d = new Float64Array(c.length);
    let safe = true;
    for (let i = 0; i < d.length; i++) {
      d[i] = i64ToNumber(v as Int32Array, i);
      if (!Number.isSafeInteger(d[i]!)) safe = false;
    }
    if (safe) return (i, j) => sign * (d[i]! - d[j]!);
  }
  const compare = comparator(key.type);
  if (compare !== byBytes) return (i, j) => sign * compare(c, i, c, j);
  const prefix = prefixes(c);
  return (i, j) => sign * (prefix[i]! - prefix[j]! || byBytes(c, i, c, j));
}

/** The first six bytes of each cell as one exact double; where two differ, they order as the cells do. */
function prefixes(c: Column): Float64Array {
  const out = new Float64Array(c.length);
  for (let i = 0; i < out.length; i++) {
    const from = c.offsets[i]!;
    const to = c.offsets[i + 1]!;
    let v = 0;
    for (let k = 0; k < 6; k++) v = v * 256 + (from + k < to ? c.values[from + k]! : 0);
    out[i] = v;
  }
  return out;
}
