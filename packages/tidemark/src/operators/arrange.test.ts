/**
 * An arrangement on a worker that always has something else to do: it is never idle, and its merges are done all the same. Cannot see:
 * how much of the worker's time they take.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { arrangementSpec } from '../trace/arranged-batch.ts';
import type { TraceHandle } from '../trace/trace.ts';
import { arrange } from './arrange.ts';
import { type InputHandle, source } from './source.ts';
import { batchOf, TestCluster, type Update } from './test-cluster.ts';

const KEYS = 500;
const KINDS = ['i32', 'i32'] as const;

/** Runs of operators in an interval: far from enough to take in all at once. */
const RUNS = 3;

test('an arrangement holds what lives while its input never runs dry and its worker is never idle', () => {
  const { workers } = new TestCluster({ peers: 1, seed: 1, fuel: 2000 });
  const worker = workers[0]!;
  let input!: InputHandle;
  let trace!: TraceHandle;
  worker.buildDataflow('churn', (scope) => {
    const { handle, stream } = source(scope);
    input = handle;
    trace = arrange(scope, stream, { spec: arrangementSpec(KINDS, [0]) }).trace.clone();
  });
  let most = 0;
  let behind = 0;
  for (let time = 0; time < 2000; time++) {
    const updates: Update[] = [];
    for (let i = 0; i < 40; i++) {
      const key = (time * 40 + i) % KEYS;
      const round = Math.floor((time * 40 + i) / KEYS);
      if (round > 0) updates.push({ row: [key, round - 1], time, diff: -1 });
      updates.push({ row: [key, round], time, diff: 1 });
    }
    input.push(batchOf(KINDS, updates));
    input.advanceTo(time + 1);
    for (let run = 0; run < RUNS; run++) worker.step({ budgetNs: 1 });
    const { upper } = trace;
    behind = Math.max(behind, time + 1 - upper);
    if (upper > trace.since + 2) trace.setLogicalCompaction(upper - 2);
    const batches = trace.trace.batches();
    most = Math.max(
      most,
      batches.reduce((n, b) => n + b.length, 0),
    );
    assert.ok(batches.length <= 12, `${batches.length} batches at ${time}`);
  }
  assert.ok(most <= 4 * KEYS, `${most} records of ${KEYS} rows`);
  assert.ok(behind <= 4, `${behind} times behind`);
  trace.dispose();
});
