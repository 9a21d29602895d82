/**
 * Where a worker's runtime says what it does: bytes are always counted, and the rest goes to the log if there is one.
 */
import type { ChannelDescription, DataflowEvents, OperatorPorts } from '../dataflow/events.ts';
import type { ArrangementBytes } from './arrangement-bytes.ts';

export class WorkerEvents implements DataflowEvents {
  readonly #bytes: ArrangementBytes;
  /** Set once it is known whether anything is logged, before the first dataflow. */
  log: DataflowEvents | null = null;

  constructor(bytes: ArrangementBytes) {
    this.#bytes = bytes;
  }

  operatorCreated(
    operatorId: number,
    address: readonly number[],
    name: string,
    ports: OperatorPorts | null,
  ): void {
    this.#bytes.operatorCreated(operatorId, address[0]!);
    this.log?.operatorCreated(operatorId, address, name, ports);
  }

  operatorShutdown(operatorId: number): void {
    this.#bytes.operatorShutdown(operatorId);
    this.log?.operatorShutdown(operatorId);
  }

  channelCreated(channel: ChannelDescription): void {
    this.log?.channelCreated(channel);
  }

  dataflowShutdown(dataflowIndex: number): void {
    this.#bytes.dataflowShutdown(dataflowIndex);
    this.log?.dataflowShutdown(dataflowIndex);
  }

  scheduleStart(operatorId: number): void {
    this.log?.scheduleStart(operatorId);
  }

  scheduleStop(operatorId: number, elapsedNs: number): void {
    this.log?.scheduleStop(operatorId, elapsedNs);
  }

  frontierPassed(operatorId: number): void {
    this.log?.frontierPassed(operatorId);
  }

  messageSent(channelId: number, toWorker: number, records: number): void {
    this.log?.messageSent(channelId, toWorker, records);
  }

  messageReceived(channelId: number, fromWorker: number, records: number): void {
    this.log?.messageReceived(channelId, fromWorker, records);
  }

  park(requestedNs: number): void {
    this.log?.park(requestedNs);
  }

  unpark(sleptNs: number): void {
    this.log?.unpark(sleptNs);
  }

  batchAdded(operatorId: number, records: number): void {
    this.log?.batchAdded(operatorId, records);
  }

  batchesMerged(operatorId: number, older: number, newer: number, merged: number): void {
    this.log?.batchesMerged(operatorId, older, newer, merged);
  }

  batchDropped(operatorId: number, records: number): void {
    this.log?.batchDropped(operatorId, records);
  }

  traceShared(operatorId: number, diff: number): void {
    this.#bytes.traceShared(operatorId, diff);
    this.log?.traceShared(operatorId, diff);
  }

  heap(operatorId: number, sizeDiff: number, capacityDiff: number, allocationsDiff: number): void {
    this.#bytes.changed(operatorId, capacityDiff);
    this.log?.heap(operatorId, sizeDiff, capacityDiff, allocationsDiff);
  }

  batcher(operatorId: number, records: number, size: number, capacity: number, allocations: number): void {
    this.#bytes.changed(operatorId, capacity);
    this.log?.batcher(operatorId, records, size, capacity, allocations);
  }
}
