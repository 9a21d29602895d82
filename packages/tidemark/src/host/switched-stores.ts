/**
 * Stores whose other end changes: those of the environment that is connected now. Without one every call fails with
 * `connection_failure`; who listens for notices goes on listening across ends.
 */
import { SqlError } from '../base/error.ts';
import type { Blob } from '../persist/blob.ts';
import type { Consensus } from '../persist/consensus.ts';
import type { Pins } from '../persist/pins.ts';
import type { Stores } from '../persist/shards.ts';
import type { ShardNotice, ShardWatch } from '../persist/watch.ts';

interface Listener {
  readonly shardId: string;
  readonly hear: (notice: ShardNotice) => void;
  end: () => void;
}

export class SwitchedStores implements Stores {
  #now: Stores | null = null;
  readonly #listeners = new Set<Listener>();

  use(stores: Stores): void {
    this.#switch(stores);
  }

  /** They end. No effect when others are in use by now. */
  leave(stores: Stores): void {
    if (this.#now === stores) this.#switch(null);
  }

  #switch(stores: Stores | null): void {
    this.#now = stores;
    for (const l of this.#listeners) {
      l.end();
      l.end = this.#listen(l);
    }
  }

  #listen(l: Listener): () => void {
    return this.#now?.watch.subscribe(l.shardId, l.hear) ?? (() => undefined);
  }

  #get(): Stores {
    if (this.#now === null) throw new SqlError('connection_failure', 'the environment is not connected');
    return this.#now;
  }

  readonly blob: Blob = {
    get: async (key) => this.#get().blob.get(key),
    put: async (key, bytes) => this.#get().blob.put(key, bytes),
    delete: async (key) => this.#get().blob.delete(key),
    list: async (prefix) => this.#get().blob.list(prefix),
  };

  readonly consensus: Consensus = {
    head: async (key) => this.#get().consensus.head(key),
    read: async (key, after) => this.#get().consensus.read(key, after),
    compareAndSet: async (ops, mode) => this.#get().consensus.compareAndSet(ops, mode),
    remove: async (key) => this.#get().consensus.remove(key),
    list: async (prefix) => this.#get().consensus.list(prefix),
  };

  /** The other end lets go of a side's pins when it is gone. */
  readonly pins: Pins = {
    pin: async (keys) => this.#get().pins.pin(keys),
    unpin: (keys) => this.#now?.pins.unpin(keys),
    pinned: async (keys) => this.#get().pins.pinned(keys),
    readElsewhere: async () => this.#get().pins.readElsewhere(),
  };

  readonly watch: ShardWatch = {
    publish: (notices) => this.#now?.watch.publish(notices),
    subscribe: (shardId, hear) => {
      const l: Listener = { shardId, hear, end: () => undefined };
      l.end = this.#listen(l);
      this.#listeners.add(l);
      return () => {
        l.end();
        this.#listeners.delete(l);
      };
    },
  };
}
