/**
 * Text forms of the scalar types that need no module of their own: booleans, integers, floats, bytea, uuid.
 * Input accepts and refuses what PostgreSQL's input functions do, in their words.
 */
import { SqlError } from '../base/error.ts';
import { trimSpace } from './numeric.ts';
import { TYPES, type TypeName } from './types.ts';

const badSyntax = (name: TypeName, text: string): SqlError =>
  new SqlError(
    'invalid_text_representation',
    `invalid input syntax for type ${TYPES[name].sqlName}: "${text}"`,
  );

/** A number that left the range of its type, where no text is at hand. */
export const outOfRange = (name: TypeName): SqlError =>
  new SqlError('numeric_value_out_of_range', `${TYPES[name].sqlName} out of range`);

const textOutOfRange = (name: TypeName, text: string): SqlError =>
  new SqlError(
    'numeric_value_out_of_range',
    `value "${text}" is out of range for type ${TYPES[name].sqlName}`,
  );

// --- boolean

export function parseBool(text: string): boolean {
  const s = trimSpace(text).toLowerCase();
  if (s.length > 0) {
    if ('true'.startsWith(s) || 'yes'.startsWith(s) || s === 'on' || s === '1') return true;
    if ('false'.startsWith(s) || 'no'.startsWith(s) || (s.length > 1 && 'off'.startsWith(s)) || s === '0')
      return false;
  }
  throw badSyntax('bool', text);
}

// --- integers

interface IntRange {
  readonly min: bigint;
  readonly max: bigint;
}
/** Smallest and greatest value of each integer type. */
export const INT_RANGE = {
  int2: { min: -0x8000n, max: 0x7fffn },
  int4: { min: -0x80000000n, max: 0x7fffffffn },
  int8: { min: -0x8000000000000000n, max: 0x7fffffffffffffffn },
  uint2: { min: 0n, max: 0xffffn },
  uint4: { min: 0n, max: 0xffffffffn },
  uint8: { min: 0n, max: 0xffffffffffffffffn },
  oid: { min: -0x80000000n, max: 0xffffffffn },
  mz_timestamp: { min: 0n, max: 0x1fffffffffffffn },
} as const satisfies Partial<Record<TypeName, IntRange>>;
export type IntName = keyof typeof INT_RANGE;

const INTEGER = /^([+-]?)(?:(\d+(?:_\d+)*)|(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+))$/;

/** Any integer type; exact also beyond 2^53. */
export function parseBigInt(name: IntName, text: string): bigint {
  const m = INTEGER.exec(trimSpace(text));
  if (m === null) throw badSyntax(name, text);
  const magnitude = BigInt((m[2] ?? m[3]!).replaceAll('_', ''));
  const v = m[1] === '-' ? -magnitude : magnitude;
  const { min, max } = INT_RANGE[name];
  if (v < min || v > max) throw textOutOfRange(name, text);
  return name === 'oid' && v < 0n ? v + 0x100000000n : v;
}

/** An integer type whose values are doubles. */
export function parseInteger(name: Exclude<IntName, 'int8' | 'uint8'>, text: string): number {
  const n = text.length;
  // Nine digits fit every type but the two of 16 bits, and are what tables hold.
  if (n > 0 && n <= 9 && name !== 'int2' && name !== 'uint2') {
    let v = 0;
    let i = 0;
    for (; i < n; i++) {
      const c = text.charCodeAt(i) - 48;
      if (!(c >= 0 && c <= 9)) break;
      v = v * 10 + c;
    }
    if (i === n) return v;
  }
  return Number(parseBigInt(name, text));
}

// --- floats

const FLOAT = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/;
const FLOAT_WORD = /^([+-]?)(nan|inf|infinity)$/i;

export function parseFloatText(name: 'float4' | 'float8', text: string): number {
  const s = trimSpace(text);
  const word = FLOAT_WORD.exec(s);
  if (word !== null) {
    if (word[2]!.toLowerCase() === 'nan') return Number.NaN;
    return word[1] === '-' ? Number.NEGATIVE_INFINITY : Number.POSITIVE_INFINITY;
  }
  if (!FLOAT.test(s)) throw badSyntax(name, text);
  const v = name === 'float4' ? Math.fround(Number(s)) : Number(s);
  if (!Number.isFinite(v) || (v === 0 && /[1-9]/.test(s.replace(/[eE].*$/, ''))))
    throw new SqlError(
      'numeric_value_out_of_range',
      `"${s}" is out of range for type ${TYPES[name].sqlName}`,
    );
  return v;
}

/** Shortest digits that read back as the same double; exponents from 1e15 and below 1e-4, as PostgreSQL prints. */
export function float8ToText(v: number): string {
  const a = Math.abs(v);
  if (a >= 1e-4 && a < 1e15) return String(v);
  if (v === 0) return Object.is(v, -0) ? '-0' : '0';
  if (!Number.isFinite(v)) return Number.isNaN(v) ? 'NaN' : v > 0 ? 'Infinity' : '-Infinity';
  return padExponent(v.toExponential());
}
const padExponent = (s: string): string => s.replace(/e([+-])(\d)$/, 'e$10$2');

/** Whether the nearest float to `d` is `v`, and no tie decides it: then twice the distance is a float as well. */
function readsBack(d: number, v: number): boolean {
  if (d === v) return true;
  const mirror = v + 2 * (d - v);
  return Math.fround(d) === v && Math.fround(mirror) !== mirror;
}

/** `toExponential` takes the greater of two equally near; PostgreSQL the even one (165601.125 as 165601.12). */
function tieToEven(v: number, digits: number): string {
  const up = v.toExponential(digits - 1);
  const longer = v.toExponential(digits);
  const e = longer.indexOf('e');
  if (longer[e - 1] !== '5' || Number(longer) !== v) return up;
  const down = longer.slice(0, e - 1) + longer.slice(e);
  return /[02468]e/.test(down) && readsBack(Number(down), v) ? down : up;
}

/** The same for a float4: digits that read back as the same float, exponents from 1e6. */
export function float4ToText(v: number): string {
  if (v === 0 || !Number.isFinite(v)) return float8ToText(v);
  let digits = 1;
  while (digits < 9 && !readsBack(Number(v.toExponential(digits - 1)), v)) digits++;
  const s = tieToEven(v, digits);
  const exponent = Number(s.slice(s.indexOf('e') + 1));
  return exponent >= -4 && exponent < 6 ? String(Number(s)) : padExponent(s);
}

// --- bytea

const HEX = '0123456789abcdef';

export function byteaToText(b: Uint8Array): string {
  let s = '\\x';
  for (const x of b) s += HEX[x >> 4]! + HEX[x & 15]!;
  return s;
}

/** Hex (`\x0aff`) or escape (`a\\b\001`) form. */
export function parseBytea(text: string): Uint8Array<ArrayBuffer> {
  return text.startsWith('\\x') ? parseHex(text.slice(2)) : parseEscape(text);
}

/** Pairs of digits; white space may stand between pairs. */
export function parseHex(text: string): Uint8Array<ArrayBuffer> {
  const out: number[] = [];
  let high = -1;
  for (const c of text) {
    if (high < 0 && ' \n\t\r'.includes(c)) continue;
    const v = HEX.indexOf(c.toLowerCase());
    if (v < 0) throw new SqlError('invalid_parameter_value', `invalid hexadecimal digit: "${c}"`);
    if (high < 0) high = v;
    else {
      out.push(high * 16 + v);
      high = -1;
    }
  }
  if (high >= 0)
    throw new SqlError('invalid_parameter_value', 'invalid hexadecimal data: odd number of digits');
  return Uint8Array.from(out);
}

const utf8 = new TextEncoder();

function parseEscape(text: string): Uint8Array<ArrayBuffer> {
  const src = utf8.encode(text);
  const out: number[] = [];
  const octal = (p: number, max: number): boolean => src[p]! >= 48 && src[p]! <= max;
  for (let p = 0; p < src.length; ) {
    if (src[p] !== 92) out.push(src[p++]!);
    else if (src[p + 1] === 92) {
      out.push(92);
      p += 2;
    } else if (octal(p + 1, 51) && octal(p + 2, 55) && octal(p + 3, 55)) {
      out.push((src[p + 1]! - 48) * 64 + (src[p + 2]! - 48) * 8 + src[p + 3]! - 48);
      p += 4;
    } else throw new SqlError('invalid_text_representation', 'invalid input syntax for type bytea');
  }
  return Uint8Array.from(out);
}

// --- uuid

/** 16 bytes from any spelling: case, braces, and hyphens after groups of four digits do not matter. */
export function parseUuid(text: string): Uint8Array<ArrayBuffer> {
  const bare = text.startsWith('{') && text.endsWith('}') ? text.slice(1, -1) : text;
  if (!/^(?:[0-9a-fA-F]{4}-?){7}[0-9a-fA-F]{4}$/.test(bare)) throw badSyntax('uuid', text);
  const digits = bare.replaceAll('-', '');
  const out = new Uint8Array(16);
  for (let i = 0; i < 16; i++) out[i] = Number.parseInt(digits.slice(2 * i, 2 * i + 2), 16);
  return out;
}

export function uuidToText(b: Uint8Array, from = 0): string {
  let s = '';
  for (let i = 0; i < 16; i++) {
    if (i === 4 || i === 6 || i === 8 || i === 10) s += '-';
    const x = b[from + i]!;
    s += HEX[x >> 4]! + HEX[x & 15]!;
  }
  return s;
}
