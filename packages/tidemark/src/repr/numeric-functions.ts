/**
 * Transcendental functions of numeric, with PostgreSQL's rules for the scale of the result (at least 16
 * significant digits), computed in integers with guard digits and rounded once.
 */
import { SqlError } from '../base/error.ts';
import {
  absNumeric,
  divAtScale,
  divRound,
  leadingDigit,
  mulNumeric,
  NUMERIC_INFINITY,
  NUMERIC_NAN,
  NUMERIC_NEG_INFINITY,
  NUMERIC_ZERO,
  type Numeric,
  numericFromBig,
  numericFromInt,
  numericOverflow,
  numericToDouble,
  pow10,
  roundNumeric,
} from './numeric.ts';

const GUARD = 12;
const ONE = numericFromInt(1);
const LOG10_E = Math.LOG10E;
const LN_10 = Math.LN10;

const clampScale = (s: number): number => Math.min(Math.max(s, 0), 1000);

/** Floor of the square root; n >= 0. */
function isqrt(n: bigint): bigint {
  if (n < 2n) return n;
  let x = 1n << BigInt((n.toString(2).length + 1) >> 1);
  for (;;) {
    const y = (x + n / x) >> 1n;
    if (y >= x) return x;
    x = y;
  }
}

export function sqrtNumeric(n: Numeric): Numeric {
  if (n.isNaN) return n;
  if (n.sign < 0)
    throw new SqlError('invalid_argument_for_power_function', 'cannot take square root of a negative number');
  if (!n.finite) return n;
  const { weight } = leadingDigit(n);
  const digits = weight >= 0 ? Math.trunc((weight * 4) / 2) + 1 : 1 - Math.trunc((1 - weight * 4) / 2);
  const scale = clampScale(Math.max(16 - digits, n.scale));
  // One digit more than asked, then round; the remainder cannot make a tie of a non-square.
  const shift = 2 * (scale + 1) - n.scale;
  const root = isqrt(shift >= 0 ? n.coef * pow10(shift) : n.coef / pow10(-shift));
  return numericFromBig(divRound(root, 10n), scale);
}

/** e^x in fixed point: x and the result are integers in units of 10^-p. */
function expFixed(x: bigint, p: number): bigint {
  const one = pow10(p);
  // Halve until the series is short: e^x = (e^(x / 2^k))^(2^k).
  let k = 0;
  for (let a = x < 0n ? -x : x; a > one / 16n; a >>= 1n) k++;
  const exact = x >> BigInt(k);
  let term = one;
  let sum = one;
  for (let i = 1n; term !== 0n; i++) {
    term = (term * exact) / (one * i);
    sum += term;
  }
  for (; k > 0; k--) sum = (sum * sum) / one;
  return sum;
}

/** ln x in fixed point; x > 0. */
function lnFixed(x: bigint, p: number): bigint {
  const one = pow10(p);
  // Roots until near one: ln x = 2^k ln(x^(1 / 2^k)), then 2 artanh((y - 1) / (y + 1)).
  let y = x;
  let k = 0;
  while (y > (one * 11n) / 10n || y < (one * 9n) / 10n) {
    y = isqrt(y * one);
    k++;
  }
  const z = ((y - one) * one) / (y + one);
  const zz = (z * z) / one;
  let term = z;
  let sum = 0n;
  for (let i = 1n; term !== 0n; i += 2n) {
    sum += term / i;
    term = (term * zz) / one;
  }
  return (sum * 2n) << BigInt(k);
}

const fixed = (n: Numeric, p: number): bigint =>
  p >= n.scale ? n.coef * pow10(p - n.scale) : divRound(n.coef, pow10(n.scale - p));
const fromFixed = (v: bigint, p: number, scale: number): Numeric =>
  p >= scale
    ? numericFromBig(divRound(v, pow10(p - scale)), scale)
    : numericFromBig(v * pow10(scale - p), scale);

export function expNumeric(n: Numeric): Numeric {
  if (!n.finite) return n.isNaN ? n : n.small > 0 ? n : NUMERIC_ZERO;
  const weight = numericToDouble(n) * LOG10_E;
  if (weight > 40) throw numericOverflow();
  if (weight < -1000) return numericFromBig(0n, 1000);
  const scale = clampScale(Math.max(16 - Math.trunc(weight), n.scale));
  const p = scale + GUARD + Math.max(0, Math.ceil(Math.abs(weight))) * 2;
  return fromFixed(expFixed(fixed(n, p), p), p, scale);
}

/** Decimal weight of ln(n), estimated in doubles as PostgreSQL does. */
function lnWeight(n: Numeric): number {
  if (n.sign <= 0) return 0;
  const v = numericToDouble(n);
  if (v >= 0.9 && v <= 1.1) {
    const x = numericFromBig(n.coef - pow10(n.scale), n.scale);
    if (x.sign === 0) return 0;
    const { weight, digit } = leadingDigit(x);
    return weight * 4 + Math.trunc(Math.log10(digit));
  }
  const s = n.coef.toString();
  const lead = s.slice(0, 8);
  const ln = Math.log(Number(lead)) + (s.length - lead.length - n.scale) * LN_10;
  return Math.trunc(Math.log10(Math.abs(ln)));
}

function checkLog(n: Numeric): void {
  if (n.isNaN || n.sign > 0) return;
  throw new SqlError(
    'invalid_argument_for_logarithm',
    n.sign < 0 ? 'cannot take logarithm of a negative number' : 'cannot take logarithm of zero',
  );
}

export function lnNumeric(n: Numeric): Numeric {
  checkLog(n);
  if (!n.finite) return n;
  const scale = clampScale(Math.max(16 - lnWeight(n), n.scale));
  return fromFixed(lnAt(n, scale), scale + GUARD + 30, scale);
}

/** ln(n) in units of 10^-(scale + GUARD + 30); a small argument is scaled up first to keep its digits. */
function lnAt(n: Numeric, scale: number): bigint {
  const p = scale + GUARD + 30 + n.scale;
  return divRound(lnFixed(fixed(n, p), p), pow10(n.scale));
}

export function logNumeric(base: Numeric, n: Numeric): Numeric {
  checkLog(base);
  checkLog(n);
  if (base.isNaN || n.isNaN) return NUMERIC_NAN;
  if (!base.finite || !n.finite)
    return base.finite ? NUMERIC_INFINITY : n.finite ? NUMERIC_ZERO : NUMERIC_NAN;
  const scale = clampScale(Math.max(16 - (lnWeight(n) - lnWeight(base)), base.scale, n.scale));
  const d = lnAt(base, scale);
  if (d === 0n) throw new SqlError('division_by_zero', 'division by zero');
  const q = lnAt(n, scale) * pow10(scale);
  return numericFromBig(d < 0n ? divRound(-q, -d) : divRound(q, d), scale);
}

const TEN = numericFromInt(10);
export const log10Numeric = (n: Numeric): Numeric => logNumeric(TEN, n);

export function powerNumeric(base: Numeric, exp: Numeric): Numeric {
  if (!base.finite || !exp.finite) return powerSpecial(base, exp);
  const integral = exp.scale === 0 || exp.coef % pow10(exp.scale) === 0n;
  if (base.sign === 0 && exp.sign < 0)
    throw new SqlError('invalid_argument_for_power_function', 'zero raised to a negative power is undefined');
  if (base.sign < 0 && !integral)
    throw new SqlError(
      'invalid_argument_for_power_function',
      'a negative number raised to a non-integer power yields a complex result',
    );
  if (integral) {
    const e = exp.coef / pow10(exp.scale);
    if (e >= -2147483648n && e <= 2147483647n) return powerInt(base, Number(e), exp.scale);
  }
  if (base.sign === 0) return numericFromBig(0n, 16);
  const negative = base.sign < 0 && (exp.coef / pow10(exp.scale)) % 2n !== 0n;
  const b = absNumeric(base);
  // PostgreSQL estimates with a logarithm of few digits; the scale of the result depends on its rounding.
  const digits = Math.max(0, 8 - lnWeight(b));
  const ln = divRound(BigInt(Math.round(Math.log(numericToDouble(b)) * 1e9)), pow10(Math.max(0, 9 - digits)));
  const product = divRound(ln * exp.coef, pow10(exp.scale));
  const weight = (Number(product) / 10 ** Math.min(digits, 9)) * LOG10_E;
  if (weight > 41) throw numericOverflow();
  if (weight < -1000) return numericFromBig(0n, 1000);
  const scale = clampScale(Math.max(16 - Math.trunc(weight), base.scale, exp.scale));
  const p = scale + GUARD + 30 + Math.ceil(Math.abs(weight)) * 2;
  const v = expFixed(
    (divRound(lnFixed(fixed(b, p + b.scale), p + b.scale), pow10(b.scale)) * exp.coef) / pow10(exp.scale),
    p,
  );
  return fromFixed(negative ? -v : v, p, scale);
}

function powerInt(base: Numeric, exp: number, expScale: number): Numeric {
  const s = absNumeric(base).coef.toString();
  const weight =
    base.sign === 0
      ? 0
      : (Math.log10(Number(s.slice(0, 17))) + Math.max(0, s.length - 17) - base.scale) * exp;
  if (weight > 41) throw numericOverflow();
  if (weight + 1 < -1000) return numericFromBig(0n, 1000);
  const scale = clampScale(Math.max(16 - Math.trunc(weight), base.scale, expScale));
  switch (exp) {
    case 0:
      return numericFromBig(pow10(scale), scale);
    case 1:
      return roundNumeric(base, scale);
    case -1:
      return divAtScale(ONE, base, scale);
    case 2:
      return roundNumeric(mulNumeric(base, base), scale);
  }
  // Binary powers in fixed point, with digits to spare for the errors of the squarings.
  const negative = exp < 0;
  const bits = Math.abs(exp).toString(2);
  const p = scale + GUARD + bits.length + Math.ceil(Math.abs(weight)) * 2 + base.scale;
  const one = pow10(p);
  const x = negative
    ? divRound(one * pow10(base.scale) * (base.sign < 0 ? -1n : 1n), absNumeric(base).coef)
    : fixed(base, p);
  let v = one;
  for (const bit of bits) {
    v = (v * v) / one;
    if (bit === '1') v = (v * x) / one;
  }
  return fromFixed(v, p, scale);
}

/** At least one of the two is NaN or infinite: POSIX pow, as PostgreSQL follows it. */
function powerSpecial(base: Numeric, exp: Numeric): Numeric {
  const asDouble = (n: Numeric): number => (n.finite ? numericToDouble(n) : n.small);
  const b = asDouble(base);
  const e = asDouble(exp);
  if (b === 1) return ONE;
  if (e === 0) return ONE;
  if (Number.isNaN(b) || Number.isNaN(e)) return NUMERIC_NAN;
  if (b === 0 && e < 0)
    throw new SqlError('invalid_argument_for_power_function', 'zero raised to a negative power is undefined');
  if (b === -1) return ONE;
  if (b === Number.NEGATIVE_INFINITY && !Number.isInteger(e) && Number.isFinite(e))
    throw new SqlError(
      'invalid_argument_for_power_function',
      'a negative number raised to a non-integer power yields a complex result',
    );
  const r = b ** e;
  return r === 0 ? NUMERIC_ZERO : r > 0 ? NUMERIC_INFINITY : NUMERIC_NEG_INFINITY;
}
