/**
 * What status queries cost, and how long they wait, while orders hydrate on two workers: rounds with ten connections that ask twice a
 * second each, for lifecycles and for the sizes of arrangements in turn, and rounds without, one after the other on the same
 * server. An index and two views (W1, W2 and W3 of the hydration bench) are created, hydrate and are dropped in each round.
 */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { BusyServer, sleep, untilForgotten, untilHydrated, untilLoaded } from './busy.ts';
import { type ThreadTimes, taken, threadTimes } from './cpu.ts';
import { CUSTOMERS, makeOrders, makeRegions, STATUS } from './data.ts';
import { StatusClient } from './status-client.ts';
import { table } from './table.ts';

const CONNECTIONS = 10;
const PERIOD_MS = 500;
const WORKERS = 2;
const WARM_ROUNDS = 1;

const PROBES: Readonly<Record<string, string>> = {
  lifecycle: 'SELECT * FROM mz_introspection.mz_compute_lifecycle_events_per_worker',
  'arrangement sizes': 'SELECT * FROM mz_introspection.mz_arrangement_sizes',
};
const KINDS = Object.keys(PROBES);

const OBJECTS: readonly (readonly [string, string])[] = [
  ['INDEX w1', 'CREATE INDEX w1 ON orders (customer_id)'],
  [
    'MATERIALIZED VIEW w2',
    'CREATE MATERIALIZED VIEW w2 AS SELECT customer_id, count(*) AS n, sum(amount) AS amount FROM orders GROUP BY customer_id',
  ],
  [
    'MATERIALIZED VIEW w3',
    `CREATE MATERIALIZED VIEW w3 AS SELECT c.region, count(*) AS n, sum(o.amount) AS amount
     FROM orders o JOIN customers c ON c.id = o.customer_id GROUP BY c.region`,
  ],
];

async function writeData(directory: string, rows: number): Promise<{ orders: string; customers: string }> {
  const data = makeOrders(rows);
  const [orders, customers] = [join(directory, 'orders.parquet'), join(directory, 'customers.parquet')];
  const write = (
    file: string,
    columnData: Parameters<typeof parquetWriteBuffer>[0]['columnData'],
  ): Promise<void> => writeFile(file, new Uint8Array(parquetWriteBuffer({ columnData })));
  await write(orders, [
    { name: 'id', data: data.id, type: 'INT32' },
    { name: 'customer_id', data: data.customer, type: 'INT32' },
    { name: 'amount', data: data.amount, type: 'INT32' },
    { name: 'status', data: Array.from(data.status, (s) => STATUS[s]!), type: 'STRING' },
  ]);
  await write(customers, [
    { name: 'id', data: Int32Array.from({ length: CUSTOMERS }, (_, i) => i), type: 'INT32' },
    { name: 'region', data: [...makeRegions()], type: 'STRING' },
  ]);
  return { orders, customers };
}

/** Ten connections; they ask while they are on. */
class Askers {
  readonly #samples = new Map<string, number[]>(KINDS.map((k) => [k, []]));
  /** Of the last answer. */
  readonly #rows = new Map<string, number>();
  readonly #clients: StatusClient[] = [];
  #running: Promise<void>[] = [];
  #on = false;

  async connect(server: BusyServer): Promise<void> {
    for (let i = 0; i < CONNECTIONS; i++) this.#clients.push(await StatusClient.connect(server.port, 'busy'));
  }

  start(): void {
    this.#on = true;
    this.#running = this.#clients.map((client, i) => this.#ask(client, i));
  }

  async #ask(client: StatusClient, first: number): Promise<void> {
    // Spread over the period: ten at once would measure each other.
    await sleep((first * PERIOD_MS) / CONNECTIONS);
    for (let i = first; this.#on; i++) {
      const kind = KINDS[i % KINDS.length]!;
      const start = performance.now();
      this.#rows.set(kind, await client.query(PROBES[kind]!));
      const ms = performance.now() - start;
      this.#samples.get(kind)!.push(ms);
      await sleep(Math.max(0, PERIOD_MS - ms));
    }
  }

  get asked(): number {
    return this.#samples.values().reduce((n, list) => n + list.length, 0);
  }

  async stop(): Promise<void> {
    this.#on = false;
    await Promise.all(this.#running);
  }

  forget(): void {
    for (const list of this.#samples.values()) list.length = 0;
  }

  end(): void {
    for (const c of this.#clients) c.end();
  }

  rows(): string[][] {
    return [...this.#samples].map(([kind, list]) => {
      const s = list.toSorted((a, b) => a - b);
      const at = (q: number): string => (s[Math.min(s.length - 1, Math.floor(s.length * q))] ?? 0).toFixed(1);
      return [kind, `${this.#rows.get(kind)} rows`, `${s.length}`, at(0.5), at(0.99), at(1)];
    });
  }
}

/** Processor time by thread during rounds, in milliseconds. */
class Costs {
  readonly #pid: number;
  readonly #busy: ReadonlySet<number>;
  readonly #rounds = { with: [] as Round[], without: [] as Round[] };
  #before: readonly [server: ThreadTimes, clients: ThreadTimes] = [new Map(), new Map()];

  /** `before`: the server's threads before the busy cluster. */
  constructor(pid: number, before: ThreadTimes) {
    this.#pid = pid;
    this.#busy = new Set([...threadTimes(pid).keys()].filter((tid) => !before.has(tid)));
  }

  begin(): void {
    this.#before = [threadTimes(this.#pid), threadTimes(process.pid)];
  }

  end(which: 'with' | 'without', asked: number): void {
    const [server, clients] = this.#before;
    const of = new Map(taken(server, threadTimes(this.#pid), (tid, name) => this.#roleOf(tid, name)));
    for (const ms of taken(clients, threadTimes(process.pid), () => '').values()) of.set('clients', ms);
    this.#rounds[which].push({ asked, of });
  }

  #roleOf(tid: number, name: string): string {
    if (name.startsWith('worker ')) return this.#busy.has(tid) ? 'busy workers' : 'other workers';
    if (name === 'MainThread') return 'environment';
    return name.startsWith('V8') ? 'compiling, collecting' : 'other threads';
  }

  rows(): string[][] {
    const roles = new Set([...this.#rounds.with, ...this.#rounds.without].flatMap((r) => [...r.of.keys()]));
    const asked = median(this.#rounds.with.map((r) => r.asked));
    const row = (name: string, of: (r: Round) => number): string[] => {
      const [a, b] = [median(this.#rounds.with.map(of)), median(this.#rounds.without.map(of))];
      return [name, a.toFixed(0), b.toFixed(0), ((a - b) / asked).toFixed(2)];
    };
    return [
      ...[...roles].map((role) => row(role, (r) => r.of.get(role) ?? 0)),
      row('all', (r) => r.of.values().reduce((x, y) => x + y, 0)),
    ];
  }
}

interface Round {
  readonly asked: number;
  readonly of: ReadonlyMap<string, number>;
}

const median = (list: readonly number[]): number => list.toSorted((a, b) => a - b)[list.length >> 1]!;

/** Mean of the rounds' ratios and its standard error: medians of either side alone jump, for rounds are fast or slow in runs of several. */
function speed(hydration: { readonly with: readonly number[]; readonly without: readonly number[] }): string {
  const ratios = hydration.with.map((ms, i) => (100 * hydration.without[i]!) / ms);
  const mean = ratios.reduce((x, y) => x + y, 0) / ratios.length;
  const variance = ratios.reduce((x, y) => x + (y - mean) ** 2, 0) / (ratios.length - 1);
  return `${mean.toFixed(1)} ± ${Math.sqrt(variance / ratios.length).toFixed(1)} %`;
}

export async function runPaired(o: {
  readonly rows: number;
  readonly rounds: number;
  readonly execArgv: readonly string[];
}): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'tidemark-paired-'));
  try {
    const files = await writeData(directory, o.rows);
    await using server = await BusyServer.start({ durable: false, execArgv: o.execArgv });
    const client = await server.connect('quickstart');
    const idle = threadTimes(server.pid);
    await client.query(`CREATE CLUSTER busy (SIZE '${WORKERS}')`);
    await client.query('SET cluster = busy');
    for (const [name, file] of Object.entries(files)) {
      await client.query(`CREATE SOURCE ${name} FROM FILE '${file}' (FORMAT PARQUET)`);
      await untilLoaded(client);
    }
    const askers = new Askers();
    await askers.connect(server);
    const costs = new Costs(server.pid, idle);
    const hydration = { with: [] as number[], without: [] as number[] };
    for (let round = -WARM_ROUNDS; round < o.rounds; round++) {
      // What comes first in a round is warmer than what comes second is cold: they take turns.
      const order = round % 2 === 0 ? (['with', 'without'] as const) : (['without', 'with'] as const);
      for (const which of order) {
        const { asked } = askers;
        costs.begin();
        if (which === 'with') askers.start();
        for (const [, sql] of OBJECTS) await client.query(sql);
        const ms = await untilHydrated(client, { workers: WORKERS, objects: OBJECTS.length });
        if (round >= 0) costs.end(which, askers.asked - asked);
        if (which === 'with') await askers.stop();
        if (round >= 0) hydration[which].push(ms);
        for (const [name] of OBJECTS) await client.query(`DROP ${name}`);
        await untilForgotten(client);
      }
      if (round < 0) askers.forget();
    }
    askers.end();
    await client.end();
    console.log(
      `Status queries while ${o.rows} orders hydrate on ${WORKERS} workers, in memory; milliseconds`,
    );
    console.log(table(['query', 'answer', 'n', 'p50', 'p99', 'max'], askers.rows()));
    console.log(`\n${table(['processor time', 'with', 'without', 'a query'], costs.rows())}`);
    const times = (list: readonly number[]): string =>
      `${median(list).toFixed(0)} ms (${list.map((h) => h.toFixed(0)).join(', ')})`;
    console.log(
      `\nhydration with queries ${times(hydration.with)}, without ${times(hydration.without)}: ${speed(hydration)} as fast`,
    );
    console.log('targets: p99 below 100 ms, hydration at least 95 % as fast');
  } finally {
    await rm(directory, { recursive: true });
  }
}
