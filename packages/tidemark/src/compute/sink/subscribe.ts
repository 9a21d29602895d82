/**
 * The sink of a SUBSCRIBE: on each worker, the updates of every interval that became complete, consolidated, sent to the controller.
 * Rows are exchanged by their hash, so that what cancels meets on one worker and the controller has only to put workers together.
 *
 * - Updates before the as-of do not exist; those at it come with a snapshot only; those at or past `up to` never.
 * - A batch [lower, upper) is sent when the frontier (the lesser of rows and errors) moves past the as-of. The first lower is the
 *   minimum. At the end, or at `up to`, a last batch has the empty upper.
 * - At the time of the first error rows end: that batch and each later one carry the error instead. An error at the as-of counts also
 *   without a snapshot, for the collection is in error.
 *
 * State: updates not yet complete. Nothing runs longer than its fuel; parts of at most 16 K rows leave as they are made.
 */
import type { Scope } from '../../dataflow/builder.ts';
import { exchange } from '../../dataflow/channel.ts';
import type { OperatorContext, OperatorLogic } from '../../dataflow/operator.ts';
import type { InputPort } from '../../dataflow/ports.ts';
import { decodeEvalError } from '../../expr/eval-error.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import { type Batch, diffAt, gatherBatch, timeAt } from '../../repr/batch.ts';
import { hashRows } from '../../repr/hash.ts';
import { kindOf } from '../../repr/types.ts';
import { EMPTY, type Frontier, MIN_TIME, meet, type Timestamp } from '../../time/timestamp.ts';
import {
  type ArrangedBatch,
  type ArrangementSpec,
  arrangementSpec,
  rowPermutation,
} from '../../trace/arranged-batch.ts';
import { type BatchRows, rowsOf } from '../../trace/batch-rows.ts';
import type { BatcherReport } from '../../trace/batcher.ts';
import { Batcher } from '../../trace/batcher.ts';
import { type Fuel, unlimitedFuel } from '../../trace/fuel.ts';
import type { ErrorResult, SubscribeResponse, SubscribeSink } from '../protocol.ts';
import type { Sink, SinkContext } from './sink.ts';

type Result = SubscribeResponse['result'];

export function subscribeSink(
  scope: Scope,
  desired: OksErrs,
  sink: SubscribeSink,
  context: SinkContext,
): Sink {
  const { host } = scope;
  const answer = (bounds: Bounds, result: Result): void =>
    context.send({ kind: 'subscribeResponse', worker: host.index, id: sink.id, ...bounds, result });
  const spec = arrangementSpec(
    sink.desc.columns.map((c) => kindOf(c.type)),
    sink.desc.columns.map((_, i) => i),
  );
  const op = scope.operator('Subscribe');
  const oks = op.input(desired.oks, exchange(spec.keyColumns, hashRows));
  const errs = op.input(desired.errs, exchange([0], hashRows));
  let subscriber: Subscriber | undefined;
  op.build((ctx) => {
    subscriber = new Subscriber(ctx, { oks, errs, spec, answer, asOf: context.asOf, sink });
    return subscriber;
  });
  const upper = (): Frontier => subscriber?.upper ?? MIN_TIME;
  return {
    get progress() {
      return upper();
    },
    get writeFrontier() {
      return upper();
    },
    writes: null,
    answers: {
      dropped() {
        if (upper() < EMPTY) answer({ lower: upper(), upper: EMPTY }, { kind: 'dropped' });
      },
    },
  };
}

interface Bounds {
  readonly lower: Timestamp;
  readonly upper: Frontier;
}

interface Parts {
  readonly oks: InputPort<Batch>;
  readonly errs: InputPort<Batch>;
  readonly spec: ArrangementSpec;
  readonly asOf: Timestamp;
  readonly sink: SubscribeSink;
  readonly answer: (bounds: Bounds, result: Result) => void;
}

/** Rows of [lower, upper) on their way, and then the error of [upper, end) if that is not empty. */
interface Telling extends Bounds {
  readonly rows: BatchRows;
  readonly end: Frontier;
}

/** After so many rows a frontier is not left waiting for the rest of the queue. */
const SEAL_ROWS = 65_536;

class Subscriber implements OperatorLogic {
  readonly #ctx: OperatorContext;
  readonly #p: Parts;
  readonly #places;
  readonly #oks: Batcher;
  readonly #errs: Batcher;
  readonly #upTo: Frontier;
  /** Where rows that are told begin. */
  readonly #from: Timestamp;
  /** Everything before it has been told. */
  upper: Frontier = MIN_TIME;
  #sealing: Bounds | undefined;
  #telling: Telling | undefined;
  #error: ErrorResult | undefined;
  /** Where the rows of the batch under way end: at the error, or at its upper. */
  #errorAt: Frontier = EMPTY;

  constructor(ctx: OperatorContext, parts: Parts) {
    this.#ctx = ctx;
    this.#p = parts;
    this.#places = rowPermutation(parts.spec);
    const report: BatcherReport = (records, size, capacity, allocations) =>
      ctx.host.events.batcher(ctx.operatorId, records, size, capacity, allocations);
    this.#oks = new Batcher(parts.spec, report);
    this.#errs = new Batcher(arrangementSpec(['bytes'], [0]), report);
    this.#upTo = parts.sink.upTo;
    this.#from = parts.sink.withSnapshot ? parts.asOf : parts.asOf + 1;
  }

  run(fuel: Fuel): void {
    if (!this.#work(fuel) || !this.#p.oks.isEmpty || !this.#p.errs.isEmpty) this.#ctx.reactivate();
  }

  /** Absorbs, seals and tells. Whether nothing is left to do but what new input brings. */
  #work(fuel: Fuel): boolean {
    for (;;) {
      if (this.#telling !== undefined && !this.#tell(fuel)) return false;
      if (this.#sealing !== undefined && !this.#seal(fuel)) return false;
      if (this.#telling !== undefined) continue;
      if (!this.#oks.absorb(fuel) || !this.#errs.absorb(fuel)) return false;
      const { oks, errs, asOf } = this.#p;
      const complete = meet(oks.frontier, errs.frontier);
      const due = complete > this.upper && complete > asOf;
      if (due && ((oks.isEmpty && errs.isEmpty) || this.#oks.absorbed >= SEAL_ROWS)) {
        this.#begin(complete);
        continue;
      }
      if (fuel.exhausted) return false;
      if (!this.#pull(fuel)) return true;
    }
  }

  #pull(fuel: Fuel): boolean {
    const { oks, errs } = this.#p;
    const rows = oks.pull();
    if (rows !== undefined) {
      fuel.spend(rows.length >> 2);
      if (this.#error === undefined) this.#oks.push(between(rows, this.#from, this.#upTo));
      return true;
    }
    const failed = errs.pull();
    if (failed === undefined) return false;
    if (this.#error === undefined) this.#errs.push(between(failed, this.#p.asOf, this.#upTo));
    return true;
  }

  #begin(complete: Frontier): void {
    const upper = complete >= this.#upTo ? EMPTY : complete;
    const bounds = { lower: this.upper, upper };
    if (this.#error !== undefined) {
      this.#said(bounds, this.#error);
      return;
    }
    this.#sealing = bounds;
    this.#oks.startSeal(bounds);
    this.#errs.startSeal(bounds);
  }

  #seal(fuel: Fuel): boolean {
    const bounds = this.#sealing!;
    const sealed = this.#oks.seal(fuel);
    if (sealed === undefined) return false;
    // Few, and looked at but once: an error ends the subscribe.
    this.#look(this.#errs.seal(unlimitedFuel())!);
    this.#sealing = undefined;
    const upper = Math.min(this.#errorAt, bounds.upper);
    if (upper > this.#p.asOf)
      this.#telling = { rows: rowsOf(sealed, this.#places), lower: bounds.lower, upper, end: bounds.upper };
    else this.#said(bounds, this.#error!);
    return true;
  }

  /** Finds the earliest error, the least of those at one time. */
  #look(sealed: ArrangedBatch): void {
    const rows = rowsOf(sealed, [{ from: 'key', column: 0 }]);
    let least: Uint8Array | undefined;
    for (let b = rows.next(unlimitedFuel()); b !== undefined; b = rows.next(unlimitedFuel())) {
      const { values, offsets } = b.columns[0]!;
      for (let i = 0; i < b.length; i++) {
        const time = timeAt(b, i);
        if (diffAt(b, i) <= 0 || time > this.#errorAt) continue;
        const bytes = (values as Uint8Array).subarray(offsets[i]!, offsets[i + 1]!);
        if (time === this.#errorAt && least !== undefined && compareBytes(least, bytes) <= 0) continue;
        least = bytes;
        this.#errorAt = time;
      }
    }
    if (least === undefined) return;
    this.#error = { kind: 'error', ...decodeEvalError(least) };
    this.#oks.clear();
  }

  /** Sends the rows of a sealed batch. Whether it is done. */
  #tell(fuel: Fuel): boolean {
    const { rows, lower, upper, end } = this.#telling!;
    for (;;) {
      const part = rows.next(fuel);
      const due = part === undefined ? null : between(part, MIN_TIME, upper);
      const batch = due === null || due.length === 0 ? null : withOwnBuffers(due);
      if (rows.done) {
        this.#telling = undefined;
        this.#said({ lower, upper }, { kind: 'rows', batch, more: false });
        if (upper < end) this.#said({ lower: upper, upper: end }, this.#error!);
        return true;
      }
      if (batch !== null) this.#p.answer({ lower, upper }, { kind: 'rows', batch, more: true });
      if (fuel.exhausted) return false;
    }
  }

  #said(bounds: Bounds, result: Result): void {
    this.#p.answer(bounds, result);
    this.upper = bounds.upper;
  }

  shutdown(): void {
    this.#oks.clear();
    this.#errs.clear();
  }
}

/** The updates with times in [from, to). */
function between(b: Batch, from: Timestamp, to: Frontier): Batch {
  const { times } = b;
  if (typeof times === 'number')
    return times >= from && times < to ? b : gatherBatch(b, new Int32Array(0), 0);
  const keep = new Int32Array(b.length);
  let n = 0;
  for (let i = 0; i < b.length; i++) if (times[i]! >= from && times[i]! < to) keep[n++] = i;
  return n === b.length ? b : gatherBatch(b, keep, n);
}

/** They are transferred, and times and diffs of a part are slices of the whole; columns were gathered. */
function withOwnBuffers(b: Batch): Batch {
  const { times, diffs } = b;
  return {
    ...b,
    times: typeof times === 'number' ? times : times.slice(),
    diffs: typeof diffs === 'number' ? diffs : diffs.slice(),
  };
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i]! - b[i]!;
  return a.length - b.length;
}
