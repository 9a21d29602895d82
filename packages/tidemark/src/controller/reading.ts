/** What a collection reads and from when: how far each input is on one replica, where it is an index there. */
import type { GlobalId } from '../base/ids.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import type { Frontier } from '../time/timestamp.ts';
import type { Collection } from './collection.ts';

export interface Reading {
  readonly asOf: number;
  readonly inputs: readonly { readonly id: GlobalId; readonly frontier: Frontier }[];
}

/** Null: there is no such collection. `frontier`: of an index on the replica. */
export function readingOf(
  id: GlobalId,
  o: {
    readonly collections: ReadonlyMap<GlobalId, Collection>;
    readonly shards: ShardCollections;
    readonly frontier: (id: GlobalId) => Frontier;
  },
): Reading | null {
  const c = o.collections.get(id);
  if (c === undefined) return null;
  const inputs = [...c.imports.keys()].flatMap((input) => {
    const own = o.collections.get(input);
    if (own !== undefined && own.kind !== 'materialized-view')
      return [{ id: input, frontier: o.frontier(input) }];
    return o.shards.has(input) ? [{ id: input, frontier: o.shards.upper(input) }] : [];
  });
  return { asOf: c.asOf, inputs };
}
