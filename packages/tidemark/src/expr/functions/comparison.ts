/** Comparison of every ordered type, tests for NULL and truth, ANY and ALL over arrays, greatest and least. */

import { type Column, isNull, type Values } from '../../repr/column.ts';
import { comparator } from '../../repr/compare.ts';
import type { SqlType } from '../../repr/types.ts';
import type { FunctionDef, Kernel, Pattern } from '../functions.ts';
import {
  type Comparison,
  compareBytesKernel,
  compareCells,
  compareFloats,
  compareI64,
  compareNumbers,
} from '../kernels/compare.ts';
import { fixedColumn } from '../vec.ts';
import { define } from './define.ts';

const fixedBool = (values: Values, n: number): Column => fixedColumn('bool', n, values);

export const COMPARISONS: Readonly<Record<Comparison, { symbol: string; doc: string }>> = {
  eq: { symbol: '=', doc: 'Whether both are equal.' },
  ne: { symbol: '<>', doc: 'Whether both differ.' },
  lt: { symbol: '<', doc: 'Whether the first is less.' },
  le: { symbol: '<=', doc: 'Whether the first is less or equal.' },
  gt: { symbol: '>', doc: 'Whether the first is greater.' },
  ge: { symbol: '>=', doc: 'Whether the first is greater or equal.' },
};
const OPS = Object.keys(COMPARISONS) as Comparison[];

/** Which kernel compares which types; all that is not here goes through the type's comparator. */
const FAST: Readonly<Partial<Record<Pattern, (op: Comparison) => Kernel>>> = {
  bool: compareNumbers,
  int2: compareNumbers,
  int4: compareNumbers,
  uint2: compareNumbers,
  uint4: compareNumbers,
  date: compareNumbers,
  oid: compareNumbers,
  mz_timestamp: compareNumbers,
  int8: compareI64,
  uint8: (op) => compareI64(op, false),
  time: compareI64,
  timestamp: compareI64,
  timestamptz: compareI64,
  float4: compareFloats,
  float8: compareFloats,
  text: compareBytesKernel,
  name: compareBytesKernel,
  char: compareBytesKernel,
  bytea: compareBytesKernel,
  uuid: compareBytesKernel,
};

/** Types with an order of their own; the patterns `anyarray` and `anylist` compare element by element. */
export const ORDERED: readonly Pattern[] = [
  ...(Object.keys(FAST) as Pattern[]),
  'numeric',
  'bpchar',
  'interval',
  'jsonb',
  'anyarray',
  'anylist',
  'record',
];

const generic =
  (op: Comparison): Kernel =>
  (call) =>
    compareCells(op, comparator(call.argTypes[0]!))(call);

const idOf = (p: Pattern): string => p.replace(/^any/, '');

const comparisons: FunctionDef[] = OPS.flatMap((op) =>
  ORDERED.map((t) =>
    define(
      `${op}_${idOf(t)}_${idOf(t)}`,
      COMPARISONS[op].symbol,
      [t, t],
      'bool',
      FAST[t]?.(op) ?? generic(op),
      COMPARISONS[op].doc,
    ),
  ),
);

/** float4 and float8 are doubles in their columns alike. */
const mixed: FunctionDef[] = OPS.flatMap((op) =>
  (
    [
      ['float4', 'float8'],
      ['float8', 'float4'],
    ] as const
  ).map(([a, b]) =>
    define(`${op}_${a}_${b}`, COMPARISONS[op].symbol, [a, b], 'bool', compareFloats(op), COMPARISONS[op].doc),
  ),
);

/** The kernel that compares two values of a type. */
const equalityOf = (t: SqlType): Kernel =>
  FAST[t.name as Pattern]?.('eq') ?? compareCells('eq', comparator(t));

const isDistinct: Kernel = (call) => {
  const { args, n } = call;
  const [l, r] = args;
  const equal = equalityOf(call.argTypes[0]!)({
    ...call,
    validity: bothValid(l!.column, l!.constant, r!.column, r!.constant, n),
  });
  const out = equal.values as Uint8Array<ArrayBuffer>;
  for (let i = 0; i < n; i++) {
    const a = isNull(l!.column, l!.constant ? 0 : i);
    const b = isNull(r!.column, r!.constant ? 0 : i);
    out[i] = a || b ? (a === b ? 0 : 1) : 1 - out[i]!;
  }
  return fixedBool(out, n);
};

function bothValid(a: Column, ac: boolean, b: Column, bc: boolean, n: number) {
  if (a.validity === null && b.validity === null) return null;
  const v = new Uint8Array((n + 7) >> 3);
  for (let i = 0; i < n; i++)
    if (!isNull(a, ac ? 0 : i) && !isNull(b, bc ? 0 : i)) v[i >> 3]! |= 1 << (i & 7);
  return v;
}

/** A test of one argument that is never NULL. */
const test =
  (holds: (isNull: boolean, value: number) => boolean): Kernel =>
  ({ args: [v], n }) => {
    const { column, constant } = v!;
    const out = new Uint8Array(n);
    for (let i = 0; i < n; i++) {
      const j = constant ? 0 : i;
      out[i] = holds(isNull(column, j), column.values[j]!) ? 1 : 0;
    }
    return fixedBool(out, n);
  };

const isNullKernel: Kernel = ({ args: [v], n }) => {
  const out = new Uint8Array(n);
  const { validity } = v!.column;
  if (validity !== null) for (let i = 0; i < n; i++) out[i] = isNull(v!.column, v!.constant ? 0 : i) ? 1 : 0;
  return fixedBool(out, n);
};

const notKernel: Kernel = ({ args: [v], n }) => {
  const a = v!.column.values as Uint8Array;
  const p = v!.constant ? 0 : -1;
  const out = new Uint8Array(n);
  for (let i = 0; i < n; i++) out[i] = 1 - a[i & p]!;
  return fixedBool(out, n);
};

const TOTAL = { strict: false, nullable: false } as const;

const tests: FunctionDef[] = [
  define('not_bool', 'not', ['bool'], 'bool', notKernel, 'Logical negation.'),
  define('is_null', 'is_null', ['any'], 'bool', isNullKernel, 'Whether the value is NULL.', TOTAL),
  define(
    'is_true',
    'is_true',
    ['bool'],
    'bool',
    test((n, v) => !n && v === 1),
    'Whether the condition is TRUE.',
    TOTAL,
  ),
  define(
    'is_false',
    'is_false',
    ['bool'],
    'bool',
    test((n, v) => !n && v === 0),
    'Whether the condition is FALSE.',
    TOTAL,
  ),
  define(
    'is_distinct',
    'is_distinct',
    ['anycompatible', 'anycompatible'],
    'bool',
    isDistinct,
    'Whether both differ, where NULL is a value like any other.',
    TOTAL,
  ),
];

export const COMPARISON: readonly FunctionDef[] = [...comparisons, ...mixed, ...tests];
