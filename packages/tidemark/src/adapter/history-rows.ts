/** Episodes as rows of the history relations, and back. Durations are derived here, so that they cannot differ from the instants. */
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { BuiltinRow } from '../catalog/builtins/declare.ts';
import {
  type ObjectEnd,
  type ObjectEpisode,
  objectStatus,
  type ReplicaEpisode,
} from '../controller/episode.ts';
import type { Datum, Row } from '../repr/types.ts';

const whole = (n: number | null): bigint | null => (n === null ? null : BigInt(n));
const number = (d: Datum | undefined): number => Number(d);
const orNull = (d: Datum | undefined): number | null => (d === null ? null : Number(d));

/** Workers' clocks differ: what looks inverted took no time. */
const between = (from: number | null, to: number | null): bigint | null =>
  from === null || to === null ? null : BigInt(Math.max(0, to - from)) * 1000n;

function blockedNs(e: ObjectEpisode): bigint | null {
  if (e.unblockedAt !== null) return between(e.hydratedAt, e.unblockedAt);
  return e.writtenAt === null ? null : 0n;
}

export function objectRow(e: ObjectEpisode): BuiltinRow {
  return [
    e.objectId,
    e.clusterId,
    e.replicaId,
    BigInt(e.generation),
    BigInt(e.installedAt),
    whole(e.startedAt),
    whole(e.hydratedAt),
    whole(e.writtenAt),
    whole(e.endedAt),
    objectStatus(e),
    e.asOf,
    between(e.installedAt, e.startedAt),
    between(e.startedAt, e.hydratedAt),
    blockedNs(e),
    between(e.unblockedAt ?? e.hydratedAt, e.writtenAt),
    whole(e.peakBytes),
  ];
}

const ENDS: readonly Datum[] = ['dropped', 'failed', 'lost'] satisfies ObjectEnd[];

export function objectOfRow(row: Row): ObjectEpisode {
  const hydratedAt = orNull(row[6]);
  const blocked = orNull(row[13]);
  const status = row[9]!;
  return {
    kind: 'object',
    objectId: row[0] as GlobalId,
    clusterId: row[1] as ClusterId,
    replicaId: row[2] as ReplicaId,
    generation: number(row[3]),
    installedAt: number(row[4]),
    startedAt: orNull(row[5]),
    hydratedAt,
    writtenAt: orNull(row[7]),
    endedAt: orNull(row[8]),
    end: ENDS.includes(status) ? (status as ObjectEnd) : null,
    asOf: number(row[10]),
    unblockedAt:
      hydratedAt === null || blocked === null || blocked === 0 ? null : hydratedAt + blocked / 1000,
    peakBytes: orNull(row[15]),
  };
}

export function replicaRow(e: ReplicaEpisode): BuiltinRow {
  return [
    e.clusterId,
    e.replicaId,
    BigInt(e.generation),
    BigInt(e.startedAt),
    whole(e.finishedAt),
    BigInt(e.objectCount),
    whole(e.peakBytes),
    e.status,
  ];
}

export function replicaOfRow(row: Row): ReplicaEpisode {
  return {
    kind: 'replica',
    clusterId: row[0] as ClusterId,
    replicaId: row[1] as ReplicaId,
    generation: number(row[2]),
    startedAt: number(row[3]),
    finishedAt: orNull(row[4]),
    objectCount: number(row[5]),
    peakBytes: orNull(row[6]),
    status: row[7] as ReplicaEpisode['status'],
  };
}

/** A replica came or went. */
export interface ReplicaStatusRow {
  readonly replicaId: ReplicaId;
  readonly status: 'online' | 'offline';
  readonly reason: string | null;
  readonly occurredAt: number;
  /** Of the process that came; null: it went. */
  readonly incarnation: string | null;
}

export const statusRow = (s: ReplicaStatusRow): BuiltinRow => [
  s.replicaId,
  0n,
  s.status,
  s.reason,
  BigInt(s.occurredAt),
  s.incarnation,
];

export const statusOfRow = (row: Row): ReplicaStatusRow => ({
  replicaId: row[0] as ReplicaId,
  status: row[2] as ReplicaStatusRow['status'],
  reason: row[3] as string | null,
  occurredAt: number(row[4]),
  incarnation: row[5] as string | null,
});
