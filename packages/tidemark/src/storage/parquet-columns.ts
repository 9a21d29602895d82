/**
 * Parquet's physical and logical types to SQL's, and decoded values to columns. Values come as the library's arrays
 * of physical values (typed arrays, byte views), without NULLs; logical conversion is ours, because the library's
 * goes through strings, dates and doubles and so loses digits and time.
 *
 * | Parquet | SQL |
 * |---|---|
 * | BOOLEAN | boolean |
 * | INT_8, INT_16, UINT_8 | smallint |
 * | INT32, UINT_16 | integer |
 * | INT64, UINT_32 | bigint |
 * | UINT_64 | uint8: the only type of 64 bits without a sign |
 * | FLOAT16, FLOAT; DOUBLE | real; double precision |
 * | DECIMAL(p, s), p at most 39 | numeric(p, s) |
 * | DATE; TIME | date; time |
 * | TIMESTAMP, UTC; local, INT96 | timestamptz; timestamp. Nanoseconds are cut to microseconds |
 * | STRING, ENUM; JSON; UUID; INTERVAL | text; jsonb; uuid; interval |
 * | other bytes | bytea |
 * | LIST of one of these | its array |
 * | other groups: structs, maps, lists of lists | jsonb |
 *
 * What a type cannot hold (a date outside its range, text that is not UTF-8, a decimal with too many digits) is an
 * error, not another value.
 */
import type { DecodedArray, SchemaElement } from 'hyparquet/src/types.js';
import { SqlError, unsupported } from '../base/error.ts';
import { type Column, ColumnBuilder, NO_OFFSETS } from '../repr/column.ts';
import { checkDate, fromMoment } from '../repr/datetime.ts';
import { encodeInterval, makeInterval } from '../repr/interval.ts';
import { canonicalJson } from '../repr/json.ts';
import { encodeNumeric, MAX_DIGITS, numericFromBig } from '../repr/numeric.ts';
import { decodeUtf8, encodeUtf8 } from '../repr/text.ts';
import { type SqlType, type } from '../repr/types.ts';
import { checkText } from './cell-parser.ts';

/** Values of one leaf without NULLs, as a column of its SQL type. */
type Convert = (raw: DecodedArray, n: number) => Column;

export interface LeafType {
  readonly type: SqlType;
  readonly convert: Convert;
}

const damaged = (what: string): SqlError => new SqlError('data_corrupted', what);

// --- which type

/** The SQL type of a primitive element; raises for those that have none. */
export function leafType(e: SchemaElement): LeafType {
  const logical = e.logical_type?.type ?? e.converted_type;
  switch (e.type) {
    case 'BOOLEAN':
      return { type: type('bool'), convert: booleans };
    case 'INT32':
      return int32Type(e, logical);
    case 'INT64':
      return int64Type(e, logical);
    case 'INT96':
      return { type: type('timestamp'), convert: int96 };
    case 'FLOAT':
      return { type: type('float4'), convert: doubles };
    case 'DOUBLE':
      return { type: type('float8'), convert: doubles };
    case 'BYTE_ARRAY':
    case 'FIXED_LEN_BYTE_ARRAY':
      return bytesType(e, logical);
    default:
      throw damaged(`column "${e.name}" has no physical type`);
  }
}

function int32Type(e: SchemaElement, logical: string | undefined): LeafType {
  switch (logical) {
    case 'DECIMAL':
      return decimal(e, (raw) => (i) => BigInt((raw as Int32Array)[i]!));
    case 'DATE':
      return { type: type('date'), convert: dates };
    case 'TIME':
    case 'TIME_MILLIS':
      return { type: type('time'), convert: times(1000) };
    default:
      break;
  }
  const { bits, signed } = integer(e, 32);
  if (bits === 32)
    return signed ? { type: type('int4'), convert: int32s } : { type: type('int8'), convert: uint32s };
  const top = 2 ** (signed ? bits - 1 : bits) - 1;
  return {
    type: type(top > 0x7fff ? 'int4' : 'int2'),
    convert: narrow(signed ? -top - 1 : 0, top),
  };
}

function int64Type(e: SchemaElement, logical: string | undefined): LeafType {
  const l = e.logical_type;
  switch (logical) {
    case 'DECIMAL':
      return decimal(e, (raw) => (i) => (raw as BigInt64Array)[i]!);
    case 'TIME':
      return { type: type('time'), convert: times(l?.type === 'TIME' && l.unit === 'NANOS' ? 1e-3 : 1) };
    case 'TIME_MICROS':
      return { type: type('time'), convert: times(1) };
    case 'TIMESTAMP_MILLIS':
      return { type: type('timestamptz'), convert: scaled(1000) };
    case 'TIMESTAMP_MICROS':
      return { type: type('timestamptz'), convert: micros };
    case 'TIMESTAMP': {
      const { unit, isAdjustedToUTC } = l as { unit: string; isAdjustedToUTC: boolean };
      const convert = unit === 'MILLIS' ? scaled(1000) : unit === 'MICROS' ? micros : fromNanos;
      return { type: type(isAdjustedToUTC ? 'timestamptz' : 'timestamp'), convert };
    }
    default:
      return { type: type(integer(e, 64).signed ? 'int8' : 'uint8'), convert: int64s };
  }
}

/** Width and sign of an annotated integer. */
function integer(e: SchemaElement, physical: 32 | 64): { bits: number; signed: boolean } {
  if (e.logical_type?.type === 'INTEGER') {
    const { bitWidth, isSigned } = e.logical_type;
    // Absent where the annotation could not be read: the physical type says it.
    return { bits: bitWidth ?? physical, signed: isSigned ?? true };
  }
  const m = /^(U?)INT_(\d+)$/.exec(e.converted_type ?? '');
  return m === null ? { bits: physical, signed: true } : { bits: Number(m[2]), signed: m[1] === '' };
}

function bytesType(e: SchemaElement, logical: string | undefined): LeafType {
  switch (logical) {
    case 'DECIMAL':
      return decimal(e, (raw) => (i) => bigEndian((raw as Uint8Array[])[i]!));
    case 'STRING':
    case 'UTF8':
    case 'ENUM':
      return { type: type('text'), convert: texts };
    case 'JSON':
      return { type: type('jsonb'), convert: jsons };
    case 'UUID':
      if (e.type_length !== 16)
        throw damaged(`column "${e.name}": a UUID has 16 bytes, not ${e.type_length}`);
      return { type: type('uuid'), convert: binary };
    case 'FLOAT16':
      return { type: type('float4'), convert: halves };
    case 'INTERVAL':
      return { type: type('interval'), convert: intervals };
    case 'VARIANT':
      throw unsupported(`column "${e.name}": Parquet type VARIANT`);
    default:
      return { type: type('bytea'), convert: binary };
  }
}

function decimal(e: SchemaElement, reader: (raw: DecodedArray) => (i: number) => bigint): LeafType {
  const l = e.logical_type?.type === 'DECIMAL' ? e.logical_type : undefined;
  const precision = l?.precision ?? e.precision ?? 0;
  const scale = l?.scale ?? e.scale ?? 0;
  if (precision > MAX_DIGITS)
    throw unsupported(`column "${e.name}": numeric of ${precision} digits (at most ${MAX_DIGITS} are kept)`);
  if (precision < 1 || scale < 0 || scale > precision)
    throw damaged(`column "${e.name}": a decimal of precision ${precision} and scale ${scale}`);
  const limit = 10n ** BigInt(precision);
  return {
    type: { name: 'numeric', typmod: (precision << 16) | scale },
    convert: (raw, n) => {
      const b = new ColumnBuilder('bytes', n);
      const at = reader(raw);
      for (let i = 0; i < n; i++) {
        const v = at(i);
        if (v >= limit || v <= -limit) throw damaged(`decimal ${v} has more than ${precision} digits`);
        encodeNumeric(b, numericFromBig(v, scale));
      }
      return b.finish();
    },
  };
}

function bigEndian(bytes: Uint8Array): bigint {
  if (bytes.length === 0) return 0n;
  let v = BigInt(bytes[0]! >= 0x80 ? bytes[0]! - 256 : bytes[0]!);
  for (let p = 1; p < bytes.length; p++) v = (v << 8n) | BigInt(bytes[p]!);
  return v;
}

// --- values

const fixed = (kind: 'bool' | 'i32' | 'i64' | 'f64', length: number, values: Column['values']): Column => ({
  kind,
  length,
  validity: null,
  values,
  offsets: NO_OFFSETS,
});

const booleans: Convert = (raw, n) =>
  fixed(
    'bool',
    n,
    Uint8Array.from({ length: n }, (_, i) => (raw[i] ? 1 : 0)),
  );

const int32s: Convert = (raw, n) =>
  fixed('i32', n, n === 0 ? new Int32Array(0) : (raw as Int32Array<ArrayBuffer>));

const uint32s: Convert = (raw, n) => {
  const out = new Int32Array(2 * n);
  // The upper half of a number without a sign is zero.
  for (let i = 0; i < n; i++) out[2 * i] = raw[i] as number;
  return fixed('i64', n, out);
};

function narrow(min: number, max: number): Convert {
  return (raw, n) => {
    for (let i = 0; i < n; i++) {
      const v = raw[i] as number;
      if (v < min || v > max) throw damaged(`integer ${v} is outside ${min} to ${max}, which its type says`);
    }
    return int32s(raw, n);
  };
}

/** The 64-bit values as the pairs of words that they are: no copy, no BigInt. */
const int64s: Convert = (raw, n) => {
  const a = raw as BigInt64Array<ArrayBuffer>;
  return fixed('i64', n, n === 0 ? new Int32Array(0) : new Int32Array(a.buffer, a.byteOffset, 2 * n));
};

/** One bit pattern for all NaN: rows are compared by their bytes. */
const doubles: Convert = (raw, n) => {
  const a = raw as Float64Array | Float32Array;
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) out[i] = Number.isNaN(a[i]) ? Number.NaN : a[i]!;
  return fixed('f64', n, out);
};

const halves: Convert = (raw, n) => {
  const out = new Float64Array(n);
  for (let i = 0; i < n; i++) {
    const b = (raw as Uint8Array[])[i]!;
    const bits = b[0]! | (b[1]! << 8);
    const e = (bits >> 10) & 31;
    const f = (bits & 1023) / 1024;
    const v = e === 0 ? f * 2 ** -14 : e === 31 ? (f === 0 ? Infinity : Number.NaN) : (1 + f) * 2 ** (e - 15);
    out[i] = bits >> 15 ? -v : v;
  }
  return fixed('f64', n, out);
};

const dates: Convert = (raw, n) => {
  for (let i = 0; i < n; i++) checkDate(raw[i] as number);
  return int32s(raw, n);
};

function bigs(raw: DecodedArray, n: number, f: (v: bigint) => bigint): Column {
  const out = new BigInt64Array(n);
  for (let i = 0; i < n; i++) out[i] = f(BigInt(raw[i] as number | bigint));
  return int64s(out, n);
}

const DAY_MICROS = 86_400_000_000n;

/** Refuses what no timestamp is; the ends stand for the infinities and are refused too. */
function checkedMicros(v: bigint): bigint {
  const days = v / DAY_MICROS - (v % DAY_MICROS < 0n ? 1n : 0n);
  return fromMoment(Number(days), Number(v - days * DAY_MICROS));
}

/** 1970 ± 140 years in µs by the upper word alone: what real files hold needs no BigInt. */
const NEAR = 1 << 20;

const micros: Convert = (raw, n) => {
  const c = int64s(raw, n);
  for (let i = 0; i < n; i++) {
    const high = c.values[2 * i + 1]!;
    if (high > NEAR || high < -NEAR) checkedMicros((raw as BigInt64Array)[i]!);
  }
  return c;
};

const scaled =
  (factor: number): Convert =>
  (raw, n) =>
    bigs(raw, n, (v) => checkedMicros(v * BigInt(factor)));

const floorDiv = (v: bigint, d: bigint): bigint => v / d - (v % d < 0n ? 1n : 0n);

const fromNanos: Convert = (raw, n) => bigs(raw, n, (v) => floorDiv(v, 1000n));

function times(factor: number): Convert {
  return (raw, n) =>
    bigs(raw, n, (v) => {
      const us = factor < 1 ? floorDiv(v, 1000n) : v * BigInt(factor);
      if (us < 0n || us > DAY_MICROS) throw new SqlError('datetime_field_overflow', 'time out of range');
      return us;
    });
}

const JULIAN_1970 = 2_440_588n;

/** Days of the Julian calendar over nanoseconds of the day. */
const int96: Convert = (raw, n) =>
  bigs(raw, n, (v) =>
    checkedMicros(((v >> 64n) - JULIAN_1970) * DAY_MICROS + floorDiv(BigInt.asUintN(64, v), 1000n)),
  );

const binary: Convert = (raw, n) => {
  const cells = raw as readonly Uint8Array[];
  const offsets = new Int32Array(n + 1);
  let total = 0;
  for (let i = 0; i < n; i++) {
    total += cells[i]!.length;
    offsets[i + 1] = total;
  }
  const values = new Uint8Array(total);
  for (let i = 0; i < n; i++) values.set(cells[i]!, offsets[i]);
  return { kind: 'bytes', length: n, validity: null, values, offsets };
};

const texts: Convert = (raw, n) => {
  const c = binary(raw, n);
  const values = c.values as Uint8Array;
  let plain = true;
  for (let p = 0; p < values.length; p++)
    if (values[p]! - 1 >= 0x7f || values[p] === 0) {
      plain = false;
      break;
    }
  // A character cut in two by the end of a cell is valid only in the whole: each cell is looked at.
  if (!plain) for (let i = 0; i < n; i++) checkText(values, c.offsets[i]!, c.offsets[i + 1]!);
  return c;
};

const jsons: Convert = (raw, n) => {
  const c = texts(raw, n);
  const b = new ColumnBuilder('bytes', n);
  for (let i = 0; i < n; i++)
    b.pushBytes(
      encodeUtf8(canonicalJson(decodeUtf8(c.values as Uint8Array, c.offsets[i]!, c.offsets[i + 1]!))),
    );
  return b.finish();
};

/** Months, days and milliseconds, each of 32 bits without a sign. */
const intervals: Convert = (raw, n) => {
  const b = new ColumnBuilder('bytes', n);
  for (let i = 0; i < n; i++) {
    const bytes = (raw as Uint8Array[])[i]!;
    if (bytes.length !== 12) throw damaged(`an interval has 12 bytes, not ${bytes.length}`);
    const v = new DataView(bytes.buffer, bytes.byteOffset, 12);
    encodeInterval(b, makeInterval(v.getUint32(0, true), v.getUint32(4, true), v.getUint32(8, true) * 1000));
  }
  return b.finish();
};
