/**
 * The verdicts over facts, each defined once: why an object is not done, and whether a replica is hydrated. Pure; a verdict costs
 * what its facts cost to look at.
 */
import { compareIds, type GlobalId } from '../../base/ids.ts';
import type { LifecycleStage } from '../../introspection/lifecycle.ts';
import type { InputFacts, Instant, ObjectFacts, ReplicaFacts } from './facts.ts';

export type BlockerReason =
  | 'no_replica'
  | 'replica_lost'
  | 'failed'
  | 'installing'
  | 'waiting_for_inputs'
  | 'hydration_limit'
  | 'computing'
  | 'read_only'
  | 'writing';

export interface Blocker {
  readonly reason: BlockerReason;
  readonly stage: LifecycleStage | null;
  readonly since: Instant;
  readonly blockedBy: GlobalId | null;
  readonly details: Readonly<Record<string, string | number | null>> | null;
}

/** What each reason needs to hold; of several the first one is told. A dataflow that has failed neither waits nor computes. */
const RULES: readonly ((f: ObjectFacts) => Blocker | null)[] = [
  noReplica,
  replicaLost,
  failed,
  downWithInput,
  installing,
  waitingForInputs,
  hydrationLimit,
  computing,
  readOnly,
  writing,
];

/** Why the object is not done on the replica; null: it is done. */
export function blockerOf(f: ObjectFacts): Blocker | null {
  if (f.sealed) return null;
  for (const rule of RULES) {
    const blocker = rule(f);
    if (blocker !== null) return blocker;
  }
  return null;
}

const blocker = (
  reason: BlockerReason,
  f: ObjectFacts,
  b: Pick<Blocker, 'since'> & Partial<Blocker>,
): Blocker => ({ reason, stage: f.lastStage, blockedBy: null, details: null, ...b });

function noReplica(f: ObjectFacts): Blocker | null {
  if (f.replica !== null) return null;
  return blocker('no_replica', f, { stage: null, since: Math.max(f.withoutReplicaSince, f.commandedAt) });
}

function replicaLost(f: ObjectFacts): Blocker | null {
  const { connected, since, lostBecause } = f.replica!;
  return connected ? null : blocker('replica_lost', f, { since, details: { error: lostBecause } });
}

function failed(f: ObjectFacts): Blocker | null {
  if (f.failure === null) return null;
  return blocker('failed', f, { since: f.failure.since, details: { error: f.failure.message } });
}

function downWithInput(f: ObjectFacts): Blocker | null {
  if (f.down === null) return null;
  const { since, cause, message } = f.down;
  return blocker('waiting_for_inputs', f, { since, blockedBy: cause, details: { error: message } });
}

function installing(f: ObjectFacts): Blocker | null {
  if (f.life.installedAt !== null) return null;
  const { since, workers } = f.replica!;
  return blocker('installing', f, {
    since: Math.max(f.commandedAt, since),
    details: { workers, installed: f.life.installedOn },
  });
}

/** The one furthest behind, then the one with the least id. */
const latest = (inputs: readonly InputFacts[]): InputFacts | undefined =>
  inputs.reduce<InputFacts | undefined>(
    (worst, i) =>
      worst === undefined ||
      i.frontier < worst.frontier ||
      (i.frontier === worst.frontier && compareIds(i.id, worst.id) < 0)
        ? i
        : worst,
    undefined,
  );

function waitingForInputs(f: ObjectFacts): Blocker | null {
  const { startedAt, installedAt, asOf } = f.life;
  const late = latest(f.lateInputs);
  if (startedAt !== null || late === undefined) return null;
  return blocker('waiting_for_inputs', f, {
    since: installedAt!,
    blockedBy: late.id,
    details: { as_of: String(asOf), input_frontier: String(late.frontier) },
  });
}

function hydrationLimit(f: ObjectFacts): Blocker | null {
  if (f.life.startedAt !== null || f.queue === null) return null;
  const { since, limit, longestHolder } = f.queue;
  return blocker('hydration_limit', f, {
    since,
    blockedBy: longestHolder,
    details: { setting: 'compute_hydration_concurrency', value: limit },
  });
}

function computing(f: ObjectFacts): Blocker | null {
  const { hydratedAt, startedAt, installedAt, hydratedOn } = f.life;
  if (hydratedAt !== null) return null;
  return blocker('computing', f, {
    since: startedAt ?? installedAt!,
    blockedBy: latest(f.lateInputs)?.id ?? null,
    details: { workers: f.replica!.workers, hydrated: hydratedOn },
  });
}

function readOnly(f: ObjectFacts): Blocker | null {
  if (!f.writes || f.mayWrite) return null;
  return blocker('read_only', f, {
    since: f.life.writeBlockedAt ?? f.life.hydratedAt!,
    blockedBy: f.replaces,
  });
}

function writing(f: ObjectFacts): Blocker | null {
  if (!f.writes || f.life.writtenAt !== null) return null;
  return blocker('writing', f, { since: f.life.writeUnblockedAt ?? f.life.hydratedAt! });
}

// ---- A replica

/** Reasons that keep an object from being hydrated; the others only keep it from being durable. */
export const keepsFromHydrated = (b: Blocker | null): boolean =>
  b !== null && b.reason !== 'read_only' && b.reason !== 'writing';

/** An object with what was found about it. */
export interface Judged {
  readonly facts: ObjectFacts;
  readonly blocker: Blocker | null;
}

export interface ReplicaVerdict {
  readonly hydrated: boolean;
  readonly reason: BlockerReason | null;
  readonly objects: number;
  readonly hydratedObjects: number;
  readonly startedAt: Instant | null;
  readonly hydratedAt: Instant | null;
  readonly writtenAt: Instant | null;
  readonly slowest: GlobalId | null;
}

/** `replica` is null where the cluster has none; `judged` are the objects of the cluster on it. */
export function replicaVerdict(replica: ReplicaFacts | null, judged: readonly Judged[]): ReplicaVerdict {
  const late = judged.filter((j) => keepsFromHydrated(j.blocker));
  const reason = replica === null ? 'no_replica' : replica.connected ? null : 'replica_lost';
  const hydrated = reason === null && late.length === 0;
  const slowest = late.length > 0 ? installedFirst(late) : longestWay(judged);
  const views = judged.filter((j) => j.facts.writes && !j.facts.sealed);
  const written = hydrated && views.length > 0 && views.every((j) => j.blocker === null);
  return {
    hydrated,
    reason: reason ?? (late.length > 0 ? slowest!.blocker!.reason : null),
    objects: judged.length,
    hydratedObjects: judged.length - late.length,
    startedAt: over(judged, 'startedAt', Math.min),
    hydratedAt: hydrated ? over(judged, 'hydratedAt', Math.max) : null,
    writtenAt: written ? over(views, 'writtenAt', Math.max) : null,
    slowest: slowest?.facts.objectId ?? null,
  };
}

function over(
  judged: readonly Judged[],
  which: 'startedAt' | 'hydratedAt' | 'writtenAt',
  pick: (a: number, b: number) => number,
): Instant | null {
  let found: Instant | null = null;
  for (const { facts } of judged) {
    const at = facts.life[which];
    if (at !== null) found = found === null ? at : pick(found, at);
  }
  return found;
}

/** Not installed at all is later than any. */
const installed = (j: Judged): number => j.facts.life.installedAt ?? Number.POSITIVE_INFINITY;
const byId = (a: Judged, b: Judged): number => compareIds(a.facts.objectId, b.facts.objectId);

const least = (judged: readonly Judged[], before: (a: Judged, b: Judged) => boolean): Judged | null =>
  judged.reduce<Judged | null>((best, j) => (best === null || before(j, best) ? j : best), null);

function installedFirst(late: readonly Judged[]): Judged | null {
  return least(late, (a, b) => {
    const [x, y] = [installed(a), installed(b)];
    return x === y ? byId(a, b) < 0 : x < y;
  });
}

/** From installed to hydrated; workers' clocks differ, and nothing takes less than no time. */
function wayOf(j: Judged): number {
  const { installedAt, hydratedAt } = j.facts.life;
  return installedAt === null || hydratedAt === null ? -1 : Math.max(0, hydratedAt - installedAt);
}

function longestWay(judged: readonly Judged[]): Judged | null {
  const slowest = least(judged, (a, b) => {
    const [x, y] = [wayOf(a), wayOf(b)];
    return x === y ? byId(a, b) < 0 : x > y;
  });
  return slowest === null || wayOf(slowest) < 0 ? null : slowest;
}
