/**
 * Collections that live in shards, as the environment sees them: how far each is complete, from when it is readable,
 * and holds on it. The compute controller and the adapter choose times by it.
 */
import type { GlobalId } from '../base/ids.ts';
import type { Hold } from '../time/hold-set.ts';
import { type Frontier, isEmpty } from '../time/timestamp.ts';

export interface ShardCollections {
  has(id: GlobalId): boolean;
  /** The id of the shard that holds it. */
  shardOf(id: GlobalId): string;
  /** Times before it are complete; empty: sealed. As far as this process knows, never ahead of the truth. */
  upper(id: GlobalId): Frontier;
  /** The collection is readable at this time and later ones. */
  since(id: GlobalId): Frontier;
  /** Keeps it readable at `at`, the present since if absent. `at` below the since is a bug of the caller. */
  hold(id: GlobalId, at?: Frontier): Hold;
  /** Calls `listener` after an upper has moved, until the returned function is called. */
  onUpper(listener: (id: GlobalId, upper: Frontier) => void): () => void;
}

/** Whether it is there and complete for ever. */
export const isSealed = (collections: Pick<ShardCollections, 'has' | 'upper'>, id: GlobalId): boolean =>
  collections.has(id) && isEmpty(collections.upper(id));
