/**
 * Ports and streams. A batch goes by reference from an output port through channels into the queues of input
 * ports; a frontier travels the same way, in order: a reader sees a frontier only when it has pulled everything
 * that was sent before it.
 */
import { assert } from '../base/assert.ts';
import type { Batch } from '../repr/batch.ts';
import { sliceBatch } from '../repr/batch.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import type { ArrangedBatch } from '../trace/arranged-batch.ts';
import type { Capability, CapabilityHolder } from './capability.ts';

/** What streams carry: anything that counts its records; in the engine `Batch` and `ArrangedBatch`. */
export interface Sized {
  readonly length: number;
}

/**
 * No batch on a stream is longer (arranged ones excepted): an operator that works batch by batch stays within its
 * slice, and 16 K four-byte values fit the L2 cache. `send` splits what is longer.
 */
export const MAX_BATCH_ROWS = 16_384;

/** Where a channel delivers. */
export interface Target<T> {
  push(item: T): void;
  advance(frontier: Frontier): void;
  /** Records that wait to be pulled on this worker. */
  readonly queuedRecords: number;
}

/** What a port needs of its operator. */
export interface PortOwner extends CapabilityHolder {
  readonly address: readonly number[];
  activate(): void;
  /** The frontier of an input moved. */
  advanced(): void;
}

/** Receives one stream. */
export class InputPort<T extends Sized> implements Target<T> {
  readonly owner: PortOwner;
  readonly index: number;
  #items: T[] = [];
  /** For each queued item, the channel's frontier when it came. */
  #before: Frontier[] = [];
  #head = 0;
  #channelFrontier: Frontier = MIN_TIME;
  #records = 0;

  constructor(owner: PortOwner, index: number) {
    this.owner = owner;
    this.index = index;
  }

  /** The next batch, or undefined when there is none now. */
  pull(): T | undefined {
    if (this.#head === this.#items.length) return undefined;
    const item = this.#items[this.#head]!;
    this.#head++;
    this.#records -= item.length;
    if (this.#head === this.#items.length || this.#head >= 64) {
      this.#items.splice(0, this.#head);
      this.#before.splice(0, this.#head);
      this.#head = 0;
    }
    return item;
  }

  /** No batch that is still to be pulled has a time before it. */
  get frontier(): Frontier {
    return this.#head === this.#items.length ? this.#channelFrontier : this.#before[this.#head]!;
  }

  /** Nothing will ever be pulled again. */
  get done(): boolean {
    return this.#channelFrontier === EMPTY && this.#head === this.#items.length;
  }

  get isEmpty(): boolean {
    return this.#head === this.#items.length;
  }

  get queuedRecords(): number {
    return this.#records;
  }

  push(item: T): void {
    this.#items.push(item);
    this.#before.push(this.#channelFrontier);
    this.#records += item.length;
    this.owner.activate();
  }

  advance(frontier: Frontier): void {
    const old = this.#channelFrontier;
    assert(frontier >= old, `the frontier of an input goes from ${old} to ${frontier}`);
    if (frontier === old) return;
    this.#channelFrontier = frontier;
    this.owner.advanced();
  }

  /** Forgets what is queued: the dataflow is gone. */
  clear(): void {
    this.#items = [];
    this.#before = [];
    this.#head = 0;
    this.#records = 0;
  }
}

/** Sends one stream to any number of channels. */
export class OutputPort<T extends Sized> {
  readonly owner: PortOwner;
  readonly index: number;
  /** What it carries, as the channels relation shows it. */
  readonly type: string;
  readonly stream: Stream<T>;
  readonly #targets: Target<T>[] = [];
  #frontier: Frontier = MIN_TIME;

  constructor(owner: PortOwner, index: number, type: string) {
    this.owner = owner;
    this.index = index;
    this.type = type;
    this.stream = new Stream(this);
  }

  get frontier(): Frontier {
    return this.#frontier;
  }

  /** Whether anybody listens: a rule may skip work for an output that nobody reads. */
  get connected(): boolean {
    return this.#targets.length > 0;
  }

  /** Records that wait at the slowest reader on this worker: a producer may hold back by it. */
  get backlog(): number {
    let most = 0;
    for (const t of this.#targets) if (t.queuedRecords > most) most = t.queuedRecords;
    return most;
  }

  connect(target: Target<T>): void {
    this.#targets.push(target);
  }

  /** Sends a batch whose times are all at least the capability's. Empty batches of updates are not sent. */
  send(capability: Capability, item: T): void {
    assert(capability.belongsTo(this.owner), 'a batch is sent with a capability of its own operator');
    const least = leastTime(item);
    assert(
      least >= capability.time,
      `a batch with time ${least} is sent with a capability at ${capability.time}`,
    );
    if (isUpdates(item)) {
      if (item.length === 0) return;
      if (item.length > MAX_BATCH_ROWS) {
        for (let from = 0; from < item.length; from += MAX_BATCH_ROWS)
          this.#push(sliceBatch(item, from, Math.min(from + MAX_BATCH_ROWS, item.length)) as Sized as T);
        return;
      }
    }
    this.#push(item);
  }

  #push(item: T): void {
    for (const t of this.#targets) t.push(item);
  }

  advance(frontier: Frontier): void {
    const old = this.#frontier;
    if (frontier === old) return;
    assert(frontier > old, `the frontier of an output goes from ${old} to ${frontier}`);
    this.#frontier = frontier;
    for (const t of this.#targets) t.advance(frontier);
  }

  clear(): void {
    this.#targets.length = 0;
  }
}

/** The output of an operator, to be given to others. */
export class Stream<T extends Sized> {
  readonly port: OutputPort<T>;

  constructor(port: OutputPort<T>) {
    this.port = port;
  }
}

const isUpdates = (item: Sized): item is Batch => 'columns' in item;
const isArranged = (item: Sized): item is ArrangedBatch => 'keyOffsets' in item;

/** The least time in a batch; an arranged one promises its lower bound, and at least its times. */
function leastTime(item: Sized): number {
  if (isUpdates(item)) {
    const times = item.times;
    if (typeof times === 'number') return item.length === 0 ? EMPTY : times;
    let least = EMPTY;
    for (let i = 0; i < item.length; i++) if (times[i]! < least) least = times[i]!;
    return least;
  }
  return isArranged(item) ? item.minTime : EMPTY;
}
