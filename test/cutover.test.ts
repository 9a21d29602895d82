/** A slice of `npm run cutover`: two real processes, one takes over from the other under load, twice. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCutovers } from './cutover.ts';

const seed = Number(process.env['SEED'] ?? 1);
const rounds = Number(process.env['RUNS'] ?? 2);

test(`cut-over between processes under load, seed ${seed}: no acknowledged write is lost, none is there twice`, async () => {
  const { acknowledged } = await runCutovers({ seed, rounds });
  assert.ok(acknowledged > 0, 'writes were acknowledged');
});
