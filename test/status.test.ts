/** Readiness and status by the doors that people take: HTTP, `tidemark status`, and SQL over the wire, against a running server. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { StatusReport } from '../packages/tidemark/src/adapter/status.ts';
import { silentLogger } from '../packages/tidemark/src/base/clock.ts';
import type { Readiness } from '../packages/tidemark/src/http/app.ts';
import { startServer } from '../packages/tidemark/src/server/server.ts';
import { until } from './support/until.ts';

const local = { host: '127.0.0.1', port: 0 };
const server = await startServer({
  dataDir: null,
  listen: local,
  http: local,
  logger: silentLogger,
  defaultWorkers: 2,
  onFenced: (error) => assert.fail(error),
});
const client = new pg.Client({
  host: '127.0.0.1',
  port: server.pg.port,
  user: 'tidemark',
  database: 'tidemark',
});
await client.connect();
after(async () => {
  await client.end();
  await server.close();
});

async function get<T>(path: string): Promise<{ readonly status: number; readonly body: T }> {
  const response = await fetch(`http://127.0.0.1:${server.http.port}${path}`);
  return { status: response.status, body: (await response.json()) as T };
}

const MAIN = fileURLToPath(new URL('../packages/tidemark/src/cli/main.ts', import.meta.url));

async function tidemark(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
  const child = spawn(process.execPath, [MAIN, 'status', ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const [out, err, [code]] = await Promise.all([
    text(child.stdout),
    text(child.stderr),
    once(child, 'close'),
  ]);
  return { code, out, err };
}

const url = `http://127.0.0.1:${server.http.port}`;

/** Paused, nothing hydrates. */
const pause = (limit: number | null): Promise<unknown> =>
  client.query(
    limit === null
      ? 'ALTER SYSTEM RESET compute_hydration_concurrency'
      : `ALTER SYSTEM SET compute_hydration_concurrency = ${limit}`,
  );

const BLOCKERS = `SELECT o.name, b.stage, b.reason, b.details FROM mz_internal.mz_hydration_blockers b
  JOIN mz_catalog.mz_objects o ON o.id = b.object_id ORDER BY o.id`;

test('what waits is told alike in SQL, by readyz and by tidemark status; then all is done', async () => {
  await client.query('CREATE TABLE orders (id int, customer int, amount int)');
  await client.query('INSERT INTO orders VALUES (1, 7, 100), (2, 7, 50)');
  await pause(0);
  await client.query(
    'CREATE MATERIALIZED VIEW totals AS SELECT customer, sum(amount) FROM orders GROUP BY customer',
  );
  const [row] = (await client.query(BLOCKERS)).rows as Record<string, unknown>[];
  assert.equal(row!['name'], 'totals', 'at once');
  const reason = async (): Promise<unknown> => (await get<Readiness>('/api/readyz')).body.missing[0]?.reason;
  while ((await reason()) === 'installing');
  assert.deepEqual((await client.query(BLOCKERS)).rows, [
    {
      name: 'totals',
      stage: 'installed',
      reason: 'hydration_limit',
      details: { setting: 'compute_hydration_concurrency', value: 0 },
    },
  ]);
  const unready = await get<Readiness>('/api/readyz?cluster=quickstart');
  assert.equal(unready.status, 503);
  assert.partialDeepStrictEqual(unready.body.missing[0]!, { name: 'totals', reason: 'hydration_limit' });
  assert.equal((await get('/api/livez')).status, 200, 'alive all the same');
  const waiting = await tidemark('--url', url);
  assert.equal(waiting.code, 1);
  assert.match(
    waiting.out,
    /quickstart\.r1 · 2 workers · not hydrated \(hydration_limit\) · 0 of 1 objects · waits for totals/,
  );
  assert.match(waiting.out, / {2}totals +installed +hydration_limit +\d/);
  assert.match(waiting.out, /not ready: 1 thing is missing\n$/);
  await pause(null);
  while ((await get('/api/readyz')).status !== 200);
  while ((await client.query(BLOCKERS)).rows.length > 0);
  const port = String(server.http.port);
  const args = ['--host', '127.0.0.1', '--port', port, '--cluster', 'quickstart', '--watch'];
  // Ready is also to follow within a moment: a loaded machine does not always. No terminal: it prints once.
  const done = await until(
    () => tidemark(...args),
    ({ code }) => code === 0,
  );
  assert.match(done.out, /hydrated since \d\d:\d\d:\d\d\.\d{3} · 1 of 1 objects · slowest totals/);
  assert.match(done.out, / {2}totals +written +done +/);
  const report = await until(
    async () => JSON.parse((await tidemark('--url', url, '--json')).out) as StatusReport,
    ({ ready }) => ready,
  );
  const [totals] = report.clusters[0]!.replicas[0]!.objects;
  assert.partialDeepStrictEqual(totals!, {
    name: 'totals',
    kind: 'materialized-view',
    reason: null,
    rowsDone: 2,
    rowsTotal: 2,
  });
  const rollup = await client.query(
    `SELECT extract(epoch FROM started_at - installed_at)::float8 * 1000 AS queue
     FROM mz_internal.mz_compute_hydration_timestamps`,
  );
  assert.ok(Math.abs(Number(rollup.rows[0].queue) - totals!.queueMs!) < 0.01, 'the same instants');
});

test('a refused question and a server that is not there have exit code 2, and say why', async () => {
  const refused = await tidemark('--url', url, '--cluster', 'nowhere');
  assert.deepEqual([refused.code, refused.out], [2, '']);
  assert.match(refused.err, /unknown cluster 'nowhere'/);
  const gone = await tidemark('--url', 'http://127.0.0.1:9');
  assert.equal(gone.code, 2);
  assert.match(gone.err, /no answer from 127\.0\.0\.1:9/);
  const odd = await tidemark('--url', 'postgres://127.0.0.1');
  assert.match(odd.err, /expected http/);
  assert.deepEqual([odd.code, (await tidemark('--wacth')).code], [2, 2], 'not 1, which would be asked again');
  assert.equal((await tidemark('--help')).code, 0);
  assert.equal((await get('/api/status?clutser=x')).status, 400);
});

test('readyz takes its bounds', async () => {
  assert.equal((await get('/api/readyz?stable_for=10s&max_lag=1m')).status, 200);
  assert.equal((await get('/api/readyz?cluster=nowhere')).status, 404);
  await client.query('CREATE CLUSTER idle REPLICAS ()');
  const { body } = await until(
    () => get<Readiness>('/api/readyz'),
    ({ status }) => status === 200,
  );
  assert.deepEqual(body.clustersWithoutReplica, ['idle']);
  await client.query('DROP CLUSTER idle');
});
