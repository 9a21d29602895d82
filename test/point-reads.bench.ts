/**
 * Point reads on an index over the wire, workers on threads: latency of one client and reads a second of a pool. Clients run in the same
 * process, so that the figures are a lower bound.
 *
 *     node test/point-reads.bench.ts [inline|threads]
 */
import pg from 'pg';
import { connection, openWireDatabase } from './support/wire-database.ts';

const ROWS = 100_000;
const POOL = 16;
const workers = process.argv[2] === 'inline' ? 'inline' : 'threads';

const db = await openWireDatabase({ workers });
const c = await db.client();
await c.query('create table t (id int not null, name text, n numeric(10,2))');
await c.query(`insert into t select g, 'name ' || g, g / 7.0 from generate_series(1, ${ROWS}) g`);
await c.query('create index t_id on t (id)');
await c.query('select count(*) from t where id = 1');

const random = (): number => 1 + Math.floor(Math.random() * ROWS);
const point = (client: pg.Client | pg.Pool, named: boolean): Promise<pg.QueryResult> =>
  client.query({
    ...(named && { name: 'point' }),
    text: 'select * from t where id = $1',
    values: [random()],
  });

async function latency(what: string, n: number, run: () => Promise<unknown>): Promise<void> {
  for (let i = 0; i < n / 10; i++) await run();
  const times: number[] = [];
  for (let i = 0; i < n; i++) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (q: number): string => times[Math.floor(q * n)]!.toFixed(3);
  console.log(`${what.padEnd(28)} p50 ${at(0.5)} ms  p99 ${at(0.99)} ms`);
}

await latency('select 1', 2000, () => c.query('select 1'));
await latency('point read, named', 4000, () => point(c, true));
await latency('point read, unnamed', 4000, () => point(c, false));
await latency('point read, simple', 4000, () => c.query(`select * from t where id = ${random()}`));

const pool = new pg.Pool({ ...connection(db.port), max: POOL });
const total = 20_000;
let left = total;
const start = performance.now();
await Promise.all(
  Array.from({ length: POOL }, async () => {
    while (left-- > 0) await point(pool as unknown as pg.Client, true);
  }),
);
const seconds = (performance.now() - start) / 1000;
console.log(`${'a pool of 16, named'.padEnd(28)} ${Math.round(total / seconds)} reads/s`);
await pool.end();
await db.close();
