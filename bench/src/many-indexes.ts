/**
 * A thousand indexes on one cluster of two workers: until all are hydrated; what the log of it all holds right then, next to the rows
 * that live in it; how long each relation about them takes to answer, and the rollups over many runs.
 *
 * 2026-11-29, two cores that others use as well: right after the burst the log holds 13 MB (235,000 records), the views kept over it 3 MB
 * (34,000 records, 11,000 rows). It was 305 MB and 1.36 GB (14.6 million records) while a join by worker alone stood below them, merges
 * were paid for by the row and not by what a row costs, and nothing was merged again when since had passed.
 */
import type pg from 'pg';
import { BusyServer, untilHydrated } from './busy.ts';
import { table } from './table.ts';

const WORKERS = 2;
const RUNS = 20;
const ROWS = 1000;
/** Slower than this, a relation is shown. */
const SHOWN_MS = 100;

const ROLLUPS: readonly string[] = [
  'mz_internal.mz_cluster_replica_hydration',
  'mz_internal.mz_compute_hydration_timestamps',
  'mz_internal.mz_hydration_blockers',
];

export async function runManyIndexes(o: {
  readonly indexes: number;
  readonly execArgv: readonly string[];
}): Promise<void> {
  await using server = await BusyServer.start({ durable: false, execArgv: o.execArgv });
  const client = await server.connect('quickstart');
  // Four at a time wait for one another while each commit makes all that is hydrated take a step: ten a second.
  await client.query('ALTER SYSTEM SET compute_hydration_concurrency = 200');
  // With debugging the log tells about itself.
  await client.query(`CREATE CLUSTER many (SIZE '${WORKERS}', INTROSPECTION DEBUGGING)`);
  await client.query('SET cluster = many');
  await client.query('CREATE TABLE t (a int, b int)');
  await client.query(`INSERT INTO t SELECT x, x % 10 FROM generate_series(1, ${ROWS}) AS x`);
  const began = performance.now();
  for (let i = 0; i < o.indexes; i++) {
    await client.query(`CREATE VIEW v${i} AS SELECT b, count(*) AS n FROM t WHERE a > ${i} GROUP BY b`);
    await client.query(`CREATE INDEX i${i} ON v${i} (b)`);
  }
  const created = performance.now() - began;
  await untilHydrated(client, { workers: WORKERS, objects: o.indexes });
  console.log(
    `${o.indexes} views with an index each on ${WORKERS} workers, created in ${created.toFixed(0)} ms, hydrated after ${(performance.now() - began).toFixed(0)} ms`,
  );
  await showHeld(client);

  const timed = async (sql: string): Promise<{ ms: number; rows: number }> => {
    const start = performance.now();
    const { rows } = await client.query(sql);
    return { ms: performance.now() - start, rows: Number(rows[0].n) };
  };
  const { rows: relations } = await client.query(`
    SELECT s.name || '.' || r.name AS name FROM mz_catalog.mz_relations r JOIN mz_catalog.mz_schemas s ON s.id = r.schema_id
    WHERE s.name IN ('mz_introspection', 'mz_internal') ORDER BY 1`);
  const slow: string[][] = [];
  for (const { name } of relations) {
    const first = await timed(`SELECT count(*) AS n FROM ${name}`);
    const again = await timed(`SELECT count(*) AS n FROM ${name}`);
    if (again.ms >= SHOWN_MS)
      slow.push([name, '', `${again.rows}`, first.ms.toFixed(1), again.ms.toFixed(1)]);
  }
  console.log(`${relations.length} relations answer, these slower than ${SHOWN_MS} ms`);
  console.log(table(['relation', '', 'rows', 'first ms', 'again ms'], slow));

  const rollups: string[][] = [];
  for (const name of ROLLUPS) {
    const times: number[] = [];
    let rows = 0;
    for (let i = 0; i < RUNS; i++) {
      const start = performance.now();
      rows = (await client.query(`SELECT * FROM ${name}`)).rows.length;
      times.push(performance.now() - start);
    }
    times.sort((a, b) => a - b);
    rollups.push([name, '', `${rows}`, times[RUNS >> 1]!.toFixed(1), times.at(-1)!.toFixed(1)]);
  }
  console.log(table(['rollup', '', 'rows', 'p50', 'max'], rollups));
  await client.end();
}

/** What the log's arrangements and those of the indexed views over it hold, and how many rows live in what they index. */
async function showHeld(client: pg.Client): Promise<void> {
  const { rows: held } = await client.query(`
    SELECT CASE WHEN name = 'Introspection' THEN 'log' ELSE 'indexed views' END AS name, sum(size) AS bytes, sum(records) AS records
    FROM mz_introspection.mz_records_per_dataflow WHERE name = 'Introspection' OR name LIKE 'index mz_%' GROUP BY 1 ORDER BY 1`);
  const { rows: relations } = await client.query(`
    SELECT r.name, r.type FROM mz_catalog.mz_indexes i JOIN mz_catalog.mz_clusters c ON c.id = i.cluster_id AND c.name = 'many'
    JOIN mz_catalog.mz_relations r ON r.id = i.on_id WHERE i.id LIKE 'si%'`);
  const live = { log: 0, 'indexed views': 0 };
  for (const { name, type } of relations) {
    const { rows } = await client.query(
      `SELECT count(*) AS n FROM (SELECT DISTINCT * FROM mz_introspection.${name}) AS d`,
    );
    live[type === 'view' ? 'indexed views' : 'log'] += Number(rows[0].n);
  }
  for (const h of held)
    console.log(
      `${h.name}: ${(Number(h.bytes) / 1e6).toFixed(1)} MB, ${h.records} records held, ${live[h.name as keyof typeof live]} rows live`,
    );
}
