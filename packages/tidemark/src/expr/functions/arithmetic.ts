/** Operators of numbers: + - * / % and unary minus for every numeric type, bits, powers. */
import { SqlError } from '../../base/error.ts';
import {
  addNumeric,
  compareNumeric,
  divNumeric,
  modNumeric,
  mulNumeric,
  type Numeric,
  negNumeric,
  subNumeric,
  truncNumeric,
} from '../../repr/numeric.ts';
import { powerNumeric } from '../../repr/numeric-functions.ts';
import type { FunctionDef, Pattern } from '../functions.ts';
import {
  type Arithmetic,
  floatArithmetic,
  type IntegerRange,
  i64Arithmetic,
  intArithmetic,
  mapFloats,
  negateI64,
  negateInt,
  outOfRange,
} from '../kernels/arithmetic.ts';
import { numericBinary } from '../kernels/numeric.ts';
import { define, FAILS, rowFunction } from './define.ts';

const SYMBOL: Readonly<Record<Arithmetic, string>> = {
  add: '+',
  sub: '-',
  mul: '*',
  div: '/',
  mod: '%',
};
const OPS = Object.keys(SYMBOL) as Arithmetic[];
const VERB: Readonly<Record<Arithmetic, string>> = {
  add: 'Sum',
  sub: 'Difference',
  mul: 'Product',
  div: 'Quotient, truncated toward zero for integers',
  mod: 'Remainder, with the sign of the dividend',
};

/** Integers of 16 and 32 bits. */
export const SMALL_INTEGERS = {
  int2: { kind: 'i32', min: -0x8000, max: 0x7fff, error: outOfRange('smallint out of range') },
  int4: { kind: 'i32', min: -0x80000000, max: 0x7fffffff, error: outOfRange('integer out of range') },
  uint2: { kind: 'i32', min: 0, max: 0xffff, error: outOfRange('uint2 out of range') },
  uint4: { kind: 'f64', min: 0, max: 0xffffffff, error: outOfRange('uint4 out of range') },
} as const satisfies Partial<Record<Pattern, IntegerRange>>;
type SmallInteger = keyof typeof SMALL_INTEGERS;
const SMALL = Object.keys(SMALL_INTEGERS) as SmallInteger[];

const BIGINT_OUT_OF_RANGE = outOfRange('bigint out of range');
const UINT8_OUT_OF_RANGE = outOfRange('uint8 out of range');

const integers: FunctionDef[] = OPS.flatMap((op) => [
  ...SMALL.map((t) => binary(op, t, intArithmetic(op, SMALL_INTEGERS[t]))),
  binary(op, 'int8', i64Arithmetic(op, true, BIGINT_OUT_OF_RANGE)),
  binary(op, 'uint8', i64Arithmetic(op, false, UINT8_OUT_OF_RANGE)),
]);

const floats: FunctionDef[] = OPS.flatMap((op) =>
  op === 'mod'
    ? []
    : [
        binary(op, 'float4', floatArithmetic(op, true)),
        binary(op, 'float8', floatArithmetic(op, false)),
        // A float4 is a double in its column, so a mixed pair needs no cast; an integer beside one goes to float8.
        mixed(op, 'float4', 'float8'),
        mixed(op, 'float8', 'float4'),
      ],
);

function mixed(op: Exclude<Arithmetic, 'mod'>, a: 'float4' | 'float8', b: 'float4' | 'float8'): FunctionDef {
  return define(
    `${op}_${a}_${b}`,
    SYMBOL[op],
    [a, b],
    'float8',
    floatArithmetic(op, false),
    `${VERB[op]}.`,
    FAILS,
  );
}

function binary(op: Arithmetic, t: Pattern, kernel: FunctionDef['kernel']): FunctionDef {
  return define(`${op}_${t}_${t}`, SYMBOL[op], [t, t], t, kernel, `${VERB[op]}.`, FAILS);
}

const NUMERIC_OPS: Readonly<Record<Arithmetic, (a: Numeric, b: Numeric) => Numeric>> = {
  add: addNumeric,
  sub: subNumeric,
  mul: mulNumeric,
  div: divNumeric,
  mod: modNumeric,
};
const numerics: FunctionDef[] = OPS.map((op) => binary(op, 'numeric', numericBinary(NUMERIC_OPS[op])));

/** `mod(a, b)` is `a % b`. */
const mods: FunctionDef[] = [...integers, ...numerics]
  .filter((d) => d.name === '%')
  .map((d) => ({ ...d, id: d.id.replace(/^mod/, 'modfn'), name: 'mod' }));

/** Mixed integer widths keep PostgreSQL's result types without a cast of the wider side. */
const negations: FunctionDef[] = [
  ...(['int2', 'int4'] as const).map((t) =>
    define(`neg_${t}`, '-', [t], t, negateInt(SMALL_INTEGERS[t]), 'Negation.', FAILS),
  ),
  define('neg_int8', '-', ['int8'], 'int8', negateI64(BIGINT_OUT_OF_RANGE), 'Negation.', FAILS),
  ...(['float4', 'float8'] as const).map((t) =>
    define(
      `neg_${t}`,
      '-',
      [t],
      t,
      mapFloats((x) => -x),
      'Negation.',
    ),
  ),
  rowFunction('neg_numeric', '-', ['numeric'], 'numeric', ([a]) => negNumeric(a), 'Negation.'),
  ...(['int2', 'int4', 'int8', 'float4', 'float8', 'numeric'] as const).map((t) =>
    define(`pos_${t}`, '+', [t], t, (c) => sameColumn(c), 'The value itself.'),
  ),
];

/** Identity: the argument's column, whose NULLs are the result's. */
function sameColumn(call: Parameters<FunctionDef['kernel']>[0]) {
  return call.args[0]!.column;
}

/** x ^ y of doubles, with PostgreSQL's errors and special cases. */
function power(x: number, y: number): number {
  if (Number.isNaN(x)) return y === 0 ? 1 : x;
  if (Number.isNaN(y)) return x === 1 ? 1 : y;
  if (x === 0 && y < 0)
    throw new SqlError('invalid_argument_for_power_function', 'zero raised to a negative power is undefined');
  if (x < 0 && Number.isFinite(y) && Math.floor(y) !== y) throw complexPower();
  // JavaScript makes 1 ^ Infinity a NaN.
  if (x === 1 || (x === -1 && !Number.isFinite(y))) return 1;
  const infinite = !Number.isFinite(x) || !Number.isFinite(y);
  return checkFloat(x ** y, infinite, x === 0 || infinite);
}

/** An infinite or vanished result is an error unless an argument was infinite, or zero. */
export function checkFloat(v: number, mayBeInfinite: boolean, mayBeZero: boolean): number {
  if (!Number.isFinite(v) && !Number.isNaN(v) && !mayBeInfinite)
    throw new SqlError('numeric_value_out_of_range', 'value out of range: overflow');
  if (v === 0 && !mayBeZero)
    throw new SqlError('numeric_value_out_of_range', 'value out of range: underflow');
  return v;
}

function numericPower(a: Numeric, b: Numeric): Numeric {
  // An infinite base does not excuse a fractional exponent.
  if (!a.finite && !a.isNaN && a.sign < 0 && b.finite && compareNumeric(truncNumeric(b), b) !== 0)
    throw complexPower();
  return powerNumeric(a, b);
}

const complexPower = (): SqlError =>
  new SqlError(
    'invalid_argument_for_power_function',
    'a negative number raised to a non-integer power yields a complex result',
  );

const powers: FunctionDef[] = ['^', 'power', 'pow'].flatMap((name) => {
  const prefix = name === '^' ? 'pow_op' : name;
  return [
    rowFunction(
      `${prefix}_float8_float8`,
      name,
      ['float8', 'float8'],
      'float8',
      ([a, b]) => power(a, b),
      'The first raised to the power of the second.',
      FAILS,
    ),
    rowFunction(
      `${prefix}_numeric_numeric`,
      name,
      ['numeric', 'numeric'],
      'numeric',
      ([a, b]) => numericPower(a, b),
      'The first raised to the power of the second.',
      FAILS,
    ),
  ];
});

const BIT_OPS = {
  bitand: ['&', (a: bigint, b: bigint) => a & b, 'Bitwise AND.'],
  bitor: ['|', (a: bigint, b: bigint) => a | b, 'Bitwise OR.'],
  bitxor: ['#', (a: bigint, b: bigint) => a ^ b, 'Bitwise exclusive OR.'],
} as const;

const BITS = { int2: 16, int4: 32, int8: 64 } as const;
type Bits = keyof typeof BITS;
const wrap = (t: Bits, v: bigint): number | bigint => {
  const w = BigInt.asIntN(BITS[t], v);
  return t === 'int8' ? w : Number(w);
};

const bits: FunctionDef[] = (Object.keys(BITS) as Bits[]).flatMap((t) => [
  ...Object.entries(BIT_OPS).map(([id, [symbol, f, doc]]) =>
    rowFunction(`${id}_${t}_${t}`, symbol, [t, t], t, ([a, b]) => wrap(t, f(BigInt(a), BigInt(b))), doc),
  ),
  rowFunction(`bitnot_${t}`, '~', [t], t, ([a]) => wrap(t, ~BigInt(a)), 'Bitwise NOT.'),
  rowFunction(
    `shl_${t}`,
    '<<',
    [t, 'int4'],
    t,
    // The count wraps at the width of the machine word that holds the value, as PostgreSQL's does.
    ([a, n]) => wrap(t, BigInt(a) << BigInt(n & (t === 'int8' ? 63 : 31))),
    'Bitwise shift left.',
  ),
  rowFunction(
    `shr_${t}`,
    '>>',
    [t, 'int4'],
    t,
    ([a, n]) => wrap(t, BigInt(a) >> BigInt(n & (t === 'int8' ? 63 : 31))),
    'Bitwise shift right, keeping the sign.',
  ),
]);

export const ARITHMETIC: readonly FunctionDef[] = [
  ...integers,
  ...floats,
  ...numerics,
  ...mods,
  ...negations,
  ...powers,
  ...bits,
];
