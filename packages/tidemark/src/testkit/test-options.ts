/** What a simulated environment is opened with, and where what its workers log comes from. */

import type { Logger } from '../base/clock.ts';
import type { ReplicaId } from '../base/ids.ts';
import type { Command } from '../compute/protocol.ts';
import type { LogUpdates } from '../introspection/compute-log.ts';
import type { FileReader } from '../storage/file-source.ts';

export interface TestOptions {
  readonly seed?: number;
  /** Of the default cluster. */
  readonly workers?: number;
  /** How much each worker's wall clock is off, by index. */
  readonly skewMs?: readonly number[];
  /** Changes a command before a replica gets it; null: it never does. */
  readonly onCommand?: (command: Command) => Command | null;
  /** What each worker's log says, by replica; `life` counts its incarnations. */
  readonly onLogUpdates?: (from: LogSource, updates: LogUpdates) => void;
  readonly logger?: Logger;
  /** What sources from files read; absent: there are none. */
  readonly files?: FileReader;
  /** Replicas of users live on when their connection ends or the environment does, as those in processes of their own. */
  readonly outlive?: boolean;
}

export interface LogSource {
  readonly replicaId: ReplicaId;
  readonly life: number;
  readonly worker: number;
  readonly workers: number;
}
