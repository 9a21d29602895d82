/** How much of its past the catalog's shard keeps, in the simulator. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

const HISTORY_MS = 5000;

async function churn(t: TestEnvironment, times: number): Promise<void> {
  for (let i = 0; i < times; i++) await t.exec(`CREATE TABLE gone${i} (a int); DROP TABLE gone${i}`);
}

async function rows(t: TestEnvironment): Promise<number> {
  await t.settle(t.env.catalogShard.maintain());
  return t.env.catalogShard.info().rows;
}

test('the since of the catalog follows the clock, over restarts too, and what is gone leaves no rows', async () => {
  const t = await openTest({ catalogHistoryMs: HISTORY_MS });
  await t.exec('CREATE TABLE kept (a int)');
  await churn(t, 100);
  await t.advance(2 * HISTORY_MS);
  const { since, upper } = t.env.catalogShard;
  assert.ok(since < upper - HISTORY_MS && since > upper - 2 * HISTORY_MS, `${upper - since} ms of history`);
  await t.restart();
  assert.ok(t.env.catalogShard.since >= since);
  await t.advance(2 * HISTORY_MS);
  assert.ok(t.env.catalogShard.since > since + HISTORY_MS);
  assert.deepEqual(await t.query("SELECT name FROM mz_tables WHERE name LIKE 'gone%' OR name = 'kept'"), [
    { name: 'kept' },
  ]);
  await t.close();
});

test('many objects made and dropped do not make the catalog longer', async () => {
  const t = await openTest({ catalogHistoryMs: HISTORY_MS });
  await churn(t, 3);
  const least = 4 * 64 * 3;
  let most = 0;
  for (let round = 0; round < 4; round++) {
    await churn(t, 200);
    await t.advance(2 * HISTORY_MS);
    most = Math.max(most, await rows(t));
  }
  assert.ok(most < 1600 + least, `${most} rows are left of 3,200`);
  await t.close();
});

test('a process that stands by and does not read holds the history that it has not seen', async () => {
  const leader = await openTest({ catalogHistoryMs: HISTORY_MS });
  await leader.exec('CREATE TABLE t (a int)');
  const candidate = await leader.standby({ catalogHistoryMs: HISTORY_MS });
  await candidate.caughtUp();
  const go = candidate.stop();
  const { upper } = leader.env.catalogShard;
  await churn(leader, 3);
  await leader.exec('CREATE TABLE late (a int)');
  await leader.advance(4 * HISTORY_MS);
  assert.ok(leader.env.catalogShard.since < upper, 'it is held');
  go();
  await candidate.caughtUp();
  assert.ok(candidate.id('late') === leader.id('late'));
  await leader.advance(3 * HISTORY_MS);
  await leader.settle(leader.env.catalogShard.refresh());
  assert.ok(leader.env.catalogShard.since > upper, 'it moves on once that was read');
  await candidate.promote();
  await leader.close();
  await candidate.exec('DROP TABLE late');
  const before = candidate.env.catalogShard.since;
  await candidate.advance(2 * HISTORY_MS);
  assert.ok(candidate.env.catalogShard.since > before, 'the next leader moves it');
  await candidate.close();
});
