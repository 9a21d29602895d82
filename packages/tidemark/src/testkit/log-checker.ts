/**
 * Holds the log relations of a replica to what they promise, at every timestamp: fed with what its workers' logs say, it applies
 * the updates of a time once all workers are past it, and then looks at the relations as a reader of that time would.
 *
 * It cannot see: faults between the log and its arrangement (compare `contents` with a query for those), and what
 * happened and was taken back within one interval.
 */
import { frontierOwner } from '../compute/frontier-owner.ts';
import type { LogUpdates } from '../introspection/compute-log.ts';
import { type LifecycleStage, STAGE_NAMES, STAGES } from '../introspection/lifecycle.ts';
import type { LogRelation } from '../introspection/log-relation.ts';
import { LOG_NAMES, LOG_RELATIONS, type LogName, logDesc } from '../introspection/relations.ts';
import { type Batch, diffAt, timeAt } from '../repr/batch.ts';
import { datumAt } from '../repr/datum.ts';
import type { Datum, Row } from '../repr/types.ts';

interface Update {
  readonly log: LogName;
  readonly row: Row;
  /** The row as a key of a map. */
  readonly key: string;
  readonly time: number;
  readonly diff: number;
}

interface Event {
  readonly stage: LifecycleStage;
  readonly at: bigint;
  readonly reason: Datum;
}

/** What one export has on one worker. */
interface Side {
  readonly events: Event[];
  times: Row | undefined;
  isExport: boolean;
}

const WRITES: readonly LifecycleStage[] = ['write_blocked', 'write_unblocked', 'written'];

/** A row as a key of a map, one for equal rows of a relation. Made by JSON it took half the time of all checks. */
function rowKey(row: Row): string {
  let key = '';
  for (const d of row)
    if (typeof d === 'string') key += `${d.length}:${d}|`;
    else key += typeof d === 'object' ? `${JSON.stringify(d, bigints)}|` : `${d}|`;
  return key;
}

const bigints = (_: string, v: unknown): unknown => (typeof v === 'bigint' ? `${v}n` : v);

export class LogChecker {
  readonly #workers: number;
  readonly #skewed: boolean;
  readonly #frontiers: number[];
  #pending: Update[] = [];
  readonly #counts = new Map<LogName, Map<string, { readonly row: Row; count: number }>>();
  /** Exports of which something was taken back: they are ending, worker by worker. */
  readonly #ending = new Set<Datum>();
  /** Everything that was found wrong. */
  readonly faults: string[] = [];
  /** Timestamps looked at: a checker that saw nothing has proved nothing. */
  timesChecked = 0;
  readonly stagesSeen = new Set<string>();

  /** `skewed`: the workers' clocks differ, so that instants of two workers say nothing about each other. */
  constructor(options: { readonly workers: number; readonly skewed?: boolean }) {
    this.#workers = options.workers;
    this.#skewed = options.skewed ?? false;
    this.#frontiers = new Array<number>(options.workers).fill(0);
  }

  receive(worker: number, updates: LogUpdates): void {
    for (const [log, batch] of updates.batches)
      for (const u of updatesOf(log, batch)) {
        this.#require(
          u.time >= this.#frontiers[worker]!,
          `${log} gets a row at ${u.time}, which was complete`,
        );
        this.#pending.push(u);
      }
    this.#frontiers[worker] = updates.frontier;
    this.#advance(Math.min(...this.#frontiers));
  }

  #require(condition: boolean, fault: string): void {
    if (!condition) this.faults.push(fault);
  }

  #advance(frontier: number): void {
    const due = this.#pending.filter((u) => u.time < frontier).sort((a, b) => a.time - b.time);
    if (due.length === 0) return;
    this.#pending = this.#pending.filter((u) => u.time >= frontier);
    for (let at = 0; at < due.length; ) {
      const { time } = due[at]!;
      const first = at;
      while (at < due.length && due[at]!.time === time) this.#apply(due[at++]!);
      this.#checkCounts(time, due.slice(first, at));
      this.#check(time, due.slice(first, at));
    }
  }

  #apply({ log, row, key, diff }: Update): void {
    let rows = this.#counts.get(log);
    if (rows === undefined) this.#counts.set(log, (rows = new Map()));
    const entry = rows.get(key) ?? { row, count: 0 };
    entry.count += diff;
    rows.set(key, entry);
  }

  /** Rows of a log with how often each is there, as of the last time that all workers are past. */
  counts(log: LogName): readonly { readonly row: Row; readonly count: number }[] {
    return [...(this.#counts.get(log)?.values() ?? [])];
  }

  /** Rows of a log as of the last time that all workers are past, each as often as it is there. */
  contents(log: LogName): readonly Row[] {
    const out: Row[] = [];
    for (const { row, count } of this.#counts.get(log)?.values() ?? [])
      for (let i = 0; i < count; i++) out.push(row);
    return out;
  }

  /** No row is there less than never, and none twice but where that is the number. */
  #checkCounts(time: number, updates: readonly Update[]): void {
    for (const { log, key } of updates) {
      const rows = this.#counts.get(log)!;
      const count = rows.get(key)?.count;
      if (count === undefined) continue;
      const relation: LogRelation = LOG_RELATIONS[log];
      const most = relation.counts ? Number.POSITIVE_INFINITY : 1;
      this.#require(count >= 0 && count <= most, `at ${time} ${log} has ${count} copies of ${key}`);
      if (count === 0) rows.delete(key);
    }
  }

  #check(time: number, updates: readonly Update[]): void {
    this.timesChecked++;
    for (const u of updates)
      if (u.log === 'mz_compute_exports_per_worker' && u.diff < 0) this.#ending.add(u.row[0]!);
    const exports = new Map<string, Map<number, Side>>();
    for (const log of OF_EXPORTS) for (const row of this.contents(log)) collect(exports, log, row);
    for (const [id, sides] of exports) this.#checkExport(`at ${time} ${id}`, id, sides);
    for (const id of this.#ending) if (!exports.has(String(id))) this.#ending.delete(id);
  }

  #checkExport(what: string, id: string, sides: ReadonlyMap<number, Side>): void {
    const events = [...sides.values()].flatMap((s) => s.events);
    this.#require(events.length <= 3 * this.#workers + 3, `${what} has ${events.length} events`);
    for (const [worker, side] of sides) this.#checkSide(`${what} on worker ${worker}`, id, worker, side);
    const written = events.find((e) => e.stage === 'written' || e.stage === 'write_blocked');
    if (written === undefined || this.#skewed || this.#ending.has(id)) return;
    const hydrated = events.filter((e) => e.stage === 'hydrated');
    this.#require(
      hydrated.length === this.#workers,
      `${what} is ${written.stage} and not hydrated everywhere`,
    );
    for (const h of hydrated)
      this.#require(h.at <= written.at, `${what} is ${written.stage} before it is hydrated`);
  }

  #checkSide(what: string, id: string, worker: number, side: Side): void {
    const { events, times } = side;
    const has = (stage: LifecycleStage): Event | undefined => events.find((e) => e.stage === stage);
    this.#require(side.isExport, `${what} has rows and is no export`);
    this.#require(has('installed') !== undefined, `${what} is not installed`);
    for (const e of events) {
      this.stagesSeen.add(e.stage);
      const reasons: readonly string[] = STAGES[e.stage].reasons;
      const fits = reasons.length === 0 ? e.reason === null : reasons.includes(String(e.reason));
      this.#require(fits, `${what}: ${e.stage} has reason ${String(e.reason)}`);
      this.#require(
        events.filter((o) => o.stage === e.stage).length === 1,
        `${what}: ${e.stage} is there twice`,
      );
      for (const p of predecessors(e.stage))
        this.#require(has(p) !== undefined, `${what}: ${e.stage} is there without ${p}`);
      if (WRITES.includes(e.stage))
        this.#require(frontierOwner(id, this.#workers) === worker, `${what}: ${e.stage} is not on the owner`);
    }
    this.#require(
      has('written') === undefined ||
        has('write_blocked') === undefined ||
        has('write_unblocked') !== undefined,
      `${what} is written while it is blocked`,
    );
    const ordered = [...events].sort((a, b) => STAGE_NAMES.indexOf(a.stage) - STAGE_NAMES.indexOf(b.stage));
    for (const [i, e] of ordered.entries())
      this.#require(i === 0 || ordered[i - 1]!.at <= e.at, `${what}: ${e.stage} is before what precedes it`);
    if (times === undefined) return this.#require(false, `${what} has no hydration times`);
    const [, , timeNs, installed, started, output] = times as [string, bigint, ...(bigint | null)[]];
    this.#require(installed === has('installed')?.at, `${what}: installed_at is not the event's`);
    this.#require(started === (has('started')?.at ?? null), `${what}: started_at is not the event's`);
    this.#require((timeNs === null) === (output === null), `${what}: time_ns and hydrated_at go together`);
    if (output === null || output === undefined) return;
    this.#require(started !== null, `${what} has hydrated_at without started_at`);
    this.#require(installed! <= started! && started! <= output, `${what}: instants are not in order`);
  }

  /**
   * Rows whose owner a user made: once everything of users is dropped there are none. Counts of what is over, and figures
   * of a process, belong to nobody who is dropped.
   */
  get owned(): readonly string[] {
    const out: string[] = [];
    for (const log of LOG_NAMES) {
      if (CUMULATIVE.includes(log)) continue;
      for (const { row, count } of this.counts(log))
        if (count !== 0 && !String(row[0]).startsWith('si')) out.push(`${log} ${rowKey(row)} × ${count}`);
    }
    return out;
  }

  /** Exports that have rows in any log now. */
  get exports(): ReadonlySet<string> {
    const out = new Set<string>();
    for (const log of OF_EXPORTS) for (const row of this.contents(log)) out.add(String(row[0]));
    return out;
  }
}

const CUMULATIVE: readonly LogName[] = [
  'mz_peek_durations_histogram_raw',
  'mz_scheduling_parks_histogram_raw',
  'mz_cluster_prometheus_metrics',
  'mz_cluster_replica_resource_usage',
];

/** Relations whose rows belong to an export, which their first column names. */
const OF_EXPORTS = [
  'mz_compute_exports_per_worker',
  'mz_compute_frontiers_per_worker',
  'mz_compute_import_frontiers_per_worker',
  'mz_compute_error_counts_raw',
  'mz_compute_hydration_times_per_worker',
  'mz_compute_lifecycle_events_per_worker',
] as const satisfies readonly LogName[];

function predecessors(stage: LifecycleStage): readonly LifecycleStage[] {
  switch (stage) {
    case 'installed':
      return [];
    case 'started':
      return ['installed'];
    case 'hydrated':
      return ['started'];
    case 'write_blocked':
      return ['hydrated'];
    case 'write_unblocked':
      return ['write_blocked'];
    case 'written':
      return ['hydrated'];
  }
}

function collect(exports: Map<string, Map<number, Side>>, log: (typeof OF_EXPORTS)[number], row: Row): void {
  const id = String(row[0]);
  const worker = Number(row[logDesc(log).columns.findIndex((c) => c.name === 'worker_id')]);
  let sides = exports.get(id);
  if (sides === undefined) exports.set(id, (sides = new Map()));
  let side = sides.get(worker);
  if (side === undefined) sides.set(worker, (side = { events: [], times: undefined, isExport: false }));
  if (log === 'mz_compute_exports_per_worker') side.isExport = true;
  else if (log === 'mz_compute_hydration_times_per_worker') side.times = row;
  else if (log === 'mz_compute_lifecycle_events_per_worker')
    side.events.push({ stage: row[2] as LifecycleStage, at: row[3] as bigint, reason: row[4]! });
}

function updatesOf(log: LogName, batch: Batch): readonly Update[] {
  const types = logDesc(log).columns.map((c) => c.type);
  return Array.from({ length: batch.length }, (_, i) => {
    const row = types.map((t, k) => datumAt(t, batch.columns[k]!, i));
    return { log, row, key: rowKey(row), time: timeAt(batch, i), diff: diffAt(batch, i) };
  });
}
