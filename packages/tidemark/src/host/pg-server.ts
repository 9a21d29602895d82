/**
 * The Postgres protocol on a TCP port: sockets, TLS, limits and timers around `pgwire`'s connections.
 *
 * A flush of a connection is one `socket.write`, with Nagle's delay off: a point read is one packet each way. Keepalive finds
 * clients whose machine is gone. A socket that was ended and whose client does not close is destroyed.
 */
import { createServer, type Socket } from 'node:net';
import { createSecureContext, type SecureContext, type SecureContextOptions, TLSSocket } from 'node:tls';
import type { Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { Backend } from '../pgwire/backend.ts';
import { CancelRegistry } from '../pgwire/cancel-registry.ts';
import { adminShutdown, Connection } from '../pgwire/connection.ts';
import type { Auth } from '../pgwire/startup.ts';
import type { Transport } from '../pgwire/wire-stream.ts';
import { type BoundAddress, bindServer } from './listen.ts';
import { secureRandom } from './scram-auth.ts';

/** Idle time before the first keepalive probe. */
const KEEPALIVE_MS = 30_000;
/** How long an ended socket waits for its client to close. */
const LINGER_MS = 2_000;
const AUTHENTICATION_TIMEOUT_MS = 60_000;
const MAX_CONNECTIONS = 1_000;
/** Sockets over the limit that may wait for authentication, cancel something, or be told that the server is full. */
const SPARE_SOCKETS = 64;

export interface PgTls extends SecureContextOptions {
  /** Refuses clients that do not ask for TLS. */
  readonly required?: boolean;
}

export interface ListenPgOptions extends BoundAddress {
  readonly backend: Backend;
  /** One rule for all, or by the client's address (loopback trusted, say). */
  readonly auth: Auth | ((peer: string) => Auth);
  readonly tls?: PgTls | undefined;
  readonly logger: Logger;
  readonly maxConnections?: number | undefined;
  readonly authenticationTimeoutMs?: number | undefined;
  /** Shared by several listeners of one environment, so that any of them takes a cancel request. */
  readonly registry?: CancelRegistry | undefined;
}

export interface PgServer extends BoundAddress {
  /** Ends every session with 57P01; resolves when all sockets are closed. Idempotent. */
  close(): Promise<void>;
}

/** A socket as the wire wants it. */
class SocketTransport implements Transport {
  #socket: Socket;
  readonly #raw: Socket;
  readonly #connection: () => Connection;
  #drained: PromiseWithResolvers<void> | null = null;
  readonly startTls?: () => Promise<void>;

  constructor(socket: Socket, connection: () => Connection, context: SecureContext | null) {
    this.#raw = this.#socket = socket;
    this.#connection = connection;
    if (context !== null) this.startTls = () => this.#upgrade(context);
    this.#attach(socket);
  }

  write(bytes: Uint8Array): Promise<void> | undefined {
    if (this.#socket.destroyed || this.#socket.write(bytes)) return undefined;
    this.#drained ??= Promise.withResolvers<void>();
    return this.#drained.promise;
  }

  pause(): void {
    this.#socket.pause();
  }

  resume(): void {
    this.#socket.resume();
  }

  end(): void {
    this.#socket.end();
    // Input is read on and dropped: closing over unread bytes would reset the connection and lose the last error.
    this.#socket.resume();
    const linger = setTimeout(() => this.#raw.destroy(), LINGER_MS);
    this.#raw.once('close', () => clearTimeout(linger));
  }

  turn(): Promise<void> {
    return new Promise((resolve) => setImmediate(resolve));
  }

  #attach(socket: Socket): void {
    socket.on('data', (chunk: Uint8Array) => this.#connection().receive(chunk));
    socket.on('drain', () => this.#settle());
    // A client that closed its half is gone, though it might still read: nobody could tell it from a dead one.
    socket.on('end', () => {
      this.#gone();
      this.end();
    });
    socket.on('close', () => this.#gone());
    // 'close' follows; the error itself (a reset) is the client's affair.
    socket.on('error', () => this.#raw.destroy());
  }

  #gone(): void {
    this.#connection().disconnected();
    this.#settle();
  }

  #settle(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  #upgrade(secureContext: SecureContext): Promise<void> {
    this.#raw.removeAllListeners('data');
    const secure = new TLSSocket(this.#raw, { isServer: true, secureContext });
    this.#socket = secure;
    this.#attach(secure);
    return new Promise((resolve, reject) => {
      secure.once('secure', resolve);
      secure.once('close', () => reject(new Error('the TLS handshake failed')));
    });
  }
}

/** Listens until `close`. */
export async function listenPg(options: ListenPgOptions): Promise<PgServer> {
  const { logger, maxConnections = MAX_CONNECTIONS } = options;
  const registry = options.registry ?? new CancelRegistry(secureRandom);
  const context = options.tls === undefined ? null : createSecureContext(options.tls);
  const open = new Map<Socket, Connection>();
  let admitted = 0;

  const accept = (socket: Socket): void => {
    if (open.size >= maxConnections + SPARE_SOCKETS) {
      socket.destroy();
      return;
    }
    const peer = socket.remoteAddress ?? '';
    let counted = false;
    const connection: Connection = new Connection({
      transport: new SocketTransport(socket, () => connection, context),
      backend: options.backend,
      registry,
      auth: typeof options.auth === 'function' ? options.auth(peer) : options.auth,
      requireTls: options.tls?.required ?? false,
      admit: () => {
        if (admitted >= maxConnections)
          throw new SqlError('too_many_connections', 'sorry, too many clients already');
        counted = true;
        admitted++;
      },
      peer,
      logger,
    });
    open.set(socket, connection);
    const timeout = setTimeout(() => {
      if (connection.authenticated) return;
      connection.terminate(new SqlError('query_canceled', 'canceling authentication due to timeout'));
    }, options.authenticationTimeoutMs ?? AUTHENTICATION_TIMEOUT_MS);
    socket.once('close', () => {
      clearTimeout(timeout);
      open.delete(socket);
      if (counted) admitted--;
    });
    void connection.run();
  };

  const server = createServer(
    { noDelay: true, keepAlive: true, keepAliveInitialDelay: KEEPALIVE_MS },
    accept,
  );
  const bound = await bindServer(server, options);
  server.on('error', (error) => logger.error({ error }, 'the Postgres port failed'));
  const closed = new Promise<void>((resolve) => server.once('close', () => resolve()));
  return {
    ...bound,
    close() {
      server.close();
      for (const connection of open.values()) connection.terminate(adminShutdown());
      return closed;
    },
  };
}
