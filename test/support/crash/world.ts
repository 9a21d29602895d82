/** One run: a data directory that survives, servers that do not, and who writes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { DdlWriter } from './ddl-writer.ts';
import type { Random } from './random.ts';
import { Client, ServerProcess } from './server-process.ts';
import { type Verified, verify } from './verify.ts';
import { MAINTAINED, setupStatements } from './views.ts';
import { COLUMNS, TABLES, Writer } from './writer.ts';

const DATA = new URL('../../../node_modules/vega-datasets/data/', import.meta.url);
export const LARGE_FILE = fileURLToPath(new URL('flights-200k.json', DATA));
const FLIGHTS = fileURLToPath(new URL('flights-10k.json', DATA));
const WRITERS = 3;

export class World implements Verified {
  readonly path: string;
  readonly random: Random;
  readonly writers: readonly Writer[];
  readonly ddl: DdlWriter;
  readonly views: Set<string> = new Set();
  server!: ServerProcess;
  port = 0;

  private constructor(path: string, random: Random) {
    this.path = path;
    this.random = random;
    this.writers = Array.from({ length: WRITERS }, (_, i) => new Writer(i + 1, random.fork()));
    this.ddl = new DdlWriter(random.fork(), { csv: join(path, 'small.csv') });
  }

  static async create(random: Random): Promise<World> {
    const path = await mkdtemp(join(tmpdir(), 'tidemark-crash-'));
    const lines = Array.from({ length: 3000 }, (_, i) => `${i},"name, ${i % 7}",${i / 4}`);
    await writeFile(join(path, 'small.csv'), `id,name,amount\n${lines.join('\n')}\n`);
    const world = new World(path, random);
    try {
      await world.start();
      await world.#setUp();
      return world;
    } catch (e) {
      await world.remove();
      throw e;
    }
  }

  get dataDir(): string {
    return join(this.path, 'data');
  }

  /** Starts a server and waits until it listens. */
  async start(): Promise<void> {
    this.spawn();
    const port = await this.server.ready();
    if (port === null)
      throw new Error(`the server ended at its start\n${this.server.output}${this.server.log}`);
    this.port = port;
  }

  spawn(): void {
    this.server = new ServerProcess(this.dataDir);
  }

  async #setUp(): Promise<void> {
    await this.withClient(async (c) => {
      for (const t of TABLES) await c.query(`CREATE TABLE ${t} (${COLUMNS})`);
      for (const sql of setupStatements({ flights: FLIGHTS })) await c.query(sql);
    });
  }

  async withClient<T>(f: (client: Client) => Promise<T>): Promise<T> {
    const client = new Client(this.port);
    try {
      return await f(client);
    } finally {
      await client.end();
    }
  }

  /** Creates the maintained views that are not there. */
  async createViews(): Promise<void> {
    await this.withClient(async (c) => {
      const { rows } = await c.query('SELECT name FROM mz_materialized_views');
      const there = new Set(rows.map(([n]) => n!));
      for (const v of MAINTAINED) {
        if (!there.has(v.name)) await c.query(v.create);
        this.views.add(v.name);
      }
    });
  }

  /** Which of them stand, after a crash in the middle of their creation. */
  async readViews(): Promise<void> {
    const { rows } = await this.withClient((c) => c.query('SELECT name FROM mz_materialized_views'));
    const there = new Set(rows.map(([n]) => n!));
    for (const v of this.views) if (!there.has(v)) throw new Error(`materialized view ${v} is gone`);
    for (const v of MAINTAINED) if (there.has(v.name)) this.views.add(v.name);
  }

  async verify(): Promise<void> {
    await this.readViews();
    await verify(this.server, this.port, this);
  }

  async remove(): Promise<void> {
    await this.server.kill();
    await rm(this.path, { recursive: true, force: true });
  }
}
