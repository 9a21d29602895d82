/**
 * Blobs in use. A reader pins the keys it is about to read, reads the state again, and goes on iff the state
 * still names them; the collector takes keys out of the state first and asks for pins afterwards. Whichever is
 * first, a pinned blob that a reader relies on is not deleted. Pins reach as far as their object: the threads of
 * one process. Readers in other processes are covered by a grace period: where they hold the shard, and where the process
 * knows of them (`readElsewhere`).
 */
export interface Pins {
  /** Counts: a key pinned twice is unpinned twice. */
  pin(keys: readonly string[]): Promise<void>;
  unpin(keys: readonly string[]): void;
  /** Those of `keys` that are pinned. */
  pinned(keys: readonly string[]): Promise<string[]>;
  /** Whether processes read here that pin nothing and take no holds. */
  readElsewhere(): Promise<boolean>;
}

export class MemoryPins implements Pins {
  /** Set once such a process is known; it may come back, so it stays. */
  elsewhere = false;
  readonly #counts = new Map<string, number>();

  async readElsewhere(): Promise<boolean> {
    return this.elsewhere;
  }

  async pin(keys: readonly string[]): Promise<void> {
    for (const k of keys) this.#counts.set(k, (this.#counts.get(k) ?? 0) + 1);
  }

  unpin(keys: readonly string[]): void {
    for (const k of keys) {
      const n = (this.#counts.get(k) ?? 0) - 1;
      if (n > 0) this.#counts.set(k, n);
      else this.#counts.delete(k);
    }
  }

  async pinned(keys: readonly string[]): Promise<string[]> {
    return keys.filter((k) => this.#counts.has(k));
  }
}
