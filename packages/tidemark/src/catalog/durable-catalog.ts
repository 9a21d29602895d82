/**
 * The catalog as a shard: a row an entity, key and JSON. A transaction is a batch of removals and additions; what its append
 * made durable is what the state in memory then applies. Builtins are never in here.
 */

import { assert } from '../base/assert.ts';
import type { Shard } from '../persist/shard.ts';
import type { ShardSchema } from '../persist/shard-types.ts';
import type { Shards } from '../persist/shards.ts';
import { type Batch, concatBatches, consolidate, diffAt } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { decodeUtf8, encodeUtf8 } from '../repr/text.ts';
import { type Entity, entityKey } from './entities.ts';

export const CATALOG_SHARD = 'catalog';
export const CATALOG_SCHEMA: ShardSchema = { oks: ['bytes', 'bytes'], errs: ['bytes'] };

/** Everything that is stored, as of the last commit; nothing in a shard that never had one. */
export async function readEntities(shards: Shards, shard: Shard): Promise<readonly Entity[]> {
  const { upper } = await shard.refresh();
  if (upper === 0) return [];
  const listing = await shard.snapshot(upper - 1);
  try {
    const parts: Batch[] = [];
    for (const p of listing.parts) parts.push((await shards.readPart(p)).oks);
    if (parts.length === 0) return [];
    return decodeEntities(consolidate({ ...concatBatches(parts), times: 0 }));
  } finally {
    listing.release();
  }
}

function decodeEntities(rows: Batch): Entity[] {
  const value = rows.columns[1]!;
  return Array.from({ length: rows.length }, (_, i) => {
    assert(diffAt(rows, i) === 1, 'an entity stands in the catalog once');
    return JSON.parse(
      decodeUtf8(value.values as Uint8Array, value.offsets[i]!, value.offsets[i + 1]!),
    ) as Entity;
  });
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
