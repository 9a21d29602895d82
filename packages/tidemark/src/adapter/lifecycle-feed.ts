/** Lifecycle events as an async iterator: those of living objects first, then each new one, every transition once and in order. */
import type { ClusterId, GlobalId } from '../base/ids.ts';
import type { LifecycleEvent } from '../controller/lives.ts';
import type { Environment } from './environment.ts';

export interface LifecycleFilter {
  readonly objectId?: GlobalId;
  readonly clusterId?: ClusterId;
}

/** Events of users' objects; also of clusters that are created later. Ends with the signal. */
export async function* lifecycleEvents(
  env: Environment,
  filter: LifecycleFilter,
  signal: AbortSignal,
): AsyncGenerator<LifecycleEvent> {
  const queue: LifecycleEvent[] = [];
  let wake: () => void = () => undefined;
  const matches = (e: LifecycleEvent, clusterId: ClusterId): boolean =>
    e.objectId.startsWith('u') &&
    (filter.objectId === undefined || e.objectId === filter.objectId) &&
    (filter.clusterId === undefined || clusterId === filter.clusterId);
  const stop = env.clusters.onLifecycle((e, clusterId) => {
    if (!matches(e, clusterId)) return;
    queue.push(e);
    wake();
  });
  for (const [clusterId, instance] of env.clusters.instances)
    for (const told of instance.lives.events()) {
      const e = { ...told, objectId: env.catalog.objectOf(told.objectId) };
      if (matches(e, clusterId)) queue.push(e);
    }
  const onAbort = () => wake();
  signal.addEventListener('abort', onAbort);
  try {
    while (!signal.aborted) {
      const next = queue.shift();
      if (next !== undefined) {
        yield next;
        continue;
      }
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    stop();
    signal.removeEventListener('abort', onAbort);
  }
}
