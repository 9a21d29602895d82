/**
 * Lifecycle events as an async iterator: those of living objects first, then each new one, every transition once and in order. A replica
 * that is connected again repeats what it has told, with the same instants; that is no transition.
 */
import { type ClusterId, type GlobalId, idClass } from '../base/ids.ts';
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
    idClass(e.objectId) === 'user' &&
    (filter.objectId === undefined || e.objectId === filter.objectId) &&
    (filter.clusterId === undefined || clusterId === filter.clusterId);
  const told = new Map<GlobalId, Set<string>>();
  const take = (e: LifecycleEvent, clusterId: ClusterId): void => {
    if (!matches(e, clusterId)) return;
    let of = told.get(e.objectId);
    if (of === undefined) told.set(e.objectId, (of = new Set()));
    const key = `${e.replicaId} ${e.worker} ${e.stage} ${e.occurredAt}`;
    if (of.has(key)) return;
    of.add(key);
    queue.push(e);
    wake();
  };
  const stops = [
    env.clusters.onLifecycle(take),
    env.onCatalogChange(() => {
      for (const id of told.keys()) if (env.catalog.item(id) === undefined) told.delete(id);
    }),
  ];
  for (const [clusterId, instance] of env.clusters.instances)
    for (const e of instance.lives.events())
      take({ ...e, objectId: env.catalog.objectOf(e.objectId) }, clusterId);
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
    for (const stop of stops) stop();
    signal.removeEventListener('abort', onAbort);
  }
}
