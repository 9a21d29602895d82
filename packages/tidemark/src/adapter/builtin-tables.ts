/**
 * The shards of the catalog's own tables: those that describe the present are made anew in memory at each start, durable ones are
 * opened and read back.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { BuiltinTable } from '../catalog/builtins/builtin-table.ts';
import { builtinShard } from '../catalog/builtins/builtins.ts';
import { BUILTIN_TABLES } from '../catalog/builtins/tables.ts';
import type { Shard } from '../persist/shard.ts';
import type { Fence, ShardSchema } from '../persist/shard-types.ts';
import type { Shards } from '../persist/shards.ts';
import { type Batch, concatBatches, consolidate, diffAt } from '../repr/batch.ts';
import { expandedRows } from '../repr/rows.ts';
import { kindOf, type Row, type SqlType } from '../repr/types.ts';
import type { StoreKind } from '../storage/group-commit.ts';
import type { Timestamp } from '../time/timestamp.ts';

export const DURABLE_BUILTIN_TABLES: readonly BuiltinTable[] = BUILTIN_TABLES.filter(
  (t: BuiltinTable) => t.kept === 'durable',
);

/** Their shards are there whatever the catalog holds. */
export const DURABLE_BUILTIN_SHARDS: ReadonlySet<string> = new Set(DURABLE_BUILTIN_TABLES.map(builtinShard));

export interface OpenTableOptions {
  readonly stores: Readonly<Record<StoreKind, Shards>>;
  readonly fence: Fence;
  /** The first time that the rows of a new shard can have. */
  readonly since: Timestamp;
  /** A generation that stands by reads what the leader has made. */
  readonly leads: boolean;
}

export async function openBuiltinTable(
  table: BuiltinTable,
  o: OpenTableOptions,
): Promise<{ readonly shard: Shard; readonly store: StoreKind }> {
  const store: StoreKind = table.kept === 'durable' ? 'durable' : 'memory';
  const id = builtinShard(table);
  if (table.kept === 'durable' && !o.leads) {
    const shard = await o.stores.durable.open(id);
    if (shard !== null) return { shard, store };
    throw new SqlError('object_not_in_prerequisite_state', `the leader has no relation ${table.name}`, {
      hint: 'it is of an earlier version: stop it, and start this one as the leader',
    });
  }
  const schema: ShardSchema = { oks: table.columns.map((c) => kindOf(c.type)), errs: ['bytes'] };
  const { since, fence } = o;
  return { shard: await o.stores[store].create(id, { schema, since, fence }), store };
}

/** Everything in it, as of its last commit. */
export async function rowsOfShard(
  shards: Shards,
  shard: Shard,
  types: readonly SqlType[],
): Promise<readonly Row[]> {
  const { upper } = await shard.refresh();
  if (upper === 0) return [];
  const listing = await shard.snapshot(upper - 1);
  try {
    const parts: Batch[] = [];
    for (const p of listing.parts) parts.push((await shards.readPart(p)).oks);
    if (parts.length === 0) return [];
    const rows = consolidate({ ...concatBatches(parts), times: 0 });
    for (let i = 0; i < rows.length; i++)
      assert(diffAt(rows, i) === 1, `a row stands in ${shard.shardId} once`);
    return [...expandedRows(types, rows)];
  } finally {
    listing.release();
  }
}
