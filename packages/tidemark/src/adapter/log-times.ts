/**
 * Relations that have the times of a replica's log: the logs, and views over nothing else that are indexed. They are observations: a
 * query reads all of them at the newest time complete in each, whatever time the rest of it takes, and never waits for the interval.
 */
import { SqlError } from '../base/error.ts';
import type { ClusterId, GlobalId, ReplicaId } from '../base/ids.ts';
import type { CatalogItem, CatalogReader, ClusterEntry } from '../catalog/catalog-reader.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import { planQuery } from '../plan/plan-query.ts';
import { EMPTY, type Timestamp } from '../time/timestamp.ts';
import { type DataflowContext, liveIndexes } from './dataflows.ts';
import { storedContext } from './items.ts';
import { replicaName } from './names.ts';

/** By view: what an item's query reads never changes. */
const known = new WeakMap<CatalogItem, boolean>();
const named = new WeakMap<CatalogItem, boolean>();

/**
 * Whether a log may be among what it names, itself or through views (builtin ones do not say): of most users' views that is enough, and
 * planning takes a millisecond.
 */
function mayNameLog(catalog: CatalogReader, id: GlobalId): boolean {
  const item = catalog.item(id);
  if (item?.kind !== 'view') return item?.kind === 'log';
  let found = named.get(item);
  if (found === undefined) {
    const { dependsOn } = item;
    found = dependsOn.length === 0 || dependsOn.some((d) => mayNameLog(catalog, d));
    named.set(item, found);
  }
  return found;
}

export function hasLogTimes(catalog: CatalogReader, id: GlobalId): boolean {
  const item = catalog.item(id);
  if (item?.kind === 'log') return true;
  if (item?.kind !== 'view' || item.query === undefined) return false;
  let found = mayNameLog(catalog, id) && known.get(item);
  if (found === undefined) {
    const { reads } = planQuery(item.query, {
      ...storedContext(catalog, item.name.database ?? ''),
      maintained: true,
    });
    found = reads.length > 0 && reads.every((r) => catalog.item(r)?.kind === 'log');
    known.set(item, found);
  }
  return found;
}

/**
 * Views that a query may read through an index of the cluster. One over logs counts only where the replica has something to show:
 * on a fresh one the raw logs are there first.
 */
export const readableViews =
  (c: DataflowContext, replicaId: ReplicaId | undefined) =>
  (id: GlobalId): boolean => {
    const indexes = liveIndexes(c, id);
    if (indexes.length === 0 || !hasLogTimes(c.catalog, id)) return indexes.length > 0;
    return (
      replicaId !== undefined &&
      indexes.every((i) => c.instance.replicaFrontier(replicaId, i.id) > c.instance.since(i.id))
    );
  };

/**
 * The newest time that is complete in all of them, on every worker of the replica. Right after a replica was lost nothing is complete
 * on the new one: then the earliest time that is still readable.
 */
export function newestLogTime(
  c: DataflowContext,
  replicaId: ReplicaId,
  logs: readonly GlobalId[],
): Timestamp {
  let upper = EMPTY;
  let since = 0;
  for (const id of logs)
    for (const i of liveIndexes(c, id)) {
      upper = Math.min(upper, c.instance.replicaFrontier(replicaId, i.id));
      since = Math.max(since, c.instance.since(i.id));
    }
  return upper === EMPTY ? since : Math.max(since, upper - 1);
}

/** The replica that a session's reads of logs go to; undefined: the session must say. */
export function wantedReplica(cluster: ClusterEntry, name: string): ReplicaId | undefined {
  if (name === '') return cluster.replicas.length === 1 ? cluster.replicas[0]!.id : undefined;
  return cluster.replicas.find((r) => r.name === name)?.id;
}

/** What a query runs on: it may have been dropped while the query waited. */
export function livingCluster(catalog: CatalogState, id: ClusterId): ClusterEntry {
  const cluster = catalog.clusterById(id);
  if (cluster !== undefined) return cluster;
  throw new SqlError('undefined_object', 'the cluster that the query runs on was dropped meanwhile');
}

/** The replica that must answer; undefined: any. Logs are a replica's own, so who asks for them says of which one. */
export function replicaOf(
  catalog: CatalogState,
  clusterId: ClusterId,
  o: { readonly name: string; readonly readsLogs: boolean },
): ReplicaId | undefined {
  const cluster = livingCluster(catalog, clusterId);
  const { replicas } = cluster;
  if (replicas.length === 0)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      `cluster "${cluster.name}" has no replica to run the query on`,
      { hint: replicaHint(catalog, clusterId) },
    );
  if (o.name !== '') {
    const replica = wantedReplica(cluster, o.name);
    if (replica !== undefined) return replica;
    throw new SqlError('undefined_object', `cluster replica "${cluster.name}.${o.name}" does not exist`, {
      hint: 'RESET cluster_replica, or SET it to a replica of the cluster',
    });
  }
  if (!o.readsLogs) return undefined;
  if (replicas.length > 1)
    throw new SqlError(
      'object_not_in_prerequisite_state',
      'log relations are kept by each replica for itself: the query must name the replica',
      { hint: `SET cluster_replica to one of ${replicas.map((r) => r.name).join(', ')}` },
    );
  return replicas[0]!.id;
}

/** Whoever asks for its logs is told at once. */
export function notConnected(catalog: CatalogState, id: ReplicaId): SqlError {
  return new SqlError(
    'object_not_in_prerequisite_state',
    `replica "${replicaName(catalog, id)}" is not connected, and its logs are in its memory`,
    { hint: 'mz_internal.mz_cluster_replica_statuses tells why, and when it is back' },
  );
}

function replicaHint(catalog: CatalogState, id: ClusterId): string {
  const { name, size } = catalog.get('cluster', id)!;
  return size === null
    ? 'use CREATE CLUSTER REPLICA to add one'
    : `use ALTER CLUSTER ${name} SET (REPLICATION FACTOR 1); CREATE CLUSTER REPLICA is for unmanaged clusters`;
}
