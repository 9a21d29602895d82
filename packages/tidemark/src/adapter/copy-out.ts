/** Rows as COPY's text format: cells between tabs, `\N` for NULL, backslashes before what would be read otherwise. */
import { unsupported } from '../base/error.ts';
import type { Options } from '../plan/statement/plan.ts';
import { type Batch, diffAt } from '../repr/batch.ts';
import type { CellEncoder } from '../repr/format.ts';

/** What is not the text format with its own delimiters. */
export function refuseFormats(options: Options): void {
  for (const [name, value] of Object.entries(options))
    if (name !== 'format' || value !== 'text')
      throw unsupported(
        name === 'format'
          ? `COPY of a SUBSCRIBE in format ${String(value)}`
          : `${name} in COPY of a SUBSCRIBE`,
      );
}

const NULL = Uint8Array.of(0x5c, 0x4e);
const TAB = 9;
const NEWLINE = 10;
const BACKSLASH = 0x5c;
/** The letter behind the backslash, by byte; 0: the byte stands for itself. */
const ESCAPES = new Uint8Array(256);
for (const [byte, letter] of [
  [8, 'b'],
  [TAB, 't'],
  [NEWLINE, 'n'],
  [11, 'v'],
  [12, 'f'],
  [13, 'r'],
  [BACKSLASH, '\\'],
] as const)
  ESCAPES[byte] = letter.charCodeAt(0);

/** One line a row, each as often as its multiplicity says. */
export function copyLines(rows: Batch, encoders: readonly CellEncoder[]): Uint8Array[] {
  const out: Uint8Array[] = [];
  for (let i = 0; i < rows.length; i++) {
    const line = copyLine(encoders.map((encode, k) => encode(rows.columns[k]!, i)));
    for (let n = diffAt(rows, i); n > 0; n--) out.push(line);
  }
  return out;
}

function copyLine(cells: readonly (Uint8Array | null)[]): Uint8Array {
  let size = Math.max(cells.length, 1);
  for (const c of cells) size += c === null ? NULL.length : escapedSize(c);
  const line = new Uint8Array(size);
  let at = 0;
  for (const [k, cell] of cells.entries()) {
    if (k > 0) line[at++] = TAB;
    if (cell === null) {
      line.set(NULL, at);
      at += NULL.length;
      continue;
    }
    for (const byte of cell) {
      const letter = ESCAPES[byte]!;
      if (letter !== 0) line[at++] = BACKSLASH;
      line[at++] = letter === 0 ? byte : letter;
    }
  }
  line[at] = NEWLINE;
  return line;
}

function escapedSize(cell: Uint8Array): number {
  let n = cell.length;
  for (const byte of cell) if (ESCAPES[byte] !== 0) n++;
  return n;
}
