/**
 * Arrays (up to six dimensions, lower bounds kept), lists and records: their values and text forms. Elements are
 * datums of the element type; how one is read or printed comes in as a function, so this file knows no types.
 */
import { SqlError } from '../base/error.ts';
import type { Datum } from './types.ts';

const MAX_DIMENSIONS = 6;

export class SqlArray {
  /** Lengths by dimension; none for an empty array. */
  readonly dims: readonly number[];
  readonly lowers: readonly number[];
  /** In row-major order. */
  readonly items: readonly Datum[];
  constructor(dims: readonly number[], lowers: readonly number[], items: readonly Datum[]) {
    this.dims = dims;
    this.lowers = lowers;
    this.items = items;
  }
  /** A one-dimensional array from 1. */
  static of(items: readonly Datum[]): SqlArray {
    return items.length === 0 ? EMPTY_ARRAY : new SqlArray([items.length], [1], items);
  }
}
export const EMPTY_ARRAY = new SqlArray([], [], []);

export class SqlList {
  readonly items: readonly Datum[];
  constructor(items: readonly Datum[]) {
    this.items = items;
  }
}

export class SqlRecord {
  readonly items: readonly Datum[];
  constructor(items: readonly Datum[]) {
    this.items = items;
  }
}

type Print = (d: Datum) => string;
type Parse = (text: string) => Datum;

// --- text out

function quoteElement(s: string): string {
  if (s !== '' && !/[\s"\\{},]/.test(s) && !/^null$/i.test(s)) return s;
  return `"${s.replace(/["\\]/g, '\\$&')}"`;
}

export function arrayToText(a: SqlArray, print: Print): string {
  if (a.dims.length === 0) return '{}';
  let at = 0;
  const level = (d: number): string => {
    const parts: string[] = [];
    for (let i = 0; i < a.dims[d]!; i++) {
      if (d + 1 < a.dims.length) parts.push(level(d + 1));
      else {
        const item = a.items[at++]!;
        parts.push(item === null ? 'NULL' : quoteElement(print(item)));
      }
    }
    return `{${parts.join(',')}}`;
  };
  const body = level(0);
  if (a.lowers.every((l) => l === 1)) return body;
  return `${a.lowers.map((l, d) => `[${l}:${l + a.dims[d]! - 1}]`).join('')}=${body}`;
}

export function listToText(l: SqlList, print: Print, nested: boolean): string {
  return `{${l.items.map((x) => (x === null ? 'NULL' : nested ? print(x) : quoteElement(print(x)))).join(',')}}`;
}

export function recordToText(r: SqlRecord, print: (d: Datum, field: number) => string): string {
  const field = (d: Datum, i: number): string => {
    if (d === null) return '';
    const s = print(d, i);
    if (s !== '' && !/[\s"\\(),]/.test(s)) return s;
    return `"${s.replace(/["\\]/g, '$&$&')}"`;
  };
  return `(${r.items.map(field).join(',')})`;
}

// --- text in

const malformed = (text: string, detail: string, what = 'array'): SqlError =>
  new SqlError('invalid_text_representation', `malformed ${what} literal: "${text}"`, { detail });

/** An element or the mark of a nested level. */
class Scanner {
  readonly text: string;
  readonly what: string;
  at = 0;
  constructor(text: string, what: string) {
    this.text = text;
    this.what = what;
  }
  fail(detail: string): SqlError {
    return malformed(this.text, detail, this.what);
  }
  space(): void {
    while (/\s/.test(this.text[this.at] ?? 'x')) this.at++;
  }
  peek(): string | undefined {
    return this.text[this.at];
  }

  /** An element up to `,` or `}`; null is the unquoted word. */
  element(): string | null {
    const s = this.text;
    let out = '';
    let quoted = false;
    let escaped = false;
    let end = 0; // length of `out` without trailing unquoted white space
    for (;;) {
      const c = s[this.at];
      if (c === undefined) throw this.fail('Unexpected end of input.');
      if (c === ',' || c === '}') break;
      if (c === '{') throw this.fail('Unexpected "{" character.');
      this.at++;
      if (c === '"') {
        if (quoted || end > 0) throw this.fail('Incorrectly quoted array element.');
        quoted = true;
        out = this.#quoted();
        end = out.length;
        this.space();
        const next = this.peek();
        if (next !== ',' && next !== '}' && next !== undefined)
          throw this.fail('Incorrectly quoted array element.');
      } else if (c === '\\') {
        const next = s[this.at++];
        if (next === undefined) throw this.fail('Unexpected end of input.');
        out += next;
        escaped = true;
        end = out.length;
      } else {
        out += c;
        if (!/\s/.test(c)) end = out.length;
      }
    }
    const value = out.slice(0, end);
    if (!quoted && value === '') throw this.fail(`Unexpected "${this.peek()}" character.`);
    return !quoted && !escaped && /^null$/i.test(value) ? null : value;
  }

  #quoted(): string {
    let out = '';
    for (;;) {
      const c = this.text[this.at++];
      if (c === undefined) throw this.fail('Unexpected end of input.');
      if (c === '"') return out;
      if (c === '\\') {
        const next = this.text[this.at++];
        if (next === undefined) throw this.fail('Unexpected end of input.');
        out += next;
      } else out += c;
    }
  }
}

const MISMATCH = 'Multidimensional arrays must have sub-arrays with matching dimensions.';

export function parseArray(text: string, parse: Parse): SqlArray {
  const sc = new Scanner(text, 'array');
  sc.space();
  const bounds = parseBounds(sc);
  if (sc.peek() !== '{')
    throw sc.fail(
      bounds.length > 0
        ? 'Array contents must start with "{".'
        : 'Array value must start with "{" or dimension information.',
    );
  const dims: number[] = [];
  const items: Datum[] = [];
  parseLevel(sc, 0, dims, items, parse, { leaf: -1 });
  sc.space();
  if (sc.peek() !== undefined) throw sc.fail('Junk after closing right brace.');
  if (items.length === 0) {
    if (bounds.length > 0) throw sc.fail('Specified array dimensions do not match array contents.');
    return EMPTY_ARRAY;
  }
  if (bounds.length === 0)
    return new SqlArray(
      dims,
      dims.map(() => 1),
      items,
    );
  if (bounds.length !== dims.length || bounds.some((b, d) => b.upper - b.lower + 1 !== dims[d]))
    throw sc.fail('Specified array dimensions do not match array contents.');
  return new SqlArray(
    dims,
    bounds.map((b) => b.lower),
    items,
  );
}

/** `[1:3][0:1]=` before the braces. */
function parseBounds(sc: Scanner): { lower: number; upper: number }[] {
  const out: { lower: number; upper: number }[] = [];
  const bound = /\s*\[\s*([+-]?\d+)(?:\s*:\s*([+-]?\d+))?\s*\]/y;
  for (;;) {
    bound.lastIndex = sc.at;
    const m = bound.exec(sc.text);
    if (m === null) break;
    sc.at = bound.lastIndex;
    const lower = m[2] === undefined ? 1 : Number(m[1]);
    const upper = Number(m[2] ?? m[1]);
    if (upper < lower)
      throw new SqlError('array_subscript_error', 'upper bound cannot be less than lower bound');
    out.push({ lower, upper });
  }
  sc.space();
  if (out.length === 0) {
    if (sc.peek() === '[')
      throw sc.fail(
        /^\[\s*[+-]?\d/.test(sc.text.slice(sc.at))
          ? 'Missing "]" after array dimensions.'
          : '"[" must introduce explicitly-specified array dimensions.',
      );
    return out;
  }
  if (sc.peek() !== '=') throw sc.fail('Missing "=" after array dimensions.');
  sc.at++;
  sc.space();
  return out;
}

/** One pair of braces at depth `d`; `leaf` is the depth at which elements stand, once known. */
function parseLevel(
  sc: Scanner,
  d: number,
  dims: number[],
  items: Datum[],
  parse: Parse,
  state: { leaf: number },
): void {
  if (d >= MAX_DIMENSIONS)
    throw new SqlError(
      'program_limit_exceeded',
      `number of array dimensions exceeds the maximum allowed (${MAX_DIMENSIONS})`,
    );
  sc.at++;
  let n = 0;
  let nested = false;
  for (;;) {
    sc.space();
    const c = sc.peek();
    if (c === undefined) throw sc.fail('Unexpected end of input.');
    if (c === '}' && n === 0) break;
    if (c === '{') {
      if (state.leaf === d) throw sc.fail(MISMATCH);
      nested = true;
      parseLevel(sc, d + 1, dims, items, parse, state);
    } else {
      if (c === ',' || c === '}') throw sc.fail(`Unexpected "${c}" character.`);
      if (nested || (state.leaf >= 0 && state.leaf !== d)) throw sc.fail(MISMATCH);
      state.leaf = d;
      const e = sc.element();
      items.push(e === null ? null : parse(e));
    }
    n++;
    sc.space();
    const next = sc.peek();
    if (next === undefined) throw sc.fail('Unexpected end of input.');
    if (next === '}') break;
    if (next !== ',') throw sc.fail('Unexpected array element.');
    sc.at++;
  }
  sc.at++;
  if (n === 0 && d > 0 && items.length > 0) throw sc.fail(MISMATCH);
  if (dims[d] === undefined) dims[d] = n;
  else if (dims[d] !== n) throw sc.fail(MISMATCH);
}

/** `{a,"b c",NULL}`; with `nested`, elements are lists in braces, handed to `parse` as they stand. */
export function parseList(text: string, parse: Parse, nested: boolean): SqlList {
  const sc = new Scanner(text, 'list');
  sc.space();
  if (sc.peek() !== '{') throw sc.fail('List value must start with "{".');
  sc.at++;
  const items: Datum[] = [];
  for (;;) {
    sc.space();
    if (sc.peek() === '}' && items.length === 0) break;
    if (nested && sc.peek() === '{') items.push(parse(nestedText(sc)));
    else {
      const e = sc.element();
      items.push(e === null ? null : parse(e));
    }
    sc.space();
    if (sc.peek() === '}') break;
    if (sc.peek() !== ',') throw sc.fail('Unexpected list element.');
    sc.at++;
  }
  sc.at++;
  sc.space();
  if (sc.peek() !== undefined) throw sc.fail('Junk after closing right brace.');
  return new SqlList(items);
}

/** The text of a nested list, braces included. */
function nestedText(sc: Scanner): string {
  const from = sc.at;
  let depth = 0;
  let quoted = false;
  for (; sc.at < sc.text.length; sc.at++) {
    const c = sc.text[sc.at]!;
    if (c === '\\') sc.at++;
    else if (c === '"') quoted = !quoted;
    else if (!quoted && c === '{') depth++;
    else if (!quoted && c === '}' && --depth === 0) return sc.text.slice(from, ++sc.at);
  }
  throw sc.fail('Unexpected end of input.');
}
