/**
 * What the wire itself costs: node-postgres against canned statements in another process. Run with
 * `node src/host/pg-server.bench.ts`; the goal is a point read under 1 ms (p50) and 5,000 a second on one pool.
 * 2026-11-29, two busy cores: p50 0.05 ms, 5,000 to 8,000 a second (node-postgres is the limit: pgbench with four
 * clients gets 23,700 prepared statements a second from the same server), 300,000 rows in 1.4 s.
 */
import { fork } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import pg from 'pg';
import { silentLogger } from '../base/clock.ts';
import { CannedBackend } from '../pgwire/canned-backend.fixture.ts';
import { listenPg } from './pg-server.ts';

const WARM_UP = 500;
const SERIAL = 2_000;
const CLIENTS = 8;
const ROWS = 300_000;

async function serve(): Promise<void> {
  const server = await listenPg({
    host: '127.0.0.1',
    port: 0,
    backend: new CannedBackend(),
    auth: { kind: 'trust' },
    logger: silentLogger,
  });
  process.send?.(server.port);
  process.once('disconnect', () => void server.close());
}

async function measure(): Promise<void> {
  const child = fork(fileURLToPath(import.meta.url), ['serve']);
  const port = await new Promise<number>((resolve) =>
    child.once('message', (value) => resolve(Number(value))),
  );
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'bench', max: CLIENTS });
  const read = () => pool.query({ name: 'echo', text: 'echo $1', values: ['x'] });
  for (let i = 0; i < WARM_UP; i++) await read();
  const latencies: number[] = [];
  for (let i = 0; i < SERIAL; i++) {
    const from = performance.now();
    await read();
    latencies.push(performance.now() - from);
  }
  latencies.sort((a, b) => a - b);
  const quantile = (q: number) => latencies[Math.floor(SERIAL * q)].toFixed(3);
  console.log(`point read   p50 ${quantile(0.5)} ms, p99 ${quantile(0.99)} ms`);
  let from = performance.now();
  const clients = Array.from({ length: CLIENTS }, async () => {
    for (let i = 0; i < SERIAL; i++) await read();
  });
  await Promise.all(clients);
  const perSecond = (CLIENTS * SERIAL * 1000) / (performance.now() - from);
  console.log(`${CLIENTS} clients    ${Math.round(perSecond)} statements/s`);
  from = performance.now();
  await pool.query(`rows ${ROWS}`);
  console.log(`${ROWS} rows  ${Math.round(performance.now() - from)} ms`);
  await pool.end();
  child.disconnect();
}

await (process.argv[2] === 'serve' ? serve() : measure());
