/** Verdicts as rows of the relations that hold them. */
import type { ClusterId } from '../../base/ids.ts';
import type { BuiltinRow } from '../../catalog/builtins/declare.ts';
import { canonicalJson } from '../../repr/json.ts';
import type { Instant, ReplicaFacts } from './facts.ts';
import type { Judged, ReplicaVerdict } from './verdicts.ts';

/** As a timestamptz. */
const instant = (at: Instant | null): bigint | null => (at === null ? null : BigInt(Math.round(at)));

export function blockerRow({ facts, blocker }: Judged): BuiltinRow | null {
  if (blocker === null) return null;
  return [
    facts.objectId,
    facts.replica?.id ?? null,
    facts.clusterId,
    blocker.stage,
    blocker.reason,
    instant(blocker.since),
    blocker.blockedBy,
    blocker.details === null ? null : canonicalJson(JSON.stringify(blocker.details)),
  ];
}

/** A cluster that has neither objects nor replicas. */
export const emptyClusterRow = (clusterId: ClusterId, since: Instant): BuiltinRow => [
  null,
  null,
  clusterId,
  null,
  'no_replica',
  instant(since),
  null,
  null,
];

export function timestampsRow({ facts }: Judged): BuiltinRow | null {
  const { replica, life, objectId } = facts;
  if (replica === null) return null;
  return [
    objectId,
    replica.id,
    ...[life.installedAt, life.startedAt, life.hydratedAt, life.writtenAt].map(instant),
  ];
}

export const replicaRow = (
  clusterId: ClusterId,
  replica: ReplicaFacts | null,
  v: ReplicaVerdict,
): BuiltinRow => [
  clusterId,
  replica?.id ?? null,
  v.hydrated,
  v.reason,
  BigInt(v.objects),
  BigInt(v.hydratedObjects),
  instant(v.startedAt),
  instant(v.hydratedAt),
  instant(v.writtenAt),
  v.slowest,
];

export const sameRows = (a: readonly BuiltinRow[], b: readonly BuiltinRow[]): boolean =>
  a.length === b.length && a.every((row, i) => row.every((d, k) => d === b[i]![k]));
