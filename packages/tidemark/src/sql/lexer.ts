/**
 * Text to tokens, by PostgreSQL's rules (scan.l, standard_conforming_strings on). Tokens are made on demand, so that
 * an error in a late token does not hide a syntax error before it. Linear in the text; no regular expression that
 * backtracks over user text.
 */
import { SqlError } from '../base/error.ts';
import { decodeEscapes, decodeUnicodeEscapes } from './escapes.ts';

export type TokenType =
  /** Unquoted identifier or keyword; `text` is folded. */
  | 'word'
  /** `"…"` or U&"…" */
  | 'quoted'
  /** '…' in any notation; `text` is its value. */
  | 'string'
  /** B'…', X'…': `text` is `b` or `x` and the digits. */
  | 'bits'
  /** `text` in plain decimal notation. */
  | 'number'
  /** `$1`: `text` is the digits. */
  | 'param'
  /** Operators and punctuation. */
  | 'symbol'
  | 'end';

export interface Token {
  readonly type: TokenType;
  readonly text: string;
  /** In code points, as PostgreSQL counts positions; differs from `start` only after characters beyond the BMP. */
  readonly pos: number;
  /** UTF-16 offsets into the text. */
  readonly start: number;
  readonly end: number;
}

/** Bytes of the longest identifier PostgreSQL keeps, and the longest operator. */
const MAX_OPERATOR = 63;
const SPACE = ' \t\n\r\f\v';
const OPERATOR_CHARS = '~!@#^&|`?+-*/%<>=';
/** An operator may end in + or - only if it has one of these. */
const MAY_END_IN_SIGN = /[~!@#^&|`?%]/;

const isSpace = (ch: string): boolean => ch !== '' && SPACE.includes(ch);
const isOperatorChar = (ch: string): boolean => ch !== '' && OPERATOR_CHARS.includes(ch);
const isDigit = (ch: string): boolean => ch >= '0' && ch <= '9';
const isWordStart = (ch: string): boolean =>
  (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch === '_' || ch >= '\u0080';
const isWordPart = (ch: string): boolean => isWordStart(ch) || isDigit(ch) || ch === '$';
const foldCase = (word: string): string =>
  /[A-Z]/.test(word) ? word.replace(/[A-Z]+/g, (s) => s.toLowerCase()) : word;

interface Radix {
  readonly name: string;
  readonly digits: RegExp;
}
const RADIX: Readonly<Record<string, Radix>> = {
  x: { name: 'hexadecimal', digits: /[0-9a-fA-F]/ },
  o: { name: 'octal', digits: /[0-7]/ },
  b: { name: 'binary', digits: /[01]/ },
};

export class Lexer {
  readonly text: string;
  #at = 0;
  /** Code points less than UTF-16 units up to `#counted`. */
  #shift = 0;
  #counted = 0;
  readonly #astral: boolean;

  constructor(text: string) {
    this.text = text;
    this.#astral = /[\ud800-\udbff]/.test(text);
  }

  /** The next token; `end` again and again once the text is read. */
  next(): Token {
    this.#skipSpace();
    const start = this.#at;
    const ch = this.text.charAt(start);
    if (ch === '') return this.#token('end', '', start);
    if (isWordStart(ch)) return this.#word(start, ch);
    if (ch === "'") return this.#token('string', this.#quoted(start, 1, 'quoted string'), start);
    if (ch === '"') return this.#token('quoted', this.#delimited(start, 1), start);
    if (isDigit(ch) || (ch === '.' && isDigit(this.text.charAt(start + 1)))) return this.#number(start);
    if (ch === '$') return this.#dollar(start);
    if (isOperatorChar(ch)) return this.#operator(start);
    const two = this.text.slice(start, start + 2);
    if (two === '::' || two === ':=' || two === '..') return this.#symbol(start, 2);
    // Anything else, known punctuation or not, is a token of its own: the grammar refuses what it does not know.
    return this.#symbol(start, 1);
  }

  #token(type: TokenType, text: string, start: number): Token {
    return { type, text, pos: this.#codePoints(start), start, end: this.#at };
  }

  #symbol(start: number, length: number): Token {
    this.#at = start + length;
    return this.#token('symbol', this.text.slice(start, this.#at), start);
  }

  /** `start` never decreases from call to call, so the whole text is counted once. */
  #codePoints(start: number): number {
    if (!this.#astral) return start;
    for (; this.#counted < start; this.#counted++) {
      const unit = this.text.charCodeAt(this.#counted);
      if (unit >= 0xd800 && unit < 0xdc00) this.#shift++;
    }
    return start - this.#shift;
  }

  #fail(message: string, start: number, end: number): SqlError {
    const near = this.text.slice(start, end);
    return new SqlError('syntax_error', `${message} at or near "${near}"`, {
      position: this.#codePoints(start) + 1,
    });
  }

  #skipSpace(): void {
    for (;;) {
      const ch = this.text.charAt(this.#at);
      if (isSpace(ch)) this.#at++;
      else if (ch === '-' && this.text.charAt(this.#at + 1) === '-') this.#at = this.#lineEnd(this.#at);
      else if (ch === '/' && this.text.charAt(this.#at + 1) === '*') this.#skipComment();
      else return;
    }
  }

  #lineEnd(from: number): number {
    let at = from;
    while (at < this.text.length && this.text[at] !== '\n' && this.text[at] !== '\r') at++;
    return at;
  }

  /** Block comments nest. */
  #skipComment(): void {
    const start = this.#at;
    let depth = 0;
    for (let at = start; at < this.text.length; ) {
      const two = this.text.slice(at, at + 2);
      if (two === '/*') depth++;
      else if (two === '*/') depth--;
      at += two === '/*' || two === '*/' ? 2 : 1;
      if (depth === 0) {
        this.#at = at;
        return;
      }
    }
    throw this.#fail('unterminated /* comment', start, this.text.length);
  }

  // ---- Words and what begins like one

  #word(start: number, first: string): Token {
    const next = this.text.charAt(start + 1);
    if (next === "'") {
      const prefix = first.toLowerCase();
      if (prefix === 'e') return this.#token('string', this.#escaped(start), start);
      if (prefix === 'b')
        return this.#token('bits', `b${this.#quoted(start, 2, 'bit string literal')}`, start);
      if (prefix === 'x')
        return this.#token('bits', `x${this.#quoted(start, 2, 'hexadecimal string literal')}`, start);
      if (prefix === 'n') {
        // N'…' is NCHAR '…'.
        this.#at = start + 1;
        return this.#token('word', 'nchar', start);
      }
    }
    if (next === '&' && first.toLowerCase() === 'u') {
      const quote = this.text.charAt(start + 2);
      if (quote === "'") return this.#unicode(start, 'string', this.#quoted(start, 3, 'quoted string'));
      if (quote === '"') return this.#unicode(start, 'quoted', this.#delimited(start, 3));
    }
    let at = start + 1;
    while (at < this.text.length && isWordPart(this.text.charAt(at))) at++;
    this.#at = at;
    return this.#token('word', foldCase(this.text.slice(start, at)), start);
  }

  // ---- Strings

  /** The value of a quoted run that opens at `start + prefix - 1`; doubled quotes, continuation on a later line. */
  #quoted(start: number, prefix: number, what: string): string {
    let value = '';
    let from = start + prefix;
    for (;;) {
      const close = this.text.indexOf("'", from);
      if (close < 0) throw this.#fail(`unterminated ${what}`, start, this.text.length);
      value += this.text.slice(from, close);
      if (this.text.charAt(close + 1) === "'") {
        value += "'";
        from = close + 2;
        continue;
      }
      const next = this.#continuation(close + 1);
      if (next === undefined) {
        this.#at = close + 1;
        return value;
      }
      from = next;
    }
  }

  /** E'…': the raw text is found first (a backslash protects a quote), then its escapes are read. */
  #escaped(start: number): string {
    let raw = '';
    let from = start + 2;
    for (let at = from; ; ) {
      const ch = this.text.charAt(at);
      if (ch === '') throw this.#fail('unterminated quoted string', start, this.text.length);
      if (ch === '\\') at += 2;
      else if (ch !== "'") at++;
      else if (this.text.charAt(at + 1) === "'") {
        raw += `${this.text.slice(from, at)}'`;
        at += 2;
        from = at;
      } else {
        raw += this.text.slice(from, at);
        const next = this.#continuation(at + 1);
        if (next === undefined) {
          this.#at = at + 1;
          return decodeEscapes(raw, this.#codePoints(start));
        }
        from = next;
        at = next;
      }
    }
  }

  /** `'a' <newline> 'b'` is one string, though not with a comment between: the offset after the second opening quote, or undefined. */
  #continuation(from: number): number | undefined {
    let newline = false;
    let at = from;
    for (;;) {
      const ch = this.text.charAt(at);
      if (ch === '\n' || ch === '\r') newline = true;
      if (isSpace(ch)) at++;
      else return newline && ch === "'" ? at + 1 : undefined;
    }
  }

  #delimited(start: number, prefix: number): string {
    let value = '';
    let from = start + prefix;
    for (;;) {
      const close = this.text.indexOf('"', from);
      if (close < 0) throw this.#fail('unterminated quoted identifier', start, this.text.length);
      value += this.text.slice(from, close);
      from = close + 1;
      if (this.text.charAt(from) !== '"') break;
      value += '"';
      from++;
    }
    this.#at = from;
    if (value === '') throw this.#fail('zero-length delimited identifier', start, from);
    return value;
  }

  /** U&'…' and U&"…", with the UESCAPE that may follow. */
  #unicode(start: number, type: 'string' | 'quoted', raw: string): Token {
    const end = this.#at;
    const pos = this.#codePoints(start);
    const save = { shift: this.#shift, counted: this.#counted };
    const word = this.next();
    let escape = '\\';
    if (word.type === 'word' && word.text === 'uescape') {
      const given = this.next();
      if (given.type !== 'string') {
        throw this.#fail('UESCAPE must be followed by a simple string literal', given.start, given.end);
      }
      if (given.text.length !== 1 || /[0-9a-fA-F+'"\s]/.test(given.text)) {
        throw this.#fail('invalid Unicode escape character', given.start, given.end);
      }
      escape = given.text;
    } else {
      this.#at = end;
      this.#shift = save.shift;
      this.#counted = save.counted;
    }
    return { type, text: decodeUnicodeEscapes(raw, escape, pos), pos, start, end: this.#at };
  }

  /** `$1`, `$tag$…$tag$`, or a dollar sign that nothing knows. */
  #dollar(start: number): Token {
    let at = start + 1;
    if (isDigit(this.text.charAt(at))) {
      while (isDigit(this.text.charAt(at))) at++;
      const digits = this.text.slice(start + 1, at);
      this.#refuseJunk('parameter', start, at);
      if (Number(digits) > 2_147_483_647) throw this.#fail('parameter number too large', start, at);
      this.#at = at;
      return this.#token('param', digits.replace(/^0+(?=\d)/, ''), start);
    }
    if (isWordStart(this.text.charAt(at))) {
      while (isWordStart(this.text.charAt(at)) || isDigit(this.text.charAt(at))) at++;
    }
    if (this.text.charAt(at) !== '$') return this.#symbol(start, 1);
    const tag = this.text.slice(start, at + 1);
    const close = this.text.indexOf(tag, at + 1);
    if (close < 0) throw this.#fail('unterminated dollar-quoted string', start, this.text.length);
    this.#at = close + tag.length;
    return this.#token('string', this.text.slice(at + 1, close), start);
  }

  // ---- Numbers and operators

  #number(start: number): Token {
    const radix =
      this.text.charAt(start) === '0' ? RADIX[this.text.charAt(start + 1).toLowerCase()] : undefined;
    if (radix !== undefined) return this.#radixNumber(start, radix);
    let at = this.#digits(start, /[0-9]/);
    // `1..2` is two integers around a range.
    if (this.text.charAt(at) === '.' && this.text.charAt(at + 1) !== '.') at = this.#digits(at + 1, /[0-9]/);
    if (/[eE]/.test(this.text.charAt(at))) {
      const sign = /[+-]/.test(this.text.charAt(at + 1)) ? 1 : 0;
      if (isDigit(this.text.charAt(at + 1 + sign))) at = this.#digits(at + 1 + sign, /[0-9]/);
      else if (sign === 1) throw this.#fail('trailing junk after numeric literal', start, at + 2);
    }
    this.#refuseJunk('numeric literal', start, at);
    this.#at = at;
    return this.#token('number', plainDecimal(this.text.slice(start, at)), start);
  }

  #radixNumber(start: number, radix: Radix): Token {
    const at = this.#digits(start + 2, radix.digits);
    if (at === start + 2) {
      throw this.#fail(`invalid ${radix.name} integer`, start, this.text.charAt(at) === '_' ? at + 1 : at);
    }
    this.#refuseJunk('numeric literal', start, at);
    this.#at = at;
    return this.#token('number', BigInt(this.text.slice(start, at).replaceAll('_', '')).toString(), start);
  }

  /** Past digits with single underscores between them. */
  #digits(from: number, digit: RegExp): number {
    let at = from;
    for (;;) {
      if (digit.test(this.text.charAt(at))) at++;
      else if (this.text.charAt(at) === '_' && digit.test(this.text.charAt(at + 1))) at += 2;
      else return at;
    }
  }

  #refuseJunk(what: string, start: number, end: number): void {
    if (!isWordStart(this.text.charAt(end))) return;
    let at = end;
    while (isWordPart(this.text.charAt(at)) && at < this.text.length) at++;
    throw this.#fail(`trailing junk after ${what}`, start, at);
  }

  #operator(start: number): Token {
    let end = start;
    while (isOperatorChar(this.text.charAt(end))) {
      const two = this.text.slice(end, end + 2);
      if (two === '--' || two === '/*') break;
      end++;
    }
    if (!MAY_END_IN_SIGN.test(this.text.slice(start, end))) {
      while (end > start + 1 && /[+-]/.test(this.text.charAt(end - 1))) end--;
    }
    if (end - start > MAX_OPERATOR) throw this.#fail('operator too long', start, end);
    this.#at = end;
    const text = this.text.slice(start, end);
    return this.#token('symbol', text === '!=' ? '<>' : text, start);
  }
}

/** `.5` -> `0.5`, `1.` -> `1`, `1_0E+05` -> `10e5`: one spelling, value and scale unchanged. */
function plainDecimal(written: string): string {
  const [mantissa = '', exponent] = written.replaceAll('_', '').toLowerCase().split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = whole === '' ? '0' : whole.replace(/^0+(?=\d)/, '');
  // `1.` is numeric, not an integer: keep it so by its exponent.
  const asNumeric = mantissa.endsWith('.') && exponent === undefined ? 'e0' : '';
  const power = exponent === undefined ? asNumeric : `e${exponent.replace(/^\+/, '')}`;
  return `${digits}${fraction === '' ? '' : `.${fraction}`}${power}`;
}
