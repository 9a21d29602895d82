/**
 * What the workers of one replica said about one life of an export, in whatever order and however often: the least and the greatest
 * over workers, each known only once all have reported.
 */
import type { GlobalId } from '../base/ids.ts';
import type { LifeClosedResponse, LifecycleResponse } from '../compute/protocol.ts';

export class WorkerReports {
  readonly objectId: GlobalId;
  readonly #workers: number;
  readonly #installed = new Map<number, number>();
  readonly #started = new Map<number, number>();
  readonly #hydrated = new Map<number, number>();
  readonly #peaks = new Map<number, number>();
  readonly #closed = new Set<number>();
  /** The number under which workers closed it. */
  sequence: number | undefined;
  unblockedAt: number | null = null;
  writtenAt: number | null = null;

  constructor(objectId: GlobalId, workers: number) {
    this.objectId = objectId;
    this.#workers = workers;
  }

  installedAt(worker: number): number | undefined {
    return this.#installed.get(worker);
  }

  /** The first report of a stage stands. */
  stage(r: LifecycleResponse): void {
    const first = (m: Map<number, number>): void => {
      if (!m.has(r.worker)) m.set(r.worker, r.occurredAt);
    };
    switch (r.stage) {
      case 'installed':
        first(this.#installed);
        break;
      case 'started':
        first(this.#started);
        break;
      case 'hydrated':
        first(this.#hydrated);
        this.#peak(r.worker, r.peakBytes ?? 0);
        break;
      case 'write_blocked':
        break;
      case 'write_unblocked':
        this.unblockedAt ??= r.occurredAt;
        break;
      case 'written':
        this.writtenAt ??= r.occurredAt;
        break;
    }
  }

  closed(r: LifeClosedResponse): void {
    this.sequence = r.sequence;
    this.#closed.add(r.worker);
    this.#peak(r.worker, r.peakBytes);
  }

  #peak(worker: number, bytes: number): void {
    this.#peaks.set(worker, Math.max(bytes, this.#peaks.get(worker) ?? 0));
  }

  get isClosed(): boolean {
    return this.#closed.size === this.#workers;
  }

  get startedAt(): number | null {
    return this.#started.size < this.#workers ? null : Math.min(...this.#started.values());
  }

  get hydratedAt(): number | null {
    return this.#hydrated.size < this.#workers ? null : Math.max(...this.#hydrated.values());
  }

  get peakBytes(): number | null {
    return this.#peaks.size === 0 ? null : this.#peaks.values().reduce((sum, b) => sum + b, 0);
  }
}
