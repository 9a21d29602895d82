/**
 * Cursors of SQL (DECLARE, FETCH, CLOSE): a result kept, or a SUBSCRIBE that goes on, and how far it was read. Those WITHOUT HOLD end
 * with their transaction. FETCH from a SUBSCRIBE waits for the first row and gives what is there then; with a timeout it gathers
 * rows until it has as many as were asked for, or time is up.
 */
import type { Timers } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { type Batch, concatBatches, diffAt, emptyBatch, sliceBatch } from '../repr/batch.ts';
import { kindOf, type RelationDesc } from '../repr/types.ts';
import type { RowStream } from './results.ts';

export interface FetchOptions {
  readonly count: number | 'all';
  readonly timeoutMs: number | undefined;
  readonly timers: Timers;
  readonly signal: AbortSignal;
}

interface Cursor {
  readonly desc: RelationDesc;
  readonly hold: boolean;
  readonly source: RowSource;
}

export class Cursors {
  readonly #open = new Map<string, Cursor>();

  /** Before its query is run. */
  refuseDuplicate(name: string): void {
    if (this.#open.has(name)) throw new SqlError('duplicate_cursor', `cursor "${name}" already exists`);
  }

  /** Over rows that are there, or that come. */
  declare(
    name: string,
    of: { readonly desc: RelationDesc; readonly rows: Batch | RowStream; readonly hold: boolean },
  ): void {
    const { desc, hold, rows } = of;
    this.#open.set(name, { desc, hold, source: new RowSource(rows) });
  }

  find(name: string): Cursor {
    const c = this.#open.get(name);
    if (c === undefined) throw new SqlError('invalid_cursor_name', `cursor "${name}" does not exist`);
    return c;
  }

  async fetch(
    name: string,
    options: FetchOptions,
  ): Promise<{ readonly desc: RelationDesc; readonly rows: Batch }> {
    const { desc, source } = this.find(name);
    const parts = await source.take(options);
    const rows =
      parts.length === 0 ? emptyBatch(desc.columns.map((x) => kindOf(x.type))) : concatBatches(parts);
    return { desc, rows };
  }

  /** Undefined: all. */
  close(name: string | undefined): void {
    if (name === undefined) for (const n of [...this.#open.keys()]) this.#end(n);
    else {
      this.find(name);
      this.#end(name);
    }
  }

  #end(name: string): void {
    this.#open.get(name)?.source.close();
    this.#open.delete(name);
  }

  /** A transaction ends; one that failed takes its WITH HOLD cursors too. */
  endTransaction(): void {
    for (const [name, c] of [...this.#open]) if (!c.hold) this.#end(name);
  }
}

/** Rows one after another, copies counted one by one. */
class RowSource {
  readonly #stream: RowStream | null;
  #rows: Batch | null = null;
  /** Position as a row of the batch, and how many of its copies were given. */
  #at = 0;
  #copies = 0;

  constructor(rows: Batch | RowStream) {
    this.#stream = 'poll' in rows ? rows : null;
    if (!('poll' in rows)) this.#rows = rows;
  }

  async take({ count, timeoutMs, timers, signal }: FetchOptions): Promise<Batch[]> {
    let left = count === 'all' ? Number.POSITIVE_INFINITY : count;
    const parts: Batch[] = [];
    const alarm = new Alarm(timers, signal, timeoutMs);
    try {
      while (left > 0) {
        signal.throwIfAborted();
        if (this.#rows === null) {
          const next = this.#stream === null ? null : this.#stream.poll();
          if (next === null) break;
          if (next === undefined) {
            if (alarm.rang || (parts.length > 0 && timeoutMs === undefined)) break;
            await Promise.race([this.#stream!.ready(), alarm.rings]);
            continue;
          }
          this.#rows = next;
        }
        left -= this.#advance(this.#rows, left, parts);
      }
      return parts;
    } finally {
      alarm.stop();
    }
  }

  /** Moves at most `n` rows of the batch to `parts`; gives how many. */
  #advance(rows: Batch, n: number, parts: Batch[]): number {
    const from = this.#at;
    const copies: number[] = [];
    let taken = 0;
    while (taken < n && this.#at < rows.length) {
      const left = diffAt(rows, this.#at) - this.#copies;
      const take = Math.min(left, n - taken);
      copies.push(take);
      taken += take;
      this.#copies += take;
      if (take < left) break;
      this.#at++;
      this.#copies = 0;
    }
    const part = sliceBatch(rows, from, from + copies.length);
    parts.push({ ...part, times: 0, diffs: Float64Array.from(copies) });
    if (this.#at === rows.length) {
      this.#rows = null;
      this.#at = 0;
    }
    return taken;
  }

  close(): void {
    this.#stream?.close();
  }
}

/** Ends a wait when time is up or the statement is cancelled. */
class Alarm {
  readonly rings: Promise<void>;
  readonly #signal: AbortSignal;
  readonly #ring: () => void;
  readonly #cancel: (() => void) | undefined;
  rang: boolean;

  constructor(timers: Timers, signal: AbortSignal, timeoutMs: number | undefined) {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.rings = promise;
    this.rang = timeoutMs === 0;
    this.#signal = signal;
    this.#ring = () => {
      this.rang = true;
      resolve();
    };
    this.#cancel =
      timeoutMs === undefined || timeoutMs === 0 ? undefined : timers.after(timeoutMs, this.#ring);
    signal.addEventListener('abort', this.#ring, { once: true });
  }

  stop(): void {
    this.#cancel?.();
    this.#signal.removeEventListener('abort', this.#ring);
  }
}
