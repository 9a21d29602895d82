/**
 * What it costs to keep up with the clock: indexes of which nothing is read, over tables to which nothing is written. Each second the time of
 * all tables moves, every dataflow says how far it is, and that is all that happens. Processor time of the server by thread, over `SECONDS`
 * after everything is hydrated; `a dataflow` is what each index adds to the same server without any, in one second.
 */
import type pg from 'pg';
import { BusyServer, sleep, untilHydrated } from './busy.ts';
import { taken, threadTimes } from './cpu.ts';
import { table } from './table.ts';

const SECONDS = 20;
/** Hydration leaves merges, and code that is still being compiled. */
const SETTLE_MS = 5000;
const ROWS = 100;

interface Shape {
  readonly indexes: number;
  readonly tables: number;
}

const SHAPES: readonly Shape[] = [
  { indexes: 0, tables: 1 },
  { indexes: 50, tables: 1 },
  { indexes: 200, tables: 1 },
  { indexes: 500, tables: 1 },
  { indexes: 200, tables: 10 },
  { indexes: 0, tables: 200 },
  { indexes: 200, tables: 200 },
];

export async function runIdle(o: {
  readonly durable: boolean;
  readonly workers: number;
  readonly shape: string | undefined;
  readonly execArgv: readonly string[];
}): Promise<void> {
  const rows: string[][] = [];
  const base = new Map<number, number>();
  const [indexes, tables = 1] = o.shape?.split(':').map(Number) ?? [];
  for (const shape of indexes === undefined ? SHAPES : [{ indexes, tables }]) {
    const of = await measure(shape, o);
    const all = of.values().reduce((x, y) => x + y, 0);
    if (shape.indexes === 0) base.set(shape.tables, all);
    const without = base.get(shape.tables) ?? base.get(1);
    const each =
      shape.indexes > 0 && without !== undefined ? ((1000 * (all - without)) / shape.indexes).toFixed(0) : '';
    const ms = (role: string): string => (of.get(role) ?? 0).toFixed(1);
    rows.push([
      `${shape.indexes} indexes`,
      `${shape.tables} tables`,
      all.toFixed(1),
      ms('environment'),
      ms('workers'),
      ms('system worker'),
      ms('V8'),
      ms('other'),
      each,
    ]);
    console.log(rows.at(-1)!.join('  '));
  }
  const head = [
    'ms of a processor a second',
    '',
    'all',
    'environment',
    'workers',
    'system worker',
    'V8',
    'other',
  ];
  console.log(table([...head, 'µs a dataflow'], rows));
}

/** Milliseconds of processor time a second, by thread. */
async function measure(
  shape: Shape,
  o: { readonly durable: boolean; readonly workers: number; readonly execArgv: readonly string[] },
): Promise<ReadonlyMap<string, number>> {
  await using server = await BusyServer.start(o);
  const client = await server.connect('quickstart');
  const early = new Set(threadTimes(server.pid).keys());
  await client.query('ALTER SYSTEM SET compute_hydration_concurrency = 200');
  await client.query(`CREATE CLUSTER idle (SIZE '${o.workers}')`);
  await client.query('DROP CLUSTER quickstart CASCADE');
  await client.query('SET cluster = idle');
  await create(client, shape);
  if (shape.indexes > 0) await untilHydrated(client, { workers: o.workers, objects: shape.indexes });
  await client.end();
  await sleep(SETTLE_MS);
  const before = threadTimes(server.pid);
  const began = performance.now();
  await sleep(SECONDS * 1000);
  const after = threadTimes(server.pid);
  const seconds = (performance.now() - began) / 1000;
  const roleOf = (tid: number, name: string): string => {
    if (name === 'MainThread') return 'environment';
    if (name.startsWith('worker ')) return early.has(tid) ? 'system worker' : 'workers';
    return name.startsWith('V8') ? 'V8' : 'other';
  };
  return new Map([...taken(before, after, roleOf)].map(([role, ms]) => [role, ms / seconds]));
}

async function create(client: pg.Client, { indexes, tables }: Shape): Promise<void> {
  for (let i = 0; i < tables; i++) {
    await client.query(`CREATE TABLE t${i} (a int, b int)`);
    await client.query(`INSERT INTO t${i} SELECT x, x % 10 FROM generate_series(1, ${ROWS}) AS x`);
  }
  for (let i = 0; i < indexes; i++) {
    await client.query(
      `CREATE VIEW v${i} AS SELECT b, count(*) AS n FROM t${i % tables} WHERE a > ${i} GROUP BY b`,
    );
    await client.query(`CREATE INDEX i${i} ON v${i} (b)`);
  }
}
