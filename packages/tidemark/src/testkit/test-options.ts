/** What a simulated environment is opened with, and what it lets a test hear. */

import type { Logger } from '../base/clock.ts';
import type { ReplicaId } from '../base/ids.ts';
import type { Command, Response } from '../compute/protocol.ts';
import type { LogUpdates } from '../introspection/compute-log.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import type { FileReader } from '../storage/file-source.ts';

export interface OpenTestOptions {
  /** Decides the order of everything; 1 if absent. A whole number. */
  readonly seed?: number;
  /** Of the default cluster, where it is made now; 1 if absent. */
  readonly workers?: number;
  /** Milliseconds by which each worker's wall clock is off, by the worker's index; 0 where absent. */
  readonly skewMs?: readonly number[];
  /** Gets what the engine logs; absent: nobody does. */
  readonly logger?: Logger;
  /**
   * Replicas live on when their connection ends or the environment does, as those in processes of their own. Absent: their workers are
   * the environment's, and die with it.
   */
  readonly outlive?: boolean;
}

/** Where a replica dies: right after a worker of it has told that an object reached the stage. */
export interface CrashPoint {
  readonly stage: LifecycleStage;
  /** Name of the object, without its schema; any of users' objects if absent. It need not exist yet. */
  readonly object?: string;
  /** Of the replica; `quickstart` if absent. */
  readonly cluster?: string;
}

/** Whether a response says that the point is reached; `name` is that of its object. */
export const isReached = (at: CrashPoint, r: Response, name: string | undefined): boolean =>
  r.kind === 'lifecycle' &&
  r.stage === at.stage &&
  r.id.startsWith('u') &&
  (at.object === undefined || at.object === name);

export interface TestOptions extends OpenTestOptions {
  /** Changes a command before a replica gets it; null: it never does. */
  readonly onCommand?: (command: Command) => Command | null;
  /** What a replica told, once the environment has heard it. */
  readonly onHeard?: (from: HeardFrom, response: Response) => void;
  /** What each worker's log says, by replica; `life` counts its incarnations. */
  readonly onLogUpdates?: (from: LogSource, updates: LogUpdates) => void;
  /** What sources from files read; absent: there are none. */
  readonly files?: FileReader;
  /** How far back the catalog's shard can be read. */
  readonly catalogHistoryMs?: number;
}

export interface LogSource {
  readonly replicaId: ReplicaId;
  readonly life: number;
  readonly worker: number;
  readonly workers: number;
}

export interface HeardFrom {
  readonly replicaId: ReplicaId;
  /** Counts the incarnations of the replica. */
  readonly life: number;
  /** Counts the connections to it. */
  readonly connection: number;
  readonly workers: number;
}
