/**
 * A database in this process behind its Postgres port, for tests that come in by the door that users take. One a file: tests in it
 * share the server, so each makes names of its own.
 */
import { after } from 'node:test';
import pg from 'pg';
import type { Environment } from '../../packages/tidemark/src/adapter/environment.ts';
import { wireBackend } from '../../packages/tidemark/src/adapter/wire-backend.ts';
import { type Logger, silentLogger } from '../../packages/tidemark/src/base/clock.ts';
import { openEnvironment } from '../../packages/tidemark/src/host/open-environment.ts';
import { listenPg } from '../../packages/tidemark/src/host/pg-server.ts';

export interface WireDatabase {
  readonly env: Environment;
  readonly port: number;
  /** A connected client, ended with the file. */
  client(config?: pg.ClientConfig): Promise<pg.Client>;
  /** Called before the server closes. */
  onClose(f: () => Promise<unknown>): void;
  close(): Promise<void>;
}

export async function openWireDatabase(
  options: {
    readonly logger?: Logger;
    readonly dataDir?: string;
    readonly workers?: 'inline' | 'threads';
  } = {},
): Promise<WireDatabase> {
  const { logger = silentLogger } = options;
  const opened = await openEnvironment({ workers: 'inline', logger, ...options });
  const server = await listenPg({
    host: '127.0.0.1',
    port: 0,
    backend: wireBackend(opened.env),
    auth: { kind: 'trust' },
    logger,
  });
  const closers: (() => Promise<unknown>)[] = [];
  return {
    env: opened.env,
    port: server.port,
    async client(config = {}) {
      const client = new pg.Client({ ...connection(server.port), ...config });
      client.on('error', () => {});
      await client.connect();
      closers.push(() => client.end());
      return client;
    },
    onClose: (f) => void closers.push(f),
    async close() {
      for (const f of closers) await f().catch(() => {});
      await server.close();
      await opened.close();
    },
  };
}

/** Opened now, closed when the file's tests are done. */
export async function wireDatabase(): Promise<WireDatabase> {
  const db = await openWireDatabase();
  after(() => db.close());
  return db;
}

export const connection = (
  port: number,
): { readonly host: string; readonly port: number; readonly user: string; readonly database: string } => ({
  host: '127.0.0.1',
  port,
  user: 'ada',
  database: 'tidemark',
});

/** What a query answers, as rows of values. */
export async function rowsOf(
  client: pg.ClientBase,
  text: string,
  values: readonly unknown[] = [],
): Promise<unknown[][]> {
  const r = await client.query({ text, values: [...values], rowMode: 'array' });
  return r.rows as unknown[][];
}

/** The error that a query ends with. */
export async function errorOf(run: Promise<unknown>): Promise<pg.DatabaseError> {
  try {
    await run;
  } catch (error) {
    if (error instanceof pg.DatabaseError) return error;
    throw error;
  }
  throw new Error('the statement was accepted');
}
