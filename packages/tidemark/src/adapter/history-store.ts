/** Where the history is kept: its durable relations, read once by the generation that leads, and written through the group's commits. */
import type { Clock, Logger, Timers } from '../base/clock.ts';
import { type GlobalId, systemId } from '../base/ids.ts';
import type { BuiltinRows } from '../catalog/builtin-rows.ts';
import type { BuiltinTable } from '../catalog/builtins/builtin-table.ts';
import { HISTORY_TABLES } from '../catalog/builtins/history-tables.ts';
import { retentionMs, SETTINGS } from '../catalog/settings.ts';
import type { LifeAck } from '../controller/episodes.ts';
import type { Shard } from '../persist/shard.ts';
import type { Shards } from '../persist/shards.ts';
import type { Row } from '../repr/types.ts';
import type { WriteRequest } from '../storage/group-commit.ts';
import { rowsOfShard } from './builtin-tables.ts';
import { History, type HistoryTable, historyKey } from './history.ts';
import type { HistoryChange } from './history-writer.ts';
import { builtinUpdates, commitAll } from './live-rows.ts';

/** What the history needs of its environment. */
export interface HistoryHost {
  readonly options: {
    readonly generation: number;
    readonly clock: Clock;
    readonly timers: Timers;
    readonly logger: Logger;
    readonly stores: { readonly durable: Shards };
  };
  readonly collections: { shard(id: GlobalId): Shard };
  readonly group: { write(request: WriteRequest): Promise<unknown> };
  readonly clusters: { acknowledge(ack: LifeAck): void };
  readonly catalog: { setting(name: string): string | undefined };
}

export function openHistory(env: HistoryHost, rows: BuiltinRows): History {
  const { generation, clock, timers, logger } = env.options;
  const prepare = ({ table, key, row }: HistoryChange<HistoryTable>) =>
    rows.prepare(`${table}/${key}`, row === null ? [] : [{ table, row }]);
  return new History({
    generation,
    clock,
    timers,
    logger,
    read: async (table) => {
      const { number, columns } = HISTORY_TABLES.find((t) => t.name === table) as BuiltinTable;
      const shard = env.collections.shard(systemId(number));
      const found: readonly Row[] = await rowsOfShard(
        env.options.stores.durable,
        shard,
        columns.map((c) => c.type),
      );
      // In the books as they are in the shard, to be retracted from both.
      for (const row of found) prepare({ table, key: historyKey(table, row), row }).commit();
      return found;
    },
    commit: async (changes) => {
      const prepared = changes.map(prepare);
      await env.group.write({ updates: builtinUpdates(prepared), onDurable: () => commitAll(prepared) });
    },
    acknowledge: (ack) => env.clusters.acknowledge(ack),
    retentionMs: () => {
      const name = 'hydration_history_retention';
      return retentionMs(name, env.catalog.setting(name) ?? SETTINGS[name].default);
    },
  });
}
