/**
 * jsonb as its canonical text: what PostgreSQL prints for the value (keys by length, then bytes; the last of
 * duplicate keys; `", "` and `": "` between; numbers with their digits, exponents written out). Text in this form
 * is read without building objects: `jsonGet` and the like scan to the part and return a slice of the text.
 *
 * Two numbers that differ in trailing zeros are equal in SQL and different here: keys take `canonJson`.
 */
import { SqlError } from '../base/error.ts';
import { canonNumeric, compareNumeric, type Numeric, numericToText, parseNumeric } from './numeric.ts';
import { compareText } from './text.ts';

/** A parsed value. */
export type Json = null | boolean | string | JsonNumber | readonly Json[] | JsonObject;

/** A number by its canonical text. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
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
    NUMBER.lastIndex = from;
    const m = NUMBER.exec(s)![0];
    let end = from + m.length;
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

/** jsonb keeps numbers as numeric: no exponent, no minus before zero. */
function numberText(s: string): string {
  if (s.charCodeAt(0) !== 45 && !/[eE]/.test(s)) return s;
  if (/[eE]/.test(s) || Number(s) === 0) return numericToText(parseNumeric(s));
  return s;
}

/** Order of keys: the shorter in bytes first. */
function compareKeys(a: string, b: string): number {
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

/** An object from entries in any order; the last of equal keys stays. */
export function jsonObject(entries: readonly (readonly [string, Json])[]): JsonObject {
  const last = new Map<string, Json>();
  for (const [k, v] of entries) last.set(k, v);
  const keys = [...last.keys()];
  if (keys.length > 1) keys.sort(compareKeys);
  return new JsonObject(
    keys,
    keys.map((k) => last.get(k)!),
  );
}

/** Parses and validates any JSON text. */
export const parseJson = (text: string): Json => new Parser(text).parse();

// --- text out

/** A string as jsonb prints it. */
export const jsonQuote = (s: string): string => JSON.stringify(s);

export function jsonToText(v: Json): string {
  if (v === null) return 'null';
  if (typeof v === 'boolean') return v ? 'true' : 'false';
  if (typeof v === 'string') return jsonQuote(v);
  if (v instanceof JsonNumber) return v.text;
  if (v instanceof JsonObject)
    return `{${v.keys.map((k, i) => `${jsonQuote(k)}: ${jsonToText(v.values[i]!)}`).join(', ')}}`;
  return `[${(v as readonly Json[]).map(jsonToText).join(', ')}]`;
}

/** Any JSON text as jsonb prints it: what a jsonb cell holds. */
export const canonicalJson = (text: string): string => jsonToText(parseJson(text));

/** As `jsonb_pretty`. */
export function jsonPretty(v: Json, indent = ''): string {
  const inner = `${indent}    `;
  if (Array.isArray(v)) {
    if (v.length === 0) return `[\n${indent}]`;
    return `[\n${v.map((x) => inner + jsonPretty(x as Json, inner)).join(',\n')}\n${indent}]`;
  }
  if (v instanceof JsonObject) {
    if (v.keys.length === 0) return `{\n${indent}}`;
    const lines = v.keys.map((k, i) => `${inner}${jsonQuote(k)}: ${jsonPretty(v.values[i]!, inner)}`);
    return `{\n${lines.join(',\n')}\n${indent}}`;
  }
  return jsonToText(v);
}

// --- reading canonical text

export type JsonType = 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null';

export function jsonTypeof(text: string): JsonType {
  switch (text.charCodeAt(0)) {
    case 123:
      return 'object';
    case 91:
      return 'array';
    case 34:
      return 'string';
    case 116:
    case 102:
      return 'boolean';
    case 110:
      return 'null';
    default:
      return 'number';
  }
}

/** Past the string that starts at `at`. */
function skipString(s: string, at: number): number {
  let p = at + 1;
  for (;;) {
    const c = s.charCodeAt(p);
    if (c === 34) return p + 1;
    p += c === 92 ? 2 : 1;
  }
}

/** Past the value that starts at `at`. */
function skipValue(s: string, at: number): number {
  let depth = 0;
  let p = at;
  do {
    const c = s.charCodeAt(p);
    if (c === 34) p = skipString(s, p);
    else if (c === 123 || c === 91) {
      depth++;
      p++;
    } else if (c === 125 || c === 93) {
      depth--;
      p++;
    } else if (depth > 0) p++;
    else {
      while (p < s.length && s[p] !== ',' && s[p] !== '}' && s[p] !== ']') p++;
      return p;
    }
  } while (depth > 0);
  return p;
}

/** `-> 'key'`: the value's text; undefined if there is no such key or it is no object. */
export function jsonGet(text: string, key: string): string | undefined {
  if (text.charCodeAt(0) !== 123) return undefined;
  const quoted = jsonQuote(key);
  let p = 1;
  while (text.charCodeAt(p) === 34) {
    const end = skipString(text, p);
    const value = end + 2;
    const hit = end - p === quoted.length && text.startsWith(quoted, p);
    p = skipValue(text, value);
    if (hit) return text.slice(value, p);
    p += 2;
  }
  return undefined;
}

/** `-> index`, counted from the end if negative. */
export function jsonIndex(text: string, index: number): string | undefined {
  if (text.charCodeAt(0) !== 91 || text.length === 2) return undefined;
  let i = index;
  if (i < 0) i += jsonArrayLength(text);
  if (i < 0) return undefined;
  let p = 1;
  for (let k = 0; p < text.length; k++) {
    const end = skipValue(text, p);
    if (k === i) return text.slice(p, end);
    p = end + 2;
  }
  return undefined;
}

/** `#>`: each step is a key, or an index where an array stands. */
export function jsonPath(text: string, path: readonly string[]): string | undefined {
  let v: string | undefined = text;
  for (const step of path) {
    if (v.charCodeAt(0) === 91) v = /^-?\d+$/.test(step) ? jsonIndex(v, Number(step)) : undefined;
    else v = jsonGet(v, step);
    if (v === undefined) return undefined;
  }
  return v;
}

/** `->>` of a part: a string without its quotes, null for JSON null. */
export function jsonScalarText(text: string): string | null {
  if (text === 'null') return null;
  return text.charCodeAt(0) === 34 ? (JSON.parse(text) as string) : text;
}

/** Number of elements; -1 if it is no array. */
export function jsonArrayLength(text: string): number {
  return text.charCodeAt(0) === 91 ? jsonElements(text).length : -1;
}

/** Texts of an array's elements. */
export function jsonElements(text: string): string[] {
  const out: string[] = [];
  for (let p = 1; p < text.length - 1; ) {
    const end = skipValue(text, p);
    out.push(text.slice(p, end));
    p = end + 2;
  }
  return out;
}

/** Keys and texts of the values of an object. */
export function jsonEntries(text: string): [string, string][] {
  const out: [string, string][] = [];
  for (let p = 1; p < text.length - 1; ) {
    const end = skipString(text, p);
    const value = end + 2;
    const key = JSON.parse(text.slice(p, end)) as string;
    p = skipValue(text, value);
    out.push([key, text.slice(value, p)]);
    p += 2;
  }
  return out;
}

/** An array from the canonical texts of its elements. */
export const jsonArrayText = (elements: readonly string[]): string => `[${elements.join(', ')}]`;

/** An object from keys and the canonical texts of its values, in any order. */
export function jsonObjectText(entries: readonly (readonly [string, string])[]): string {
  const last = new Map(entries);
  const keys = [...last.keys()].sort(compareKeys);
  return `{${keys.map((k) => `${jsonQuote(k)}: ${last.get(k)!}`).join(', ')}}`;
}

/** `?`: a key of the object, or a string among the array's elements, or the string itself. */
export function jsonExists(text: string, key: string): boolean {
  const kind = jsonTypeof(text);
  if (kind === 'object') return jsonGet(text, key) !== undefined;
  const quoted = jsonQuote(key);
  return kind === 'array' ? jsonElements(text).includes(quoted) : text === quoted;
}

// --- order, equality, containment

/** Canonical text in which equal numbers have equal digits. */
export function canonJson(text: string): string {
  // Only a fraction can carry zeros to trim.
  if (!/\.\d*0(?![\d.])/.test(text)) return text;
  return jsonToText(canonValue(parseJson(text)));
}
function canonValue(v: Json): Json {
  if (v instanceof JsonNumber) return new JsonNumber(numericToText(canonNumeric(v.value)));
  if (v instanceof JsonObject) return new JsonObject(v.keys, v.values.map(canonValue));
  return Array.isArray(v) ? (v as Json[]).map(canonValue) : v;
}

/** Rank by kind: null < string < number < boolean < array < object. */
function rank(v: Json): number {
  if (v === null) return 0;
  if (typeof v === 'string') return 1;
  if (v instanceof JsonNumber) return 2;
  if (typeof v === 'boolean') return 3;
  return v instanceof JsonObject ? 5 : 4;
}

function compareValues(a: Json, b: Json): number {
  const d = rank(a) - rank(b);
  if (d !== 0) return d;
  if (typeof a === 'string') return compareText(a, b as string);
  if (typeof a === 'boolean') return Number(a) - Number(b);
  if (a instanceof JsonNumber) return compareNumeric(a.value, (b as JsonNumber).value);
  if (a instanceof JsonObject) return compareObjects(a, b as JsonObject);
  return a === null ? 0 : compareArrays(a as readonly Json[], b as readonly Json[]);
}
function compareObjects(a: JsonObject, b: JsonObject): number {
  if (a.keys.length !== b.keys.length) return a.keys.length - b.keys.length;
  for (let i = 0; i < a.keys.length; i++) {
    const d = compareText(a.keys[i]!, b.keys[i]!) || compareValues(a.values[i]!, b.values[i]!);
    if (d !== 0) return d;
  }
  return 0;
}
function compareArrays(a: readonly Json[], b: readonly Json[]): number {
  if (a.length !== b.length) return a.length - b.length;
  for (let i = 0; i < a.length; i++) {
    const d = compareValues(a[i]!, b[i]!);
    if (d !== 0) return d;
  }
  return 0;
}

/** PostgreSQL's btree order of jsonb, with its quirk that an empty top-level array stands before every scalar. */
export function compareJson(a: string, b: string): number {
  if (a === b) return 0;
  if (a === '[]' || b === '[]') {
    const other = jsonTypeof(a === '[]' ? b : a);
    if (other !== 'array' && other !== 'object') return a === '[]' ? -1 : 1;
  }
  return compareValues(parseJson(a), parseJson(b));
}

/** `a @> b` on canonical texts. */
export function jsonContains(a: string, b: string): boolean {
  const x = parseJson(a);
  const y = parseJson(b);
  // A top-level array contains a scalar that is one of its elements.
  if (Array.isArray(x) && rank(y) < 4) return (x as Json[]).some((e) => compareValues(e, y) === 0);
  return containsValue(x, y);
}
function containsValue(a: Json, b: Json): boolean {
  if (rank(a) !== rank(b)) return false;
  if (b instanceof JsonObject)
    return b.keys.every((k, i) => {
      const v = (a as JsonObject).get(k);
      return v !== undefined && containsValue(v, b.values[i]!);
    });
  if (Array.isArray(b)) return (b as Json[]).every((y) => (a as Json[]).some((x) => containsValue(x, y)));
  return compareValues(a, b) === 0;
}
