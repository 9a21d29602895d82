/**
 * One client of the Postgres protocol, from its first byte to the end of its session, without a socket: the host
 * calls `receive` and `disconnected` and carries out what `Transport` asks.
 *
 * Invariants: `run` never rejects; a backend session that was opened is closed exactly once, at once when the
 * transport is gone, also while a statement of it runs.
 */
import type { Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { Backend, BackendSession, Client, Notice } from './backend.ts';
import type { CancelRegistry } from './cancel-registry.ts';
import { backendKeyData, errorResponse, noticeResponse, parameterStatus, toSqlError } from './replies.ts';
import { Serving } from './serve.ts';
import { type Auth, authenticate, type Negotiated, negotiate } from './startup.ts';
import { Disconnected, type Transport, WireStream } from './wire-stream.ts';

/** Settings that drivers expect at start-up; the session's own values win. */
const PARAMETERS = {
  server_version: '15.0 (Tidemark)',
  server_encoding: 'UTF8',
  client_encoding: 'UTF8',
  DateStyle: 'ISO, MDY',
  IntervalStyle: 'postgres',
  TimeZone: 'UTC',
  integer_datetimes: 'on',
  standard_conforming_strings: 'on',
  is_superuser: 'on',
  default_transaction_read_only: 'off',
  in_hot_standby: 'off',
} as const;

export interface ConnectionOptions {
  readonly transport: Transport;
  readonly backend: Backend;
  readonly registry: CancelRegistry;
  readonly auth: Auth;
  /** Refuses clients that did not ask for TLS. */
  readonly requireTls: boolean;
  /** Throws for an authenticated client that is one too many. */
  readonly admit: () => void;
  /** The client's address. */
  readonly peer: string;
  readonly logger: Logger;
}

export class Connection implements Client {
  readonly #options: ConnectionOptions;
  readonly #wire: WireStream;
  #session: BackendSession | null = null;
  #serving: Serving | null = null;
  #authenticated = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#wire = new WireStream(options.transport);
  }

  /** False while the client may be anyone. */
  get authenticated(): boolean {
    return this.#authenticated;
  }

  receive(chunk: Uint8Array): void {
    this.#wire.receive(chunk);
  }

  /** The transport is gone. Idempotent. */
  disconnected(): void {
    this.#wire.disconnected();
    this.#closeSession();
  }

  /** Serves the client to the end; resolves when nothing of it runs any more. */
  async run(): Promise<void> {
    const key = this.#options.registry.register(() => this.#serving?.cancel());
    try {
      const { registry, requireTls } = this.#options;
      const startup = await negotiate(this.#wire, { registry, requireTls });
      if (startup === null) return;
      await authenticate(this.#wire, this.#options.auth, startup.user);
      this.#authenticated = true;
      this.#options.admit();
      const session = await this.#connect(startup, key.pid);
      backendKeyData(this.#wire.out, key.pid, key.secret);
      this.#serving = new Serving(this.#wire, session, this.#options.logger);
      await this.#serving.run();
    } catch (error) {
      this.#fatal(error);
    } finally {
      key.release();
      this.#wire.end();
      this.#closeSession();
    }
  }

  terminate(error: SqlError): void {
    this.#fatal(error);
    this.#wire.end();
    this.#closeSession();
  }

  notice(notice: Notice): void {
    if (this.#wire.closed) return;
    noticeResponse(this.#wire.out, notice);
    // At once, as in PostgreSQL: it may say why the statement waits.
    void this.#wire.push();
  }

  parameterStatus(name: string, value: string): void {
    if (this.#wire.closed) return;
    parameterStatus(this.#wire.out, name, value);
    if (this.#serving?.idle === true) void this.#wire.push();
  }

  async #connect(startup: Negotiated, pid: number): Promise<BackendSession> {
    const { user, database, settings, tls } = startup;
    const { backend, peer } = this.#options;
    const applicationName = settings.get('application_name') ?? '';
    const session = await backend.connect(
      { user, database, applicationName, settings, pid, peer, tls },
      this,
    );
    this.#session = session;
    if (this.#wire.closed) throw new Disconnected();
    const parameters = new Map<string, string>(Object.entries(PARAMETERS));
    parameters.set('session_authorization', user).set('application_name', applicationName);
    for (const [name, value] of session.parameters) parameters.set(name, value);
    for (const [name, value] of parameters) parameterStatus(this.#wire.out, name, value);
    return session;
  }

  #fatal(error: unknown): void {
    if (this.#wire.closed || error instanceof Disconnected) return;
    const sqlError = toSqlError(error);
    if (sqlError !== error)
      this.#options.logger.error({ error }, 'a connection failed through a fault of the server');
    this.#wire.out.abort();
    errorResponse(this.#wire.out, 'FATAL', sqlError);
  }

  #closeSession(): void {
    const session = this.#session;
    this.#session = null;
    try {
      session?.close();
    } catch (error) {
      // Called from events of the transport, where a throw would end the process.
      this.#options.logger.error({ error }, 'a session failed to close');
    }
  }
}

/** What clients are told when the server stops. */
export const adminShutdown = (): SqlError =>
  new SqlError('admin_shutdown', 'terminating connection due to administrator command');
