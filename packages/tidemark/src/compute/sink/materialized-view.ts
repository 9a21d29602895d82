/**
 * A view's sink: mint · write · append over its output shard, read back to know what is already there. What the rest of the worker
 * sees of it is a `ViewSink`.
 */
import type { Scope } from '../../dataflow/builder.ts';
import type { OksErrs } from '../../operators/state/stateful-operator.ts';
import type { Shard } from '../../persist/shard.ts';
import type { Fence } from '../../persist/shard-types.ts';
import { kindOf } from '../../repr/types.ts';
import { EMPTY, type Frontier, MIN_TIME } from '../../time/timestamp.ts';
import { frontierOwner } from '../frontier-owner.ts';
import type { MaterializedViewSink } from '../protocol.ts';
import { type ShardAccess, shardSource } from '../shard-source.ts';
import { append } from './append.ts';
import { mint } from './mint.ts';
import { write } from './write.ts';

export interface ViewSink {
  readonly isOwner: boolean;
  /** The shard's upper on the owner, empty elsewhere. Only the owner may read progress from it. */
  readonly writeFrontier: Frontier;
  /** What all workers have computed; on the owner. */
  readonly computed: Frontier;
  /** The upper at which this export took the shard over: `written` waits for the shard to pass it too. */
  readonly takenOverAt: Frontier;
  readonly mayWrite: boolean;
  allowWrites(): void;
}

export interface ViewSinkOptions {
  readonly sink: MaterializedViewSink;
  readonly shards: ShardAccess;
  readonly watch: (shardId: string, onUpper: (upper: Frontier) => void) => () => void;
  readonly fence: Fence;
  readonly mayWrite: boolean;
  readonly onChange: () => void;
  readonly onError: (error: unknown) => void;
  readonly onRetry: (error: unknown) => void;
  readonly onFenced: (by: string) => void;
  readonly pause: () => Promise<void>;
}

export function viewSink(scope: Scope, desired: OksErrs, options: ViewSinkOptions): ViewSink {
  const { sink, shards, onError } = options;
  const owner = frontierOwner(sink.id, scope.host.peers);
  const isOwner = scope.host.index === owner;
  return scope.region(`Sink ${sink.id}`, (inner) => {
    const { descriptions, handle } = mint(inner, desired, { owner, mayWrite: options.mayWrite });
    const persisted = shardSource(inner, { id: sink.id, shardId: sink.shard, shards, until: EMPTY, onError });
    const shard = shards.open(sink.shard);
    shard.catch(onError);
    const staged = write(inner, desired, persisted, descriptions, {
      kinds: sink.desc.columns.map((c) => kindOf(c.type)),
      owner,
      stage: async (updates) => (await shard).stageParts(updates),
      onError,
      onRetry: options.onRetry,
      pause: options.pause,
    });
    let upper: Frontier = isOwner ? MIN_TIME : EMPTY;
    const moved = (to: Frontier): void => {
      if (to <= upper) return;
      upper = to;
      handle.shardMoved(to);
      options.onChange();
    };
    let known: Shard | undefined;
    if (isOwner) {
      append(inner, descriptions, staged, {
        shard,
        fence: options.fence,
        onUpper: moved,
        onError,
        onRetry: options.onRetry,
        onFenced: options.onFenced,
        pause: options.pause,
      });
      inner.onShutdown(options.watch(sink.shard, moved));
      shard.then(
        (s) => {
          known = s;
          handle.shardMoved(s.upper);
          moved(s.upper);
        },
        () => undefined,
      );
    }
    let mayWrite = options.mayWrite;
    return {
      isOwner,
      get writeFrontier() {
        return upper;
      },
      get computed() {
        return handle.computed;
      },
      get takenOverAt() {
        return known?.takenOverAt ?? EMPTY;
      },
      get mayWrite() {
        return mayWrite;
      },
      allowWrites() {
        mayWrite = true;
        handle.allowWrites();
      },
    };
  });
}
