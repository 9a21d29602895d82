/**
 * One worker's compute log: the calls by which a worker says what happens, and the rows that come of it. Calls record
 * events; `drain` turns them into updates at log times.
 *
 * Log time of an event: the next multiple of the interval, strictly later than the event. Everything before the
 * multiple that `now` lies under is complete, so a row is visible at most one interval after its event.
 */
import type { Clock } from '../base/clock.ts';
import type { Batch } from '../repr/batch.ts';
import { batchOf } from '../repr/rows.ts';
import type { Row } from '../repr/types.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';
import { Demux, instantMicros, PEEK_TYPES, type PeekType } from './demux.ts';
import { EventRing, NO_TIME, SideTable } from './events.ts';
import {
  type InstallReason,
  type LifecycleStage,
  STAGE_NAMES,
  STAGES,
  type StartReason,
} from './lifecycle.ts';
import { type LogName, logDesc } from './relations.ts';

/** The log time under which an event of that instant becomes visible. */
export function logTime(ms: number, intervalMs: number): number {
  return (Math.floor(ms / intervalMs) + 1) * intervalMs;
}

/** One clock anchor a worker: the epoch read once, advanced by the monotonic clock. Immune to clock steps. */
export class EventClock {
  readonly #clock: Clock;
  readonly #originNs: number;
  readonly anchorMicros: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.anchorMicros = Math.round(clock.nowMs() * 1000);
    this.#originNs = clock.monotonicNs();
  }

  /** Whole nanoseconds since the anchor; a clock may read fractions. */
  ns(): number {
    return Math.round(this.#clock.monotonicNs() - this.#originNs);
  }

  micros(ns: number): number {
    return instantMicros(this.anchorMicros, ns);
  }

  ms(ns: number): number {
    return this.anchorMicros / 1000 + ns / 1e6;
  }
}

/** What a worker logs about one export. Frontiers are logged when they change; the empty one has no row. */
export class ExportLog {
  readonly #log: ComputeLog;
  readonly #slot: number;
  #dropped = false;
  #frontier = NO_TIME;
  readonly #imports = new Map<string, { readonly slot: number; time: number }>();

  constructor(log: ComputeLog, slot: number, imports: readonly string[]) {
    this.#log = log;
    this.#slot = slot;
    this.frontier(0);
    for (const id of imports) {
      this.#imports.set(id, { slot: log.side.add(id), time: NO_TIME });
      this.importFrontier(id, 0);
    }
  }

  frontier(frontier: Frontier): void {
    const time = frontier === EMPTY ? NO_TIME : frontier;
    if (time === this.#frontier) return;
    this.#frontier = time;
    this.#log.ring.record('frontier', this.#log.clock.ns(), this.#slot, time);
  }

  importFrontier(id: string, frontier: Frontier): void {
    const state = this.#imports.get(id)!;
    const time = frontier === EMPTY ? NO_TIME : frontier;
    if (time === state.time) return;
    state.time = time;
    this.#log.ring.record('importFrontier', this.#log.clock.ns(), this.#slot, state.slot, time);
  }

  errors(diff: number): void {
    if (diff !== 0 && !this.#dropped)
      this.#log.ring.record('errorCount', this.#log.clock.ns(), this.#slot, diff);
  }

  started(ns: number, reason: StartReason): void {
    this.#log.ring.record('hydrationStart', ns, this.#slot, STAGES.started.reasons.indexOf(reason));
  }

  stage(ns: number, stage: LifecycleStage): void {
    this.#log.ring.record('lifecycle', ns, this.#slot, STAGE_NAMES.indexOf(stage));
  }

  outputPassed(ns: number): void {
    this.#log.ring.record('hydration', ns, this.#slot);
  }

  /** The frontier row, then the import rows, then everything else the export holds. */
  drop(): void {
    this.frontier(EMPTY);
    for (const [id, { slot }] of this.#imports) {
      this.importFrontier(id, EMPTY);
      this.#log.releaseAfterDrain(slot);
    }
    this.#imports.clear();
    // The slot will serve another export: a late error count must not reach it.
    this.#dropped = true;
    this.#log.ring.record('exportDropped', this.#log.clock.ns(), this.#slot);
  }
}

/** Rows of the logs since the last drain, and the log time before which all is known. */
export interface LogUpdates {
  readonly batches: ReadonlyMap<LogName, Batch>;
  readonly frontier: Frontier;
}

export class ComputeLog {
  readonly ring: EventRing = new EventRing();
  readonly side: SideTable = new SideTable();
  readonly clock: EventClock;
  readonly #intervalMs: number;
  readonly #demux: Demux;
  readonly #release: number[] = [];
  #pending: { relation: LogName; row: Row; diff: 1 | -1; time: number }[] = [];
  #eventTime = 0;

  constructor(options: { readonly worker: number; readonly clock: EventClock; readonly intervalMs: number }) {
    this.clock = options.clock;
    this.#intervalMs = options.intervalMs;
    this.#demux = new Demux({
      worker: options.worker,
      anchorMicros: options.clock.anchorMicros,
      side: this.side,
      emit: (relation, row, diff) => this.#pending.push({ relation, row, diff, time: this.#eventTime }),
    });
  }

  exportCreated(options: {
    id: string;
    ns: number;
    dataflow: number;
    asOf: number;
    reason: InstallReason;
    imports: readonly string[];
  }): ExportLog {
    const slot = this.side.add(options.id);
    this.ring.record(
      'export',
      options.ns,
      slot,
      options.dataflow,
      options.asOf,
      STAGES.installed.reasons.indexOf(options.reason),
    );
    return new ExportLog(this, slot, options.imports);
  }

  /** Returns the call that retires the peek; exactly one call to it is due. */
  peekInstalled(options: { uuid: string; objectId: string; type: PeekType; time: number }): () => void {
    const slot = this.side.add(options.uuid);
    this.ring.record(
      'peekInstalled',
      this.clock.ns(),
      slot,
      this.side.add(options.objectId),
      PEEK_TYPES.indexOf(options.type),
      options.time,
    );
    return () => this.ring.record('peekRetired', this.clock.ns(), slot);
  }

  releaseAfterDrain(slot: number): void {
    this.#release.push(slot);
  }

  /** Owners that still hold rows, events not yet drained, side table slots in use: what is left behind. */
  get live(): { owners: number; events: number; slots: number } {
    return { owners: this.#demux.owners, events: this.ring.pending, slots: this.side.live };
  }

  /** The log time under which an event of now would stand: everything before it is complete. */
  now(): Frontier {
    return logTime(this.clock.ms(this.clock.ns()), this.#intervalMs);
  }

  drain(): LogUpdates {
    this.ring.drain((kind, ns, a, b, c, d) => {
      this.#eventTime = logTime(this.clock.ms(ns), this.#intervalMs);
      this.#demux.handle(kind, ns, a, b, c, d);
    });
    for (const slot of this.#release.splice(0)) this.side.release(slot);
    const pending = this.#pending;
    this.#pending = [];
    const byLog = new Map<LogName, Row[]>();
    const meta = new Map<LogName, { times: number[]; diffs: number[] }>();
    for (const u of pending) {
      let rows = byLog.get(u.relation);
      if (rows === undefined) {
        rows = [];
        byLog.set(u.relation, rows);
        meta.set(u.relation, { times: [], diffs: [] });
      }
      rows.push(u.row);
      meta.get(u.relation)!.times.push(u.time);
      meta.get(u.relation)!.diffs.push(u.diff);
    }
    const batches = new Map<LogName, Batch>();
    for (const [name, rows] of byLog) {
      const types = logDesc(name).columns.map((c) => c.type);
      batches.set(name, batchOf(types, rows, meta.get(name)!));
    }
    return { batches, frontier: this.now() };
  }
}
