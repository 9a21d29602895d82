import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Column, ColumnBuilder, isNull } from '../repr/column.ts';
import { columnOf, datumAt } from '../repr/datum.ts';
import { parseText, textOf } from '../repr/format.ts';
import { type Datum, kindOf, type SqlType, type TypeName, type } from '../repr/types.ts';
import { compileScalar, type Evaluated, evalConstant } from './eval.ts';
import { decodeEvalError, encodeEvalError, isEvalError } from './eval-error.ts';
import type { FunctionDef, Pattern } from './functions.ts';
import { allAggregates, allFunctions, allTableFunctions, functionById } from './registry.ts';
import { patternType } from './resolve.ts';
import type { ScalarExpr, Special } from './scalar.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const CONTEXT = { timeZone: 'UTC', nowMicros: 0n };
const INT4 = type('int4');
const INT8 = type('int8');
const BOOL = type('bool');
const TEXT = type('text');

function xorshift(seed: number): () => number {
  let s = (seed * 2654435761) >>> 0 || 1;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    s >>>= 0;
    return s / 4294967296;
  };
}

const col = (index: number, t: SqlType): ScalarExpr => ({ kind: 'column', index, type: t });
const lit = (value: Datum, t: SqlType): ScalarExpr => ({ kind: 'literal', value, type: t });
const call = (func: string, args: ScalarExpr[], t: SqlType): ScalarExpr => ({
  kind: 'call',
  func,
  args,
  type: t,
});
const special = (kind: Special['kind'], args: ScalarExpr[], t: SqlType): ScalarExpr => ({
  kind,
  args,
  type: t,
});
const column = (t: SqlType, values: readonly Datum[]): Column =>
  columnOf(t, values, new ColumnBuilder(kindOf(t)));

/** Values, with the message of the error where there is one. */
function show(r: Evaluated, t: SqlType): (Datum | string)[] {
  return Array.from({ length: r.column.length }, (_, i) => {
    const e = r.errors?.get(i);
    if (e !== undefined) {
      assert.ok(isNull(r.column, i), 'a failed row is NULL');
      return `error: ${e.message}`;
    }
    const d = datumAt(t, r.column, i);
    return d === null ? null : typeof d === 'object' ? textOf(t, d) : d;
  });
}
const run = (e: ScalarExpr, columns: readonly Column[], n: number): (Datum | string)[] =>
  show(compileScalar(e, CONTEXT)(columns, n), e.type);

test('ids are unique over each table and every literal is documented', () => {
  for (const table of [allFunctions(), allAggregates(), allTableFunctions()]) {
    assert.equal(new Set(table.map((d) => d.id)).size, table.length);
    for (const d of table) assert.match(d.doc, /\.$/, d.id);
  }
});

test('an error is its row’s own and leaves the others alone', () => {
  const a = column(INT4, [10, 10, null, 7]);
  const b = column(INT4, [2, 0, 0, 0]);
  assert.deepEqual(run(call('div_int4_int4', [col(0, INT4), col(1, INT4)], INT4), [a, b], 4), [
    5,
    'error: division by zero',
    null,
    'error: division by zero',
  ]);
});

test('an error of any argument is the call’s, the leftmost first', () => {
  const zero = column(INT4, [0, 0]);
  const max = column(INT4, [2147483647, 1]);
  const divides = call('div_int4_int4', [lit(1, INT4), col(0, INT4)], INT4);
  const overflows = call('add_int4_int4', [col(1, INT4), lit(1, INT4)], INT4);
  assert.deepEqual(run(call('add_int4_int4', [overflows, divides], INT4), [zero, max], 2), [
    'error: integer out of range',
    'error: division by zero',
  ]);
});

test('and, or: the deciding side wins over an error, whichever side it stands on; an error wins over NULL', () => {
  const fails = call(
    'eq_int4_int4',
    [call('div_int4_int4', [lit(1, INT4), col(1, INT4)], INT4), lit(1, INT4)],
    BOOL,
  );
  const flag = column(BOOL, [true, false, null, true, false, null]);
  const divisor = column(INT4, [0, 0, 0, 1, 1, 1]);
  const e = 'error: division by zero';
  for (const order of [
    [col(0, BOOL), fails],
    [fails, col(0, BOOL)],
  ]) {
    assert.deepEqual(run(special('and', order, BOOL), [flag, divisor], 6), [e, false, e, true, false, null]);
    assert.deepEqual(run(special('or', order, BOOL), [flag, divisor], 6), [true, e, e, true, true, true]);
  }
});

test('case evaluates a branch only where its condition holds', () => {
  const b = column(INT4, [2, 0, null]);
  const nonZero = call('ne_int4_int4', [col(0, INT4), lit(0, INT4)], BOOL);
  const divided = call('div_int4_int4', [lit(10, INT4), col(0, INT4)], INT4);
  assert.deepEqual(run(special('if', [nonZero, divided, lit(-1, INT4)], INT4), [b], 3), [5, -1, -1]);
  // The condition's own error is the row's.
  const failing = call('gt_int4_int4', [divided, lit(1, INT4)], BOOL);
  assert.deepEqual(run(special('if', [failing, lit(1, INT4), lit(2, INT4)], INT4), [b], 3), [
    1,
    'error: division by zero',
    2,
  ]);
});

test('a constant error in a branch counts only for the rows that reach it', () => {
  const never = call('div_int4_int4', [lit(1, INT4), lit(0, INT4)], INT4);
  const flag = column(BOOL, [true, false]);
  assert.deepEqual(run(special('if', [col(0, BOOL), lit(3, INT4), never], INT4), [flag], 2), [
    3,
    'error: division by zero',
  ]);
});

test('case whose rows all take one constant branch feeds a function of one argument', () => {
  const rows = column(BOOL, [true, true, true]);
  const word = special('if', [col(0, BOOL), lit(1, INT4), lit(2, INT4)], INT4);
  for (const func of ['cast_int4_text', 'assign_int4_text'])
    assert.deepEqual(run(call(func, [word], TEXT), [rows], 3), ['1', '1', '1']);
  const float = type('float8');
  const zero = special('if', [col(0, BOOL), lit(-0, float), lit(1, float)], float);
  assert.deepEqual(run(call('canon_float8', [zero], float), [rows], 3), [0, 0, 0]);
});

test('coalesce stops at the first value, and at an error', () => {
  const a = column(INT4, [1, null, null, null]);
  const b = column(INT4, [0, 5, 0, null]);
  const divided = call('div_int4_int4', [lit(10, INT4), col(1, INT4)], INT4);
  assert.deepEqual(run(special('coalesce', [col(0, INT4), divided, lit(9, INT4)], INT4), [a, b], 4), [
    1,
    2,
    'error: division by zero',
    9,
  ]);
});

test('a bare column without a selection is that very column', () => {
  const c = column(TEXT, ['a', null, 'b']);
  assert.equal(compileScalar(col(0, TEXT), CONTEXT)([c], 3).column, c);
});

test('64-bit integers are exact beyond 2^53 and never wrap', () => {
  const values = [
    0n,
    1n,
    -1n,
    3n,
    -7n,
    2n ** 31n,
    2n ** 32n,
    2n ** 53n,
    2n ** 53n + 1n,
    -(2n ** 53n) - 1n,
    2n ** 63n - 1n,
    -(2n ** 63n),
    3037000500n,
    -3037000500n,
    9007199254740993n,
    4294967295n,
    -4294967296n,
  ];
  const pairs = values.flatMap((a) => values.map((b) => [a, b] as const));
  const a = column(
    INT8,
    pairs.map((p) => p[0]),
  );
  const b = column(
    INT8,
    pairs.map((p) => p[1]),
  );
  const exact: Record<string, (x: bigint, y: bigint) => bigint> = {
    add: (x, y) => x + y,
    sub: (x, y) => x - y,
    mul: (x, y) => x * y,
    div: (x, y) => x / y,
    mod: (x, y) => x % y,
  };
  for (const [op, f] of Object.entries(exact)) {
    const got = run(call(`${op}_int8_int8`, [col(0, INT8), col(1, INT8)], INT8), [a, b], pairs.length);
    pairs.forEach(([x, y], i) => {
      const zero = y === 0n && (op === 'div' || op === 'mod');
      const v = zero ? 0n : f(x, y);
      const want = zero
        ? 'error: division by zero'
        : v === BigInt.asIntN(64, v)
          ? v
          : 'error: bigint out of range';
      assert.equal(got[i], want, `${x} ${op} ${y}`);
    });
  }
  for (const [op, holds] of Object.entries({
    lt: (x: bigint, y: bigint) => x < y,
    le: (x: bigint, y: bigint) => x <= y,
    eq: (x: bigint, y: bigint) => x === y,
  })) {
    const got = run(call(`${op}_int8_int8`, [col(0, INT8), col(1, INT8)], BOOL), [a, b], pairs.length);
    pairs.forEach(([x, y], i) => {
      assert.equal(got[i], holds(x, y), `${x} ${op} ${y}`);
    });
  }
  const negated = run(call('neg_int8', [col(0, INT8)], INT8), [a], pairs.length);
  pairs.forEach(([x], i) => {
    assert.equal(negated[i], x === -(2n ** 63n) ? 'error: bigint out of range' : -x);
  });
});

test('NULL beside the smallest integer does not overflow', () => {
  const a = column(INT8, [null, 1n]);
  const b = column(INT8, [-(2n ** 63n), 1n]);
  assert.deepEqual(run(call('sub_int8_int8', [col(0, INT8), col(1, INT8)], INT8), [a, b], 2), [null, 0n]);
});

test('is_distinct takes NULL for a value, and compares as SQL does', () => {
  const n = type('numeric');
  const v = (s: string | null): Datum => (s === null ? null : parseText(n, s));
  const a = column(n, [v('1.0'), v(null), v(null), v('2')]);
  const b = column(n, [v('1.00'), v(null), v('1'), v('3')]);
  assert.deepEqual(run(call('is_distinct', [col(0, n), col(1, n)], BOOL), [a, b], 4), [
    false,
    false,
    true,
    true,
  ]);
});

test('0 and -0 are two constants', () => {
  const f = type('float8');
  const e = call('atan2_float8', [lit(0, f), lit(-0, f)], f);
  assert.equal(evalConstant(e, CONTEXT), Math.PI);
});

test('an encoded error decodes to itself, and equal errors have equal bytes', () => {
  const errors = [
    { code: 'division_by_zero', message: 'division by zero' },
    { code: 'invalid_text_representation', message: 'bad "x\u0000"', detail: 'd', hint: 'h' },
    { code: 'internal_error', message: '', hint: 'only a hint' },
  ];
  for (const e of errors) {
    const bytes = encodeEvalError(e);
    assert.deepEqual(decodeEvalError(bytes), { ...e, message: e.message.replace('\0', '\\0') });
    assert.deepEqual(encodeEvalError({ ...e }), bytes);
  }
});

// ---- Vectorised = row at a time = with a selection, for every function over concrete types

const VALUES: Partial<Record<TypeName, readonly (string | null)[]>> = {
  bool: ['t', 'f', null],
  int2: ['0', '1', '-5', '32767', '-32768', null],
  int4: ['0', '1', '-7', '3', '2147483647', '-2147483648', null],
  int8: ['0', '2', '-9', '9223372036854775807', '-9223372036854775808', '9007199254740993', null],
  uint2: ['0', '65535', '3', null],
  uint4: ['0', '4294967295', '3', null],
  uint8: ['0', '18446744073709551615', '9223372036854775808', '3', null],
  float4: ['0', '1.5', 'NaN', '-Infinity', '3.4e38', null],
  float8: ['0', '-0', '1.5', 'NaN', 'Infinity', '1e308', '-2', null],
  numeric: ['0', '1.50', '-3', 'NaN', '123456789012345678901234567890', null],
  text: ['', 'abc', 'a%', 'héé', '日本', 'day', 'UTC', 'hex', '{1}', '12', null],
  bpchar: ['a ', 'b', null],
  name: ['a', 'b', null],
  bytea: ['\\x', '\\x6162', null],
  date: ['2000-01-01', '1969-12-31', 'infinity', null],
  time: ['00:00:00', '23:59:59.5', null],
  timestamp: ['2000-01-01 00:00:00', '2024-02-29 12:00:00', 'infinity', null],
  timestamptz: ['2000-01-01 00:00:00+00', '1960-02-29 12:00:00+00', null],
  interval: ['1 day', '-2 hours', '1 mon', null],
  uuid: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', '00000000-0000-0000-0000-000000000000', null],
  jsonb: ['1', '{"a": 1}', '["a", 2]', 'null', null],
  oid: ['0', '16384', null],
  mz_timestamp: ['0', '1700000000000', null],
};
const LISTS: Readonly<Record<string, readonly (string | null)[]>> = {
  'text[]': ['{}', '{a,b,NULL}', null],
  'int4[]': ['{}', '{1,2}', null],
};
const poolOf = (p: Pattern): readonly (string | null)[] | undefined =>
  p.endsWith('[]') ? LISTS[p] : VALUES[p as TypeName];

interface Sampled {
  readonly types: readonly SqlType[];
  readonly out: SqlType;
  readonly rows: readonly (readonly Datum[])[];
}

function sampled(def: FunctionDef): Sampled | undefined {
  if (def.volatility === 'contextual' || def.volatility === 'catalog') return undefined;
  if (def.args.length === 0 || typeof def.returns === 'function' || def.returns.startsWith('any'))
    return undefined;
  const pools = def.args.map(poolOf);
  if (pools.some((p) => p === undefined)) return undefined;
  const types = def.args.map(patternType);
  const random = xorshift(SEED + def.id.length);
  const rows = Array.from({ length: 23 }, () =>
    types.map((t, k) => {
      const text = pools[k]![Math.floor(random() * pools[k]!.length)]!;
      return text === null ? null : parseText(t, text);
    }),
  );
  return { types, out: patternType(def.returns), rows };
}

/** `whole` is what a call over whole columns gave: rows one by one, a selection, and a constant give the same. */
function agrees(
  def: FunctionDef,
  { types, out, rows }: Sampled,
  columns: readonly Column[],
): readonly unknown[] {
  const n = rows.length;
  const e = call(
    def.id,
    types.map((t, k) => col(k, t)),
    out,
  );
  const whole = run(e, columns, n);
  const single = rows.map((r) => {
    const args = r.map((d, k) => lit(d, types[k]!));
    const v = evalConstant(call(def.id, args, out), CONTEXT);
    if (isEvalError(v)) return `error: ${v.error.message}`;
    return v !== null && typeof v === 'object' ? textOf(out, v) : v;
  });
  assert.deepEqual(whole, single, `${def.id} by column and by row`);
  const pick = Int32Array.from([5, 0, 22, 5, 9]);
  const selected = show(compileScalar(e, CONTEXT)(columns, pick.length, pick), out);
  assert.deepEqual(
    selected,
    [...pick].map((i) => whole[i]),
    `${def.id} with a selection`,
  );
  // The last argument constant: the mask of the kernels.
  const k = types.length - 1;
  if (k > 0) {
    const d = rows[0]![k]!;
    const args = types.map((t, j) => (j === k ? lit(d, t) : col(j, t)));
    const spread = column(
      types[k]!,
      rows.map(() => d),
    );
    const want = run(e, [...columns.slice(0, k), spread], n);
    assert.deepEqual(run(call(def.id, args, out), columns, n), want, `${def.id} with a constant`);
  }
  return whole;
}

test('every function gives the same by column, by row, with constants and with a selection', () => {
  let tried = 0;
  for (const def of allFunctions()) {
    const s = sampled(def);
    if (s === undefined) continue;
    tried++;
    const columns = s.types.map((t, k) =>
      column(
        t,
        s.rows.map((r) => r[k]!),
      ),
    );
    const whole = agrees(def, s, columns);
    if (!def.fallible)
      assert.ok(
        whole.every((v) => !String(v).startsWith('error: ')),
        `${def.id} does not fail`,
      );
    if (!def.nullable && def.strict)
      s.rows.forEach((r, i) => {
        if (r.every((d) => d !== null)) assert.notEqual(whole[i], null, `${def.id} is not NULL`);
      });
  }
  assert.ok(tried > 600, `${tried} functions were tried`);
});

test('functions are found by their ids', () => {
  assert.equal(functionById('add_int4_int4').name, '+');
});
