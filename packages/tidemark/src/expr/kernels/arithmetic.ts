/**
 * Arithmetic kernels. Integers never wrap: a result outside of its type is the row's error. 64-bit integers are
 * added by words with carry and multiplied and divided as doubles where that is exact; BigInt only beyond 2^53.
 */
import {
  i64ToBigInt,
  i64ToNumber,
  setI64BigInt,
  setI64Number,
  u64ToBigInt,
  zeroValues,
} from '../../repr/column.ts';
import type { Kind } from '../../repr/types.ts';
import type { Kernel, KernelCall, Vec } from '../functions.ts';
import type { RowError } from '../scalar.ts';
import { bitAt, fixedColumn } from '../vec.ts';

export type Arithmetic = 'add' | 'sub' | 'mul' | 'div' | 'mod';

const mask = (v: Vec): number => (v.constant ? 0 : -1);

const DIVISION_BY_ZERO: RowError = { code: 'division_by_zero', message: 'division by zero' };
export const outOfRange = (message: string): RowError => ({ code: 'numeric_value_out_of_range', message });
const OVERFLOW = outOfRange('value out of range: overflow');
const UNDERFLOW = outOfRange('value out of range: underflow');

/** What an integer type holds, and its complaint. */
export interface IntegerRange {
  readonly kind: Kind;
  readonly min: number;
  readonly max: number;
  readonly error: RowError;
}

/** i32, and f64 columns that hold integers (uint4). */
export function intArithmetic(op: Arithmetic, range: IntegerRange): Kernel {
  const { kind, min, max, error } = range;
  return (call) => {
    const { n, validity, fail } = call;
    const [l, r] = call.args as [Vec, Vec];
    const a = l.column.values as Int32Array | Float64Array;
    const b = r.column.values as Int32Array | Float64Array;
    const p = mask(l);
    const q = mask(r);
    const out = zeroValues(kind, n);
    switch (op) {
      case 'add':
        for (let i = 0; i < n; i++) {
          const v = a[i & p]! + b[i & q]!;
          if (v > max || v < min) fail(i, error);
          out[i] = v;
        }
        break;
      case 'sub':
        for (let i = 0; i < n; i++) {
          const v = a[i & p]! - b[i & q]!;
          // A NULL is zero, so an unsigned type may leave its range beside one.
          if ((v > max || v < min) && bitAt(validity, i)) fail(i, error);
          out[i] = v;
        }
        break;
      case 'mul':
        // Beyond 2^53 the product is rounded, and out of range all the same.
        for (let i = 0; i < n; i++) {
          const v = a[i & p]! * b[i & q]!;
          if (v > max || v < min) fail(i, error);
          out[i] = v;
        }
        break;
      default:
        for (let i = 0; i < n; i++) {
          const y = b[i & q]!;
          if (y === 0) {
            if (bitAt(validity, i)) fail(i, DIVISION_BY_ZERO);
            continue;
          }
          const x = a[i & p]!;
          const v = op === 'div' ? Math.trunc(x / y) : x % y;
          if (v > max) fail(i, error);
          out[i] = v + 0;
        }
    }
    return fixedColumn(kind, n, out);
  };
}

/** int8 (signed) and uint8. */
export function i64Arithmetic(op: Arithmetic, signed: boolean, error: RowError): Kernel {
  if (signed && op === 'add') return (call) => addWords(call, 1, error);
  if (signed && op === 'sub') return (call) => addWords(call, -1, error);
  return (call) => wordsThroughDoubles(op, signed, error, call);
}

/** a + sign * b by words: the carry goes into the high word, which overflows exactly when the sum does. */
function addWords(call: KernelCall, sign: 1 | -1, error: RowError) {
  const { n, fail } = call;
  const [l, r] = call.args as [Vec, Vec];
  const a = l.column.values as Int32Array;
  const b = r.column.values as Int32Array;
  const p = mask(l);
  const q = mask(r);
  const out = new Int32Array(2 * n);
  for (let i = 0; i < n; i++) {
    const x = (i & p) * 2;
    const y = (i & q) * 2;
    const low = (a[x]! >>> 0) + sign * (b[y]! >>> 0);
    const carry = low > 0xffffffff ? 1 : low < 0 ? -1 : 0;
    const high = a[x + 1]! + sign * b[y + 1]! + carry;
    if (high !== (high | 0) && bitAt(call.validity, i)) fail(i, error);
    out[2 * i] = low | 0;
    out[2 * i + 1] = high;
  }
  return fixedColumn('i64', n, out);
}

function wordsThroughDoubles(op: Arithmetic, signed: boolean, error: RowError, call: KernelCall) {
  const { n, validity, fail } = call;
  const [l, r] = call.args as [Vec, Vec];
  const a = l.column.values as Int32Array;
  const b = r.column.values as Int32Array;
  const p = mask(l);
  const q = mask(r);
  const out = new Int32Array(2 * n);
  for (let i = 0; i < n; i++) {
    const j = i & p;
    const k = i & q;
    if (!bitAt(validity, i)) continue;
    const x = i64ToNumber(a, j);
    const y = i64ToNumber(b, k);
    if (y === 0 && (op === 'div' || op === 'mod')) {
      fail(i, DIVISION_BY_ZERO);
      continue;
    }
    if (Number.isSafeInteger(x) && Number.isSafeInteger(y) && (signed || (x >= 0 && y >= 0))) {
      const v = double(op, x, y);
      if (Number.isSafeInteger(v) && (signed || v >= 0)) {
        setI64Number(out, i, v);
        continue;
      }
    }
    const v = signed
      ? big(op, i64ToBigInt(a, j), i64ToBigInt(b, k))
      : big(op, u64ToBigInt(a, j), u64ToBigInt(b, k));
    if (v !== (signed ? BigInt.asIntN(64, v) : BigInt.asUintN(64, v))) fail(i, error);
    else setI64BigInt(out, i, v);
  }
  return fixedColumn('i64', n, out);
}

function double(op: Arithmetic, x: number, y: number): number {
  switch (op) {
    case 'add':
      return x + y;
    case 'sub':
      return x - y;
    case 'mul':
      return x * y;
    case 'div':
      // The remainder is exact, and what is left divides without rounding; x / y alone may round up.
      return (x - (x % y)) / y;
    case 'mod':
      return x % y;
  }
}

function big(op: Arithmetic, x: bigint, y: bigint): bigint {
  switch (op) {
    case 'add':
      return x + y;
    case 'sub':
      return x - y;
    case 'mul':
      return x * y;
    case 'div':
      return x / y;
    case 'mod':
      return x % y;
  }
}

/** float8, and float4 with every result rounded to single precision. Overflow and underflow are errors. */
export function floatArithmetic(op: Exclude<Arithmetic, 'mod'>, single: boolean): Kernel {
  return ({ args, n, validity, fail }) => {
    const [l, r] = args as [Vec, Vec];
    const a = l.column.values as Float64Array;
    const b = r.column.values as Float64Array;
    const p = mask(l);
    const q = mask(r);
    const out = new Float64Array(n);
    for (let i = 0; i < n; i++) {
      const x = a[i & p]!;
      const y = b[i & q]!;
      let v = op === 'add' ? x + y : op === 'sub' ? x - y : op === 'mul' ? x * y : x / y;
      if (single) v = Math.fround(v);
      out[i] = v;
      // The three oddities, all rare: a zero divisor, an infinite result, a vanished one.
      if (Number.isFinite(v) && (v !== 0 || op === 'add' || op === 'sub')) continue;
      if (!bitAt(validity, i)) continue;
      if (op === 'div' && y === 0 && !Number.isNaN(x)) fail(i, DIVISION_BY_ZERO);
      else if (v === 0) {
        if (x !== 0 && (op === 'mul' ? y !== 0 : Number.isFinite(y))) fail(i, UNDERFLOW);
      } else if (!Number.isNaN(v) && Number.isFinite(x) && Number.isFinite(y)) fail(i, OVERFLOW);
    }
    return fixedColumn('f64', n, out);
  };
}

/** -x of i32, and of f64 columns that hold integers. */
export function negateInt(range: IntegerRange): Kernel {
  return ({ args: [v], n, fail }) => {
    const a = v!.column.values as Int32Array;
    const p = mask(v!);
    const out = zeroValues(range.kind, n);
    for (let i = 0; i < n; i++) {
      const x = 0 - a[i & p]!;
      if (x > range.max) fail(i, range.error);
      out[i] = x;
    }
    return fixedColumn(range.kind, n, out);
  };
}

/** -x of int8. */
export function negateI64(error: RowError): Kernel {
  return ({ args: [v], n, fail }) => {
    const a = v!.column.values as Int32Array;
    const p = mask(v!);
    const out = new Int32Array(2 * n);
    for (let i = 0; i < n; i++) {
      const j = (i & p) * 2;
      const low = a[j]!;
      const high = ~a[j + 1]! + (low === 0 ? 1 : 0);
      if (high !== (high | 0)) fail(i, error);
      out[2 * i] = -low | 0;
      out[2 * i + 1] = high;
    }
    return fixedColumn('i64', n, out);
  };
}

/** A function of doubles that cannot fail. */
export function mapFloats(f: (x: number) => number): Kernel {
  return ({ args: [v], n }) => {
    const a = v!.column.values as Float64Array;
    const p = mask(v!);
    const out = new Float64Array(n);
    for (let i = 0; i < n; i++) out[i] = f(a[i & p]!);
    return fixedColumn('f64', n, out);
  };
}
