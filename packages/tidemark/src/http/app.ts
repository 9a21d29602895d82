/**
 * The HTTP interface, as a plain `fetch` handler that any host or a user's own server can mount:
 *
 *   GET /api/livez    200 while the process answers at all: says nothing of data, so that a restoring process is not killed
 *   GET /api/readyz   200 or 503 with what is missing and why: `cluster`, `stable_for`, `max_lag`
 *   /api/leader/…     which generation this is, and its promotion: see `leader.ts`
 *   GET /api/status   where each object stands on each replica, and how long each part of its life took: `cluster`
 *
 * Every answer is JSON, errors too: `{ "error": { "code", "message", … } }`. A parameter that is not known is refused, but for
 * liveness: a misspelt `stable_for` would otherwise pass for readiness.
 */
import { type Context, Hono } from 'hono';
import type { StatusReport } from '../adapter/status.ts';
import type { Logger } from '../base/clock.ts';
import { type ErrorCode, SqlError } from '../base/error.ts';
import { DURATION_UNITS, parseDurationMs } from './duration.ts';
import { type LeaderDeps, leaderRoutes } from './leader.ts';
import { invalid, parameters } from './parameters.ts';

export interface ReadinessQuery {
  /** All clusters if absent. */
  readonly cluster?: string;
  /** The defaults of these two are the engine's. */
  readonly stableForMs?: number;
  readonly maxLagMs?: number;
}

/** One object that is not ready on one replica, or the replica itself: as a row of `mz_hydration_blockers`. */
export interface MissingObject {
  readonly objectId: string | null;
  readonly name: string | null;
  readonly clusterId: string;
  readonly replicaId: string | null;
  /** `cluster.replica`. */
  readonly replica: string | null;
  /** The last stage of its life that all workers reached. */
  readonly stage: string | null;
  readonly reason: string;
  /** ISO 8601. */
  readonly since: string | null;
  readonly blockedBy: string | null;
  readonly blockedByName: string | null;
  readonly details: Readonly<Record<string, string | number | null>> | null;
}

export interface Readiness {
  readonly ready: boolean;
  /** Empty exactly if ready. */
  readonly missing: readonly MissingObject[];
  /** Names of clusters that have no replica, and so keep nobody waiting. */
  readonly clustersWithoutReplica: readonly string[];
}

export interface HttpDeps {
  readiness(query: ReadinessQuery): Promise<Readiness>;
  readonly leader: LeaderDeps;
  status(query: Pick<ReadinessQuery, 'cluster'>): Promise<StatusReport>;
  readonly logger: Logger;
}

/** What answers requests; Hono's application is one. */
export interface HttpApp {
  fetch(request: Request): Response | Promise<Response>;
}

/** Conditions with a status of their own; any other error of a user is a 400. */
const STATUS: Partial<Record<ErrorCode, 404 | 503>> = {
  undefined_object: 404,
  cannot_connect_now: 503,
  admin_shutdown: 503,
};

const READINESS_PARAMETERS = ['cluster', 'stable_for', 'max_lag'] as const;
type ReadinessParameter = (typeof READINESS_PARAMETERS)[number];
const STATUS_PARAMETERS = ['cluster'] as const;

function clusterOf(given: { readonly cluster?: string }): { readonly cluster?: string } {
  if (given.cluster === '')
    throw invalid('parameter "cluster" is empty', 'leave it out to ask for all clusters');
  return given.cluster === undefined ? {} : { cluster: given.cluster };
}

function readinessQuery(c: Context): ReadinessQuery {
  const given = parameters(c, READINESS_PARAMETERS);
  const duration = (name: ReadinessParameter): number | undefined => {
    const text = given[name];
    if (text === undefined) return undefined;
    const ms = parseDurationMs(text);
    if (ms !== null) return ms;
    const hint = `a number and one of ${DURATION_UNITS.join(', ')}, as in 10s or 500ms`;
    throw invalid(`parameter "${name}" is not a duration: "${text}"`, hint);
  };
  const stableForMs = duration('stable_for');
  const maxLagMs = duration('max_lag');
  return {
    ...clusterOf(given),
    ...(stableForMs === undefined ? {} : { stableForMs }),
    ...(maxLagMs === undefined ? {} : { maxLagMs }),
  };
}

function errorBody(error: SqlError): object {
  const { detail, hint } = error;
  return { error: { code: error.sqlstate, message: error.message, detail, hint } };
}

/** The routes over what the engine answers. */
export function createHttpApp({ readiness, status, leader, logger }: HttpDeps): HttpApp {
  const app = new Hono();
  app.use(async (c, next) => {
    await next();
    c.header('cache-control', 'no-store');
  });
  app.get('/api/livez', (c) => c.json({ status: 'live' }));
  app.get('/api/readyz', async (c) => {
    const answer = await readiness(readinessQuery(c));
    return c.json(answer, answer.ready ? 200 : 503);
  });
  leaderRoutes(app, leader);
  app.get('/api/status', async (c) => c.json(await status(clusterOf(parameters(c, STATUS_PARAMETERS)))));
  app.notFound((c) => {
    const what = `there is no ${c.req.method} ${c.req.path}`;
    return c.json(errorBody(new SqlError('undefined_object', what)), 404);
  });
  app.onError((error, c) => {
    if (error instanceof SqlError) return c.json(errorBody(error), STATUS[error.code] ?? 400);
    logger.error({ error, path: c.req.path }, 'a request failed through a fault of the server');
    return c.json(errorBody(new SqlError('internal_error', `internal error: ${error.message}`)), 500);
  });
  return { fetch: (request) => app.fetch(request) };
}
