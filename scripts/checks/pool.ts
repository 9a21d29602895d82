/** Runs commands a few at a time and gathers what each printed. */
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';

export interface Outcome {
  readonly ok: boolean;
  readonly output: string;
  readonly seconds: number;
}

const BIN = join(import.meta.dirname, '../../node_modules/.bin');
/** Without colours: what is printed here is gathered first. */
const ENV = {
  ...process.env,

  NO_COLOR: '1',
  PATH: `${BIN}${delimiter}${process.env['PATH'] ?? ''}`,
};

export function runCommand(command: readonly string[], cwd: string): Promise<Outcome> {
  const [program = '', ...args] = command;
  const start = performance.now();
  const child = spawn(program, args, { cwd, env: ENV, stdio: ['ignore', 'pipe', 'pipe'] });
  const chunks: Buffer[] = [];
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk));
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => {
      const seconds = (performance.now() - start) / 1000;
      resolve({ ok: code === 0, output: Buffer.concat(chunks).toString(), seconds });
    });
  });
}

/** Calls `work` for each item, as many at a time as there are cores, and answers in the order of the items. */
export async function inParallel<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  const pending = items.entries();
  const lane = async (): Promise<void> => {
    for (const [i, item] of pending) results[i] = await work(item);
  };
  await Promise.all(Array.from({ length: availableParallelism() }, lane));
  return results;
}
