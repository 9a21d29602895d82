/** The command line as a child process that a test stops, continues, kills, or asks to end. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../packages/tidemark/src/cli/main.ts', import.meta.url));

export class CliProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  #output = '';
  #log = '';
  #ended = false;
  wasKilled = false;

  constructor(args: readonly string[], env: NodeJS.ProcessEnv = process.env) {
    this.#child = spawn(process.execPath, [CLI, ...args], { stdio: ['ignore', 'pipe', 'pipe'], env });
    this.#child.stdout!.setEncoding('utf8').on('data', (s: string) => {
      this.#output += s;
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (s: string) => {
      this.#log += s;
    });
    this.#exit = once(this.#child, 'close').then(([code]) => {
      this.#ended = true;
      return code as number | null;
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  get output(): string {
    return this.#output;
  }

  get log(): string {
    return this.#log;
  }

  /** What it has said once its output shows the line; null if it ended before. */
  async says(line: RegExp): Promise<RegExpExecArray | null> {
    for (;;) {
      const found = line.exec(this.#output);
      if (found !== null || this.#ended) return found;
      await Promise.race([once(this.#child.stdout!, 'data'), this.#exit]);
    }
  }

  /** Stops it in its tracks; it keeps its locks and its sockets. */
  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  /** `kill -9`. Resolves when the process is gone, and its locks with it. */
  async kill(): Promise<void> {
    this.wasKilled = true;
    this.#child.kill('SIGKILL');
    await this.#exit;
  }

  /** Asks it to end, and gives its exit code. */
  async stop(): Promise<number | null> {
    this.#child.kill('SIGTERM');
    return this.#exit;
  }

  exit(): Promise<number | null> {
    return this.#exit;
  }
}
