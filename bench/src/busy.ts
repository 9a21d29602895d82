/**
 * How long a status query waits while three million rows load and hydrate on two workers. Ten connections ask twice a second each,
 * and one asks again as soon as it is answered: for lifecycles (joined with the catalog: a dataflow of its own on the busy
 * cluster; and alone: a read of an index there), for the catalog and the environment's relations (answered by the system
 * cluster), the same from a session whose cluster has no replica, and for nothing (`SELECT 1`).
 *
 * Phases: `load` while the file is read; `hydrate` while an index and four materialized views over it are created, hydrate,
 * and are dropped, several rounds.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import type { FromBusyServer, LoopDelay } from './busy-server.ts';
import { table } from './table.ts';

const ENTRY = fileURLToPath(new URL('./busy-server.ts', import.meta.url));
const FILE = fileURLToPath(new URL('../data/flights-3m.parquet', import.meta.resolve('vega-datasets')));
const CONNECTIONS = 10;
const PERIOD_MS = 500;
const POLL_MS = 100;
const WARM_MS = 3000;
export const ROUNDS = 5;
/** Of p99, for lifecycle queries. */
const TARGET_MS = 200;

const LIFECYCLE = `
  SELECT o.name, o.type, e.worker_id, e.event, e.occurred_at, e.reason
  FROM mz_introspection.mz_compute_lifecycle_events_per_worker e
  JOIN mz_catalog.mz_objects o ON o.id = e.export_id
  WHERE e.export_id LIKE 'u%'`;

/** By what they show; the session's cluster is the busy one, or `empty` where the kind says so. */
const PROBES: Readonly<Record<string, string>> = {
  'lifecycle with names': LIFECYCLE,
  lifecycle: 'SELECT * FROM mz_introspection.mz_compute_lifecycle_events_per_worker',
  objects: "SELECT id, name, type FROM mz_catalog.mz_objects WHERE id LIKE 'u%'",
  'source statistics':
    'SELECT o.name, s.rows_read FROM mz_internal.mz_source_statistics s JOIN mz_catalog.mz_objects o ON o.id = s.id',
  'objects, no replica': "SELECT id, name, type FROM mz_catalog.mz_objects WHERE id LIKE 'u%'",
  'select 1': 'SELECT 1',
};
const KINDS = Object.keys(PROBES);

const OBJECTS: readonly (readonly [string, string])[] = [
  ['INDEX by_origin', 'CREATE INDEX by_origin ON flights (origin)'],
  [
    'MATERIALIZED VIEW by_airport',
    'CREATE MATERIALIZED VIEW by_airport AS SELECT origin, count(*) AS n, avg(delay) AS delay, max(delay) AS worst FROM flights GROUP BY origin',
  ],
  [
    'MATERIALIZED VIEW by_route',
    'CREATE MATERIALIZED VIEW by_route AS SELECT origin, destination, count(*) AS n, sum(delay) AS delay FROM flights GROUP BY origin, destination',
  ],
  [
    'MATERIALIZED VIEW by_day',
    "CREATE MATERIALIZED VIEW by_day AS SELECT date_trunc('day', date) AS day, count(*) AS n FROM flights GROUP BY date_trunc('day', date)",
  ],
  [
    'MATERIALIZED VIEW late',
    'CREATE MATERIALIZED VIEW late AS SELECT date, origin, destination, delay FROM flights WHERE delay >= 120',
  ],
];

export const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

export class BusyServer implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #directory: string | null;
  readonly port: number;

  private constructor(child: ChildProcess, directory: string | null, port: number) {
    this.#child = child;
    this.#directory = directory;
    this.port = port;
  }

  static async start(o: Pick<BusyOptions, 'durable' | 'execArgv'>): Promise<BusyServer> {
    const { durable, execArgv } = o;
    const directory = durable ? await mkdtemp(join(tmpdir(), 'tidemark-bench-')) : null;
    const child = fork(ENTRY, directory === null ? [] : [directory], { execArgv: [...execArgv] });
    const ready = await answer(child);
    if (ready.kind !== 'ready') throw new Error('a server is ready first');
    return new BusyServer(child, directory, ready.port);
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Delays of the environment's event loop since the last call. */
  async loopDelay(): Promise<LoopDelay> {
    const answered = answer(this.#child);
    this.#child.send('report');
    const m = await answered;
    if (m.kind !== 'delay') throw new Error(`a report is not ${m.kind}`);
    return m.delay;
  }

  async connect(cluster: string): Promise<pg.Client> {
    const client = new pg.Client({
      host: '127.0.0.1',
      port: this.port,
      user: 'tidemark',
      database: 'tidemark',
    });
    await client.connect();
    await client.query(`SET cluster = ${cluster}`);
    return client;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('exit', resolve));
    this.#child.send('close');
    await ended;
    if (this.#directory !== null) await rm(this.#directory, { recursive: true });
  }
}

function answer(child: ChildProcess): Promise<FromBusyServer> {
  return new Promise((resolve, reject) => {
    const gone = (code: number | null): void => reject(new Error(`the server ended with code ${code}`));
    child.once('exit', gone);
    child.once('message', (m) => {
      child.off('exit', gone);
      resolve(m as FromBusyServer);
    });
  });
}

/** Latencies by phase and kind. */
class Probers {
  readonly #samples = new Map<string, number[]>();
  readonly #running: Promise<void>[] = [];
  phase: string | null = null;
  #stopped = false;

  async start(server: BusyServer): Promise<void> {
    for (let i = 0; i < CONNECTIONS; i++) {
      const clients = await this.#pair(server);
      this.#running.push(this.#run(clients, { first: i, paced: true }));
    }
    this.#running.push(this.#run(await this.#pair(server), { first: 0, paced: false }));
  }

  async #pair(server: BusyServer): Promise<{ busy: pg.Client; empty: pg.Client }> {
    return { busy: await server.connect('busy'), empty: await server.connect('empty') };
  }

  async #run(
    clients: { readonly busy: pg.Client; readonly empty: pg.Client },
    o: { readonly first: number; readonly paced: boolean },
  ): Promise<void> {
    // Spread over the period: ten at once would measure each other.
    if (o.paced) await sleep((o.first * PERIOD_MS) / CONNECTIONS);
    for (let i = o.first; !this.#stopped; i++) {
      const kind = KINDS[i % KINDS.length]!;
      const client = kind.endsWith('no replica') ? clients.empty : clients.busy;
      const { phase } = this;
      const start = performance.now();
      await client.query(PROBES[kind]!);
      const ms = performance.now() - start;
      if (phase !== null && phase === this.phase) this.#add(phase, kind, ms);
      if (o.paced) await sleep(Math.max(0, PERIOD_MS - ms));
    }
    await Promise.all([clients.busy.end(), clients.empty.end()]);
  }

  #add(phase: string, kind: string, ms: number): void {
    const key = `${phase}\t${kind}`;
    const list = this.#samples.get(key);
    if (list === undefined) this.#samples.set(key, [ms]);
    else list.push(ms);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#running);
  }

  rows(): string[][] {
    return [...this.#samples].map(([key, list]) => {
      const s = list.sort((a, b) => a - b);
      const at = (q: number): string => s[Math.min(s.length - 1, Math.floor(s.length * q))]!.toFixed(1);
      return [...key.split('\t'), `${s.length}`, at(0.5), at(0.99), at(1)];
    });
  }
}

export async function untilLoaded(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query('SELECT status, error FROM mz_internal.mz_source_statuses');
    if (rows[0]?.status === 'stalled') throw new Error(rows[0].error);
    if (rows[0]?.status === 'running') return;
    await sleep(POLL_MS);
  }
}

/** Milliseconds from the first object's installation until all are hydrated on all workers. */
export async function untilHydrated(
  client: pg.Client,
  o: { readonly workers: number; readonly objects: number },
): Promise<number> {
  for (;;) {
    const { rows } = await client.query(
      `SELECT event, count(*)::int4 AS n, min(occurred_at) AS first, max(occurred_at) AS last
       FROM mz_introspection.mz_compute_lifecycle_events_per_worker WHERE export_id LIKE 'u%' GROUP BY event`,
    );
    const of = (event: string) => rows.find((r) => r.event === event);
    const hydrated = of('hydrated');
    if (hydrated?.n === o.objects * o.workers) return +hydrated.last - +of('installed').first;
    await sleep(POLL_MS);
  }
}

/** Until the log has forgotten what was dropped: the next round would take it for its own. */
export async function untilForgotten(client: pg.Client): Promise<void> {
  for (;;) {
    const { rows } = await client.query(
      "SELECT count(*)::int4 AS n FROM mz_introspection.mz_compute_lifecycle_events_per_worker WHERE export_id LIKE 'u%'",
    );
    if (rows[0].n === 0) return;
    await sleep(POLL_MS);
  }
}

export interface BusyOptions {
  readonly durable: boolean;
  readonly rounds: number;
  /** For the server's process. */
  readonly execArgv: readonly string[];
}

export async function runBusy(o: BusyOptions): Promise<void> {
  const workers = 2;
  await using server = await BusyServer.start(o);
  const client = await server.connect('quickstart');
  await client.query(`CREATE CLUSTER busy (SIZE '${workers}', INTROSPECTION INTERVAL '500ms')`);
  await client.query('CREATE CLUSTER empty REPLICAS ()');
  await client.query('SET cluster = busy');
  const probers = new Probers();
  await probers.start(server);
  const delays: string[][] = [];
  const phase = async (name: string): Promise<void> => {
    probers.phase = name;
    await server.loopDelay();
  };
  const endPhase = async (): Promise<void> => {
    const { p50, p99, max } = await server.loopDelay();
    delays.push([probers.phase!, 'event loop', '', p50.toFixed(1), p99.toFixed(1), max.toFixed(1)]);
    probers.phase = null;
  };

  // Code is cold at first.
  await sleep(WARM_MS);
  await phase('idle');
  await sleep(3000);
  await endPhase();
  await phase('load');
  const began = performance.now();
  await client.query(`CREATE SOURCE flights FROM FILE '${FILE}' (FORMAT PARQUET)`);
  await untilLoaded(client);
  const loaded = performance.now() - began;
  await endPhase();
  await phase('hydrate');
  const hydration: number[] = [];
  for (let round = 0; round < o.rounds; round++) {
    for (const [, sql] of OBJECTS) await client.query(sql);
    hydration.push(await untilHydrated(client, { workers, objects: OBJECTS.length }));
    for (const [name] of OBJECTS) await client.query(`DROP ${name}`);
    await untilForgotten(client);
  }
  await endPhase();
  await probers.stop();
  await client.end();

  console.log(
    `Status queries while 3,000,000 flights load and hydrate on ${workers} workers, ${o.durable ? 'data directory' : 'in memory'}; milliseconds`,
  );
  console.log(table(['phase', 'query', 'n', 'p50', 'p99', 'max'], [...probers.rows(), ...delays]));
  const [median] = hydration.toSorted((a, b) => a - b).slice(hydration.length >> 1);
  console.log(
    `\nload ${loaded.toFixed(0)} ms; hydration of an index and ${OBJECTS.length - 1} views: median ${median!.toFixed(0)} ms of ${hydration.map((h) => h.toFixed(0)).join(', ')}`,
  );
  console.log(`target: p99 of lifecycle queries below ${TARGET_MS} ms`);
}
