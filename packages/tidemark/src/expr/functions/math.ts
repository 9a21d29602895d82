/** Functions of numbers. */
import { SqlError } from '../../base/error.ts';
import {
  absNumeric,
  ceilNumeric,
  floorNumeric,
  NUMERIC_NAN,
  type Numeric,
  numericFromInt,
  quotNumeric,
  roundNumeric,
  truncNumeric,
} from '../../repr/numeric.ts';
import {
  expNumeric,
  lnNumeric,
  log10Numeric,
  logNumeric,
  sqrtNumeric,
} from '../../repr/numeric-functions.ts';
import type { FunctionDef } from '../functions.ts';
import { mapFloats } from '../kernels/arithmetic.ts';
import type { RowFunction } from '../kernels/per-row.ts';
import { checkFloat, SMALL_INTEGERS } from './arithmetic.ts';
import { define, FAILS, rowFunction } from './define.ts';

const INT8_MAX = 0x7fffffffffffffffn;
const tooWide = (what: string): SqlError =>
  new SqlError('numeric_value_out_of_range', `${what} out of range`);

/** To the nearest integer, halves to even, as rint does. */
function roundHalfEven(x: number): number {
  const r = Math.round(x);
  return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;
}

const FLOAT_MAPS: readonly [string, (x: number) => number, string][] = [
  ['abs', Math.abs, 'Absolute value.'],
  ['ceil', Math.ceil, 'Least integer not less than the argument.'],
  ['ceiling', Math.ceil, 'Least integer not less than the argument.'],
  ['floor', Math.floor, 'Greatest integer not greater than the argument.'],
  ['round', roundHalfEven, 'Nearest integer; halves to the even one for floats.'],
  ['trunc', Math.trunc, 'The integer part.'],
  // PostgreSQL calls the sign of NaN 0 for floats.
  ['sign', (x) => (Number.isNaN(x) ? 0 : Math.sign(x) + 0), 'Sign: -1, 0 or 1.'],
  ['cbrt', Math.cbrt, 'Cube root.'],
  ['atan', Math.atan, 'Inverse tangent.'],
  ['sinh', Math.sinh, 'Hyperbolic sine.'],
  ['cosh', Math.cosh, 'Hyperbolic cosine.'],
  ['tanh', Math.tanh, 'Hyperbolic tangent.'],
  ['asinh', Math.asinh, 'Inverse hyperbolic sine.'],
];

const NUMERIC_MAPS: readonly [string, (n: Numeric) => Numeric][] = [
  ['abs', absNumeric],
  ['ceil', ceilNumeric],
  ['ceiling', ceilNumeric],
  ['floor', floorNumeric],
  ['round', (n) => roundNumeric(n)],
  ['trunc', (n) => truncNumeric(n)],
  ['sign', (n) => (n.isNaN ? n : numericFromInt(Math.sign(n.sign)))],
];
const docOf = new Map(FLOAT_MAPS.map(([name, , doc]) => [name, doc]));

function domain(ok: boolean): void {
  if (!ok) throw new SqlError('numeric_value_out_of_range', 'input is out of range');
}

function logOf(x: number, f: (x: number) => number): number {
  if (x === 0) throw new SqlError('invalid_argument_for_logarithm', 'cannot take logarithm of zero');
  if (x < 0)
    throw new SqlError('invalid_argument_for_logarithm', 'cannot take logarithm of a negative number');
  return f(x);
}

/** Doubles with a domain or a range of their own. */
const FLOAT_CHECKED: readonly [string, (x: number) => number, string][] = [
  [
    'sqrt',
    (x) => {
      if (x < 0)
        throw new SqlError(
          'invalid_argument_for_power_function',
          'cannot take square root of a negative number',
        );
      return Math.sqrt(x);
    },
    'Square root.',
  ],
  [
    'exp',
    (x) => checkFloat(Math.exp(x), x === Number.POSITIVE_INFINITY, x === Number.NEGATIVE_INFINITY),
    'Exponential.',
  ],
  ['radians', (x) => scaled(x, x * RADIANS), 'Degrees to radians.'],
  ['degrees', (x) => scaled(x, x / RADIANS), 'Radians to degrees.'],
  ['ln', (x) => logOf(x, Math.log), 'Natural logarithm.'],
  ['log', (x) => logOf(x, Math.log10), 'Logarithm to base 10.'],
  ['log10', (x) => logOf(x, Math.log10), 'Logarithm to base 10.'],
  ['sin', (x) => trig(x, Math.sin), 'Sine.'],
  ['cos', (x) => trig(x, Math.cos), 'Cosine.'],
  ['tan', (x) => trig(x, Math.tan), 'Tangent.'],
  ['cot', (x) => trig(x, (v) => 1 / Math.tan(v)), 'Cotangent.'],
  ['asin', (x) => bounded(x, Math.asin), 'Inverse sine.'],
  ['acos', (x) => bounded(x, Math.acos), 'Inverse cosine.'],
  [
    'atanh',
    (x) => {
      domain(!(x < -1 || x > 1));
      return Math.atanh(x);
    },
    'Inverse hyperbolic tangent.',
  ],
  [
    'acosh',
    (x) => {
      domain(!(x < 1));
      return Math.acosh(x);
    },
    'Inverse hyperbolic cosine.',
  ],
];

const RADIANS = Math.PI / 180;
const scaled = (x: number, v: number): number => checkFloat(v, !Number.isFinite(x), x === 0);

function trig(x: number, f: (x: number) => number): number {
  domain(x !== Number.POSITIVE_INFINITY && x !== Number.NEGATIVE_INFINITY);
  return f(x);
}
function bounded(x: number, f: (x: number) => number): number {
  domain(!(x < -1 || x > 1));
  return f(x);
}

const floats: FunctionDef[] = [
  ...FLOAT_MAPS.map(([name, f, doc]) =>
    define(`${name}_float8`, name, ['float8'], 'float8', mapFloats(f), doc),
  ),
  define('abs_float4', 'abs', ['float4'], 'float4', mapFloats(Math.abs), docOf.get('abs')!),
  ...FLOAT_CHECKED.map(([name, f, doc]) =>
    rowFunction(`${name}_float8`, name, ['float8'], 'float8', ([x]) => f(x), doc, FAILS),
  ),
  define('at_abs_float8', '@', ['float8'], 'float8', mapFloats(Math.abs), docOf.get('abs')!),
  rowFunction(
    'atan2_float8',
    'atan2',
    ['float8', 'float8'],
    'float8',
    ([y, x]) => Math.atan2(y, x),
    'Inverse tangent of y / x.',
  ),
  define('pi', 'pi', [], 'float8', () => ({ ...piColumn }), 'The constant π.'),
];
const piColumn = {
  kind: 'f64',
  length: 1,
  validity: null,
  values: new Float64Array([Math.PI]),
  offsets: new Int32Array(0),
} as const;

const numerics: FunctionDef[] = [
  ...NUMERIC_MAPS.map(([name, f]) =>
    rowFunction(`${name}_numeric`, name, ['numeric'], 'numeric', ([n]) => f(n), docOf.get(name)!),
  ),
  rowFunction(
    'round_numeric_int4',
    'round',
    ['numeric', 'int4'],
    'numeric',
    ([n, p]) => roundNumeric(n, p),
    'Rounded to that many decimal places.',
    FAILS,
  ),
  rowFunction(
    'trunc_numeric_int4',
    'trunc',
    ['numeric', 'int4'],
    'numeric',
    ([n, p]) => truncNumeric(n, p),
    'Cut to that many decimal places.',
  ),
  rowFunction('sqrt_numeric', 'sqrt', ['numeric'], 'numeric', ([n]) => sqrtNumeric(n), 'Square root.', FAILS),
  rowFunction('exp_numeric', 'exp', ['numeric'], 'numeric', ([n]) => expNumeric(n), 'Exponential.', FAILS),
  rowFunction('ln_numeric', 'ln', ['numeric'], 'numeric', ([n]) => lnNumeric(n), 'Natural logarithm.', FAILS),
  ...['log', 'log10'].map((name) =>
    rowFunction(
      `${name}_numeric`,
      name,
      ['numeric'],
      'numeric',
      ([n]) => log10Numeric(n),
      'Logarithm to base 10.',
      FAILS,
    ),
  ),
  rowFunction(
    'log_numeric_numeric',
    'log',
    ['numeric', 'numeric'],
    'numeric',
    ([b, n]) => (b.isNaN || n.isNaN ? NUMERIC_NAN : logNumeric(b, n)),
    'Logarithm to the base of the first.',
    FAILS,
  ),
  rowFunction(
    'div_numeric_numeric_int',
    'div',
    ['numeric', 'numeric'],
    'numeric',
    ([a, b]) => quotNumeric(a, b),
    'Integer quotient, truncated toward zero.',
    FAILS,
  ),
  rowFunction(
    'scale_numeric',
    'scale',
    ['numeric'],
    'int4',
    ([n]) => (n.finite ? n.scale : null),
    'Digits after the point.',
    { nullable: true },
  ),
];

const absInt =
  (min: number, what: string): RowFunction =>
  ([x]) => {
    if (x === min) throw tooWide(what);
    return Math.abs(x);
  };

function gcd(a: bigint, b: bigint): bigint {
  let x = a < 0n ? -a : a;
  let y = b < 0n ? -b : b;
  while (y !== 0n) [x, y] = [y, x % y];
  return x;
}
const lcm = (a: bigint, b: bigint): bigint => {
  if (a === 0n || b === 0n) return 0n;
  const v = (a / gcd(a, b)) * b;
  return v < 0n ? -v : v;
};
const TWO_INTS = { gcd: [gcd, 'Greatest common divisor.'], lcm: [lcm, 'Least common multiple.'] } as const;

const integers: FunctionDef[] = [
  ...(['int2', 'int4'] as const).map((t) =>
    rowFunction(
      `abs_${t}`,
      'abs',
      [t],
      t,
      absInt(SMALL_INTEGERS[t].min, t === 'int2' ? 'smallint' : 'integer'),
      docOf.get('abs')!,
      FAILS,
    ),
  ),
  rowFunction(
    'abs_int8',
    'abs',
    ['int8'],
    'int8',
    ([x]) => {
      if (x < -INT8_MAX) throw tooWide('bigint');
      return x < 0n ? -x : x;
    },
    docOf.get('abs')!,
    FAILS,
  ),
  ...Object.entries(TWO_INTS).flatMap(([name, [f, doc]]) => [
    rowFunction(
      `${name}_int4`,
      name,
      ['int4', 'int4'],
      'int4',
      ([a, b]) => {
        const v = f(BigInt(a), BigInt(b));
        if (v > 0x7fffffffn) throw tooWide('integer');
        return Number(v);
      },
      doc,
      FAILS,
    ),
    rowFunction(
      `${name}_int8`,
      name,
      ['int8', 'int8'],
      'int8',
      ([a, b]) => {
        const v = f(a, b);
        if (v > INT8_MAX) throw tooWide('bigint');
        return v;
      },
      doc,
      FAILS,
    ),
  ]),
];

export const MATH: readonly FunctionDef[] = [...floats, ...numerics, ...integers];
