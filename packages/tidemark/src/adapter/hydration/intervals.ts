/** The time that an object spent in each part of its life, one cause each: the queue, computing, waiting for permission, writing. */
import type { LifeRollup } from '../../controller/lives.ts';
import type { Instant } from './facts.ts';

/** Microseconds; null: that part has not begun, or there is none. One that still runs is counted up to now. */
export interface Intervals {
  readonly queue: number | null;
  readonly compute: number | null;
  readonly blocked: number | null;
  readonly write: number | null;
}

/** `writes`: its output goes to a shard. Workers' clocks differ: nothing takes less than no time. */
export function intervalsOf(
  life: LifeRollup,
  options: { readonly writes: boolean; readonly now: Instant },
): Intervals {
  const { installedAt, startedAt, hydratedAt, writeBlockedAt, writeUnblockedAt, writtenAt } = life;
  const between = (from: Instant | null, to: Instant | null): number | null =>
    from === null ? null : Math.max(0, (to ?? options.now) - from);
  const wasBlocked = writeBlockedAt !== null;
  const permitted = wasBlocked ? writeUnblockedAt : hydratedAt;
  return {
    queue: between(installedAt, startedAt),
    compute: between(startedAt, hydratedAt),
    blocked: wasBlocked ? between(hydratedAt, writeUnblockedAt) : null,
    write: options.writes ? between(permitted, writtenAt) : null,
  };
}
