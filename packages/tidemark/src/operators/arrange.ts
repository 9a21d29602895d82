/**
 * Arrange: groups a stream of updates by key into a trace that others share.
 *
 * State: the batcher (updates not yet sealed) and the trace. When the input frontier moves from l to f, the updates
 * with times in [l, f) become one batch: inserted into the trace, and sent downstream unless it is empty. Rows are
 * exchanged by the hash of their key. The output's frontier is the trace's upper.
 *
 * Cost: some 60 ns a row for a snapshot, done while chunks arrive but for the last scatter; all of it yields.
 */

import type { Scope } from '../dataflow/builder.ts';
import { exchange, type Pact } from '../dataflow/channel.ts';
import type { OperatorContext, OperatorHost } from '../dataflow/operator.ts';
import type { InputPort, OutputPort, Stream } from '../dataflow/ports.ts';
import type { Batch } from '../repr/batch.ts';
import { type Frontier, MIN_TIME, type Timestamp } from '../time/timestamp.ts';
import { type ArrangedBatch, type ArrangementSpec, emptyArranged } from '../trace/arranged-batch.ts';
import { Batcher } from '../trace/batcher.ts';
import { Fuel } from '../trace/fuel.ts';
import { Trace, type TraceHandle, type TraceReader } from '../trace/trace.ts';

/** An arranged collection: the batches as they are sealed, and the trace they make up. */
export interface Arranged {
  readonly spec: ArrangementSpec;
  readonly stream: Stream<ArrangedBatch>;
  /** The stream's frontier stands here before anything of the trace has come; once it is past, all up to it has. */
  readonly asOf: Timestamp;
  /** Valid while the dataflow is being built; whoever reads later clones it, and disposes the clone. */
  readonly trace: TraceReader;
}

/** One whose trace is written in this dataflow: a clone of its handle can be exported and imported elsewhere. */
export interface OwnArranged extends Arranged {
  readonly trace: TraceHandle;
}

export interface ArrangeOptions {
  readonly spec: ArrangementSpec;
  readonly name?: string;
  /** By the hash of the key columns unless said otherwise. */
  readonly pact?: Pact;
}

/** Of a run's fuel, for merges that are due, whatever there is to ingest. */
const MERGE_SHARE = 0.25;

/** After so many rows a frontier is not left waiting for the rest of the queue. */
const SEAL_ROWS = 65_536;

export function arrange(scope: Scope, input: Stream<Batch>, options: ArrangeOptions): OwnArranged {
  const { spec } = options;
  const op = scope.operator(options.name ?? 'Arrange');
  const from = op.input(input, options.pact ?? exchange(spec.keyColumns, spec.hash));
  const to = op.output<ArrangedBatch>('arranged');
  const { host } = scope;
  const trace = newTrace(host, spec, op.operatorId);
  const handle = trace.handle();
  scope.onBuilt(() => handle.dispose());
  op.build((ctx) => new Arranger({ ctx, from, to, trace, spec }));
  return { spec, stream: to.stream, asOf: MIN_TIME, trace: handle };
}

/** A trace whose counts and idle work belong to a worker. */
function newTrace(host: OperatorHost, spec: ArrangementSpec, operatorId: number): Trace {
  return new Trace({
    spec,
    operatorId,
    events: host.events,
    onShared: (diff) => {
      host.runtimeCounts.traceHandles += diff;
    },
    onMergeWork: (t) => host.hasIdleWork(t),
  });
}

interface ArrangerParts {
  readonly ctx: OperatorContext;
  readonly from: InputPort<Batch>;
  readonly to: OutputPort<ArrangedBatch>;
  readonly trace: Trace;
  readonly spec: ArrangementSpec;
}

class Arranger {
  readonly #p: ArrangerParts;
  readonly #batcher: Batcher;
  /** At the trace's upper: what is sealed next is sent with it. */
  readonly #capability;

  constructor(parts: ArrangerParts) {
    this.#p = parts;
    const { ctx } = parts;
    const { events } = ctx.host;
    this.#batcher = new Batcher(parts.spec, (records, size, capacity, allocations) =>
      events.batcher(ctx.operatorId, records, size, capacity, allocations),
    );
    this.#capability = ctx.initialCapability();
  }

  run(fuel: Fuel): void {
    const { ctx, trace, from } = this.#p;
    const least = Math.ceil(fuel.remaining * MERGE_SHARE);
    const isIdle = this.#ingest(fuel);
    // Merges keep up with what comes, also where it never ends.
    if (trace.mergeDebt > 0) trace.pay(new Fuel(Math.max(fuel.remaining, least)));
    if (!isIdle || trace.mergeDebt > 0 || !from.isEmpty) ctx.reactivate();
  }

  passFrontier(): boolean {
    const { from, trace } = this.#p;
    const { frontier } = from;
    if (trace.mergeDebt > 0 || this.#batcher.sealing || !this.#batcher.isEmptyBefore(frontier)) return false;
    if (frontier > trace.upper) this.#passOver(frontier);
    // It may have begun a merge that is due.
    if (trace.mergeDebt > 0) this.#p.ctx.reactivate();
    return true;
  }

  /** Absorbs and seals. Whether nothing is left to do but what new input brings. */
  #ingest(fuel: Fuel): boolean {
    const { from, trace } = this.#p;
    const batcher = this.#batcher;
    for (;;) {
      if (batcher.sealing && !this.#seal(fuel)) return false;
      if (!batcher.absorb(fuel)) return false;
      const due = from.frontier > trace.upper;
      if (due && (from.isEmpty || batcher.absorbed >= SEAL_ROWS)) {
        if (batcher.isEmptyBefore(from.frontier)) {
          this.#passOver(from.frontier);
          continue;
        }
        batcher.startSeal({ lower: trace.upper, upper: from.frontier });
        continue;
      }
      if (fuel.exhausted) return from.isEmpty;
      const batch = from.pull();
      if (batch === undefined) return true;
      batcher.push(batch);
    }
  }

  #seal(fuel: Fuel): boolean {
    const { to, trace } = this.#p;
    const batch = this.#batcher.seal(fuel);
    if (batch === undefined) return false;
    trace.insert(batch);
    if (batch.length > 0) to.send(this.#capability, batch);
    this.#capability.downgrade(batch.upper);
    return true;
  }

  /** Nothing happened until then: what most arrangements see most of the time. */
  #passOver(upper: Frontier): void {
    const { trace, spec } = this.#p;
    trace.insert(emptyArranged(spec, { lower: trace.upper, upper, since: MIN_TIME }));
    this.#capability.downgrade(upper);
  }

  shutdown(): void {
    this.#batcher.clear();
    this.#p.trace.closeWriter();
  }
}
