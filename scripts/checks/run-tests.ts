/**
 * Runs test files, each in a process and process group of its own and as many at a time as there are cores; prints what
 * failed and counts. Besides a failed test, these fail: a file without a test; one that ends with another exit code than
 * 0; one that outlasts the limit, whose running tests and stacks are printed; one that leaves a process behind.
 *
 * node's own runner is not used for this, because its time limit ends neither a test that loops nor a run whose pipe a
 * grandchild holds (node 24.21): one such file held a whole run until somebody killed it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { globSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { inParallel } from './pool.ts';
import type { Counts } from './run-checks.ts';
import { stackOf } from './stack-of.ts';
import { type Fact, MARK } from './test-reporter.ts';

export const ALL_TESTS: readonly string[] = [
  'packages/tidemark/src/**/*.test.ts',
  'test/**/*.test.ts',
  'scripts/**/*.test.ts',
];

/** The slowest file took half of it on two cores with thirty other processes. */
const FILE_LIMIT_MS = 600_000;
/** How long a file's process may go on after its tests: a failed test may leave a server that keeps it. */
const AFTER_MS = 30_000;
/** What a process that was told to end may take to be gone once its file's process has ended. */
const GRACE_MS = 5_000;
const FLAGS = [
  '--disable-warning=ExperimentalWarning',
  `--test-reporter=${join(import.meta.dirname, 'test-reporter.ts')}`,
  // A free one, should its inspector be asked for.
  '--inspect-port=0',
];

interface FileOutcome {
  readonly counts: Counts;
  readonly lines: readonly string[];
  /** How the file misbehaved, besides its tests. */
  readonly broken: readonly string[];
}

export interface RunOptions {
  /** How long a file may take, in milliseconds. */
  readonly limitMs?: number;
  /** How long its process may go on after its tests. */
  readonly afterMs?: number;
  readonly print?: (line: string) => void;
}

export async function runTests(
  root: string,
  patterns: readonly string[],
  { limitMs = FILE_LIMIT_MS, afterMs = AFTER_MS, print = console.log }: RunOptions = {},
): Promise<Counts> {
  const files = globSync([...patterns], { cwd: root, exclude: ['**/node_modules/**'] }).sort();
  if (files.length === 0) throw new Error(`no test file matches ${patterns.join(' ')}`);
  const alive = new Set<ChildProcess>();
  const interrupted = (): void => process.exit(130);
  const endAll = (): void => alive.forEach(killGroup);
  process.once('SIGINT', interrupted).once('SIGTERM', interrupted).once('exit', endAll);
  const outcomes = await inParallel(files, async (file) => {
    const outcome = await runFile(root, file, { limitMs, afterMs }, alive);
    for (const line of outcome.lines) print(line);
    for (const why of outcome.broken) print(`✖ ${file} ${why}`);
    return outcome;
  });
  process.off('SIGINT', interrupted).off('SIGTERM', interrupted).off('exit', endAll);
  const sum = (of: (outcome: FileOutcome) => number): number =>
    outcomes.reduce((total, outcome) => total + of(outcome), 0);
  return {
    passed: sum(({ counts }) => counts.passed),
    failed: sum(({ counts, broken }) => counts.failed + broken.length),
    skipped: sum(({ counts }) => counts.skipped),
  };
}

async function runFile(
  root: string,
  file: string,
  { limitMs, afterMs }: { readonly limitMs: number; readonly afterMs: number },
  alive: Set<ChildProcess>,
): Promise<FileOutcome> {
  const child = spawn(process.execPath, [...FLAGS, resolve(root, file)], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
    // With its mark a file that is run from within a test would report to node's own runner.
    env: { ...process.env, NODE_TEST_CONTEXT: undefined },
  });
  alive.add(child);
  const lines: string[] = [];
  const broken: string[] = [];
  const counts = { passed: 0, failed: 0, skipped: 0 };
  const running = new Set<string>();
  const { promise: late, resolve: isLate } = Promise.withResolvers<string>();
  const limit = setTimeout(() => isLate(`${limitMs} ms, in: ${[...running].join(' > ')}`), limitMs);
  let idle: NodeJS.Timeout | undefined;
  createInterface({ input: child.stdout }).on('line', (line) => {
    if (!line.startsWith(MARK)) return;
    const fact = JSON.parse(line.slice(MARK.length)) as Fact;
    clearTimeout(idle);
    if (fact.kind === 'began') running.add(fact.name);
    else if (fact.kind === 'ended') running.delete(fact.name);
    else if (fact.kind === 'said') lines.push(fact.text);
    else counts[fact.kind]++;
    if (running.size === 0) idle = setTimeout(() => isLate(`${afterMs} ms after its tests`), afterMs);
  });
  const stderr = createInterface({ input: child.stderr }).on('line', (line) => lines.push(line));
  const closed = once(child, 'close');
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const overdue = await Promise.race([ended.then(() => null), late]);
  clearTimeout(limit);
  if (overdue !== null) {
    stderr.removeAllListeners('line');
    broken.push(`did not end within ${overdue}\n${await stackOf(child)}`);
  } else if (!(await groupEnds(child))) broken.push('left a process behind');
  killGroup(child);
  await closed;
  clearTimeout(idle);
  alive.delete(child);
  const [code, signal] = await ended;
  if (overdue === null) {
    if (counts.passed + counts.failed + counts.skipped === 0)
      broken.push(`ended with ${signal ?? code} and no result: it holds no test, or ends within one`);
    else if (code !== 0 && counts.failed === 0) broken.push(`ended with ${signal ?? code}`);
  }
  return { counts, lines, broken };
}

async function groupEnds(child: ChildProcess): Promise<boolean> {
  const deadline = performance.now() + GRACE_MS;
  while (signalGroup(child, 0)) {
    if (performance.now() > deadline) return false;
    await sleep(20);
  }
  return true;
}

function killGroup(child: ChildProcess): void {
  signalGroup(child, 'SIGKILL');
}

/** False where the group has no process any more. */
function signalGroup(child: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(-child.pid!, signal);
  } catch (error) {
    // EPERM is what macOS answers for processes that nobody has waited for.
    if (['ESRCH', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return false;
    throw error;
  }
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
