/**
 * A server as a child process, to be killed: the command line's `serve` on a data directory. Its log is kept, for it
 * tells what the wire does not: a worker that failed and came back, a dataflow that could not go on.
 */
import { once } from 'node:events';
import pg from 'pg';
import { CliProcess } from '../cli-process.ts';

const READY = /^tidemark ready pg=[\d.]+:(\d+) http=[\d.]+:(\d+)/m;
/** A start waits for nothing but the disk. */
const READY_MS = 60_000;

/** Lines of a log that no fault from outside explains. */
const FAULTS =
  /assertion|a worker failed|a dataflow failed|cannot be maintained|compaction failed|left out|is missing|negative number|not updated|unhandled/i;

/** A worker may be in the middle of writing what is dropped under it. */
const DROPPED = /shard \S+ does not exist/;

export class ServerProcess extends CliProcess {
  readonly dataDir: string;

  /** `more`: arguments that come after, and so before, the usual ones. */
  constructor(dataDir: string, more: readonly string[] = []) {
    super(['serve', '--data', dataDir, '--listen', '127.0.0.1:0', '--http', '127.0.0.1:0', ...more]);
    this.dataDir = dataDir;
  }

  /** Faults that the log tells of, one a line. */
  get faults(): string[] {
    return `${this.output}\n${this.log}`.split('\n').filter((l) => FAULTS.test(l) && !DROPPED.test(l));
  }

  /** The port of the wire, once it listens; null if the process ended before. */
  async ready(): Promise<number | null> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(
        () => reject(new Error(`the server is not ready after ${READY_MS} ms\n${this.log}`)),
        READY_MS,
      );
    });
    try {
      const found = await Promise.race([this.says(READY), late]);
      return found === null ? null : Number(found[1]);
    } finally {
      clearTimeout(timer);
    }
  }

  /** The port of HTTP, once the wire listens. */
  get http(): number {
    return Number(READY.exec(this.output)?.[2]);
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

  /** The text of the next notice. */
  async notice(): Promise<string> {
    const [{ message }] = await once(this.#client, 'notice');
    return message;
  }

  async end(): Promise<void> {
    await this.#client.end().catch(() => undefined);
  }
}

/** An error that the server sent; any other means that its answer is not known. */
export const isAnswer = (e: unknown): e is pg.DatabaseError => e instanceof pg.DatabaseError;
