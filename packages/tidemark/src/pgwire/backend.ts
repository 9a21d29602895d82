/**
 * What the wire asks of the engine, and nothing more: the adapter implements it, the wire's tests fake it.
 *
 * The backend owns every name (prepared statements, portals, settings), because `PREPARE`, `DEALLOCATE`,
 * `DECLARE` and `DISCARD` share them with the protocol's Parse, Bind and Close. It owns transactions too: the
 * wire only reports `transactionStatus`. The wire owns bytes, order, skipping after errors and backpressure.
 *
 * Calls never overlap: the wire awaits one before the next, except `cancel` and `close`, which come at any time,
 * also in the middle of a statement. Rejections are `SqlError`s for users; anything else becomes XX000.
 */
import type { ErrorCode, SqlError } from '../base/error.ts';

/** 0 is text, 1 is binary: the numbers of the protocol. */
export type Format = 0 | 1;

/** Idle, in a transaction block, in a failed one: the bytes of ReadyForQuery. */
export type TransactionStatus = 'I' | 'T' | 'E';

/** One entry of RowDescription. `format` is 0 in the description of a statement, where it is not yet chosen. */
export interface WireColumn {
  readonly name: string;
  readonly oid: number;
  /** Bytes of a fixed-width type; -1 varlena, -2 C string. */
  readonly typlen: number;
  /** -1 where the type has none. */
  readonly typmod: number;
  readonly tableOid?: number;
  readonly columnId?: number;
  readonly format: Format;
}

/**
 * Where a page puts its cells: each call writes one whole cell, length and all, straight into the send buffer.
 * The road not taken, a byte array a cell, costs an object a cell.
 */
export interface CellWriter {
  null(): void;
  /** Text as UTF-8. */
  text(value: string): void;
  /** Bytes `[start, end)` as they are, for text columns and encoded values. */
  bytes(value: Uint8Array, start?: number, end?: number): void;
  uint8(value: number): void;
  int16(value: number): void;
  int32(value: number): void;
  /** The two 32-bit halves of a 64-bit integer, so that none goes through BigInt. */
  int64(high: number, low: number): void;
  float32(value: number): void;
  float64(value: number): void;
}

/** Some rows of a result, in the formats of its columns. Only valid until the next call of `next`. */
export interface RowPage {
  readonly rows: number;
  /** Calls exactly one method of `out` exactly once. */
  cell(row: number, col: number, out: CellWriter): void;
  /** Known to be the last page: spares one `next` and one packet. */
  readonly last?: boolean;
}

/** A statement without text: EmptyQueryResponse. */
export interface EmptyOutcome {
  readonly kind: 'empty';
}

/** A statement that is done and has no rows: its tag, as in `CREATE TABLE`. */
export interface CommandOutcome {
  readonly kind: 'command';
  readonly tag: string;
}

/**
 * A result with rows. The wire pulls a page, sends it, awaits the socket, pulls the next: a slow client stops the
 * pull. Pages are sent as they come (except a `last` one, which waits for its tag), so an endless result streams.
 */
export interface RowsOutcome {
  readonly kind: 'rows';
  readonly columns: readonly WireColumn[];
  /** At most `maxRows` rows (Infinity: the page size is yours), or null after the end. An empty page is legal. */
  next(maxRows: number): Promise<RowPage | null>;
  /** After the end: commits where the statement commits, and gives the tag for the rows sent by this execution. */
  complete(rows: number): Promise<string>;
  /** Idempotent. Called when the wire will not pull any more; not on a suspended portal, which stays the backend's. */
  close(): void;
}

/** `COPY … TO STDOUT`, and SUBSCRIBE inside it. Each chunk becomes one CopyData message: one row a chunk. */
export interface CopyOutOutcome {
  readonly kind: 'copyOut';
  readonly format: Format;
  readonly columnFormats: readonly Format[];
  next(): Promise<readonly Uint8Array[] | null>;
  complete(): Promise<string>;
  close(): void;
}

/** `COPY … FROM STDIN`. */
export interface CopyInOutcome {
  readonly kind: 'copyIn';
  readonly format: Format;
  readonly columnFormats: readonly Format[];
  /**
   * Reads the client's chunks (any cut, also inside a row) and gives the tag. The iteration throws if the client
   * sends CopyFail or leaves; let that pass. A cancel must end it also while it waits for a chunk. Chunks stay valid; reading no further holds the client back.
   */
  consume(data: AsyncIterable<Uint8Array>): Promise<string>;
}

export type Outcome = EmptyOutcome | CommandOutcome | RowsOutcome | CopyOutOutcome | CopyInOutcome;

export interface StatementDescription {
  /** The parameters' types as given or inferred. */
  readonly paramOids: readonly number[];
  /** Null: the statement gives no rows. */
  readonly columns: readonly WireColumn[] | null;
}

export interface ParseRequest {
  /** Empty: the unnamed statement, which the next one replaces. */
  readonly name: string;
  readonly text: string;
  /** 0: to be inferred. May be shorter than the statement's parameters. */
  readonly paramOids: readonly number[];
}

export interface BindRequest {
  readonly portal: string;
  readonly statement: string;
  /** Views into the receive buffer: decode them before `bind` returns, or a 64 KiB chunk lives as long as they. */
  readonly params: readonly (Uint8Array | null)[];
  /** None: all text; one: for all; else one each. `expandFormats` of `formats.ts` checks and expands them. */
  readonly paramFormats: readonly Format[];
  readonly resultFormats: readonly Format[];
}

export interface BackendSession {
  readonly transactionStatus: TransactionStatus;
  /** Settings reported at start-up, over the wire's own defaults (`server_version`, `TimeZone`, …). */
  readonly parameters: Iterable<readonly [name: string, value: string]>;

  /**
   * Runs a simple query: one outcome a statement, pulled only after the one before is finished, all cells text.
   * No text at all yields `empty`. An error ends the iteration; so does the wire (`return`) after an error of its own.
   */
  simple(text: string): AsyncIterable<Outcome>;

  parse(request: ParseRequest): Promise<void>;
  bind(request: BindRequest): Promise<void>;
  describeStatement(name: string): Promise<StatementDescription>;
  describePortal(name: string): Promise<readonly WireColumn[] | null>;
  /** The portal's outcome; the same one, where it stood, when a suspended portal is executed again. */
  execute(portal: string): Promise<Outcome>;
  /** No error if there is none of that name. */
  closeStatement(name: string): Promise<void>;
  closePortal(name: string): Promise<void>;
  /** Ends a batch of the extended protocol: commits an implicit transaction. */
  sync(): Promise<void>;

  /**
   * The wire has reported an error of the running query or batch, whoever raised it: fail the transaction. Awaited
   * before ReadyForQuery. Idempotent.
   */
  fail(): Promise<void>;

  /** Ends the running statement with 57014; does nothing if none runs. */
  cancel(): void;
  /** The client is gone: stop what runs, free what it held, close portals. Called exactly once. */
  close(): void;
}

export interface Startup {
  readonly user: string;
  readonly database: string;
  readonly applicationName: string;
  /** Every other setting of the start-up packet, with those inside `options` (`-c name=value`). */
  readonly settings: ReadonlyMap<string, string>;
  /** What `pg_backend_pid()` answers. */
  readonly pid: number;
  /** The client's address, as the host knows it. */
  readonly peer: string;
  readonly tls: boolean;
}

export type NoticeSeverity = 'DEBUG' | 'LOG' | 'INFO' | 'NOTICE' | 'WARNING';

export interface Notice {
  readonly severity: NoticeSeverity;
  readonly code: ErrorCode;
  readonly message: string;
  readonly detail?: string | undefined;
  readonly hint?: string | undefined;
  readonly position?: number | undefined;
}

/** The client, as a session sees it. Calls after the connection's end do nothing; none may come from inside `cell`. */
export interface Client {
  notice(notice: Notice): void;
  /** A reported setting changed. */
  parameterStatus(name: string, value: string): void;
  /** Sends the error as FATAL and ends the connection. */
  terminate(error: SqlError): void;
}

export interface Backend {
  /** After authentication. A rejection is sent as FATAL. */
  connect(startup: Startup, client: Client): Promise<BackendSession>;
}
