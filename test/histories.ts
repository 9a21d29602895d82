/**
 * Random histories in the simulator: `npm run histories -- --runs 10000 [--seed N] [--minutes M]`. A failure prints the seed that replays
 * it, `--seed N --runs 1`.
 *
 * It cannot see what real threads and disks add, nor what cancels out within one interval of the logs.
 */
import { parseArgs } from 'node:util';
import { RandomHistory } from './support/histories/history.ts';
import { STEPS } from './support/histories/steps.ts';

export interface Totals {
  readonly histories: number;
  readonly steps: ReadonlyMap<string, number>;
  readonly stages: ReadonlyMap<string, number>;
  /** Objects looked at while nobody could read their input. */
  readonly starved: number;
}

export interface HistoriesRun {
  readonly seed: number;
  readonly runs: number;
  /** Begins no other one after it, in milliseconds of the machine's clock. */
  readonly untilMs?: number;
  readonly say?: (line: string) => void;
}

/** Resolves when all went well; rejects with the seed of the first that did not. */
export async function runHistories({ seed, runs, untilMs, say }: HistoriesRun): Promise<Totals> {
  const steps = new Map<string, number>();
  const stages = new Map<string, number>();
  let starved = 0;
  let histories = 0;
  for (let at = seed; at < seed + runs && (untilMs === undefined || Date.now() < untilMs); at++) {
    const history = new RandomHistory(at);
    try {
      await history.run(STEPS);
    } catch (error) {
      throw new Error(
        `${error instanceof Error ? error.message : String(error)}\n  after ${history.done.join(', ')}\n  replay: npm run histories -- --seed ${at} --runs 1`,
        { cause: error },
      );
    }
    histories++;
    for (const name of history.done) steps.set(name, (steps.get(name) ?? 0) + 1);
    for (const [stage, n] of history.stagesTold) stages.set(stage, (stages.get(stage) ?? 0) + n);
    starved += history.starved;
    if (histories % 100 === 0) say?.(`${histories} histories, next seed ${at + 1}`);
  }
  return { histories, steps, stages, starved };
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { runs: { type: 'string' }, seed: { type: 'string' }, minutes: { type: 'string' } },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const startedMs = Date.now();
  const { histories, steps, stages, starved } = await runHistories({
    seed,
    runs: Number(values.runs ?? 100),
    ...(values.minutes !== undefined && { untilMs: startedMs + Number(values.minutes) * 60_000 }),
    say: (line) => console.log(line),
  });
  const seconds = (Date.now() - startedMs) / 1000;
  const counts = (of: ReadonlyMap<string, number>): string =>
    Array.from(of, ([k, n]) => `${k} ${n}`).join(', ');
  console.log(`steps: ${counts(steps)}`);
  console.log(`stages told: ${counts(stages)}; ${starved} looked at while nobody could read their input`);
  console.log(`${histories} histories from seed ${seed} went well in ${seconds.toFixed(1)} s`);
}
