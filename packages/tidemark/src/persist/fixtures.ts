/** What the tests of this folder share: small batches, seeded chance, and timers that do not keep a test alive. */
import type { Clock, Timers } from '../base/clock.ts';
import { type Batch, diffAt, timeAt } from '../repr/batch.ts';
import { i64ToNumber, NO_OFFSETS, setI64Number } from '../repr/column.ts';
import { SeededRandom } from '../testkit/random.ts';
import { MemoryBlob } from './blob.ts';
import { MemoryConsensus } from './consensus.ts';
import type { Fence, PartRead, ShardSchema, Updates } from './shard-types.ts';
import { Shards, type ShardsOptions } from './shards.ts';

/** One int8 column; errors are one text column. */
export const SCHEMA: ShardSchema = { oks: ['i64'], errs: ['bytes'] };
export const FENCE: Fence = { generation: 1, start: 1 };

/** (value, time, diff) */
export type Update = readonly [number, number, number];

export function ints(updates: readonly Update[]): Batch {
  const n = updates.length;
  const values = new Int32Array(2 * n);
  for (const [i, u] of updates.entries()) setI64Number(values, i, u[0]);
  return {
    length: n,
    columns: [{ kind: 'i64', length: n, validity: null, values, offsets: NO_OFFSETS }],
    times: Float64Array.from(updates, (u) => u[1]),
    diffs: Float64Array.from(updates, (u) => u[2]),
  };
}

export function texts(updates: readonly (readonly [string, number, number])[]): Batch {
  const n = updates.length;
  const offsets = new Int32Array(n + 1);
  const values = new TextEncoder().encode(updates.map((u) => u[0]).join(''));
  for (const [i, u] of updates.entries()) offsets[i + 1] = offsets[i]! + u[0].length;
  return {
    length: n,
    columns: [{ kind: 'bytes', length: n, validity: null, values, offsets }],
    times: Float64Array.from(updates, (u) => u[1]),
    diffs: Float64Array.from(updates, (u) => u[2]),
  };
}

export const rows = (updates: readonly Update[]): Updates => ({ oks: ints(updates), errs: texts([]) });

function toUpdates(b: Batch): Update[] {
  const c = b.columns[0]!;
  return Array.from({ length: b.length }, (_, i) => [
    i64ToNumber(c.values as Int32Array, i),
    timeAt(b, i),
    diffAt(b, i),
  ]);
}

/** value -> multiplicity, zeros gone. */
export function accumulate(updates: Iterable<Update>, upTo = Number.POSITIVE_INFINITY): Map<number, number> {
  const out = new Map<number, number>();
  for (const [v, t, d] of updates) {
    if (t > upTo) continue;
    const n = (out.get(v) ?? 0) + d;
    if (n === 0) out.delete(v);
    else out.set(v, n);
  }
  return new Map([...out].sort((a, b) => a[0] - b[0]));
}

export async function readAll(shards: Shards, parts: readonly PartRead[]): Promise<Update[]> {
  const out: Update[] = [];
  for (const p of parts) out.push(...toUpdates((await shards.readPart(p)).oks));
  return out;
}

/** Time that only a test moves. */
export class TestClock implements Clock {
  now = 1_000_000;
  nowMs(): number {
    return this.now;
  }
  monotonicNs(): number {
    return this.now * 1e6;
  }
}

export const realTimers: Timers = {
  after(delayMs, f) {
    if (delayMs === 0) {
      const now = setImmediate(f);
      return () => clearImmediate(now);
    }
    const timer = setTimeout(f, delayMs);
    timer.unref();
    return () => clearTimeout(timer);
  },
};

export function memoryShards(options: Partial<ShardsOptions> = {}): Shards {
  return new Shards({
    blob: new MemoryBlob(),
    consensus: new MemoryConsensus(),
    clock: new TestClock(),
    timers: realTimers,
    random: new SeededRandom(7),
    ...options,
  });
}
