/**
 * Cells of result columns as a client gets them: an encoder is made once a column and writes one cell into what sends it. The common
 * types take no datum, string or array on the way: digits are made in one buffer that all cells share, and copied from there.
 */
import { type Column, i64ToNumber, isNull } from './column.ts';
import { civilFromDays, isInfinite, offsetOf, timestampToText, timestamptzToText } from './datetime.ts';
import { datumAt } from './datum.ts';
import { DEFAULT_FORMAT, type FormatContext, textOf } from './format.ts';
import { MICROS_PER_DAY, MICROS_PER_SECOND } from './interval.ts';
import { decodeNumeric, numericToText } from './numeric.ts';
import { encodeUtf8 } from './text.ts';
import type { SqlType } from './types.ts';
import { encodeBinary } from './wire.ts';

/** Takes a cell by one call. */
export interface CellSink {
  null(): void;
  text(value: string): void;
  /** Bytes [start, end), copied before the call returns. */
  bytes(value: Uint8Array, start: number, end: number): void;
}

export type CellEncoder = (c: Column, row: number, out: CellSink) => void;

/** Room for what is written by hand: `2020-01-31 23:59:59.999999+12:34:56` is the longest. */
const scratch = new Uint8Array(40);
const view = new DataView(scratch.buffer);

const ZERO = 48;
const DASH = 45;
const COLON = 58;

/** The text form of cells of one type. */
export function textEncoder(type: SqlType, ctx: FormatContext = DEFAULT_FORMAT): CellEncoder {
  return unlessNull(notNullText(type, ctx));
}

/** The binary form of cells of one type. */
export function binaryEncoder(type: SqlType): CellEncoder {
  return unlessNull(notNullBinary(type));
}

function unlessNull(encode: CellEncoder): CellEncoder {
  return (c, row, out) => {
    if (c.validity !== null && isNull(c, row)) out.null();
    else encode(c, row, out);
  };
}

class OneCell implements CellSink {
  cell: Uint8Array | null = null;

  null(): void {
    this.cell = null;
  }

  text(value: string): void {
    this.cell = encodeUtf8(value);
  }

  bytes(value: Uint8Array, start: number, end: number): void {
    this.cell = value.slice(start, end);
  }
}

/** What an encoder writes, as bytes of its own; null for NULL. */
export function encodedCell(encode: CellEncoder, c: Column, row: number): Uint8Array | null {
  const out = new OneCell();
  encode(c, row, out);
  return out.cell;
}

const stored: CellEncoder = (c, row, out) =>
  out.bytes(c.values as Uint8Array, c.offsets[row]!, c.offsets[row + 1]!);

function notNullText(type: SqlType, ctx: FormatContext): CellEncoder {
  switch (type.name) {
    case 'bool':
      return (c, row, out) => out.text(c.values[row] === 1 ? 't' : 'f');
    case 'int2':
    case 'int4':
    case 'uint2':
    case 'uint4':
    case 'oid':
    case 'regclass':
    case 'regtype':
    case 'regproc':
    case 'regnamespace':
    case 'mz_timestamp':
      return (c, row, out) => out.bytes(scratch, 0, integerText(c.values[row]!));
    case 'int8':
    case 'uint8':
      return (c, row, out) => {
        // Of a uint8 of more than 63 bits the sign would be wrong, and the number is not safe.
        const n = i64ToNumber(c.values as Int32Array, row);
        if (Number.isSafeInteger(n) && (n >= 0 || type.name === 'int8'))
          out.bytes(scratch, 0, integerText(n));
        else out.text(String(datumAt(type, c, row)));
      };
    case 'text':
    case 'varchar':
    case 'bpchar':
    case 'name':
    case 'char':
    case 'jsonb':
    case 'unknown':
      return stored;
    case 'numeric':
      return (c, row, out) =>
        out.text(numericToText(decodeNumeric(c.values as Uint8Array, c.offsets[row]!, c.offsets[row + 1]!)));
    case 'timestamp':
      return (c, row, out) => {
        const t = microsAt(c, row);
        const end = isCommon(t) ? momentText(t) : 0;
        if (end > 0) out.bytes(scratch, 0, end);
        else out.text(timestampToText(t));
      };
    case 'timestamptz':
      return (c, row, out) => {
        const t = microsAt(c, row);
        const end = isCommon(t) ? zonedText(t, offsetOf(t, ctx.timeZone)) : 0;
        if (end > 0) out.bytes(scratch, 0, end);
        else out.text(timestamptzToText(t, ctx.timeZone));
      };
    default:
      return (c, row, out) => out.text(textOf(type, datumAt(type, c, row), ctx));
  }
}

function notNullBinary(type: SqlType): CellEncoder {
  switch (type.name) {
    case 'text':
    case 'varchar':
    case 'bpchar':
    case 'name':
    case 'char':
    case 'unknown':
    case 'bytea':
    case 'uuid':
      return stored;
    case 'bool':
      return (c, row, out) => {
        scratch[0] = c.values[row]!;
        out.bytes(scratch, 0, 1);
      };
    case 'int4':
      return (c, row, out) => {
        view.setInt32(0, c.values[row]!);
        out.bytes(scratch, 0, 4);
      };
    case 'float8':
      return (c, row, out) => {
        view.setFloat64(0, c.values[row]!);
        out.bytes(scratch, 0, 8);
      };
    case 'int8':
    case 'uint8':
    case 'time':
      return (c, row, out) => {
        view.setInt32(0, c.values[2 * row + 1]!);
        view.setInt32(4, c.values[2 * row]!);
        out.bytes(scratch, 0, 8);
      };
    default:
      return (c, row, out) => {
        const bytes = encodeBinary(type, datumAt(type, c, row));
        out.bytes(bytes, 0, bytes.length);
      };
  }
}

/** Safe integers as doubles, the rest exact. */
function microsAt(c: Column, row: number): number | bigint {
  const n = i64ToNumber(c.values as Int32Array, row);
  return Number.isSafeInteger(n) ? n : (datumAt({ name: 'int8' }, c, row) as bigint);
}

// --- digits into the scratch buffer; each gives where the text ends

/** A safe integer. */
function integerText(v: number): number {
  let a = Math.abs(v);
  let end = v < 0 ? 2 : 1;
  for (let t = a; t >= 10; t = Math.floor(t / 10)) end++;
  if (v < 0) scratch[0] = DASH;
  for (let p = end - 1; p >= 0 && (p > 0 || v >= 0); p--) {
    const q = Math.floor(a / 10);
    scratch[p] = ZERO + (a - q * 10);
    a = q;
  }
  return end;
}

/** `n` in two digits. */
function two(n: number, at: number): number {
  const tens = Math.floor(n / 10);
  scratch[at] = ZERO + tens;
  scratch[at + 1] = ZERO + (n - tens * 10);
  return at + 2;
}

function after(mark: number, n: number, at: number): number {
  scratch[at] = mark;
  return two(n, at + 1);
}

const isCommon = (t: number | bigint): t is number => typeof t === 'number' && !isInfinite(t);

/** µs since 1970 as date and time of day; 0 for years that are not of four digits. */
function momentText(t: number): number {
  const days = Math.floor(t / MICROS_PER_DAY);
  const { year, month, day } = civilFromDays(days);
  if (year < 1 || year > 9999) return 0;
  let at = two(Math.floor(year / 100), 0);
  at = two(year % 100, at);
  at = after(DASH, month, at);
  at = after(DASH, day, at);
  const micros = t - days * MICROS_PER_DAY;
  const seconds = Math.floor(micros / MICROS_PER_SECOND);
  at = after(SPACE, Math.floor(seconds / 3600), at);
  at = after(COLON, Math.floor(seconds / 60) % 60, at);
  at = after(COLON, seconds % 60, at);
  return fraction(micros - seconds * MICROS_PER_SECOND, at);
}

const SPACE = 32;
const DOT = 46;
const PLUS = 43;

/** µs of a second without the zeros at the end, and nothing for none. */
function fraction(micros: number, at: number): number {
  if (micros === 0) return at;
  scratch[at] = DOT;
  let end = at + 1;
  for (let left = micros, unit = 100_000; left > 0; unit /= 10) {
    const digit = Math.floor(left / unit);
    scratch[end++] = ZERO + digit;
    left -= digit * unit;
  }
  return end;
}

function zonedText(t: number, offset: number): number {
  const at = momentText(t + offset * MICROS_PER_SECOND);
  if (at === 0) return 0;
  const a = Math.abs(offset);
  const [minutes, seconds] = [Math.floor(a / 60) % 60, a % 60];
  let end = after(offset < 0 ? DASH : PLUS, Math.floor(a / 3600), at);
  if (minutes !== 0 || seconds !== 0) end = after(COLON, minutes, end);
  return seconds === 0 ? end : after(COLON, seconds, end);
}
