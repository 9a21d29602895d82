/**
 * What has been, as the environment keeps it: episodes of objects and replicas, and when replicas came and went. Events come from
 * clusters as they happen; rows are durable soon after, and only then are closed lives acknowledged. A start reads
 * everything back: dataflows that a replica kept go on in the rows that they have.
 */
import { type Clock, type Logger, nowMicros, type Timers } from '../base/clock.ts';
import { idClass, type ReplicaId } from '../base/ids.ts';
import type { BuiltinTableName } from '../catalog/builtins/tables.ts';
import { type Episode, episodeKey } from '../controller/episode.ts';
import { type EpisodeChanges, type EpisodeEvent, Episodes, type LifeAck } from '../controller/episodes.ts';
import type { Row } from '../repr/types.ts';
import {
  objectOfRow,
  objectRow,
  type ReplicaStatusRow,
  replicaOfRow,
  replicaRow,
  statusOfRow,
  statusRow,
} from './history-rows.ts';
import { type HistoryChange, HistoryWriter } from './history-writer.ts';

const OBJECTS = 'mz_object_hydration_history' satisfies BuiltinTableName;
const REPLICAS = 'mz_replica_hydration_history' satisfies BuiltinTableName;
const STATUSES = 'mz_cluster_replica_status_history' satisfies BuiltinTableName;

export type HistoryTable = typeof OBJECTS | typeof REPLICAS | typeof STATUSES;

export interface HistoryOptions {
  readonly generation: number;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  /** What the relation holds. The key of each row is `historyKey`. */
  readonly read: (table: HistoryTable) => Promise<readonly Row[]>;
  readonly commit: (changes: readonly HistoryChange<HistoryTable>[]) => Promise<void>;
  readonly acknowledge: (ack: LifeAck) => void;
  readonly retentionMs: () => number;
}

/** The key of a row of these relations. */
export function historyKey(table: HistoryTable, row: Row): string {
  switch (table) {
    case OBJECTS:
      return episodeKey(objectOfRow(row));
    case REPLICAS:
      return episodeKey(replicaOfRow(row));
    case STATUSES:
      return statusKey(statusOfRow(row));
  }
}

const statusKey = (s: ReplicaStatusRow): string => `${s.replicaId}/${s.occurredAt}`;

/** Of a replica that does not come back. */
const DROPPED = 'dropped';
/** How often what is too old is looked for. */
const PRUNE_MS = 60_000;

export class History {
  readonly #o: HistoryOptions;
  readonly #episodes: Episodes;
  readonly #writer: HistoryWriter<HistoryTable>;
  /** Of each replica, in order. */
  readonly #statuses = new Map<ReplicaId, ReplicaStatusRow[]>();
  /** Ended lives that each worker of a replica forgot. */
  readonly #cut = new Map<string, number>();
  #pruneAtMs: number;

  constructor(options: HistoryOptions) {
    this.#o = options;
    this.#episodes = new Episodes(options.generation);
    this.#writer = new HistoryWriter(options);
    this.#pruneAtMs = options.clock.nowMs() + PRUNE_MS;
  }

  /**
   * From now on this generation writes: what the relations hold is taken over, and what waited is written. At a start of the
   * leader this comes first; a generation that stands by has heard of its own replicas before.
   */
  async lead(): Promise<void> {
    const { read } = this.#o;
    const [objects, replicas, rows] = [await read(OBJECTS), await read(REPLICAS), await read(STATUSES)];
    const statuses = rows.map(statusOfRow).sort((a, b) => a.occurredAt - b.occurredAt);
    const incarnations = new Map<ReplicaId, string>();
    for (const s of statuses) if (s.incarnation !== null) incarnations.set(s.replicaId, s.incarnation);
    for (const [id, older] of Map.groupBy(statuses, (s) => s.replicaId))
      this.#statuses.set(id, [...older, ...this.#statusesOf(id)]);
    const kept = [...objects.map(objectOfRow), ...replicas.map(replicaOfRow)];
    this.#put(this.#episodes.adopt(kept, incarnations, this.now));
    this.#writer.permit();
  }

  /** Microseconds since the epoch. */
  get now(): number {
    return nowMicros(this.#o.clock);
  }

  #statusesOf(id: ReplicaId): ReplicaStatusRow[] {
    let list = this.#statuses.get(id);
    if (list === undefined) this.#statuses.set(id, (list = []));
    return list;
  }

  /** Of a cluster; its system objects have no history. */
  receive(event: EpisodeEvent): void {
    if ('objectId' in event && idClass(event.objectId) !== 'user') return;
    if (event.kind === 'reported' && idClass(event.response.id) !== 'user') return;
    this.#status(event);
    this.#countCut(event);
    if ('clusterId' in event && idClass(event.clusterId) !== 'user') return;
    this.#put(this.#episodes.step(event));
  }

  #put({ episodes, acks }: EpisodeChanges): void {
    if (episodes.length === 0 && acks.length === 0) return;
    this.#writer.put(
      episodes.map((e) => change(e, false)),
      () => acks.forEach(this.#o.acknowledge),
    );
  }

  #status(event: EpisodeEvent): void {
    const status = statusOf(event);
    if (status !== undefined) this.#addStatus(status);
  }

  #addStatus(status: Omit<ReplicaStatusRow, 'occurredAt'>): void {
    const list = this.#statusesOf(status.replicaId);
    const row = { ...status, occurredAt: Math.max(this.now, (list.at(-1)?.occurredAt ?? 0) + 1) };
    list.push(row);
    this.#writer.put([{ table: STATUSES, key: statusKey(row), row: statusRow(row) }]);
  }

  /** A replica that had to forget ended lives says how many: that rows are missing must not stay unsaid. */
  #countCut(event: EpisodeEvent): void {
    if (event.kind !== 'reported' || event.response.kind !== 'lifeClosed') return;
    const { worker, cut } = event.response;
    const key = `${event.replicaId}/${worker}`;
    const known = this.#cut.get(key) ?? 0;
    // Fewer: another process.
    this.#cut.set(key, cut);
    if (cut <= known) return;
    const reason = `worker ${worker} forgot ${cut - known} ended lives that no history holds`;
    this.#o.logger.warn({ replica: event.replicaId }, reason);
    this.#addStatus({ replicaId: event.replicaId, status: 'online', reason, incarnation: null });
  }

  /** After a start, once the catalog is there: what was under way and belongs to nothing any more ends. */
  reconcile(exists: {
    readonly object: (id: string) => boolean;
    readonly replica: (id: string) => boolean;
  }): void {
    for (const { clusterId, objectId } of this.#episodes.openObjects())
      if (!exists.object(objectId)) this.receive({ kind: 'dropped', clusterId, objectId, at: this.now });
    for (const replicaId of this.#episodes.replicas())
      if (!exists.replica(replicaId))
        this.#put(this.#episodes.step({ kind: 'replicaDropped', replicaId, at: this.now }));
  }

  /** Now and then: what is older than the retention goes. */
  maintain(): void {
    const nowMs = this.#o.clock.nowMs();
    if (nowMs < this.#pruneAtMs) return;
    this.#pruneAtMs = nowMs + PRUNE_MS;
    const before = Math.round((nowMs - this.#o.retentionMs()) * 1000);
    const gone: HistoryChange<HistoryTable>[] = this.#episodes.prune(before).map((e) => change(e, true));
    for (const [id, list] of this.#statuses) {
      const old = list.slice(0, prunable(list)).filter((s) => s.occurredAt < before);
      for (const s of old) gone.push({ table: STATUSES, key: statusKey(s), row: null });
      if (old.length < list.length) this.#statuses.set(id, list.slice(old.length));
      else this.#forget(id);
    }
    if (gone.length > 0) this.#writer.put(gone);
  }

  #forget(id: ReplicaId): void {
    this.#statuses.delete(id);
    for (const key of this.#cut.keys()) if (key.startsWith(`${id}/`)) this.#cut.delete(key);
  }

  async close(): Promise<void> {
    await this.#writer.close();
  }
}

/** How many may go, the oldest: the newest that names a process tells which one runs the replica, or will when it is back. */
function prunable(list: readonly ReplicaStatusRow[]): number {
  if (list.at(-1)?.reason === DROPPED) return list.length;
  const named = list.findLastIndex((s) => s.incarnation !== null);
  return named < 0 ? list.length - 1 : named;
}

function change(e: Episode, gone: boolean): HistoryChange<HistoryTable> {
  const key = episodeKey(e);
  if (e.kind === 'object') return { table: OBJECTS, key, row: gone ? null : objectRow(e) };
  return { table: REPLICAS, key, row: gone ? null : replicaRow(e) };
}

function statusOf(e: EpisodeEvent): Omit<ReplicaStatusRow, 'occurredAt'> | undefined {
  switch (e.kind) {
    case 'connected':
      return { replicaId: e.replicaId, status: 'online', reason: null, incarnation: e.incarnation };
    case 'disconnected':
      return { replicaId: e.replicaId, status: 'offline', reason: e.reason, incarnation: null };
    case 'replicaDropped':
      return { replicaId: e.replicaId, status: 'offline', reason: DROPPED, incarnation: null };
    default:
      return undefined;
  }
}
