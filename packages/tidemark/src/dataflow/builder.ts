/**
 * How a dataflow is described. A `Scope` makes operators; the builder owns their ids, addresses, ports, channels
 * and events, so that an operator's file holds its rule and nothing else:
 *
 * ```ts
 * export function negate(scope: Scope, input: Stream<Batch>): Stream<Batch> {
 *   const op = scope.operator('Negate');
 *   const from = op.input(input);
 *   const to = op.output<Batch>('batch');
 *   op.build((ctx) => ({
 *     run(fuel) {
 *       for (let b; !fuel.exhausted && (b = from.pull()) !== undefined; fuel.spend(b.length)) to.send(ctx.implied, negated(b));
 *       if (!from.isEmpty) ctx.reactivate();
 *     },
 *   }));
 *   return to.stream;
 * }
 * ```
 *
 * Graphs are acyclic: an operator is made from streams that exist. Streams may cross regions freely.
 */
import { assert } from '../base/assert.ts';
import type { Batch } from '../repr/batch.ts';
import { ExchangeChannel, type Pact, PipelineChannel, pipeline } from './channel.ts';
import { Operator, type OperatorContext, type OperatorHost, type OperatorLogic } from './operator.ts';
import { InputPort, OutputPort, type Sized, type Stream, type Target } from './ports.ts';

/** What scopes of one dataflow share; the dataflow implements it. */
export interface DataflowParts {
  readonly dataflowIndex: number;
  readonly host: OperatorHost;
  /** Something with an end, ended in reverse order of creation. */
  addMember(member: { shutdown(): void }): void;
  addOperator(op: Operator): void;
  operatorComplete(): void;
  /** The ordinal of the next exchange, the same on every worker. */
  nextExchange(): number;
  addExchange(channel: ExchangeChannel): void;
  channelCreated(): void;
  /** Runs when the description is finished, in order. */
  onBuilt(f: () => void): void;
  /** Runs at the end of the dataflow, after its operators. */
  onShutdown(f: () => void): void;
}

export class Scope {
  readonly #parts: DataflowParts;
  /** The dataflow's index, then one index for each region down to this scope. */
  readonly address: readonly number[];
  /** 0 is the scope itself, as seen from inside. */
  #nextChild = 1;

  constructor(parts: DataflowParts, address: readonly number[]) {
    this.#parts = parts;
    this.address = address;
  }

  get host(): OperatorHost {
    return this.#parts.host;
  }

  get dataflowIndex(): number {
    return this.#parts.dataflowIndex;
  }

  /** The id that the next operator or channel gets: two readings enclose a span of operators. */
  nextOperatorId(): number {
    return this.#parts.host.nextId;
  }

  /** A nested scope: one operator to those who look from outside. */
  region<R>(name: string, build: (inner: Scope) => R): R {
    const address = [...this.address, this.#nextChild++];
    openScope(this.#parts, address, name);
    return build(new Scope(this.#parts, address));
  }

  operator(name: string): OperatorBuilder {
    return new OperatorBuilder(this.#parts, [...this.address, this.#nextChild++], name);
  }

  /** Runs when the whole dataflow is described: build-time handles are given back here. */
  onBuilt(f: () => void): void {
    this.#parts.onBuilt(f);
  }

  onShutdown(f: () => void): void {
    this.#parts.onShutdown(f);
  }
}

/** Announces a scope (a region, or a dataflow's root) and its end. */
export function openScope(parts: DataflowParts, address: readonly number[], name: string): number {
  const { host } = parts;
  const operatorId = host.takeId();
  host.events.operatorCreated(operatorId, address, name, null);
  parts.addMember({ shutdown: () => host.events.operatorShutdown(operatorId) });
  return operatorId;
}

export class OperatorBuilder {
  readonly #parts: DataflowParts;
  readonly #op: Operator;

  constructor(parts: DataflowParts, address: readonly number[], name: string) {
    this.#parts = parts;
    const operatorId = parts.host.takeId();
    this.#op = new Operator(parts.host, { operatorId, address, name }, () => parts.operatorComplete());
    parts.addOperator(this.#op);
  }

  get operatorId(): number {
    return this.#op.operatorId;
  }

  /** An input that reads a stream; other pacts than `pipeline` carry batches of updates only. */
  input<T extends Sized>(stream: Stream<T>, pact?: { readonly kind: 'pipeline' }): InputPort<T>;
  input(stream: Stream<Batch>, pact: Pact): InputPort<Batch>;
  input<T extends Sized>(stream: Stream<T>, pact: Pact = pipeline): InputPort<T> {
    const port = new InputPort<T>(this.#op, this.#op.inputs.length);
    this.#op.inputs.push(port as InputPort<Sized>);
    connect(this.#parts, stream.port, port, pact);
    return port;
  }

  /** An output; `type` says what it carries, for the channels relation. */
  output<T extends Sized>(type: string): OutputPort<T> {
    const port = new OutputPort<T>(this.#op, this.#op.outputs.length, type);
    this.#op.outputs.push(port as unknown as OutputPort<Sized>);
    return port;
  }

  /** Gives the operator its rule; last. */
  build(construct: (ctx: OperatorContext) => OperatorLogic): void {
    this.#op.start(construct);
  }
}

function connect<T extends Sized>(
  parts: DataflowParts,
  from: OutputPort<T>,
  to: InputPort<T>,
  pact: Pact,
): void {
  const { host } = parts;
  const channelId = host.takeId();
  const a = from.owner.address;
  const b = to.owner.address;
  assert(a[0] === b[0], `a stream of dataflow ${a[0]} is read in dataflow ${b[0]}`);
  let depth = 1;
  while (depth < a.length - 1 && depth < b.length - 1 && a[depth] === b[depth]) depth++;
  host.events.channelCreated({
    channelId,
    scopeAddress: a.slice(0, depth),
    fromIndex: a[depth]!,
    fromPort: from.index,
    toIndex: b[depth]!,
    toPort: to.index,
    type: from.type,
  });
  parts.channelCreated();
  if (pact.kind === 'pipeline' || host.peers === 1) {
    from.connect(new PipelineChannel(channelId, to, host.events, host.index));
    return;
  }
  const { events, mesh, index, peers } = host;
  const channel = new ExchangeChannel({
    channelId,
    dataflow: parts.dataflowIndex,
    ordinal: parts.nextExchange(),
    pact,
    target: to as unknown as Target<Batch>,
    events,
    mesh,
    index,
    peers,
  });
  parts.addExchange(channel);
  from.connect(channel as unknown as Target<T>);
}
