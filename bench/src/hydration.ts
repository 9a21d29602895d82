/**
 * W1 to W3 side by side: each contestant in processes of its own, one at a time, their answers checked against a recompute.
 * A figure is the median; a contestant that takes long is run once in the quick mode.
 */
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { CONTESTANTS, type ContestantName } from './contestants.ts';
import type { Outcome, Spent } from './outcome.ts';
import { table } from './table.ts';
import { expected, WORKLOADS, type WorkloadName } from './workloads.ts';

const run = promisify(execFile);
const ENTRY = fileURLToPath(new URL('./contestant.ts', import.meta.url));
const RUNS = 3;
/** In the quick mode, a contestant whose first run took so long is not run again. */
const LONG_MS = 3000;

export interface HydrationOptions {
  readonly workloads: readonly WorkloadName[];
  readonly rows: number;
  readonly quick: boolean;
  /** For the contestants' processes. */
  readonly execArgv: readonly string[];
}

async function race(
  contestant: ContestantName,
  workload: WorkloadName,
  { rows, execArgv }: HydrationOptions,
): Promise<Outcome> {
  const { stdout } = await run(
    process.execPath,
    [...execArgv, '--max-old-space-size=12288', ENTRY, contestant, workload, `${rows}`],
    { maxBuffer: 1 << 28 },
  );
  return JSON.parse(stdout) as Outcome;
}

/** Null: the answer is right. */
function difference(answer: readonly string[], right: readonly string[]): string | null {
  const at = right.findIndex((l, i) => l !== answer[i]);
  if (at < 0 && answer.length === right.length) return null;
  const where = at < 0 ? right.length : at;
  return `line ${where + 1} is ${answer[where] ?? 'missing'}, and should be ${right[where] ?? 'absent'}`;
}

function median(runs: readonly Spent[]): Spent {
  const middle = (of: (s: Spent) => number): number =>
    runs.map(of).sort((a, b) => a - b)[(runs.length - 1) >> 1]!;
  return {
    ms: middle((s) => s.ms),
    cpuMs: middle((s) => s.cpuMs),
    longestSliceMs: middle((s) => s.longestSliceMs ?? 0),
  };
}

interface Result extends Spent {
  readonly runs: number;
}

/** Runs in rounds, so that a busy minute of the machine meets all contestants. */
async function measure(
  workload: WorkloadName,
  o: HydrationOptions,
  wrong: string[],
): Promise<ReadonlyMap<ContestantName, Result>> {
  const right = expected(workload, o.rows);
  const names = Object.keys(CONTESTANTS) as ContestantName[];
  const outcomes = new Map<ContestantName, Outcome[]>(names.map((name) => [name, []]));
  for (let round = 0; round < RUNS; round++)
    for (const [name, list] of outcomes) {
      if (o.quick && (list[0]?.ms ?? 0) > LONG_MS) continue;
      const outcome = await race(name, workload, o);
      const fault = difference(outcome.answer, right);
      if (fault !== null) wrong.push(`${workload}: the answer of ${name} is wrong: ${fault}`);
      list.push(outcome);
    }
  return new Map([...outcomes].map(([name, list]) => [name, { ...median(list), runs: list.length }]));
}

const PEER: ContestantName = 'db-ivm';

/** Prints a table; gives what was wrong. */
export async function runHydration(o: HydrationOptions): Promise<readonly string[]> {
  console.log(`Hydration of ${o.rows.toLocaleString('en')} orders. What lies inside the interval:`);
  for (const [name, { measured }] of Object.entries(CONTESTANTS))
    console.log(`  ${name.padEnd(18)}${measured}`);
  for (const name of o.workloads) console.log(`  ${name.padEnd(18)}${WORKLOADS[name].what}`);
  console.log();
  const wrong: string[] = [];
  const rows: string[][] = [];
  for (const workload of o.workloads) {
    const results = await measure(workload, o, wrong);
    const peer = results.get(PEER)!;
    for (const [name, r] of results) {
      const times = (ratio: number): string => (name === PEER ? '' : `${ratio.toFixed(1)}×`);
      rows.push([
        workload,
        name,
        r.ms.toFixed(0),
        r.cpuMs.toFixed(0),
        name === PEER ? '' : r.longestSliceMs!.toFixed(1),
        `${r.runs}`,
        times(peer.ms / r.ms),
        times(peer.cpuMs / r.cpuMs),
        name === PEER ? '' : `${WORKLOADS[workload].requiredRatio}×`,
      ]);
    }
  }
  const head = [
    'workload',
    'contestant',
    'ms',
    'cpu ms',
    'slice ms',
    'runs',
    'db-ivm / ours',
    'by cpu',
    'wanted',
  ];
  console.log(table(head, rows));
  console.log(
    wrong.length === 0 ? '\nall answers are right' : `\n${wrong.length} WRONG:\n${wrong.join('\n')}`,
  );
  return wrong;
}
