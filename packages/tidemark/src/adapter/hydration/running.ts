/** The part of an object's facts that its controller knows, where the replica is connected. */
import { instantOf } from '../../base/clock.ts';
import { compareIds, type GlobalId } from '../../base/ids.ts';
import type { ComputeInstance } from '../../controller/instance.ts';
import { NO_LIFE } from '../../controller/lives.ts';
import type { DownFacts, FailureFacts, InputFacts, ObjectFacts, ReplicaFacts } from './facts.ts';

type RunningFacts = Pick<
  ObjectFacts,
  'life' | 'lastStage' | 'lateInputs' | 'queue' | 'failure' | 'down' | 'mayWrite'
>;

/** Where there is no replica, or it is not connected. */
export const NOT_RUNNING: Omit<RunningFacts, 'lastStage'> = {
  life: NO_LIFE,
  lateInputs: [],
  queue: null,
  failure: null,
  down: null,
  mayWrite: true,
};

export function runningFacts(instance: ComputeInstance, id: GlobalId, replica: ReplicaFacts): RunningFacts {
  const reported = instance.lives.rollup(replica.id, id, replica.workers);
  const failure = failureOf(instance, id, replica);
  const down = failure === null ? downOf(instance, id, replica) : null;
  const ended = failure !== null || down !== null;
  // What an episode that ended had reached is no progress any more; the stage is told as the last one.
  const life = ended ? { ...reported, hydratedAt: null, writtenAt: null } : reported;
  const queued = instance.queued(replica.id, id);
  const lateInputs = life.hydratedAt === null ? lateInputsOf(instance, id, replica, queued?.waitsFor) : [];
  return {
    life,
    lastStage: reported.stage,
    lateInputs,
    queue:
      queued === undefined || queued.waitsFor !== null
        ? null
        : {
            since: instantOf(queued.sinceMs),
            limit: queued.capacity,
            longestHolder: queued.longestHolder,
          },
    failure,
    down,
    // The replica itself says so once it has computed what it may not write.
    mayWrite: reported.stage !== 'write_blocked',
  };
}

/** Told until a later episode is hydrated: a retry that runs has healed nothing yet. */
function failureOf(instance: ComputeInstance, id: GlobalId, replica: ReplicaFacts): FailureFacts | null {
  const failure = instance.episodeFailure(replica.id, id);
  return failure === undefined ? null : { message: failure.error.message, since: instantOf(failure.atMs) };
}

function downOf(instance: ComputeInstance, id: GlobalId, replica: ReplicaFacts): DownFacts | null {
  const failures = instance.replicas.find((r) => r.id === replica.id)?.failures;
  const error = failures?.get(id);
  if (failures === undefined || error === undefined) return null;
  const inputs = instance.reading(id, replica.id)?.inputs.filter((i) => failures.has(i.id)) ?? [];
  const [cause] = inputs.map((i) => i.id).sort(compareIds);
  if (cause === undefined) return null;
  const since = (failureOf(instance, cause, replica) ?? downOf(instance, cause, replica))?.since ?? 0;
  return { message: error.message, since, cause };
}

/**
 * An index whose frontier here is past the as-of is hydrated here, for its own as-of is no later; the limiter may not have heard of
 * it on all workers yet.
 */
function lateInputsOf(
  instance: ComputeInstance,
  id: GlobalId,
  replica: ReplicaFacts,
  waitsFor: GlobalId | null | undefined,
): readonly InputFacts[] {
  const reading = instance.reading(id, replica.id);
  if (reading === null) return [];
  return reading.inputs.filter((i) => i.frontier <= reading.asOf || i.id === waitsFor);
}
