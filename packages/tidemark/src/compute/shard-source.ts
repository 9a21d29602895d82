/**
 * A shard as a collection of a dataflow: the snapshot at the as-of, then what follows.
 *
 * One worker lists (a snapshot, then step after step) and tells all workers the parts; every worker reads its share and sends the
 * rows. Listing once is not thrift: compaction may stand between two listings, and the shares of one do not
 * complement those of the other. The lister lets a step's blobs go when all workers have read it, which it
 * learns from the frontier of an edge that carries nothing else.
 */
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import type { Scope } from '../dataflow/builder.ts';
import type { Capability } from '../dataflow/capability.ts';
import { broadcast, toWorker } from '../dataflow/channel.ts';
import type { Gate } from '../dataflow/gate.ts';
import type { OperatorContext, OperatorLogic } from '../dataflow/operator.ts';
import type { InputPort, OutputPort, Stream } from '../dataflow/ports.ts';
import { evalErrorOf } from '../expr/eval-error.ts';
import type { RowError } from '../expr/scalar.ts';
import { exchangeRows } from '../operators/exchange.ts';
import { probe } from '../operators/probe.ts';
import { type InputHandle, source } from '../operators/source.ts';
import type { OksErrs } from '../operators/state/stateful-operator.ts';
import type { Shard } from '../persist/shard.ts';
import type { PartRead, Updates } from '../persist/shard-types.ts';
import type { Batch } from '../repr/batch.ts';
import type { Frontier, Timestamp } from '../time/timestamp.ts';
import { decodeControl, encodeControl } from './control.ts';
import { frontierOwner } from './frontier-owner.ts';
import type { RowsEvent } from './progress.ts';

/** What reads shards for workers, whichever store they live in. */
export interface ShardAccess {
  /** An error when there is none. */
  open(shardId: string): Promise<Shard>;
  readPart(read: PartRead): Promise<Updates>;
}

export interface ShardSourceOptions {
  readonly id: GlobalId;
  readonly shardId: string;
  readonly shards: ShardAccess;
  /** Absent: the shard's since, announced as the frontier at once, for a sink that reads its own output back. */
  readonly asOf?: Timestamp;
  readonly until: Frontier;
  readonly gate?: Gate;
  /** Something of the host failed; nothing more comes. */
  readonly onError: (error: unknown) => void;
  /** Updates of the snapshot: how many this worker lists, for all to read, once known; then how many it has read. */
  readonly onRows?: (event: RowsEvent) => void;
}

/** Reads under way on one worker: one decodes while the next is fetched. */
const CONCURRENT_READS = 2;
/** A hold moves when it can move this far: every move is a transaction. */
const HOLD_STEP_MS = 5000;
/** With so many rows waiting downstream, no further part is fetched. */
const BACKLOG_ROWS = 262_144;

export function shardSource(scope: Scope, options: ShardSourceOptions): OksErrs {
  return scope.region(`Shard ${options.id}`, (inner) => {
    const list = source(inner, { name: 'ShardList' });
    const { oks, errs, done } = readParts(inner, list.stream, options);
    const owner = frontierOwner(options.shardId, scope.host.peers);
    const released = probe(inner, exchangeRows(inner, done, toWorker(owner), 'ShardReleased'));
    if (scope.host.index !== owner) {
      list.handle.close();
      options.onRows?.({ kind: 'total', rows: 0 });
    } else {
      const abort = new AbortController();
      const lister = new Lister(options, list.handle, abort.signal);
      released.onChange((f) => lister.readThrough(f));
      scope.onShutdown(() => abort.abort());
      const start = () => {
        lister.run().catch((error: unknown) => {
          if (!abort.signal.aborted) options.onError(error);
        });
      };
      if (options.gate === undefined) start();
      else options.gate.whenOpen(start);
    }
    return { oks, errs };
  });
}

/** The worker that lists: pulls the shard and announces parts. */
class Lister {
  readonly #o: ShardSourceOptions;
  readonly #handle: InputHandle;
  readonly #signal: AbortSignal;
  #read: Frontier = 0;
  #waiting: { readonly frontier: Frontier; resolve(): void } | undefined;

  constructor(options: ShardSourceOptions, handle: InputHandle, signal: AbortSignal) {
    this.#o = options;
    this.#handle = handle;
    this.#signal = signal;
    signal.addEventListener('abort', () => this.#waiting?.resolve(), { once: true });
  }

  /** All workers have read everything before the frontier. */
  readThrough(frontier: Frontier): void {
    this.#read = frontier;
    if (this.#waiting !== undefined && frontier >= this.#waiting.frontier) this.#waiting.resolve();
  }

  async #allRead(frontier: Frontier): Promise<void> {
    if (this.#read >= frontier || this.#signal.aborted) return;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#waiting = { frontier, resolve };
    await promise;
    this.#waiting = undefined;
  }

  async run(): Promise<void> {
    const shard = await this.#o.shards.open(this.#o.shardId);
    if (this.#o.asOf !== undefined) return this.#follow(shard, this.#o.asOf, () => undefined);
    // What is read for itself nobody else holds: the shard may compact past a reader that is slow.
    const hold = await shard.hold();
    try {
      await this.#follow(shard, hold.since, (frontier) => {
        if (frontier > hold.since + HOLD_STEP_MS) void hold.downgrade(frontier - 1).catch(() => undefined);
      });
    } finally {
      await hold.release().catch(() => undefined);
    }
  }

  async #follow(shard: Shard, asOf: Timestamp, passed: (frontier: Frontier) => void): Promise<void> {
    const { until, onRows } = this.#o;
    // Nothing comes before it; operators absorb the snapshot as it arrives only once they know that.
    if (asOf > 0) this.#advance(asOf);
    const listing = await shard.snapshot(asOf, { signal: this.#signal });
    try {
      onRows?.({ kind: 'total', rows: listing.rows });
      this.#announce(listing.parts, asOf);
      this.#advance(asOf + 1);
      await this.#allRead(asOf + 1);
    } finally {
      listing.release();
    }
    const listen = await shard.listen(asOf);
    const advanced = (frontier: Frontier): void => {
      this.#advance(frontier);
      passed(frontier);
    };
    try {
      while (this.#handle.frontier < until && !this.#signal.aborted) {
        const step = await listen.next(this.#signal, { advanced, until });
        if (step === null) break;
        this.#announce(step.parts, step.lower);
        this.#advance(step.upper);
        if (step.parts.length > 0) await this.#allRead(step.upper);
        passed(step.upper);
      }
    } finally {
      listen.close();
    }
    this.#handle.close();
  }

  #advance(frontier: Frontier): void {
    if (!this.#handle.closed && frontier > this.#handle.frontier) this.#handle.advanceTo(frontier);
  }

  #announce(parts: readonly PartRead[], time: Timestamp): void {
    if (parts.length > 0) this.#handle.push(encodeControl(parts, time));
  }
}

/** Every worker: reads its share of the announced parts. */
function readParts(
  scope: Scope,
  list: Stream<Batch>,
  options: ShardSourceOptions,
): OksErrs & { readonly done: Stream<Batch> } {
  const op = scope.operator('ShardRead');
  const from = op.input(list, broadcast);
  const oks = op.output<Batch>('batch');
  const errs = op.output<Batch>('errors');
  const done = op.output<Batch>('frontier');
  op.build((ctx) => new Reader(ctx, from, oks, errs, options));
  return { oks: oks.stream, errs: errs.stream, done: done.stream };
}

interface PendingRead {
  readonly read: PartRead;
  readonly capability: Capability;
}

class Reader implements OperatorLogic {
  readonly #ctx: OperatorContext;
  readonly #from: InputPort<Batch>;
  readonly #oks: OutputPort<Batch>;
  readonly #errs: OutputPort<Batch>;
  readonly #o: ShardSourceOptions;
  readonly #waiting: PendingRead[] = [];
  readonly #ready: (PendingRead & { readonly updates: Updates })[] = [];
  #running = 0;
  #ended = false;
  /** Parts announced so far; part k is this worker's if k mod peers is its index. */
  #announced = 0;

  constructor(
    ctx: OperatorContext,
    from: InputPort<Batch>,
    oks: OutputPort<Batch>,
    errs: OutputPort<Batch>,
    options: ShardSourceOptions,
  ) {
    this.#ctx = ctx;
    this.#from = from;
    this.#oks = oks;
    this.#errs = errs;
    this.#o = options;
  }

  get passesFrontiers(): boolean {
    return this.#ready.length === 0 && this.#waiting.length === 0;
  }

  run(): void {
    const { index, peers } = this.#ctx.host;
    for (let b = this.#from.pull(); b !== undefined; b = this.#from.pull())
      for (const { value, time } of decodeControl<PartRead>(b))
        if (this.#announced++ % peers === index)
          this.#waiting.push({ read: value, capability: this.#ctx.implied.delayed(time) });
    for (const { read, updates, capability } of this.#ready.splice(0)) {
      const { time } = capability;
      this.#oks.send(capability, updates.oks);
      this.#errs.send(capability, updates.errs);
      capability.dispose();
      // As it was listed: some of its updates may be of other times, and are passed over.
      if (time === this.#o.asOf) this.#o.onRows?.({ kind: 'read', rows: read.part.rows });
    }
    if (this.#waiting.length === 0) return;
    if (this.#oks.backlog > BACKLOG_ROWS) {
      this.#ctx.reactivate();
      return;
    }
    while (this.#running < CONCURRENT_READS && this.#waiting.length > 0) this.#start(this.#waiting.shift()!);
  }

  #start({ read, capability }: PendingRead): void {
    this.#running++;
    this.#o.shards
      .readPart(read)
      .then((updates) => {
        if (this.#ended) return;
        this.#ready.push({ read, updates, capability });
        this.#ctx.reactivate();
      })
      .catch((error: unknown) => {
        if (!this.#ended) this.#o.onError(error);
      })
      .finally(() => {
        this.#running--;
      });
  }

  shutdown(): void {
    this.#ended = true;
    this.#waiting.length = 0;
    this.#ready.length = 0;
  }
}

/** A host error as users see it. */
export function hostError(error: unknown): RowError {
  if (error instanceof SqlError) return evalErrorOf(error);
  return { code: 'internal_error', message: error instanceof Error ? error.message : String(error) };
}

/** The shard does not exist any more: its object was dropped, which this worker will hear of. */
export const isGone = (error: unknown): boolean =>
  error instanceof SqlError && error.code === 'undefined_object';
