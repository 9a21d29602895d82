/** What happened last night, asked of a server that was killed and started again. By the wire and by kill -9. */
import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Client, ServerProcess } from './support/crash/server-process.ts';
import { until } from './support/until.ts';

const EPISODES = `SELECT o.object_id, h.status, h.ended_at IS NULL, h.installed_at::text, h.hydrated_at::text
  FROM mz_internal.mz_object_hydration_history h, (VALUES ('u2', 1), ('u3', 2)) AS o(object_id, n)
  WHERE h.object_id = o.object_id ORDER BY n, h.installed_at`;

async function serve(
  dataDir: string,
  running: ServerProcess[],
): Promise<{ readonly server: ServerProcess; readonly client: Client }> {
  const server = new ServerProcess(dataDir);
  running.push(server);
  const port = await server.ready();
  assert.notEqual(port, null, server.log);
  return { server, client: await new Client(port!).connected() };
}

/** The rows, once they are as wanted. */
const rowsOnce = (client: Client, sql: string, wanted: (rows: string[][]) => boolean): Promise<string[][]> =>
  until(async () => (await client.query(sql)).rows, wanted);

test('kill -9, and the rows of last night are there; what was under way is lost, what was done stays done', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'tidemark-history-'));
  const running: ServerProcess[] = [];
  try {
    const first = await serve(dataDir, running);
    const { client } = first;
    await client.query('CREATE TABLE t (a int)');
    await client.query('INSERT INTO t SELECT generate_series(1, 1000)');
    await client.query('CREATE INDEX i ON t (a)');
    await client.query('CREATE MATERIALIZED VIEW v AS SELECT count(*) AS n FROM t');
    const before = await rowsOnce(
      client,
      EPISODES,
      (rows) => rows.length === 2 && rows.every((r) => r[2] === 'f'),
    );
    assert.deepEqual(
      before.map((r) => [r[0], r[1]]),
      [
        ['u2', 'hydrated'],
        ['u3', 'hydrated'],
      ],
    );
    await client.query('DROP INDEX i');
    // It may not hydrate: nothing gets a slot.
    await client.query('ALTER SYSTEM SET compute_hydration_concurrency = 0');
    await client.query('CREATE INDEX late ON t (a)');
    const late = "SELECT status FROM mz_internal.mz_object_hydration_history WHERE object_id = 'u4'";
    await rowsOnce(client, late, ([row]) => row?.[0] === 'hydrating');
    await first.server.kill();

    const second = await serve(dataDir, running);
    const after = await rowsOnce(second.client, EPISODES, (rows) => rows.length >= 2);
    assert.deepEqual(after.slice(0, 2), before, 'bit-identical');
    const again = await rowsOnce(second.client, `${late} ORDER BY installed_at`, (rows) => rows.length === 2);
    assert.deepEqual(again, [['lost'], ['hydrating']]);
    const replicas = await rowsOnce(
      second.client,
      'SELECT status FROM mz_internal.mz_replica_hydration_history ORDER BY started_at',
      (rows) => rows.at(-1)?.[0] === 'hydrating',
    );
    // How many there were before depends on whether the replica was connected before there was anything to maintain.
    assert.match(replicas.flat().join(' '), /^(hydrated )+lost hydrating$/);
    const incarnations = await rowsOnce(
      second.client,
      "SELECT incarnation FROM mz_internal.mz_cluster_replica_status_history WHERE replica_id = 'u1' AND status = 'online'",
      (rows) => rows.length > 1,
    );
    assert.deepEqual([incarnations.length, new Set(incarnations.flat()).size], [2, 2]);
    await second.client.end();
    assert.deepEqual(second.server.faults, []);
    await second.server.stop();
  } finally {
    for (const server of running) await server.kill();
    await rm(dataDir, { recursive: true, force: true });
  }
});
