/**
 * The worker that owns a sink's write frontier: it mints, appends, and alone may read how far the shard is. On every
 * other worker the shared frontier is empty, the greatest there is; read as progress it would say "all is written".
 */
import { hashName } from '../repr/hash.ts';

export function frontierOwner(sinkId: string, workers: number): number {
  let h = hashName(sinkId);
  h ^= h >>> 15;
  return (Math.imul(h, 0x2c1b3c6d) >>> 0) % workers;
}
