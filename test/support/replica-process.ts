/** A replica as a child process: the command line's `replica` over a data directory. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const CLI = fileURLToPath(new URL('../../packages/tidemark/src/cli/main.ts', import.meta.url));
const READY = /^tidemark replica ready listen=[\d.]+:(\d+) workers=\d+$/m;

export interface ReplicaProcessOptions {
  readonly dataDir: string;
  readonly workers: number;
  readonly port?: number;
  readonly host?: string;
  readonly token?: string;
}

export class ReplicaProcess {
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  log = '';

  constructor(o: ReplicaProcessOptions) {
    const listen = `${o.host ?? '127.0.0.1'}:${o.port ?? 0}`;
    const args = [CLI, 'replica', '--data-dir', o.dataDir, '--listen', listen, '--workers', `${o.workers}`];
    const { TIDEMARK_REPLICA_TOKEN: _, ...env } = process.env;
    this.#child = spawn(process.execPath, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: o.token === undefined ? env : { ...env, TIDEMARK_REPLICA_TOKEN: o.token },
    });
    this.#child.stderr!.setEncoding('utf8').on('data', (s: string) => {
      this.log += s;
    });
    this.#exit = once(this.#child, 'close').then(([code]) => code as number | null);
  }

  /** The port that it listens on. */
  async ready(): Promise<number> {
    let out = '';
    for await (const s of this.#child.stdout!.setEncoding('utf8')) {
      out += s as string;
      const found = READY.exec(out);
      if (found !== null) return Number(found[1]);
    }
    throw new Error(`the replica did not come up: ${out}\n${this.log}`);
  }

  pause(): void {
    this.#child.kill('SIGSTOP');
  }

  resume(): void {
    this.#child.kill('SIGCONT');
  }

  async kill(): Promise<void> {
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
