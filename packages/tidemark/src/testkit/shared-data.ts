/**
 * What outlives a simulated process: the stores, whose generation they are, and time. Each process reaches the stores through a door
 * of its own, which a test can shut: to the others it then looks stopped, as by SIGSTOP, or dead.
 */
import type { Logger, Timers } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { Blob } from '../persist/blob.ts';
import type { Consensus } from '../persist/consensus.ts';
import type { MemoryPins } from '../persist/pins.ts';
import { Shards } from '../persist/shards.ts';
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
  #incarnations = 0;

  constructor(seed: number) {
    this.random = new SeededRandom(seed);
    this.time = new VirtualTime(this.random);
  }

  /** Of a replica's process: no other one over the data, whichever environment started it, has the same. */
  nextIncarnation(): string {
    return `incarnation-${++this.#incarnations}`;
  }

  /**
   * What is durable, as a process has it that reaches the stores in that way. Every part is a blob of its own, so that its reading can be
   * held up.
   */
  shards(
    way: { readonly consensus: Consensus; readonly blob: Blob },
    o: {
      readonly timers: Timers;
      readonly logger: Logger;
      readonly processTag: string;
      readonly pins: MemoryPins;
    },
  ): Shards {
    const { random, time, watch } = this;
    const { blob, consensus } = way;
    return new Shards({ ...o, clock: time, random, watch, blob, consensus, inlineMaxBytes: 0 });
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

/** A process's way to the stores, and to being a generation. */
export class Door {
  readonly consensus: Consensus;
  readonly blob: Blob;
  readonly claim: (generation: number) => Promise<void>;
  #shut: Promise<void> | null = null;
  /** Transactions on consensus, and the claim of a generation. */
  #writes = 0;
  #last: { readonly write: number; readonly reached: () => void } = { write: Infinity, reached: () => {} };

  constructor(data: SharedData) {
    const { consensus, blob } = data;
    const through = async <T>(f: () => Promise<T>): Promise<T> => {
      while (this.#shut !== null) await this.#shut;
      return f();
    };
    const write = <T>(f: () => Promise<T>): Promise<T> =>
      through(() => {
        this.#countTo(this.#writes + 1);
        return f();
      });
    this.consensus = {
      head: (key) => through(() => consensus.head(key)),
      read: (key, after) => through(() => consensus.read(key, after)),
      compareAndSet: (ops, mode) => write(() => consensus.compareAndSet(ops, mode)),
      remove: (key) => through(() => consensus.remove(key)),
      list: (prefix) => through(() => consensus.list(prefix)),
    };
    this.blob = {
      get: (key) => through(() => blob.get(key)),
      put: (key, bytes) => through(() => blob.put(key, bytes)),
      delete: (key) => through(() => blob.delete(key)),
      list: (prefix) => through(() => blob.list(prefix)),
    };
    this.claim = (generation) => write(() => data.claim(generation));
  }

  /** It is shut behind that many more writes, the last of which the process still hears of. Resolves then. */
  shutAfter(writes: number): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#last = { write: this.#writes + writes, reached: resolve };
    this.#countTo(this.#writes);
    return promise;
  }

  #countTo(writes: number): void {
    this.#writes = writes;
    if (writes < this.#last.write) return;
    this.shut();
    this.#last.reached();
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
