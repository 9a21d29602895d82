import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Worker } from 'node:worker_threads';
import { workerFlags } from './worker-flags.ts';

test('threads inherit no flag that says how the entry of the process is read', () => {
  assert.deepEqual(
    workerFlags(['--input-type=module', '--cpu-prof', '-e', 'await 1', '--secure-heap=0', '--no-warnings']),
    ['--cpu-prof', '--no-warnings'],
  );
});

test('a thread starts with what is inherited of the usual flags of memory and of profiles', async () => {
  const flags = [
    '--max-old-space-size=500',
    '--max_semi_space_size=8',
    '--expose-gc',
    '--trace-deopt',
    '--no-concurrent-marking',
    '--parallel-scavenge',
    '--external-memory-accounted-in-global-limit',
  ];
  assert.deepEqual(workerFlags(flags), []);
  const execArgv = workerFlags([...flags, '--enable-source-maps', '--disable-warning=DEP0040']);
  const thread = new Worker('', { eval: true, execArgv });
  await new Promise((resolve) => thread.once('exit', resolve));
});
