/**
 * `npm run bench -- [--quick] [--only NAME] [--rows N] [--rounds N] [--durable] [--workers N] [--shape INDEXES:TABLES] [--profile DIR]`
 *
 * Prints figures; ends with 1 if an answer was wrong, never because of a time.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { ROUNDS, runBusy } from './busy.ts';
import { runHydration } from './hydration.ts';
import { runIdle } from './idle.ts';
import { runManyIndexes } from './many-indexes.ts';
import { runPaired } from './paired.ts';
import { WORKLOADS, type WorkloadName } from './workloads.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    rows: { type: 'string' },
    rounds: { type: 'string' },
    durable: { type: 'boolean', default: false },
    workers: { type: 'string' },
    shape: { type: 'string' },
    profile: { type: 'string' },
  },
});
const NAMES = [...Object.keys(WORKLOADS), 'busy', 'paired', 'many', 'idle'];
const { only, quick } = values;
if (only !== undefined && !NAMES.includes(only)) {
  console.error(`--only takes one of ${NAMES.join(', ')}`);
  process.exit(2);
}

function positive(option: 'rows' | 'rounds' | 'workers', otherwise: number): number {
  const text = values[option];
  const n = text === undefined ? otherwise : Number(text);
  if (Number.isInteger(n) && n > 0) return n;
  console.error(`--${option} takes a positive number`);
  process.exit(2);
}

const rows = positive('rows', 1_000_000);
const rounds = positive('rounds', ROUNDS);
/** Of the processes that are measured. */
const execArgv = values.profile === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${values.profile}`];

console.log(
  `${new Date().toISOString()}  Node ${process.version}  ${availableParallelism()} × ${cpus()[0]?.model ?? 'cpu'}  ` +
    `load ${loadavg()
      .map((l) => l.toFixed(1))
      .join(' ')}\n`,
);
const workloads = (Object.keys(WORKLOADS) as WorkloadName[]).filter((w) => only === undefined || w === only);
let wrong = 0;
if (workloads.length > 0) wrong += (await runHydration({ workloads, rows, quick, execArgv })).length;
if (only === 'busy' || (only === undefined && !quick))
  await runBusy({ durable: values.durable, rounds, execArgv });
if (only === 'paired') await runPaired({ rows: positive('rows', 10_000_000), rounds, execArgv });
if (only === 'idle')
  await runIdle({ durable: values.durable, workers: positive('workers', 1), shape: values.shape, execArgv });
if (only === 'many') await runManyIndexes({ indexes: positive('rows', 1000), execArgv });
console.log(`load at the end ${loadavg()[0]!.toFixed(1)}`);
if (wrong > 0) process.exitCode = 1;
