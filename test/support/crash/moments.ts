/** When the server is killed: each moment sets something going, and comes back when the kill is due. */

import assert from 'node:assert/strict';
import { DURABLE_BUILTIN_SHARDS } from '../../../packages/tidemark/src/adapter/builtin-tables.ts';
import { inspectDisk } from './disk.ts';
import { sleep } from './random.ts';
import { Client, ServerProcess } from './server-process.ts';
import { MAINTAINED } from './views.ts';
import { LARGE_FILE, type World } from './world.ts';

/** Ends with the server killed and a new one listening. */
type Moment = (world: World) => Promise<void>;

export const MOMENTS: Readonly<Record<string, Moment>> = {
  'during inserts': (w) =>
    whileWriting(w, async () => {
      await sleep(w.random.between(100, 1500));
      return {};
    }),

  'during DDL': (w) =>
    whileWriting(w, async () => {
      const client = await new Client(w.port).connected();
      const run = w.ddl.run(client, () => false);
      await sleep(w.random.between(50, 1500));
      return { also: run };
    }),

  'during the first write of a materialized view': (w) =>
    whileWriting(w, async () => {
      await dropViews(w);
      const created = w.createViews();
      created.catch(() => undefined);
      await sleep(w.random.between(10, 400));
      return { also: created.catch(() => undefined) };
    }),

  'during the load of a source': async (w) => {
    const client = new Client(w.port);
    await client.query('DROP SOURCE IF EXISTS large CASCADE');
    const created = client.query(`CREATE SOURCE large FROM FILE '${LARGE_FILE}'`).catch(() => undefined);
    await sleep(w.random.between(50, 1500));
    await crash(w);
    await created;
    await w.start();
    const { rows } = await w.withClient((c) => c.query("SELECT name FROM mz_sources WHERE name = 'large'"));
    if (rows.length === 0) return;
    const count = await w.withClient((c) => c.query('SELECT count(*) FROM large'));
    assert.equal(count.rows[0]![0], '200000', 'a load that was cut short is made again, whole');
  },

  'right after the start': async (w) => {
    const before = await settled(w);
    for (let n = w.random.between(1, 3); n > 0; n--) {
      w.spawn();
      await sleep(w.random.between(0, 900));
      await w.server.kill();
    }
    await w.start();
    await resumed(w, before);
  },

  'during hydration': async (w) => {
    const before = await settled(w);
    for (let n = w.random.between(1, 2); n > 0; n--) {
      await w.start();
      await sleep(w.random.between(0, 400));
      await w.server.kill();
    }
    await w.start();
    await resumed(w, before);
  },
};

/** Writers write, something else happens, and everything ends in the middle. */
async function whileWriting(
  w: World,
  act: () => Promise<{ readonly also?: Promise<unknown> }>,
): Promise<void> {
  let over = false;
  const clients = await Promise.all(w.writers.map(() => new Client(w.port).connected()));
  const writing = w.writers.map((writer, i) => writer.run(clients[i]!, () => over));
  // An answer that says something went wrong is told when all are done.
  for (const p of writing) p.catch(() => undefined);
  const { also } = await act();
  if (w.random.chance(20)) await refusesSecond(w);
  await crash(w);
  over = true;
  await Promise.all(writing);
  await also;
  await w.start();
}

async function crash(w: World): Promise<void> {
  assert.deepEqual(w.server.faults, [], 'the log tells of no fault');
  await w.server.kill();
}

async function dropViews(w: World): Promise<void> {
  const doomed = MAINTAINED.filter((v) => w.views.has(v.name) && w.random.chance(40));
  await w.withClient(async (c) => {
    for (const v of [...doomed].reverse()) {
      await c.query(`DROP MATERIALIZED VIEW IF EXISTS ${v.name} CASCADE`);
      w.views.delete(v.name);
      // Built over it, and gone with it.
      if (v.name === 'totals') w.views.delete('sizes');
    }
  });
}

/** A second server on the directory ends at once, and says who has it. */
async function refusesSecond(w: World): Promise<void> {
  const second = new ServerProcess(w.dataDir);
  assert.equal(await second.ready(), null, 'a second server does not come up');
  assert.notEqual(await second.exit(), 0);
  const said = second.log + second.output;
  assert.match(said, new RegExp(`in use by process ${w.server.pid} on `), 'it names the holder');
}

/** Batches with updates end here, shard by shard. */
type Uppers = ReadonlyMap<string, number>;

/** Kills a server at rest; gives where its shards stand. */
async function settled(w: World): Promise<Uppers> {
  await crash(w);
  const { shards } = await inspectDisk(w.dataDir);
  return new Map([...shards].map(([id, s]) => [id, s.upper]));
}

/** Nobody wrote: views go on from their shard, and have nothing to say. */
async function resumed(w: World, before: Uppers): Promise<void> {
  await w.verify();
  const { shards } = await inspectDisk(w.dataDir);
  for (const [id, upper] of before) {
    // A catalog and a history get what happens; a source that was not loaded yet, its load.
    if (id === 'catalog' || DURABLE_BUILTIN_SHARDS.has(id) || upper === 0) continue;
    const s = shards.get(id);
    assert.ok(s !== undefined, `shard ${id} is still there`);
    assert.ok(s.upper > upper, `shard ${id} goes on after ${upper}`);
    const last = s.batches.at(-1);
    assert.ok(last === undefined || last.upper <= upper, `shard ${id} got no updates after the start`);
  }
}
