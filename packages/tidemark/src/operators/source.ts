/**
 * Source: where updates enter a dataflow. The handle queues batches and frontier advances, in order, from outside of
 * a step; the operator sends them, and waits while its readers have a backlog, so that `pendingRows` tells whoever
 * feeds it when to pause.
 */
import { assert } from '../base/assert.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { Capability } from '../dataflow/capability.ts';
import type { OperatorContext, OperatorLogic } from '../dataflow/operator.ts';
import { MAX_BATCH_ROWS, type OutputPort, type Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { sliceBatch } from '../repr/batch.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../time/timestamp.ts';
import type { Fuel } from '../trace/fuel.ts';

/** Readers with more rows waiting are given time. */
const BACKLOG_ROWS = 4 * MAX_BATCH_ROWS;

export interface InputHandle {
  /** Updates with times of at least `frontier`. */
  push(batch: Batch): void;
  advanceTo(frontier: Frontier): void;
  /** No more updates: the empty frontier. */
  close(): void;
  /** What was promised last. */
  readonly frontier: Frontier;
  /** Rows that were pushed and not yet taken. */
  readonly pendingRows: number;
  /** Whether the dataflow is gone: pushes are ignored then. */
  readonly closed: boolean;
}

export interface Source {
  readonly handle: InputHandle;
  readonly stream: Stream<Batch>;
}

export function source(scope: Scope, options: { readonly name?: string } = {}): Source {
  const op = scope.operator(options.name ?? 'Source');
  const to = op.output<Batch>('batch');
  let feeder!: Feeder;
  op.build((ctx) => (feeder = new Feeder(ctx, to)));
  return { handle: feeder, stream: to.stream };
}

class Feeder implements InputHandle, OperatorLogic {
  readonly #ctx: OperatorContext;
  readonly #to: OutputPort<Batch>;
  readonly #capability: Capability;
  #queue: (Batch | Frontier)[] = [];
  #head = 0;
  /** Rows of the batch at the head that are sent. */
  #sent = 0;
  #frontier: Frontier = MIN_TIME;
  #pendingRows = 0;
  #closed = false;

  constructor(ctx: OperatorContext, to: OutputPort<Batch>) {
    this.#ctx = ctx;
    this.#to = to;
    this.#capability = ctx.initialCapability();
  }

  get frontier(): Frontier {
    return this.#frontier;
  }

  get pendingRows(): number {
    return this.#pendingRows;
  }

  get closed(): boolean {
    return this.#closed;
  }

  push(batch: Batch): void {
    if (batch.length === 0 || this.#closed) return;
    assert(this.#frontier !== EMPTY, 'updates come before a source is closed');
    this.#queue.push(batch);
    this.#pendingRows += batch.length;
    this.#ctx.reactivate();
  }

  advanceTo(frontier: Frontier): void {
    assert(frontier >= this.#frontier, `a source goes from ${this.#frontier} to ${frontier}`);
    if (frontier === this.#frontier || this.#closed) return;
    this.#frontier = frontier;
    this.#queue.push(frontier);
    this.#ctx.reactivate();
  }

  close(): void {
    this.advanceTo(EMPTY);
  }

  run(fuel: Fuel): void {
    while (this.#head < this.#queue.length) {
      const next = this.#queue[this.#head]!;
      if (typeof next === 'number') {
        this.#capability.downgrade(next);
        this.#head++;
        continue;
      }
      if (fuel.exhausted || this.#to.backlog > BACKLOG_ROWS) {
        this.#ctx.reactivate();
        break;
      }
      this.#sendPart(next, fuel);
    }
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    } else if (this.#head > 1024) {
      this.#queue = this.#queue.slice(this.#head);
      this.#head = 0;
    }
  }

  #sendPart(batch: Batch, fuel: Fuel): void {
    const to = Math.min(batch.length, this.#sent + MAX_BATCH_ROWS);
    const part = sliceBatch(batch, this.#sent, to);
    fuel.spend(part.length);
    this.#pendingRows -= part.length;
    this.#sent = to;
    if (to === batch.length) {
      this.#head++;
      this.#sent = 0;
    }
    this.#to.send(this.#capability, part);
  }

  shutdown(): void {
    this.#closed = true;
    this.#queue = [];
    this.#head = 0;
    this.#pendingRows = 0;
  }
}
