/**
 * Write, the second operator of a view's sink, on every worker: keeps the correction (desired minus what the shard already has, read
 * back), and for each description stages a part with what is due before its upper. It waits until the desired rows have
 * reached the upper and the read-back the lower. Nothing to say, nothing staged; a worker answers every description.
 */
import type { Scope } from '../../dataflow/builder.ts';
import { exchange, toWorker } from '../../dataflow/channel.ts';
import type { OperatorContext, OperatorLogic } from '../../dataflow/operator.ts';
import type { InputPort, OutputPort, Stream } from '../../dataflow/ports.ts';
import { exchangeRows } from '../../operators/exchange.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import type { Part, Updates } from '../../persist/shard-types.ts';
import { type Batch, concatBatches, emptyBatch } from '../../repr/batch.ts';
import { hashRows } from '../../repr/hash.ts';
import type { Kind } from '../../repr/types.ts';
import type { RefreshSchedule } from '../../time/refresh-schedule.ts';
import { EMPTY } from '../../time/timestamp.ts';
import type { Fuel } from '../../trace/fuel.ts';
import { decodeControl, encodeControl } from '../control.ts';
import { Correction } from '../correction.ts';
import { isGone } from '../shard-source.ts';
import type { WriteDescription } from './mint.ts';
import { roundFrontier, roundTimes } from './refresh.ts';

/** One worker's answer to a description. */
export interface Staged {
  readonly lower: number;
  readonly worker: number;
  readonly parts: readonly Part[];
}

export interface WriteOptions {
  readonly kinds: readonly Kind[];
  readonly owner: number;
  /** Of what is desired; what is read back stands at its refreshes already. */
  readonly refresh: RefreshSchedule | undefined;
  readonly stage: (updates: Updates) => Promise<Part[]>;
  /** Of parts that nobody will append. */
  readonly discard: (parts: readonly Part[]) => Promise<void>;
  /** The shard is gone: nothing more is written. */
  readonly onError: (error: unknown) => void;
  /** A failure of the host; what failed is tried again. */
  readonly onRetry: (error: unknown) => void;
  /** Resolves after a pause, for trying again. */
  readonly pause: () => Promise<void>;
}

/** Rows of a staged part: large enough for the blob store, small enough to encode within a slice. */
const STAGE_ROWS = 65_536;

export function write(
  scope: Scope,
  desired: OksErrs,
  persisted: OksErrs,
  descriptions: Stream<Batch>,
  options: WriteOptions,
): Stream<Batch> {
  const op = scope.operator('Write');
  // By the whole row, so that what cancels meets on one worker.
  const byRow = exchange(
    options.kinds.map((_, i) => i),
    hashRows,
  );
  const byError = exchange([0], hashRows);
  const inputs = {
    desiredOks: op.input(desired.oks, byRow),
    desiredErrs: op.input(desired.errs, byError),
    persistedOks: op.input(persisted.oks, byRow),
    persistedErrs: op.input(persisted.errs, byError),
    descriptions: op.input(descriptions),
  };
  const to = op.output<Batch>('staged');
  op.build((ctx) => new Writer(ctx, inputs, to, options));
  return exchangeRows(scope, to.stream, toWorker(options.owner), 'Staged');
}

interface Inputs {
  readonly desiredOks: InputPort<Batch>;
  readonly desiredErrs: InputPort<Batch>;
  readonly persistedOks: InputPort<Batch>;
  readonly persistedErrs: InputPort<Batch>;
  readonly descriptions: InputPort<Batch>;
}

/** A description under way: where the scan of the buckets stands, and what it found. */
interface Work {
  readonly description: WriteDescription;
  bucket: number;
  readonly oks: Batch[];
  rows: number;
  readonly staging: Promise<Part[]>[];
}

class Writer implements OperatorLogic {
  readonly #ctx: OperatorContext;
  readonly #in: Inputs;
  readonly #to: OutputPort<Batch>;
  readonly #o: WriteOptions;
  readonly #oks = new Correction();
  readonly #errs = new Correction();
  /** Control rows carry the minimum time; the shard's own upper says how far it is. */
  readonly #capability: OperatorContext['implied'];
  readonly #queue: WriteDescription[] = [];
  #work: Work | undefined;
  #ended = false;

  constructor(ctx: OperatorContext, inputs: Inputs, to: OutputPort<Batch>, options: WriteOptions) {
    this.#ctx = ctx;
    this.#in = inputs;
    this.#to = to;
    this.#o = options;
    this.#capability = ctx.initialCapability();
  }

  run(fuel: Fuel): void {
    const i = this.#in;
    this.#absorb(i.desiredOks, this.#oks, 1, fuel);
    this.#absorb(i.desiredErrs, this.#errs, 1, fuel);
    this.#absorb(i.persistedOks, this.#oks, -1, fuel);
    this.#absorb(i.persistedErrs, this.#errs, -1, fuel);
    for (let b = i.descriptions.pull(); b !== undefined; b = i.descriptions.pull())
      for (const { value } of decodeControl<WriteDescription>(b)) this.#queue.push(value);
    this.#begin();
    if (this.#work !== undefined) this.#scan(this.#work, fuel);
    if (
      i.descriptions.done &&
      this.#queue.length === 0 &&
      this.#work === undefined &&
      this.#capability.time !== EMPTY
    )
      this.#capability.dispose();
    const queued = [i.desiredOks, i.desiredErrs, i.persistedOks, i.persistedErrs].some((p) => !p.isEmpty);
    if (queued || (this.#work !== undefined && this.#work.bucket >= 0)) this.#ctx.reactivate();
  }

  #absorb(from: InputPort<Batch>, into: Correction, sign: 1 | -1, fuel: Fuel): void {
    while (!fuel.exhausted) {
      const b = from.pull();
      if (b === undefined) return;
      fuel.spend(2 * b.length);
      into.insert(sign === 1 ? roundTimes(b, this.#o.refresh) : b, sign);
    }
  }

  #begin(): void {
    const next = this.#queue[0];
    if (this.#work !== undefined || next === undefined) return;
    const i = this.#in;
    const desired = Math.min(i.desiredOks.frontier, i.desiredErrs.frontier);
    if (roundFrontier(desired, this.#o.refresh) < next.upper) return;
    if (Math.min(i.persistedOks.frontier, i.persistedErrs.frontier) < next.lower) return;
    this.#queue.shift();
    this.#oks.advanceTo(next.lower);
    this.#errs.advanceTo(next.lower);
    this.#work = { description: next, bucket: 0, oks: [], rows: 0, staging: [] };
    if (next.unchanged) this.#answer(this.#work, []);
  }

  #scan(work: Work, fuel: Fuel): void {
    const { lower, upper } = work.description;
    while (work.bucket >= 0 && !fuel.exhausted) {
      if (work.bucket === this.#oks.buckets) {
        this.#finish(work);
        return;
      }
      const due = this.#oks.before(work.bucket++, lower, upper);
      fuel.spend(due === null ? 1 : 4 * due.length);
      if (due === null) continue;
      work.oks.push(due);
      work.rows += due.length;
      if (work.rows >= STAGE_ROWS) this.#stage(work, null);
    }
  }

  #stage(work: Work, errs: Batch | null): void {
    const oks = work.oks.length === 0 ? emptyBatch(this.#o.kinds) : concatBatches(work.oks.splice(0));
    work.rows = 0;
    if (oks.length === 0 && errs === null) return;
    work.staging.push(this.#o.stage({ oks, errs: errs ?? emptyBatch(['bytes']) }));
  }

  #finish(work: Work): void {
    const { lower, upper } = work.description;
    work.bucket = -1;
    const errs: Batch[] = [];
    for (let b = 0; b < this.#errs.buckets; b++) {
      const due = this.#errs.before(b, lower, upper);
      if (due !== null) errs.push(due);
    }
    this.#stage(work, errs.length === 0 ? null : concatBatches(errs));
    void this.#settle(work);
  }

  /** Answers once all is staged; what was staged for nothing goes. */
  async #settle(work: Work): Promise<void> {
    const results = await Promise.allSettled(work.staging);
    const parts = results.flatMap((r) => (r.status === 'fulfilled' ? r.value : []));
    const failure = results.find((r) => r.status === 'rejected');
    if (failure === undefined && !this.#ended) return this.#answer(work, parts);
    await this.#o.discard(parts);
    if (failure === undefined || this.#ended) return;
    if (isGone(failure.reason)) return this.#o.onError(failure.reason);
    this.#o.onRetry(failure.reason);
    await this.#o.pause();
    if (this.#ended) return;
    // Scanned and staged anew.
    this.#work = undefined;
    this.#queue.unshift(work.description);
    this.#ctx.reactivate();
  }

  #answer(work: Work, parts: readonly Part[]): void {
    const staged: Staged = { lower: work.description.lower, worker: this.#ctx.host.index, parts };
    this.#work = undefined;
    this.#to.send(this.#capability, encodeControl([staged], this.#capability.time));
    this.#ctx.reactivate();
  }

  shutdown(): void {
    this.#ended = true;
  }
}
