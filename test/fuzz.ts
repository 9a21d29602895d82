/**
 * Random workloads against PostgreSQL: `npm run fuzz -- --minutes 10 [--seed 7] [--threads]`. With a seed alone that
 * one workload runs. Ends at the first failure, which is stored, made smaller, in `test/regressions`.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { generateWorkload } from '../packages/tidemark/src/testkit/workload.ts';
import { newTotals, runOne } from './support/fuzz-workloads.ts';
import { openReference } from './support/reference.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string' },
    seed: { type: 'string' },
    threads: { type: 'boolean', default: false },
    keep: { type: 'boolean', default: false },
  },
});
const end = performance.now() + Number(values.minutes ?? (values.seed === undefined ? 10 : 0)) * 60_000;
let seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 30));
console.log(`from seed ${seed}`);
const reference = await openReference();
const totals = newTotals();
do {
  const failure = await runOne(generateWorkload(seed), totals, { reference, threads: values.threads });
  if (failure !== null) {
    const dir = join(import.meta.dirname, 'regressions');
    const path = join(dir, `seed-${seed}.json`);
    mkdirSync(dir, { recursive: true });
    writeFileSync(path, `${JSON.stringify(failure.workload, null, 2)}\n`);
    console.log(`${failure.text}stored as ${path}`);
    process.exitCode = 1;
    if (!values.keep) break;
  }
  seed++;
} while (performance.now() < end);
for (const [shape, n] of [...totals.shapes].sort()) console.log(`${String(n).padStart(6)} ${shape}`);
for (const r of new Set(totals.refused.map((r) => r.split(':')[0]))) console.log(`refused: ${r}`);
console.log(
  `${totals.workloads} workloads, ${totals.compared} comparisons, ${totals.answered} answers with rows, ${totals.empty} empty`,
);
await reference.close();
