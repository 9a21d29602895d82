/**
 * Two replicas of one cluster write the same views into the same shards: whoever is first wins, the other corrects itself. Workers
 * stand still at random, replicas crash, permission comes at different times. The views say what the tables say, at
 * every commit that is looked at.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SeededRandom } from '../packages/tidemark/src/testkit/random.ts';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';
import { complaintLog } from './support/watched.ts';

const SEED = Number(process.env['SEED'] ?? 1);
const RUNS = Number(process.env['RUNS'] ?? 5);

for (let seed = SEED; seed < SEED + RUNS; seed++)
  test(`two replicas race (SEED=${seed} RUNS=1)`, async () => {
    const { complaints, logger } = complaintLog();
    const t = await openTest({
      seed,
      workers: 2,
      logger,
    });
    const r = new SeededRandom(seed);
    const second = t.addReplica(1 + r.below(3));
    await t.exec('CREATE TABLE t (a int, b int)');
    await t.exec('CREATE MATERIALIZED VIEW rows AS SELECT a, b FROM t');
    await t.exec('CREATE MATERIALIZED VIEW sums AS SELECT a, sum(b) AS s FROM rows GROUP BY a');
    await t.exec('CREATE MATERIALIZED VIEW errors AS SELECT 10 / b AS q FROM t WHERE a = 0');
    const holds: (() => void)[] = [];
    let appends = 0;
    for (let i = 0; i < 30; i++) {
      switch (r.below(8)) {
        case 0:
          holds.push(t.stallWorker(r.below(2), 'quickstart', r.below(2) === 0 ? second : t.replicaOf().id));
          break;
        case 1:
          for (const release of holds.splice(0)) release();
          break;
        case 2:
          await t.advance(r.below(700));
          break;
        case 3:
          if (r.below(3) === 0) await t.crash();
          break;
        default:
          await t.exec(
            `INSERT INTO t VALUES (${r.below(4)}, ${r.below(5)}), (${r.below(4)}, ${1 + r.below(5)})`,
          );
          appends++;
      }
      if (r.below(4) > 0 || holds.length > 0) continue;
      // Read as of one moment, from shards: by whichever replica is asked.
      const read = async (sql: string): Promise<string[]> => {
        await t.connected();
        const rows = await t.query(sql);
        return rows.map((row) => Object.values(row).map(String).join(' ')).sort();
      };
      assert.deepEqual(await read('SELECT a, b FROM rows'), await read('SELECT a, b FROM t'));
      assert.deepEqual(await read('SELECT a, s FROM sums'), await read('SELECT a, sum(b) FROM t GROUP BY a'));
      const zero = (await read('SELECT 1 FROM t WHERE a = 0 AND b = 0')).length > 0;
      if (zero) assert.equal((await t.failure('SELECT q FROM errors')).sqlstate, '22012');
      else
        assert.deepEqual(await read('SELECT q FROM errors'), await read('SELECT 10 / b FROM t WHERE a = 0'));
    }
    assert.ok(appends > 5);
    assert.deepEqual(complaints, []);
    for (const release of holds) release();
    await t.exec('DROP TABLE t CASCADE');
    await t.advance(2000);
    assert.deepEqual(await t.orphans(), []);
    await t.close();
  });
