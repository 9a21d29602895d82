/** Shards of several stores behind one door: what only describes the present lives in memory, under its own prefix. */
import { SqlError } from '../base/error.ts';
import type { ShardAccess } from '../compute/shard-source.ts';
import type { Shard } from '../persist/shard.ts';
import type { Shards } from '../persist/shards.ts';
import type { Frontier } from '../time/timestamp.ts';

export interface StoreSet {
  readonly durable: Shards;
  readonly memory: Shards;
}

/** Shards whose id begins with it are in the memory of the environment. */
const MEMORY_PREFIX = 'builtin-';

/** Such a shard does not outlive its environment, nor, for a replica in a process of its own, the connection to it. */
export const inMemory = (shardId: string): boolean => shardId.startsWith(MEMORY_PREFIX);

const storeOf = (stores: StoreSet, shardId: string): Shards =>
  inMemory(shardId) ? stores.memory : stores.durable;

export function shardAccess(stores: StoreSet): ShardAccess {
  return {
    async open(shardId): Promise<Shard> {
      const shard = await storeOf(stores, shardId).open(shardId);
      if (shard === null) throw new SqlError('undefined_object', `shard ${shardId} does not exist`);
      return shard;
    },
    readPart: (read) => storeOf(stores, read.shardId).readPart(read),
  };
}

export function watchUpper(
  stores: StoreSet,
  shardId: string,
  onUpper: (upper: Frontier) => void,
): () => void {
  return storeOf(stores, shardId).stores.watch.subscribe(shardId, (n) => onUpper(n.upper));
}
