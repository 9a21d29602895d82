/** Rows as COPY writes them: PostgreSQL's text format (cells between tabs, `\N` for NULL, backslashes) and its CSV. */
import { type Batch, diffAt } from './batch.ts';
import { type CellEncoder, encodedCell } from './cell-encoder.ts';
import { encodeUtf8 } from './text.ts';

/** Single characters but for `null`; `quote` and `escape` are CSV's. */
export interface CopyFormat {
  readonly kind: 'text' | 'csv';
  readonly delimiter: string;
  readonly null: string;
  readonly header: boolean;
  readonly quote: string;
  readonly escape: string;
}

export const COPY_TEXT: CopyFormat = {
  kind: 'text',
  delimiter: '\t',
  null: '\\N',
  header: false,
  quote: '"',
  escape: '"',
};
export const COPY_CSV: CopyFormat = { ...COPY_TEXT, kind: 'csv', delimiter: ',', null: '' };

const NEWLINE = 10;
const RETURN = 13;
const BACKSLASH = 0x5c;

/** What stands before a byte of a cell: nothing, or an escape and the byte or letter in its place. */
interface Escapes {
  readonly before: number;
  /** By byte; 0: it stands for itself. */
  readonly letters: Uint8Array;
}

function escapesOf(f: CopyFormat): Escapes {
  const letters = new Uint8Array(256);
  const put = (text: string, by = text): void => {
    letters[text.charCodeAt(0)] = by.charCodeAt(0);
  };
  if (f.kind === 'csv') {
    put(f.quote);
    put(f.escape);
    return { before: f.escape.charCodeAt(0), letters };
  }
  for (const [byte, letter] of ['\bb', '\tt', '\nn', '\vv', '\ff', '\rr']) put(byte!, letter);
  put('\\');
  put(f.delimiter, f.delimiter === '\t' ? 't' : f.delimiter);
  return { before: BACKSLASH, letters };
}

export class CopyWriter {
  readonly #f: CopyFormat;
  readonly #encoders: readonly CellEncoder[];
  readonly #escapes: Escapes;
  readonly #null: Uint8Array;
  readonly #delimiter: number;
  readonly #quote: number;

  constructor(format: CopyFormat, encoders: readonly CellEncoder[]) {
    this.#f = format;
    this.#encoders = encoders;
    this.#escapes = escapesOf(format);
    this.#null = encodeUtf8(format.null);
    this.#delimiter = format.delimiter.charCodeAt(0);
    this.#quote = format.quote.charCodeAt(0);
  }

  /** The line of the columns' names; null where the format has none. */
  header(names: readonly string[]): Uint8Array | null {
    return this.#f.header ? this.#line(names.map(encodeUtf8)) : null;
  }

  /** One line a row, each as often as its multiplicity says. */
  lines(rows: Batch): Uint8Array[] {
    const out: Uint8Array[] = [];
    for (let i = 0; i < rows.length; i++) {
      const line = this.#line(this.#encoders.map((encode, k) => encodedCell(encode, rows.columns[k]!, i)));
      for (let n = diffAt(rows, i); n > 0; n--) out.push(line);
    }
    return out;
  }

  #line(cells: readonly (Uint8Array | null)[]): Uint8Array {
    const quoted = cells.map(
      (c) => c !== null && this.#f.kind === 'csv' && this.#needsQuotes(c, cells.length),
    );
    let size = Math.max(cells.length, 1);
    for (const [k, c] of cells.entries())
      size +=
        c === null ? this.#null.length : quoted[k] || this.#f.kind === 'text' ? this.#size(c) + 2 : c.length;
    const line = new Uint8Array(size);
    let at = 0;
    for (const [k, cell] of cells.entries()) {
      if (k > 0) line[at++] = this.#delimiter;
      if (quoted[k]) line[at++] = this.#quote;
      at = cell === null ? copy(line, at, this.#null) : this.#cell(line, at, cell, quoted[k]!);
      if (quoted[k]) line[at++] = this.#quote;
    }
    line[at++] = NEWLINE;
    return line.subarray(0, at);
  }

  #cell(line: Uint8Array, at: number, cell: Uint8Array, quoted: boolean): number {
    if (this.#f.kind === 'csv' && !quoted) return copy(line, at, cell);
    const { before, letters } = this.#escapes;
    let to = at;
    for (const byte of cell) {
      const letter = letters[byte]!;
      if (letter !== 0) line[to++] = before;
      line[to++] = letter === 0 ? byte : letter;
    }
    return to;
  }

  #size(cell: Uint8Array): number {
    let n = cell.length;
    for (const byte of cell) if (this.#escapes.letters[byte] !== 0) n++;
    return n;
  }

  /** What would read as NULL, as the end of the data, or as more than one cell. */
  #needsQuotes(cell: Uint8Array, columns: number): boolean {
    if (equal(cell, this.#null)) return true;
    if (columns === 1 && cell.length === 2 && cell[0] === BACKSLASH && cell[1] === 0x2e) return true;
    for (const byte of cell)
      if (byte === this.#delimiter || byte === this.#quote || byte === NEWLINE || byte === RETURN)
        return true;
    return false;
  }
}

function copy(line: Uint8Array, at: number, bytes: Uint8Array): number {
  line.set(bytes, at);
  return at + bytes.length;
}

const equal = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((x, i) => x === b[i]);
