/**
 * Clients that write and keep books. Each owns the rows with its number in the tables that all share, and has one write under way at a
 * time: after a crash its rows are those of the last acknowledged write, or those of the one whose answer did not come,
 * whole, and nothing else.
 */
import assert from 'node:assert/strict';
import type { Random } from './random.ts';
import { type Client, isAnswer } from './server-process.ts';

export const TABLES = ['a', 'b'] as const;
export const COLUMNS = 'owner int NOT NULL, id int NOT NULL, v int, n numeric, s text';

/** As the wire's text, without the owner. */
export type Row = readonly [id: string, v: string | null, n: string | null, s: string | null];
type Rows = ReadonlyMap<number, Row>;
/** Table -> rows of one owner. */
export type Books = ReadonlyMap<string, Rows>;

/** More rows than this, and the next write deletes. */
const MANY_ROWS = 4000;

export class Writer {
  readonly owner: number;
  books: Books = new Map(TABLES.map((t) => [t, new Map()]));
  /** What the books are if the write under way was carried out. */
  pending: Books | null = null;
  /** Writes that were acknowledged. */
  acknowledged = 0;
  readonly #random: Random;
  #nextId = 1;

  constructor(owner: number, random: Random) {
    this.owner = owner;
    this.#random = random;
  }

  /** Writes until the server is gone or `enough`. */
  async run(client: Client, enough: () => boolean): Promise<void> {
    try {
      while (!enough()) await this.#write(client);
    } catch (e) {
      // The server says when it ends, if it can; a kill says nothing.
      if (isAnswer(e) && !e.code!.startsWith('57')) throw e;
    }
  }

  async #write(client: Client): Promise<void> {
    const r = this.#random;
    const table = r.pick(TABLES);
    const rows = this.books.get(table)!;
    const dice = r.below(100);
    if (rows.size > MANY_ROWS || dice < 12) return this.#delete(client, table);
    if (dice < 35) return this.#update(client, table);
    if (dice < 42) return this.#generate(client, table, r.between(200, 1500));
    if (dice < 60) return this.#transaction(client, r.chance(80));
    const added = this.#newRows(r.chance(20) ? r.between(50, 400) : r.between(1, 4));
    await this.#one(client, insert(table, this.owner, added), this.#with(table, plus(rows, added)));
  }

  #newRows(n: number): Row[] {
    const r = this.#random;
    return Array.from({ length: n }, (): Row => {
      const id = String(this.#nextId++);
      const v = r.chance(5) ? null : String(r.chance(1) ? 0 : r.between(1, 1000));
      return [id, v, r.chance(5) ? null : `${r.below(1000)}.${r.between(1, 9)}`, text(r)];
    });
  }

  #with(table: string, rows: Rows): Books {
    return new Map(this.books).set(table, rows);
  }

  /** One statement, its effect known beforehand. */
  async #one(client: Client, sql: string, after: Books): Promise<void> {
    this.pending = after;
    await client.query(sql);
    this.#settled(after);
  }

  #settled(books: Books): void {
    this.books = books;
    this.pending = null;
    this.acknowledged++;
  }

  async #delete(client: Client, table: string): Promise<void> {
    const m = this.#random.between(2, 5);
    const left = new Map([...this.books.get(table)!].filter(([id]) => id % m !== 0));
    const sql = `DELETE FROM ${table} WHERE owner = ${this.owner} AND id % ${m} = 0`;
    await this.#one(client, sql, this.#with(table, left));
  }

  async #update(client: Client, table: string): Promise<void> {
    const r = this.#random;
    const [m, s] = [r.between(2, 9), text(r)];
    const rows = new Map(
      [...this.books.get(table)!].map(([id, row]): [number, Row] => {
        const [idText, v, n] = row;
        return [id, id % m === 1 ? [idText, v === null ? null : String(Number(v) + 1), n, s] : row];
      }),
    );
    const where = `owner = ${this.owner} AND id % ${m} = 1`;
    const sql = `UPDATE ${table} SET v = v + 1, s = ${literal(s)} WHERE ${where}`;
    await this.#one(client, sql, this.#with(table, rows));
  }

  /** Many rows from the server's own hand: parts in the blob store, where short ones stand in the state. */
  async #generate(client: Client, table: string, count: number): Promise<void> {
    const first = this.#nextId;
    this.#nextId += count;
    const added = Array.from({ length: count }, (_, k): Row => {
      const id = first + k;
      return [String(id), String((id % 97) + 1), String(id), `row ${id}`];
    });
    const sql = `INSERT INTO ${table} SELECT ${this.owner}, g, g % 97 + 1, g, 'row ' || g::text
      FROM generate_series(${first}, ${first + count - 1}) AS g`;
    await this.#one(client, sql, this.#with(table, plus(this.books.get(table)!, added)));
  }

  /** Rows in both tables, together or not at all. */
  async #transaction(client: Client, commits: boolean): Promise<void> {
    const both = this.#newRows(this.#random.between(1, 40));
    await client.query('BEGIN');
    for (const t of TABLES) await client.query(insert(t, this.owner, both));
    if (!commits) {
      await client.query('ROLLBACK');
      return;
    }
    const after: Books = new Map(TABLES.map((t) => [t, plus(this.books.get(t)!, both)]));
    await this.#one(client, 'COMMIT', after);
  }

  /** Takes what a restarted server has as the truth, having seen that it may be. */
  reconcile(found: Books): 'acknowledged' | 'pending' {
    if (this.pending !== null && sameBooks(this.pending, found)) {
      this.#settled(this.pending);
      return 'pending';
    }
    const difference = describeDifference(this.books, found);
    const also =
      this.pending === null ? '' : `; with the write under way: ${describeDifference(this.pending, found)}`;
    assert.equal(difference, '', `rows of writer ${this.owner} are not what was acknowledged${also}`);
    this.pending = null;
    return 'acknowledged';
  }

  /** Rows that make a division fail go away. */
  async heal(client: Client): Promise<void> {
    for (const t of TABLES) {
      const rows = new Map(
        [...this.books.get(t)!].map(([id, row]): [number, Row] => [
          id,
          row[1] === '0' ? [row[0], '1', row[2], row[3]] : row,
        ]),
      );
      const sql = `UPDATE ${t} SET v = 1 WHERE owner = ${this.owner} AND v = 0`;
      await this.#one(client, sql, this.#with(t, rows));
    }
  }
}

function text(r: Random): string | null {
  if (r.chance(8)) return null;
  const word = r.pick(['tide', "it's", 'Größe', '潮汐', '', 'ebb and flow']);
  return r.chance(10) ? word.repeat(r.between(1, 40)) : word;
}

const literal = (s: string | null): string => (s === null ? 'NULL' : `'${s.replaceAll("'", "''")}'`);

const plus = (rows: Rows, added: readonly Row[]): Rows => {
  const out = new Map(rows);
  for (const row of added) out.set(Number(row[0]), row);
  return out;
};

function insert(table: string, owner: number, rows: readonly Row[]): string {
  const values = rows.map(
    ([id, v, n, s]) => `(${owner}, ${id}, ${v ?? 'NULL'}, ${n ?? 'NULL'}, ${literal(s)})`,
  );
  return `INSERT INTO ${table} VALUES ${values.join(', ')}`;
}

const sameBooks = (a: Books, b: Books): boolean => describeDifference(a, b) === '';

function describeDifference(want: Books, found: Books): string {
  const out: string[] = [];
  for (const t of new Set([...want.keys(), ...found.keys()])) {
    const w = want.get(t) ?? new Map<number, Row>();
    const f = found.get(t) ?? new Map<number, Row>();
    const missing = [...w].filter(([id]) => !f.has(id));
    const extra = [...f].filter(([id]) => !w.has(id));
    const changed = [...w].filter(([id, row]) => f.has(id) && String(f.get(id)) !== String(row));
    const some = (name: string, list: readonly [number, Row][]) => {
      if (list.length > 0) out.push(`${t}: ${list.length} ${name}, e.g. ${JSON.stringify(list[0])}`);
    };
    some('missing', missing);
    some('extra', extra);
    some('changed', changed);
  }
  return out.join('; ');
}

/** The rows of a table by owner; each id stands there once. */
export function booksOf(tables: ReadonlyMap<string, readonly (readonly string[])[]>): Map<number, Books> {
  const out = new Map<number, Map<string, Map<number, Row>>>();
  for (const [table, rows] of tables)
    for (const [owner, id, v, n, s] of rows as readonly (readonly [string, string, ...(string | null)[]])[]) {
      const books =
        out.get(Number(owner)) ?? new Map<string, Map<number, Row>>(TABLES.map((t) => [t, new Map()]));
      out.set(Number(owner), books);
      const of = books.get(table)!;
      assert.ok(!of.has(Number(id)), `row ${id} of writer ${owner} stands in ${table} once`);
      of.set(Number(id), [id, v!, n!, s!]);
    }
  return out;
}
