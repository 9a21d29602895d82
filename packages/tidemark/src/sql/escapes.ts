/** Backslash escapes of E'…' and Unicode escapes of U&'…' and U&"…". `pos` is where the literal starts. */
import { SqlError } from '../base/error.ts';

const SIMPLE: Readonly<Record<string, string>> = { b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' };
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

const isHigh = (unit: number): boolean => unit >= 0xd800 && unit < 0xdc00;
const isLow = (unit: number): boolean => unit >= 0xdc00 && unit < 0xe000;

/** Appends characters, code points (halves of a surrogate pair must meet) and raw bytes (must form UTF-8). */
class Decoded {
  #out = '';
  #high: number | undefined;
  #bytes: number[] = [];
  readonly #pos: number;

  constructor(pos: number) {
    this.#pos = pos;
  }

  text(value: string): void {
    if (value === '') return;
    this.#settle();
    this.#out += value;
  }

  byte(value: number): void {
    if (this.#high !== undefined) throw this.fail('invalid Unicode surrogate pair');
    if (value === 0) throw this.#badBytes([0]);
    this.#bytes.push(value);
  }

  codePoint(value: number): void {
    if (value === 0 || value > 0x10ffff) throw this.fail('invalid Unicode escape value');
    if (isLow(value)) {
      if (this.#high === undefined) throw this.fail('invalid Unicode surrogate pair');
      this.#out += String.fromCharCode(this.#high, value);
      this.#high = undefined;
      return;
    }
    this.#settle();
    if (isHigh(value)) this.#high = value;
    else this.#out += String.fromCodePoint(value);
  }

  finish(): string {
    this.#settle();
    return this.#out;
  }

  fail(message: string): SqlError {
    return new SqlError('syntax_error', message, { position: this.#pos + 1 });
  }

  #settle(): void {
    if (this.#high !== undefined) throw this.fail('invalid Unicode surrogate pair');
    if (this.#bytes.length === 0) return;
    const bytes = this.#bytes;
    this.#bytes = [];
    try {
      this.#out += utf8.decode(Uint8Array.from(bytes));
    } catch {
      throw this.#badBytes(bytes);
    }
  }

  #badBytes(bytes: readonly number[]): SqlError {
    const hex = bytes.map((b) => `0x${b.toString(16).padStart(2, '0')}`).join(' ');
    return new SqlError('character_not_in_repertoire', `invalid byte sequence for encoding "UTF8": ${hex}`);
  }
}

/** `raw` holds no lone quote any more. */
export function decodeEscapes(raw: string, pos: number): string {
  if (!raw.includes('\\')) return raw;
  const out = new Decoded(pos);
  const escape = /\\(?:([0-7]{1,3})|x([0-9a-fA-F]{1,2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([\s\S]))/g;
  let from = 0;
  for (const match of raw.matchAll(escape)) {
    const [whole, octal, hex, short, long, other] = match;
    out.text(raw.slice(from, match.index));
    from = match.index + whole.length;
    if (octal !== undefined) out.byte(Number.parseInt(octal, 8) & 0xff);
    else if (hex !== undefined) out.byte(Number.parseInt(hex, 16));
    else if (short !== undefined) out.codePoint(Number.parseInt(short, 16));
    else if (long !== undefined) out.codePoint(Number.parseInt(long, 16));
    else if (other === 'u' || other === 'U') {
      throw new SqlError('invalid_escape_sequence', 'invalid Unicode escape', {
        position: pos + 1,
        hint: 'Unicode escapes must be \\uXXXX or \\UXXXXXXXX.',
      });
    } else out.text(SIMPLE[other ?? ''] ?? other ?? '');
  }
  out.text(raw.slice(from));
  return out.finish();
}

/** `\XXXX`, `\+XXXXXX` and the escape character doubled, whatever the escape character is. */
export function decodeUnicodeEscapes(raw: string, escape: string, pos: number): string {
  const out = new Decoded(pos);
  for (let at = 0; at < raw.length; ) {
    const next = raw.indexOf(escape, at);
    out.text(raw.slice(at, next < 0 ? raw.length : next));
    if (next < 0) break;
    if (raw.charAt(next + 1) === escape) {
      out.text(escape);
      at = next + 2;
      continue;
    }
    const rest = raw.slice(next + 1, next + 8);
    const digits = /^\+([0-9a-fA-F]{6})/.exec(rest) ?? /^([0-9a-fA-F]{4})/.exec(rest);
    if (digits === null) throw out.fail('invalid Unicode escape');
    out.codePoint(Number.parseInt(digits[1] ?? '', 16));
    at = next + 1 + digits[0].length;
  }
  return out.finish();
}
