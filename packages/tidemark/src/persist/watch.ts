/**
 * Tells readers that a shard moved. Advisory: a lost notice costs a reader its poll interval, never a row.
 */
import type { Frontier } from '../time/timestamp.ts';
import type { Seqno } from './consensus.ts';

export interface ShardNotice {
  readonly shardId: string;
  readonly seqno: Seqno;
  readonly upper: Frontier;
}

export interface ShardWatch {
  publish(notices: readonly ShardNotice[]): void;
  /** Calls `listener` after each notice of the shard, until the returned function is called. */
  subscribe(shardId: string, listener: (notice: ShardNotice) => void): () => void;
}

/** Notices within this process. Listeners run before `publish` returns and must not throw. */
export class MemoryWatch implements ShardWatch {
  readonly #listeners = new Map<string, Set<(notice: ShardNotice) => void>>();

  publish(notices: readonly ShardNotice[]): void {
    for (const n of notices) for (const f of [...(this.#listeners.get(n.shardId) ?? [])]) f(n);
  }

  subscribe(shardId: string, listener: (notice: ShardNotice) => void): () => void {
    let set = this.#listeners.get(shardId);
    if (set === undefined) this.#listeners.set(shardId, (set = new Set()));
    set.add(listener);
    return () => {
      set.delete(listener);
      if (set.size === 0 && this.#listeners.get(shardId) === set) this.#listeners.delete(shardId);
    };
  }
}
