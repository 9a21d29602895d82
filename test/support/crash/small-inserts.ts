/** Many inserts of a row each, and a kill: the disk keeps to a multiple of what it holds. */
import assert from 'node:assert/strict';
import { bytesUnder } from './disk.ts';
import { type Random, sleep } from './random.ts';
import { Client, isAnswer } from './server-process.ts';
import { checkDisk } from './verify.ts';
import type { World } from './world.ts';

const CLIENTS = 48;
/** How long upkeep may take after the restart. */
const UPKEEP_MS = 60_000;

export interface SmallInserts {
  readonly acknowledged: number;
  readonly liveBytes: number;
  readonly diskBytes: number;
  readonly perSecond: number;
}

/** On a world of its own. Its tables are there, and empty. */
export async function smallInserts(world: World, rows: number): Promise<SmallInserts> {
  const startedMs = Date.now();
  let [next, acknowledged] = [0, 0];
  const insert = async (random: Random): Promise<void> => {
    const client = await new Client(world.port).connected();
    try {
      while (acknowledged < rows) {
        const text = Array.from({ length: 12 }, () => random.below(2 ** 31).toString(16)).join('');
        await client.query(`INSERT INTO a VALUES (0, ${next++}, 1, 1, '${text}')`);
        acknowledged++;
      }
    } catch (e) {
      if (isAnswer(e)) throw e;
    }
  };
  const inserting = Array.from({ length: CLIENTS }, () => insert(world.random.fork()));
  await Promise.race(inserting);
  const perSecond = Math.round((1000 * acknowledged) / (Date.now() - startedMs));
  await world.server.kill();
  await Promise.all(inserting);
  await world.start();
  const read = 'SELECT count(*), count(DISTINCT id), sum(16 + octet_length(s)) FROM a';
  const [row] = (await world.withClient((c) => c.query(read))).rows;
  const [count, distinct, liveBytes] = row!.map(Number) as [number, number, number];
  assert.equal(count, distinct, 'no row is there twice');
  assert.ok(
    count >= acknowledged && count <= next,
    `${count} rows of ${acknowledged} acknowledged, ${next} sent`,
  );
  const { rows: objects } = await world.withClient((c) =>
    c.query("SELECT id FROM mz_objects WHERE id LIKE 'u%'"),
  );
  await checkDisk(world.dataDir, new Set(objects.map(([id]) => id!)));
  const deadline = Date.now() + UPKEEP_MS;
  let diskBytes = await bytesUnder(world.dataDir);
  while (diskBytes > 3 * liveBytes && Date.now() < deadline) {
    await sleep(200);
    diskBytes = await bytesUnder(world.dataDir);
  }
  assert.ok(diskBytes <= 3 * liveBytes, `${diskBytes} bytes on disk for ${liveBytes} of data`);
  return { acknowledged, liveBytes, diskBytes, perSecond };
}
