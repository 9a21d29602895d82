/** After a restart: everything that was promised, asked of the server and of its directory. */
import assert from 'node:assert/strict';
import { DURABLE_BUILTIN_SHARDS } from '../../../packages/tidemark/src/adapter/builtin-tables.ts';
import type { DdlWriter } from './ddl-writer.ts';
import { inspectDisk } from './disk.ts';
import { sleep } from './random.ts';
import { Client, isAnswer, type ServerProcess } from './server-process.ts';
import { INDEXED, MAINTAINED } from './views.ts';
import { booksOf, TABLES, type Writer } from './writer.ts';

/** How long a start may leave behind what a crash orphaned. */
const ORPHANS_MS = 60_000;

export interface Verified {
  readonly writers: readonly Writer[];
  readonly ddl: DdlWriter;
  /** Materialized views that stand, by name. */
  readonly views: ReadonlySet<string>;
}

export async function verify(server: ServerProcess, port: number, world: Verified): Promise<void> {
  const client = new Client(port);
  try {
    await client.query("SET statement_timeout = '240s'");
    const ids = await checkObjects(client, world);
    await checkTables(client, world.writers);
    await checkViews(client, world.views);
    for (const sql of world.ddl.reads) await client.query(sql);
    await checkDisk(server.dataDir, ids);
  } finally {
    await client.end();
  }
  assert.deepEqual(server.faults, [], 'the log tells of no fault');
}

/** Gives the ids of all objects of users. */
async function checkObjects(client: Client, { ddl }: Verified): Promise<ReadonlySet<string>> {
  const { rows } = await client.query("SELECT id, name, type FROM mz_objects WHERE id LIKE 'u%'");
  ddl.reconcile(new Map(rows.map(([, name, kind]) => [name!, kind!])));
  return new Set(rows.map(([id]) => id!));
}

async function checkTables(client: Client, writers: readonly Writer[]): Promise<void> {
  await client.query('SET cluster = judge');
  const tables = new Map<string, string[][]>();
  for (const t of TABLES) tables.set(t, (await client.query(`SELECT owner, id, v, n, s FROM ${t}`)).rows);
  const books = booksOf(tables);
  for (const w of writers) w.reconcile(books.get(w.owner) ?? new Map());
}

/** Rows in an order of their own, or the error that stands for them. */
async function contents(client: Client, sql: string): Promise<readonly string[]> {
  try {
    return (await client.query(sql)).rows.map((r) => JSON.stringify(r)).sort();
  } catch (e) {
    if (!isAnswer(e) || e.code !== '22012') throw e;
    return [`${e.code} ${e.message}`];
  }
}

async function checkViews(client: Client, views: ReadonlySet<string>): Promise<void> {
  for (const v of MAINTAINED)
    if (views.has(v.name))
      equalRows(
        await contents(client, `SELECT * FROM ${v.name}`),
        await contents(client, v.recompute),
        v.name,
      );
  for (const i of INDEXED) {
    await client.query('SET cluster = judge');
    const want = await contents(client, i.recompute);
    await client.query(`SET cluster = ${i.cluster}`);
    equalRows(await contents(client, i.read), want, `${i.read} on ${i.cluster}`);
  }
}

function equalRows(found: readonly string[], want: readonly string[], what: string): void {
  if (found.length === want.length && found.every((r, i) => r === want[i])) return;
  const [f, w] = [new Set(found), new Set(want)];
  const missing = want.filter((r) => !f.has(r));
  const extra = found.filter((r) => !w.has(r));
  assert.fail(
    `${what} is not its recomputation: ${found.length} rows, not ${want.length}; ` +
      `${missing.length} missing, e.g. ${missing[0]}; ${extra.length} extra, e.g. ${extra[0]}`,
  );
}

/** No shard without an object, no part without a shard that names it. */
export async function checkDisk(dataDir: string, objectIds: ReadonlySet<string>): Promise<void> {
  const deadline = Date.now() + ORPHANS_MS;
  for (;;) {
    const { shards, orphans } = await inspectDisk(dataDir);
    const strays = [...shards.keys()].filter(
      (s) => s !== 'catalog' && !DURABLE_BUILTIN_SHARDS.has(s) && !objectIds.has(s.split('-')[0]!),
    );
    if (orphans.length === 0 && strays.length === 0) return;
    if (Date.now() > deadline)
      assert.fail(
        `parts that no state names: ${orphans.join(', ')}; shards without object: ${strays.join(', ')}`,
      );
    await sleep(100);
  }
}
