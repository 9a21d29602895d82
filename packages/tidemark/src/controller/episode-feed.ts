/**
 * What one cluster tells those who follow lives, whatever else it does with the same words: the history, of replicas as they come and go
 * and of all lives on them; and progress, of what lives now.
 */
import { type Clock, nowMicros } from '../base/clock.ts';
import { type ClusterId, type GlobalId, idClass, type ReplicaId } from '../base/ids.ts';
import type { LifecycleResponse, ProgressResponse, Response } from '../compute/protocol.ts';
import type { Collection } from './collection.ts';
import type { EpisodeEvent } from './episodes.ts';
import { Progress, type ProgressOptions } from './progress.ts';
import type { Replica } from './replica.ts';

export interface EpisodeFeedOptions {
  readonly clusterId: ClusterId;
  readonly clock: Clock;
  readonly collections: ReadonlyMap<GlobalId, Collection>;
  readonly onEpisode: ((event: EpisodeEvent) => void) | undefined;
  readonly onProgress: ProgressOptions['onRow'] | undefined;
}

export class EpisodeFeed {
  readonly #o: EpisodeFeedOptions;
  /** Connections over which a worker said hello. */
  readonly #greeted = new WeakSet<Replica>();

  readonly #progress: Progress;

  constructor(options: EpisodeFeedOptions) {
    this.#o = options;
    this.#progress = new Progress({ onRow: (...row) => options.onProgress?.(...row) });
  }

  #tell(event: EpisodeEvent): void {
    this.#o.onEpisode?.(event);
  }

  get #at(): number {
    return nowMicros(this.#o.clock);
  }

  received(replica: Replica, r: Response): void {
    if (r.kind === 'progress' || r.kind === 'lifecycle') this.#follow(replica, r);
    this.#record(replica, r);
  }

  #follow(replica: Replica, r: ProgressResponse | LifecycleResponse): void {
    if (idClass(r.id) === 'user' && this.#o.collections.get(r.id)?.dropped === false)
      this.#progress.receive(replica, r);
  }

  #record(replica: Replica, r: Response): void {
    const { clusterId, collections } = this.#o;
    const { id: replicaId, workers } = replica;
    const at = this.#at;
    switch (r.kind) {
      case 'hello':
        // All workers of a replica are one process: the first that says hello says it for all.
        if (this.#greeted.has(replica)) return;
        this.#greeted.add(replica);
        this.#tell({ kind: 'connected', clusterId, replicaId, incarnation: r.incarnation, workers, at });
        return;
      case 'lifecycle':
      case 'lifeClosed': {
        const c = collections.get(r.id);
        // A dropped index may go on for its importers; to readers its life ended with its drop.
        if (r.kind === 'lifecycle' && c?.dropped === true) return;
        const writes = c && c.kind === 'materialized-view';
        this.#tell({ kind: 'reported', replicaId, response: r, writes, at });
        return;
      }
      default:
        return;
    }
  }

  /** One on a host error, the others went down with it. */
  failed(replicaId: ReplicaId, objectIds: Iterable<GlobalId>): void {
    const at = this.#at;
    for (const objectId of objectIds) this.#tell({ kind: 'failed', replicaId, objectId, at });
  }

  /** It was lost or removed. */
  forgetReplica(replicaId: ReplicaId): void {
    this.#progress.forgetReplica(replicaId);
  }

  disconnected(replicaId: ReplicaId, reason: string): void {
    this.#tell({ kind: 'disconnected', replicaId, reason, at: this.#at });
  }

  created(objectId: GlobalId): void {
    this.#tell({ kind: 'created', clusterId: this.#o.clusterId, objectId, at: this.#at });
  }

  dropped(objectId: GlobalId): void {
    this.#progress.forget(objectId);
    this.#tell({ kind: 'dropped', clusterId: this.#o.clusterId, objectId, at: this.#at });
  }

  /** Replicas that come from now on do without it: it is complete for ever. */
  retired(objectId: GlobalId): void {
    const { clusterId } = this.#o;
    this.#tell({ kind: 'dropped', clusterId, objectId, at: this.#at, end: 'lost' });
  }
}
