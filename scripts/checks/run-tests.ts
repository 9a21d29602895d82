/**
 * Runs test files under node:test, each in a process of its own and as many at a time as there are cores, and prints
 * what failed and node's closing lines. A file that holds no test fails, and so does a run without files.
 */
import { globSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { resolve } from 'node:path';
import { Transform } from 'node:stream';
import { finished } from 'node:stream/promises';
import { run } from 'node:test';
import { spec } from 'node:test/reporters';
import type { Counts } from './run-checks.ts';

export const ALL_TESTS: readonly string[] = [
  'packages/tidemark/src/**/*.test.ts',
  'test/**/*.test.ts',
  'scripts/**/*.test.ts',
];

/** A file that hangs is ended and fails. The slowest needs about a tenth of it on two busy cores. */
const FILE_TIMEOUT_MS = 300_000;

interface Event {
  readonly type: string;
  readonly data: { readonly name?: string; readonly file?: string };
}

/** Passes on what a reader of a long run wants: failures, what was printed on stderr, the closing lines. */
function quiet(): Transform {
  const kept = new Set(['test:fail', 'test:stderr', 'test:diagnostic', 'test:summary']);
  return new Transform({
    objectMode: true,
    transform(event: Event, _encoding, done) {
      if (kept.has(event.type)) this.push(event);
      done();
    },
  });
}

export async function runTests(root: string, patterns: readonly string[]): Promise<Counts> {
  const files = globSync([...patterns], { cwd: root, exclude: ['**/node_modules/**'] })
    .map((file) => resolve(root, file))
    .sort();
  if (files.length === 0) throw new Error(`no test file matches ${patterns.join(' ')}`);
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const tested = new Set<string>();
  const stream = run({
    files,
    cwd: root,
    concurrency: availableParallelism(),
    timeout: FILE_TIMEOUT_MS,
    execArgv: ['--disable-warning=ExperimentalWarning'],
  });
  // A file without tests is reported by node as one passing test with the file's name.
  stream.on('test:pass', ({ name, file }) => {
    if (file !== undefined && resolve(root, name) !== file) tested.add(file);
  });
  stream.on('test:fail', ({ file }) => {
    if (file !== undefined) tested.add(file);
  });
  stream.on('test:summary', ({ file, counts: summary }) => {
    if (file !== undefined) return;
    counts.passed = summary.passed;
    counts.failed = summary.tests - summary.passed - summary.skipped - summary.todo;
    counts.skipped = summary.skipped + summary.todo;
  });
  const report = stream.pipe(quiet()).pipe(new spec());
  report.pipe(process.stdout, { end: false });
  await finished(report);
  for (const file of files) {
    if (tested.has(file)) continue;
    console.log(`✖ ${file} holds no test`);
    counts.failed++;
  }
  return counts;
}

/** The line a run ends with; skipped tests are a failure, for a skip hides one. */
export function close(parts: readonly Counts[]): void {
  const sum = (of: (part: Counts) => number): number => parts.reduce((total, part) => total + of(part), 0);
  const failed = sum((part) => part.failed);
  const skipped = sum((part) => part.skipped);
  console.log(
    `${sum((part) => part.passed)} passed, ${failed} failed${skipped > 0 ? `, ${skipped} skipped` : ''}`,
  );
  if (failed + skipped > 0) process.exitCode = 1;
}
