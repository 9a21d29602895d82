/**
 * A server as a child process, to be killed: the command line's `serve` on a data directory. Its log is kept, for it
 * tells what the wire does not: a worker that failed and came back, a dataflow that could not go on.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import pg from 'pg';

const CLI = fileURLToPath(new URL('../../../packages/tidemark/src/cli/main.ts', import.meta.url));
const READY = /^tidemark ready pg=[\d.]+:(\d+) http=[\d.]+:(\d+)/m;
/** A start waits for nothing but the disk. */
const READY_MS = 30_000;

/** Lines of a log that no fault from outside explains. */
const FAULTS =
  /assertion|a worker failed|a dataflow failed|cannot be maintained|compaction failed|left out|is missing|negative number|not updated|unhandled/i;

/** A worker may be in the middle of writing what is dropped under it. */
const DROPPED = /shard \S+ does not exist/;

export class ServerProcess {
  readonly dataDir: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  #out = '';
  #log = '';
  #ended = false;
  wasKilled = false;

  /** `more`: arguments that come after, and so before, the usual ones. */
  constructor(dataDir: string, more: readonly string[] = []) {
    this.dataDir = dataDir;
    const args = [
      CLI,
      'serve',
      '--data',
      dataDir,
      '--listen',
      '127.0.0.1:0',
      '--http',
      '127.0.0.1:0',
      ...more,
    ];
    this.#child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] });
    this.#child.stdout!.setEncoding('utf8').on('data', (s: string) => {
      this.#out += s;
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

  get log(): string {
    return this.#log;
  }

  get output(): string {
    return this.#out;
  }

  /** Faults that the log tells of, one a line. */
  get faults(): string[] {
    return `${this.#out}\n${this.#log}`.split('\n').filter((l) => FAULTS.test(l) && !DROPPED.test(l));
  }

  /** The port of the wire, once it listens; null if the process ended before. */
  async ready(): Promise<number | null> {
    const deadline = Date.now() + READY_MS;
    for (;;) {
      const found = READY.exec(this.#out);
      if (found !== null) return Number(found[1]);
      if (this.#ended) return null;
      if (Date.now() > deadline)
        throw new Error(`the server is not ready after ${READY_MS} ms\n${this.#log}`);
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  /** The port of HTTP, once the wire listens. */
  get http(): number {
    return Number(READY.exec(this.#out)?.[2]);
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

/** Everything as the text that the wire carries. */
const AS_TEXT = { getTypeParser: () => (v: string | Buffer) => v };

export interface Answer {
  readonly rows: string[][];
}

/** A connection that lets the caller see whether an answer came. */
export class Client {
  readonly #client: pg.Client;
  readonly #connected: Promise<unknown>;

  constructor(port: number) {
    this.#client = new pg.Client({
      host: '127.0.0.1',
      port,
      user: 'tidemark',
      database: 'tidemark',
      types: AS_TEXT,
    });
    // The server dies under it by design; the query under way says so.
    this.#client.on('error', () => undefined);
    this.#connected = this.#client.connect();
    this.#connected.catch(() => undefined);
  }

  async connected(): Promise<this> {
    await this.#connected;
    return this;
  }

  async query(sql: string): Promise<Answer> {
    await this.#connected;
    const r = await this.#client.query({ text: sql, rowMode: 'array' });
    return { rows: r.rows as string[][] };
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }
}

/** An error that the server sent; any other means that its answer is not known. */
export const isAnswer = (e: unknown): e is pg.DatabaseError => e instanceof pg.DatabaseError;
