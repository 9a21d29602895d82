/** What must hold of an environment once a history has let go of everything. */
import assert from 'node:assert/strict';
import type { GlobalId } from '../../../packages/tidemark/src/base/ids.ts';
import type { Started, TestEnvironment } from '../../../packages/tidemark/src/testkit/simulator.ts';

/** Statements that put a row into a table and took it out again. */
export interface Value {
  readonly insert: Started;
  delete?: Started;
}

/** Every episode has come to its end, but for those that wait for permission. */
export async function checkEpisodes(t: TestEnvironment, blocked: ReadonlySet<GlobalId>): Promise<void> {
  const open = await t.query(`SELECT object_id, status FROM mz_internal.mz_object_hydration_history
      WHERE status = 'hydrating' OR ended_at IS NULL`);
  assert.deepEqual(
    open.filter((r) => r['status'] === 'hydrating' || !blocked.has(r['object_id'] as GlobalId)),
    [],
    'every episode ends',
  );
  const replicas = 'SELECT * FROM mz_internal.mz_replica_hydration_history WHERE finished_at IS NULL';
  assert.deepEqual(await t.query(replicas), [], 'so does every one of a replica');
}

/** Tables hold what was acknowledged, once. */
export async function checkTables(
  t: TestEnvironment,
  tables: ReadonlyMap<string, ReadonlyMap<number, Value>>,
): Promise<void> {
  for (const [table, values] of tables) {
    const rows = await t.query(`SELECT a, count(*) AS n FROM ${table} GROUP BY a`);
    const found = new Map(rows.map((r) => [r['a'] as number, r['n']]));
    for (const [a, n] of found) assert.equal(n, 1n, `${table} has ${a} once`);
    for (const [value, { insert, delete: deleted }] of values) {
      const inserted = await outcome(insert);
      const gone = await outcome(deleted);
      if (inserted === 'well' && deleted === undefined)
        assert.ok(found.has(value), `${table} has kept ${value}`);
      if (gone === 'well') assert.ok(!found.has(value), `${table} has lost ${value}`);
    }
  }
}

function outcome(s: Started | undefined): Promise<'well' | 'ill' | 'never'> {
  if (s === undefined || !s.isDone) return Promise.resolve('never');
  return s.result().then(
    () => 'well',
    () => 'ill',
  );
}

/** Views say what their definitions say, errors included. */
export async function checkViews(
  t: TestEnvironment,
  views: readonly string[],
  definitions: ReadonlyMap<string, string>,
): Promise<void> {
  const ask = (from: string): Promise<unknown> =>
    t
      .query(`SELECT a::text AS a, b::text AS b FROM ${from} ORDER BY 1, 2`)
      .catch((e: { code?: string }) => e.code);
  for (const view of views) {
    const query = definitions.get(view);
    if (query !== undefined) assert.deepEqual(await ask(view), await ask(`(${query})`), view);
  }
}
