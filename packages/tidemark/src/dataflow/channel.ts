/**
 * Channels: pipeline (stay on this worker) and exchange (route rows to workers). With one worker every pact is a
 * pipeline: nothing is hashed or copied.
 *
 * An exchange hashes rows once, counts rows per target, and gathers one fresh batch a target, so that what leaves
 * owns its buffers. The frontier of the receiving end is the least over all senders.
 */
import { assert } from '../base/assert.ts';
import { type Batch, gatherBatch } from '../repr/batch.ts';
import { EMPTY, type Frontier, MIN_TIME, meet } from '../time/timestamp.ts';
import type { RowHash } from '../trace/arranged-batch.ts';
import type { DataflowEvents } from './events.ts';
import type { Mesh, MeshMessage } from './mesh.ts';
import type { Sized, Target } from './ports.ts';

/** How a stream gets from one operator to the next. */
export type Pact =
  | { readonly kind: 'pipeline' }
  /** Rows go to the worker that their hash names. */
  | { readonly kind: 'exchange'; readonly hash: (batch: Batch) => Int32Array }
  /** Every row goes to one worker. */
  | { readonly kind: 'to'; readonly worker: number }
  /** Every row goes to every worker. */
  | { readonly kind: 'broadcast' };

export const pipeline: Pact = { kind: 'pipeline' };
export const toWorker = (worker: number): Pact => ({ kind: 'to', worker });
export const broadcast: Pact = { kind: 'broadcast' };

/** By the hash of some columns: rows that agree in them meet on one worker, in every dataflow alike. */
export const exchange = (columns: readonly number[], hash: RowHash): Pact => ({
  kind: 'exchange',
  hash: (b) =>
    hash(
      columns.map((c) => b.columns[c]!),
      b.length,
    ),
});

/**
 * The worker a hash belongs to. By the high bits: the tables of arrangements use the low ones, and would be half
 * empty if two workers split by those.
 */
const workerOf = (hash: number, peers: number): number => ((hash >>> 16) * peers) >>> 16;

export class PipelineChannel<T extends Sized> implements Target<T> {
  readonly #channelId: number;
  readonly #target: Target<T>;
  readonly #events: DataflowEvents;
  readonly #worker: number;

  constructor(channelId: number, target: Target<T>, events: DataflowEvents, worker: number) {
    this.#channelId = channelId;
    this.#target = target;
    this.#events = events;
    this.#worker = worker;
  }

  push(item: T): void {
    this.#events.messageSent(this.#channelId, this.#worker, item.length);
    this.#events.messageReceived(this.#channelId, this.#worker, item.length);
    this.#target.push(item);
  }

  advance(frontier: Frontier): void {
    this.#target.advance(frontier);
  }

  get queuedRecords(): number {
    return this.#target.queuedRecords;
  }
}

export interface ExchangeParts {
  readonly channelId: number;
  readonly dataflow: number;
  /** Counts the exchanges of the dataflow: the same on every worker. */
  readonly ordinal: number;
  readonly pact: Exclude<Pact, { kind: 'pipeline' }>;
  readonly target: Target<Batch>;
  readonly events: DataflowEvents;
  readonly mesh: Mesh;
  readonly index: number;
  readonly peers: number;
}

export class ExchangeChannel implements Target<Batch> {
  readonly #p: ExchangeParts;
  /** By sender. */
  readonly #frontiers: Frontier[];

  constructor(parts: ExchangeParts) {
    this.#p = parts;
    this.#frontiers = new Array<Frontier>(parts.peers).fill(MIN_TIME);
  }

  get queuedRecords(): number {
    return this.#p.target.queuedRecords;
  }

  push(batch: Batch): void {
    const { pact, peers } = this.#p;
    switch (pact.kind) {
      case 'to':
        this.#deliver(pact.worker, pact.worker === this.#p.index ? batch : copyBatch(batch));
        break;
      case 'broadcast':
        for (let w = 0; w < peers; w++) this.#deliver(w, w === this.#p.index ? batch : copyBatch(batch));
        break;
      case 'exchange': {
        const parts = partition(batch, pact.hash(batch), peers);
        for (let w = 0; w < peers; w++) if (parts[w]!.length > 0) this.#deliver(w, parts[w]!);
      }
    }
  }

  #deliver(worker: number, batch: Batch): void {
    const p = this.#p;
    p.events.messageSent(p.channelId, worker, batch.length);
    if (worker === p.index) this.receiveBatch(p.index, batch);
    else p.mesh.send(worker, { kind: 'batch', dataflow: p.dataflow, channel: p.ordinal, batch });
  }

  advance(frontier: Frontier): void {
    const p = this.#p;
    for (let w = 0; w < p.peers; w++) {
      if (w === p.index) this.#receiveFrontier(w, frontier);
      else p.mesh.send(w, { kind: 'frontier', dataflow: p.dataflow, channel: p.ordinal, frontier });
    }
  }

  receive(from: number, message: MeshMessage): void {
    if (message.kind === 'batch') this.receiveBatch(from, message.batch);
    else this.#receiveFrontier(from, message.frontier);
  }

  receiveBatch(from: number, batch: Batch): void {
    this.#p.events.messageReceived(this.#p.channelId, from, batch.length);
    this.#p.target.push(batch);
  }

  #receiveFrontier(from: number, frontier: Frontier): void {
    const old = this.#frontiers[from]!;
    assert(frontier >= old, `the frontier of sender ${from} goes from ${old} to ${frontier}`);
    this.#frontiers[from] = frontier;
    let least = EMPTY;
    for (const f of this.#frontiers) least = meet(least, f);
    this.#p.target.advance(least);
  }
}

const identity = (n: number): Int32Array => {
  const out = new Int32Array(n);
  for (let i = 0; i < n; i++) out[i] = i;
  return out;
};

/** The same rows in buffers of their own. */
const copyBatch = (b: Batch): Batch => gatherBatch(b, identity(b.length), b.length);

/** One fresh batch a worker: a counting sort of row indices by target, then one gather each. */
function partition(batch: Batch, hashes: Int32Array, peers: number): Batch[] {
  const n = batch.length;
  const starts = new Int32Array(peers + 1);
  for (let i = 0; i < n; i++) starts[workerOf(hashes[i]!, peers) + 1]!++;
  for (let w = 0; w < peers; w++) starts[w + 1]! += starts[w]!;
  const cursor = starts.slice();
  const order = new Int32Array(n);
  for (let i = 0; i < n; i++) order[cursor[workerOf(hashes[i]!, peers)]!++] = i;
  const out: Batch[] = [];
  for (let w = 0; w < peers; w++) {
    const from = starts[w]!;
    const to = starts[w + 1]!;
    out.push(gatherBatch(batch, order.subarray(from, to), to - from));
  }
  return out;
}
