/** The checks that need no run of the code, as a table: what each is called and the command that makes it. */
import { inParallel, runCommand } from './pool.ts';

interface Check {
  readonly name: string;
  readonly command: readonly string[];
}

/** The slowest first, so that two cores end at about the same time. */
export const CHECKS: readonly Check[] = [
  { name: 'promises and switches', command: ['eslint', '.'] },
  { name: 'types', command: ['tsc', '--noEmit', '-p', '.'] },
  {
    name: 'format and lint',
    command: ['biome', 'ci', '--error-on-warnings', '--colors=off', '--max-diagnostics=100'],
  },
  { name: 'dead code', command: ['knip', '--no-config-hints'] },
  { name: 'layers', command: ['node', 'scripts/check-layers.ts'] },
  { name: 'tidy', command: ['node', 'scripts/check-tidy.ts'] },
];

export interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** Runs every check below `root` and prints a line for each, with its output where it failed. */
export async function runChecks(root: string): Promise<Counts> {
  const outcomes = await inParallel(CHECKS, async ({ name, command }) => {
    const outcome = await runCommand(command, root);
    const mark = outcome.ok ? '✔' : '✖';
    console.log(`${mark} ${name} (${outcome.seconds.toFixed(1)} s)`);
    if (!outcome.ok) console.log(`$ ${command.join(' ')}\n${outcome.output}`);
    return outcome;
  });
  const failed = outcomes.filter((outcome) => !outcome.ok).length;
  return { passed: outcomes.length - failed, failed, skipped: 0 };
}
