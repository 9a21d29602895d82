/**
 * What the runtime says about itself while it runs: called by workers, builders, channels and spines with plain
 * numbers (names and addresses once, at creation). No allocation per event. The introspection module implements
 * it; `noEvents` is the silent one. Operator and channel ids come from one counter a worker.
 *
 * Order: an operator is created after its scope, a channel after both its ends. On shutdown operators go in
 * reverse order of creation, the dataflow's root last, and then `dataflowShutdown`.
 */
import type { Frontier } from '../time/timestamp.ts';
import { noTraceEvents, type TraceEvents } from '../trace/trace-events.ts';

export interface ChannelDescription {
  readonly channelId: number;
  /** Address of the innermost scope that holds both ends. */
  readonly scopeAddress: readonly number[];
  readonly fromIndex: number;
  readonly fromPort: number;
  readonly toIndex: number;
  readonly toPort: number;
  /** What it carries: `batch`, `arranged`, or what the output was declared with. */
  readonly type: string;
}

/** Where an operator stands in time, to be read after it ran or a frontier passed: it moves in no other way. */
export interface OperatorPorts {
  readonly inputs: readonly { readonly frontier: Frontier }[];
  readonly outputs: { readonly length: number };
  /** Adds the time of each capability that it holds, each for all its outputs. */
  heldTimes(into: number[]): void;
}

export interface DataflowEvents extends TraceEvents {
  /** `ports` is null for a scope. */
  operatorCreated(
    operatorId: number,
    address: readonly number[],
    name: string,
    ports: OperatorPorts | null,
  ): void;
  operatorShutdown(operatorId: number): void;
  channelCreated(channel: ChannelDescription): void;
  /** After all its operators are gone; its channels go with it. */
  dataflowShutdown(dataflowIndex: number): void;
  scheduleStart(operatorId: number): void;
  scheduleStop(operatorId: number, elapsedNs: number): void;
  /** A frontier went through it without a run. */
  frontierPassed(operatorId: number): void;
  /** One batch of `records` left for a worker (this one too). */
  messageSent(channelId: number, toWorker: number, records: number): void;
  messageReceived(channelId: number, fromWorker: number, records: number): void;
  /** The host is about to sleep; `requestedNs` is NaN without a timeout. */
  park(requestedNs: number): void;
  unpark(sleptNs: number): void;
}

export const noEvents: DataflowEvents = {
  ...noTraceEvents,
  operatorCreated() {},
  operatorShutdown() {},
  channelCreated() {},
  dataflowShutdown() {},
  scheduleStart() {},
  scheduleStop() {},
  frontierPassed() {},
  messageSent() {},
  messageReceived() {},
  park() {},
  unpark() {},
};
