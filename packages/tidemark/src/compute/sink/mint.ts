/**
 * Mint, the first of the three operators of a view's sink: decides what is written next. On the owner it watches the frontier of
 * the desired collection (over all workers) and the shard's upper, and mints a description [shard upper, desired frontier)
 * when writing is permitted and there is something new to say. Lowers strictly increase, so at most one
 * description is valid. On the other workers it is there and does nothing.
 *
 * It also knows when *every* worker has computed the as-of: the gate of the write stages.
 */
import type { Scope } from '../../dataflow/builder.ts';
import { broadcast, toWorker } from '../../dataflow/channel.ts';
import type { Stream } from '../../dataflow/ports.ts';
import { exchangeRows } from '../../operators/exchange.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import type { Batch } from '../../repr/batch.ts';
import type { RefreshSchedule } from '../../time/refresh-schedule.ts';
import { EMPTY, type Frontier, MIN_TIME, meet, type Timestamp } from '../../time/timestamp.ts';
import { encodeControl } from '../control.ts';
import { roundFrontier } from './refresh.ts';

/** What the next append covers. */
export interface WriteDescription {
  readonly lower: Timestamp;
  readonly upper: Frontier;
  /** Nothing changes in it: a view that was taken over stays as it was until its next refresh. */
  readonly unchanged: boolean;
}

/** The owner's view of the sink; the others have none. */
export interface MintHandle {
  /** All workers' progress: what is before it is computed everywhere. */
  readonly computed: Frontier;
  allowWrites(): void;
  /** The shard's upper as known; also after a lost race, when the description is void. */
  shardMoved(upper: Frontier): void;
}

export interface MintOptions {
  readonly owner: number;
  readonly refresh: RefreshSchedule | undefined;
  /** Nothing is said before it: a shard that stood between its beginning and there could not be gone on with. */
  readonly asOf: Timestamp;
  /** Where the shard's contents begin; known to the owner once its shard is. */
  readonly since: () => Timestamp;
  /** Before it nothing that this export computes shows; known to the owner once its shard is. */
  readonly firstWrite: () => Frontier;
  readonly mayWrite: boolean;
}

export function mint(
  scope: Scope,
  desired: OksErrs,
  options: MintOptions,
): { readonly descriptions: Stream<Batch>; readonly handle: MintHandle } {
  const progress = frontierOf(scope, [desired.oks, desired.errs]);
  const all = exchangeRows(scope, progress, toWorker(options.owner), 'MintProgress');
  const op = scope.operator('Mint');
  const from = op.input(all);
  const to = op.output<Batch>('descriptions');
  let handle!: MintHandle;
  op.build((ctx) => {
    const capability = ctx.initialCapability();
    const isOwner = ctx.host.index === options.owner;
    if (!isOwner) capability.dispose();
    let mayWrite = options.mayWrite;
    let shardUpper: Frontier = MIN_TIME;
    let known = false;
    let minted = -1;
    handle = {
      get computed() {
        return from.frontier;
      },
      allowWrites() {
        mayWrite = true;
        ctx.reactivate();
      },
      shardMoved(upper) {
        known = true;
        if (upper > shardUpper) shardUpper = upper;
        ctx.reactivate();
      },
    };
    return {
      run() {
        while (from.pull() !== undefined);
        if (!isOwner || capability.time === EMPTY) return;
        if (shardUpper === EMPTY) {
          capability.dispose();
          return;
        }
        // What is complete before the as-of says nothing, and rounded up it would say something.
        if (from.frontier <= options.asOf) return;
        const complete = roundFrontier(from.frontier, options.refresh);
        if (!mayWrite || !known || shardUpper >= complete || shardUpper <= minted) return;
        // The read-back begins there and shows nothing below: rows of an append that ends there would be written again by the next one.
        // Before its first refresh a view has none.
        if (options.refresh === undefined && complete <= options.since()) return;
        const next = options.firstWrite();
        const unchanged = shardUpper < next;
        const upper = unchanged ? meet(complete, next) : complete;
        minted = shardUpper;
        const description: WriteDescription = { lower: shardUpper, upper, unchanged };
        to.send(capability, encodeControl([description], capability.time));
      },
    };
  });
  return { descriptions: exchangeRows(scope, to.stream, broadcast, 'Descriptions'), handle };
}

/** An edge that carries the least frontier of some streams and no rows. */
function frontierOf(scope: Scope, streams: readonly Stream<Batch>[]): Stream<Batch> {
  const op = scope.operator('Progress');
  const inputs = streams.map((s) => op.input(s));
  const to = op.output<Batch>('frontier');
  op.build(() => ({
    run() {
      for (const i of inputs) while (i.pull() !== undefined);
    },
  }));
  return to.stream;
}
