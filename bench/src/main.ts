/**
 * `npm run bench -- [--quick] [--only NAME] [--rows N]`
 *
 * Prints figures; ends with 1 if an answer was wrong, never because of a time.
 */
import { availableParallelism, cpus, loadavg } from 'node:os';
import { parseArgs } from 'node:util';
import { runHydration } from './hydration.ts';
import { WORKLOADS, type WorkloadName } from './workloads.ts';

const { values } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    only: { type: 'string' },
    rows: { type: 'string' },
  },
});
const NAMES = [...Object.keys(WORKLOADS), 'busy'];
const { only, quick } = values;
if (only !== undefined && !NAMES.includes(only)) {
  console.error(`--only takes one of ${NAMES.join(', ')}`);
  process.exit(2);
}
const rows = values.rows === undefined ? undefined : Number(values.rows);
if (rows !== undefined && !(Number.isInteger(rows) && rows > 0)) {
  console.error('--rows takes a positive number');
  process.exit(2);
}

console.log(
  `${new Date().toISOString()}  Node ${process.version}  ${availableParallelism()} × ${cpus()[0]?.model ?? 'cpu'}  ` +
    `load ${loadavg()
      .map((l) => l.toFixed(1))
      .join(' ')}\n`,
);
const workloads = (Object.keys(WORKLOADS) as WorkloadName[]).filter((w) => only === undefined || w === only);
let wrong = 0;
if (workloads.length > 0) wrong += (await runHydration({ workloads, rows: rows ?? 1_000_000, quick })).length;
console.log(`load at the end ${loadavg()[0]!.toFixed(1)}`);
if (wrong > 0) process.exitCode = 1;
