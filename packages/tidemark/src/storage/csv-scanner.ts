/**
 * CSV bytes to records, by PostgreSQL's rules: a quote opens and closes a quoted stretch anywhere in a field, within
 * it a doubled quote stands for one, and delimiters and line ends are data. Records end with LF or CRLF; a lone
 * carriage return outside quotes is an error. A byte order mark at the start is skipped.
 *
 * The scanner owns its buffer: a record's fields are byte ranges of it, valid until the next `next()`. Fields with
 * quotes are unquoted in place, once their record is complete.
 */
import { SqlError } from '../base/error.ts';

const LF = 10;
const CR = 13;

export interface CsvSyntax {
  readonly delimiter: number;
  readonly quote: number;
}

/** Larger than any row that the engine could hold: an unclosed quote ends here, not with the memory. */
const MAX_RECORD_BYTES = 1 << 29;

export class CsvScanner {
  readonly #delimiter: number;
  readonly #quote: number;
  #buf: Uint8Array<ArrayBuffer> = new Uint8Array(0);
  #at = 0;
  #end = 0;
  #final = false;
  /** A record that was not complete in n bytes is looked at again at 2n: rescanning stays linear. */
  #need = 0;
  #started = false;
  #consumed = 0;
  #nextLine = 1;

  /** Line on which the record starts, from 1. */
  line = 0;
  /** Fields of the record. */
  count = 0;
  /** Field k is bytes [from[k], to[k]) of `bytes`. */
  from: Int32Array<ArrayBuffer> = new Int32Array(64);
  to: Int32Array<ArrayBuffer> = new Int32Array(64);
  /** 1: the field has quotes. */
  quoted: Uint8Array<ArrayBuffer> = new Uint8Array(64);

  constructor(syntax: CsvSyntax) {
    this.#delimiter = syntax.delimiter;
    this.#quote = syntax.quote;
  }

  get bytes(): Uint8Array {
    return this.#buf;
  }

  /** Bytes of the records given so far. */
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

  /** No more bytes come: what is left is the last record. */
  finish(): void {
    this.#final = true;
  }

  /** Moves to the next record; false: more bytes are needed, or after `finish` that there is none. */
  next(): boolean {
    if (!this.#started && !this.#start()) return false;
    const rest = this.#end - this.#at;
    if (rest === 0 || (!this.#final && rest < this.#need)) return false;
    if (this.#scan()) {
      this.#need = 0;
      return true;
    }
    if (rest > MAX_RECORD_BYTES)
      throw new SqlError('program_limit_exceeded', `line ${this.#nextLine}: a row of more than 512 MB`);
    this.#need = rest * 2;
    return false;
  }

  #start(): boolean {
    if (this.#end < 3 && !this.#final) return false;
    const b = this.#buf;
    if (b[0] === 0xef && b[1] === 0xbb && b[2] === 0xbf) this.#at = 3;
    this.#started = true;
    return true;
  }

  /** One record from `#at`; false if the buffer ends first. */
  #scan(): boolean {
    const b = this.#buf;
    const end = this.#end;
    const delimiter = this.#delimiter;
    const quote = this.#quote;
    let p = this.#at;
    let k = 0;
    let anyQuoted = false;
    for (;;) {
      const start = p;
      let quoted = 0;
      let c = -1;
      for (; p < end; p++) {
        c = b[p]!;
        if (c === delimiter || c === LF || c === CR) break;
        if (c === quote) {
          quoted = 1;
          p++;
          while (p < end && b[p] !== quote) p++;
          if (p === end) return this.#unclosed();
        }
      }
      if (p === end && !this.#final) return false;
      if (k === this.from.length) this.#widen();
      this.from[k] = start;
      this.to[k] = p;
      this.quoted[k++] = quoted;
      if (quoted === 1) anyQuoted = true;
      if (p < end && c === delimiter) {
        p++;
        continue;
      }
      if (p < end && c === CR) {
        if (p + 1 === end && !this.#final) return false;
        if (b[p + 1] !== LF && p + 1 !== end) throw this.#bareReturn();
        p = Math.min(p + 2, end);
      } else if (p < end) p++;
      this.#complete(k, p, anyQuoted);
      return true;
    }
  }

  #complete(count: number, end: number, anyQuoted: boolean): void {
    this.count = count;
    this.line = this.#nextLine++;
    this.#at = end;
    if (anyQuoted) for (let k = 0; k < count; k++) if (this.quoted[k] === 1) this.#unquote(k);
  }

  #unclosed(): false {
    if (!this.#final) return false;
    throw new SqlError('bad_copy_file_format', `line ${this.#nextLine}: unterminated CSV quoted field`);
  }

  #bareReturn(): SqlError {
    return new SqlError(
      'bad_copy_file_format',
      `line ${this.#nextLine}: unquoted carriage return found in data`,
      {
        hint: 'Use quoted CSV field to represent carriage return.',
      },
    );
  }

  #widen(): void {
    const grow = (a: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> => {
      const out = new Int32Array(a.length * 2);
      out.set(a);
      return out;
    };
    const q = new Uint8Array(this.quoted.length * 2);
    q.set(this.quoted);
    this.from = grow(this.from);
    this.to = grow(this.to);
    this.quoted = q;
  }

  #unquote(k: number): void {
    const b = this.#buf;
    const quote = this.#quote;
    let out = this.from[k]!;
    let inside = false;
    for (let p = out; p < this.to[k]!; p++) {
      const c = b[p]!;
      if (c === quote) {
        if (inside && b[p + 1] === quote && p + 1 < this.to[k]!) p++;
        else {
          inside = !inside;
          continue;
        }
      }
      if (c === LF) this.#nextLine++;
      b[out++] = c;
    }
    this.to[k] = out;
  }
}
