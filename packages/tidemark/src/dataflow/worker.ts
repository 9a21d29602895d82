/**
 * A worker: the dataflows it runs and the queue of operators that have something to do. Cooperative and without
 * threads of its own: a host calls `step` and hands in what other workers sent; it is woken by `onWake`.
 *
 * An operator runs when a batch or a frontier reached it, in the order of activation, or in an order drawn from
 * `random` if there is one (the simulator). Each invocation gets `fuelPerRun`; `step` stops at its budget, which it
 * can overrun by one invocation, a few milliseconds at the default fuel.
 */
import type { Clock, Random } from '../base/clock.ts';
import { Fuel } from '../trace/fuel.ts';
import type { Trace } from '../trace/trace.ts';
import { openScope, Scope } from './builder.ts';
import { Dataflow } from './dataflow.ts';
import { type DataflowEvents, noEvents } from './events.ts';
import type { Mesh, MeshMessage } from './mesh.ts';
import type { Operator, OperatorHost, RuntimeCounts } from './operator.ts';

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
  #queue: Operator[] = [];
  #head = 0;
  #stepping = false;
  #running = false;
  readonly #afterRun: (() => void)[] = [];
  #nextId = 0;
  #nextDataflow = 0;
  readonly #dataflows = new Map<number, Dataflow>();
  /** Sent by peers for dataflows that this worker has not built yet. */
  readonly #early = new Map<number, { readonly from: number; readonly message: MeshMessage }[]>();
  readonly #idle = new Set<Trace>();

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

  buildDataflow(name: string, build: (scope: Scope) => void): Dataflow {
    const index = this.#nextDataflow++;
    const dataflow = new Dataflow(this, { index, name }, (d) => this.#dataflows.delete(d.dataflowIndex));
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
    this.#queue.push(op);
    if (!this.#stepping && this.#queue.length - this.#head === 1) this.#onWake?.();
  }

  afterRun(f: () => void): void {
    if (this.#running) this.#afterRun.push(f);
    else f();
  }

  hasIdleWork(trace: Trace): void {
    this.#idle.add(trace);
  }

  /** Whether operators wait to run. */
  get hasWork(): boolean {
    return this.#queue.length > this.#head;
  }

  /** Runs activated operators until none is left or the budget is spent. */
  step(options: { readonly budgetNs: number }): 'more' | 'idle' {
    const start = this.clock.monotonicNs();
    let now = start;
    this.#stepping = true;
    try {
      while (this.#queue.length > this.#head && now - start < options.budgetNs) {
        const op = this.#take();
        if (op.gone) continue;
        this.events.scheduleStart(op.operatorId);
        this.#running = true;
        op.run(new Fuel(this.#fuelPerRun));
        this.#running = false;
        const end = this.clock.monotonicNs();
        this.events.scheduleStop(op.operatorId, end - now);
        now = end;
        while (this.#afterRun.length > 0) this.#afterRun.shift()!();
      }
    } finally {
      this.#running = false;
      this.#stepping = false;
    }
    return this.hasWork ? 'more' : 'idle';
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

  #take(): Operator {
    const random = this.random;
    if (random !== undefined) {
      const at = this.#head + Math.floor(random.next() * (this.#queue.length - this.#head));
      const op = this.#queue[at]!;
      this.#queue[at] = this.#queue[this.#head]!;
      this.#queue[this.#head] = op;
    }
    const op = this.#queue[this.#head++]!;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    } else if (this.#head === 1024) {
      this.#queue = this.#queue.slice(1024);
      this.#head = 0;
    }
    op.scheduled = false;
    return op;
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
      queued: this.#queue.length - this.#head,
      bufferedMessages,
      idleTraces,
    };
  }
}
