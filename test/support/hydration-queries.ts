/** What a reader asks of the relations about hydration, for tests in the simulator. */
import { describeMissing, readiness } from '../../packages/tidemark/src/adapter/readiness.ts';
import type { TestEnvironment, TestRow } from '../../packages/tidemark/src/testkit/simulator.ts';
import { openWatched } from './watched.ts';

type Options = Parameters<typeof openWatched>[0];

export async function watched(options: Options, body: (t: TestEnvironment) => Promise<void>): Promise<void> {
  const w = await openWatched(options);
  await body(w.t);
  await w.finish();
}

export const blockers = (t: TestEnvironment, where = 'true'): Promise<readonly TestRow[]> =>
  t.query(`SELECT o.name, b.replica_id, b.stage, b.reason, b.since, w.name AS blocked_by, b.details
    FROM mz_internal.mz_hydration_blockers b LEFT JOIN mz_catalog.mz_objects o ON o.id = b.object_id
      LEFT JOIN mz_catalog.mz_objects w ON w.id = b.blocked_by
    WHERE ${where} ORDER BY o.id`);

export const short = (rows: readonly TestRow[]): unknown[] =>
  rows.map((r) => [r['name'], r['stage'], r['reason'], r['blocked_by']]);

export const rollup = async (t: TestEnvironment, name: string): Promise<TestRow | undefined> =>
  (
    await t.query(
      `SELECT * FROM mz_internal.mz_compute_hydration_timestamps WHERE object_id = '${t.id(name)}'`,
    )
  )[0];

export const replicas = (t: TestEnvironment, cluster = 'quickstart'): Promise<readonly TestRow[]> =>
  t.query(`SELECT h.*, o.name AS slowest FROM mz_internal.mz_cluster_replica_hydration h
    JOIN mz_catalog.mz_clusters c ON c.id = h.cluster_id
    LEFT JOIN mz_catalog.mz_objects o ON o.id = h.slowest_object_id WHERE c.name = '${cluster}'`);

export const missing = (t: TestEnvironment, options?: Parameters<typeof readiness>[1]): string[] =>
  readiness(t.env, options).missing.map(describeMissing);

export const micros = (t: TestEnvironment): number => Math.round(t.time.nowMs() * 1000);

/** Everything over the table waits for its rows. */
export async function held(t: TestEnvironment): Promise<() => void> {
  await t.exec('CREATE TABLE slow (a int); INSERT INTO slow VALUES (1), (2)');
  await t.exec('CREATE TABLE quick (a int); INSERT INTO quick VALUES (1)');
  return t.holdReads('slow');
}
