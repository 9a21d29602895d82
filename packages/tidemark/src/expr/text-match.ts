/**
 * Patterns of LIKE, SIMILAR TO and POSIX regular expressions, compiled once and kept by their text. LIKE runs over
 * UTF-8 bytes. Regular expressions run in linear time (re2js): no back references, and no pattern can hang a worker.
 */
import { RE2JS, RE2JSException } from 're2js';
import { SqlError } from '../base/error.ts';
import { encodeUtf8 } from '../repr/text.ts';

/** Bounded: a view whose patterns come from a column must not grow the cache for ever. */
const CACHE_LIMIT = 512;

function cached<T>(make: (key: string) => T): (key: string) => T {
  const entries = new Map<string, T>();
  return (key) => {
    const hit = entries.get(key);
    if (hit !== undefined) return hit;
    if (entries.size >= CACHE_LIMIT) entries.clear();
    const made = make(key);
    entries.set(key, made);
    return made;
  };
}

/** Bytes to match, `ONE` for any character, `MANY` for any run of characters. */
export type LikeProgram = Int16Array;
const ONE = -1;
const MANY = -2;

export const compileLike: (pattern: string) => LikeProgram = cached((pattern) => {
  const bytes = encodeUtf8(pattern);
  const out: number[] = [];
  for (let p = 0; p < bytes.length; p++) {
    const b = bytes[p]!;
    if (b === 0x25) {
      if (out.at(-1) !== MANY) out.push(MANY);
    } else if (b === 0x5f) out.push(ONE);
    else if (b === 0x5c) {
      p++;
      if (p === bytes.length)
        throw new SqlError('invalid_escape_sequence', 'LIKE pattern must not end with escape character');
      out.push(bytes[p]!);
    } else out.push(b);
  }
  return Int16Array.from(out);
});

/** Past the character that starts at `p`. */
function nextChar(s: Uint8Array, p: number, to: number): number {
  let q = p + 1;
  while (q < to && (s[q]! & 0xc0) === 0x80) q++;
  return q;
}

/** Greedy with one point of return: the last `%` gives back a character at a time. */
export function matchesLike(program: LikeProgram, s: Uint8Array, from: number, to: number): boolean {
  const m = program.length;
  let p = from;
  let k = 0;
  let backProgram = -1;
  let backText = 0;
  for (;;) {
    const op = k < m ? program[k]! : undefined;
    if (op === MANY) {
      if (k === m - 1) return true;
      backProgram = ++k;
      backText = p;
      continue;
    }
    if (p < to && op !== undefined && (op === ONE || op === s[p])) {
      p = op === ONE ? nextChar(s, p, to) : p + 1;
      k++;
      continue;
    }
    if (p === to && op === undefined) return true;
    if (backProgram < 0 || backText >= to) return false;
    backText = nextChar(s, backText, to);
    p = backText;
    k = backProgram;
  }
}

/** `LIKE p ESCAPE e`: the pattern with the escape character written as a backslash. */
export function likeEscape(pattern: string, escape: string): string {
  const e = singleEscape(escape);
  let out = '';
  const chars = [...pattern];
  for (let i = 0; i < chars.length; i++) {
    const c = chars[i]!;
    if (e !== '' && c === e) {
      // Nothing may follow at the end of a pattern: matching says so.
      out += `\\${chars[++i] ?? ''}`;
    } else out += c === '\\' ? '\\\\' : c;
  }
  return out;
}

function singleEscape(escape: string): string {
  if ([...escape].length > 1)
    throw new SqlError('invalid_escape_sequence', 'invalid escape string', {
      hint: 'Escape string must be empty or one character.',
    });
  return escape;
}

/** A SIMILAR TO pattern as a regular expression over the whole text. */
export function similarToRegex(pattern: string, escape = '\\'): string {
  const e = singleEscape(escape);
  let out = '';
  let inClass = false;
  const chars = [...pattern];
  for (let i = 0; i < chars.length; i++) {
    const c = chars[i]!;
    if (e !== '' && c === e) {
      const next = chars[++i];
      if (next === undefined) break;
      out += `\\${next}`;
    } else if (inClass) {
      if (c === ']') inClass = false;
      out += c === '\\' ? '\\\\' : c;
    } else if (c === '[') {
      inClass = true;
      out += c;
    } else if (c === '%') out += '.*';
    else if (c === '_') out += '.';
    else if (c === '(') out += '(?:';
    else if ('\\.^$'.includes(c)) out += `\\${c}`;
    else out += c;
  }
  return `^(?:${out})$`;
}

export interface Regex {
  readonly program: RE2JS;
  readonly global: boolean;
}

const regexes = cached((key) => {
  const cut = key.indexOf('/');
  return build(key.slice(cut + 1), key.slice(0, cut));
});

/** With PostgreSQL's flag letters. */
export const compileRegex = (pattern: string, flags = ''): Regex => regexes(`${flags}/${pattern}`);

function build(pattern: string, flags: string): Regex {
  let bits = RE2JS.DOTALL;
  let global = false;
  let literal = false;
  for (const f of flags) {
    if (f === 'g') global = true;
    else if (f === 'i') bits |= RE2JS.CASE_INSENSITIVE;
    else if (f === 'c') bits &= ~RE2JS.CASE_INSENSITIVE;
    else if (f === 'n' || f === 'm') bits = (bits & ~RE2JS.DOTALL) | RE2JS.MULTILINE;
    else if (f === 'p') bits &= ~RE2JS.DOTALL;
    else if (f === 'w') bits |= RE2JS.MULTILINE;
    else if (f === 's') bits = (bits | RE2JS.DOTALL) & ~RE2JS.MULTILINE;
    else if (f === 'q') literal = true;
    else if (f !== 'e' && f !== 't' && f !== 'b')
      throw new SqlError('invalid_parameter_value', `invalid regular expression option: "${f}"`);
  }
  // Leftmost and longest, as POSIX asks, unless the pattern says where it wants the shortest.
  if (!/[*+?}]\?/.test(pattern)) bits |= RE2JS.LONGEST_MATCH;
  try {
    return { program: RE2JS.compile(literal ? RE2JS.quote(pattern) : translate(pattern), bits), global };
  } catch (e) {
    if (e instanceof RE2JSException)
      throw new SqlError('invalid_regular_expression', `invalid regular expression: ${e.message}`);
    throw e;
  }
}

/** Escapes that PostgreSQL writes differently: word boundaries, backspace, a backslash, the end of the text. */
function translate(pattern: string): string {
  return pattern.replace(/\\([\s\S])/g, (whole, c: string) => {
    if (c === 'y' || c === 'm' || c === 'M') return '\\b';
    if (c === 'Y') return '\\B';
    if (c === 'b') return '\\x08';
    if (c === 'B') return '\\\\';
    if (c === 'Z') return '\\z';
    return whole;
  });
}
