/** Results as the wire pulls them: rows a page at a time, streams as they come, COPY data a line a row. */
import type { CellWriter, CopyOutOutcome, RowPage, RowsOutcome, WireColumn } from '../pgwire/backend.ts';
import { type Batch, diffAt } from '../repr/batch.ts';
import type { CellEncoder } from '../repr/cell-encoder.ts';
import { type CopyFormat, CopyWriter } from '../repr/copy-text.ts';
import { nextRows, type RowStream } from './results.ts';

/** Rows encoded before the socket is looked at. */
const PAGE_ROWS = 1024;

export interface Shown {
  readonly columns: readonly WireColumn[];
  readonly encoders: readonly CellEncoder[];
  readonly tag: (n: number) => string;
}

/** Rows one by one, each as often as its multiplicity says. */
export function rowsOutcome(rows: Batch, o: Shown): RowsOutcome {
  const pages = new Pages(rows, o.encoders);
  return {
    kind: 'rows',
    columns: o.columns,
    next: async (maxRows) => pages.next(maxRows),
    complete: async (n) => o.tag(n),
    close() {},
  };
}

/** The same of rows that come as they happen. */
export function streamOutcome(stream: RowStream, o: Shown): RowsOutcome {
  let pages: Pages | null = null;
  return {
    kind: 'rows',
    columns: o.columns,
    async next(maxRows) {
      for (;;) {
        const page = pages?.next(maxRows);
        // Known to be the last of its batch, not of the stream.
        if (page) return { ...page, last: false };
        const rows = await nextRows(stream);
        if (rows === null) return null;
        pages = new Pages(rows, o.encoders);
      }
    },
    complete: async (n) => o.tag(n),
    close: () => stream.close(),
  };
}

export function copyOutcome(stream: RowStream, o: Shown & { readonly copy: CopyFormat }): CopyOutOutcome {
  let sent = 0;
  const writer = new CopyWriter(o.copy, o.encoders);
  let header = writer.header(o.columns.map((c) => c.name));
  return {
    kind: 'copyOut',
    format: 0,
    columnFormats: o.columns.map(() => 0),
    async next() {
      if (header !== null) {
        const first = header;
        header = null;
        return [first];
      }
      const rows = await nextRows(stream);
      if (rows === null) return null;
      const lines = writer.lines(rows);
      sent += lines.length;
      return lines;
    },
    complete: async () => o.tag(sent),
    close: () => stream.close(),
  };
}

class Pages {
  readonly #rows: Batch;
  readonly #encoders: readonly CellEncoder[];
  #row = 0;
  #copies = 0;

  constructor(rows: Batch, encoders: readonly CellEncoder[]) {
    this.#rows = rows;
    this.#encoders = encoders;
  }

  next(maxRows: number): RowPage | null {
    const rows = this.#rows;
    if (this.#row >= rows.length) return null;
    const at: number[] = [];
    const limit = Math.min(maxRows, PAGE_ROWS);
    while (at.length < limit && this.#row < rows.length) {
      at.push(this.#row);
      if (++this.#copies < diffAt(rows, this.#row)) continue;
      this.#row++;
      this.#copies = 0;
    }
    return page(rows, at, this.#encoders, this.#row >= rows.length);
  }
}

function page(rows: Batch, at: readonly number[], encoders: readonly CellEncoder[], last: boolean): RowPage {
  return {
    rows: at.length,
    last,
    cell(row: number, col: number, out: CellWriter) {
      encoders[col]!(rows.columns[col]!, at[row]!, out);
    },
  };
}
