/**
 * Between cells and datums: the one place that knows how each type lies in a column. Fixed kinds are the column's
 * own numbers; `bytes` cells are what `encodeValue` writes. Arrays and records nest the same encoding:
 *
 *     array   u8 dimensions, (i32 length, i32 lower bound) each, items
 *     list, record   items
 *     item    i32 byte length or -1 for NULL, then the bytes (fixed kinds: 1, 4 or 8 bytes)
 *
 * all little-endian. One value has one encoding, up to the types that `needsCanon` names.
 */
import { assert } from '../base/assert.ts';
import { EMPTY_ARRAY, SqlArray, SqlList, SqlRecord } from './array.ts';
import { type Column, type ColumnBuilder, i64ToBigInt, i64ToNumber, isNull, u64ToBigInt } from './column.ts';
import { decodeInterval, encodeInterval, type Interval, intervalBytes } from './interval.ts';
import { decodeNumeric, encodeNumeric, type Numeric, numericBytes } from './numeric.ts';
import { parseUuid, uuidToText } from './scalars.ts';
import { decodeUtf8, encodeUtf8 } from './text.ts';
import { type Datum, type Kind, kindOf, type SqlType } from './types.ts';

/** The cell as a datum, null for NULL. */
export function datumAt(type: SqlType, c: Column, i: number): Datum {
  if (isNull(c, i)) return null;
  switch (kindOf(type)) {
    case 'bool':
      return c.values[i] === 1;
    case 'i32':
    case 'f64':
      return c.values[i]!;
    case 'i64': {
      const v = c.values as Int32Array;
      if (type.name === 'uint8') return u64ToBigInt(v, i);
      const n = i64ToNumber(v, i);
      return Number.isSafeInteger(n) ? BigInt(n) : i64ToBigInt(v, i);
    }
    case 'bytes':
      return decodeValue(type, c.values as Uint8Array, c.offsets[i]!, c.offsets[i + 1]!);
  }
}

export function pushDatum(type: SqlType, b: ColumnBuilder, d: Datum): void {
  if (d === null) {
    b.pushNull();
    return;
  }
  switch (kindOf(type)) {
    case 'bool':
      b.pushNumber(d === true ? 1 : 0);
      return;
    case 'i32':
    case 'f64':
      b.pushNumber(d as number);
      return;
    case 'i64':
      if (typeof d === 'number') b.pushI64Number(d);
      else b.pushI64(d as bigint);
      return;
    case 'bytes':
      if (type.name === 'numeric') encodeNumeric(b, d as Numeric);
      else if (type.name === 'interval') encodeInterval(b, d as Interval);
      else b.pushBytes(encodeValue(type, d));
      return;
  }
}

/** A column from datums. */
export function columnOf(type: SqlType, datums: readonly Datum[], builder: ColumnBuilder): Column {
  for (const d of datums) pushDatum(type, builder, d);
  return builder.finish();
}

const one = new Uint8Array(8);
const view = new DataView(one.buffer);

/** Bytes of a value that is not NULL. */
function encodeValue(type: SqlType, d: Datum): Uint8Array<ArrayBuffer> {
  switch (type.name) {
    case 'numeric':
      return numericBytes(d as Numeric);
    case 'interval':
      return intervalBytes(d as Interval);
    case 'bytea':
      return d as Uint8Array<ArrayBuffer>;
    case 'uuid':
      return parseUuid(d as string);
    case 'array': {
      const a = d as SqlArray;
      const w = new Writer();
      w.byte(a.dims.length);
      for (let k = 0; k < a.dims.length; k++) {
        w.int(a.dims[k]!);
        w.int(a.lowers[k]!);
      }
      for (const x of a.items) w.item(type.elem!, x);
      return w.finish();
    }
    case 'list': {
      const w = new Writer();
      for (const x of (d as SqlList).items) w.item(type.elem!, x);
      return w.finish();
    }
    case 'record': {
      const items = (d as SqlRecord).items;
      assert(type.fields?.length === items.length, 'a record has as many values as its type has fields');
      const w = new Writer();
      for (let k = 0; k < items.length; k++) w.item(type.fields[k]!, items[k]!);
      return w.finish();
    }
    default:
      return encodePlain(kindOf(type), d);
  }
}

function encodePlain(kind: Kind, d: Datum): Uint8Array<ArrayBuffer> {
  switch (kind) {
    case 'bool':
      return Uint8Array.of(d === true ? 1 : 0);
    case 'i32':
      view.setInt32(0, d as number, true);
      return one.slice(0, 4);
    case 'f64':
      view.setFloat64(0, d as number, true);
      return one.slice(0, 8);
    case 'i64':
      view.setBigInt64(0, BigInt(d as bigint | number), true);
      return one.slice(0, 8);
    case 'bytes':
      return encodeUtf8(d as string);
  }
}

/** Inverse of `encodeValue`. */
export function decodeValue(type: SqlType, bytes: Uint8Array, from = 0, to = bytes.length): Datum {
  switch (type.name) {
    case 'numeric':
      return decodeNumeric(bytes, from, to);
    case 'interval':
      return decodeInterval(bytes, from);
    case 'bytea':
      return bytes.slice(from, to);
    case 'uuid':
      return uuidToText(bytes, from);
    case 'array': {
      const r = new Reader(bytes, from, to);
      const n = r.byte();
      if (n === 0) return EMPTY_ARRAY;
      const dims: number[] = [];
      const lowers: number[] = [];
      for (let k = 0; k < n; k++) {
        dims.push(r.int());
        lowers.push(r.int());
      }
      return new SqlArray(
        dims,
        lowers,
        r.items(() => type.elem!),
      );
    }
    case 'list':
      return new SqlList(new Reader(bytes, from, to).items(() => type.elem!));
    case 'record': {
      const fields = type.fields;
      assert(fields !== undefined, 'a record that is read has field types');
      return new SqlRecord(new Reader(bytes, from, to).items((k) => fields[k]!));
    }
    default:
      return decodePlain(type, bytes, from, to);
  }
}

function decodePlain(type: SqlType, bytes: Uint8Array, from: number, to: number): Datum {
  switch (kindOf(type)) {
    case 'bool':
      return bytes[from] === 1;
    case 'i32':
      return copyIn(bytes, from, 4).getInt32(0, true);
    case 'f64':
      return copyIn(bytes, from, 8).getFloat64(0, true);
    case 'i64':
      return type.name === 'uint8'
        ? copyIn(bytes, from, 8).getBigUint64(0, true)
        : copyIn(bytes, from, 8).getBigInt64(0, true);
    case 'bytes':
      return decodeUtf8(bytes, from, to);
  }
}

function copyIn(bytes: Uint8Array, from: number, n: number): DataView {
  for (let k = 0; k < n; k++) one[k] = bytes[from + k]!;
  return view;
}

class Writer {
  #buf = new Uint8Array(64);
  #n = 0;

  #room(n: number): void {
    if (this.#n + n <= this.#buf.length) return;
    const b = new Uint8Array(Math.max(this.#n + n, this.#buf.length * 2));
    b.set(this.#buf);
    this.#buf = b;
  }
  byte(v: number): void {
    this.#room(1);
    this.#buf[this.#n++] = v;
  }
  int(v: number): void {
    this.#room(4);
    for (let s = 0; s < 32; s += 8) this.#buf[this.#n++] = v >>> s;
  }
  item(type: SqlType, d: Datum): void {
    if (d === null) {
      this.int(-1);
      return;
    }
    const b = encodeValue(type, d);
    this.int(b.length);
    this.#room(b.length);
    this.#buf.set(b, this.#n);
    this.#n += b.length;
  }
  finish(): Uint8Array<ArrayBuffer> {
    return this.#buf.slice(0, this.#n);
  }
}

class Reader {
  readonly #b: Uint8Array;
  #at: number;
  readonly #to: number;
  constructor(b: Uint8Array, from: number, to: number) {
    this.#b = b;
    this.#at = from;
    this.#to = to;
  }
  byte(): number {
    return this.#b[this.#at++]!;
  }
  int(): number {
    const b = this.#b;
    const p = this.#at;
    this.#at += 4;
    return b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16) | (b[p + 3]! << 24);
  }
  items(type: (k: number) => SqlType): Datum[] {
    const out: Datum[] = [];
    while (this.#at < this.#to) {
      const n = this.int();
      if (n < 0) out.push(null);
      else {
        out.push(decodeValue(type(out.length), this.#b, this.#at, this.#at + n));
        this.#at += n;
      }
    }
    return out;
  }
}
