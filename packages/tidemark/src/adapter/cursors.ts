/** Cursors of SQL (DECLARE, FETCH, CLOSE): a result kept, and how far it was read. Those WITHOUT HOLD end with their transaction. */
import { SqlError } from '../base/error.ts';
import { type Batch, concatBatches, diffAt, emptyBatch } from '../repr/batch.ts';
import { sliceColumn } from '../repr/column.ts';
import { kindOf, type RelationDesc } from '../repr/types.ts';

interface Cursor {
  readonly desc: RelationDesc;
  readonly rows: Batch;
  readonly hold: boolean;
  /** Position as a row of the batch, and how many of its copies were given. */
  at: number;
  copies: number;
}

export class Cursors {
  readonly #open = new Map<string, Cursor>();

  /** Before its query is run. */
  refuseDuplicate(name: string): void {
    if (this.#open.has(name)) throw new SqlError('duplicate_cursor', `cursor "${name}" already exists`);
  }

  declare(
    name: string,
    of: { readonly desc: RelationDesc; readonly rows: Batch; readonly hold: boolean },
  ): void {
    this.#open.set(name, { ...of, at: 0, copies: 0 });
  }

  find(name: string): Cursor {
    const c = this.#open.get(name);
    if (c === undefined) throw new SqlError('invalid_cursor_name', `cursor "${name}" does not exist`);
    return c;
  }

  fetch(name: string, count: number | 'all'): { readonly desc: RelationDesc; readonly rows: Batch } {
    const c = this.find(name);
    return { desc: c.desc, rows: advance(c, count === 'all' ? Number.POSITIVE_INFINITY : count) };
  }

  /** Undefined: all. */
  close(name: string | undefined): void {
    if (name === undefined) this.#open.clear();
    else {
      this.find(name);
      this.#open.delete(name);
    }
  }

  /** A transaction ends; one that failed takes its WITH HOLD cursors too. */
  endTransaction(): void {
    for (const [name, c] of this.#open) if (!c.hold) this.#open.delete(name);
  }
}

/** The next `n` rows, copies counted one by one. */
function advance(c: Cursor, n: number): Batch {
  const parts: Batch[] = [];
  while (n > 0 && c.at < c.rows.length) {
    const left = diffAt(c.rows, c.at) - c.copies;
    const take = Math.min(left, n);
    const columns = c.rows.columns.map((col) => sliceColumn(col, c.at, c.at + 1));
    parts.push({ length: 1, columns, times: 0, diffs: take });
    n -= take;
    c.copies += take;
    if (take === left) {
      c.at++;
      c.copies = 0;
    }
  }
  return parts.length === 0 ? emptyBatch(c.desc.columns.map((x) => kindOf(x.type))) : concatBatches(parts);
}
