/**
 * A slice of `npm run fuzz`: the stored regressions first, then random workloads for a while, on a seeded schedule of
 * one to three workers, and one on threads. See `testkit/differential.ts` for what it compares and cannot see.
 *
 * SEED=<n> RUNS=<n>; a failure prints how to replay it.
 */
import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { generateWorkload, type Workload } from '../packages/tidemark/src/testkit/workload.ts';
import { newTotals, runOne } from './support/fuzz-workloads.ts';
import { openReference, type Reference } from './support/reference.ts';

const SEED = Number(process.env.SEED ?? 4_000);
const RUNS = Number(process.env.RUNS ?? 12);
const REGRESSIONS = join(import.meta.dirname, 'regressions');

let reference: Reference;
before(async () => {
  reference = await openReference();
});
after(() => reference.close());

/** What a slice has to meet: a generator that loses one of these tests less than it says. */
const SHAPES = [
  ...['Constant', 'Filter', 'Get', 'Join', 'Map', 'Negate', 'Project', 'Reduce', 'TopK', 'Union'],
  ...['Let', 'Threshold', 'left join', 'full join', 'group by', 'global aggregate', 'aggregate filter'],
].flatMap((s) => [`${s} null`, `${s} retract`]);

for (const file of readdirSync(REGRESSIONS).sort())
  test(`regression ${file}`, async () => {
    const workload = JSON.parse(readFileSync(join(REGRESSIONS, file), 'utf8')) as Workload;
    const failure = await runOne(workload, newTotals(), { reference, shrinkAttempts: 0 });
    assert.equal(failure?.text, undefined);
  });

test('random workloads give what PostgreSQL gives, however they are read', async (t) => {
  const totals = newTotals();
  for (let seed = SEED; seed < SEED + RUNS; seed++) {
    const failure = await runOne(generateWorkload(seed), totals, { reference });
    assert.equal(failure?.text, undefined);
  }
  t.diagnostic(`${totals.workloads} workloads, ${totals.compared} comparisons, ${totals.empty} empty`);
  assert.ok(totals.empty < RUNS / 2, `${totals.empty} of ${RUNS} workloads answer nothing`);
  if (RUNS < 12) return;
  const missing = SHAPES.filter((s) => !totals.shapes.has(s));
  assert.deepEqual(missing, []);
});

test('a random workload on threads', async () => {
  const failure = await runOne(generateWorkload(SEED), newTotals(), { reference, threads: true });
  assert.equal(failure?.text, undefined);
});
