/**
 * A SUBSCRIBE … WITH (PROGRESS) read by a test: what came, how far it is complete, and what it adds up to. It asserts what must hold of any:
 * times never fall behind what progress promised, no sum is negative, and what ended has ended.
 */
import type { RowStream } from '../adapter/results.ts';
import type { Session } from '../adapter/session.ts';
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { textOf } from '../repr/format.ts';
import { expandedRows } from '../repr/rows.ts';
import type { RelationDesc } from '../repr/types.ts';
import { parseStatement } from '../sql/parse.ts';

export interface SubscribedUpdate {
  readonly time: number;
  readonly diff: number;
  /** As PostgreSQL's text. */
  readonly row: readonly (string | null)[];
}

export class Subscribed {
  readonly updates: SubscribedUpdate[] = [];
  /** Nothing before it comes any more. */
  frontier = 0;
  /** Undefined: it goes on; null: it came to its end. */
  ended: SqlError | null | undefined;
  readonly #session: Session;
  readonly #desc: RelationDesc;
  readonly #rows: RowStream;

  private constructor(session: Session, desc: RelationDesc, rows: RowStream) {
    this.#session = session;
    this.#desc = desc;
    this.#rows = rows;
  }

  static async start(session: Session, sql: string): Promise<Subscribed> {
    const r = await session.execute(parseStatement(sql));
    assert(r.kind === 'stream' && r.desc.columns[1]!.name === 'mz_progressed', `${sql}: with progress`);
    return new Subscribed(session, r.desc, r.rows);
  }

  /** Takes what is there. */
  read(): void {
    while (this.ended === undefined) {
      const rows = this.#poll();
      if (rows === undefined || rows === null) return;
      const types = this.#desc.columns.map((c) => c.type);
      for (const row of expandedRows(types, rows)) {
        const [time, progressed, diff, ...cells] = row.map((d, i) =>
          d === null ? null : textOf(types[i]!, d),
        );
        assert(Number(time) >= this.frontier, `a subscribe at ${this.frontier} says nothing of ${time}`);
        if (progressed === 't') this.frontier = Number(time);
        else this.updates.push({ time: Number(time), diff: Number(diff), row: cells });
      }
    }
  }

  #poll(): ReturnType<RowStream['poll']> {
    try {
      const rows = this.#rows.poll();
      if (rows === null) this.ended = null;
      return rows;
    } catch (error) {
      assert(error instanceof SqlError, `a subscribe ends with an error for users, not ${String(error)}`);
      this.ended = error;
      return null;
    }
  }

  /** Reads until it is complete before `time`, or has ended. */
  async completeBefore(time: number): Promise<void> {
    for (this.read(); this.ended === undefined && this.frontier < time; this.read()) await this.#rows.ready();
  }

  /** Resolves when it has ended; reads on meanwhile. */
  async end(): Promise<void> {
    for (this.read(); this.ended === undefined; this.read()) await this.#rows.ready();
  }

  /** What it adds up to at a time: each row as often as it is there. */
  contents(at = Number.POSITIVE_INFINITY): (readonly (string | null)[])[] {
    const counts = new Map<string, { row: SubscribedUpdate['row']; count: number }>();
    for (const { time, diff, row } of this.updates) {
      if (time > at) continue;
      const key = JSON.stringify(row);
      const known = counts.get(key);
      if (known === undefined) counts.set(key, { row, count: diff });
      else known.count += diff;
    }
    return [...counts.values()].flatMap(({ row, count }) => {
      assert(count >= 0, `the sum of ${JSON.stringify(row)} is not negative: ${count}`);
      return new Array<SubscribedUpdate['row']>(count).fill(row);
    });
  }

  /** As a reader that leaves. */
  close(): void {
    this.#rows.close();
    this.#session.close();
  }
}
