/** An HTTP application on a TCP port, with the conventions of `pg-server.ts`. */
import type { Server } from 'node:http';
import { createAdaptorServer } from '@hono/node-server';
import type { Logger } from '../base/clock.ts';
import type { HttpApp } from '../http/app.ts';
import { type BoundAddress, bindServer } from './listen.ts';

/** How long running requests may take to end when the server closes. */
const LINGER_MS = 2_000;

export interface ListenHttpOptions extends BoundAddress {
  readonly app: HttpApp;
  readonly logger: Logger;
}

export interface HttpServer extends BoundAddress {
  /** Takes no more requests, lets running ones end for two seconds; resolves when all sockets are closed. Idempotent. */
  close(): Promise<void>;
}

/** Listens until `close`; port 0 takes a free one. */
export async function listenHttp({ host, port, app, logger }: ListenHttpOptions): Promise<HttpServer> {
  const server = createAdaptorServer({ fetch: (request) => app.fetch(request) }) as Server;
  const bound = await bindServer(server, { host, port });
  server.on('error', (error) => logger.error({ error }, 'the HTTP port failed'));
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()));
  return {
    ...bound,
    close() {
      if (!server.listening) return closed;
      // Also closes connections that wait for a next request.
      server.close();
      const linger = setTimeout(() => server.closeAllConnections(), LINGER_MS);
      server.once('close', () => clearTimeout(linger));
      return closed;
    },
  };
}
