/**
 * One worker's compute log: the calls by which a worker says what happens, and the rows that come of it. Calls record
 * events; `drain` turns them into updates at log times.
 *
 * Log time of an event: the next multiple of the interval, strictly later than the event. Everything before the
 * multiple that `now` lies under is complete, so a row is visible at most one interval after its event.
 */
import { type Clock, nowMicros } from '../base/clock.ts';
import type { Batch } from '../repr/batch.ts';
import { EMPTY, type Frontier } from '../time/timestamp.ts';
import { bucketNs, type TellCount } from './counters.ts';
import { Demux, instantMicros, type LirMapping, type LirRow, PEEK_TYPES, type PeekType } from './demux.ts';
import { EVENTS, EventRing, NO_TIME, SideTable } from './events.ts';
import {
  type InstallReason,
  type LifecycleStage,
  STAGE_NAMES,
  STAGES,
  type StartReason,
} from './lifecycle.ts';
import { LogBuffer } from './log-buffer.ts';
import type { MetricsRegistry } from './metrics-registry.ts';
import { ProcessLog, type ResourceUsage } from './process-log.ts';
import type { LogName } from './relations.ts';
import { RuntimeDemux } from './runtime-demux.ts';
import { RuntimeLog } from './runtime-log.ts';
import { RuntimeState } from './runtime-state.ts';

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
    this.anchorMicros = nowMicros(clock);
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

  /** Whether the output of a node of its plan has passed the as-of. */
  operatorHydrated(lirId: number, hydrated: boolean): void {
    if (!this.#dropped)
      this.#log.ring.record('operatorHydration', this.#log.clock.ns(), this.#slot, lirId, hydrated ? 1 : 0);
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

/** What a worker logs about one dataflow that exports something. Its end is an event of the runtime. */
export class DataflowLog {
  readonly #log: ComputeLog;
  readonly #dataflow: number;

  constructor(log: ComputeLog, dataflow: number) {
    this.#log = log;
    this.#dataflow = dataflow;
  }

  /** What the plan of a collection became. */
  plan(globalId: string, nodes: readonly LirRow[]): void {
    const log = this.#log;
    log.ring.record('lirMapping', log.clock.ns(), this.#dataflow, log.mappings.add({ globalId, nodes }));
  }

  exportsDropped(): void {
    this.#log.ring.record('exportsDropped', this.#log.clock.ns(), this.#dataflow);
  }
}

/** So many events are not left waiting for the end of the interval. */
const DRAIN_EVENTS = 128;

export class ComputeLog {
  readonly ring: EventRing = new EventRing();
  readonly side: SideTable = new SideTable();
  readonly mappings: SideTable<LirMapping> = new SideTable();
  readonly clock: EventClock;
  /** Where the runtime tells what it does. */
  readonly runtime: RuntimeLog;
  readonly #intervalMs: number;
  readonly #worker: number;
  readonly #buffer = new LogBuffer();
  readonly #demux: Demux;
  readonly #runtimeDemux: RuntimeDemux;
  readonly #process: ProcessLog;
  readonly #release: number[] = [];
  readonly #keptUpTo: () => Frontier;
  #flushAtMs = 0;
  /** Counts were told at this log time. */
  #countedTo: Frontier = -1;
  #drainedTo: Frontier = 0;

  constructor(options: {
    readonly worker: number;
    readonly peers: number;
    readonly clock: EventClock;
    readonly intervalMs: number;
    readonly metrics: MetricsRegistry;
    readonly usage?: (() => Iterable<ResourceUsage>) | undefined;
    /** How far on this worker what is kept from the logs has come; absent: nothing is. */
    readonly keptUpTo?: () => Frontier;
  }) {
    this.#keptUpTo = options.keptUpTo ?? (() => EMPTY);
    const { clock, worker, peers, metrics } = options;
    this.clock = clock;
    this.#worker = worker;
    this.#intervalMs = options.intervalMs;
    const state = new RuntimeState(peers);
    this.runtime = new RuntimeLog({ state, ring: this.ring, ns: () => clock.ns(), peers });
    this.#runtimeDemux = new RuntimeDemux({ worker, peers, state, buffer: this.#buffer });
    const usage = options.usage ?? (() => []);
    this.#process = new ProcessLog({ worker, metrics, usage, buffer: this.#buffer });
    this.#demux = new Demux({
      worker,
      anchorMicros: clock.anchorMicros,
      side: this.side,
      mappings: this.mappings,
      emit: (relation, row, diff) => this.#buffer.row(relation, row, diff),
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

  /** `computes`: the collections that it renders. */
  dataflowCreated(options: {
    readonly dataflow: number;
    readonly asOf: number;
    readonly computes: readonly string[];
  }): DataflowLog {
    const ns = this.clock.ns();
    this.ring.record('dataflow', ns, options.dataflow, options.asOf);
    for (const id of options.computes)
      this.ring.record('dataflowGlobal', ns, options.dataflow, this.side.add(id));
    return new DataflowLog(this, options.dataflow);
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
    return {
      owners: this.#demux.owners + this.#runtimeDemux.owners,
      events: this.ring.pending,
      slots: this.side.live + this.mappings.live,
    };
  }

  /** The log time under which an event of now would stand: everything before it is complete. */
  now(): Frontier {
    return logTime(this.clock.ms(this.clock.ns()), this.#intervalMs);
  }

  /** Milliseconds until there is something to tell though nothing happens: an interval is over, or counters are due. */
  get nextTurnMs(): number {
    const now = this.clock.ms(this.clock.ns());
    const over = logTime(now, this.#intervalMs) - now;
    // Whole milliseconds: a timer that came a rounding error too early would come for ever.
    return Math.max(0, this.#countsWait ? Math.min(over, Math.ceil(this.#flushAtMs - now)) : over);
  }

  /** Whether there are counts that nothing but the interval keeps from being told. */
  get #countsWait(): boolean {
    return (this.#demux.dirty || this.#runtimeDemux.dirty) && this.#areKept;
  }

  /** Whether the counts that were told last have arrived in what is kept from them. */
  get #areKept(): boolean {
    return this.#keptUpTo() > this.#countedTo;
  }

  /**
   * Whether there is a reason to drain: many events, counters due, or an interval is over. Nobody sees a row before its interval is over,
   * so draining at each step would only cut the updates into small batches.
   */
  get due(): boolean {
    if (this.ring.pending >= DRAIN_EVENTS) return true;
    const now = this.clock.ms(this.clock.ns());
    if (logTime(now, this.#intervalMs) > this.#drainedTo) return true;
    return now >= this.#flushAtMs && this.#countsWait;
  }

  drain(): LogUpdates {
    this.ring.drain((kind, ns, a, b, c, d) => {
      this.#buffer.time = logTime(this.clock.ms(ns), this.#intervalMs);
      if (EVENTS[kind].of === 'operator') this.#runtimeDemux.handle(kind, a);
      else this.#demux.handle(kind, ns, a, b, c, d);
    });
    for (const slot of this.#release.splice(0)) this.side.release(slot);
    this.#flush();
    this.#scrape();
    this.#drainedTo = this.now();
    return { batches: this.#buffer.take(), frontier: this.#drainedTo };
  }

  /**
   * Tells what was counted, once an interval and as of now, so at most an interval later than it happened: a worker with a thousand
   * operators at work has some five thousand rows to tell. Where what is kept from them is behind, it waits for that, and the differences
   * add up meanwhile: a saturated worker would only pile up intervals that nobody has come to read.
   */
  #flush(): void {
    const now = this.clock.ms(this.clock.ns());
    if (now < this.#flushAtMs || !this.#areKept) return;
    this.#flushAtMs = now + this.#intervalMs;
    this.#buffer.time = logTime(now, this.#intervalMs);
    this.#countedTo = this.#buffer.time;
    this.#demux.flush(this.#tellPeeks);
    this.#runtimeDemux.flush();
  }

  /**
   * Reads what nobody tells, when an interval is over. Its rows still stand in that one, so that they are seen at once: a figure that was read
   * has no event that it must come after.
   */
  #scrape(): void {
    const now = this.clock.ms(this.clock.ns());
    const time = logTime(now, this.#intervalMs);
    if (time <= this.#drainedTo) return;
    this.#buffer.time = this.#drainedTo === 0 ? time : this.#drainedTo;
    this.#process.scrape(now, this.#intervalMs);
  }

  /** How often metrics are read, if that is less than once an interval; 0: not at all. */
  setMetricsInterval(ms: number): void {
    this.#process.setMetricsInterval(ms);
  }

  readonly #tellPeeks: TellCount = (type, bucket, diff) =>
    this.#buffer.count('mz_peek_durations_histogram_raw', diff, this.#worker, type, bucketNs(bucket));
}
