/**
 * Episodes as they are kept: one of an object is one try to build it on one replica, one of a replica lasts from its connecting, or
 * from its first unhydrated object, until none is left. Instants are microseconds since the epoch.
 */
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { Timestamp } from '../time/timestamp.ts';

/** How an episode ends that did not get hydrated. */
export type ObjectEnd = 'dropped' | 'failed' | 'lost';

export interface ObjectEpisode {
  readonly kind: 'object';
  /** As it was when the episode opened. */
  readonly objectId: GlobalId;
  readonly clusterId: ClusterId;
  readonly replicaId: ReplicaId;
  readonly generation: number;
  /** By worker 0: with object and replica it identifies the episode. */
  readonly installedAt: number;
  readonly asOf: Timestamp;
  startedAt: number | null;
  hydratedAt: number | null;
  /** Permission after a block. */
  unblockedAt: number | null;
  writtenAt: number | null;
  endedAt: number | null;
  /** Whatever came after `hydratedAt` does not make it less hydrated. */
  end: ObjectEnd | null;
  peakBytes: number | null;
}

export type ReplicaStatus = 'hydrating' | 'hydrated' | 'lost' | 'oom';

export interface ReplicaEpisode {
  readonly kind: 'replica';
  readonly clusterId: ClusterId;
  readonly replicaId: ReplicaId;
  readonly generation: number;
  /** With the replica it identifies the episode. */
  readonly startedAt: number;
  finishedAt: number | null;
  objectCount: number;
  peakBytes: number | null;
  status: ReplicaStatus;
}

export type Episode = ObjectEpisode | ReplicaEpisode;

export function episodeKey(e: Episode): string {
  return e.kind === 'object'
    ? `${e.replicaId}/${e.objectId}/${e.installedAt}`
    : `${e.replicaId}/${e.startedAt}`;
}

export const objectStatus = (e: ObjectEpisode): 'hydrating' | 'hydrated' | ObjectEnd =>
  e.hydratedAt !== null ? 'hydrated' : (e.end ?? 'hydrating');

/** The last instant that is known of it: nothing ends before. */
export const latestInstant = (e: ObjectEpisode): number =>
  Math.max(e.installedAt, e.startedAt ?? 0, e.hydratedAt ?? 0, e.unblockedAt ?? 0, e.writtenAt ?? 0);
