/**
 * Replicas in processes of their own, as an environment reaches them. While there are any, what they write into the data directory is looked
 * for, and blobs that were replaced stay for their readers.
 */
import { SqlError } from '../base/error.ts';
import type { ReplicaConnection } from '../compute/protocol.ts';
import type { MemoryPins } from '../persist/pins.ts';
import type { Stores } from '../persist/shards.ts';
import type { DataDir } from './data-dir.ts';
import type { DirectoryWatch } from './directory-watch.ts';
import { dialReplica } from './tcp-replica.ts';

export interface ReplicasElsewhereOptions {
  /** Null: everything is in memory. */
  readonly dir: Pick<DataDir, 'identity'> | null;
  readonly watch: DirectoryWatch | null;
  /** Of the durable shards. */
  readonly pins: MemoryPins;
  readonly memory: Stores;
  readonly token: string | undefined;
}

export class ReplicasElsewhere {
  readonly #o: ReplicasElsewhereOptions;
  #stopWatching: (() => void) | null = null;

  constructor(options: ReplicasElsewhereOptions) {
    this.#o = options;
  }

  async dial(address: string, workers: number): Promise<ReplicaConnection> {
    const { dir, watch, memory, pins, token = '' } = this.#o;
    if (dir === null || watch === null)
      throw new SqlError(
        'object_not_in_prerequisite_state',
        'a replica in a process of its own reads a data directory, and this environment is in memory',
      );
    pins.elsewhere = true;
    this.#stopWatching ??= watch.follow();
    return dialReplica({ address, workers, token, memory, directory: await dir.identity() });
  }

  close(): void {
    this.#stopWatching?.();
  }
}
