/**
 * The engine as tests want it: one session over an environment in memory, results as PostgreSQL's text, workers on a
 * seeded schedule or on threads. What the engine logs as an error is kept: a worker that failed and was restarted
 * answers correctly, and is a fault all the same.
 */
import { startEnvironment } from '../adapter/boot.ts';
import type { Environment } from '../adapter/environment.ts';
import { whole } from '../adapter/results.ts';
import { Session } from '../adapter/session.ts';
import { assert } from '../base/assert.ts';
import { type Logger, silentLogger } from '../base/clock.ts';
import { ThreadFileReader } from '../host/file-reader.ts';
import { nodeClock, nodeTimers } from '../host/node-clock.ts';
import { openEnvironment } from '../host/open-environment.ts';
import { shardAccess, watchUpper } from '../host/shard-access.ts';
import { MemoryBlob } from '../persist/blob.ts';
import { MemoryConsensus } from '../persist/consensus.ts';
import { Shards } from '../persist/shards.ts';
import { textOf } from '../repr/format.ts';
import { expandedRows } from '../repr/rows.ts';
import type { Row } from '../repr/types.ts';
import { parseStatements } from '../sql/parse.ts';
import { SeededRandom } from './random.ts';
import { SeededReplica } from './seeded-replica.ts';
import { Subscribed } from './subscribed.ts';

/** As PostgreSQL writes it; null is NULL. */
export type TextRow = readonly (string | null)[];

export interface TextResult {
  /** The command tag: `SELECT 3`, `INSERT 0 1`. */
  readonly tag: string;
  readonly rows: readonly TextRow[];
}

export type TestEngineOptions =
  | { readonly workers: 'threads' }
  | {
      readonly workers: 'seeded';
      readonly seed: number;
      /** Runs `f` soon, never before it returns: `setImmediate`. */
      readonly schedule: (f: () => void) => void;
    };

interface Opened {
  readonly env: Environment;
  close(): Promise<void>;
}

export class TestEngine {
  readonly env: Environment;
  /** What was logged as an error, with its stack. */
  readonly faults: readonly string[];
  readonly #opened: Opened;
  readonly #session: Session;
  #sessions = 0;

  private constructor(opened: Opened, faults: readonly string[]) {
    this.env = opened.env;
    this.faults = faults;
    this.#opened = opened;
    this.#session = this.#newSession();
  }

  #newSession(): Session {
    return new Session({
      env: this.env,
      user: 'tidemark',
      database: 'tidemark',
      sessionId: ++this.#sessions,
      notice: () => undefined,
    });
  }

  static async open(options: TestEngineOptions): Promise<TestEngine> {
    const faults: string[] = [];
    const logger: Logger = {
      ...silentLogger,
      error: (fields, message) => {
        const { error } = fields as { readonly error?: unknown };
        faults.push(`${message}: ${error instanceof Error ? error.stack : JSON.stringify(fields)}`);
      },
    };
    const opened =
      options.workers === 'threads'
        ? await openEnvironment({ workers: 'threads', logger })
        : await openSeeded(options, logger);
    return new TestEngine(opened, faults);
  }

  /** Any number of statements; the last one's result. */
  async exec(sql: string): Promise<TextResult> {
    let last: TextResult = { tag: '', rows: [] };
    for (const { statement } of parseStatements(sql))
      try {
        last = textResult(await whole(await this.#session.execute(statement)));
      } catch (error) {
        this.#session.fail();
        throw error;
      }
    return last;
  }

  /** A query's rows as datums. */
  async rows(sql: string): Promise<readonly Row[]> {
    const r = await this.#session.execute(parseStatements(sql)[0]!.statement);
    assert(r.kind === 'rows', 'a query gives rows');
    return [
      ...expandedRows(
        r.desc.columns.map((c) => c.type),
        r.rows,
      ),
    ];
  }

  /** A SUBSCRIBE … WITH (PROGRESS) in a session of its own, on the same cluster. */
  subscribe(sql: string): Promise<Subscribed> {
    const session = this.#newSession();
    session.settings.set('cluster', [this.#session.settings.get('cluster')]);
    return Subscribed.start(session, sql);
  }

  /** The number of columns that a query gives. */
  arity(sql: string): number {
    const { statement } = parseStatements(sql)[0]!;
    this.#session.prepared.delete('');
    return this.#session.prepare('', statement).result!.columns.length;
  }

  async close(): Promise<void> {
    this.#session.close();
    await this.#opened.close();
  }
}

async function openSeeded(
  o: Extract<TestEngineOptions, { workers: 'seeded' }>,
  logger: Logger,
): Promise<Opened> {
  const random = new SeededRandom(o.seed);
  const common = { clock: nodeClock, timers: nodeTimers, random, logger, processTag: 'testkit' };
  const memory = (): Shards =>
    new Shards({ ...common, codec: {}, blob: new MemoryBlob(), consensus: new MemoryConsensus() });
  const stores = { durable: memory(), memory: memory() };
  let incarnation = 0;
  const env = await startEnvironment({
    ...common,
    stores,
    generation: 1,
    start: 1,
    defaultWorkers: 1,
    files: new ThreadFileReader(),
    createReplica: ({ workers }) =>
      new SeededReplica({
        ...common,
        workers,
        shards: shardAccess(stores),
        watch: (shardId, onUpper) => watchUpper(stores, shardId, onUpper),
        incarnation: `${++incarnation}`,
        schedule: o.schedule,
      }),
    onFenced: (error) => logger.error({ error }, 'another process has taken over'),
  });
  return { env, close: () => env.close() };
}

function textResult(r: Awaited<ReturnType<typeof whole>>): TextResult {
  if (r.kind === 'command') return { tag: r.tag, rows: [] };
  const types = r.desc.columns.map((c) => c.type);
  const rows = Array.from(expandedRows(types, r.rows), (row) =>
    row.map((d, i) => (d === null ? null : textOf(types[i]!, d))),
  );
  return { tag: r.tag(rows.length), rows };
}
