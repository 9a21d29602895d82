/**
 * PostgreSQL's binary forms of values, datum by datum. Times count from 2000-01-01 there and from 1970 here.
 */
import { SqlError } from '../base/error.ts';
import { EMPTY_ARRAY, SqlArray, SqlList, SqlRecord } from './array.ts';
import { DATE_INFINITY, DATE_NEG_INFINITY, isInfinite, timestampOutOfRange } from './datetime.ts';
import { type Interval, intervalOutOfRange, makeInterval } from './interval.ts';
import {
  divRound,
  NUMERIC_INFINITY,
  NUMERIC_NAN,
  NUMERIC_NEG_INFINITY,
  type Numeric,
  numericFromBig,
  pow10,
} from './numeric.ts';
import { parseUuid, uuidToText } from './scalars.ts';
import { encodeUtf8 } from './text.ts';
import { type Datum, oidOf, type SqlType, TYPES, typeByOid } from './types.ts';

/** 2000-01-01 in days and µs since 1970. */
const PG_EPOCH_DAYS = 10957;
export const PG_EPOCH_MICROS = 946_684_800_000_000n;

type Bytes = Uint8Array<ArrayBuffer>;

function sized(n: number, write: (v: DataView<ArrayBuffer>) => void): Bytes {
  const b = new Uint8Array(n);
  write(new DataView(b.buffer));
  return b;
}

/** Binary form of a value that is not NULL. */
export function encodeBinary(type: SqlType, d: Datum): Bytes {
  switch (type.name) {
    case 'bool':
      return Uint8Array.of(d === true ? 1 : 0);
    case 'int2':
    case 'uint2':
      return sized(2, (v) => v.setInt16(0, d as number));
    case 'int4':
      return sized(4, (v) => v.setInt32(0, d as number));
    case 'oid':
    case 'uint4':
    case 'regclass':
    case 'regtype':
    case 'regproc':
    case 'regnamespace':
      return sized(4, (v) => v.setUint32(0, d as number));
    case 'int8':
    case 'uint8':
    case 'time':
      return sized(8, (v) => v.setBigInt64(0, BigInt(d as bigint)));
    case 'mz_timestamp':
      return sized(8, (v) => v.setBigUint64(0, BigInt(d as number)));
    case 'float4':
      return sized(4, (v) => v.setFloat32(0, d as number));
    case 'float8':
      return sized(8, (v) => v.setFloat64(0, d as number));
    case 'date':
    case 'timestamp':
    case 'timestamptz':
    case 'interval':
      return encodeTime(type, d);
    case 'numeric':
      return encodeNumericBinary(d as Numeric);
    case 'bytea':
      return d as Bytes;
    case 'uuid':
      return parseUuid(d as string);
    case 'jsonb': {
      const text = encodeUtf8(d as string);
      const b = new Uint8Array(text.length + 1);
      b[0] = 1; // version
      b.set(text, 1);
      return b;
    }
    case 'array': {
      const a = d as SqlArray;
      return encodeArray(type.elem!, a.dims, a.lowers, a.items);
    }
    case 'list': {
      const items = (d as SqlList).items;
      return encodeArray(type.elem!, items.length === 0 ? [] : [items.length], [1], items);
    }
    case 'record':
      return encodeRecord(type, d as SqlRecord);
    case 'void':
      return new Uint8Array(0);
    default:
      return encodeUtf8(d as string);
  }
}

function encodeTime(type: SqlType, d: Datum): Bytes {
  switch (type.name) {
    case 'date': {
      const days = d as number;
      const infinite = days === DATE_INFINITY || days === DATE_NEG_INFINITY;
      return sized(4, (v) => v.setInt32(0, infinite ? days : days - PG_EPOCH_DAYS));
    }
    case 'timestamp':
    case 'timestamptz': {
      const t = d as bigint;
      return sized(8, (v) => v.setBigInt64(0, isInfinite(t) ? t : t - PG_EPOCH_MICROS));
    }
    default: {
      const i = d as Interval;
      return sized(16, (v) => {
        v.setBigInt64(0, BigInt(i.micros));
        v.setInt32(8, i.days);
        v.setInt32(12, i.months);
      });
    }
  }
}

function encodeNumericBinary(n: Numeric): Bytes {
  const header = (digits: number, weight: number, sign: number, scale: number): Bytes =>
    sized(8 + 2 * digits, (v) => {
      v.setInt16(0, digits);
      v.setInt16(2, weight);
      v.setUint16(4, sign);
      v.setInt16(6, scale);
    });
  // PostgreSQL sends an infinity with a scale of 32.
  if (!n.finite) return n.isNaN ? header(0, 0, 0xc000, 0) : header(0, 0, n.small > 0 ? 0xd000 : 0xf000, 32);
  // Digits of base 10000, aligned to the point.
  const fraction = Math.ceil(n.scale / 4);
  let rest = (n.sign < 0 ? -n.coef : n.coef) * pow10(fraction * 4 - n.scale);
  const groups: number[] = [];
  for (; rest > 0n; rest /= 10000n) groups.push(Number(rest % 10000n));
  const weight = groups.length - 1 - fraction;
  let drop = 0;
  while (drop < groups.length && groups[drop] === 0) drop++;
  const digits = groups.slice(drop).reverse();
  const b = header(digits.length, digits.length === 0 ? 0 : weight, n.sign < 0 ? 0x4000 : 0, n.scale);
  const v = new DataView(b.buffer);
  for (let k = 0; k < digits.length; k++) v.setInt16(8 + 2 * k, digits[k]!);
  return b;
}

function lengthPrefixed(parts: (Bytes | null)[], head: Bytes, oids?: readonly number[]): Bytes {
  const per = oids === undefined ? 4 : 8;
  let n = head.length;
  for (const p of parts) n += per + (p === null ? 0 : p.length);
  const b = new Uint8Array(n);
  const v = new DataView(b.buffer);
  b.set(head);
  let at = head.length;
  for (let k = 0; k < parts.length; k++) {
    const p = parts[k]!;
    if (oids !== undefined) v.setUint32(at, oids[k]!);
    v.setInt32(at + per - 4, p === null ? -1 : p.length);
    at += per;
    if (p !== null) b.set(p, at);
    at += p === null ? 0 : p.length;
  }
  return b;
}

function encodeArray(
  elem: SqlType,
  dims: readonly number[],
  lowers: readonly number[],
  items: readonly Datum[],
): Bytes {
  const head = sized(12 + 8 * dims.length, (v) => {
    v.setInt32(0, dims.length);
    v.setInt32(4, items.includes(null) ? 1 : 0);
    v.setUint32(8, oidOf(elem));
    for (let k = 0; k < dims.length; k++) {
      v.setInt32(12 + 8 * k, dims[k]!);
      v.setInt32(16 + 8 * k, lowers[k]!);
    }
  });
  return lengthPrefixed(
    items.map((x) => (x === null ? null : encodeBinary(elem, x))),
    head,
  );
}

function encodeRecord(type: SqlType, r: SqlRecord): Bytes {
  const fields = type.fields!;
  return lengthPrefixed(
    r.items.map((x, k) => (x === null ? null : encodeBinary(fields[k]!, x))),
    sized(4, (v) => v.setInt32(0, r.items.length)),
    fields.map(oidOf),
  );
}

// --- in

const badFormat = (): SqlError =>
  new SqlError('invalid_binary_representation', 'incorrect binary data format');

/** Length in bytes of the types that have one. */
const WIDTH: Partial<Record<SqlType['name'], number>> = {
  bool: 1,
  int2: 2,
  uint2: 2,
  int4: 4,
  oid: 4,
  uint4: 4,
  regclass: 4,
  regtype: 4,
  regproc: 4,
  regnamespace: 4,
  int8: 8,
  uint8: 8,
  time: 8,
  mz_timestamp: 8,
  float4: 4,
  float8: 8,
  date: 4,
  timestamp: 8,
  timestamptz: 8,
  interval: 16,
  uuid: 16,
};

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** A text from a client: refuses what is not UTF-8, and the zero byte. */
export function decodeClientText(bytes: Uint8Array): string {
  if (bytes.includes(0))
    throw new SqlError('character_not_in_repertoire', 'invalid byte sequence for encoding "UTF8": 0x00');
  try {
    return strictUtf8.decode(bytes);
  } catch {
    throw new SqlError('character_not_in_repertoire', 'invalid byte sequence for encoding "UTF8"');
  }
}

/** A datum from its binary form; jsonb comes as the text that its parser still has to read. */
export function decodeBinary(type: SqlType, bytes: Uint8Array): Datum {
  const width = WIDTH[type.name];
  if (width !== undefined && bytes.length !== width) throw badFormat();
  const v = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  switch (type.name) {
    case 'bool':
      return bytes[0] !== 0;
    case 'int2':
      return v.getInt16(0);
    case 'uint2':
      return v.getUint16(0);
    case 'int4':
      return v.getInt32(0);
    case 'oid':
    case 'uint4':
    case 'regclass':
    case 'regtype':
    case 'regproc':
    case 'regnamespace':
      return v.getUint32(0);
    case 'int8':
      return v.getBigInt64(0);
    case 'time':
    case 'date':
    case 'timestamp':
    case 'timestamptz':
    case 'interval':
      return decodeTime(type, v);
    case 'uint8':
      return v.getBigUint64(0);
    case 'mz_timestamp': {
      const t = Number(v.getBigUint64(0));
      if (!Number.isSafeInteger(t)) throw badFormat();
      return t;
    }
    case 'float4':
      return v.getFloat32(0);
    case 'float8':
      return v.getFloat64(0);
    case 'numeric':
      return decodeNumericBinary(v);
    case 'bytea':
      return bytes.slice();
    case 'uuid':
      return uuidToText(bytes);
    case 'jsonb':
      if (bytes[0] !== 1)
        throw new SqlError('invalid_binary_representation', `unsupported jsonb version number ${bytes[0]}`);
      return decodeClientText(bytes.subarray(1));
    case 'array':
      return decodeArray(type.elem!, v);
    case 'list':
      return new SqlList(decodeArray(type.elem!, v).items);
    case 'record':
      return decodeRecord(v);
    default:
      return decodeClientText(bytes);
  }
}

function decodeTime(type: SqlType, v: DataView): Datum {
  switch (type.name) {
    case 'time': {
      const t = v.getBigInt64(0);
      if (t < 0n || t > 86_400_000_000n) throw new SqlError('datetime_field_overflow', 'time out of range');
      return t;
    }
    case 'date': {
      const days = v.getInt32(0);
      return days === DATE_INFINITY || days === DATE_NEG_INFINITY ? days : days + PG_EPOCH_DAYS;
    }
    case 'timestamp':
    case 'timestamptz': {
      const t = v.getBigInt64(0);
      if (isInfinite(t)) return t;
      const shifted = t + PG_EPOCH_MICROS;
      if (BigInt.asIntN(64, shifted) !== shifted) throw timestampOutOfRange();
      return shifted;
    }
    default: {
      const micros = v.getBigInt64(0);
      if (!Number.isSafeInteger(Number(micros))) throw intervalOutOfRange();
      return makeInterval(v.getInt32(12), v.getInt32(8), Number(micros));
    }
  }
}

function decodeNumericBinary(v: DataView): Numeric {
  if (v.byteLength < 8) throw badFormat();
  const n = v.getInt16(0);
  const weight = v.getInt16(2);
  const sign = v.getUint16(4);
  const scale = v.getInt16(6);
  if (sign === 0xc000) return NUMERIC_NAN;
  if (sign === 0xd000) return NUMERIC_INFINITY;
  if (sign === 0xf000) return NUMERIC_NEG_INFINITY;
  if ((sign !== 0 && sign !== 0x4000) || n < 0 || v.byteLength !== 8 + 2 * n || scale < 0) throw badFormat();
  let coef = 0n;
  for (let k = 0; k < n; k++) {
    const digit = v.getInt16(8 + 2 * k);
    if (digit < 0 || digit > 9999) throw badFormat();
    coef = coef * 10000n + BigInt(digit);
  }
  if (sign === 0x4000) coef = -coef;
  // The last digit weighs 10000^(weight - n + 1).
  const shift = (weight - n + 1) * 4 + scale;
  return numericFromBig(shift >= 0 ? coef * pow10(shift) : divRound(coef, pow10(-shift)), scale);
}

function decodeArray(elem: SqlType, v: DataView): SqlArray {
  if (v.byteLength < 12) throw badFormat();
  const n = v.getInt32(0);
  const oid = v.getUint32(8);
  if (n < 0 || n > 6 || v.byteLength < 12 + 8 * n) throw badFormat();
  if (oid !== oidOf(elem))
    throw new SqlError(
      'datatype_mismatch',
      `binary data has array element type ${oid} (${nameOf(oid)}) instead of expected ${oidOf(elem)} (${TYPES[elem.name].sqlName})`,
    );
  const dims: number[] = [];
  const lowers: number[] = [];
  let count = n === 0 ? 0 : 1;
  for (let k = 0; k < n; k++) {
    dims.push(v.getInt32(12 + 8 * k));
    lowers.push(v.getInt32(16 + 8 * k));
    if (dims[k]! < 0) throw badFormat();
    count *= dims[k]!;
  }
  const items: Datum[] = [];
  let at = 12 + 8 * n;
  for (let k = 0; k < count; k++) {
    const part = slice(v, at);
    at = part.end;
    items.push(part.bytes === null ? null : decodeBinary(elem, part.bytes));
  }
  if (at !== v.byteLength) throw badFormat();
  return items.length === 0 ? EMPTY_ARRAY : new SqlArray(dims, lowers, items);
}

const nameOf = (oid: number): string => {
  const t = typeByOid(oid);
  return t === undefined ? '???' : TYPES[t.name].sqlName;
};

function decodeRecord(v: DataView): SqlRecord {
  if (v.byteLength < 4) throw badFormat();
  const n = v.getInt32(0);
  const items: Datum[] = [];
  let at = 4;
  for (let k = 0; k < n; k++) {
    if (at + 8 > v.byteLength) throw badFormat();
    const type = typeByOid(v.getUint32(at));
    if (type === undefined) throw badFormat();
    const part = slice(v, at + 4);
    at = part.end;
    items.push(part.bytes === null ? null : decodeBinary(type, part.bytes));
  }
  if (at !== v.byteLength) throw badFormat();
  return new SqlRecord(items);
}

/** A length-prefixed part at `at`. */
function slice(v: DataView, at: number): { bytes: Uint8Array | null; end: number } {
  if (at + 4 > v.byteLength) throw badFormat();
  const n = v.getInt32(at);
  if (n < 0) return { bytes: null, end: at + 4 };
  if (at + 4 + n > v.byteLength) throw badFormat();
  return { bytes: new Uint8Array(v.buffer, v.byteOffset + at + 4, n), end: at + 4 + n };
}
