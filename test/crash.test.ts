/** A slice of `npm run crash`: a few rounds of kill -9, and a thousand small inserts. */
import { test } from 'node:test';
import { runCrashRounds } from './crash.ts';

const seed = Number(process.env['SEED'] ?? 1);
const rounds = Number(process.env['RUNS'] ?? 3);

test(`kill -9 at random moments, seed ${seed}: nothing acknowledged is lost, nothing is half there`, async () => {
  await runCrashRounds({ seed, rounds, keep: false });
});
