/**
 * A worker: the dataflows it runs and the queue of operators that have something to do. Cooperative and without
 * threads of its own: a host calls `step` and hands in what other workers sent; it is woken by `onWake`.
 *
 * An operator runs when a batch or a frontier reached it, in the order of activation, or in an order drawn from
 * `random` if there is one (the simulator). Each invocation gets `fuelPerRun`; `step` stops at its budget, which it
 * can overrun by one invocation, a few milliseconds at the default fuel.
 *
 * Operators of urgent dataflows go first: somebody waits for a status query, and it has a dozen operators in a row, each
 * of which would stand in line behind all that hydrates. They may get ahead by URGENT_LEAD_NS, so that a long query takes
 * half of the time and no more.
 */
import type { Clock, Random } from '../base/clock.ts';
import { Fuel } from '../trace/fuel.ts';
import type { Trace } from '../trace/trace.ts';
import { openScope, Scope } from './builder.ts';
import { Dataflow } from './dataflow.ts';
import { type DataflowEvents, noEvents } from './events.ts';
import type { Mesh, MeshMessage } from './mesh.ts';
import type { Operator, OperatorHost, RuntimeCounts } from './operator.ts';
import { RunQueue } from './run-queue.ts';

export interface WorkerOptions {
  readonly index: number;
  readonly peers: number;
  readonly mesh: Mesh;
  readonly clock: Clock;
  readonly events?: DataflowEvents;
  /** Draws the order in which activated operators run. */
  readonly random?: Random;
  /** Units of work one invocation may do; about 32 K rows keep it under a few milliseconds. */
  readonly fuelPerRun?: number;
  /** There is something to do, and no step is under way. */
  readonly onWake?: () => void;
}

const DEFAULT_FUEL = 32_768;

/** What was sent is not held back longer than this and the operator that runs: on several workers a query is a dozen messages in a row. */
const FLUSH_NS = 500_000;

/** How far urgent operators may get ahead of the others that wait: more than a status query takes. */
const URGENT_LEAD_NS = 16e6;

/** Everything that lives on a worker; all zero once all is dropped. */
export interface DebugCounts extends RuntimeCounts {
  readonly dataflows: number;
  readonly queued: number;
  readonly bufferedMessages: number;
  readonly idleTraces: number;
}

export class Worker implements OperatorHost {
  readonly index: number;
  readonly peers: number;
  readonly clock: Clock;
  readonly random: Random | undefined;
  readonly events: DataflowEvents;
  readonly mesh: Mesh;
  readonly runtimeCounts: RuntimeCounts = {
    operators: 0,
    channels: 0,
    capabilities: 0,
    traceHandles: 0,
    importers: 0,
  };
  readonly #fuelPerRun: number;
  readonly #onWake: (() => void) | undefined;
  readonly #queue = new RunQueue();
  readonly #urgentQueue = new RunQueue();
  /** Indexes of urgent dataflows. */
  readonly #urgent = new Set<number>();
  /** Time that urgent operators took while others waited, less what those had since. */
  #urgentLeadNs = 0;
  #stepping = false;
  #running = false;
  readonly #afterRun: (() => void)[] = [];
  #nextId = 0;
  #nextDataflow = 0;
  readonly #dataflows = new Map<number, Dataflow>();
  /** Sent by peers for dataflows that this worker has not built yet. */
  readonly #early = new Map<number, { readonly from: number; readonly message: MeshMessage }[]>();
  readonly #idle = new Set<Trace>();
  /** Dataflows of which an operator ran or was passed. */
  #ran = new Set<number>();
  #lastRan = -1;

  constructor(options: WorkerOptions) {
    this.index = options.index;
    this.peers = options.peers;
    this.clock = options.clock;
    this.random = options.random;
    this.events = options.events ?? noEvents;
    this.mesh = options.mesh;
    this.#fuelPerRun = options.fuelPerRun ?? DEFAULT_FUEL;
    this.#onWake = options.onWake;
  }

  get nextId(): number {
    return this.#nextId;
  }

  takeId(): number {
    return this.#nextId++;
  }

  /** The index that the next dataflow gets: the same on every worker, for all build the same in the same order. */
  get nextDataflowIndex(): number {
    return this.#nextDataflow;
  }

  /** `urgent`: somebody waits for its result. */
  buildDataflow(
    name: string,
    build: (scope: Scope) => void,
    options: { readonly urgent?: boolean } = {},
  ): Dataflow {
    const index = this.#nextDataflow++;
    const dataflow = new Dataflow(this, { index, name }, () => {
      this.#dataflows.delete(index);
      this.#urgent.delete(index);
    });
    if (options.urgent === true) this.#urgent.add(index);
    this.#dataflows.set(index, dataflow);
    openScope(dataflow, [index], name);
    try {
      build(new Scope(dataflow, [index]));
    } catch (error) {
      dataflow.drop();
      throw error;
    }
    dataflow.finishBuild();
    const early = this.#early.get(index);
    this.#early.delete(index);
    if (early !== undefined) for (const { from, message } of early) this.receive(from, message);
    return dataflow;
  }

  dataflow(index: number): Dataflow | undefined {
    return this.#dataflows.get(index);
  }

  /** A message from another worker. Kept for a dataflow still to be built, ignored for one that is gone. */
  receive(from: number, message: MeshMessage): void {
    const dataflow = this.#dataflows.get(message.dataflow);
    if (dataflow !== undefined) dataflow.receive(from, message);
    else if (message.dataflow >= this.#nextDataflow) {
      const list = this.#early.get(message.dataflow);
      if (list === undefined) this.#early.set(message.dataflow, [{ from, message }]);
      else list.push({ from, message });
    }
  }

  schedule(op: Operator): void {
    op.scheduled = true;
    // A drawn order is drawn from all.
    const urgent = this.random === undefined && this.#urgent.has(op.address[0]!);
    (urgent ? this.#urgentQueue : this.#queue).push(op);
    if (!this.#stepping && this.#queued === 1) this.#onWake?.();
  }

  afterRun(f: () => void): void {
    if (this.#running) this.#afterRun.push(f);
    else f();
  }

  hasIdleWork(trace: Trace): void {
    this.#idle.add(trace);
  }

  passed(dataflowIndex: number): void {
    this.#note(dataflowIndex);
    // Another worker's frontier may go through all there is, and nothing be left to run.
    if (!this.#stepping && !this.hasWork) this.#onWake?.();
  }

  get #queued(): number {
    return this.#queue.size + this.#urgentQueue.size;
  }

  /** Whether operators wait to run. */
  get hasWork(): boolean {
    return this.#queued > 0;
  }

  /** Runs activated operators until none is left or the budget is spent. */
  step(options: { readonly budgetNs: number }): 'more' | 'idle' {
    const start = this.clock.monotonicNs();
    let now = start;
    let flushed = start;
    this.#stepping = true;
    try {
      while (this.hasWork && now - start < options.budgetNs) {
        const urgent = this.#urgentIsNext();
        const op = (urgent ? this.#urgentQueue : this.#queue).take(this.random);
        op.scheduled = false;
        if (op.gone) continue;
        this.events.scheduleStart(op.operatorId);
        this.#running = true;
        op.run(new Fuel(this.#fuelPerRun));
        this.#running = false;
        this.#note(op.address[0]!);
        const end = this.clock.monotonicNs();
        this.events.scheduleStop(op.operatorId, end - now);
        this.#urgentLeadNs = urgent
          ? this.#urgentLeadNs + end - now
          : Math.max(0, this.#urgentLeadNs - (end - now));
        now = end;
        if (now - flushed >= FLUSH_NS) {
          this.mesh.flush?.();
          flushed = now;
        }
        while (this.#afterRun.length > 0) this.#afterRun.shift()!();
      }
    } finally {
      this.#running = false;
      this.#stepping = false;
      this.mesh.flush?.();
    }
    return this.hasWork ? 'more' : 'idle';
  }

  #note(dataflow: number): void {
    if (dataflow === this.#lastRan) return;
    this.#lastRan = dataflow;
    this.#ran.add(dataflow);
  }

  /** The dataflows of which an operator ran, or was passed, since the last call: where a frontier can have moved. */
  takeRan(): ReadonlySet<number> {
    const ran = this.#ran;
    if (ran.size > 0) this.#ran = new Set();
    this.#lastRan = -1;
    return ran;
  }

  /** One portion of merging, for a host with nothing else to do. Says whether more is left. */
  idle(): 'more' | 'idle' {
    const trace = this.#idle.values().next().value;
    if (trace === undefined) return 'idle';
    // The time is the arrange operator's, as long as it lives.
    const attributed = trace.writer === 'live';
    const start = this.clock.monotonicNs();
    if (attributed) this.events.scheduleStart(trace.operatorId);
    trace.work(new Fuel(this.#fuelPerRun));
    if (attributed) this.events.scheduleStop(trace.operatorId, this.clock.monotonicNs() - start);
    // To the end of the line: a large merge does not keep the small ones waiting.
    this.#idle.delete(trace);
    if (trace.hasMergeWork) this.#idle.add(trace);
    return this.#idle.size > 0 ? 'more' : 'idle';
  }

  #urgentIsNext(): boolean {
    if (this.#urgentQueue.size === 0) return false;
    if (this.#queue.size > 0) return this.#urgentLeadNs < URGENT_LEAD_NS;
    // Nobody waited.
    this.#urgentLeadNs = 0;
    return true;
  }

  /** For tests: what would leak if it were not zero. */
  debugCounts(): DebugCounts {
    let bufferedMessages = 0;
    for (const l of this.#early.values()) bufferedMessages += l.length;
    let idleTraces = 0;
    for (const t of this.#idle) if (t.hasMergeWork) idleTraces++;
    return {
      ...this.runtimeCounts,
      dataflows: this.#dataflows.size,
      queued: this.#queued,
      bufferedMessages,
      idleTraces,
    };
  }
}
