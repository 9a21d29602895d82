/** From a state to what a reader reads, and from a part to updates. */
import { type Batch, gatherBatch, timeAt } from '../repr/batch.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import type { Blob } from './blob.ts';
import { corrupt, decodePart, type PartCodec } from './part.ts';
import type { PartRead, Updates } from './shard-types.ts';
import type { ShardState } from './state.ts';

/** What a snapshot at `asOf` reads: everything up to it, brought forward to it. */
export function snapshotReads(shardId: string, s: ShardState, asOf: Timestamp): PartRead[] {
  const out: PartRead[] = [];
  for (const b of s.batches) {
    if (b.lower > asOf) break;
    for (const part of b.parts)
      if (part.minTime <= asOf)
        out.push({ shardId, schema: s.schema, part, from: 0, to: asOf + 1, at: asOf });
  }
  return out;
}

/** What a listener at `from` reads to get to the upper. */
export function listenReads(shardId: string, s: ShardState, from: Timestamp): PartRead[] {
  const out: PartRead[] = [];
  for (const b of s.batches) {
    if (b.upper <= from) continue;
    for (const part of b.parts)
      if (part.maxTime >= from) out.push({ shardId, schema: s.schema, part, from, to: s.upper, at: null });
  }
  return out;
}

/** Whether it would be nothing: what a listener sees most of the time. Batches are contiguous, so only the last ones are looked at. */
export function nothingSince(s: ShardState, from: Timestamp): boolean {
  for (let i = s.batches.length - 1; i >= 0 && s.batches[i]!.upper > from; i--)
    for (const part of s.batches[i]!.parts) if (part.maxTime >= from) return false;
  return true;
}

/** Keys of the blobs that the reads need. */
export const blobKeys = (reads: readonly PartRead[]): string[] =>
  reads.flatMap((r) => (r.part.key === null ? [] : [r.part.key]));

/** The share of one of `workers`: every part to exactly one of them, and about as many updates to each. */
export function shareOf(reads: readonly PartRead[], worker: number, workers: number): PartRead[] {
  const load = new Float64Array(workers);
  const out: PartRead[] = [];
  for (const r of reads) {
    let least = 0;
    for (let w = 1; w < workers; w++) if (load[w]! < load[least]!) least = w;
    load[least]! += r.part.rows;
    if (least === worker) out.push(r);
  }
  return out;
}

/** The updates of a part that the read is about. The caller owns their buffers. */
export async function readPart(blob: Blob, read: PartRead, codec: PartCodec = {}): Promise<Updates> {
  const { part, schema } = read;
  const name = part.key ?? `in the state of shard ${read.shardId}`;
  const bytes = part.key === null ? part.inline!.slice() : await blob.get(part.key);
  if (bytes === null) throw corrupt(name, 'its blob is missing');
  const { oks, errs } = decodePart(bytes as Uint8Array<ArrayBuffer>, name, schema, codec);
  const whole = part.minTime >= read.from && part.maxTime < read.to;
  const pick = (b: Batch): Batch => {
    const kept = whole ? b : between(b, read.from, read.to);
    return read.at === null ? kept : { ...kept, times: read.at };
  };
  return { oks: pick(oks), errs: pick(errs) };
}

function between(b: Batch, from: Timestamp, to: Frontier): Batch {
  const indices = new Int32Array(b.length);
  let n = 0;
  for (let i = 0; i < b.length; i++) {
    const t = timeAt(b, i);
    if (t >= from && t < to) indices[n++] = i;
  }
  return n === b.length ? b : gatherBatch(b, indices, n);
}
