/**
 * Rows of the catalog tables, kept in step with entities: what an entity emitted is remembered and retracted verbatim
 * when it changes or goes.
 */

import type { BuiltinRow } from './builtins/declare.ts';
import {
  BUILTIN_TABLES,
  type BuiltinTable,
  type BuiltinTableName,
  type RowSourceKind,
  type RowSources,
} from './builtins/tables.ts';
import { type Entity, entityKey, type LoadedItem } from './entities.ts';

export interface BuiltinUpdate {
  readonly table: BuiltinTableName;
  readonly row: BuiltinRow;
  readonly diff: 1 | -1;
}

export class BuiltinRows {
  readonly #emitted = new Map<string, BuiltinUpdate[]>();

  /** The updates that bring the tables to `source` under that key; undefined: it is gone. */
  set<K extends RowSourceKind>(key: string, kind: K, source: RowSources[K] | undefined): BuiltinUpdate[] {
    const old = this.#emitted.get(key) ?? [];
    const next: BuiltinUpdate[] = [];
    if (source !== undefined)
      for (const t of BUILTIN_TABLES as readonly BuiltinTable[]) {
        const rows = t.rows[kind] as ((s: RowSources[K]) => readonly BuiltinRow[]) | undefined;
        for (const row of rows?.(source) ?? [])
          next.push({ table: t.name as BuiltinTableName, row, diff: 1 });
      }
    if (next.length === 0) this.#emitted.delete(key);
    else this.#emitted.set(key, next);
    return [...old.map((u) => ({ ...u, diff: -1 as const })), ...next];
  }

  entity(e: Entity, gone: boolean): BuiltinUpdate[] {
    switch (e.kind) {
      case 'database':
      case 'schema':
      case 'cluster':
      case 'replica':
      case 'comment':
        return this.set(entityKey(e), e.kind, gone ? undefined : (e as never));
      default:
        return [];
    }
  }

  item(id: string, loaded: LoadedItem | undefined): BuiltinUpdate[] {
    return this.set(`item/${id}`, 'item', loaded);
  }
}
