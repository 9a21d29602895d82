/**
 * What a worker's runtime says, as it says it: beginnings and ends become events, everything else is added to counters. The hot calls
 * (a run of an operator, a batch over a channel) are two array reads and an addition or two; nothing is allocated. All of introspection
 * costs 3 % of the throughput of batches of ten rows, and 1 % or nothing of large ones (`compute/log-cost.bench`, November 2026).
 *
 * An operator whose arrangement is still read when it ends stays, with the scopes around it, until the last reader lets go: what the
 * arrangement occupies has an owner as long as it occupies anything.
 *
 * A hidden dataflow has no slots, so that whatever is said of it finds nobody.
 */
import { assert } from '../base/assert.ts';
import type { ChannelDescription, DataflowEvents, OperatorPorts } from '../dataflow/events.ts';
import { BUCKETS, bucketOf } from './counters.ts';
import type { EventKind, EventRing } from './events.ts';
import { IdSlots } from './id-slots.ts';
import { MEASURES, type Measure, type OperatorEntry, type RuntimeState } from './runtime-state.ts';

const at = (measure: Measure): number => MEASURES.indexOf(measure);
const BATCHES = at('mz_arrangement_batches_raw');
const RECORDS = at('mz_arrangement_records_raw');
const SHARING = at('mz_arrangement_sharing_raw');
const HEAP = at('mz_arrangement_heap_size_raw');
const BATCHER = at('mz_arrangement_batcher_records_raw');

export class RuntimeLog implements DataflowEvents {
  readonly #state: RuntimeState;
  readonly #ring: EventRing;
  readonly #ns: () => number;
  readonly #peers: number;
  /** Of operators and channels: they share one sequence of ids, and never a call. */
  readonly #slots = new IdSlots();
  readonly #hidden = new Set<number>();
  readonly #scopes = new Map<string, OperatorEntry>();
  readonly #channelsOf = new Map<number, number[]>();
  #running = -1;
  #parkedFor: number | undefined;

  constructor(options: {
    readonly state: RuntimeState;
    readonly ring: EventRing;
    /** Nanoseconds since the worker's anchor. */
    readonly ns: () => number;
    readonly peers: number;
  }) {
    this.#state = options.state;
    this.#ring = options.ring;
    this.#ns = options.ns;
    this.#peers = options.peers;
  }

  /** Nothing is logged of this dataflow; before it is built. */
  hide(dataflowIndex: number): void {
    this.#hidden.add(dataflowIndex);
  }

  #record(kind: EventKind, a: number): void {
    this.#ring.record(kind, this.#ns(), a);
  }

  // ---- Beginnings and ends

  operatorCreated(
    operatorId: number,
    address: readonly number[],
    name: string,
    ports: OperatorPorts | null,
  ): void {
    if (this.#hidden.has(address[0]!)) return;
    const scope = address.length === 1 ? null : this.#scopes.get(address.slice(0, -1).join('.'));
    assert(scope !== undefined, `the scope of operator ${operatorId} was created before it`);
    const entry = { operatorId, address, name, scope, ports, handles: 0, retained: 0, shutDown: false };
    if (ports === null) this.#scopes.set(address.join('.'), entry);
    const slot = this.#state.operators.add(entry);
    this.#slots.set(operatorId, slot);
    this.#state.elapsed.reserve(slot);
    this.#state.arrangements.reserve(slot);
    this.#record('operator', slot);
  }

  operatorShutdown(operatorId: number): void {
    const slot = this.#slots.get(operatorId);
    if (slot < 0) return;
    const entry = this.#state.operators.get(slot);
    assert(!entry.shutDown, `operator ${operatorId} is shut down once`);
    entry.shutDown = true;
    entry.ports = null;
    if (entry.handles === 0 && entry.retained === 0) return this.#forget(slot, entry);
    this.#record('operatorStopped', slot);
    if (entry.scope !== null) entry.scope.retained++;
  }

  #forget(slot: number, entry: OperatorEntry): void {
    this.#slots.delete(entry.operatorId);
    if (this.#scopes.get(entry.address.join('.')) === entry) this.#scopes.delete(entry.address.join('.'));
    this.#record('operatorShutdown', slot);
  }

  /** The last reader let go after its operator ended. */
  #letGo(slot: number, entry: OperatorEntry): void {
    this.#forget(slot, entry);
    const { scope } = entry;
    if (scope === null || --scope.retained > 0 || !scope.shutDown) return;
    this.#letGo(this.#slots.get(scope.operatorId), scope);
  }

  channelCreated(channel: ChannelDescription): void {
    const dataflowIndex = channel.scopeAddress[0]!;
    if (this.#hidden.has(dataflowIndex)) return;
    const slot = this.#state.channels.add(channel);
    this.#slots.set(channel.channelId, slot);
    this.#state.messages.reserve(slot);
    const list = this.#channelsOf.get(dataflowIndex);
    if (list === undefined) this.#channelsOf.set(dataflowIndex, [slot]);
    else list.push(slot);
    this.#record('channel', slot);
  }

  dataflowShutdown(dataflowIndex: number): void {
    if (this.#hidden.delete(dataflowIndex)) return;
    for (const slot of this.#channelsOf.get(dataflowIndex) ?? []) {
      this.#slots.delete(this.#state.channels.get(slot).channelId);
      this.#record('channelShutdown', slot);
    }
    this.#channelsOf.delete(dataflowIndex);
    this.#record('dataflowShutdown', dataflowIndex);
  }

  // ---- Time

  scheduleStart(operatorId: number): void {
    assert(this.#running < 0, 'one operator runs at a time');
    this.#running = operatorId;
  }

  scheduleStop(operatorId: number, elapsedNs: number): void {
    assert(this.#running === operatorId, 'the operator that stops is the one that was started');
    this.#running = -1;
    const slot = this.#slots.get(operatorId);
    if (slot < 0) return;
    const { elapsed } = this.#state;
    elapsed.add(slot, 0, elapsedNs);
    elapsed.add(slot, 1 + bucketOf(elapsedNs), 1);
  }

  /** It took no time of its own, and stands elsewhere now. */
  frontierPassed(operatorId: number): void {
    const slot = this.#slots.get(operatorId);
    if (slot >= 0) this.#state.elapsed.add(slot, 0, 0);
  }

  park(requestedNs: number): void {
    assert(this.#parkedFor === undefined, 'a worker that sleeps was awake');
    this.#parkedFor = requestedNs;
  }

  unpark(sleptNs: number): void {
    const requested = this.#parkedFor;
    assert(requested !== undefined, 'a worker that wakes slept');
    this.#parkedFor = undefined;
    const column = Number.isNaN(requested) ? BUCKETS : bucketOf(requested);
    this.#state.parks.add(bucketOf(sleptNs), column, 1);
  }

  // ---- Messages

  messageSent(channelId: number, toWorker: number, records: number): void {
    const slot = this.#slots.get(channelId);
    if (slot < 0) return;
    const { messages } = this.#state;
    messages.add(slot, toWorker, records);
    messages.add(slot, this.#peers + toWorker, 1);
  }

  messageReceived(channelId: number, fromWorker: number, records: number): void {
    const slot = this.#slots.get(channelId);
    if (slot < 0) return;
    const { messages } = this.#state;
    messages.add(slot, 2 * this.#peers + fromWorker, records);
    messages.add(slot, 3 * this.#peers + fromWorker, 1);
  }

  // ---- Arrangements

  batchAdded(operatorId: number, records: number): void {
    this.#batches(operatorId, 1, records);
  }

  batchesMerged(operatorId: number, older: number, newer: number, merged: number): void {
    this.#batches(operatorId, -1, merged - older - newer);
  }

  batchDropped(operatorId: number, records: number): void {
    this.#batches(operatorId, -1, -records);
  }

  #batches(operatorId: number, batches: number, records: number): void {
    const slot = this.#slots.get(operatorId);
    if (slot < 0) return;
    this.#state.arrangements.add(slot, BATCHES, batches);
    this.#state.arrangements.add(slot, RECORDS, records);
  }

  traceShared(operatorId: number, diff: number): void {
    const slot = this.#slots.get(operatorId);
    if (slot < 0) return;
    this.#state.arrangements.add(slot, SHARING, diff);
    const entry = this.#state.operators.get(slot);
    entry.handles += diff;
    assert(entry.handles >= 0, `the arrangement of operator ${operatorId} has ${entry.handles} handles`);
    if (entry.shutDown && entry.handles === 0) this.#letGo(slot, entry);
  }

  heap(operatorId: number, sizeDiff: number, capacityDiff: number, allocationsDiff: number): void {
    const slot = this.#slots.get(operatorId);
    if (slot < 0) return;
    const { arrangements } = this.#state;
    arrangements.add(slot, HEAP, sizeDiff);
    arrangements.add(slot, HEAP + 1, capacityDiff);
    arrangements.add(slot, HEAP + 2, allocationsDiff);
  }

  batcher(operatorId: number, records: number, size: number, capacity: number, allocations: number): void {
    const slot = this.#slots.get(operatorId);
    if (slot < 0) return;
    const { arrangements } = this.#state;
    arrangements.add(slot, BATCHER, records);
    arrangements.add(slot, BATCHER + 1, size);
    arrangements.add(slot, BATCHER + 2, capacity);
    arrangements.add(slot, BATCHER + 3, allocations);
  }
}
