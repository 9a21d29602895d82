/**
 * A view's sink: mint · write · append over its output shard, read back to know what is already there. It
 * probes what comes in, so that `progress` is what was computed, whatever the writer waits for.
 */
import { SqlError } from '../../base/error.ts';
import type { Scope } from '../../dataflow/builder.ts';
import { probe } from '../../operators/probe.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import type { Shard } from '../../persist/shard.ts';
import type { Part } from '../../persist/shard-types.ts';
import { kindOf } from '../../repr/types.ts';
import { EMPTY, type Frontier, MIN_TIME, meet } from '../../time/timestamp.ts';
import { frontierOwner } from '../frontier-owner.ts';
import type { MaterializedViewSink } from '../protocol.ts';
import { isGone, shardSource } from '../shard-source.ts';
import { append } from './append.ts';
import { type MintHandle, mint } from './mint.ts';
import { firstWrite } from './refresh.ts';
import type { ShardWrites, Sink, SinkContext } from './sink.ts';
import { write } from './write.ts';

export function viewSink(
  scope: Scope,
  desired: OksErrs,
  sink: MaterializedViewSink,
  context: SinkContext,
): Sink {
  const oks = probe(scope, desired.oks, 'Computed');
  const errs = probe(scope, desired.errs, 'ComputedErrors');
  const { writes, upper } = scope.region(`Sink ${sink.id}`, (inner) =>
    shardSink(inner, desired, sink, context),
  );
  return {
    get progress() {
      return meet(oks.frontier, errs.frontier);
    },
    get writeFrontier() {
      return upper();
    },
    answers: null,
    writes,
  };
}

function shardSink(
  scope: Scope,
  desired: OksErrs,
  sink: MaterializedViewSink,
  context: SinkContext,
): { readonly writes: ShardWrites; readonly upper: () => Frontier } {
  const { shards, onError, onRetry, pause } = context;
  const shard = shards.open(sink.shard);
  shard.catch(onError);
  const io = { onError, onRetry, pause, discard: discarding(shard) };
  const owner = frontierOwner(sink.id, scope.host.peers);
  const isOwner = scope.host.index === owner;
  let known: Shard | undefined;
  let ended = false;
  scope.onShutdown(() => {
    ended = true;
  });
  const { descriptions, handle } = mint(scope, desired, {
    owner,
    asOf: context.asOf,
    mayWrite: context.mayWrite,
    since: () => known?.since ?? MIN_TIME,
    firstWrite: () => firstWrite(known?.takenOverAt ?? EMPTY, sink.refresh),
    refresh: sink.refresh,
  });
  const persisted = shardSource(scope, { id: sink.id, shardId: sink.shard, shards, until: EMPTY, onError });
  const staged = write(scope, desired, persisted, descriptions, {
    kinds: sink.desc.columns.map((c) => kindOf(c.type)),
    owner,
    refresh: sink.refresh,
    stage: async (updates) => (await shard).stageParts(updates),
    ...io,
  });
  let upper: Frontier = isOwner ? MIN_TIME : EMPTY;
  const moved = (to: Frontier): void => {
    if (to <= upper) return;
    upper = to;
    handle.shardMoved(to);
    context.onChange();
  };
  append(scope, descriptions, staged, {
    isOwner,
    shard,
    fence: { generation: context.generation, exportId: sink.id },
    onUpper: moved,
    ...io,
    onFenced: (by) =>
      onError(new SqlError('admin_shutdown', `${sink.id} may not write to its shard any more (${by})`)),
  });
  if (isOwner) {
    scope.onShutdown(context.watch(sink.shard, moved));
    shard.then(
      (s) => {
        known = s;
        handle.shardMoved(s.upper);
        moved(s.upper);
      },
      () => undefined,
    );
  }
  return {
    upper: () => upper,
    writes: shardWrites(handle, {
      isOwner,
      allowed: context.mayWrite,
      firstWrite: () => firstWrite(known?.takenOverAt ?? EMPTY, sink.refresh),
      lookAgain: () => lookAgain(shard, { ...context, ended: () => ended }),
    }),
  };
}

/** Parts that cannot be deleted now are orphans, and collected as such. */
const discarding =
  (shard: Promise<Shard>) =>
  (parts: readonly Part[]): Promise<void> =>
    shard.then((s) => s.discardParts(parts)).catch(() => undefined);

/** Reads the shard's state, however often that takes. */
async function lookAgain(
  shard: Promise<Shard>,
  o: Pick<SinkContext, 'onRetry' | 'pause'> & { readonly ended: () => boolean },
): Promise<void> {
  while (!o.ended())
    try {
      await (await shard).refresh();
      return;
    } catch (error) {
      if (o.ended() || isGone(error)) return;
      o.onRetry(error);
      await o.pause();
    }
}

interface Permission {
  readonly isOwner: boolean;
  readonly allowed: boolean;
  readonly firstWrite: () => Frontier;
  /** Reads who holds the shard now. */
  readonly lookAgain: () => Promise<void>;
}

function shardWrites(mint: MintHandle, o: Permission): ShardWrites {
  let { allowed } = o;
  let isKnown = true;
  return {
    isOwner: o.isOwner,
    get computed() {
      return mint.computed;
    },
    get firstWrite() {
      return isKnown ? o.firstWrite() : EMPTY;
    },
    get allowed() {
      return allowed;
    },
    allow() {
      if (allowed) return;
      allowed = true;
      // The shard was handed over just now: where, is in its state and not yet in what is known of it here.
      isKnown = false;
      void o.lookAgain().then(() => {
        isKnown = true;
        mint.allowWrites();
      });
    },
  };
}
