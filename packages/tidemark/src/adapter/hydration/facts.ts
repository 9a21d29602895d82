/**
 * What is known of one object on one replica, at one moment: plain data, from which every verdict is made. It comes from what
 * replicas report about lives and from what the controllers know; nothing is sampled, and no log is read.
 */
import type { ClusterId, GlobalId, ReplicaId } from '../../base/ids.ts';
import type { LifeRollup } from '../../controller/lives.ts';
import type { LifecycleStage } from '../../introspection/lifecycle.ts';
import type { Frontier } from '../../time/timestamp.ts';

/** Whole microseconds since the epoch. */
export type Instant = number;

export interface ReplicaFacts {
  readonly id: ReplicaId;
  readonly workers: number;
  readonly connected: boolean;
  /** When it was connected or lost. */
  readonly since: Instant;
  readonly lostBecause: string | null;
}

export interface InputFacts {
  readonly id: GlobalId;
  /** Of the shard, or of the index on this replica. */
  readonly frontier: Frontier;
}

/** Its place in the queue for a slot to hydrate. */
export interface QueueFacts {
  readonly since: Instant;
  readonly limit: number;
  /** Who has held a slot for longest; null when the limit is 0. */
  readonly longestHolder: GlobalId | null;
}

export interface FailureFacts {
  readonly message: string;
  readonly since: Instant;
}

/** An index that it reads has failed here, and it went down with that. */
export interface DownFacts extends FailureFacts {
  readonly cause: GlobalId;
}

/** An object on a replica; `replica` is null where the cluster has none. */
export interface ObjectFacts {
  readonly objectId: GlobalId;
  readonly clusterId: ClusterId;
  /** It writes to a shard: a materialized view. */
  readonly writes: boolean;
  /** Its output is complete for ever, that of the view whose place it would take: it needs no dataflow. */
  readonly sealed: boolean;
  /** When it was created, or first seen by this process. */
  readonly commandedAt: Instant;
  readonly replica: ReplicaFacts | null;
  /** When the cluster lost its last replica, or was created without; of no meaning where it has one. */
  readonly withoutReplicaSince: Instant;
  readonly life: LifeRollup;
  /** The stage of `life`, or the one before its replica was lost. */
  readonly lastStage: LifecycleStage | null;
  /** Inputs that are not past the as-of here, in no order. */
  readonly lateInputs: readonly InputFacts[];
  readonly queue: QueueFacts | null;
  readonly failure: FailureFacts | null;
  readonly down: DownFacts | null;
  readonly mayWrite: boolean;
  /** The object whose place it will take. */
  readonly replaces: GlobalId | null;
}
