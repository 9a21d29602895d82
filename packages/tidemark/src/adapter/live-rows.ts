/**
 * Rows about the present, which controllers keep under keys of their own. They stand in the books at once, where one-off queries
 * read them; the commit that brings them into the relation's shard follows at the pace of `CommitPace`: a commit makes every view follow,
 * so a thousand objects that hydrate must not cause a thousand.
 */
import type { Logger, Timers } from '../base/clock.ts';
import type { BuiltinRows, PreparedRows } from '../catalog/builtin-rows.ts';
import { builtinShard } from '../catalog/builtins/builtins.ts';
import type { BuiltinRow } from '../catalog/builtins/declare.ts';
import { BUILTIN_TABLES, type BuiltinTableName } from '../catalog/builtins/tables.ts';
import { type Batch, consolidate } from '../repr/batch.ts';
import { batchOf } from '../repr/rows.ts';
import type { Row } from '../repr/types.ts';
import { CommitPace } from './commit-pace.ts';

/** What stands under a key of a table from now on; no rows: it goes. */
export interface LiveChange {
  readonly table: BuiltinTableName;
  readonly key: string;
  readonly rows: readonly BuiltinRow[];
}

export interface LiveRowsOptions {
  readonly rows: BuiltinRows;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly write: (updates: ReadonlyMap<string, readonly Batch[]>) => Promise<unknown>;
}

export class LiveRows {
  readonly #o: LiveRowsOptions;
  readonly #pace: CommitPace;
  #pending: PreparedRows[] = [];
  #closed = false;

  constructor(options: LiveRowsOptions) {
    this.#o = options;
    this.#pace = new CommitPace({ timers: options.timers, commit: () => this.#commit() });
  }

  set(changes: readonly LiveChange[]): void {
    if (this.#closed) return;
    for (const { table, key, rows } of changes) {
      const prepared = this.#o.rows.prepare(
        `live/${table}/${key}`,
        rows.map((row) => ({ table, row })),
      );
      if (prepared.updates.length === 0) continue;
      prepared.commit();
      this.#pending.push(prepared);
    }
    this.#pace.wake();
  }

  #commit(): Promise<boolean> | null {
    const pending = this.#pending;
    const updates = builtinUpdates(pending);
    this.#pending = [];
    if (updates.size === 0) return null;
    return this.#o.write(updates).then(
      () => true,
      (error: unknown) => {
        this.#pending = [...pending, ...this.#pending];
        if (!this.#closed) this.#o.logger.warn({ error }, 'catalog relations wait for their update');
        return false;
      },
    );
  }

  /** What waits is not written any more. */
  close(): void {
    this.#closed = true;
    void this.#pace.close();
  }
}

export function commitAll(prepared: readonly PreparedRows[]): void {
  for (const p of prepared) p.commit();
}

const TABLES = new Map(BUILTIN_TABLES.map((t) => [t.name as BuiltinTableName, t]));

/** By shard; what came and went again in between is not in them. */
export function builtinUpdates(prepared: readonly PreparedRows[]): ReadonlyMap<string, readonly Batch[]> {
  const byTable = new Map<BuiltinTableName, { rows: Row[]; diffs: number[] }>();
  for (const { updates } of prepared)
    for (const u of updates) {
      let t = byTable.get(u.table);
      if (t === undefined) byTable.set(u.table, (t = { rows: [], diffs: [] }));
      t.rows.push(u.row);
      t.diffs.push(u.diff);
    }
  const out = new Map<string, readonly Batch[]>();
  for (const [name, { rows, diffs }] of byTable) {
    const table = TABLES.get(name)!;
    const types = table.columns.map((c) => c.type);
    const batch = consolidate(batchOf(types, rows, { diffs }));
    if (batch.length > 0) out.set(builtinShard(table), [batch]);
  }
  return out;
}
