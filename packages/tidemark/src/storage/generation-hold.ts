/**
 * The durable hold of a generation on a shard: a name a generation. The holds of the one before cannot move it, and whoever maintains
 * the shard for the one before sees that another process holds it: an old leader that has not yet learnt from an append that it was
 * fenced deletes none of the blobs that the new one reads.
 */
import type { Shard } from '../persist/shard.ts';
import type { ReadHold } from '../persist/shard-types.ts';

export interface GenerationHold {
  /** What is held for; the name of the first generation's hold. */
  readonly purpose: string;
  readonly generation: number;
}

/** Takes it, or finds it, and releases those of generations before this one. */
export async function holdForGeneration(shard: Shard, o: GenerationHold): Promise<ReadHold> {
  const { purpose, generation } = o;
  const name = generation === 1 ? purpose : `${purpose}-${generation}`;
  const hold = await shard.hold({ durableName: name });
  const earlier = shard
    .info()
    .holds.map((h) => h.holdId)
    .filter((h) => h !== name && (h === purpose || h.startsWith(`${purpose}-`)));
  for (const h of earlier) await shard.releaseDurable(h);
  return hold;
}
