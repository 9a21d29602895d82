/**
 * One worker of a replica: obeys commands, runs dataflows, answers peeks, reports frontiers and lives. A host gives it time (`step`),
 * commands, and what other workers sent; it owns no thread, clock or socket.
 *
 * A command that has arrived is applied before the next slice or report. A slice ends within SLICE_NS, which bounds how long a
 * status query waits while ten million rows hydrate.
 */
import { assert } from '../base/assert.ts';
import type { Clock, Logger, Random, Timers } from '../base/clock.ts';
import { unsupported } from '../base/error.ts';
import { type GlobalId, idClass } from '../base/ids.ts';
import type { Mesh, MeshMessage } from '../dataflow/mesh.ts';
import { type DebugCounts, Worker } from '../dataflow/worker.ts';
import type { EvalContext } from '../expr/functions.ts';
import { ComputeLog, EventClock, type LogUpdates } from '../introspection/compute-log.ts';
import type { InstallReason } from '../introspection/lifecycle.ts';
import type { LoggingConfig } from '../introspection/logging-config.ts';
import { MetricsRegistry } from '../introspection/metrics-registry.ts';
import type { ResourceUsage } from '../introspection/process-log.ts';
import { EMPTY, type Frontier, MIN_TIME, meet } from '../time/timestamp.ts';
import { ArrangementBytes } from './arrangement-bytes.ts';
import { ClosedLives } from './closed-lives.ts';
import { Collection, reportAll } from './collection.ts';
import { DataflowInstance } from './dataflow-instance.ts';
import { LoggingDataflow } from './logging-dataflow.ts';
import type { MemoryBudget } from './memory-budget.ts';
import { WorkerPeeks } from './peeks.ts';
import type { SnapshotProgress } from './progress.ts';
import type { Command, DataflowDescription, Response, Tunables } from './protocol.ts';
import { PROTOCOL_VERSION } from './protocol.ts';
import { outcomesOf, reconcile } from './reconcile.ts';
import { Reporting } from './reporting.ts';
import { hostError, type ShardAccess } from './shard-source.ts';
import type { FileWriter } from './sink/sink.ts';
import { WorkerEvents } from './worker-events.ts';
import { WorkerMetrics } from './worker-metrics.ts';

const SLICE_NS = 8_000_000;
/**
 * While somebody waits for an answer: a query on several workers is a dozen messages one after the other, and each of them waits for
 * the slice under way.
 */
const HURRIED_SLICE_NS = 2_000_000;

export interface ComputeWorkerOptions {
  readonly index: number;
  readonly peers: number;
  readonly mesh: Mesh;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly logger: Logger;
  readonly shards: ShardAccess;
  /** Follows the upper of a shard. */
  readonly watch: (shardId: string, onUpper: (upper: Frontier) => void) => () => void;
  readonly send: (response: Response) => void;
  /** Begins a file on this machine, for COPY … TO; absent: there are none. */
  readonly openFile?: (path: string) => Promise<FileWriter>;
  /** There is something to do: call `step`. */
  readonly onWake: () => void;
  /** Drawn once by the process. */
  readonly incarnation: string;
  /** Of shards that do not outlive the controller's connection: what reads them is not kept for the next one. None if absent. */
  readonly inMemory?: (shardId: string) => boolean;
  readonly random?: Random;
  /** Absent: it may take what there is. */
  readonly budget?: MemoryBudget;
  /** What the worker may say of the machine: the first of a process of the process too. */
  readonly usage?: (() => Iterable<ResourceUsage>) | undefined;
  /** Sees what the log says, as it goes into the arrangements. */
  readonly onLogUpdates?: (updates: LogUpdates) => void;
}

/** Everything that lives on a worker. Logs live as long as it does: the rest is zero once all is dropped. */
export interface WorkerCounts extends DebugCounts {
  readonly collections: number;
  readonly peeks: number;
  /** Exports and peeks that have rows in the logs, and texts that their events refer to. */
  readonly logOwners: number;
  readonly logSlots: number;
  /** Dataflows that still hold bytes, or live. */
  readonly sizedDataflows: number;
}

/** A maintained dataflow knows no session: times are UTC, and what depends on the moment has been folded away. */
const EVAL_CONTEXT: EvalContext = { timeZone: 'UTC' };

const noFiles = (): Promise<never> => Promise.reject(unsupported('a file on this host'));

/** Pause before a failed write is tried again. */
const RETRY_MS = 1000;

export class ComputeWorker {
  /** What this worker counts, and what metric sinks keep here. */
  readonly metrics: MetricsRegistry = new MetricsRegistry();
  readonly #counted: WorkerMetrics;
  /** What its arrangements occupy, by dataflow. */
  readonly bytes: ArrangementBytes = new ArrangementBytes();
  readonly #o: ComputeWorkerOptions;
  readonly #events = new WorkerEvents(this.bytes);
  readonly #worker: Worker;
  readonly #clock: EventClock;
  readonly #peeks: WorkerPeeks;
  readonly #closedLives: ClosedLives;
  readonly #collections = new Map<GlobalId, Collection>();
  readonly #dataflows = new Set<DataflowInstance>();
  /** Those of them that the engine keeps over logs. */
  readonly #internal = new Set<DataflowInstance>();
  readonly #byExport = new Map<GlobalId, DataflowInstance>();
  readonly #reporting = new Reporting();
  #log: ComputeLog | null = null;
  #logging: LoggingDataflow | undefined;
  #tunables: Tunables = { maxResultSize: 1 << 30 };
  #debugging = false;
  #generation = 0;
  #peeksHaveWork = false;
  /** Set while there is nothing to do. */
  #sleptAtNs: number | null = null;
  /** Commands since the hello of a controller that found this worker running, until it has said all. Nothing is reported meanwhile. */
  #initial: Command[] | null = null;
  readonly #send = (response: Response): void => {
    if (this.#initial === null) this.#o.send(response);
  };

  constructor(options: ComputeWorkerOptions) {
    this.#o = options;
    this.#clock = new EventClock(options.clock);
    this.#counted = new WorkerMetrics(this.metrics, {
      arrangementBytes: () => this.bytes.total,
      arrangementPeakBytes: () => this.bytes.peakTotal,
      collections: () => this.#collections.size,
      dataflows: () => this.#dataflows.size,
    });
    this.#worker = new Worker({
      index: options.index,
      peers: options.peers,
      mesh: options.mesh,
      clock: options.clock,
      events: this.#events,
      onWake: options.onWake,
      ...(options.random !== undefined && { random: options.random }),
    });
    this.#closedLives = new ClosedLives({ worker: options.index, send: options.send });
    this.#peeks = new WorkerPeeks({
      worker: options.index,
      peers: options.peers,
      shards: options.shards,
      evalContext: EVAL_CONTEXT,
      log: () => this.#log,
      maxResultSize: () => this.#tunables.maxResultSize,
      send: this.#send,
      wake: options.onWake,
    });
  }

  // ---- Commands

  handle(command: Command): void {
    this.#wakes();
    if (this.#initial === null || command.kind === 'hello') this.#apply(command);
    else if (command.kind !== 'initializationComplete') this.#initial.push(command);
    else this.#reconcile(this.#initial);
    this.#o.onWake();
  }

  #apply(command: Command): void {
    this.#counted.commands.add();
    switch (command.kind) {
      case 'hello':
        this.#generation = command.generation;
        if (this.#logging !== undefined) {
          this.#peeks.abandon();
          this.#initial = [];
        }
        this.#o.send({
          kind: 'hello',
          worker: this.#o.index,
          incarnation: this.#o.incarnation,
          version: PROTOCOL_VERSION,
          generation: command.generation,
        });
        this.#closedLives.repeat();
        break;
      case 'createInstance':
        this.#createInstance(command.logging, command.tunables);
        break;
      case 'updateConfiguration':
        this.#configure({ ...this.#tunables, ...command.tunables });
        break;
      case 'createDataflow':
        this.#createDataflow(command.dataflow, () => 'commanded');
        break;
      case 'schedule':
        this.#byExport.get(command.id)?.release(command.id, command.waitedOn);
        break;
      case 'allowWrites':
        // Unknown: dropped meanwhile.
        this.#byExport.get(command.id)?.allowWrites();
        this.#collections.get(command.id)?.allowWrites();
        this.#touch(command.id);
        break;
      case 'allowCompaction':
        this.#allowCompaction(command.id, command.frontier);
        break;
      case 'peek':
        this.#counted.peeks.add();
        this.#peeks.start(command, this.#collections.get(command.target.id)?.traces);
        break;
      case 'cancelPeek':
        this.#peeks.cancel(command.uuid);
        break;
      case 'ackLives':
        if (command.worker === this.#o.index) this.#closedLives.acknowledged(command.sequence);
        break;
      case 'initializationComplete':
        break;
    }
  }

  /** A controller that found this worker running has said what it wants: keeps what can be kept, and tells all of it again. */
  #reconcile(commands: readonly Command[]): void {
    const requested = commands.flatMap((c) => (c.kind === 'createDataflow' ? [c.dataflow] : []));
    const decided = reconcile([...this.#dataflows], requested, {
      inMemory: this.#o.inMemory ?? (() => false),
      isLog: (id) => this.#logging!.indexes.some((i) => i.id === id),
    });
    const had = new Set(this.#collections.keys());
    for (const d of [...decided.unrequested.toReversed(), ...decided.replaced.toReversed()])
      for (const c of [...d.live]) this.#drop(c);
    this.#initial = null;
    this.#send({ kind: 'reconciled', worker: this.#o.index, outcomes: outcomesOf(decided) });
    for (const { id } of this.#logging!.indexes) this.#collections.get(id)!.repeat(MIN_TIME);
    this.#reporting.touch(this.#logging!.dataflowIndex);
    for (const c of commands) {
      if (c.kind === 'createInstance') {
        assert(this.#logging!.isFor(c.logging), 'logging dataflows are never rebuilt');
        this.#configure(c.tunables);
      } else if (c.kind !== 'createDataflow') this.#apply(c);
      else {
        const kept = decided.retained.get(c.dataflow);
        if (kept === undefined)
          this.#createDataflow(c.dataflow, (id) => (had.has(id) ? 'reconciled' : 'commanded'));
        else this.#retain(kept, c.dataflow);
      }
    }
  }

  #retain(dataflow: DataflowInstance, requested: DataflowDescription): void {
    for (const c of dataflow.live) {
      this.#allowCompaction(c.id, requested.asOf);
      c.repeat(requested.asOf);
      // A stage of now, and so after those that are repeated: the controller may hear of this life for the first time.
      if (requested.mayWrite && !dataflow.mayWrite) c.allowWrites();
      const { failure } = dataflow;
      if (failure !== null) this.#send({ kind: 'failed', worker: this.#o.index, id: c.id, ...failure });
    }
    if (requested.mayWrite) dataflow.allowWrites();
    this.#reporting.touch(dataflow.dataflowIndex);
  }

  #createInstance(logging: LoggingConfig, tunables: Tunables): void {
    assert(this.#logging === undefined, 'an instance is created once');
    if (logging.intervalMs > 0)
      this.#log = new ComputeLog({
        worker: this.#o.index,
        peers: this.#o.peers,
        clock: this.#clock,
        intervalMs: logging.intervalMs,
        metrics: this.metrics,
        usage: this.#o.usage,
        keptUpTo: () => [...this.#internal].reduce((f, d) => meet(f, d.keptUpTo), EMPTY),
      });
    this.#events.log = this.#log?.runtime ?? null;
    this.#debugging = logging.debugging;
    this.#configure(tunables);
    this.#hidesInternal();
    this.#logging = new LoggingDataflow(this.#worker, logging, this.#log, this.#o.onLogUpdates);
    const { dataflowIndex } = this.#logging;
    const logs: Collection[] = [];
    for (const { id, traces } of this.#logging.indexes) {
      const c = this.#collection({
        id,
        asOf: 0,
        dataflowIndex,
        reason: 'commanded',
        imports: new Map(),
      });
      c.attach({ kind: 'index', traces });
      c.started('inputs_available');
      logs.push(c);
    }
    this.#reporting.add(dataflowIndex, { report: () => reportAll(logs) });
  }

  #configure(tunables: Tunables): void {
    this.#tunables = tunables;
    if (tunables.metricsIntervalMs !== undefined) this.#log?.setMetricsInterval(tunables.metricsIntervalMs);
  }

  /** Before a dataflow of introspection's own: whether it is hidden. */
  #hidesInternal(): boolean {
    if (!this.#debugging) this.#log?.runtime.hide(this.#worker.nextDataflowIndex);
    return !this.#debugging;
  }

  #collection(o: {
    id: GlobalId;
    asOf: number;
    dataflowIndex: number;
    reason: InstallReason;
    imports: ReadonlyMap<GlobalId, () => Frontier>;
    snapshot?: SnapshotProgress;
    hidden?: boolean;
  }): Collection {
    const { id, asOf, reason, imports, snapshot } = o;
    assert(!this.#collections.has(id), `export ${id} is created once`);
    const ns = this.#clock.ns();
    const said = { id, ns, dataflow: o.dataflowIndex, asOf, reason, imports: [...imports.keys()] };
    const log = o.hidden === true ? null : (this.#log?.exportCreated(said) ?? null);
    const c = new Collection({
      id,
      worker: this.#o.index,
      asOf,
      installedNs: ns,
      reason,
      life: o.dataflowIndex,
      peakBytes: () => this.bytes.peakOf(o.dataflowIndex),
      ...(snapshot !== undefined && idClass(id) === 'user' && { snapshot }),
      clock: this.#clock,
      log,
      imports,
      send: this.#send,
    });
    this.#collections.set(id, c);
    return c;
  }

  #createDataflow(description: DataflowDescription, reason: (id: GlobalId) => InstallReason): void {
    const hidden = description.internal === true && this.#hidesInternal();
    const dataflowIndex = this.#worker.nextDataflowIndex;
    const log = hidden ? null : (this.#log?.dataflowCreated(this.#announced(description)) ?? null);
    const dataflow: DataflowInstance = new DataflowInstance({
      description,
      worker: this.#worker,
      shards: this.#o.shards,
      watch: this.#o.watch,
      generation: this.#generation,
      metrics: this.metrics,
      openFile: this.#o.openFile ?? noFiles,
      evalContext: EVAL_CONTEXT,
      collection: (id) => {
        const c = this.#collections.get(id);
        assert(c !== undefined, `index ${id} is there before it is imported`);
        return c;
      },
      createCollection: (c) =>
        this.#collection({ ...c, reason: reason(c.id), hidden: hidden && idClass(c.id) === 'transient' }),
      log,
      send: this.#send,
      onChange: () => {
        this.#reporting.touch(dataflowIndex);
        this.#o.onWake();
      },
      onError: (error) => this.#failed(dataflow, error),
      onRetry: (error) =>
        this.#o.logger.warn({ dataflow: description.name, error }, 'a write failed and is tried again'),
      pause: () => new Promise((resolve) => this.#o.timers.after(RETRY_MS, resolve)),
    });
    this.#dataflows.add(dataflow);
    if (description.internal === true) this.#internal.add(dataflow);
    for (const id of dataflow.exports) this.#byExport.set(id, dataflow);
    const reads = description.indexImports.map((i) => this.#collections.get(i.id)!.dataflowIndex);
    this.#reporting.add(dataflowIndex, dataflow, reads);
  }

  /** What the log says of a dataflow that is about to be built. */
  #announced(d: DataflowDescription): { dataflow: number; asOf: number; computes: readonly string[] } {
    const computes = new Set([...d.objects, ...d.indexExports, ...d.sinkExports].map((o) => o.id));
    return { dataflow: this.#worker.nextDataflowIndex, asOf: d.asOf, computes: [...computes] };
  }

  #failed(dataflow: DataflowInstance, error: unknown): void {
    const { description } = dataflow;
    const { code, message } = hostError(error);
    dataflow.failure = { code, message };
    // Told to people by the controller: it knows whether the object was dropped meanwhile, with the shard it reads.
    this.#o.logger.debug({ dataflow: description.name, error }, 'a dataflow failed');
    for (const e of [...description.indexExports, ...description.sinkExports])
      this.#send({ kind: 'failed', worker: this.#o.index, id: e.id, code, message });
  }

  #touch(id: GlobalId): void {
    const dataflow = this.#byExport.get(id);
    if (dataflow !== undefined) this.#reporting.touch(dataflow.dataflowIndex);
  }

  #allowCompaction(id: GlobalId, frontier: Frontier): void {
    const c = this.#collections.get(id);
    if (c === undefined) return;
    if (frontier === EMPTY) return this.#drop(c);
    this.#byExport.get(id)?.compacted(id, frontier);
    for (const h of c.traces === undefined ? [] : [c.traces.oks, c.traces.errs]) compact(h, frontier);
  }

  #drop(c: Collection): void {
    this.#peeks.dropTarget(c.id);
    const dataflow = this.#byExport.get(c.id);
    this.#byExport.delete(c.id);
    this.#collections.delete(c.id);
    c.drop();
    this.#closedLives.close(c);
    if (!dataflow?.dropExport(c.id)) return;
    this.#dataflows.delete(dataflow);
    this.#internal.delete(dataflow);
    this.#reporting.remove(dataflow.dataflowIndex);
  }

  // ---- Running

  receive(from: number, message: MeshMessage): void {
    this.#wakes();
    this.#worker.receive(from, message);
  }

  /** Runs one slice: dataflows, a turn for each peek, merges if there is nothing else; then reports. Or answers, and has it sent. */
  step(): 'more' | 'idle' {
    this.#wakes();
    this.#counted.steps.add();
    this.#logging?.drain();
    if (this.#worker.hasWork && this.#peeks.answersFirst()) return 'more';
    const budgetNs = this.#peeks.size > 0 ? HURRIED_SLICE_NS : SLICE_NS;
    const dataflows = this.#worker.step({ budgetNs });
    this.#peeksHaveWork = this.#peeks.step();
    const merges = dataflows === 'idle' && !this.#peeksHaveWork ? this.#worker.idle() : 'idle';
    this.#report();
    this.#o.budget?.charge(this.bytes.total);
    if (dataflows === 'more' || merges === 'more' || this.#peeksHaveWork || this.#worker.hasWork)
      return 'more';
    this.#sleeps();
    return 'idle';
  }

  #sleeps(): void {
    const ms = this.nextTickMs;
    this.#events.park(ms === null ? Number.NaN : ms * 1e6);
    this.#sleptAtNs = this.#o.clock.monotonicNs();
  }

  /** The first thing that a worker with nothing to do gets to do again. */
  #wakes(): void {
    if (this.#sleptAtNs === null) return;
    this.#events.unpark(this.#o.clock.monotonicNs() - this.#sleptAtNs);
    this.#sleptAtNs = null;
  }

  #report(): void {
    if (this.#initial === null) this.#reporting.report(this.#worker.takeRan());
  }

  /** Milliseconds until the log wants a turn though nothing happens; null without a log. */
  get nextTickMs(): number | null {
    return this.#log?.nextTurnMs ?? null;
  }

  /** For tests: everything that lives here. */
  debugCounts(): WorkerCounts {
    const log = this.#log?.live ?? { owners: 0, slots: 0 };
    return {
      ...this.#worker.debugCounts(),
      collections: this.#collections.size,
      peeks: this.#peeks.size,
      logOwners: log.owners,
      logSlots: log.slots,
      sizedDataflows: this.bytes.dataflows,
    };
  }

  close(): void {
    this.#peeks.abandon();
    for (const d of this.#dataflows) d.drop();
    this.#dataflows.clear();
  }
}

function compact(
  h: { readonly since: Frontier; setLogicalCompaction(f: Frontier): void },
  to: Frontier,
): void {
  if (to > h.since) h.setLogicalCompaction(to);
}
