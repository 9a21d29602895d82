import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutPositions } from '../../../../test/support/sql-corpus.ts';
import { parseExpr } from './parse.ts';
import { printExpr } from './print.ts';

/** An expression, and the same with the parentheses PostgreSQL puts there in its mind. */
const TABLE: readonly (readonly [string, string])[] = [
  ['a or b and c', 'a or (b and c)'],
  ['not a and b', '(not a) and b'],
  ['not a = b', 'not (a = b)'],
  ['not a is null', 'not (a is null)'],
  ['a = b is null', '(a = b) is null'],
  ['a is null = b', '(a is null) = b'],
  ['a is distinct from b = c', 'a is distinct from (b = c)'],
  ['a < b in (c)', 'a < (b in (c))'],
  ['a < b like c', 'a < (b like c)'],
  ['a like b || c', 'a like (b || c)'],
  ['a between b and c or d', '(a between b and c) or d'],
  ['a between b and c + d', 'a between b and (c + d)'],
  ['a between b = c and d', 'a between (b = c) and d'],
  ['a || b + c', 'a || (b + c)'],
  ['a -> b || c', '(a -> b) || c'],
  ['a || b < c', '(a || b) < c'],
  ['a ~ b = c', '(a ~ b) = c'],
  ['a + b - c', '(a + b) - c'],
  ['a - b * c % d', 'a - ((b * c) % d)'],
  ['a * b ^ c', 'a * (b ^ c)'],
  ['a ^ b ^ c', '(a ^ b) ^ c'],
  ['-a ^ b', '(-a) ^ b'],
  ['a ^ -b', 'a ^ (-b)'],
  ['-a::int', '-(a::int)'],
  ['-a[1]', '-(a[1])'],
  ['- - a', '-(-a)'],
  ['~ a + b', '~ (a + b)'],
  ['~ a || b', '(~ a) || b'],
  ['a || ~ b || c', '(a || (~ b)) || c'],
  ['-a at time zone b', '(-a) at time zone b'],
  ['a + b at time zone c', 'a + (b at time zone c)'],
  ['a ^ b at time zone c', 'a ^ (b at time zone c)'],
  ['a || b collate "C"', 'a || (b collate "C")'],
  ['-a collate "C"', '(-a) collate "C"'],
  ['a collate "C" at time zone b', '(a collate "C") at time zone b'],
  ['a operator(pg_catalog.*) b + c', 'a operator(pg_catalog.*) (b + c)'],
  ['a + b operator(pg_catalog.*) c', '(a + b) operator(pg_catalog.*) c'],
  ['a = any (b) = c', '(a = any (b)) = c'],
  ['a + b = any (c)', '(a + b) = any (c)'],
  ['a || any (b) || c', '(a || any (b)) || c'],
  ['a + not b = c', 'a + (not (b = c))'],
  ['a::text || b::int + c', '(a::text) || ((b::int) + c)'],
  ['a and b or c and d', '(a and b) or (c and d)'],
  ['a in (1) in (b)', '(a in (1)) in (b)'],
  ['a isnull notnull', '(a isnull) notnull'],
  ['a like b escape c || d', 'a like b escape (c || d)'],
];

test('operators bind as in PostgreSQL', () => {
  for (const [bare, grouped] of TABLE) {
    const tree = withoutPositions(parseExpr(bare));
    assert.deepEqual(tree, withoutPositions(parseExpr(grouped)), bare);
    assert.deepEqual(withoutPositions(parseExpr(printExpr(parseExpr(grouped)))), tree, bare);
  }
});

/** An expression and its canonical text: parentheses only where the tree needs them. */
const CANONICAL: readonly (readonly [string, string])[] = [
  ['((a) + (b)) * c', '(a + b) * c'],
  ['a + (b + c)', 'a + (b + c)'],
  ['(a + b) + c', 'a + b + c'],
  ['(a and b) and c', '(a AND b) AND c'],
  ['cast(-1 as int)', '(-1)::int4'],
  ['(- (- a))', '- -a'],
  ['(a = b) = c', '(a = b) = c'],
  ["date '2020-01-01'", "'2020-01-01'::date"],
  ['EXTRACT(Year FROM A)', 'EXTRACT(year FROM a)'],
  ['trim(leading x from y)', 'ltrim(y, x)'],
  ['a != b', 'a <> b'],
  ['"A" || "select" || value', '"A" || "select" || value'],
  ['coalesce(a, current_date)', 'COALESCE(a, CURRENT_DATE)'],
];

test('printing is canonical', () => {
  for (const [text, printed] of CANONICAL) assert.equal(printExpr(parseExpr(text)), printed);
});
