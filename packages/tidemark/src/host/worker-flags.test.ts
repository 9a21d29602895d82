import assert from 'node:assert/strict';
import { test } from 'node:test';
import { workerFlags } from './worker-flags.ts';

test('threads inherit no flag that says how the entry of the process is read', () => {
  assert.deepEqual(
    workerFlags(['--input-type=module', '--cpu-prof', '-e', 'await 1', '--secure-heap=0', '--expose-gc']),
    ['--cpu-prof', '--expose-gc'],
  );
});
