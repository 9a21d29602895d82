/**
 * JSON bytes to objects, and an object to its members as byte ranges: an array of objects, or objects one after the
 * other (a line each, or not). Nothing is built for a value until a column wants it.
 *
 * The scanner checks the structure of an object's top level and of what stands between objects. Strings, numbers and
 * nested values are checked when they are read.
 */
import { SqlError } from '../base/error.ts';

const QUOTE = 34;
const COMMA = 44;
const COLON = 58;
const OPEN = 91;
const BACKSLASH = 92;
const CLOSE = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

/** Larger than any row that the engine could hold. */
const MAX_OBJECT_BYTES = 1 << 29;

const isSpace = (c: number): boolean => c === 32 || c === 10 || c === 13 || c === 9;

export const jsonError = (what: string): SqlError => new SqlError('bad_copy_file_format', what);

/** What a member's value is, by its first character. */
export type JsonKind = 'string' | 'object' | 'array' | 'number' | 'true' | 'false' | 'null';

export class JsonScanner {
  #buf: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #at = 0;
  #end = 0;
  #final = false;
  #need = 0;
  #consumed = 0;
  #state: 'start' | 'first' | 'element' | 'separator' | 'lines' | 'done' = 'start';

  /** Number of the object, from 1. */
  row = 0;
  /** Members of the object; member k has its key in [keyFrom, keyTo), without quotes, and its value in [from, to). */
  count = 0;
  keyFrom: number[] = [];
  keyTo: number[] = [];
  from: number[] = [];
  to: number[] = [];

  get bytes(): Uint8Array {
    return this.#buf;
  }

  get consumed(): number {
    return this.#consumed + this.#at;
  }

  push(chunk: Uint8Array): void {
    const rest = this.#end - this.#at;
    const buf = new Uint8Array(rest + chunk.length);
    buf.set(this.#buf.subarray(this.#at, this.#end));
    buf.set(chunk, rest);
    this.#consumed += this.#at;
    this.#buf = buf;
    this.#at = 0;
    this.#end = buf.length;
  }

  finish(): void {
    this.#final = true;
  }

  /** Moves to the next object; false: more bytes are needed, or after `finish` that there is none. */
  next(): boolean {
    if (!this.#final && this.#end - this.#at < this.#need) return false;
    if (!this.#toObject()) return false;
    const end = this.#objectEnd();
    if (end < 0) {
      const rest = this.#end - this.#at;
      if (this.#final) throw jsonError(`row ${this.row + 1}: the file ends within the object`);
      if (rest > MAX_OBJECT_BYTES)
        throw new SqlError('program_limit_exceeded', `row ${this.row + 1}: an object of more than 512 MB`);
      this.#need = rest * 2;
      return false;
    }
    this.#need = 0;
    this.row++;
    this.#members(this.#at, end);
    this.#at = end;
    if (this.#state === 'first' || this.#state === 'element') this.#state = 'separator';
    return true;
  }

  /** Moves to the brace that opens the next object; false where there is none (yet). */
  #toObject(): boolean {
    const b = this.#buf;
    if (this.#state === 'start') {
      if (this.#end - this.#at < 3 && !this.#final) return false;
      if (b[0] === 0xef && b[1] === 0xbb && b[2] === 0xbf) this.#at = 3;
    }
    for (;;) {
      while (this.#at < this.#end && isSpace(b[this.#at]!)) this.#at++;
      if (this.#at === this.#end) return this.#ranOut();
      if (this.#step(b[this.#at]!)) return true;
    }
  }

  #ranOut(): false {
    if (this.#final && (this.#state === 'first' || this.#state === 'element' || this.#state === 'separator'))
      throw jsonError(`after row ${this.row}: the file ends within the array`);
    return false;
  }

  /** One character between objects; true: an object begins at it. */
  #step(c: number): boolean {
    switch (this.#state) {
      case 'start':
        if (c === OPEN) {
          this.#state = 'first';
          this.#at++;
          return false;
        }
        this.#state = 'lines';
        return false;
      case 'first':
        if (c === CLOSE) return this.#closeArray();
        break;
      case 'separator':
        if (c === CLOSE) return this.#closeArray();
        if (c !== COMMA) throw this.#unexpected(c, 'a comma or the end of the array');
        this.#state = 'element';
        this.#at++;
        return false;
      case 'done':
        throw this.#unexpected(c, 'the end of the file');
      default:
        break;
    }
    if (c !== OPEN_BRACE) throw this.#unexpected(c, 'an object');
    return true;
  }

  #closeArray(): false {
    this.#state = 'done';
    this.#at++;
    return false;
  }

  #unexpected(c: number, expected: string): SqlError {
    const shown =
      c > 32 && c < 127 ? `"${String.fromCharCode(c)}"` : `byte 0x${c.toString(16).padStart(2, '0')}`;
    return jsonError(
      `${this.row === 0 ? 'at its start' : `after row ${this.row}`}: expected ${expected}, found ${shown}`,
    );
  }

  /** Past the brace that closes the object at `#at`, or -1. Braces within strings do not count. */
  #objectEnd(): number {
    const b = this.#buf;
    const end = this.#end;
    let depth = 0;
    for (let p = this.#at; p < end; p++) {
      const c = b[p]!;
      if (c === QUOTE) {
        p = stringEnd(b, p + 1, end);
        if (p < 0) return -1;
      } else if (c === OPEN_BRACE || c === OPEN) depth++;
      else if ((c === CLOSE_BRACE || c === CLOSE) && --depth === 0) return p + 1;
    }
    return -1;
  }

  /** The members of the object in [open, end). */
  #members(open: number, end: number): void {
    const b = this.#buf;
    this.count = 0;
    let p = skipSpace(b, open + 1);
    if (b[p] === CLOSE_BRACE && p === end - 1) return;
    for (;;) {
      if (b[p] !== QUOTE) throw this.#broken('expected a key in double quotes');
      const keyEnd = stringEnd(b, p + 1, end);
      const k = this.count++;
      this.keyFrom[k] = p + 1;
      this.keyTo[k] = keyEnd;
      p = skipSpace(b, keyEnd + 1);
      if (b[p] !== COLON) throw this.#broken('expected ":" after a key');
      p = skipSpace(b, p + 1);
      const valueEnd = skipValue(b, p, end);
      if (valueEnd === p) throw this.#broken('expected a value after ":"');
      this.from[k] = p;
      this.to[k] = valueEnd;
      p = skipSpace(b, valueEnd);
      if (p === end - 1 && b[p] === CLOSE_BRACE) return;
      if (b[p] !== COMMA) throw this.#broken('expected "," or "}" after a value');
      p = skipSpace(b, p + 1);
    }
  }

  #broken(what: string): SqlError {
    return jsonError(`row ${this.row}: ${what}`);
  }
}

/** The quote that closes the string whose first character is at `p`; -1 if there is none before `end`. */
function stringEnd(b: Uint8Array, p: number, end: number): number {
  for (; p < end; p++) {
    const c = b[p]!;
    if (c === QUOTE) return p;
    if (c === BACKSLASH) p++;
  }
  return -1;
}

function skipSpace(b: Uint8Array, p: number): number {
  while (isSpace(b[p]!)) p++;
  return p;
}

/** Past the value at `p`, which ends before `end`. */
function skipValue(b: Uint8Array, p: number, end: number): number {
  const first = b[p]!;
  if (first === QUOTE) return stringEnd(b, p + 1, end) + 1;
  if (first === OPEN_BRACE || first === OPEN) {
    let depth = 0;
    for (; p < end; p++) {
      const c = b[p]!;
      if (c === QUOTE) p = stringEnd(b, p + 1, end);
      else if (c === OPEN_BRACE || c === OPEN) depth++;
      else if ((c === CLOSE_BRACE || c === CLOSE) && --depth === 0) return p + 1;
    }
    return end;
  }
  while (p < end) {
    const c = b[p]!;
    if (c === COMMA || c === CLOSE_BRACE || c === CLOSE || c === QUOTE || c === COLON || isSpace(c)) break;
    p++;
  }
  return p;
}

const WORDS: readonly (readonly [word: string, kind: JsonKind])[] = [
  ['true', 'true'],
  ['false', 'false'],
  ['null', 'null'],
];

/** What the value in [from, to) is; raises where it is nothing. Nested values are not looked into. */
export function jsonKind(b: Uint8Array, from: number, to: number): JsonKind {
  const c = b[from]!;
  if (c === QUOTE) return 'string';
  if (c === OPEN_BRACE) return 'object';
  if (c === OPEN) return 'array';
  if (isNumber(b, from, to)) return 'number';
  for (const [word, kind] of WORDS)
    if (to - from === word.length && [...word].every((ch, i) => b[from + i] === ch.charCodeAt(0)))
      return kind;
  throw jsonError(`invalid token "${new TextDecoder().decode(b.subarray(from, Math.min(to, from + 40)))}"`);
}

/** Past the digits at `p`. */
function skipDigits(b: Uint8Array, p: number, to: number): number {
  while (p < to && b[p]! >= 48 && b[p]! <= 57) p++;
  return p;
}

/** JSON's grammar of numbers, which is narrower than SQL's. */
function isNumber(b: Uint8Array, from: number, to: number): boolean {
  let p = b[from] === 45 ? from + 1 : from;
  const whole = p;
  p = skipDigits(b, p, to);
  if (p === whole || (b[whole] === 48 && p > whole + 1)) return false;
  if (p < to && b[p] === 46) {
    const fraction = p + 1;
    p = skipDigits(b, fraction, to);
    if (p === fraction) return false;
  }
  if (p < to && (b[p]! | 32) === 101) {
    p++;
    if (b[p] === 43 || b[p] === 45) p++;
    const exponent = p;
    p = skipDigits(b, exponent, to);
    if (p === exponent) return false;
  }
  return p === to;
}
