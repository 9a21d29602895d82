/**
 * Rows of durable relations, written as they change: the first change after a quiet time at once, later ones together, for each
 * commit moves the clock of all tables. Of each key the newest row, whatever it was in between. One commit at a time, so
 * that what is retracted is what is there; one that failed is made again with what is wanted by then.
 *
 * Until it is permitted (a read-only generation writes nothing) rows wait here; `permit` writes them.
 */
import type { CancelTimer, Logger, Timers } from '../base/clock.ts';
import type { BuiltinRow } from '../catalog/builtins/declare.ts';

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

/** Between two commits. */
const PAUSE_MS = 200;
/** Before a commit that failed is made again. */
const RETRY_MS = 1000;

export class HistoryWriter<Table extends string> {
  readonly #o: HistoryWriterOptions<Table>;
  #wanted = new Map<string, HistoryChange<Table>>();
  /** Called once everything put before is durable. */
  #waiting: (() => void)[] = [];
  #mayWrite = false;
  #running: Promise<void> | null = null;
  #cancelPause: CancelTimer | null = null;
  #closed = false;

  constructor(options: HistoryWriterOptions<Table>) {
    this.#o = options;
  }

  /** Keys whose newest row is not durable yet. */
  get pending(): number {
    return this.#wanted.size;
  }

  put(changes: readonly HistoryChange<Table>[], onDurable?: () => void): void {
    if (this.#closed) return;
    for (const c of changes) this.#wanted.set(`${c.table}/${c.key}`, c);
    if (onDurable !== undefined) this.#waiting.push(onDurable);
    this.#flush();
  }

  permit(): void {
    this.#mayWrite = true;
    this.#flush();
  }

  #flush(): void {
    if (!this.#mayWrite || this.#running !== null || this.#cancelPause !== null) return;
    if (this.#wanted.size === 0 && this.#waiting.length === 0) return;
    this.#running = this.#write().then((done) => {
      this.#running = null;
      this.#later(done ? PAUSE_MS : RETRY_MS);
    });
  }

  #later(ms: number): void {
    if (this.#closed) return;
    this.#cancelPause = this.#o.timers.after(ms, () => {
      this.#cancelPause = null;
      this.#flush();
    });
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
    this.#cancelPause?.();
    this.#cancelPause = null;
    this.#closed = true;
    await this.#running;
    if (this.#mayWrite && this.#wanted.size > 0) await this.#write();
  }
}
