/**
 * Rows of the runtime relations: of operators and channels, each as long as it lives, and what the counters say. What an end takes back is
 * what was told; what was counted and not yet told is forgotten with it.
 */
import { assert } from '../base/assert.ts';
import type { ChannelDescription } from '../dataflow/events.ts';
import { SqlList } from '../repr/array.ts';
import { EMPTY } from '../time/timestamp.ts';
import { BUCKETS, bucketNs, type TellCount } from './counters.ts';
import type { EventKind } from './events.ts';
import { Ledger } from './ledger.ts';
import type { LogBuffer } from './log-buffer.ts';
import { MEASURES, MESSAGES, type OperatorEntry, type RuntimeState } from './runtime-state.ts';

/** What was told of an operator or a channel. */
interface Told {
  readonly ledger: Ledger;
  /** Frontiers of inputs by port, EMPTY for none. */
  readonly inputs: number[];
  /** Times of capabilities, ascending: each at every output. */
  held: readonly number[];
  outputs: number;
}

const SOURCE = 0;
const TARGET = 1;

export class RuntimeDemux {
  readonly #worker: number;
  readonly #peers: number;
  readonly #state: RuntimeState;
  readonly #buffer: LogBuffer;
  readonly #operators = new Map<number, Told>();
  readonly #channels = new Map<number, Ledger>();

  constructor(options: {
    readonly worker: number;
    readonly peers: number;
    readonly state: RuntimeState;
    readonly buffer: LogBuffer;
  }) {
    this.#worker = options.worker;
    this.#peers = options.peers;
    this.#state = options.state;
    this.#buffer = options.buffer;
  }

  /** Operators and channels that have rows. */
  get owners(): number {
    return this.#operators.size + this.#channels.size;
  }

  handle(kind: EventKind, slot: number): void {
    switch (kind) {
      case 'operator':
        return this.#operator(slot, this.#state.operators.get(slot));
      case 'operatorStopped':
        return this.#stopped(this.#state.operators.get(slot), this.#told(slot));
      case 'operatorShutdown':
        return this.#shutdown(slot, this.#state.operators.get(slot));
      case 'channel':
        return this.#channel(slot, this.#state.channels.get(slot));
      case 'channelShutdown':
        return this.#channelShutdown(slot);
      default:
        assert(false, `event ${kind} has a handler`);
    }
  }

  #ledger(): Ledger {
    return new Ledger((log, row, diff) => this.#buffer.row(log, row, diff));
  }

  #told(slot: number): Told {
    const told = this.#operators.get(slot);
    assert(told !== undefined, 'an operator that ends was created');
    return told;
  }

  #operator(slot: number, o: OperatorEntry): void {
    assert(!this.#operators.has(slot), `operator ${o.operatorId} is created once`);
    const ledger = this.#ledger();
    this.#operators.set(slot, { ledger, inputs: [], held: [], outputs: 0 });
    ledger.put('name', 'mz_dataflow_operators_per_worker', [o.operatorId, this.#worker, o.name]);
    ledger.put('address', 'mz_dataflow_addresses_per_worker', [
      o.operatorId,
      this.#worker,
      listOfNumbers(o.address),
    ]);
  }

  /** It holds no place in time any more; its arrangement is still read. */
  #stopped(o: OperatorEntry, told: Told): void {
    for (const [port, f] of told.inputs.entries()) if (f !== EMPTY) this.#reach(o, TARGET, port, f, -1);
    told.inputs.length = 0;
    this.#held(o, told, []);
  }

  #shutdown(slot: number, o: OperatorEntry): void {
    const told = this.#told(slot);
    told.ledger.clear('name');
    this.#state.elapsed.clear(slot, this.#tellElapsed);
    this.#state.arrangements.clear(slot, this.#tellArrangement);
    this.#stopped(o, told);
    told.ledger.close();
    this.#operators.delete(slot);
    this.#state.operators.release(slot);
  }

  #channel(slot: number, c: ChannelDescription): void {
    assert(!this.#channels.has(slot), `channel ${c.channelId} is created once`);
    const ledger = this.#ledger();
    this.#channels.set(slot, ledger);
    const { channelId, fromIndex, fromPort, toIndex, toPort, type } = c;
    ledger.put('channel', 'mz_dataflow_channels_per_worker', [
      channelId,
      this.#worker,
      fromIndex,
      fromPort,
      toIndex,
      toPort,
      type,
    ]);
    ledger.put('address', 'mz_dataflow_addresses_per_worker', [
      channelId,
      this.#worker,
      listOfNumbers(c.scopeAddress),
    ]);
  }

  #channelShutdown(slot: number): void {
    const ledger = this.#channels.get(slot);
    assert(ledger !== undefined, 'a channel that ends was created');
    ledger.close();
    this.#state.messages.clear(slot, this.#tellMessages);
    this.#channels.delete(slot);
    this.#state.channels.release(slot);
  }

  // ---- What the counters say

  /** Whether there is something to tell that somebody may wait for. How a worker slept waits for company. */
  get dirty(): boolean {
    const { elapsed, arrangements, messages } = this.#state;
    return elapsed.dirty > 0 || arrangements.dirty > 0 || messages.dirty > 0;
  }

  flush(): void {
    const { elapsed, arrangements, messages, parks } = this.#state;
    elapsed.forDirty((slot) => {
      const told = this.#operators.get(slot);
      if (told !== undefined) this.#reachability(this.#state.operators.get(slot), told);
    });
    elapsed.flush(this.#tellElapsed);
    arrangements.flush(this.#tellArrangement);
    messages.flush(this.#tellMessages);
    parks.flush(this.#tellPark);
  }

  readonly #tellElapsed: TellCount = (slot, k, diff) => {
    const { operatorId } = this.#state.operators.get(slot);
    if (k === 0) this.#buffer.count('mz_scheduling_elapsed_raw', diff, operatorId, this.#worker);
    else
      this.#buffer.count(
        'mz_compute_operator_durations_histogram_raw',
        diff,
        operatorId,
        this.#worker,
        bucketNs(k - 1),
      );
  };

  readonly #tellArrangement: TellCount = (slot, k, diff) => {
    const { operatorId } = this.#state.operators.get(slot);
    this.#buffer.count(MEASURES[k]!, diff, operatorId, this.#worker);
  };

  readonly #tellMessages: TellCount = (slot, k, diff) => {
    const { channelId } = this.#state.channels.get(slot);
    const log = MESSAGES[Math.floor(k / this.#peers)]!;
    const other = k % this.#peers;
    const sent = k < 2 * this.#peers;
    this.#buffer.count(log, diff, channelId, sent ? this.#worker : other, sent ? other : this.#worker);
  };

  readonly #tellPark: TellCount = (slept, requested, diff) => {
    this.#buffer.count(
      'mz_scheduling_parks_histogram_raw',
      diff,
      this.#worker,
      bucketNs(slept),
      requested === BUCKETS ? Number.NaN : bucketNs(requested),
    );
  };

  // ---- Where an operator stands in time

  #reachability(o: OperatorEntry, told: Told): void {
    if (o.ports === null) return;
    // A thousand operators a second at rest: nothing is allocated for one that holds no capability.
    const { inputs, outputs } = o.ports;
    for (let port = 0; port < inputs.length; port++) {
      const { frontier } = inputs[port]!;
      if (port === told.inputs.length) told.inputs.push(EMPTY);
      const old = told.inputs[port]!;
      if (frontier === old) continue;
      if (old !== EMPTY) this.#reach(o, TARGET, port, old, -1);
      if (frontier !== EMPTY) this.#reach(o, TARGET, port, frontier, 1);
      told.inputs[port] = frontier;
    }
    told.outputs = outputs.length;
    const now: number[] = [];
    o.ports.heldTimes(now);
    if (now.length > 1) now.sort((a, b) => a - b);
    if (now.length > 0 || told.held.length > 0) this.#held(o, told, now);
  }

  /** From the times that were told to those of now, both ascending. */
  #held(o: OperatorEntry, told: Told, now: readonly number[]): void {
    const old = told.held;
    let i = 0;
    let j = 0;
    while (i < old.length || j < now.length) {
      const a = i < old.length ? old[i]! : EMPTY;
      const b = j < now.length ? now[j]! : EMPTY;
      if (a <= b) i++;
      if (b <= a) j++;
      if (a === b) continue;
      for (let port = 0; port < told.outputs; port++)
        this.#reach(o, SOURCE, port, Math.min(a, b), a < b ? -1 : 1);
    }
    told.held = now;
  }

  #reach(o: OperatorEntry, type: number, port: number, time: number, diff: 1 | -1): void {
    this.#buffer.count(
      'mz_dataflow_operator_reachability_raw',
      diff,
      o.scope!.operatorId,
      this.#worker,
      o.address.at(-1)!,
      port,
      type,
      time,
    );
  }
}

const listOfNumbers = (numbers: readonly number[]): SqlList => new SqlList(numbers.map(BigInt));
