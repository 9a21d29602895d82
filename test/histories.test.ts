/** A slice of `npm run histories`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runHistories } from './histories.ts';
import { RandomHistory } from './support/histories/history.ts';
import { STEPS } from './support/histories/steps.ts';

const seed = Number(process.env['SEED'] ?? 1);
const runs = Number(process.env['RUNS'] ?? 10);

test(`random histories from seed ${seed}: whatever happens, every stage is told in order, once, and of what is so`, async () => {
  const { steps, stages } = await runHistories({ seed, runs });
  // A replay of one seed need not go everywhere.
  if (runs < 10) return;
  for (const stage of ['installed', 'started', 'hydrated', 'written']) assert.ok(stages.has(stage), stage);
  assert.ok(steps.size > Object.keys(STEPS).length / 2, `kinds of steps: ${steps.size}`);
});

test('the same seed is the same history', async () => {
  const run = async (): Promise<readonly string[]> => {
    const history = new RandomHistory(5);
    await history.run(STEPS);
    return history.leader.t.trace;
  };
  const first = await run();
  assert.ok(first.length > 500, 'the trace has something to compare');
  assert.deepEqual(await run(), first);
});
