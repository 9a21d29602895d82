/** Whatever the text, parsing ends in a tree that prints and reads back, or in a `SqlError` with a place in the text. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  readCorpus,
  readPsqlCorpus,
  replay,
  runs,
  SEED,
  seededRandom,
  withoutPositions,
} from '../../../../test/support/sql-corpus.ts';
import { SqlError } from '../base/error.ts';
import { mutate, tokenTexts } from './mutate.ts';
import { parseStatements } from './parse.ts';
import { printStatement } from './print.ts';

/** Whether the text was accepted; anything but a tree or a SqlError in its place fails. */
function probe(text: string, seed: number): boolean {
  try {
    const parsed = parseStatements(text);
    for (const { statement } of parsed) {
      const printed = printStatement(statement);
      const [again] = parseStatements(printed);
      assert.deepEqual(withoutPositions(again?.statement), withoutPositions(statement), printed);
    }
    return parsed.length > 0;
  } catch (error) {
    const expected =
      error instanceof SqlError &&
      (error.position === undefined || (error.position >= 1 && error.position <= text.length + 1));
    if (!expected) throw new Error(`${replay(seed)}\n${JSON.stringify(text)}`, { cause: error });
    return false;
  }
}

const CORPUS = [...readCorpus('sql/postgres.sql'), ...readCorpus('sql/dialect.sql'), ...readPsqlCorpus()].map(
  (e) => e.text,
);

test('statements with tokens changed', () => {
  const statements = CORPUS.map(tokenTexts);
  const n = runs(6000);
  let accepted = 0;
  for (let seed = SEED; seed < SEED + n; seed++) {
    if (probe(mutate(statements, seededRandom(seed)), seed)) accepted++;
  }
  if (n >= 1000) assert.ok(accepted > n * 0.05 && accepted < n * 0.6, `${accepted} of ${n} accepted`);
});

/** What breaks lexers. */
const PIECES = [
  "'",
  '"',
  '$',
  '$$',
  '/*',
  '*/',
  '--',
  '\n',
  '\\',
  "E'",
  "U&'",
  "b'",
  '(',
  ')',
  '[',
  ']',
  '.',
  '..',
  ':',
  '::',
  ';',
  '0x',
  '1e',
  '_',
  '\u0000',
  '😀',
  '\ud800',
  '+',
  '-',
  '@',
];

test('texts with characters changed', () => {
  const n = runs(4000);
  for (let seed = SEED; seed < SEED + n; seed++) {
    const random = seededRandom(seed);
    const below = (k: number) => Math.floor(random.next() * k);
    let text = CORPUS[below(CORPUS.length)] as string;
    for (let edits = 1 + below(3); edits > 0; edits--) {
      const at = below(text.length + 1);
      const piece = PIECES[below(PIECES.length)] as string;
      text = text.slice(0, at) + piece + text.slice(at + below(3));
    }
    probe(text, seed);
  }
});
