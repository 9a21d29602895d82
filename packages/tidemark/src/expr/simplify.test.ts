import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Datum, type SqlType, type } from '../repr/types.ts';
import { exprEquals, printScalar } from './expr-tree.ts';
import type { ScalarExpr, Special } from './scalar.ts';
import { isNullable, simplify } from './simplify.ts';

const CONTEXT = { timeZone: 'UTC' };
const INT4 = type('int4');
const BOOL = type('bool');
const col = (index: number, t: SqlType = INT4): ScalarExpr => ({ kind: 'column', index, type: t });
const lit = (value: Datum, t: SqlType = INT4): ScalarExpr => ({ kind: 'literal', value, type: t });
const call = (func: string, args: ScalarExpr[], t: SqlType = INT4): ScalarExpr => ({
  kind: 'call',
  func,
  args,
  type: t,
});
const special = (kind: Special['kind'], args: ScalarExpr[], t: SqlType = BOOL): ScalarExpr => ({
  kind,
  args,
  type: t,
});
const div = (a: ScalarExpr, b: ScalarExpr): ScalarExpr => call('div_int4_int4', [a, b]);
const eq = (a: ScalarExpr, b: ScalarExpr): ScalarExpr => call('eq_int4_int4', [a, b], BOOL);
const T = lit(true, BOOL);
const F = lit(false, BOOL);
const p = col(3, BOOL);

/** Before and after, as EXPLAIN prints them. */
const CASES: readonly (readonly [ScalarExpr, string])[] = [
  [call('add_int4_int4', [lit(1), lit(2)]), '3'],
  [call('add_int4_int4', [col(0), call('mul_int4_int4', [lit(2), lit(3)])]), '(#0 + 6)'],
  [div(lit(1), lit(0)), 'error("division by zero")'],
  [call('add_int4_int4', [col(0), div(lit(1), lit(0))]), 'error("division by zero")'],
  [
    call('add_int4_int4', [div(lit(1), col(0)), div(lit(1), lit(0))]),
    '((1 / #0) + error("division by zero"))',
  ],
  [call('add_int4_int4', [col(0), lit(null)]), 'null'],
  [call('add_int4_int4', [div(lit(1), col(0)), lit(null)]), '((1 / #0) + null)'],
  [special('and', [T, p, T]), '#3'],
  [special('and', [eq(div(lit(1), lit(0)), lit(1)), F]), 'false'],
  [special('or', [F, special('or', [p, p]), eq(col(0), lit(1))]), '(#3 OR (#0 = 1))'],
  [special('or', [p, T]), 'true'],
  [special('and', []), 'true'],
  [special('if', [T, col(0), div(lit(1), lit(0))], INT4), '#0'],
  [special('if', [lit(null, BOOL), col(0), col(1)], INT4), '#1'],
  [
    special('if', [p, div(lit(1), lit(0)), lit(2)], INT4),
    'case when #3 then error("division by zero") else 2 end',
  ],
  [special('if', [p, col(1), col(1)], INT4), '#1'],
  [special('coalesce', [lit(null), col(0), lit(5), col(1)], INT4), 'coalesce(#0, 5)'],
  [special('coalesce', [lit(null), lit(null)], INT4), 'null'],
  [call('not_bool', [call('not_bool', [p], BOOL)], BOOL), '#3'],
  [call('not_bool', [call('lt_int4_int4', [col(0), lit(1)], BOOL)], BOOL), '(#0 >= 1)'],
  [call('cast_int4_int4', [col(0)]), '#0'],
  [call('cast_int4_int8', [lit(7)], type('int8')), "'7'::bigint"],
  [call('now', [], type('timestamptz')), 'now()'],
];

test('folding, boolean algebra, lazy forms', () => {
  for (const [before, after] of CASES)
    assert.equal(printScalar(simplify(before, { context: CONTEXT })), after, printScalar(before));
});

test('what the session knows is folded by who knows it', () => {
  const e = call('now', [], type('timestamptz'));
  const folded = simplify(e, {
    context: { timeZone: 'UTC', nowMicros: 5n },
    fold: ['immutable', 'contextual'],
  });
  assert.deepEqual(folded, lit(5n, type('timestamptz')));
});

test('equality of expressions looks at functions, values and types', () => {
  const a = call('add_int4_int4', [col(0), lit(1)]);
  assert.ok(exprEquals(a, call('add_int4_int4', [col(0), lit(1)])));
  for (const b of [
    call('sub_int4_int4', [col(0), lit(1)]),
    call('add_int4_int4', [col(1), lit(1)]),
    call('add_int4_int4', [col(0), lit(2)]),
    call('add_int4_int4', [col(0), lit(null)]),
    call('add_int4_int4', [col(0), lit(1, type('int2'))]),
  ])
    assert.ok(!exprEquals(a, b), printScalar(b));
});

test('nullability follows strictness and the functions’ own', () => {
  const nullable = (e: ScalarExpr): boolean =>
    isNullable(e, [{ nullable: true }, ...Array.from({ length: 9 }, () => ({ nullable: false }))]);
  assert.equal(nullable(call('add_int4_int4', [col(1), lit(1)])), false);
  assert.equal(nullable(call('add_int4_int4', [col(0), lit(1)])), true);
  assert.equal(nullable(call('is_null', [col(0)], BOOL)), false);
  assert.equal(nullable(special('coalesce', [col(0), lit(1)], INT4)), false);
  assert.equal(nullable(special('if', [p, col(0), lit(1)], INT4)), true);
});
