/** What the test runner prints and counts, for files that pass, fail, and end in other ways than a test file should. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Files, withPlanted } from './checks/planted-tree.fixture.ts';
import { runCommand } from './checks/pool.ts';
import type { Counts } from './checks/run-checks.ts';
import { runTests } from './checks/run-tests.ts';

/** A file with one test, of this body. */
const file = (body: string): string =>
  `import { spawn } from 'node:child_process';\nimport { test } from 'node:test';\n\ntest('planted', async (t) => {\n${body}\n});\n`;

/** Where a file has to be ended; longer limits follow for a machine on which it does not come that far. */
const SHORT_MS = 5_000;
const LONG_MS = 60_000;

interface Run {
  readonly counts: Counts;
  readonly output: string;
}

async function run(files: Files, limitMs = 120_000): Promise<Run> {
  const lines: string[] = [];
  const counts = await withPlanted(files, (root) =>
    runTests(root, ['test/*.test.ts'], { limitMs, afterMs: SHORT_MS, print: (line) => lines.push(line) }),
  );
  return { counts, output: lines.join('\n') };
}

test('failures, diagnostics and stderr are printed, what passes and what goes to stdout is not', async () => {
  const { counts, output } = await run({
    'test/a.test.ts': file("console.log('noise');"),
    'test/b.test.ts': file("t.diagnostic('a figure');\nconsole.error('a warning');"),
    'test/c.test.ts': file("throw new Error('a reason');"),
  });
  assert.deepEqual(counts, { passed: 2, failed: 1, skipped: 0 });
  assert.match(output, /ℹ a figure/);
  assert.match(output, /a warning/);
  assert.match(output, /✖ planted .*\n {2}at test\/c\.test\.ts:4:1\nError: a reason/);
  assert.doesNotMatch(output, /noise|tests 1/);
});

test('a suite counts by its tests, and a skipped test is told', async () => {
  const head = "import { suite, test } from 'node:test';\n\n";
  const { counts } = await run({
    'test/a.test.ts': `${head}suite('s', () => {\n  test('x', () => {});\n  test('y', () => {\n    throw 1;\n  });\n});\n`,
    'test/b.test.ts': `${head}test('z', { skip: 1 > 0 }, () => {});\n`,
  });
  assert.deepEqual(counts, { passed: 1, failed: 1, skipped: 1 });
});

const MISBEHAVING: readonly (readonly [what: string, text: string, told: RegExp, limitMs?: number])[] = [
  ['holds no test', 'export const x = 1;\n', /ended with 0 and no result: it holds no test/],
  ['ends within a test', file('process.exit(3);'), /ended with 3 and no result/],
  [
    'throws after its tests',
    `import { after } from 'node:test';\n${file('')}after(() => setImmediate(() => { throw new Error('late'); }));\n`,
    /late[\s\S]*ended with 1/,
  ],
  [
    'waits for ever',
    file('await new Promise(() => setInterval(() => {}, 1000));'),
    /did not end within \d+ ms, in: planted/,
    SHORT_MS,
  ],
  [
    'is kept by what a failed test left',
    `setInterval(() => {}, 1000);\n${file('')}`,
    /did not end within 5000 ms after its tests/,
  ],
  [
    'loops for ever',
    `function spin() {\n  for (;;);\n}\n${file('spin();')}`,
    /did not end[\s\S]*at spin \(.*a\.test\.ts:2:/,
    SHORT_MS,
  ],
  [
    'leaves a process behind',
    file("spawn('sleep', ['600'], { stdio: 'inherit' }).unref();"),
    /left a process behind/,
  ],
];

for (const [what, text, told, firstMs = LONG_MS] of MISBEHAVING)
  test(`a file that ${what} fails, and the run ends`, async () => {
    for (let limitMs = firstMs; ; limitMs *= 2) {
      const { counts, output } = await run({ 'test/a.test.ts': text, 'test/b.test.ts': file('') }, limitMs);
      if (limitMs < LONG_MS && (counts.failed !== 1 || !told.test(output))) continue;
      assert.equal(counts.failed, 1, output);
      assert.match(output, told);
      return;
    }
  });

test('no file at all is an error', async () => {
  await assert.rejects(run({}), /no test file matches/);
});

test('the command closes with one line of counts, and its exit code says whether all passed', async () => {
  const command = ['node', `${import.meta.dirname}/test-unit.ts`, 'test'];
  const whole = (files: Files) => withPlanted(files, (root) => runCommand(command, root));
  const passed = await whole({ 'test/a.test.ts': file('') });
  assert.ok(passed.ok);
  assert.equal(passed.output, '1 passed, 0 failed\n');
  const failed = await whole({ 'test/a.test.ts': file('throw new Error();') });
  assert.ok(!failed.ok);
  assert.match(failed.output, /\n0 passed, 1 failed\n$/);
  const skipped = await whole({ 'test/a.test.ts': file('').replace('async', '{ skip: 1 > 0 }, async') });
  assert.ok(!skipped.ok);
  assert.equal(skipped.output, '0 passed, 0 failed, 1 skipped\n');
});
