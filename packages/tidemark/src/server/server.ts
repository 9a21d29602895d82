/** The server: an environment, reached over the Postgres wire and HTTP. */
import { probeReadiness } from '../adapter/readiness.ts';
import { statusReport } from '../adapter/status.ts';
import { wireBackend } from '../adapter/wire-backend.ts';
import type { Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import { countBuffersInHeapLimits } from '../host/heap-policy.ts';
import { listenHttp } from '../host/http-server.ts';
import type { BoundAddress } from '../host/listen.ts';
import { type OpenedEnvironment, openEnvironment } from '../host/open-environment.ts';
import { listenPg } from '../host/pg-server.ts';
import { scramAuth } from '../host/scram-auth.ts';
import { createHttpApp, type Readiness as HttpReadiness, type ReadinessQuery } from '../http/app.ts';
import { leaderDeps } from './leader.ts';
import { missingBody } from './missing.ts';

export interface ServerOptions {
  /** Null: in memory. */
  readonly dataDir: string | null;
  readonly listen: BoundAddress;
  readonly http: BoundAddress;
  /** Workers of the default cluster, where it is made now. */
  readonly defaultWorkers?: number;
  /** Of user `tidemark`; required off loopback. */
  readonly password?: string;
  /** Who sends it over HTTP may promote this process; without one nobody may off loopback. */
  readonly token?: string | undefined;
  /** Stands by for the process that leads, until it is promoted. */
  readonly readOnly?: boolean;
  /** Addresses of its own replicas, by `cluster.replica`. */
  readonly replicas?: ReadonlyMap<string, string>;
  /** Shown to replicas in processes of their own. */
  readonly replicaToken?: string;
  readonly logger: Logger;
  readonly onFenced: (error: Error) => void;
}

export interface RunningServer {
  readonly pg: BoundAddress;
  readonly http: BoundAddress;
  readonly opened: OpenedEnvironment;
  close(): Promise<void>;
}

const LOOPBACK = /^(127\.\d+\.\d+\.\d+|localhost|::1)$/;

export async function startServer(o: ServerOptions): Promise<RunningServer> {
  const { logger } = o;
  countBuffersInHeapLimits();
  const open = !LOOPBACK.test(o.listen.host);
  if (open && o.password === undefined)
    throw new SqlError(
      'invalid_authorization_specification',
      `listening on ${o.listen.host} requires a password`,
      {
        hint: 'set TIDEMARK_PASSWORD; the user is tidemark',
      },
    );
  const auth =
    o.password === undefined ? ({ kind: 'trust' } as const) : await scramAuth({ tidemark: o.password });
  const opened = await openEnvironment({
    ...(o.dataDir !== null && { dataDir: o.dataDir }),
    ...(o.defaultWorkers !== undefined && { defaultWorkers: o.defaultWorkers }),
    ...(o.readOnly !== undefined && { readOnly: o.readOnly }),
    ...(o.replicas !== undefined && { replicas: o.replicas }),
    ...(o.replicaToken !== undefined && { replicaToken: o.replicaToken }),
    logger,
    onFenced: o.onFenced,
  });
  const closing: { close(): Promise<void> }[] = [opened];
  const close = async (): Promise<void> => {
    const [environment, ...listeners] = closing.splice(0);
    await Promise.all(listeners.map((l) => l.close()));
    await environment?.close();
  };
  try {
    const pg = await listenPg({ ...o.listen, backend: wireBackend(opened.env), auth, logger });
    closing.push(pg);
    const leader = leaderDeps(opened.env, { token: o.token, open: LOOPBACK.test(o.http.host) });
    const app = createHttpApp({
      readiness: (query) => httpReadiness(opened, query),
      status: (query) => statusReport(opened.env, query),
      leader,
      logger,
    });
    const http = await listenHttp({ ...o.http, app, logger });
    closing.push(http);
    return {
      pg: { host: pg.host, port: pg.port },
      http: { host: http.host, port: http.port },
      opened,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function httpReadiness({ env }: OpenedEnvironment, query: ReadinessQuery): Promise<HttpReadiness> {
  const { missing, ...rest } = await probeReadiness(env, query);
  return {
    ...rest,
    missing: missing.map(missingBody),
  };
}
