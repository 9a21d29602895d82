/**
 * An operator at run time: ports, held capabilities, the rule. The driver around the rule: it runs when activated,
 * and afterwards its output frontier is the least of the held capabilities and, by default, of its inputs'
 * frontiers.
 */
import { assert } from '../base/assert.ts';
import type { Clock, Random } from '../base/clock.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import type { Fuel } from '../trace/fuel.ts';
import type { Trace } from '../trace/trace.ts';
import { Capability, type CapabilityHolder } from './capability.ts';
import type { DataflowEvents, OperatorPorts } from './events.ts';
import type { Mesh } from './mesh.ts';
import type { InputPort, OutputPort, PortOwner, Sized } from './ports.ts';

/** What operators see of the worker they run on. */
export interface OperatorHost {
  readonly index: number;
  readonly peers: number;
  readonly clock: Clock;
  readonly random: Random | undefined;
  readonly events: DataflowEvents;
  readonly mesh: Mesh;
  /** The id that the next operator or channel gets. */
  readonly nextId: number;
  takeId(): number;
  schedule(op: Operator): void;
  /** Runs `f` once no operator runs: at once, or after the present one. */
  afterRun(f: () => void): void;
  /** The trace has merges to go on with when nothing else is to be done. */
  hasIdleWork(trace: Trace): void;
  /** A frontier went through an operator of the dataflow without a run. */
  passed(dataflowIndex: number): void;
  readonly runtimeCounts: RuntimeCounts;
}

/** What lives on a worker; all zero when every dataflow is gone. */
export interface RuntimeCounts {
  operators: number;
  channels: number;
  capabilities: number;
  traceHandles: number;
  importers: number;
}

/** The rule of an operator: what it does when it is activated. */
export interface OperatorLogic {
  /**
   * Pulls what inputs have, sends what it may, and returns when there is nothing to do or the fuel is spent. With
   * work left it calls `ctx.reactivate()`. Must make progress with one unit of fuel.
   */
  run(fuel: Fuel): void;
  /** The dataflow goes: release what lives outside it. */
  shutdown?(): void;
  /** With nothing to pull a run does nothing: frontiers go through without one. */
  readonly passesFrontiers?: boolean;
  /**
   * There is nothing to pull, and a frontier came that is not the last one: does what a run would, where that is little and certain,
   * and says whether it did. It may move capabilities and activate others; it sends nothing.
   */
  passFrontier?(): boolean;
}

/** Operators that a frontier passes in a row, one calling the next; then it takes its turn, so that the stack is bounded whatever the plan. */
const MOST_PASSED = 64;
/** How many are passing one now. Passing is one call that returns, so there is one count for all workers of a thread. */
let passing = 0;

/** What the rule gets. */
export interface OperatorContext {
  readonly operatorId: number;
  readonly address: readonly number[];
  readonly name: string;
  readonly host: OperatorHost;
  /**
   * The capability that the inputs imply: at the least of their frontiers as they stood when this run began. It
   * serves to send what is pulled in this run, and to make capabilities (`delayed`) for what is kept longer.
   */
  readonly implied: Capability;
  /** While the operator is being built only: a capability at the minimum time, for what has no inputs. */
  initialCapability(): Capability;
  /** Run again, after the others had their turn. Also callable from outside a run: wakes the worker. */
  reactivate(): void;
}

export class Operator implements PortOwner, CapabilityHolder, OperatorContext, OperatorPorts {
  readonly operatorId: number;
  readonly address: readonly number[];
  readonly name: string;
  readonly host: OperatorHost;
  readonly events: DataflowEvents;
  readonly inputs: InputPort<Sized>[] = [];
  readonly outputs: OutputPort<Sized>[] = [];
  readonly implied: Capability;
  #impliedTime: Frontier = MIN_TIME;
  readonly #held: Capability[] = [];
  #logic: OperatorLogic | undefined;
  #frontier: Frontier = MIN_TIME;
  #running = false;
  #gone = false;
  /** Told once, when the operator can never do anything again. */
  readonly #onComplete: () => void;
  #complete = false;
  /** In the worker's queue; owned by the worker. */
  scheduled = false;

  constructor(
    host: OperatorHost,
    spec: { readonly operatorId: number; readonly address: readonly number[]; readonly name: string },
    onComplete: () => void,
  ) {
    this.host = host;
    this.events = host.events;
    this.operatorId = spec.operatorId;
    this.address = spec.address;
    this.name = spec.name;
    this.#onComplete = onComplete;
    this.implied = new ImpliedCapability(this, () => this.#impliedTime);
    host.runtimeCounts.operators++;
    this.events.operatorCreated(this.operatorId, this.address, this.name, this);
  }

  initialCapability(): Capability {
    assert(this.#logic === undefined, 'the initial capability is taken while the operator is being built');
    return new Capability(this, MIN_TIME);
  }

  start(construct: (ctx: OperatorContext) => OperatorLogic): void {
    assert(this.#logic === undefined, 'an operator is built once');
    this.#logic = construct(this);
    this.activate();
  }

  get frontier(): Frontier {
    return this.#frontier;
  }

  heldTimes(into: number[]): void {
    for (const c of this.#held) into.push(c.time);
  }

  /** Shut down with its dataflow. */
  get gone(): boolean {
    return this.#gone;
  }

  reactivate(): void {
    this.activate();
  }

  activate(): void {
    if (this.scheduled || this.#gone) return;
    this.host.schedule(this);
  }

  /**
   * Most of what an idle dataflow sees is frontiers. Where there is nothing to pull and the rule has little or nothing to do about them,
   * they go on at once, through whole chains, and no run is queued, timed and logged for each operator: of the 12 operators of an index
   * over a GROUP BY one runs each second, the source (`bench -- --only idle` has what it costs). The end takes its turn: it may take down
   * the dataflow.
   */
  advanced(): void {
    if (!this.#passes()) return this.activate();
    this.events.frontierPassed(this.operatorId);
    this.host.passed(this.address[0]!);
    passing++;
    this.#settle();
    passing--;
  }

  #passes(): boolean {
    const logic = this.#logic;
    if (logic === undefined || this.#running || this.#gone || passing >= MOST_PASSED) return false;
    if (logic.passesFrontiers !== true && logic.passFrontier === undefined) return false;
    for (const i of this.inputs) if (!i.isEmpty || i.done) return false;
    if (logic.passFrontier === undefined) return true;
    this.#running = true;
    const passed = logic.passFrontier();
    this.#running = false;
    return passed;
  }

  run(fuel: Fuel): void {
    const logic = this.#logic;
    assert(logic !== undefined, `operator ${this.name} was declared and not built`);
    this.#running = true;
    logic.run(fuel);
    this.#running = false;
    this.#settle();
  }

  /** Recomputes the output frontier and announces it. */
  #settle(): void {
    let implied = EMPTY;
    let done = true;
    for (const i of this.inputs) {
      if (i.frontier < implied) implied = i.frontier;
      if (!i.done) done = false;
    }
    this.#impliedTime = implied;
    let f = implied;
    for (const c of this.#held) if (c.time < f) f = c.time;
    if (f !== this.#frontier) {
      this.#frontier = f;
      for (const o of this.outputs) o.advance(f);
    }
    if (done && f === EMPTY && !this.scheduled && !this.#complete) {
      this.#complete = true;
      this.#onComplete();
    }
  }

  capabilityAdded(c: Capability): void {
    assert(!this.#gone, `operator ${this.name} takes a capability after its end`);
    this.#held.push(c);
    this.host.runtimeCounts.capabilities++;
  }

  capabilityRemoved(c: Capability): void {
    const i = this.#held.indexOf(c);
    if (this.#gone && i < 0) return;
    assert(i >= 0, 'a capability is released by its holder once');
    this.#held[i] = this.#held[this.#held.length - 1]!;
    this.#held.pop();
    this.host.runtimeCounts.capabilities--;
  }

  capabilityMoved(): void {
    if (!this.#running) this.activate();
  }

  shutdown(): void {
    if (this.#gone) return;
    this.#gone = true;
    this.#logic?.shutdown?.();
    for (const i of this.inputs) i.clear();
    for (const o of this.outputs) o.clear();
    this.host.runtimeCounts.capabilities -= this.#held.length;
    this.#held.length = 0;
    this.host.runtimeCounts.operators--;
    this.events.operatorShutdown(this.operatorId);
  }
}

/** Follows the inputs; the driver moves it, the rule cannot. */
class ImpliedCapability extends Capability {
  readonly #read: () => Frontier;

  constructor(holder: CapabilityHolder, read: () => Frontier) {
    super(holder, EMPTY); // at EMPTY it is not counted among the held ones
    this.#read = read;
    this.#own = holder;
  }

  readonly #own: CapabilityHolder;

  override get time(): Frontier {
    return this.#read();
  }

  override delayed(time: Frontier): Capability {
    assert(time >= this.time, `a capability at ${this.time} is delayed to ${time}`);
    return new Capability(this.#own, time);
  }

  override downgrade(_time: Frontier): void {
    assert(false, 'the implied capability moves with the inputs');
  }

  override dispose(): void {
    assert(false, 'the implied capability moves with the inputs');
  }
}
