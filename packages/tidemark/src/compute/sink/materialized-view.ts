/**
 * A view's sink: mint · write · append over its output shard, read back to know what is already there. It
 * probes what comes in, so that `progress` is what was computed, whatever the writer waits for.
 */
import { SqlError } from '../../base/error.ts';
import type { Scope } from '../../dataflow/builder.ts';
import { probe } from '../../operators/probe.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import type { Shard } from '../../persist/shard.ts';
import { kindOf } from '../../repr/types.ts';
import { EMPTY, type Frontier, MIN_TIME, meet } from '../../time/timestamp.ts';
import { frontierOwner } from '../frontier-owner.ts';
import type { MaterializedViewSink } from '../protocol.ts';
import { shardSource } from '../shard-source.ts';
import { append } from './append.ts';
import { type MintHandle, mint } from './mint.ts';
import type { ShardWrites, Sink, SinkContext } from './sink.ts';
import { write } from './write.ts';

export function viewSink(
  scope: Scope,
  desired: OksErrs,
  sink: MaterializedViewSink,
  context: SinkContext,
): Sink {
  const { shards, onError } = context;
  const oks = probe(scope, desired.oks, 'Computed');
  const errs = probe(scope, desired.errs, 'ComputedErrors');
  const owner = frontierOwner(sink.id, scope.host.peers);
  const isOwner = scope.host.index === owner;
  return scope.region(`Sink ${sink.id}`, (inner) => {
    const { descriptions, handle } = mint(inner, desired, {
      owner,
      mayWrite: context.mayWrite,
      refresh: sink.refresh,
    });
    const persisted = shardSource(inner, { id: sink.id, shardId: sink.shard, shards, until: EMPTY, onError });
    const shard = shards.open(sink.shard);
    shard.catch(onError);
    const staged = write(inner, desired, persisted, descriptions, {
      kinds: sink.desc.columns.map((c) => kindOf(c.type)),
      owner,
      refresh: sink.refresh,
      stage: async (updates) => (await shard).stageParts(updates),
      onError,
      onRetry: context.onRetry,
      pause: context.pause,
    });
    let upper: Frontier = isOwner ? MIN_TIME : EMPTY;
    const moved = (to: Frontier): void => {
      if (to <= upper) return;
      upper = to;
      handle.shardMoved(to);
      context.onChange();
    };
    let known: Shard | undefined;
    if (isOwner) {
      append(inner, descriptions, staged, {
        shard,
        fence: { generation: context.generation, exportId: sink.id },
        onUpper: moved,
        onError,
        onRetry: context.onRetry,
        onFenced: (by) =>
          onError(new SqlError('admin_shutdown', `${sink.id} may not write to its shard any more (${by})`)),
        pause: context.pause,
      });
      inner.onShutdown(context.watch(sink.shard, moved));
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
      get progress() {
        return meet(oks.frontier, errs.frontier);
      },
      get writeFrontier() {
        return upper;
      },
      writes: shardWrites(handle, { isOwner, allowed: context.mayWrite, shard: () => known }),
    };
  });
}

function shardWrites(
  mint: MintHandle,
  o: { readonly isOwner: boolean; readonly allowed: boolean; readonly shard: () => Shard | undefined },
): ShardWrites {
  let { allowed } = o;
  return {
    isOwner: o.isOwner,
    get computed() {
      return mint.computed;
    },
    get takenOverAt() {
      return o.shard()?.takenOverAt ?? EMPTY;
    },
    get allowed() {
      return allowed;
    },
    allow() {
      allowed = true;
      mint.allowWrites();
    },
  };
}
