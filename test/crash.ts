/**
 * Kills a real server with SIGKILL at random moments and checks what is left: `npm run crash -- --rounds 20 [--seed S]`.
 *
 * It cannot see what only a power cut does: a killed process loses nothing that the kernel has.
 */
import { parseArgs } from 'node:util';
import { MOMENTS } from './support/crash/moments.ts';
import { Random } from './support/crash/random.ts';
import { World } from './support/crash/world.ts';

export interface CrashRun {
  readonly seed: number;
  readonly rounds: number;
  readonly say?: (line: string) => void;
}

/** Resolves when all rounds went well, with nothing left behind; a failure keeps the directory and names it. */
export async function runCrashRounds({ seed, rounds, say = () => undefined }: CrashRun): Promise<void> {
  const random = new Random(seed);
  const world = await World.create(random);
  let at = 'before the first round';
  try {
    let order: string[] = [];
    for (let round = 1; round <= rounds; round++) {
      if (order.length === 0) order = shuffled(Object.keys(MOMENTS), random);
      const moment = order.pop()!;
      at = `round ${round}, killed ${moment}`;
      const startedMs = Date.now();
      await MOMENTS[moment]!(world);
      await world.verify();
      await world.createViews();
      if (random.chance(50))
        await world.withClient(async (c) => {
          for (const w of world.writers) await w.heal(c);
        });
      await world.verify();
      const acknowledged = world.writers.reduce((n, w) => n + w.acknowledged, world.ddl.acknowledged);
      say(
        `round ${round}: killed ${moment}; ${acknowledged} writes acknowledged so far, ${Date.now() - startedMs} ms`,
      );
    }
  } catch (error) {
    await world.server.kill();
    throw new Error(
      `${at}: ${(error as Error).message}\nreplay: npm run crash -- --rounds ${rounds} --seed ${seed}\n` +
        `the directory is kept: ${world.path}\nlast lines of the log:\n${world.server.log.split('\n').slice(-20).join('\n')}`,
      { cause: error },
    );
  }
  await world.remove();
}

function shuffled<T>(list: readonly T[], random: Random): T[] {
  const out = [...list];
  for (let i = out.length - 1; i > 0; i--) {
    const j = random.below(i + 1);
    [out[i], out[j]] = [out[j]!, out[i]!];
  }
  return out;
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { rounds: { type: 'string', default: '20' }, seed: { type: 'string' } },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const rounds = Number(values.rounds);
  console.log(`seed ${seed}, ${rounds} rounds`);
  await runCrashRounds({ seed, rounds, say: console.log });
  console.log(`${rounds} rounds, seed ${seed}: nothing lost, nothing twice, nothing left behind`);
}
