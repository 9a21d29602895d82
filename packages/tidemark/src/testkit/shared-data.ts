/**
 * What outlives a simulated process: the stores, whose generation they are, and time. Each process reaches the stores through a door
 * of its own, which a test can shut: to the others it then looks stopped, as by SIGSTOP, or dead.
 */
import { SqlError } from '../base/error.ts';
import type { Blob } from '../persist/blob.ts';
import type { Consensus } from '../persist/consensus.ts';
import { MemoryWatch } from '../persist/watch.ts';
import { HeldBlob, HeldConsensus } from './held-stores.ts';
import { SeededRandom } from './random.ts';
import { VirtualTime } from './virtual-time.ts';

export class SharedData {
  readonly random: SeededRandom;
  readonly time: VirtualTime;
  readonly consensus: HeldConsensus = new HeldConsensus();
  readonly blob: HeldBlob = new HeldBlob();
  readonly watch: MemoryWatch = new MemoryWatch();
  generation = 1;
  starts = 0;
  /** Processes that are not closed. */
  open = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.time = new VirtualTime(this.random);
  }

  /** What happens between a promotion's last look at the leader and its first act. */
  beforeClaim: () => Promise<void> = () => Promise.resolve();

  /** As a promotion claims it: of two that want to be the next generation one is. */
  async claim(generation: number): Promise<void> {
    await this.beforeClaim();
    if (this.generation >= generation)
      throw new SqlError('object_in_use', `another process was promoted to generation ${this.generation}`);
    this.generation = generation;
    this.starts = 1;
  }
}

/** A process's way to the stores. */
export class Door {
  readonly consensus: Consensus;
  readonly blob: Blob;
  #shut: Promise<void> | null = null;

  constructor({ consensus, blob }: SharedData) {
    const through = async <T>(f: () => Promise<T>): Promise<T> => {
      while (this.#shut !== null) await this.#shut;
      return f();
    };
    this.consensus = {
      head: (key) => through(() => consensus.head(key)),
      read: (key, after) => through(() => consensus.read(key, after)),
      compareAndSet: (ops, mode) => through(() => consensus.compareAndSet(ops, mode)),
      remove: (key) => through(() => consensus.remove(key)),
      list: (prefix) => through(() => consensus.list(prefix)),
    };
    this.blob = {
      get: (key) => through(() => blob.get(key)),
      put: (key, bytes) => through(() => blob.put(key, bytes)),
      delete: (key) => through(() => blob.delete(key)),
      list: (prefix) => through(() => blob.list(prefix)),
    };
  }

  /** What the process asks of the stores waits until the returned function is called. */
  shut(): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#shut = promise;
    return () => {
      if (this.#shut === promise) this.#shut = null;
      resolve();
    };
  }
}
