/**
 * Kills a real server with SIGKILL at random moments and checks what is left: `npm run crash -- --rounds 20 [--seed S]`;
 * `--small-inserts 100000` also measures the disk after as many.
 *
 * It cannot see what only a power cut does: a killed process loses nothing that the kernel has.
 */
import { parseArgs } from 'node:util';
import { MOMENTS } from './support/crash/moments.ts';
import { Random } from './support/crash/random.ts';
import { smallInserts } from './support/crash/small-inserts.ts';
import { World } from './support/crash/world.ts';

export interface CrashRun {
  readonly seed: number;
  readonly rounds: number;
  /** Single-row inserts before one more kill, after which the disk is measured. */
  readonly smallInserts?: number;
  /** Whether the directory of a failure stays, for a look at it. */
  readonly keep: boolean;
  readonly say?: (line: string) => void;
}

/** Resolves when all rounds went well, with nothing left behind. */
export async function runCrashRounds(run: CrashRun): Promise<void> {
  const random = new Random(run.seed);
  if (run.smallInserts !== undefined)
    await inWorld(run, random, (world) => measureDisk(world, run), 'small inserts');
  let order: string[] = [];
  if (run.rounds > 0)
    await inWorld(run, random, async (world, at) => {
      for (let n = 1; n <= run.rounds; n++) {
        if (order.length === 0) order = shuffled(Object.keys(MOMENTS), random);
        const moment = order.pop()!;
        at(`round ${n}, killed ${moment}`);
        const startedMs = Date.now();
        await oneRound(world, moment);
        const acknowledged = world.writers.reduce((sum, w) => sum + w.acknowledged, world.ddl.acknowledged);
        run.say?.(
          `round ${n}: killed ${moment}; ${acknowledged} writes acknowledged so far, ${Date.now() - startedMs} ms`,
        );
      }
    });
}

async function oneRound(world: World, moment: string): Promise<void> {
  await MOMENTS[moment]!(world);
  await world.verify();
  await world.createViews();
  if (world.random.chance(50))
    await world.withClient(async (c) => {
      for (const w of world.writers) await w.heal(c);
    });
  await world.verify();
}

async function measureDisk(world: World, { smallInserts: rows, say }: CrashRun): Promise<void> {
  const r = await smallInserts(world, rows!);
  say?.(
    `${r.acknowledged} single-row inserts (${r.perSecond} a second) and a kill: ${r.diskBytes} bytes on disk, ` +
      `${(r.diskBytes / r.liveBytes).toFixed(2)} times the ${r.liveBytes} of the rows`,
  );
}

/** A failure says how to run it again, and where the directory is, where it is kept. */
async function inWorld(
  run: CrashRun,
  random: Random,
  body: (world: World, at: (where: string) => void) => Promise<void>,
  first = 'before the first round',
): Promise<void> {
  const world = await World.create(random);
  let at = first;
  try {
    await body(world, (where) => {
      at = where;
    });
  } catch (error) {
    const log = world.server.log.split('\n').slice(-20).join('\n');
    await (run.keep ? world.server.kill() : world.remove());
    const where = run.keep ? `\nthe directory is kept: ${world.path}` : '';
    const more = run.smallInserts === undefined ? '' : ` --small-inserts ${run.smallInserts}`;
    throw new Error(
      `${at}: ${(error as Error).message}\n` +
        `replay: npm run crash -- --rounds ${run.rounds} --seed ${run.seed}${more}${where}\nlast lines of the log:\n${log}`,
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
    options: {
      rounds: { type: 'string', default: '20' },
      seed: { type: 'string' },
      'small-inserts': { type: 'string' },
    },
  });
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const rounds = Number(values.rounds);
  const many = values['small-inserts'];
  console.log(`seed ${seed}, ${rounds} rounds`);
  await runCrashRounds({
    seed,
    rounds,
    keep: true,
    say: console.log,
    ...(many !== undefined && { smallInserts: Number(many) }),
  });
  console.log(`${rounds} rounds, seed ${seed}: nothing lost, nothing twice, nothing left behind`);
}
