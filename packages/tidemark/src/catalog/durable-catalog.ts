/**
 * The catalog as a shard: a row an entity, key and JSON. A transaction is a batch of removals and additions; what its append
 * made durable is what the state in memory then applies. Builtins are never in here.
 */

import { assert } from '../base/assert.ts';
import type { Shard } from '../persist/shard.ts';
import type { ListenStep, PartRead, ShardSchema } from '../persist/shard-types.ts';
import type { Shards } from '../persist/shards.ts';
import { type Batch, concatBatches, consolidate, diffAt, emptyBatch, timeAt } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { decodeUtf8, encodeUtf8 } from '../repr/text.ts';
import type { Timestamp } from '../time/timestamp.ts';
import { type Entity, entityKey } from './entities.ts';

export const CATALOG_SHARD = 'catalog';
export const CATALOG_SCHEMA: ShardSchema = { oks: ['bytes', 'bytes'], errs: ['bytes'] };

export interface CatalogSnapshot {
  readonly entities: readonly Entity[];
  readonly asOf: Timestamp;
}

/** Everything that is stored, as of the last commit; nothing in a shard that never had one. */
export async function readEntities(shards: Shards, shard: Shard): Promise<CatalogSnapshot> {
  const { upper } = await shard.refresh();
  if (upper === 0) return { entities: [], asOf: 0 };
  const asOf = upper - 1;
  const listing = await shard.snapshot(asOf);
  try {
    const rows = await readRows(shards, listing.parts);
    const entities = decode({ ...rows, times: 0 }).map(({ entity, diff }) => {
      assert(diff === 1, 'an entity stands in the catalog once');
      return entity;
    });
    return { entities, asOf };
  } finally {
    listing.release();
  }
}

/** One transaction of another process, as it changed what is stored. */
export interface EntityChanges {
  readonly at: Timestamp;
  readonly remove: readonly Entity[];
  readonly put: readonly Entity[];
}

/** The transactions in a step of a listen, in their order. */
export async function readChanges(shards: Shards, step: ListenStep): Promise<readonly EntityChanges[]> {
  const rows = await readRows(shards, step.parts);
  const byTime = Map.groupBy(decode(rows), (u) => u.at);
  return [...byTime]
    .sort(([a], [b]) => a - b)
    .map(([at, updates]) => ({
      at,
      remove: updates.filter((u) => u.diff < 0).map((u) => u.entity),
      put: updates.filter((u) => u.diff > 0).map((u) => u.entity),
    }));
}

async function readRows(shards: Shards, reads: readonly PartRead[]): Promise<Batch> {
  const parts: Batch[] = [];
  for (const p of reads) parts.push((await shards.readPart(p)).oks);
  return parts.length === 0 ? emptyBatch(CATALOG_SCHEMA.oks) : concatBatches(parts);
}

function decode(
  updates: Batch,
): { readonly entity: Entity; readonly at: Timestamp; readonly diff: number }[] {
  const rows = consolidate(updates);
  const value = rows.columns[1]!;
  return Array.from({ length: rows.length }, (_, i) => ({
    entity: JSON.parse(
      decodeUtf8(value.values as Uint8Array, value.offsets[i]!, value.offsets[i + 1]!),
    ) as Entity,
    at: timeAt(rows, i),
    diff: diffAt(rows, i),
  }));
}

/** Updates of the catalog shard; what is removed must be as it was stored. */
export function encodeEntities(remove: readonly Entity[], put: readonly Entity[]): Batch {
  const entities = [...remove, ...put];
  const key = new ColumnBuilder('bytes', entities.length);
  const value = new ColumnBuilder('bytes', entities.length);
  for (const e of entities) {
    key.pushBytes(encodeUtf8(entityKey(e)));
    value.pushBytes(encodeUtf8(JSON.stringify(e)));
  }
  return {
    length: entities.length,
    columns: [key.finish(), value.finish()],
    times: 0,
    diffs: Float64Array.from(entities, (_, i) => (i < remove.length ? -1 : 1)),
  };
}
