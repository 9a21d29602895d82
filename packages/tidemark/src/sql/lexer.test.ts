import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { Lexer } from './lexer.ts';

function tokens(text: string): string[] {
  const lexer = new Lexer(text);
  const found: string[] = [];
  for (let token = lexer.next(); token.type !== 'end'; token = lexer.next())
    found.push(`${token.type}:${token.text}`);
  return found;
}

/** Text -> `type:text` of its tokens. */
const TOKENS: readonly (readonly [string, string])[] = [
  ['select A_b$1 "A""b" É', 'word:select word:a_b$1 quoted:A"b word:É'],
  [`'it''s'`, `string:it's`],
  [`'a'\n  'b'`, 'string:ab'],
  [`'a' 'b'`, 'string:a string:b'],
  [`E'a\\tb\\\\\\x41\\101\\u00e9\\U0001F600\\q'`, 'string:a\tb\\AAé😀q'],
  [`E'\\xc3\\xa9'`, 'string:é'],
  [`E'\\ud83d\\ude00'`, 'string:😀'],
  ["$$a'b$$ $t$x $$ y$t$", "string:a'b string:x $$ y"],
  [`U&'d\\0061t\\+000061' U&"!0061" uescape '!'`, 'string:data quoted:a'],
  [`b'01' X'fF' n'x'`, 'bits:b01 bits:xfF word:nchar string:x'],
  [
    '1 1. .5 1.50 1e5 1E+05 1_000 0x1F 0o17 0b11 007',
    'number:1 number:1e0 number:0.5 number:1.50 number:1e5 number:1e05 number:1000 number:31 number:15 number:3 number:7',
  ],
  ['1..2 $1 $01', 'number:1 symbol:.. number:2 param:1 param:1'],
  [
    'a->>b a<-1 a=-1 a@-1 a<>b a!=b',
    'word:a symbol:->> word:b word:a symbol:< symbol:- number:1 word:a symbol:= symbol:- number:1 word:a symbol:@- number:1 word:a symbol:<> word:b word:a symbol:<> word:b',
  ],
  ['a/*x/*y*/z*/b--c\nd', 'word:a word:b word:d'],
  [
    'a::b c:=d e=>f g[1:2]',
    'word:a symbol::: word:b word:c symbol::= word:d word:e symbol:=> word:f word:g symbol:[ number:1 symbol:: number:2 symbol:]',
  ],
];

test('tokens and their values', () => {
  for (const [text, expected] of TOKENS) {
    assert.equal(tokens(text).join(' '), expected, text);
  }
  assert.deepEqual(tokens('a ++- b'), ['word:a', 'symbol:+', 'symbol:+', 'symbol:-', 'word:b']);
});

test('positions count characters, not UTF-16 units', () => {
  const lexer = new Lexer(`'😀' x`);
  assert.equal(lexer.next().pos, 0);
  assert.equal(lexer.next().pos, 4);
});

/** Text -> message, position. */
const ERRORS: readonly (readonly [string, string, number])[] = [
  [`  'abc`, `unterminated quoted string at or near "'abc"`, 3],
  [`E'abc\\'`, `unterminated quoted string at or near "E'abc\\'"`, 1],
  ['x "abc', 'unterminated quoted identifier at or near ""abc"', 3],
  ['x ""', 'zero-length delimited identifier at or near """"', 3],
  ['a /* b /* c */', 'unterminated /* comment at or near "/* b /* c */"', 3],
  ['$a$ b', 'unterminated dollar-quoted string at or near "$a$ b"', 1],
  [`b'01`, `unterminated bit string literal at or near "b'01"`, 1],
  [`x'01`, `unterminated hexadecimal string literal at or near "x'01"`, 1],
  ['123abc', 'trailing junk after numeric literal at or near "123abc"', 1],
  ['1.5e+', 'trailing junk after numeric literal at or near "1.5e+"', 1],
  ['0x', 'invalid hexadecimal integer at or near "0x"', 1],
  ['$1a', 'trailing junk after parameter at or near "$1a"', 1],
  ['$99999999999', 'parameter number too large at or near "$99999999999"', 1],
];

test('errors name the text and its place', () => {
  for (const [text, message, position] of ERRORS) {
    assert.throws(
      () => tokens(text),
      (error: unknown) => {
        assert.ok(error instanceof SqlError, text);
        assert.deepEqual([error.message, error.position, error.sqlstate], [message, position, '42601']);
        return true;
      },
    );
  }
});

/** Text -> SQLSTATE. */
const BAD_ESCAPES: readonly (readonly [string, string])[] = [
  [`E'\\u12'`, '22025'],
  [`E'\\ud83d'`, '42601'],
  [`E'\\ud83dx\\ude00'`, '42601'],
  [`E'\\xff'`, '22021'],
  [`E'\\0'`, '22021'],
  [`U&'\\00'`, '42601'],
  [`U&'x' uescape '+'`, '42601'],
];

test('escapes that mean no character are refused', () => {
  for (const [text, code] of BAD_ESCAPES) {
    assert.throws(
      () => tokens(text),
      (error: unknown) => error instanceof SqlError && error.sqlstate === code,
      text,
    );
  }
});
