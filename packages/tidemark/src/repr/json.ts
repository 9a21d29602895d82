/**
 * jsonb as its canonical text: what PostgreSQL prints for the value (keys by length, then bytes; the last of
 * duplicate keys; `", "` and `": "` between; numbers with their digits, exponents written out). Text in this form
 * is read without building objects: `jsonGet` and the like scan to the part and return a slice of the text.
 *
 * Two numbers that differ in trailing zeros are equal in SQL and different here: keys take `canonJson`.
 */
import {
  compareKeys,
  compareNumberText,
  type Json,
  JsonNumber,
  JsonObject,
  parseJson,
  trimNumberText,
} from './json-parse.ts';
import { compareText } from './text.ts';

// --- text out

/** A string as jsonb prints it. */
export function jsonQuote(s: string): string {
  for (let i = 0; i < s.length; i++) {
    const c = s.charCodeAt(i);
    if (c < 32 || c === 34 || c === 92) return JSON.stringify(s);
  }
  return `"${s}"`;
}

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
  if (v instanceof JsonNumber) return new JsonNumber(trimNumberText(v.text));
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
  if (a instanceof JsonNumber) return compareNumberText(a.text, (b as JsonNumber).text);
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
