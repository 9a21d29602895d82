/**
 * The library: an environment inside this process.
 *
 *     const db = await open({ memory: true });
 *     await db.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
 *     const { rows } = await db.query('SELECT a FROM t WHERE a = $1', [1]);
 *     await db.close();
 */

import type { Environment } from '../adapter/environment.ts';
import { lifecycleEvents } from '../adapter/lifecycle-feed.ts';
import { type LeaderStatus, leaderStatus, promote } from '../adapter/promotion.ts';
import {
  awaitReadiness,
  describeMissing,
  type Missing,
  type ReadinessOptions,
} from '../adapter/readiness.ts';
import { nextRows, type Result } from '../adapter/results.ts';
import { Session } from '../adapter/session.ts';
import type { Logger } from '../base/clock.ts';
import { SqlError, unsupported } from '../base/error.ts';
import { type OpenedEnvironment, openEnvironment } from '../host/open-environment.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import { SqlArray, SqlList } from '../repr/array.ts';
import type { Batch } from '../repr/batch.ts';
import { parseText, textOf } from '../repr/format.ts';
import { type Json, JsonNumber, JsonObject, parseJson } from '../repr/json-parse.ts';
import { expandedRows } from '../repr/rows.ts';
import { type Datum, type RelationDesc, type SqlType, typeToString } from '../repr/types.ts';
import { parseStatement, parseStatements } from '../sql/parse.ts';

export interface OpenOptions {
  /** Everything in memory, gone at the end. Either this or `dataDir`. */
  readonly memory?: boolean;
  /** A directory of its own; made if it is missing. One process at a time opens it. */
  readonly dataDir?: string;
  /** Stands by for the process that has the directory open, and reads; it writes once it is promoted (`promote`). */
  readonly readOnly?: boolean;
  /**
   * Of one that stands by: addresses of its own replicas, by `cluster.replica`, for those that run in processes of their own. They take
   * the place of the leader's when this one is promoted.
   */
  readonly replicas?: Readonly<Record<string, string>>;
  /** Another process has taken over, and this database answers no more: close it. */
  readonly onFenced?: (error: Error) => void;
  /** `threads` (default): each worker on a thread of its own. `inline`: on this one. */
  readonly workers?: 'threads' | 'inline';
  readonly logger?: Logger;
}

export interface Field {
  readonly name: string;
  /** As SQL writes it. */
  readonly type: string;
}

export interface QueryResult {
  /** What was done, as PostgreSQL's command tags say it: `SELECT 3`, `INSERT 0 1`. */
  readonly command: string;
  /** Empty for statements without rows. */
  readonly fields: readonly Field[];
  readonly rows: readonly Record<string, unknown>[];
  /** The same by position: columns may share a name, and then an object holds the last one only. */
  readonly values: readonly (readonly unknown[])[];
}

export interface LifecycleEventInfo {
  readonly objectId: string;
  readonly replicaId: string;
  readonly worker: number;
  readonly event: LifecycleStage;
  /** Microseconds since the Unix epoch, by the worker's clock. */
  readonly occurredAt: number;
  readonly reason: string | null;
  readonly asOf: number;
}

/** What `ready` says when time is up. */
export class NotReadyError extends Error {
  override readonly name = 'NotReadyError';
  readonly missing: readonly Missing[];

  constructor(missing: readonly Missing[]) {
    super(`not ready: ${missing.map(describeMissing).join('; ')}`);
    this.missing = missing;
  }
}

export async function open(options: OpenOptions = {}): Promise<Database> {
  if (options.memory === true && options.dataDir !== undefined)
    throw new SqlError('invalid_parameter_value', 'a database is in memory or in a data directory, not both');
  if (options.memory !== true && options.dataDir === undefined)
    throw new SqlError(
      'invalid_parameter_value',
      'say where the data lives: { memory: true } or { dataDir }',
    );
  return new Database(
    await openEnvironment({
      ...(options.dataDir !== undefined && { dataDir: options.dataDir }),
      ...(options.readOnly !== undefined && { readOnly: options.readOnly }),
      ...(options.replicas !== undefined && { replicas: new Map(Object.entries(options.replicas)) }),
      ...(options.onFenced !== undefined && { onFenced: options.onFenced }),
      ...(options.workers !== undefined && { workers: options.workers }),
      ...(options.logger !== undefined && { logger: options.logger }),
    }),
  );
}

let sessions = 0;

export class Database {
  readonly #opened: OpenedEnvironment;
  readonly #session: Session;
  readonly #ended = new AbortController();
  #queue: Promise<unknown> = Promise.resolve();

  constructor(opened: OpenedEnvironment) {
    this.#opened = opened;
    this.#session = newSession(opened.env);
  }

  /** One statement. Calls run one after another, in one session. */
  query(sql: string, params: readonly unknown[] = []): Promise<QueryResult> {
    return this.#inTurn(async () => {
      const statements = this.#opened.env.plans.parse(sql);
      if (statements.length !== 1)
        throw new SqlError('syntax_error', `query takes one statement, not ${statements.length}`, {
          hint: 'use exec for several',
        });
      const { statement } = statements[0]!;
      this.#session.prepared.delete('');
      const { paramTypes } = this.#session.prepare('', statement);
      if (paramTypes.length !== params.length)
        throw new SqlError(
          'undefined_parameter',
          `the statement has ${paramTypes.length} parameters, ${params.length} values were given`,
        );
      const values = params.map((p, i) => parameter(p, paramTypes[i]!));
      return toResult(await this.#session.execute(statement, { types: paramTypes, values }));
    });
  }

  /** Any number of statements; gives the last one's result. */
  exec(sql: string): Promise<QueryResult> {
    return this.#inTurn(async () => {
      let last: QueryResult = nothing('');
      for (const { statement } of parseStatements(sql))
        last = toResult(await this.#session.execute(statement));
      return last;
    });
  }

  /**
   * The changes of a maintained query, as they happen, in a session of its own. `sql` is a SUBSCRIBE; each item is one of its rows, with
   * `mz_timestamp` and `mz_diff` as numbers.
   *
   *     for await (const { mz_timestamp, mz_diff, a } of db.subscribe('SUBSCRIBE t', { signal })) …
   *
   * It ends at `UP TO`, when the loop is left, or quietly when `signal` aborts or the database closes; and with an error when what it
   * reads is dropped or fails. A loop that takes too long over an item falls behind what happens: past a bound that is an error.
   */
  async *subscribe(
    sql: string,
    options: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<Record<string, unknown>> {
    const signal = AbortSignal.any([this.#ended.signal, ...(options.signal ? [options.signal] : [])]);
    if (signal.aborted) return;
    const { env } = this.#opened;
    const session = newSession(env);
    for (const name of ['database', 'search_path', 'cluster', 'cluster_replica'] as const)
      session.settings.set(name, [this.#session.settings.get(name)]);
    const stop = (): void => session.cancel();
    try {
      const result = await session.execute(parseStatement(sql));
      if (result.kind !== 'stream')
        throw new SqlError('wrong_object_type', 'subscribe takes a SUBSCRIBE statement', {
          hint: 'e.g. SUBSCRIBE t, or SUBSCRIBE (SELECT …); everything else is for query',
        });
      signal.addEventListener('abort', stop);
      const { columns } = result.desc;
      for (let b = await nextRows(result.rows); b !== null; b = await nextRows(result.rows))
        yield* changes(columns, b);
    } catch (error) {
      if (!signal.aborted) throw error;
    } finally {
      signal.removeEventListener('abort', stop);
      session.close();
    }
  }

  #inTurn<T>(f: () => Promise<T>): Promise<T> {
    const run = this.#queue.then(async () => {
      if (this.#ended.signal.aborted) throw new SqlError('admin_shutdown', 'the database is closed');
      try {
        return await f();
      } catch (error) {
        this.#session.fail();
        throw error;
      }
    });
    this.#queue = run.catch(() => undefined);
    return run;
  }

  /**
   * Resolves when every replica (of the cluster) is hydrated, has been for `stableForMs` (10 s) if it was lost before, and is within
   * `maxLagMs` (1 s) of what it reads; rejects with what is missing when time is up.
   */
  async ready(options: ReadinessOptions & { readonly timeoutMs?: number } = {}): Promise<void> {
    const { signal } = this.#ended;
    if (signal.aborted) throw new SqlError('admin_shutdown', 'the database is closed');
    for (const name of ['stableForMs', 'maxLagMs', 'timeoutMs'] as const) {
      const ms: unknown = options[name];
      if (ms !== undefined && !(typeof ms === 'number' && ms >= 0))
        throw new SqlError('invalid_parameter_value', `${name} is a number of milliseconds, 0 or more`);
    }
    const { ready, missing } = await awaitReadiness(this.#opened.env, { ...options, signal });
    if (!ready) throw new NotReadyError(missing);
  }

  /** Lifecycle events of users' objects: past ones of living objects first, then each new one. */
  async *lifecycle(
    options: { readonly object?: string; readonly cluster?: string } = {},
  ): AsyncGenerator<LifecycleEventInfo> {
    const { env } = this.#opened;
    const { settings } = this.#session;
    const names = { database: settings.get('database'), searchPath: settings.list('search_path') };
    const item =
      options.object === undefined ? undefined : env.catalog.resolve(options.object.split('.'), names);
    if (options.object !== undefined && item === undefined)
      throw new SqlError('undefined_table', `relation "${options.object}" does not exist`);
    const cluster = options.cluster === undefined ? undefined : env.catalog.cluster(options.cluster);
    if (options.cluster !== undefined && cluster === undefined)
      throw new SqlError('undefined_object', `unknown cluster '${options.cluster}'`);
    const filter = { ...(item && { objectId: item.id }), ...(cluster && { clusterId: cluster.id }) };
    for await (const { stage, ...e } of lifecycleEvents(env, filter, this.#ended.signal))
      yield { ...e, event: stage };
  }

  /** Whether this process leads or stands by, and what it still lacks to be promoted. */
  leaderStatus(): LeaderStatus {
    return leaderStatus(this.#opened.env);
  }

  /**
   * Takes over from the process that leads, which is fenced and stops; resolves once writes are accepted here. Rejects while this
   * one is not caught up, unless forced. Of a leader it asks nothing.
   */
  promote(options: { readonly force?: boolean } = {}): Promise<void> {
    return promote(this.#opened.env, options);
  }

  /** Ends everything; what was acknowledged is durable. */
  async close(): Promise<void> {
    if (this.#ended.signal.aborted) return;
    this.#ended.abort();
    this.#session.cancel();
    await this.#queue;
    this.#session.close();
    await this.#opened.close();
  }
}

const newSession = (env: Environment): Session =>
  new Session({
    env,
    user: 'tidemark',
    database: 'tidemark',
    sessionId: ++sessions,
    notice: () => undefined,
  });

/** By the parameter's type, from its text form; objects for jsonb and Dates as their ISO text. */
function parameter(value: unknown, type: SqlType): Datum {
  if (value === null || value === undefined) return null;
  if (typeof value === 'string') return parseText(type, value);
  if (value instanceof Date) return parseText(type, value.toISOString());
  if (value instanceof Uint8Array) return value;
  if (Array.isArray(value) && type.name === 'array')
    return SqlArray.of(value.map((v) => parameter(v, type.elem!)));
  if (typeof value === 'object') return parseText(type, JSON.stringify(value));
  return parseText(type, String(value));
}

function* changes(columns: RelationDesc['columns'], rows: Batch): Iterable<Record<string, unknown>> {
  const types = columns.map((c) => c.type);
  for (const row of expandedRows(types, rows)) {
    const out: Record<string, unknown> = {};
    for (const [i, c] of columns.entries()) {
      const value = toValue(row[i]!, types[i]!);
      out[c.name] = (i === 0 || c.name === 'mz_diff') && value !== null ? Number(value) : value;
    }
    yield out;
  }
}

const nothing = (command: string): QueryResult => ({ command, fields: [], rows: [], values: [] });

function toResult(r: Result): QueryResult {
  if (r.kind === 'stream') {
    r.rows.close();
    if (r.copy === null) throw unsupported('SUBSCRIBE in query and exec', { hint: 'use subscribe' });
    throw unsupported('COPY … TO STDOUT in query and exec', { hint: 'SELECT the rows, or COPY … TO a file' });
  }
  if (r.kind === 'command') return nothing(r.tag);
  const { columns } = r.desc;
  const types = columns.map((c) => c.type);
  const values = Array.from(expandedRows(types, r.rows), (row) => row.map((d, i) => toValue(d, types[i]!)));
  return {
    command: r.tag(values.length),
    fields: columns.map((c) => ({ name: c.name, type: typeToString(c.type) })),
    rows: values.map((row) => Object.fromEntries(row.map((v, i) => [columns[i]!.name, v]))),
    values,
  };
}

/**
 * Booleans, numbers (int2, int4, floats, oid, mz_timestamp), bigint (int8, uint8), strings, Uint8Array, parsed jsonb, arrays. What
 * JavaScript has no exact type for (numeric, dates and times, intervals) comes as PostgreSQL's text.
 */
function toValue(d: Datum, type: SqlType): unknown {
  if (d === null) return null;
  if (type.name === 'jsonb') return jsonValue(parseJson(d as string));
  if (d instanceof SqlArray || d instanceof SqlList) return d.items.map((i) => toValue(i, type.elem!));
  if (TEXTUAL.has(type.name) || (typeof d === 'object' && !(d instanceof Uint8Array))) return textOf(type, d);
  return d;
}
/** Not JSON.parse: in Node 24 it may give an object the key of an earlier one, where both hold escapes. */
function jsonValue(j: Json): unknown {
  if (j instanceof JsonNumber) return Number(j.text);
  if (j instanceof JsonObject) return Object.fromEntries(j.keys.map((k, i) => [k, jsonValue(j.values[i]!)]));
  return Array.isArray(j) ? (j as readonly Json[]).map(jsonValue) : j;
}

const TEXTUAL = new Set(['date', 'time', 'timestamp', 'timestamptz']);
