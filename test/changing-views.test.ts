/** docs/changing-views.md is run as it stands. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';

const TEXT = readFileSync(fileURLToPath(new URL('../docs/changing-views.md', import.meta.url)), 'utf8');
const [refreshes, replacement, blueGreen, readiness, swap, metrics] = [
  ...TEXT.matchAll(/^```sql\n(.*?)^```/gms),
].map((m) => m[1]!);

test('schedules, a replacement, blue and green, metrics', async () => {
  const t = await openTest({ workers: 2 });
  const listed = await t.exec(refreshes!);
  assert.deepEqual(listed.map((r) => r['name']).sort(), ['daily', 'hourly', 'snapshot']);
  assert.deepEqual(await t.query('SELECT n FROM hourly'), [{ n: 2n }]);

  const [create, apply] = replacement!.split('-- It hydrates');
  await t.exec(create!);
  await t.advance(2000);
  const after = await t.exec(`--${apply}`);
  assert.deepEqual(after, [{ customer: 7, amount: 100n }]);

  await t.exec(blueGreen!);
  const late = await t.query(readiness!);
  assert.ok(late.length > 0, 'nothing is hydrated in the instant of its creation');
  assert.deepEqual([...new Set(late.map((r) => r['replica']))].sort(), ['r1', 'r2']);
  await t.advance(3000);
  assert.deepEqual(await t.query(readiness!), []);
  const [shown] = swap!.split('DROP SCHEMA');
  assert.deepEqual(await t.exec(shown!), [{ customer: 7, amount: 100 }]);
  await t.exec(`DROP SCHEMA${swap!.split('DROP SCHEMA')[1]}`);

  await t.exec(metrics!);
  await t.advance(5000);
  assert.deepEqual(
    (await t.exec(metrics!.split('INTO METRICS;')[1]!)).map((r) => r['value']),
    [1, 1],
  );
  await t.exec('DROP TABLE orders CASCADE; DROP SCHEMA prod CASCADE; DROP CLUSTER prod');
  await t.assertNothingLeft();
  await t.close();
});
