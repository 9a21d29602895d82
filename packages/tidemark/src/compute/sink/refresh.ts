/**
 * What a refresh schedule does to a sink: the times of what was computed, and the frontier up to which it is complete, are rounded up to
 * the next refresh. It stands behind the compute probe, in mint and write alike, and never holds anything back: a window without
 * refreshes is complete, and empty, at once. Without a schedule everything stays as it is.
 */
import { type Batch, gatherBatch } from '../../repr/batch.ts';
import { type RefreshSchedule, roundUp } from '../../time/refresh-schedule.ts';
import { EMPTY, type Frontier } from '../../time/timestamp.ts';

export const roundFrontier = (f: Frontier, schedule: RefreshSchedule | undefined): Frontier =>
  schedule === undefined ? f : roundUp(schedule, f);

/**
 * When what an export computes shows for the first time, by the upper at which it took its shard over (0: it has always had it): until
 * its first refresh after that the shard stays as it was.
 */
export const firstWrite = (takenOverAt: Frontier, schedule: RefreshSchedule | undefined): Frontier =>
  takenOverAt === 0 ? 0 : roundFrontier(takenOverAt, schedule);

/** The batch at its refreshes. Rows after the last one are gone. */
export function roundTimes(b: Batch, schedule: RefreshSchedule | undefined): Batch {
  if (schedule === undefined) return b;
  if (typeof b.times === 'number') {
    const time = roundUp(schedule, b.times);
    return time === EMPTY ? gatherBatch(b, new Int32Array(0), 0) : { ...b, times: time };
  }
  const times = b.times.map((t) => roundUp(schedule, t));
  const kept = new Int32Array(b.length);
  let n = 0;
  for (let i = 0; i < times.length; i++) if (times[i] !== EMPTY) kept[n++] = i;
  const rounded = { ...b, times };
  return n === b.length ? rounded : gatherBatch(rounded, kept, n);
}
