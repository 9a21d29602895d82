/**
 * `mz_frontiers` and `mz_cluster_replica_frontiers`: from when on each object of users is readable and up to when it is complete, as of the
 * last tick of the tables. They are looked at with the tick, whose commit takes them along: every commit moves frontiers, so rows that
 * followed each move would never come to rest. Rows of what was dropped go at once.
 *
 * Cost: a look a second at each object and each of its replicas, and a changed row for each that moved, up to a number a tick.
 */
import type { GlobalId } from '../base/ids.ts';
import type { ItemEntity } from '../catalog/entities.ts';
import type { Row } from '../repr/types.ts';
import { EMPTY, type Frontier, toNullable } from '../time/timestamp.ts';
import type { Environment } from './environment.ts';
import type { LiveChange } from './live-rows.ts';

type FrontierTable = 'mz_frontiers' | 'mz_cluster_replica_frontiers';

interface FrontierRow {
  readonly table: FrontierTable;
  readonly objectId: GlobalId;
  readonly replicaId: string | null;
  readonly frontiers: readonly Frontier[];
}

/** At 13 µs a change (measured with 300 of them) a tick stays within some milliseconds; what is left takes its turn with the next. */
const MOST_CHANGES = 500;

export function followFrontiers(env: Environment): void {
  const shown = new Map<string, FrontierRow>();
  const withdrawal = (key: string): LiveChange => {
    const { table } = shown.get(key)!;
    shown.delete(key);
    return { table, key, rows: [] };
  };
  let first = 0;
  env.group.onTick(() => {
    const rows = [...currentRows(env)];
    const there = new Set(rows.map(keyOf));
    const changes: LiveChange[] = [];
    for (const key of [...shown.keys()]) if (!there.has(key)) changes.push(withdrawal(key));
    for (let k = 0; k < rows.length && changes.length < MOST_CHANGES; k++) {
      const r = rows[first++ % rows.length]!;
      const key = keyOf(r);
      const old = shown.get(key)?.frontiers;
      if (old !== undefined && r.frontiers.every((f, i) => f === old[i])) continue;
      shown.set(key, r);
      changes.push({ table: r.table, key, rows: [rowOf(r)] });
    }
    if (changes.length > 0) env.setLive(changes);
  });
  env.onCatalogChange(() => {
    const gone = [...shown].filter(
      ([, { objectId, replicaId }]) =>
        env.catalog.get('item', objectId) === undefined ||
        (replicaId !== null && env.catalog.get('replica', replicaId) === undefined),
    );
    if (gone.length > 0) env.setLive(gone.map(([key]) => withdrawal(key)));
  });
}

const keyOf = ({ objectId, replicaId }: FrontierRow): string =>
  replicaId === null ? objectId : `${replicaId}/${objectId}`;

const rowOf = ({ objectId, replicaId, frontiers }: FrontierRow): Row => [
  objectId,
  ...(replicaId === null ? [] : [replicaId]),
  ...frontiers.map(toNullable),
];

function* currentRows(env: Environment): Iterable<FrontierRow> {
  for (const e of env.catalog.all('item')) {
    const frontiers = frontiersOf(env, e);
    if (frontiers !== null) yield { table: 'mz_frontiers', objectId: e.id, replicaId: null, frontiers };
    const exportId = e.exportId ?? e.id;
    const instance = e.clusterId === undefined ? undefined : env.clusters.instances.get(e.clusterId);
    if (instance?.hasCollection(exportId) !== true) continue;
    for (const r of instance.replicas)
      yield {
        table: 'mz_cluster_replica_frontiers',
        objectId: e.id,
        replicaId: r.id,
        frontiers: [r.write(exportId)],
      };
  }
}

/** Read and write frontier; null: it keeps nothing, or is not loaded yet. */
function frontiersOf({ catalog, collections, clusters }: Environment, e: ItemEntity): Frontier[] | null {
  if (collections.has(e.id)) return [collections.since(e.id), collections.upper(e.id)];
  const instance = e.clusterId === undefined ? undefined : clusters.instances.get(e.clusterId);
  const exportId = e.exportId ?? e.id;
  if (instance?.hasCollection(exportId) !== true) return null;
  const isIndex = catalog.item(e.id)?.kind === 'index';
  return [isIndex ? instance.since(exportId) : EMPTY, instance.writeFrontier(exportId)];
}
