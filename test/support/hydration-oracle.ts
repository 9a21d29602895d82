/**
 * What the relations about hydration must say, found anew from the stages that replicas reported and from the log, without the code that
 * keeps the relations. It cannot see whether a reason other than these is the right one: cases do.
 */
import assert from 'node:assert/strict';
import type { GlobalId, ReplicaId } from '../../packages/tidemark/src/base/ids.ts';
import { systemId } from '../../packages/tidemark/src/base/ids.ts';
import { BUILTIN_TABLES } from '../../packages/tidemark/src/catalog/builtins/tables.ts';
import type { Row } from '../../packages/tidemark/src/repr/types.ts';
import type { TestEnvironment } from '../../packages/tidemark/src/testkit/simulator.ts';
import { isEmpty } from '../../packages/tidemark/src/time/timestamp.ts';

/** The rows of a catalog table at this moment. */
function rowsOf(t: TestEnvironment, name: string): readonly Readonly<Record<string, unknown>>[] {
  const table = BUILTIN_TABLES.find((b) => b.name === name)!;
  return t.env
    .builtinRows(systemId(table.number))
    .map((row: Row) => Object.fromEntries(table.columns.map((c, i) => [c.name, row[i]])));
}

const MAINTAINED = new Set(['index', 'materialized-view', 'sink']);

interface Expected {
  readonly id: GlobalId;
  readonly clusterId: string;
  readonly replicaId: ReplicaId | null;
  readonly done: boolean;
  readonly hydrated: boolean;
  /** Least, least, greatest over the workers, and the owner's; microseconds. */
  readonly instants: readonly (number | null)[];
}

function* expected(t: TestEnvironment): Generator<Expected> {
  const { catalog, collections } = t.env;
  for (const { item, entity } of catalog.loadedItems()) {
    if (entity === null || !MAINTAINED.has(item.kind)) continue;
    const clusterId = entity.clusterId!;
    const { replicas } = catalog.clusterById(clusterId)!;
    const instance = t.env.instance(clusterId);
    const view = item.kind === 'materialized-view';
    // What a replacement is to write is the shard of the view that it replaces.
    const outputId = (view && item.replaces) || item.id;
    // What replaced a view writes under an id of its own.
    const exportId = entity.exportId ?? item.id;
    const sealed = view && collections.has(outputId) && isEmpty(collections.upper(outputId));
    if (replicas.length === 0) {
      const instants = [null, null, null, null];
      yield { id: item.id, clusterId, replicaId: null, done: sealed, hydrated: sealed, instants };
    }
    for (const r of replicas) {
      const events = [...instance.lives.events()].filter(
        (e) => e.objectId === exportId && e.replicaId === r.id,
      );
      const at = (stage: string): number[] =>
        events.filter((e) => e.stage === stage).map((e) => e.occurredAt);
      const all = (stage: string, pick: (...ts: number[]) => number): number | null =>
        at(stage).length === r.workers ? pick(...at(stage)) : null;
      const running = instance.replicas.find((x) => x.id === r.id);
      // An episode that ended on an error has got nowhere, until a later one has.
      const failed =
        running?.failures.has(exportId) === true || instance.episodeFailure(r.id, exportId) !== undefined;
      const hydratedAt = failed ? null : all('hydrated', Math.max);
      const [written] = at('written');
      const writtenAt = hydratedAt === null || written === undefined ? null : Math.max(hydratedAt, written);
      const connected = running !== undefined;
      yield {
        id: item.id,
        clusterId,
        replicaId: r.id,
        done: sealed || (connected && (view ? writtenAt : hydratedAt) !== null),
        hydrated: sealed || (connected && hydratedAt !== null),
        instants: [all('installed', Math.min), all('started', Math.min), hydratedAt, writtenAt],
      };
    }
  }
}

const key = (id: unknown, replicaId: unknown): string => `${String(id)} ${String(replicaId)}`;

/** How many objects are not done on a replica, but for those that may not write. */
export function notDone(t: TestEnvironment): number {
  t.env.hydration.refresh();
  return rowsOf(t, 'mz_hydration_blockers').filter(
    (r) => r['object_id'] !== null && r['reason'] !== 'read_only',
  ).length;
}

/** At this moment: a blocker for each object that is not done, none for one that is; rollups of what was reported. */
export function checkHydration(t: TestEnvironment): void {
  t.env.hydration.refresh();
  const all = [...expected(t)];
  const blockers = rowsOf(t, 'mz_hydration_blockers').filter((r) => r['object_id'] !== null);
  assert.deepEqual(
    blockers.map((r) => key(r['object_id'], r['replica_id'])).sort(),
    all
      .filter((e) => !e.done)
      .map((e) => key(e.id, e.replicaId))
      .sort(),
    'one blocker for each object that is not done, and none for another',
  );
  const timestamps = rowsOf(t, 'mz_compute_hydration_timestamps');
  const rollups = all.filter((e) => e.replicaId !== null);
  assert.equal(timestamps.length, rollups.length, 'one rollup for each object and replica');
  for (const e of rollups) {
    const row = timestamps.find((r) => key(r['object_id'], r['replica_id']) === key(e.id, e.replicaId))!;
    const instants = [row['installed_at'], row['started_at'], row['hydrated_at'], row['written_at']];
    assert.deepEqual(
      instants.map((v) => (v === null ? null : Number(v))),
      e.instants.map((v) => (v === null ? null : Math.round(v))),
      `the instants of ${e.id}`,
    );
  }
  const replicas = rowsOf(t, 'mz_cluster_replica_hydration');
  for (const c of t.env.catalog.clusters()) {
    const rows = replicas.filter((r) => r['cluster_id'] === c.id);
    if (c.id.startsWith('s')) {
      assert.deepEqual(rows, [], 'the system cluster is nobody’s to wait for');
      continue;
    }
    assert.equal(rows.length, Math.max(1, c.replicas.length));
    for (const r of rows) {
      const own = all.filter((e) => e.clusterId === c.id && e.replicaId === r['replica_id']);
      assert.equal(r['objects'], BigInt(own.length));
      assert.equal(r['hydrated_objects'], BigInt(own.filter((e) => e.hydrated).length));
      const late = own.filter((e) => !e.hydrated).map((e) => e.id);
      if (late.length > 0)
        assert.ok(late.includes(r['slowest_object_id'] as GlobalId), 'a late one is named');
      if (r['hydrated'] === true) assert.deepEqual(late, []);
      assert.equal(r['hydrated'] === true, r['reason'] === null);
    }
  }
}

/** At rest, in SQL: the rollup is that of the log, and what one-off queries see is what the relations' shards hold. */
export async function checkRollups(t: TestEnvironment): Promise<void> {
  checkHydration(t);
  // What replaced a view is logged under an id of its own.
  const own = [...t.env.catalog.all('item')].filter((e) => e.exportId === undefined);
  const ids = own.map((e) => `'${e.id}'`).join();
  for (const { id, name } of t.env.catalog.cluster('quickstart')!.replicas) {
    const log = `SELECT export_id, min(occurred_at) FILTER (WHERE event = 'installed') AS installed_at,
       min(occurred_at) FILTER (WHERE event = 'started') AS started_at,
       max(occurred_at) FILTER (WHERE event = 'hydrated') AS hydrated_at
     FROM mz_introspection.mz_compute_lifecycle_events_per_worker WHERE export_id LIKE 'u%'
       AND export_id IN (${ids}) GROUP BY export_id ORDER BY 1`;
    const rollup = `SELECT object_id AS export_id, installed_at, started_at, hydrated_at
     FROM mz_internal.mz_compute_hydration_timestamps
     WHERE installed_at IS NOT NULL AND replica_id = '${id}' AND object_id IN (${ids}) ORDER BY 1`;
    await t.exec(`SET cluster_replica = ${name}`);
    assert.deepEqual(await t.query(rollup), await t.query(log));
  }
  await t.exec('RESET cluster_replica');
  // The older reading comes to the same once nothing is under way and what replicas told is of their present lives.
  await t.until(
    () => rowsOf(t, 'mz_introspection_freshness').every((r) => r['fresh'] === true),
    'what every replica tells is fresh',
  );
  const statuses = await t.query(
    "SELECT object_id, replica_id, hydrated FROM mz_internal.mz_hydration_statuses WHERE object_id LIKE 'u%'",
  );
  const maintained = [...expected(t)];
  for (const e of maintained) {
    const [row] = statuses.filter((r) => key(r['object_id'], r['replica_id']) === key(e.id, e.replicaId));
    assert.equal(row?.['hydrated'], e.hydrated, `the status of ${key(e.id, e.replicaId)}`);
  }
  for (const name of [
    'mz_hydration_blockers',
    'mz_compute_hydration_timestamps',
    'mz_cluster_replica_hydration',
  ]) {
    const sql = `SELECT * FROM mz_internal.${name} ORDER BY 1, 2`;
    const books = await t.query(sql);
    // The second read of a transaction is at the time of the first, and so from the shard.
    await t.exec('BEGIN; SELECT count(*) FROM mz_catalog.mz_objects');
    assert.deepEqual(await t.query(sql), books, `${name} as it is committed`);
    await t.exec('COMMIT');
  }
}
