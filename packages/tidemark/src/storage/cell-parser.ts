/**
 * Cells from their text, straight from bytes into a column. The forms that files hold by the million (plain integers,
 * decimals, ISO dates, ASCII text) are read without making a string; everything else takes PostgreSQL's input
 * functions, so that what is accepted and what is refused is the same on both ways.
 */
import { SqlError } from '../base/error.ts';
import type { ColumnBuilder } from '../repr/column.ts';
import { daysFromCivil, daysInMonth } from '../repr/datetime.ts';
import { DEFAULT_FORMAT, pushText } from '../repr/format.ts';
import { INT_RANGE } from '../repr/scalars.ts';
import { decodeUtf8 } from '../repr/text.ts';
import type { SqlType } from '../repr/types.ts';

/** Pushes the value of bytes [from, to) onto the column; a value that is not one of the type raises. */
export type CellParser = (bytes: Uint8Array, from: number, to: number, out: ColumnBuilder) => void;

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Text must be UTF-8 without zero bytes: what PostgreSQL's text can hold, and what every kernel relies on. */
export function checkText(bytes: Uint8Array, from: number, to: number): void {
  let all = 0;
  for (let p = from; p < to; p++) {
    const c = bytes[p]!;
    if (c === 0) throw invalidText('0x00');
    all |= c;
  }
  if (all < 0x80) return;
  try {
    strict.decode(bytes.subarray(from, to));
  } catch {
    throw invalidText(firstInvalid(bytes, from, to));
  }
}

const invalidText = (where: string): SqlError =>
  new SqlError('character_not_in_repertoire', `invalid byte sequence for encoding "UTF8": ${where}`);

function firstInvalid(bytes: Uint8Array, from: number, to: number): string {
  let p = from;
  while (p < to) {
    const lead = bytes[p]!;
    const n = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    try {
      strict.decode(bytes.subarray(p, Math.min(p + n, to)));
    } catch {
      return Array.from(
        bytes.subarray(p, Math.min(p + n, to)),
        (b) => `0x${b.toString(16).padStart(2, '0')}`,
      ).join(' ');
    }
    p += n;
  }
  return 'at the end';
}

/** By PostgreSQL's input function. */
const general =
  (type: SqlType): CellParser =>
  (bytes, from, to, out) => {
    checkText(bytes, from, to);
    pushText(type, out, decodeUtf8(bytes, from, to), DEFAULT_FORMAT);
  };

const text: CellParser = (bytes, from, to, out) => {
  checkText(bytes, from, to);
  out.pushBytes(bytes, from, to);
};

/** NaN where the bytes are not an optional sign and 1 to 15 digits, which a double holds exactly. */
function shortInteger(bytes: Uint8Array, from: number, to: number): number {
  let p = from;
  const negative = bytes[p] === 45;
  if (negative || bytes[p] === 43) p++;
  if (p === to || to - p > 15) return Number.NaN;
  let v = 0;
  for (; p < to; p++) {
    const d = bytes[p]! - 48;
    if (d < 0 || d > 9) return Number.NaN;
    v = v * 10 + d;
  }
  return negative ? 0 - v : v;
}

function integer(type: SqlType, name: 'int2' | 'int4' | 'uint2' | 'uint4'): CellParser {
  const min = Number(INT_RANGE[name].min);
  const max = Number(INT_RANGE[name].max);
  const slow = general(type);
  return (bytes, from, to, out) => {
    const v = shortInteger(bytes, from, to);
    if (v >= min && v <= max) out.pushNumber(v);
    else slow(bytes, from, to, out);
  };
}

function int8(type: SqlType): CellParser {
  const slow = general(type);
  return (bytes, from, to, out) => {
    const v = shortInteger(bytes, from, to);
    if (!Number.isNaN(v) && (v >= 0 || type.name === 'int8')) out.pushI64Number(v);
    else slow(bytes, from, to, out);
  };
}

const POW10 = Array.from({ length: 16 }, (_, i) => 10 ** i);

/** At most 15 digits and a point: coefficient and power of ten are exact, so one division rounds correctly. */
function float8(type: SqlType): CellParser {
  const slow = general(type);
  return (bytes, from, to, out) => {
    let p = from;
    const negative = bytes[p] === 45;
    if (negative) p++;
    let v = 0;
    let digits = 0;
    let point = -1;
    for (; p < to; p++) {
      const d = bytes[p]! - 48;
      if (d >= 0 && d <= 9) {
        v = v * 10 + d;
        digits++;
      } else if (d === -2 && point < 0) point = digits;
      else break;
    }
    if (p < to || digits === 0 || digits > 15) {
      slow(bytes, from, to, out);
      return;
    }
    const x = point < 0 ? v : v / POW10[digits - point]!;
    out.pushNumber(negative ? -x : x);
  };
}

/** Two digits, or NaN. */
function two(bytes: Uint8Array, p: number): number {
  const a = bytes[p]! - 48;
  const b = bytes[p + 1]! - 48;
  return a >= 0 && a <= 9 && b >= 0 && b <= 9 ? a * 10 + b : Number.NaN;
}

/** Days since 1970 of `YYYY-MM-DD` at `p`, or NaN. */
function isoDays(bytes: Uint8Array, p: number): number {
  const year = two(bytes, p) * 100 + two(bytes, p + 2);
  const month = two(bytes, p + 5);
  const day = two(bytes, p + 8);
  if (bytes[p + 4] !== 45 || bytes[p + 7] !== 45) return Number.NaN;
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)))
    return Number.NaN;
  return daysFromCivil(year, month, day);
}

/** µs since midnight of `HH:MM[:SS[.f]]` in [p, to), or NaN. */
function clockMicros(bytes: Uint8Array, p: number, to: number): number {
  const n = to - p;
  if (n !== 5 && n !== 8 && !(n >= 10 && n <= 15)) return Number.NaN;
  const hour = two(bytes, p);
  const minute = two(bytes, p + 3);
  const second = n >= 8 ? two(bytes, p + 6) : 0;
  if (bytes[p + 2] !== 58 || (n >= 8 && bytes[p + 5] !== 58) || (n > 8 && bytes[p + 8] !== 46))
    return Number.NaN;
  if (!(hour <= 23 && minute <= 59 && second <= 59)) return Number.NaN;
  let fraction = 0;
  for (let k = 0, q = p + 9; k < 6; k++, q++) {
    const d = q < to ? bytes[q]! - 48 : 0;
    if (d < 0 || d > 9) return Number.NaN;
    fraction = fraction * 10 + d;
  }
  return (hour * 3600 + minute * 60 + second) * 1e6 + fraction;
}

function date(type: SqlType): CellParser {
  const slow = general(type);
  return (bytes, from, to, out) => {
    const days = to - from === 10 ? isoDays(bytes, from) : Number.NaN;
    if (!Number.isNaN(days)) out.pushNumber(days);
    else slow(bytes, from, to, out);
  };
}

function timestamp(type: SqlType): CellParser {
  const slow = general(type);
  return (bytes, from, to, out) => {
    const gap = to - from > 11 ? bytes[from + 10] : 0;
    const micros =
      gap === 32 || gap === 84
        ? isoDays(bytes, from) * 86_400e6 + clockMicros(bytes, from + 11, to)
        : Number.NaN;
    // Before 1685 and after 2255 a microsecond is less than a double can tell.
    if (Number.isSafeInteger(micros)) out.pushI64Number(micros);
    else slow(bytes, from, to, out);
  };
}

/** The parser of a column's cells. */
export function cellParser(type: SqlType): CellParser {
  if (type.typmod !== undefined) return general(type);
  switch (type.name) {
    case 'text':
    case 'varchar':
      return text;
    case 'int2':
    case 'int4':
    case 'uint2':
    case 'uint4':
      return integer(type, type.name);
    case 'int8':
    case 'uint8':
      return int8(type);
    case 'float8':
      return float8(type);
    case 'date':
      return date(type);
    case 'timestamp':
      return timestamp(type);
    default:
      return general(type);
  }
}
