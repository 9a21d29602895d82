/**
 * When a materialized view refreshes: a set of `EVERY interval ALIGNED TO t` and `AT t`. Times between two refreshes count as the later
 * one; after the last refresh there is nothing more.
 */
import { assert } from '../base/assert.ts';
import { EMPTY, type Frontier, MAX_TIME, type Timestamp } from './timestamp.ts';

export interface Every {
  /** Milliseconds, at least 1. */
  readonly intervalMs: number;
  /** Any time of the series; it goes on both ways. */
  readonly alignedTo: Timestamp;
}

export interface RefreshSchedule {
  readonly every: readonly Every[];
  readonly at: readonly Timestamp[];
}

/** `t` modulo `n` in [0, n), also for what lies before the alignment. */
const modulo = (t: number, n: number): number => ((t % n) + n) % n;

/** The least refresh at or after a time; empty: none is left. Monotone, so it rounds frontiers as it rounds times. */
export function roundUp(s: RefreshSchedule, t: Frontier): Frontier {
  if (t === EMPTY) return EMPTY;
  let least = EMPTY;
  for (const at of s.at) if (at >= t && at < least) least = at;
  for (const e of s.every) {
    assert(e.intervalMs >= 1, 'a refresh interval is positive');
    const next = t + modulo(e.alignedTo - t, e.intervalMs);
    if (next <= MAX_TIME && next < least) least = next;
  }
  return least;
}

/** The greatest refresh before a frontier: what a view whose contents are complete up to it shows; null: none came yet. */
export function lastBefore(s: RefreshSchedule, frontier: Frontier): Timestamp | null {
  let greatest = -1;
  for (const at of s.at) if (at < frontier && at > greatest) greatest = at;
  for (const e of s.every) {
    const before = Math.min(frontier, MAX_TIME + 1) - 1;
    greatest = Math.max(greatest, before - modulo(before - e.alignedTo, e.intervalMs));
  }
  return greatest < 0 ? null : greatest;
}

/** The time after which inputs are no longer needed: past the last refresh; empty: there is no last one. */
export function endOf(s: RefreshSchedule): Frontier {
  return s.every.length > 0 ? EMPTY : Math.max(...s.at) + 1;
}
