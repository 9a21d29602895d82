/** What a cluster's controller is made with: its place, its clock, and whom it tells. */
import type { Clock, Logger, Timers } from '../base/clock.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { ReconciliationOutcomes, Tunables } from '../compute/protocol.ts';
import type { LoggingConfig } from '../introspection/logging-config.ts';
import type { ShardCollections } from '../storage/shard-collections.ts';
import type { Frontier } from '../time/timestamp.ts';
import type { EpisodeEvent } from './episodes.ts';
import type { FailuresOptions } from './failures.ts';
import type { ProgressOptions } from './progress.ts';
import type { SubscribeLimits } from './subscribes.ts';

export interface InstanceOptions {
  readonly clusterId: ClusterId;
  readonly shards: ShardCollections;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly logging: LoggingConfig;
  readonly tunables: Tunables;
  readonly generation: number;
  /** Number of this start of the environment. */
  readonly start: number;
  readonly uuid: () => string;
  readonly subscribeLimits?: SubscribeLimits;
  /** How many objects may hydrate at once on each replica, read at each step; the system cluster's are not counted. */
  readonly hydrationConcurrency: () => number;
  /** A replica ended by itself; its peeks have failed already. */
  readonly onReplicaLost: (replicaId: ReplicaId, reason: string) => void;
  /** A dataflow ended on a host error on a replica: an episode that is over. Another one begins after a pause. */
  readonly onFailed?: (id: GlobalId, error: { code: string; message: string }, replicaId: ReplicaId) => void;
  /** Another one begins: nothing has been told of it, and what was told of the last one holds no more. */
  readonly onRebuilt?: () => void;
  /** Of what is read here from its shard and is not of this cluster: why whoever reads it would wait for ever. */
  readonly failureElsewhere?: FailuresOptions['elsewhere'];
  /** Something may have failed for its readers; those of this cluster have been told. */
  readonly onFailure?: () => void;
  /** What happens to replicas, and to lives on them. */
  readonly onEpisode?: (event: EpisodeEvent) => void;
  /** How far an object has got with its snapshot. */
  readonly onProgress?: ProgressOptions['onRow'];
  /** A replica that went on without this environment has kept what it could. */
  readonly onReconciled?: (replicaId: ReplicaId, outcomes: ReconciliationOutcomes) => void;
  /** A collection's frontier moved. */
  readonly onFrontier?: (id: GlobalId, write: Frontier) => void;
}
