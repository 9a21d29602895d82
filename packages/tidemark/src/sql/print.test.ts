/** Faults this cannot see: a construct that printer and parser both lose, and kinds of statement (`parse.test.ts`). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { replay, runs, SEED, seededRandom, withoutPositions } from '../../../../test/support/sql-corpus.ts';
import type { SelectStatement } from './ast-statement.ts';
import { parseStatement } from './parse.ts';
import { printStatement } from './print.ts';
import { quoteIdent } from './print-name.ts';
import { RandomAst } from './random-ast.ts';
import { EXPRS } from './random-choice.ts';

test('a random tree, printed and parsed, is the same tree', () => {
  const drawn = new Map<string, number>();
  const n = runs(4000);
  for (let seed = SEED; seed < SEED + n; seed++) {
    const random = new RandomAst(seededRandom(seed));
    const query = random.queryOf(2 + (seed % 14));
    const statement: SelectStatement = { kind: 'selectStatement', query, asOf: undefined, pos: 0 };
    const text = printStatement(statement);
    try {
      assert.deepEqual(withoutPositions(parseStatement(text)), withoutPositions(statement));
    } catch (error) {
      throw new Error(`${replay(seed)}\n${text}`, { cause: error });
    }
    for (const [kind, count] of random.drawn) drawn.set(kind, (drawn.get(kind) ?? 0) + count);
  }
  if (n < 1000) return;
  for (const kind of [
    ...EXPRS,
    'select',
    'values',
    'setOperation',
    'query',
    'table',
    'derived',
    'function',
    'join',
  ]) {
    assert.ok((drawn.get(kind) ?? 0) > 20, `${kind} was made ${drawn.get(kind) ?? 0} times`);
  }
});

test('identifiers are quoted when PostgreSQL would read something else', () => {
  const table = {
    a: 'a',
    A: '"A"',
    'a b': '"a b"',
    'q"q': '"q""q"',
    select: '"select"',
    int: '"int"',
    left: '"left"',
    value: 'value',
    cluster: 'cluster',
    '1a': '"1a"',
    é: '"é"',
    _x1: '_x1',
  };
  for (const [name, quoted] of Object.entries(table)) assert.equal(quoteIdent(name), quoted);
});
