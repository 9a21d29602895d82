import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withoutPositions } from '../../../../test/support/sql-corpus.ts';
import { PRECEDENCE } from '../../../../test/support/sql-precedence.ts';
import { parseExpr } from './parse.ts';
import { printExpr } from './print-query.ts';

test('operators bind as in PostgreSQL', () => {
  for (const [bare, grouped] of PRECEDENCE) {
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
