/**
 * Rows of the catalog tables, kept in step with what they are made of: what a source of rows emitted is remembered
 * and retracted verbatim when it changes or goes. A change is prepared first and takes effect when it is durable.
 */

import type { BuiltinTable, RowSourceKind, RowSources } from './builtins/builtin-table.ts';
import type { BuiltinRow } from './builtins/declare.ts';
import { BUILTIN_TABLES, type BuiltinTableName } from './builtins/tables.ts';

export interface BuiltinUpdate {
  readonly table: BuiltinTableName;
  readonly row: BuiltinRow;
  readonly diff: 1 | -1;
}

export interface PreparedRows {
  readonly updates: readonly BuiltinUpdate[];
  /** The updates are in the tables now. */
  commit(): void;
}

export type BuiltinRowsByTable = readonly { readonly table: BuiltinTableName; readonly row: BuiltinRow }[];

export class BuiltinRows {
  readonly #emitted = new Map<string, BuiltinRowsByTable>();
  readonly #versions = new Map<BuiltinTableName, number>();

  /** What a table holds now. */
  *rowsIn(table: BuiltinTableName): Iterable<BuiltinRow> {
    for (const rows of this.#emitted.values()) for (const r of rows) if (r.table === table) yield r.row;
  }

  /** How often the rows of a table have changed. */
  versionOf(table: BuiltinTableName): number {
    return this.#versions.get(table) ?? 0;
  }

  /** Replaces what stands under a key; no rows: it is gone. */
  prepare(key: string, rows: BuiltinRowsByTable): PreparedRows {
    const old = this.#emitted.get(key) ?? [];
    return {
      updates: [
        ...old.map((r) => ({ ...r, diff: -1 as const })),
        ...rows.map((r) => ({ ...r, diff: 1 as const })),
      ],
      commit: () => {
        if (rows.length === 0) this.#emitted.delete(key);
        else this.#emitted.set(key, rows);
        for (const table of new Set([...old, ...rows].map((r) => r.table)))
          this.#versions.set(table, this.versionOf(table) + 1);
      },
    };
  }
}

/** The rows that a thing has in the tables which are made of such things. */
export function rowsOf<K extends RowSourceKind>(kind: K, source: RowSources[K]): BuiltinRowsByTable {
  return (BUILTIN_TABLES as readonly BuiltinTable[]).flatMap((t) => {
    const rows = t.rows[kind] as ((s: RowSources[K]) => readonly BuiltinRow[]) | undefined;
    return (rows?.(source) ?? []).map((row) => ({ table: t.name as BuiltinTableName, row }));
  });
}
