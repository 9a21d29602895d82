/**
 * A backend of canned statements, for tests of the wire. It keeps the contract of `backend.ts` in the small:
 * names, portals, transaction status, cancellation; and counts what was opened and closed.
 */
import { SqlError, unsupported } from '../base/error.ts';
import type {
  Backend,
  BackendSession,
  BindRequest,
  CellWriter,
  Client,
  CopyInOutcome,
  CopyOutOutcome,
  Format,
  Outcome,
  ParseRequest,
  RowsOutcome,
  Startup,
  StatementDescription,
  TransactionStatus,
  WireColumn,
} from './backend.ts';
import {
  STATEMENTS,
  type Statement,
  type StatementContext,
  TYPES,
  type TypeName,
  type Value,
} from './canned-statements.fixture.ts';
import { expandFormats } from './formats.ts';

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const hex = (bytes: Uint8Array): string => Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');

function writeCell(out: CellWriter, value: Value, type: TypeName, format: Format): void {
  if (value === 'bad cell') throw new RangeError('the cell is broken');
  if (value === 'two cells') out.null();
  if (value === null) out.null();
  else if (format === 0) {
    if (value instanceof Uint8Array) out.text(`\\x${hex(value)}`);
    else out.text(typeof value === 'boolean' ? (value ? 't' : 'f') : String(value));
  } else if (type === 'bool') out.uint8(value === true ? 1 : 0);
  else if (type === 'int2') out.int16(Number(value));
  else if (type === 'int4') out.int32(Number(value));
  else if (type === 'float8') out.float64(Number(value));
  else if (type === 'int8')
    out.int64(Number(BigInt(value as bigint) >> 32n), Number(BigInt(value as bigint) & 0xffffffffn));
  else out.bytes(value instanceof Uint8Array ? value : encoder.encode(String(value)));
}

interface Running {
  readonly stop: Promise<never>;
  cancel(): void;
}

interface Portal {
  readonly statement: Statement;
  readonly columns: readonly WireColumn[] | null;
  readonly args: readonly (string | null)[];
  outcome: Outcome | null;
}

export class CannedSession implements BackendSession, StatementContext {
  transactionStatus: TransactionStatus = 'I';
  readonly parameters = [['TimeZone', 'Etc/UTC']] as const;
  readonly backend: CannedBackend;
  readonly client: Client;
  readonly startup: Startup;
  /** Calls of `cancel`, `close`, `fail`, `sync`, in order. */
  readonly calls: string[] = [];
  readonly #statements = new Map<string, Statement>();
  readonly #portals = new Map<string, Portal>();
  #running: Running = CannedSession.#start();

  constructor(backend: CannedBackend, startup: Startup, client: Client) {
    this.backend = backend;
    this.startup = startup;
    this.client = client;
  }

  get stopped(): Promise<never> {
    this.backend.waiting++;
    return this.#running.stop;
  }

  async *simple(text: string): AsyncIterable<Outcome> {
    const parts = text.split(';').map((part) => part.trim());
    const statements = parts.filter((part) => part !== '');
    if (statements.length === 0) yield { kind: 'empty' };
    for (const statement of statements) {
      const found = this.#lookup(statement);
      yield await this.#run(found, this.#columns(found, []), []);
    }
  }

  async parse({ name, text }: ParseRequest): Promise<void> {
    if (name !== '' && this.#statements.has(name)) {
      throw new SqlError('duplicate_prepared_statement', `prepared statement "${name}" already exists`);
    }
    this.#statements.set(name, text.trim() === '' ? EMPTY : this.#lookup(text));
  }

  async bind({ portal, statement, params, paramFormats, resultFormats }: BindRequest): Promise<void> {
    const found = this.#statement(statement);
    expandFormats(paramFormats, params.length, 'parameter');
    const args = params.map((param) => (param === null ? null : decoder.decode(param)));
    this.#portals.set(portal, {
      statement: found,
      columns: this.#columns(found, resultFormats),
      args,
      outcome: null,
    });
  }

  async describeStatement(name: string): Promise<StatementDescription> {
    const found = this.#statement(name);
    return { paramOids: found.paramOids ?? [], columns: this.#columns(found, []) };
  }

  async describePortal(name: string): Promise<readonly WireColumn[] | null> {
    return this.#portal(name).columns;
  }

  async execute(name: string): Promise<Outcome> {
    const portal = this.#portal(name);
    if (portal.statement === EMPTY) return { kind: 'empty' };
    portal.outcome ??= await this.#run(portal.statement, portal.columns, portal.args);
    return portal.outcome;
  }

  async closeStatement(name: string): Promise<void> {
    this.#statements.delete(name);
  }

  async closePortal(name: string): Promise<void> {
    this.#portals.delete(name);
  }

  async sync(): Promise<void> {
    this.calls.push('sync');
    if (this.transactionStatus === 'I') this.#portals.clear();
  }

  async fail(): Promise<void> {
    this.calls.push('fail');
    if (this.transactionStatus === 'T') this.transactionStatus = 'E';
  }

  cancel(): void {
    this.calls.push('cancel');
    this.#running.cancel();
  }

  close(): void {
    this.calls.push('close');
    this.backend.open.delete(this);
    this.#running.cancel();
  }

  static #start(): Running {
    const { promise, reject } = Promise.withResolvers<never>();
    promise.catch(() => {});
    const error = new SqlError('query_canceled', 'canceling statement due to user request');
    return { stop: promise, cancel: () => reject(error) };
  }

  #lookup(text: string): Statement {
    for (const [pattern, make] of STATEMENTS) {
      const match = pattern.exec(text.trim().replace(/;$/, ''));
      if (match !== null) return make(match);
    }
    throw new SqlError('syntax_error', `syntax error at or near "${text.trim()}"`, { position: 1 });
  }

  #statement(name: string): Statement {
    const found = this.#statements.get(name);
    if (found !== undefined) return found;
    throw new SqlError('invalid_sql_statement_name', `prepared statement "${name}" does not exist`);
  }

  #portal(name: string): Portal {
    const found = this.#portals.get(name);
    if (found !== undefined) return found;
    throw new SqlError('invalid_cursor_name', `portal "${name}" does not exist`);
  }

  #columns(statement: Statement, formats: readonly Format[]): WireColumn[] | null {
    if (statement.columns === null) return null;
    const all = expandFormats(formats, statement.columns.length, 'result');
    return statement.columns.map(([name, type], i) => ({ name, ...TYPES[type], typmod: -1, format: all[i] }));
  }

  async #run(
    statement: Statement,
    columns: readonly WireColumn[] | null,
    args: Portal['args'],
  ): Promise<Outcome> {
    this.#running = CannedSession.#start();
    const source = await statement.run(args, this);
    if (typeof source === 'string') return { kind: 'command', tag: source };
    if ('copyIn' in source) return this.#copyIn(source.copyIn);
    if ('copyOut' in source) return this.#copyOut(source.copyOut);
    if (columns === null || statement.columns === null) throw unsupported('rows without columns');
    return this.#rows(
      source.rows,
      columns,
      statement.columns.map(([, type]) => type),
    );
  }

  #rows(
    source: Iterable<readonly Value[]> | AsyncIterable<readonly Value[]>,
    columns: readonly WireColumn[],
    types: readonly TypeName[],
  ): RowsOutcome {
    const iterator =
      Symbol.asyncIterator in source ? source[Symbol.asyncIterator]() : source[Symbol.iterator]();
    const { stop } = this.#running;
    const { backend } = this;
    backend.results++;
    let closed = false;
    return {
      kind: 'rows',
      columns,
      async next(maxRows) {
        const page: (readonly Value[])[] = [];
        let last = false;
        while (page.length < Math.min(maxRows, 100)) {
          const step = await Promise.race([stop, iterator.next()]);
          if (step.done === true) {
            last = true;
            break;
          }
          page.push(step.value);
        }
        backend.pages++;
        if (page.length === 0) return null;
        return {
          rows: page.length,
          last,
          cell: (row, col, out) => writeCell(out, page[row][col], types[col], columns[col].format),
        };
      },
      complete: async (rows) => `SELECT ${rows}`,
      close() {
        if (!closed) backend.results--;
        closed = true;
      },
    };
  }

  #copyOut(source: AsyncIterable<Uint8Array>): CopyOutOutcome {
    const iterator = source[Symbol.asyncIterator]();
    const { backend } = this;
    let sent = 0;
    let closed = false;
    backend.results++;
    return {
      kind: 'copyOut',
      format: 0,
      columnFormats: [0, 0],
      async next() {
        const step = await iterator.next();
        if (step.done === true) return null;
        sent++;
        return [step.value];
      },
      complete: async () => `COPY ${sent}`,
      close() {
        if (!closed) backend.results--;
        closed = true;
      },
    };
  }

  #copyIn(
    consume: (data: AsyncIterable<Uint8Array>, session: CannedSession) => Promise<string>,
  ): CopyInOutcome {
    return { kind: 'copyIn', format: 0, columnFormats: [0, 0], consume: (data) => consume(data, this) };
  }
}

const EMPTY: Statement = { columns: null, run: () => '' };

export class CannedBackend implements Backend {
  readonly open = new Set<CannedSession>();
  /** All sessions ever, in order. */
  readonly sessions: CannedSession[] = [];
  /** What `copy t from stdin` received, one text a COPY. */
  readonly copied: string[] = [];
  copyChunks = 0;
  /** Results opened and not yet closed. */
  results = 0;
  pages = 0;
  /** Statements that began to wait for ever. */
  waiting = 0;

  async connect(startup: Startup, client: Client): Promise<CannedSession> {
    if (startup.database === 'nowhere')
      throw new SqlError('invalid_catalog_name', 'database "nowhere" does not exist');
    const session = new CannedSession(this, startup, client);
    this.open.add(session);
    this.sessions.push(session);
    return session;
  }
}
