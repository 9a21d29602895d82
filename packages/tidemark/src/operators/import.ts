/**
 * Import: a trace of another dataflow as an arranged stream of this one. First the batches that exist, their times
 * advanced to the as-of, then each batch as it is sealed; the frontier follows the trace's upper. Nothing is
 * copied but time columns that straddle the as-of.
 *
 * `importFrozen` is the snapshot at one time, presented at another, and then complete for ever: for relations whose
 * times are not the query's.
 */
import { assert } from '../base/assert.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { Capability } from '../dataflow/capability.ts';
import type { Gate } from '../dataflow/gate.ts';
import type { OperatorContext, OperatorLogic } from '../dataflow/operator.ts';
import type { OutputPort } from '../dataflow/ports.ts';
import { EMPTY, type Frontier, MIN_TIME, type Timestamp } from '../time/timestamp.ts';
import { type ArrangedBatch, restrictTimes } from '../trace/arranged-batch.ts';
import { folded } from '../trace/batch-merger.ts';
import { type Fuel, Paced } from '../trace/fuel.ts';
import type { TraceHandle } from '../trace/trace.ts';
import { FixedTrace, TraceView } from '../trace/trace-view.ts';
import type { Arranged } from './arrange.ts';

export interface ImportOptions {
  readonly name?: string;
  /** At least the handle's `since`. */
  readonly asOf: Timestamp;
  /** Times from here on are left out, and the frontier is empty once the trace has reached it. */
  readonly until?: Frontier;
  /** Nothing is sent, and the frontier stays at the minimum, before it opens. */
  readonly gate?: Gate;
  /** When the trace's writer is dropped: keep the frontier where it is (default), or end the stream. */
  readonly onWriterGone?: 'hold' | 'close';
  /** Updates of the batches that exist when the gate opens, once; then those of them that were sent. */
  readonly onRows?: (event: { readonly kind: 'total' | 'read'; readonly rows: number }) => void;
}

/** Imports a trace; the handle stays the caller's, the import keeps a clone for as long as it needs one. */
export function importTrace(scope: Scope, handle: TraceHandle, options: ImportOptions): Arranged {
  const { asOf } = options;
  assert(handle.since <= asOf, `a trace readable from ${handle.since} is imported as of ${asOf}`);
  const op = scope.operator(options.name ?? 'Import');
  const to = op.output<ArrangedBatch>('arranged');
  const own = handle.trace.handle(asOf);
  const view = new TraceView(own, options.until ?? EMPTY);
  const built = view.clone({ cuts: true });
  scope.onBuilt(() => built.dispose());
  op.build((ctx) => new Importer({ ctx, to, view, handle: own, options }));
  return { spec: handle.spec, stream: to.stream, asOf, trace: built };
}

interface ImporterParts {
  readonly ctx: OperatorContext;
  readonly to: OutputPort<ArrangedBatch>;
  /** What holds the trace until the gate opens; released then. */
  readonly view: TraceView;
  readonly handle: TraceHandle;
  readonly options: ImportOptions;
}

class Importer implements OperatorLogic {
  readonly #p: ImporterParts;
  readonly #until: Frontier;
  readonly #capability: Capability;
  readonly #unlisten: () => void;
  readonly #queue: ArrangedBatch[] = [];
  /** Batches at the head of the queue that were there when the gate opened. */
  #initial = 0;
  #started = false;
  #holding = true;
  #listening = true;
  /** The frontier to announce once the queue is sent. */
  #upper: Frontier = MIN_TIME;
  #gone = false;

  constructor(parts: ImporterParts) {
    this.#p = parts;
    const { ctx, handle, options } = parts;
    this.#until = options.until ?? EMPTY;
    this.#capability = ctx.initialCapability();
    this.#gone = handle.trace.writer === 'gone';
    ctx.host.runtimeCounts.importers++;
    this.#unlisten = handle.trace.listen({
      batchSealed: (batch) => this.#sealed(batch),
      writerGone: () => {
        this.#gone = true;
        ctx.reactivate();
      },
    });
    options.gate?.whenOpen(() => ctx.reactivate());
  }

  #sealed(batch: ArrangedBatch): void {
    if (!this.#started) {
      // Nobody reads before the gate opens: the trace may merge meanwhile.
      this.#p.view.raisePhysical(batch.upper === EMPTY ? batch.lower : batch.upper);
      this.#p.ctx.reactivate();
      return;
    }
    if (batch.length > 0) this.#queue.push(batch);
    this.#upper = batch.upper;
    this.#p.ctx.reactivate();
  }

  run(fuel: Fuel): void {
    const { ctx, options, view, handle } = this.#p;
    if (options.gate !== undefined && !options.gate.isOpen) return;
    if (!this.#started) {
      this.#started = true;
      // Nothing comes before it: readers of rows may absorb the first batches as they arrive (a join knows better, see `Side`).
      this.#capability.downgrade(options.asOf);
      this.#queue.push(...handle.batches());
      this.#initial = this.#queue.length;
      options.onRows?.({ kind: 'total', rows: this.#queue.reduce((n, b) => n + b.length, 0) });
      this.#upper = handle.upper;
      // The queue holds the batches themselves.
      this.#holding = false;
      view.dispose();
    }
    let sent = 0;
    while (sent < this.#queue.length && !fuel.exhausted) this.#send(this.#queue[sent++]!, fuel);
    this.#queue.splice(0, sent);
    if (this.#queue.length > 0) {
      ctx.reactivate();
      return;
    }
    const ends = this.#upper >= this.#until || (this.#gone && options.onWriterGone === 'close');
    if (this.#capability.time !== EMPTY)
      this.#capability.downgrade(ends ? EMPTY : Math.max(this.#upper, this.#capability.time));
    if (this.#capability.time === EMPTY) this.#stopListening();
  }

  #send(batch: ArrangedBatch, fuel: Fuel): void {
    fuel.spend(1 + (batch.length >> 5));
    if (this.#initial > 0) {
      this.#initial--;
      this.#p.options.onRows?.({ kind: 'read', rows: batch.length });
    }
    if (batch.length === 0 || batch.lower >= this.#until) return;
    this.#p.to.send(this.#capability, restrictTimes(batch, this.#p.options.asOf, this.#until));
  }

  #stopListening(): void {
    if (!this.#listening) return;
    this.#listening = false;
    this.#unlisten();
    this.#p.ctx.host.runtimeCounts.importers--;
  }

  shutdown(): void {
    this.#stopListening();
    if (this.#holding) this.#p.view.dispose();
    this.#queue.length = 0;
  }
}

export interface FrozenOptions {
  readonly name?: string;
  /** The contents as of this time; the import waits until they are complete. */
  readonly readAt: Timestamp;
  /** All updates carry this time. */
  readonly presentAt: Timestamp;
  readonly gate?: Gate;
}

/** The contents of a trace at one time, as a collection that never changes. */
export function importFrozen(scope: Scope, handle: TraceHandle, options: FrozenOptions): Arranged {
  assert(
    handle.since <= options.readAt,
    `a trace readable from ${handle.since} is read at ${options.readAt}`,
  );
  const op = scope.operator(options.name ?? 'ImportFrozen');
  const to = op.output<ArrangedBatch>('arranged');
  const own = handle.trace.handle(options.readAt);
  own.setPhysicalCompaction(EMPTY);
  const content: { batch: ArrangedBatch | undefined } = { batch: undefined };
  op.build((ctx) => new FrozenImporter({ ctx, to, handle: own, options, content }));
  return {
    spec: handle.spec,
    stream: to.stream,
    asOf: MIN_TIME,
    trace: new FixedTrace(handle.spec, content),
  };
}

interface FrozenParts {
  readonly ctx: OperatorContext;
  readonly to: OutputPort<ArrangedBatch>;
  readonly handle: TraceHandle;
  readonly options: FrozenOptions;
  readonly content: { batch: ArrangedBatch | undefined };
}

class FrozenImporter implements OperatorLogic {
  readonly #p: FrozenParts;
  readonly #capability: Capability;
  readonly #unlisten: () => void;
  /** Undefined before the trace is complete. */
  #folding: Paced<ArrangedBatch> | undefined;
  #live = true;

  constructor(parts: FrozenParts) {
    this.#p = parts;
    const { ctx, handle, options } = parts;
    this.#capability = ctx.initialCapability();
    ctx.host.runtimeCounts.importers++;
    this.#unlisten = handle.trace.listen({
      batchSealed: () => ctx.reactivate(),
      writerGone: () => ctx.reactivate(),
    });
    options.gate?.whenOpen(() => ctx.reactivate());
  }

  run(fuel: Fuel): void {
    const { ctx, handle, options } = this.#p;
    if (!this.#live || options.gate?.isOpen === false) return;
    if (this.#folding === undefined) {
      if (handle.upper <= options.readAt) return;
      const parts = handle.batches().filter((b) => b.length > 0 && b.lower <= options.readAt);
      const presented = parts.map((b) => this.#at(b));
      this.#folding = new Paced((pace) => folded(pace, handle.spec, presented, options.presentAt));
    }
    const batch = this.#folding.work(fuel);
    if (batch === undefined) ctx.reactivate();
    else this.#finish(batch);
  }

  /** The batch up to the time read, at the time presented. */
  #at(b: ArrangedBatch): ArrangedBatch {
    const { readAt, presentAt } = this.#p.options;
    const cut = restrictTimes(b, MIN_TIME, readAt + 1);
    return { ...cut, times: presentAt, minTime: presentAt, maxTime: presentAt, negatives: true };
  }

  #finish(contents: ArrangedBatch): void {
    const batch = { ...contents, lower: MIN_TIME, upper: EMPTY };
    this.#p.content.batch = batch;
    if (batch.length > 0) this.#p.to.send(this.#capability, batch);
    this.#capability.dispose();
    this.#release();
  }

  #release(): void {
    if (!this.#live) return;
    this.#live = false;
    this.#unlisten();
    this.#p.handle.dispose();
    this.#p.ctx.host.runtimeCounts.importers--;
  }

  shutdown(): void {
    this.#release();
  }
}
