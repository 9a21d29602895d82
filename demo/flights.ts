/**
 * The main job: three million real flights become hydrated views that tell their life story.
 *
 *     npm start              loads, hydrates, shows the timeline, answers a question, stays up for psql
 *     npm start -- --exit    the same once; exit code 0 only if all is hydrated and durable
 */
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { silentLogger } from '../packages/tidemark/src/base/clock.ts';
import { Database } from '../packages/tidemark/src/server/database.ts';
import { type RunningServer, startServer } from '../packages/tidemark/src/server/server.ts';
import { type Life, timeline } from './timeline.ts';

const FILE = fileURLToPath(new URL('../data/flights-3m.parquet', import.meta.resolve('vega-datasets')));
const QUESTION_MS = 120_000;

/** A view and where it is kept: an index in memory, or a shard. */
const OBJECTS = [
  ['flights_by_origin', 'CREATE INDEX flights_by_origin IN CLUSTER analytics ON flights (origin)'],
  [
    'delays_by_airport',
    `CREATE MATERIALIZED VIEW delays_by_airport IN CLUSTER analytics AS
       SELECT origin, count(*) AS flights, avg(delay) AS avg_delay, max(delay) AS worst
       FROM flights GROUP BY origin`,
  ],
  [
    'delays_by_route',
    `CREATE MATERIALIZED VIEW delays_by_route IN CLUSTER analytics AS
       SELECT origin, destination, count(*) AS flights, sum(delay) AS total_delay
       FROM flights GROUP BY origin, destination`,
  ],
  [
    'delays_by_day',
    `CREATE MATERIALIZED VIEW delays_by_day IN CLUSTER analytics AS
       SELECT date_trunc('day', date) AS day, count(*) AS flights, avg(delay) AS avg_delay
       FROM flights GROUP BY date_trunc('day', date)`,
  ],
  [
    'late_flights',
    `CREATE MATERIALIZED VIEW late_flights IN CLUSTER analytics AS
       SELECT date, origin, destination, delay FROM flights WHERE delay >= 120`,
  ],
] as const;

async function main(exit: boolean): Promise<void> {
  const server = await listen();
  const db = new Database(server.opened);
  const started = performance.now();
  await db.exec(
    "CREATE CLUSTER analytics (SIZE '2', INTROSPECTION INTERVAL '500ms'); SET cluster = analytics",
  );
  await db.query(`CREATE SOURCE flights FROM FILE '${FILE.replaceAll("'", "''")}' (FORMAT PARQUET)`);
  // Created before the load is done: they wait in the queue stage, and say for what.
  for (const [, sql] of OBJECTS) await db.query(sql);
  const lives = await watch(db, started);
  say('\n');
  say(timeline(lives, process.stdout.columns ?? 100));
  await answer(db);
  if (exit) {
    await db.close();
    await server.close();
    return;
  }
  say(`\nTry it:  psql -h ${server.pg.host} -p ${server.pg.port} -c "${STORY}"\n(Ctrl-C ends it.)\n`);
  process.on('SIGINT', () => void server.close().then(() => process.exit(0)));
  process.on('SIGTERM', () => void server.close().then(() => process.exit(0)));
}

const STORY =
  "SET cluster = analytics; SELECT o.name, e.worker_id, e.event, e.occurred_at, e.reason FROM mz_introspection.mz_compute_lifecycle_events_per_worker e JOIN mz_catalog.mz_objects o ON o.id = e.export_id WHERE e.export_id LIKE 'u%' ORDER BY 1, 4";

/** The usual ports, or free ones where they are taken. */
async function listen(): Promise<RunningServer> {
  const at = (pg: number, http: number) =>
    startServer({
      dataDir: null,
      listen: { host: '127.0.0.1', port: pg },
      http: { host: '127.0.0.1', port: http },
      logger: {
        ...silentLogger,
        error: (fields, message) => process.stderr.write(`${message} ${JSON.stringify(fields)}\n`),
      },
      onFenced: (error) => {
        throw error;
      },
    });
  return at(6875, 6876).catch(() => at(0, 0));
}

const say = (text: string): boolean => process.stdout.write(text);

/** A progress line until every object is hydrated, and every view durable. */
async function watch(db: Database, started: number): Promise<readonly Life[]> {
  const total = OBJECTS.length;
  for (;;) {
    const [load] = (
      await db.query('SELECT rows_read, rows_known, snapshot_committed FROM mz_internal.mz_source_statistics')
    ).rows;
    const [status] = (await db.query('SELECT status, error FROM mz_internal.mz_source_statuses')).rows;
    if (status?.['status'] === 'stalled') throw new Error(`flights could not be loaded: ${status['error']}`);
    const lives = await readLives(db);
    const hydrated = lives.filter((l) => l.hydratedAt !== null).length;
    const done =
      lives.length === total && lives.every((l) => (l.isView ? l.writtenAt : l.hydratedAt) !== null);
    const seconds = (performance.now() - started) / 1000;
    const read = Number(load?.['rows_read'] ?? 0).toLocaleString('en-US');
    const known = Number(load?.['rows_known'] ?? 0).toLocaleString('en-US');
    say(
      `\r${seconds.toFixed(1).padStart(5)} s   flights ${read} of ${known} rows read   ${hydrated} of ${total} objects hydrated `,
    );
    if (done) return lives;
    if (performance.now() - started > QUESTION_MS)
      throw new Error('not everything is hydrated and durable after two minutes');
    await new Promise((resolve) => setTimeout(resolve, 250));
  }
}

/** The lifecycle log, rolled up: each stage once every worker has reported it. */
const LIVES = `
  SELECT o.name, o.type,
    min(e.occurred_at) FILTER (WHERE e.event = 'installed') AS installed_at,
    min(e.occurred_at) FILTER (WHERE e.event = 'started') AS started_at,
    CASE WHEN count(*) FILTER (WHERE e.event = 'hydrated') = 2
      THEN max(e.occurred_at) FILTER (WHERE e.event = 'hydrated') END AS hydrated_at,
    max(e.occurred_at) FILTER (WHERE e.event = 'written') AS written_at
  FROM mz_introspection.mz_compute_lifecycle_events_per_worker e
  JOIN mz_catalog.mz_objects o ON o.id = e.export_id
  WHERE e.export_id LIKE 'u%'
  GROUP BY o.name, o.type
  ORDER BY 3`;

async function readLives(db: Database): Promise<readonly Life[]> {
  const { rows } = await db.query(LIVES);
  const at = (v: unknown): number | null =>
    v === null ? null : Date.parse(String(v).replace(' ', 'T').replace(/\+00$/, 'Z'));
  return rows.map((r) => ({
    name: String(r['name']),
    isView: r['type'] === 'materialized-view',
    installedAt: at(r['installed_at'])!,
    startedAt: at(r['started_at']),
    hydratedAt: at(r['hydrated_at']),
    writtenAt: at(r['written_at']),
  }));
}

async function answer(db: Database): Promise<void> {
  const began = performance.now();
  const { rows } = await db.query(
    'SELECT origin, flights, round(avg_delay, 1) AS avg_delay FROM delays_by_airport WHERE flights >= 20000 ORDER BY avg_delay DESC LIMIT 3',
  );
  const ms = (performance.now() - began).toFixed(0);
  say('\nFrom which airports (of 20,000 flights or more) do flights leave latest?\n');
  for (const r of rows)
    say(
      `  ${r['origin']}   ${r['avg_delay']} minutes on average over ${Number(r['flights']).toLocaleString('en-US')} flights\n`,
    );
  say(`  (answered from the materialized view in ${ms} ms)\n`);
}

const { values } = parseArgs({ options: { exit: { type: 'boolean', default: false } } });
await main(values.exit).catch((error: unknown) => {
  process.stderr.write(`\n${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
