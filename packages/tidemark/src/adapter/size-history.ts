/** Sizes of users' objects over time: a sample every few minutes, kept for a day, since this start of the environment. */
import { type CancelTimer, type Clock, nowMicros, type Timers } from '../base/clock.ts';
import type { ReplicaId } from '../base/ids.ts';
import type { Row } from '../repr/types.ts';
import type { LiveChange } from './live-rows.ts';

export interface SizeSample {
  readonly replicaId: ReplicaId;
  readonly objectId: string;
  readonly size: bigint;
  readonly hydrated: boolean;
}

export interface SizeHistoryOptions {
  readonly clock: Clock;
  readonly timers: Timers;
  readonly sample: () => readonly SizeSample[];
  readonly setLive: (changes: readonly LiveChange[]) => void;
}

const TABLE = 'mz_object_arrangement_size_history';
const EVERY_MS = 5 * 60_000;
const KEPT = 288;

export class SizeHistory {
  readonly #o: SizeHistoryOptions;
  /** Keys of the rows, oldest first, by replica. */
  readonly #kept = new Map<ReplicaId, string[]>();
  #cancel: CancelTimer | undefined;

  constructor(options: SizeHistoryOptions) {
    this.#o = options;
  }

  begin(): void {
    this.#cancel = this.#o.timers.after(EVERY_MS, () => {
      this.#take();
      this.begin();
    });
  }

  #take(): void {
    const at = BigInt(nowMicros(this.#o.clock));
    const byReplica = new Map<ReplicaId, Row[]>();
    for (const { replicaId, objectId, size, hydrated } of this.#o.sample()) {
      const rows = byReplica.get(replicaId) ?? [];
      rows.push([replicaId, objectId, size, at, hydrated]);
      byReplica.set(replicaId, rows);
    }
    const changes: LiveChange[] = [];
    for (const [replicaId, rows] of byReplica) {
      const kept = this.#kept.get(replicaId) ?? [];
      this.#kept.set(replicaId, kept);
      const key = `${replicaId}/${at}`;
      kept.push(key);
      changes.push({ table: TABLE, key, rows });
      if (kept.length > KEPT) changes.push({ table: TABLE, key: kept.shift()!, rows: [] });
    }
    if (changes.length > 0) this.#o.setLive(changes);
  }

  /** What takes back the rows of a replica that is dropped. */
  dropped(replicaId: ReplicaId): LiveChange[] {
    const kept = this.#kept.get(replicaId) ?? [];
    this.#kept.delete(replicaId);
    return kept.map((key) => ({ table: TABLE, key, rows: [] }));
  }

  close(): void {
    this.#cancel?.();
  }
}
