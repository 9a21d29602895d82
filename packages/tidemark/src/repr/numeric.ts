/**
 * Decimal numbers: coefficient × 10^-scale, or NaN, or an infinity. The scale is PostgreSQL's display scale, so
 * 1.00 prints as it came, and 1.0 and 1.00 are two encodings of one SQL value (`canonNumeric`).
 *
 * A coefficient has at most 39 digits. A result with more loses fractional digits (rounded half away from zero);
 * if its integer part alone has more, that is an overflow error. PostgreSQL would keep 131072 digits: the price of
 * an encoding in at most 18 bytes.
 *
 * Coefficients that are safe integers are held and computed as doubles: an addition of amounts costs about 15 ns
 * against 100 through BigInt.
 *
 * Encoding: byte 0 is the scale (0–240) or 253 -Infinity, 254 Infinity, 255 NaN; then the coefficient in two's
 * complement, least significant byte first, in the fewest bytes that hold it (none for zero). One value at one
 * scale has one encoding.
 */
import { SqlError } from '../base/error.ts';
import type { ColumnBuilder } from './column.ts';

export const MAX_DIGITS = 39;
const MAX_SCALE = 240;
const SAFE = Number.MAX_SAFE_INTEGER;
const BIG_SAFE = BigInt(SAFE);

const POW10: readonly number[] = Array.from({ length: 23 }, (_, i) => Number(`1e${i}`));
const BIG_POW10: bigint[] = [1n];

/** 10^n, n >= 0. */
export function pow10(n: number): bigint {
  for (let k = BIG_POW10.length; k <= n && k <= 512; k++) BIG_POW10.push(BIG_POW10[k - 1]! * 10n);
  return n <= 512 ? BIG_POW10[n]! : 10n ** BigInt(n);
}
const LIMIT = pow10(MAX_DIGITS);

export class Numeric {
  /** The coefficient if it is a safe integer (`big` is null then); NaN and ±Infinity are the special values. */
  readonly small: number;
  readonly big: bigint | null;
  readonly scale: number;

  constructor(small: number, big: bigint | null, scale: number) {
    this.small = small;
    this.big = big;
    this.scale = scale;
  }

  get finite(): boolean {
    return this.big !== null || Number.isFinite(this.small);
  }
  get isNaN(): boolean {
    return this.big === null && Number.isNaN(this.small);
  }
  /** Of a finite value. */
  get coef(): bigint {
    return this.big ?? BigInt(this.small);
  }
  /** -1, 0 or 1; NaN for NaN. */
  get sign(): number {
    return this.big === null ? Math.sign(this.small) : this.big < 0n ? -1 : 1;
  }
  toString(): string {
    return numericToText(this);
  }
}

export const NUMERIC_NAN = new Numeric(Number.NaN, null, 0);
export const NUMERIC_INFINITY = new Numeric(Number.POSITIVE_INFINITY, null, 0);
export const NUMERIC_NEG_INFINITY = new Numeric(Number.NEGATIVE_INFINITY, null, 0);
export const NUMERIC_ZERO = new Numeric(0, null, 0);

const special = (x: number): Numeric =>
  Number.isNaN(x) ? NUMERIC_NAN : x > 0 ? NUMERIC_INFINITY : NUMERIC_NEG_INFINITY;

export const numericOverflow = (): SqlError =>
  new SqlError('numeric_value_out_of_range', 'value overflows numeric format');
const divisionByZero = (): SqlError => new SqlError('division_by_zero', 'division by zero');

/** n / d rounded half away from zero; d > 0. */
export function divRound(n: bigint, d: bigint): bigint {
  const q = n / d;
  const r = n % d;
  const twice = (r < 0n ? -r : r) * 2n;
  return twice >= d ? q + (n < 0n ? -1n : 1n) : q;
}

const digitsOf = (c: bigint): number => (c < 0n ? c.toString().length - 1 : c.toString().length);

/** A finite value from any coefficient and scale >= 0, rounded to what the format holds. */
export function numericFromBig(coef: bigint, scale = 0): Numeric {
  if (coef <= BIG_SAFE && coef >= -BIG_SAFE && scale <= MAX_SCALE)
    return new Numeric(Number(coef), null, scale);
  if (scale > MAX_SCALE) return numericFromBig(divRound(coef, pow10(scale - MAX_SCALE)), MAX_SCALE);
  if (coef >= LIMIT || coef <= -LIMIT) {
    const drop = digitsOf(coef) - MAX_DIGITS;
    if (drop > scale) throw numericOverflow();
    return numericFromBig(divRound(coef, pow10(drop)), scale - drop);
  }
  return new Numeric(0, coef, scale);
}

/** A safe integer. */
export const numericFromInt = (n: number): Numeric => new Numeric(n + 0, null, 0);

/** A double as PostgreSQL converts it: 15 significant digits (6 for a float4). */
export function numericFromDouble(x: number, digits = 15): Numeric {
  if (!Number.isFinite(x)) return special(x);
  return parseNumeric(String(Number(x.toPrecision(digits))));
}

export function numericToDouble(n: Numeric): number {
  if (n.big === null) {
    if (n.scale === 0) return n.small;
    // Both exact: one correctly rounded division.
    if (n.scale <= 22) return n.small / POW10[n.scale]!;
  }
  return Number(numericToText(n));
}

/** Integer part after rounding half away from zero; the caller checks the range. Of a finite value. */
export function numericToBigInt(n: Numeric): bigint {
  return n.scale === 0 ? n.coef : divRound(n.coef, pow10(n.scale));
}

// --- text

const DECIMAL = /^[+-]?(?:\d+(?:_\d+)*(?:\.(?:\d+(?:_\d+)*)?)?|\.\d+(?:_\d+)*)(?:[eE][+-]?\d+(?:_\d+)*)?$/;
const RADIX = /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[oO](?:_?[0-7])+|0[bB](?:_?[01])+)$/;
const WORDS: Readonly<Record<string, Numeric>> = {
  nan: NUMERIC_NAN,
  inf: NUMERIC_INFINITY,
  infinity: NUMERIC_INFINITY,
  '+inf': NUMERIC_INFINITY,
  '+infinity': NUMERIC_INFINITY,
  '-inf': NUMERIC_NEG_INFINITY,
  '-infinity': NUMERIC_NEG_INFINITY,
};

/** PostgreSQL's input syntax: sign, digits, exponent, underscores, 0x/0o/0b integers, NaN, Infinity. */
export function parseNumeric(text: string): Numeric {
  return parseShort(text) ?? parseLong(text);
}

/** Up to 15 digits with an optional point. */
function parseShort(text: string): Numeric | null {
  const n = text.length;
  if (n === 0 || n > 17) return null;
  let i = 0;
  const negative = text.charCodeAt(0) === 45;
  if (negative) i++;
  let v = 0;
  let digits = 0;
  let point = -1;
  for (; i < n; i++) {
    const c = text.charCodeAt(i);
    if (c >= 48 && c <= 57) {
      v = v * 10 + (c - 48);
      digits++;
    } else if (c === 46 && point < 0) point = i;
    else return null;
  }
  if (digits === 0 || digits > 15) return null;
  return new Numeric(negative && v !== 0 ? -v : v, null, point < 0 ? 0 : n - 1 - point);
}

/** Blank, or tab to carriage return. */
const isSpace = (c: number): boolean => c === 32 || (c >= 9 && c <= 13);

/** Without the white space that PostgreSQL's input functions skip; a regular expression would be quadratic here. */
export function trimSpace(s: string): string {
  let from = 0;
  let to = s.length;
  while (from < to && isSpace(s.charCodeAt(from))) from++;
  while (to > from && isSpace(s.charCodeAt(to - 1))) to--;
  return s.slice(from, to);
}

function parseLong(text: string): Numeric {
  const s = trimSpace(text);
  const word = WORDS[s.toLowerCase()];
  if (word !== undefined) return word;
  const radix = RADIX.exec(s);
  if (radix !== null) {
    const v = BigInt(radix[2]!.replaceAll('_', ''));
    return numericFromBig(radix[1] === '-' ? -v : v);
  }
  if (!DECIMAL.test(s))
    throw new SqlError('invalid_text_representation', `invalid input syntax for type numeric: "${text}"`);
  const plain = s.replaceAll('_', '').toLowerCase();
  const e = plain.indexOf('e');
  const mantissa = e < 0 ? plain : plain.slice(0, e);
  const exponent = e < 0 ? 0 : Number(plain.slice(e + 1));
  const point = mantissa.indexOf('.');
  const digits = point < 0 ? mantissa : mantissa.slice(0, point) + mantissa.slice(point + 1);
  if (digits.length > 100_000 || Math.abs(exponent) > 100_000) throw numericOverflow();
  const coef =
    digits === '-' || digits === '+' ? 0n : BigInt(digits.startsWith('+') ? digits.slice(1) : digits);
  const scale = (point < 0 ? 0 : mantissa.length - 1 - point) - exponent;
  if (scale >= 0) return numericFromBig(coef, scale);
  if (coef === 0n) return NUMERIC_ZERO;
  if (-scale > MAX_DIGITS) throw numericOverflow();
  return numericFromBig(coef * pow10(-scale), 0);
}

export function numericToText(n: Numeric): string {
  if (n.big === null && !Number.isFinite(n.small))
    return Number.isNaN(n.small) ? 'NaN' : n.small > 0 ? 'Infinity' : '-Infinity';
  const negative = n.sign < 0;
  const digits = n.big === null ? String(Math.abs(n.small)) : (negative ? -n.big : n.big).toString();
  const scale = n.scale;
  if (scale === 0) return negative ? `-${digits}` : digits;
  const padded = digits.length > scale ? digits : digits.padStart(scale + 1, '0');
  const cut = padded.length - scale;
  return `${negative ? '-' : ''}${padded.slice(0, cut)}.${padded.slice(cut)}`;
}

// --- order

/** Total order of SQL: NaN equals itself and is greatest; the scale does not matter. */
export function compareNumeric(a: Numeric, b: Numeric): number {
  if (a.big === null && b.big === null) {
    if (a.scale === b.scale && a.small === b.small) return 0;
    const an = Number.isNaN(a.small);
    const bn = Number.isNaN(b.small);
    if (an || bn) return an ? (bn ? 0 : 1) : -1;
    if (a.scale === b.scale) return a.small < b.small ? -1 : 1;
  }
  if (!a.finite || !b.finite) {
    if (a.isNaN || b.isNaN) return a.isNaN ? (b.isNaN ? 0 : 1) : -1;
    const x = a.finite ? 0 : a.small;
    const y = b.finite ? 0 : b.small;
    return x === y ? 0 : x < y ? -1 : 1;
  }
  if (a.sign !== b.sign) return a.sign < b.sign ? -1 : 1;
  const scale = Math.max(a.scale, b.scale);
  const x = coefAt(a, scale);
  const y = coefAt(b, scale);
  return x === y ? 0 : x < y ? -1 : 1;
}

/** Coefficient at a scale no less than its own. */
const coefAt = (n: Numeric, scale: number): bigint =>
  scale === n.scale ? n.coef : n.coef * pow10(scale - n.scale);

/** The same value with the fewest digits: what hashes and compares by bytes. */
export function canonNumeric(n: Numeric): Numeric {
  if (n.scale === 0 || !n.finite) return n;
  let scale = n.scale;
  if (n.big === null) {
    let c = n.small;
    if (c === 0) return NUMERIC_ZERO;
    while (scale > 0 && c % 10 === 0) {
      c /= 10;
      scale--;
    }
    return scale === n.scale ? n : new Numeric(c, null, scale);
  }
  let c = n.big;
  while (scale > 0 && c % 10n === 0n) {
    c /= 10n;
    scale--;
  }
  return scale === n.scale ? n : numericFromBig(c, scale);
}

// --- arithmetic

export function addNumeric(a: Numeric, b: Numeric): Numeric {
  if (a.big === null && b.big === null) {
    let x = a.small;
    let y = b.small;
    if (a.scale !== b.scale) {
      if (a.scale > b.scale) y *= POW10[Math.min(a.scale - b.scale, 22)]!;
      else x *= POW10[Math.min(b.scale - a.scale, 22)]!;
      if (Math.abs(a.scale - b.scale) > 22) x = SAFE * 4;
    }
    const s = x + y;
    // Terms within the safe range make the sum exact; `+ 0` turns -0 into 0.
    if (Math.abs(x) <= SAFE && Math.abs(y) <= SAFE && Math.abs(s) <= SAFE)
      return new Numeric(s + 0, null, Math.max(a.scale, b.scale));
  }
  if (!a.finite || !b.finite) return special((a.finite ? 0 : a.small) + (b.finite ? 0 : b.small));
  const scale = Math.max(a.scale, b.scale);
  return numericFromBig(coefAt(a, scale) + coefAt(b, scale), scale);
}

export function negNumeric(a: Numeric): Numeric {
  return a.big === null
    ? a.finite
      ? new Numeric(0 - a.small, null, a.scale)
      : special(-a.small)
    : new Numeric(0, -a.big, a.scale);
}
export const absNumeric = (a: Numeric): Numeric => (a.sign < 0 ? negNumeric(a) : a);
export const subNumeric = (a: Numeric, b: Numeric): Numeric => addNumeric(a, negNumeric(b));

export function mulNumeric(a: Numeric, b: Numeric): Numeric {
  const scale = a.scale + b.scale;
  if (a.big === null && b.big === null) {
    const p = a.small * b.small;
    if (Math.abs(p) <= SAFE && scale <= MAX_SCALE) return new Numeric(p + 0, null, scale);
  }
  if (!a.finite || !b.finite) {
    if (a.isNaN || b.isNaN) return NUMERIC_NAN;
    return special((a.finite ? a.sign : a.small) * (b.finite ? b.sign : b.small));
  }
  return numericFromBig(a.coef * b.coef, scale);
}

/** Weight and value of the first base-10000 digit, as PostgreSQL stores numbers. */
export function leadingDigit(n: Numeric): { weight: number; digit: number } {
  const s = (n.sign < 0 ? -n.coef : n.coef).toString();
  if (s === '0') return { weight: 0, digit: 0 };
  const exponent = s.length - 1 - n.scale;
  const weight = Math.floor(exponent / 4);
  const width = exponent - 4 * weight + 1;
  return { weight, digit: Number(s.slice(0, width).padEnd(width, '0')) };
}

/** PostgreSQL's choice: at least 16 significant digits, and no fewer decimals than either input. */
function divScale(a: Numeric, b: Numeric): number {
  const x = leadingDigit(a);
  const y = leadingDigit(b);
  const weight = x.weight - y.weight - (x.digit <= y.digit ? 1 : 0);
  return Math.min(Math.max(16 - weight * 4, a.scale, b.scale, 0), 1000);
}

/** a / b at a given scale, rounded half away from zero; both finite, b not zero. */
export function divAtScale(a: Numeric, b: Numeric, scale: number): Numeric {
  const shift = scale + b.scale - a.scale;
  let n = a.coef;
  let d = b.coef;
  if (shift >= 0) n *= pow10(shift);
  else d *= pow10(-shift);
  if (d < 0n) {
    n = -n;
    d = -d;
  }
  return numericFromBig(divRound(n, d), scale);
}

export function divNumeric(a: Numeric, b: Numeric): Numeric {
  if (!a.finite || !b.finite) {
    if (a.isNaN || b.isNaN) return NUMERIC_NAN;
    if (a.finite) return NUMERIC_ZERO;
    if (!b.finite) return NUMERIC_NAN;
    if (b.sign === 0) throw divisionByZero();
    return special(a.small * b.sign);
  }
  if (b.sign === 0) throw divisionByZero();
  return divAtScale(a, b, divScale(a, b));
}

/** Integer part of a / b, truncated: `div(a, b)`. */
export function quotNumeric(a: Numeric, b: Numeric): Numeric {
  if (!a.finite || !b.finite) return divNumeric(a, b);
  if (b.sign === 0) throw divisionByZero();
  const scale = Math.max(a.scale, b.scale);
  return numericFromBig(coefAt(a, scale) / coefAt(b, scale), 0);
}

/** Remainder with the sign of the dividend. */
export function modNumeric(a: Numeric, b: Numeric): Numeric {
  if (!a.finite || !b.finite) {
    if (a.isNaN || b.isNaN) return NUMERIC_NAN;
    if (!a.finite) {
      if (b.finite && b.sign === 0) throw divisionByZero();
      return NUMERIC_NAN;
    }
    return a;
  }
  if (b.sign === 0) throw divisionByZero();
  if (a.big === null && b.big === null && a.scale === b.scale)
    return new Numeric((a.small % b.small) + 0, null, a.scale);
  const scale = Math.max(a.scale, b.scale);
  return numericFromBig(coefAt(a, scale) % coefAt(b, scale), scale);
}

type Rounding = 'round' | 'trunc' | 'ceil' | 'floor';

function roundAs(n: Numeric, places: number, how: Rounding): Numeric {
  if (!n.finite) return n;
  if (places >= n.scale) {
    const scale = Math.min(places, MAX_SCALE);
    return scale === n.scale ? n : numericFromBig(coefAt(n, scale), scale);
  }
  const unit = pow10(Math.min(n.scale - places, 1000));
  const c = n.coef;
  let q = c / unit;
  if (how === 'round') q = divRound(c, unit);
  else if (how === 'ceil' && c > 0n && c % unit !== 0n) q++;
  else if (how === 'floor' && c < 0n && c % unit !== 0n) q--;
  return places >= 0 ? numericFromBig(q, places) : numericFromBig(q * pow10(-places), 0);
}

export const roundNumeric = (n: Numeric, places = 0): Numeric => roundAs(n, clampPlaces(places), 'round');
export const truncNumeric = (n: Numeric, places = 0): Numeric => roundAs(n, clampPlaces(places), 'trunc');
export const ceilNumeric = (n: Numeric): Numeric => roundAs(n, 0, 'ceil');
export const floorNumeric = (n: Numeric): Numeric => roundAs(n, 0, 'floor');
const clampPlaces = (p: number): number => Math.max(-500, Math.min(p, MAX_SCALE));

/** A value as `numeric(precision, scale)` holds it; `typmod` as in `SqlType`. */
export function applyNumericTypmod(n: Numeric, typmod: number): Numeric {
  const precision = typmod >> 16;
  // An 11-bit field with sign, as PostgreSQL packs it.
  const scale = ((typmod & 0x7ff) ^ 1024) - 1024;
  if (!n.finite) {
    if (n.isNaN) return n;
    throw fieldOverflow(precision, scale, 'cannot hold an infinite value.');
  }
  const r = roundAs(n, scale, 'round');
  const whole = precision - scale;
  const c = r.sign < 0 ? -r.coef : r.coef;
  const limit = pow10(whole + r.scale);
  if (c >= limit && c !== 0n)
    throw fieldOverflow(
      precision,
      scale,
      `must round to an absolute value less than ${whole === 0 ? '1' : `10^${whole}`}.`,
    );
  return r;
}

const fieldOverflow = (precision: number, scale: number, what: string): SqlError =>
  new SqlError('numeric_value_out_of_range', 'numeric field overflow', {
    detail: `A field with precision ${precision}, scale ${scale} ${what}`,
  });

// --- bytes

const scratch = new Uint8Array(24);

/** Writes the encoding into `scratch` and returns its length. */
function writeNumeric(n: Numeric): number {
  if (n.big === null) {
    let v = n.small;
    if (!Number.isFinite(v)) {
      scratch[0] = Number.isNaN(v) ? 255 : v > 0 ? 254 : 253;
      return 1;
    }
    scratch[0] = n.scale;
    if (v === 0) return 1;
    let p = 1;
    for (;;) {
      const low = v & 0xff; // modulo 2^32 first, so right for any safe integer
      scratch[p++] = low;
      v = (v - low) / 256;
      if ((v === 0 && low < 0x80) || (v === -1 && low >= 0x80)) return p;
    }
  }
  scratch[0] = n.scale;
  let v = n.big;
  let p = 1;
  for (;;) {
    const low = Number(BigInt.asUintN(8, v));
    scratch[p++] = low;
    v >>= 8n;
    if ((v === 0n && low < 0x80) || (v === -1n && low >= 0x80)) return p;
  }
}

export function encodeNumeric(builder: ColumnBuilder, n: Numeric): void {
  builder.pushBytes(scratch, 0, writeNumeric(n));
}

export function numericBytes(n: Numeric): Uint8Array<ArrayBuffer> {
  return scratch.slice(0, writeNumeric(n));
}

export function decodeNumeric(bytes: Uint8Array, from = 0, to = bytes.length): Numeric {
  const scale = bytes[from]!;
  if (scale > 250)
    return scale === 255 ? NUMERIC_NAN : scale === 254 ? NUMERIC_INFINITY : NUMERIC_NEG_INFINITY;
  const n = to - from - 1;
  if (n === 0) return scale === 0 ? NUMERIC_ZERO : new Numeric(0, null, scale);
  let p = to - 1;
  const top = bytes[p]!;
  if (n <= 7) {
    let v = top >= 0x80 ? top - 256 : top;
    for (p--; p > from; p--) v = v * 256 + bytes[p]!;
    // Seven bytes reach 2^55: beyond 2^53 the sum may have rounded, so it is read again exactly.
    if (v <= SAFE && v >= -SAFE) return new Numeric(v, null, scale);
    p = to - 1;
  }
  let v = BigInt(top >= 0x80 ? top - 256 : top);
  for (p--; p > from; p--) v = (v << 8n) | BigInt(bytes[p]!);
  return numericFromBig(v, scale);
}
