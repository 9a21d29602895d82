/** What one cluster tells the history: its replicas as they come and go, and the lives on them, whatever else is done with the same words. */
import type { Clock } from '../base/clock.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { Response } from '../compute/protocol.ts';
import type { Collection } from './collection.ts';
import type { EpisodeEvent } from './episodes.ts';
import type { Replica } from './replica.ts';

export interface EpisodeFeedOptions {
  readonly clusterId: ClusterId;
  readonly clock: Clock;
  readonly collections: ReadonlyMap<GlobalId, Collection>;
  readonly tell: (event: EpisodeEvent) => void;
}

export class EpisodeFeed {
  readonly #o: EpisodeFeedOptions;
  /** Connections over which a worker said hello. */
  readonly #greeted = new WeakSet<Replica>();

  constructor(options: EpisodeFeedOptions) {
    this.#o = options;
  }

  get #at(): number {
    return Math.round(this.#o.clock.nowMs() * 1000);
  }

  received(replica: Replica, r: Response): void {
    const { clusterId, collections, tell } = this.#o;
    const { id: replicaId, workers } = replica;
    const at = this.#at;
    switch (r.kind) {
      case 'hello':
        // All workers of a replica are one process: the first that says hello says it for all.
        if (this.#greeted.has(replica)) return;
        this.#greeted.add(replica);
        tell({ kind: 'connected', clusterId, replicaId, incarnation: r.incarnation, workers, at });
        return;
      case 'lifecycle':
      case 'lifeClosed': {
        const c = collections.get(r.id);
        // A dropped index may go on for its importers; to readers its life ended with its drop.
        if (r.kind === 'lifecycle' && c?.dropped === true) return;
        const writes = c && c.kind === 'materialized-view';
        tell({ kind: 'reported', replicaId, response: r, writes, at });
        return;
      }
      case 'failed':
        if (collections.has(r.id)) tell({ kind: 'failed', replicaId, objectId: r.id, at });
        return;
      default:
        return;
    }
  }

  disconnected(replicaId: ReplicaId, reason: string): void {
    this.#o.tell({ kind: 'disconnected', replicaId, reason, at: this.#at });
  }

  created(objectId: GlobalId): void {
    this.#o.tell({ kind: 'created', clusterId: this.#o.clusterId, objectId, at: this.#at });
  }

  dropped(objectId: GlobalId): void {
    this.#o.tell({ kind: 'dropped', clusterId: this.#o.clusterId, objectId, at: this.#at });
  }
}
