/**
 * Rows of durable relations, written as they change, at the pace of `CommitPace`: of each key the newest row, whatever it was in
 * between. One commit at a time, so that what is retracted is what is there.
 *
 * Until it is permitted (a read-only generation writes nothing) rows wait here; `permit` writes them.
 */
import type { Logger, Timers } from '../base/clock.ts';
import type { BuiltinRow } from '../catalog/builtins/declare.ts';
import { CommitPace } from './commit-pace.ts';

export interface HistoryChange<Table extends string> {
  readonly table: Table;
  /** Unique in the table. */
  readonly key: string;
  /** Null: no row any more. */
  readonly row: BuiltinRow | null;
}

export interface HistoryWriterOptions<Table extends string> {
  /** Replaces what stands under each key, durably and all at once. */
  readonly commit: (changes: readonly HistoryChange<Table>[]) => Promise<void>;
  readonly timers: Timers;
  readonly logger: Logger;
}

export class HistoryWriter<Table extends string> {
  readonly #o: HistoryWriterOptions<Table>;
  readonly #pace: CommitPace;
  #wanted = new Map<string, HistoryChange<Table>>();
  /** Called once everything put before is durable. */
  #waiting: (() => void)[] = [];
  #mayWrite = false;
  #closed = false;

  constructor(options: HistoryWriterOptions<Table>) {
    this.#o = options;
    this.#pace = new CommitPace({ timers: options.timers, commit: () => this.#commit() });
  }

  /** Keys whose newest row is not durable yet. */
  get pending(): number {
    return this.#wanted.size;
  }

  put(changes: readonly HistoryChange<Table>[], onDurable?: () => void): void {
    if (this.#closed) return;
    for (const c of changes) this.#wanted.set(`${c.table}/${c.key}`, c);
    if (onDurable !== undefined) this.#waiting.push(onDurable);
    this.#pace.wake();
  }

  permit(): void {
    this.#mayWrite = true;
    this.#pace.wake();
  }

  #commit(): Promise<boolean> | null {
    const nothing = this.#wanted.size === 0 && this.#waiting.length === 0;
    return nothing || !this.#mayWrite ? null : this.#write();
  }

  /** Whether it is durable. */
  async #write(): Promise<boolean> {
    const changes = this.#wanted;
    const waiting = this.#waiting;
    this.#wanted = new Map();
    this.#waiting = [];
    try {
      if (changes.size > 0) await this.#o.commit([...changes.values()]);
    } catch (error) {
      // What came meanwhile is newer.
      this.#wanted = new Map([...changes, ...this.#wanted]);
      this.#waiting = [...waiting, ...this.#waiting];
      if (!this.#closed)
        this.#o.logger.warn({ error, rows: changes.size }, 'the history waits for its update');
      return false;
    }
    for (const f of waiting) f();
    return true;
  }

  /** Writes what waits, once; what does not become durable then is lost with the process. */
  async close(): Promise<void> {
    this.#closed = true;
    await this.#pace.close();
    if (this.#mayWrite && this.#wanted.size > 0) await this.#write();
  }
}
