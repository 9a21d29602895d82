/**
 * A dataflow on one worker: its members in order of creation, its exchanges by ordinal. It ends when it is
 * dropped, or by itself when every operator has reached the empty frontier; traces that others hold live on.
 */

import type { DataflowParts } from './builder.ts';
import type { ExchangeChannel } from './channel.ts';
import type { MeshMessage } from './mesh.ts';
import type { Operator, OperatorHost } from './operator.ts';

export type DataflowState = 'building' | 'running' | 'complete' | 'dropped';

export class Dataflow implements DataflowParts {
  readonly dataflowIndex: number;
  readonly name: string;
  readonly host: OperatorHost;
  readonly #members: { shutdown(): void }[] = [];
  readonly #operators: Operator[] = [];
  readonly #exchanges: ExchangeChannel[] = [];
  readonly #built: (() => void)[] = [];
  readonly #ended: (() => void)[] = [];
  readonly #onEnd: (d: Dataflow) => void;
  #incomplete = 0;
  #channels = 0;
  #state: DataflowState = 'building';

  constructor(
    host: OperatorHost,
    spec: { readonly index: number; readonly name: string },
    onEnd: (d: Dataflow) => void,
  ) {
    this.host = host;
    this.dataflowIndex = spec.index;
    this.name = spec.name;
    this.#onEnd = onEnd;
  }

  get state(): DataflowState {
    return this.#state;
  }

  /** Records that wait to be pulled by an operator of it on this worker. */
  get queuedRecords(): number {
    let n = 0;
    for (const op of this.#operators) for (const i of op.inputs) n += i.queuedRecords;
    return n;
  }

  addMember(member: { shutdown(): void }): void {
    this.#members.push(member);
  }

  addOperator(op: Operator): void {
    this.#members.push(op);
    this.#operators.push(op);
    this.#incomplete++;
  }

  operatorComplete(): void {
    this.#incomplete--;
    this.#endIfComplete();
  }

  nextExchange(): number {
    return this.#exchanges.length;
  }

  addExchange(channel: ExchangeChannel): void {
    this.#exchanges.push(channel);
  }

  channelCreated(): void {
    this.#channels++;
    this.host.runtimeCounts.channels++;
  }

  onBuilt(f: () => void): void {
    this.#built.push(f);
  }

  onShutdown(f: () => void): void {
    this.#ended.push(f);
  }

  /** The description is finished. */
  finishBuild(): void {
    this.#state = 'running';
    for (const f of this.#built) f();
    this.#built.length = 0;
    this.#endIfComplete();
  }

  receive(from: number, message: MeshMessage): void {
    this.#exchanges[message.channel]!.receive(from, message);
  }

  #endIfComplete(): void {
    if (this.#incomplete === 0 && this.#state === 'running') this.#end('complete');
  }

  /**
   * Frees everything: now, or when the operator that calls has returned. Dropping twice, or after the end, does
   * nothing.
   */
  drop(): void {
    if (this.#state === 'building' || this.#state === 'running') this.#end('dropped');
  }

  #end(state: DataflowState): void {
    this.#state = state;
    this.host.afterRun(() => this.#free());
  }

  #free(): void {
    for (let i = this.#members.length - 1; i >= 0; i--) this.#members[i]!.shutdown();
    this.#members.length = 0;
    this.#operators.length = 0;
    this.#exchanges.length = 0;
    this.host.runtimeCounts.channels -= this.#channels;
    for (const f of this.#built) f();
    for (const f of this.#ended) f();
    this.#built.length = 0;
    this.#ended.length = 0;
    this.host.events.dataflowShutdown(this.dataflowIndex);
    this.#onEnd(this);
  }
}
