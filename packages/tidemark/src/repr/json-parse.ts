/**
 * JSON text to trees: validation with PostgreSQL's errors, and the normal form of jsonb (keys by length, then bytes;
 * the last of duplicate keys; numbers as numeric prints them).
 */
import { SqlError } from '../base/error.ts';
import { type Numeric, numericOverflow, parseNumeric } from './numeric.ts';
import { compareText } from './text.ts';

/** A parsed value. */
export type Json = null | boolean | string | JsonNumber | readonly Json[] | JsonObject;

/** A number by its canonical text. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  /** As a numeric, if it holds that many digits. */
  get value(): Numeric {
    return parseNumeric(this.text);
  }
}

/** Keys in jsonb's order, without duplicates, and their values. */
export class JsonObject {
  readonly keys: readonly string[];
  readonly values: readonly Json[];
  constructor(keys: readonly string[], values: readonly Json[]) {
    this.keys = keys;
    this.values = values;
  }
  get(key: string): Json | undefined {
    const i = this.keys.indexOf(key);
    return i < 0 ? undefined : this.values[i]!;
  }
}

/** Nesting beyond this is refused: the parser and every walk recurse. */
const MAX_DEPTH = 2000;

// --- text in

const WORD_CHAR = /[A-Za-z0-9_$\u0080-\uffff]/;
/** What the scanner takes for a number before it judges it. */
const NUMBER = /-?(?:0|[1-9]\d*)?(?:\.\d*)?(?:[eE][+-]?\d*)?/y;
const VALID_NUMBER = /^-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const ESCAPES: Readonly<Record<string, string>> = {
  '"': '"',
  '\\': '\\',
  '/': '/',
  b: '\b',
  f: '\f',
  n: '\n',
  r: '\r',
  t: '\t',
};

const isDigit = (c: number): boolean => c >= 48 && c <= 57;
const ENDS_NUMBER = new Set(['', ',', ' ', '}', ']']);

class Parser {
  readonly #s: string;
  #at = 0;
  #depth = 0;

  constructor(s: string) {
    this.#s = s;
  }

  parse(): Json {
    const v = this.#value('JSON value');
    this.#space();
    if (this.#at < this.#s.length) throw this.#expected('end of input');
    return v;
  }

  #error(detail: string): SqlError {
    return new SqlError('invalid_text_representation', 'invalid input syntax for type json', { detail });
  }

  /** The token at the cursor, as an error quotes it. */
  #token(): string {
    const s = this.#s;
    const from = this.#at;
    let to = from;
    while (to < s.length && WORD_CHAR.test(s[to]!)) to++;
    return s.slice(from, Math.max(to, from + 1));
  }

  #expected(what: string): SqlError {
    if (this.#at >= this.#s.length) return this.#error('The input string ended unexpectedly.');
    const c = this.#s[this.#at]!;
    if (c === '"') {
      const from = this.#at;
      this.#string();
      return this.#error(`Expected ${what}, but found "${this.#s.slice(from, this.#at)}".`);
    }
    if (c === '-' || (c >= '0' && c <= '9')) {
      // A malformed number throws its own error.
      return this.#error(`Expected ${what}, but found "${this.#number()}".`);
    }
    const token = this.#token();
    const known = '{}[],:'.includes(c) || token === 'true' || token === 'false' || token === 'null';
    return this.#error(known ? `Expected ${what}, but found "${token}".` : `Token "${token}" is invalid.`);
  }

  #space(): void {
    for (;;) {
      const c = this.#s.charCodeAt(this.#at);
      if (c === 32 || c === 10 || c === 13 || c === 9) this.#at++;
      else return;
    }
  }

  #value(what: string): Json {
    this.#space();
    const c = this.#s[this.#at];
    if (c === '"') return this.#string();
    if (c === '{') return this.#object();
    if (c === '[') return this.#array();
    if (c === '-' || (c !== undefined && c >= '0' && c <= '9'))
      return new JsonNumber(numberText(this.#number()));
    const word = c === undefined ? '' : this.#token();
    this.#at += word.length;
    if (word === 'true') return true;
    if (word === 'false') return false;
    if (word === 'null') return null;
    this.#at -= word.length;
    throw this.#expected(what);
  }

  /** The digits of a number as written. */
  #number(): string {
    const s = this.#s;
    const from = this.#at;
    // Plain integers without the regular expression.
    let end = from;
    while (isDigit(s.charCodeAt(end))) end++;
    if (end > from && (s.charCodeAt(from) !== 48 || end === from + 1) && ENDS_NUMBER.has(s.charAt(end))) {
      this.#at = end;
      return s.slice(from, end);
    }
    NUMBER.lastIndex = from;
    const m = NUMBER.exec(s)![0];
    end = from + m.length;
    while (end < s.length && WORD_CHAR.test(s[end]!)) end++;
    if (end > from + m.length || !VALID_NUMBER.test(m)) {
      throw this.#error(`Token "${s.slice(from, end)}" is invalid.`);
    }
    this.#at = end;
    return m;
  }

  #string(): string {
    const s = this.#s;
    const from = ++this.#at;
    let out = '';
    let run = from;
    for (;;) {
      const c = s.charCodeAt(this.#at);
      if (Number.isNaN(c)) {
        throw this.#error(`Token "${s.slice(from - 1)}" is invalid.`);
      }
      if (c === 34) {
        out += s.slice(run, this.#at++);
        return out;
      }
      if (c < 32)
        throw this.#error(`Character with value 0x${c.toString(16).padStart(2, '0')} must be escaped.`);
      if (c === 92) {
        out += s.slice(run, this.#at) + this.#escape();
        run = this.#at;
      } else this.#at++;
    }
  }

  #escape(): string {
    const c = this.#s[++this.#at];
    if (c === undefined) throw this.#error(`Token "${this.#s.slice(this.#s.lastIndexOf('"'))}" is invalid.`);
    if (c !== 'u') {
      const plain = ESCAPES[c];
      if (plain === undefined) throw this.#error(`Escape sequence "\\${c}" is invalid.`);
      this.#at++;
      return plain;
    }
    const unit = this.#hex();
    if (unit === 0)
      throw new SqlError('untranslatable_character', 'unsupported Unicode escape sequence', {
        detail: '\\u0000 cannot be converted to text.',
      });
    if (unit >= 0xdc00 && unit < 0xe000)
      throw this.#error('Unicode low surrogate must follow a high surrogate.');
    if (unit < 0xd800 || unit >= 0xdc00) return String.fromCharCode(unit);
    if (this.#s[this.#at] !== '\\' || this.#s[this.#at + 1] !== 'u')
      throw this.#error('Unicode low surrogate must follow a high surrogate.');
    this.#at++;
    const low = this.#hex();
    if (low < 0xdc00 || low >= 0xe000) {
      throw this.#error(
        low >= 0xd800 && low < 0xdc00
          ? 'Unicode high surrogate must not follow a high surrogate.'
          : 'Unicode low surrogate must follow a high surrogate.',
      );
    }
    return String.fromCharCode(unit, low);
  }

  /** The four digits after `u`, on which the cursor stands. */
  #hex(): number {
    const digits = this.#s.slice(this.#at + 1, this.#at + 5);
    if (!/^[0-9a-fA-F]{4}$/.test(digits))
      throw this.#error('"\\u" must be followed by four hexadecimal digits.');
    this.#at += 5;
    return Number.parseInt(digits, 16);
  }

  #enter(): void {
    this.#at++;
    if (++this.#depth > MAX_DEPTH)
      throw new SqlError('statement_too_complex', 'stack depth limit exceeded', {
        detail: `JSON nests at most ${MAX_DEPTH} levels here.`,
      });
  }

  #array(): Json[] {
    this.#enter();
    const out: Json[] = [];
    this.#space();
    if (this.#s[this.#at] === ']') this.#at++;
    else
      for (;;) {
        out.push(this.#value('JSON value'));
        this.#space();
        const c = this.#s[this.#at];
        if (c !== ',' && c !== ']') throw this.#expected('"," or "]"');
        this.#at++;
        if (c === ']') break;
      }
    this.#depth--;
    return out;
  }

  #object(): JsonObject {
    this.#enter();
    const entries: [string, Json][] = [];
    this.#space();
    if (this.#s[this.#at] === '}') this.#at++;
    else
      for (;;) {
        this.#space();
        if (this.#s[this.#at] !== '"')
          throw this.#expected(entries.length === 0 ? 'string or "}"' : 'string');
        const key = this.#string();
        this.#space();
        if (this.#s[this.#at] !== ':') throw this.#expected('":"');
        this.#at++;
        entries.push([key, this.#value('JSON value')]);
        this.#space();
        const c = this.#s[this.#at];
        if (c !== ',' && c !== '}') throw this.#expected('"," or "}"');
        this.#at++;
        if (c === '}') break;
      }
    this.#depth--;
    return jsonObject(entries);
  }
}

/** Digits beyond which PostgreSQL's numeric gives up, before and after the point. */
const MAX_WHOLE = 131072;
const MAX_FRACTION = 16383;

/** jsonb keeps numbers as numeric: no exponent, no minus before zero. All digits stay, however many. */
function numberText(s: string): string {
  if (s.charCodeAt(0) !== 45 && !s.includes('e') && !s.includes('E')) return s;
  const m = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(s)!;
  const [, sign, whole, fraction = '', e] = m;
  const unsigned = e === undefined ? s.slice(sign!.length) : shiftPoint(whole!, fraction, Number(e));
  return sign === '-' && /[1-9]/.test(unsigned) ? `-${unsigned}` : unsigned;
}

/** `whole.fraction` × 10^e in plain digits. */
function shiftPoint(whole: string, fraction: string, e: number): string {
  const scale = fraction.length - e;
  const digits = (whole + fraction).replace(/^0+/, '');
  if (scale > MAX_FRACTION || digits.length - scale > MAX_WHOLE) throw numericOverflow();
  if (digits === '') return scale > 0 ? `0.${'0'.repeat(scale)}` : '0';
  if (scale <= 0) return digits + '0'.repeat(-scale);
  const padded = digits.padStart(scale + 1, '0');
  return `${padded.slice(0, -scale)}.${padded.slice(-scale)}`;
}

/** Order of two canonical number texts by value. */
export function compareNumberText(a: string, b: string): number {
  const x = a.startsWith('-');
  const y = b.startsWith('-');
  if (x !== y) return x ? -1 : 1;
  return x ? compareUnsigned(b.slice(1), a.slice(1)) : compareUnsigned(a, b);
}
function compareUnsigned(a: string, b: string): number {
  const p = a.indexOf('.');
  const q = b.indexOf('.');
  const wholeA = p < 0 ? a.length : p;
  const wholeB = q < 0 ? b.length : q;
  if (wholeA !== wholeB) return wholeA - wholeB;
  // The points stand at one place, so digits compare one by one; a missing digit is a zero.
  for (let i = 0; i < Math.max(a.length, b.length); i++) {
    const x = i < a.length ? a.charCodeAt(i) : 48;
    const y = i < b.length ? b.charCodeAt(i) : 48;
    // Past the end of an integer the other's point stands against a zero that means nothing.
    if (x !== y && x !== 46 && y !== 46) return x - y;
  }
  return 0;
}

/** Without the zeros that end a fraction. */
export function trimNumberText(s: string): string {
  if (!s.includes('.')) return s;
  let to = s.length;
  while (s.charCodeAt(to - 1) === 48) to--;
  return s.slice(0, s.charCodeAt(to - 1) === 46 ? to - 1 : to);
}

/** Order of keys: the shorter in bytes first. */
export function compareKeys(a: string, b: string): number {
  const d = byteLength(a) - byteLength(b);
  return d !== 0 ? d : compareText(a, b);
}
function byteLength(s: string): number {
  let n = s.length;
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c >= 0x80) n += c < 0x800 || (c >= 0xd800 && c < 0xe000) ? 1 : 2;
  }
  return n;
}

/** Up to this many entries insertion beats a map and a sort; beyond, it would be quadratic. */
const FEW = 24;

function sortedObject(entries: readonly (readonly [string, Json])[]): JsonObject {
  const last = new Map(entries);
  const keys = [...last.keys()].sort(compareKeys);
  return new JsonObject(
    keys,
    keys.map((k) => last.get(k)!),
  );
}

/** An object from entries in any order; the last of equal keys stays. */
function jsonObject(entries: readonly (readonly [string, Json])[]): JsonObject {
  if (entries.length > FEW) return sortedObject(entries);
  const keys: string[] = [];
  const values: Json[] = [];
  // Objects have few keys, and many arrive sorted: insertion, from the end.
  for (const [k, v] of entries) {
    let p = keys.length;
    let d = 1;
    while (p > 0 && (d = compareKeys(k, keys[p - 1]!)) < 0) p--;
    if (p > 0 && d === 0) values[p - 1] = v;
    else if (p === keys.length) {
      keys.push(k);
      values.push(v);
    } else {
      keys.splice(p, 0, k);
      values.splice(p, 0, v);
    }
  }
  return new JsonObject(keys, values);
}

/** Parses and validates any JSON text. */
export const parseJson = (text: string): Json => new Parser(text).parse();
