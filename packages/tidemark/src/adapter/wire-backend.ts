/**
 * The wire's backend over sessions: statements and portals by name, parameters decoded, results encoded a page at a time.
 */
import { nowMicros } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type {
  Backend,
  BackendSession,
  BindRequest,
  Client,
  Format,
  Outcome,
  ParseRequest,
  Startup,
  StatementDescription,
  TransactionStatus,
  WireColumn,
} from '../pgwire/backend.ts';
import { expandFormats } from '../pgwire/formats.ts';
import { binaryEncoder, type CellEncoder, textEncoder } from '../repr/cell-encoder.ts';
import { isNull } from '../repr/column.ts';
import { type FormatContext, parseBinary, parseText } from '../repr/format.ts';
import { findTimeZone, UTC } from '../repr/time-zone.ts';
import {
  type Datum,
  oidOf,
  type RelationDesc,
  type SqlType,
  TYPES,
  typeByOid,
  typmodOf,
} from '../repr/types.ts';
import { decodeClientText } from '../repr/wire.ts';
import type { Statement } from '../sql/ast-statement.ts';
import { answersOf, askCatalog } from './catalog-functions.ts';
import type { Environment } from './environment.ts';
import { copyOutcome, rowsOutcome, streamOutcome } from './outcomes.ts';
import type { Result } from './results.ts';
import { Session } from './session.ts';

export function wireBackend(env: Environment): Backend {
  return {
    connect: async (startup, client) => new WireSession(env, startup, client),
  };
}

interface Portal {
  readonly statement: Statement;
  readonly paramTypes: readonly SqlType[];
  readonly params: readonly Datum[];
  readonly formats: readonly Format[];
  readonly result: RelationDesc | undefined;
  outcome: Outcome | undefined;
}

class WireSession implements BackendSession {
  readonly parameters: readonly (readonly [string, string])[];
  readonly #env: Environment;
  readonly #session: Session;
  readonly #client: Client;
  readonly #portals = new Map<string, Portal>();
  readonly #texts = new Map<string, Statement | null>();
  readonly #forget: () => void;

  constructor(env: Environment, startup: Startup, client: Client) {
    this.#env = env;
    this.#client = client;
    this.#session = new Session({
      env,
      user: startup.user,
      database: startup.database,
      sessionId: startup.pid,
      notice: (message, warning) =>
        client.notice({
          severity: warning === undefined ? 'NOTICE' : 'WARNING',
          code: warning ?? 'successful_completion',
          message,
        }),
      onSetting: (name, value) => client.parameterStatus(name, value),
    });
    const { settings } = this.#session;
    if (startup.applicationName !== '') settings.set('application_name', [startup.applicationName]);
    for (const [name, value] of startup.settings) settings.set(name, [value]);
    if (env.catalog.database(startup.database) === undefined)
      client.notice({
        severity: 'NOTICE',
        code: 'successful_completion',
        message: `database "${startup.database}" does not exist, using "${settings.get('database')}"`,
      });
    // By it a client that was given several servers finds the one that writes: target_session_attrs=read-write.
    const standby = env.leadership.mayWrite ? 'off' : 'on';
    this.parameters = [...settings.reported(), ['in_hot_standby', standby]];
    this.#forget = this.#announce(startup);
  }

  /** The session's row in mz_sessions; gives the call that takes it back. */
  #announce(startup: Startup): () => void {
    const now = BigInt(nowMicros(this.#env.options.clock));
    const { user, applicationName, peer, pid } = startup;
    const row = [BigInt(pid), user, this.#session.settings.get('database'), applicationName, peer, now];
    this.#env.setLive([{ table: 'mz_sessions', key: String(pid), rows: [row] }]);
    return () => this.#env.setLive([{ table: 'mz_sessions', key: String(pid), rows: [] }]);
  }

  get transactionStatus(): TransactionStatus {
    return ({ idle: 'I', open: 'T', failed: 'E' } as const)[this.#session.status];
  }

  async *simple(text: string): AsyncIterable<Outcome> {
    const statements = this.#env.plans.parse(text);
    if (statements.length === 0) yield { kind: 'empty' };
    for (const [i, { statement }] of this.#session.running.inTurn(statements.entries())) {
      const more = i < statements.length - 1;
      yield this.#outcome(await this.#session.execute(statement, undefined, { more }), []);
    }
  }

  async parse({ name, text, paramOids }: ParseRequest): Promise<void> {
    const statements = this.#env.plans.parse(text);
    if (statements.length > 1)
      throw new SqlError('syntax_error', 'cannot insert multiple commands into a prepared statement');
    const [only] = statements;
    if (name === '') this.#session.prepared.delete('');
    this.#texts.set(name, only?.statement ?? null);
    if (only === undefined) return;
    const types = paramOids.map((oid) => (oid === 0 ? undefined : knownType(oid)));
    this.#session.prepare(name, only.statement, types);
  }

  async bind(request: BindRequest): Promise<void> {
    const { portal, statement, params } = request;
    if (portal !== '' && this.#portals.has(portal))
      throw new SqlError('duplicate_cursor', `portal "${portal}" already exists`);
    if (this.#texts.get(statement) === null) {
      this.#closePortal(portal);
      this.#portals.set(portal, emptyPortal());
      return;
    }
    const p = this.#session.find(statement);
    if (params.length !== p.paramTypes.length)
      throw new SqlError(
        'protocol_violation',
        `bind message supplies ${params.length} parameters, but prepared statement "${statement}" requires ${p.paramTypes.length}`,
      );
    const formats = expandFormats(request.paramFormats, params.length, 'parameter');
    const context = this.#formatContext();
    const values = params.map((bytes, i): Datum => {
      if (bytes === null) return null;
      const type = p.paramTypes[i]!;
      return formats[i] === 1
        ? parseBinary(type, bytes)
        : this.#parameter(type, decodeClientText(bytes), context);
    });
    const columns = p.result?.columns.length ?? 0;
    this.#closePortal(portal);
    this.#portals.set(portal, {
      statement: p.statement,
      paramTypes: p.paramTypes,
      params: values,
      formats: expandFormats(request.resultFormats, columns, 'result'),
      result: p.result,
      outcome: undefined,
    });
  }

  /** A name where an OID is wanted is looked up. */
  #parameter(type: SqlType, text: string, context: FormatContext): Datum {
    if (!type.name.startsWith('reg') || /^\d+$/.test(text)) return parseText(type, text, context);
    return askCatalog(this.#facts(), `${type.name}_in`, [text]);
  }

  #facts() {
    const { settings } = this.#session;
    return {
      catalog: this.#env.catalog,
      names: { database: settings.get('database'), searchPath: settings.list('search_path') },
    };
  }

  async describeStatement(name: string): Promise<StatementDescription> {
    if (this.#texts.get(name) === null) return { paramOids: [], columns: null };
    const p = this.#session.find(name);
    return {
      paramOids: p.paramTypes.map(oidOf),
      columns: p.result === undefined ? null : wireColumns(p.result, []),
    };
  }

  async describePortal(name: string): Promise<readonly WireColumn[] | null> {
    const p = this.#portal(name);
    return p.result === undefined ? null : wireColumns(p.result, p.formats);
  }

  #portal(name: string): Portal {
    const p = this.#portals.get(name);
    if (p === undefined) throw new SqlError('invalid_cursor_name', `portal "${name}" does not exist`);
    return p;
  }

  async execute(name: string): Promise<Outcome> {
    const p = this.#portal(name);
    if (p.outcome !== undefined) return p.outcome;
    if (p === EMPTY_PORTAL) return { kind: 'empty' };
    const params = { types: p.paramTypes, values: p.params };
    const result = await this.#session.execute(p.statement, params, { described: p.result });
    const outcome = this.#outcome(result, p.formats);
    p.outcome = outcome.kind === 'rows' ? outcome : undefined;
    return outcome;
  }

  async closeStatement(name: string): Promise<void> {
    this.#session.prepared.delete(name);
    this.#texts.delete(name);
  }

  async closePortal(name: string): Promise<void> {
    this.#closePortal(name);
  }

  #closePortal(name: string): void {
    const outcome = this.#portals.get(name)?.outcome;
    this.#portals.delete(name);
    if (outcome?.kind === 'rows') outcome.close();
  }

  /** Portals end with their transaction. */
  #closeIfIdle(): void {
    if (this.#session.status === 'idle')
      for (const name of [...this.#portals.keys()]) this.#closePortal(name);
  }

  async sync(): Promise<void> {
    this.#closeIfIdle();
  }

  async fail(): Promise<void> {
    this.#session.fail();
    this.#closeIfIdle();
  }

  cancel(): void {
    this.#session.cancel();
  }

  close(): void {
    this.#session.close();
    this.#portals.clear();
    this.#forget();
  }

  #formatContext(): FormatContext {
    const zone = findTimeZone(this.#session.settings.get('timezone')) ?? UTC;
    return { timeZone: zone, nowMicros: nowMicros(this.#env.options.clock) };
  }

  #outcome(result: Result, formats: readonly Format[]): Outcome {
    if (result.kind === 'command') return result;
    const { desc } = result;
    const context = this.#formatContext();
    const encoders = desc.columns.map((c, k) => this.#encoder(c.type, formats[k] ?? 0, context));
    const shown = { columns: wireColumns(desc, formats), encoders, tag: result.tag };
    if (result.kind === 'rows') return rowsOutcome(result.rows, shown);
    if (result.copy !== null) return copyOutcome(result.rows, { ...shown, copy: result.copy });
    this.#warnOfBuffering();
    return streamOutcome(result.rows, shown);
  }

  #warnOfBuffering(): void {
    const isPsql = this.#session.settings.get('application_name') === 'psql';
    this.#client.notice({
      severity: 'NOTICE',
      code: 'successful_completion',
      message: 'rows come as they happen: a client that gathers them before it shows any shows none',
      ...(isPsql && { hint: 'use COPY (SUBSCRIBE …) TO STDOUT' }),
    });
  }

  /** OIDs that stand for objects print as names. */
  #encoder(type: SqlType, format: Format, context: FormatContext): CellEncoder {
    if (format === 1) return binaryEncoder(type);
    if (!type.name.startsWith('reg')) return textEncoder(type, context);
    const facts = this.#facts();
    let names: ReadonlyMap<string, string> | undefined;
    return (c, row, out) => {
      if (isNull(c, row)) return out.null();
      const oid = c.values[row]!;
      if (oid === 0) return out.text('-');
      names ??= answersOf(facts, `${type.name}_out`);
      out.text(names.get(String(oid)) ?? String(oid));
    };
  }
}

function knownType(oid: number): SqlType {
  const t = typeByOid(oid);
  if (t === undefined) throw new SqlError('undefined_object', `type with OID ${oid} does not exist`);
  // A client that says "unknown" leaves it to the statement.
  return t;
}

const EMPTY_PORTAL: Portal = {
  statement: undefined as unknown as Statement,
  paramTypes: [],
  params: [],
  formats: [],
  result: undefined,
  outcome: undefined,
};
const emptyPortal = (): Portal => EMPTY_PORTAL;

function wireColumns(desc: RelationDesc, formats: readonly Format[]): WireColumn[] {
  return desc.columns.map((c, i) => ({
    name: c.name,
    oid: oidOf(c.type),
    typlen: c.type.name === 'array' ? -1 : TYPES[c.type.name].len,
    typmod: typmodOf(c.type),
    format: formats[i] ?? 0,
  }));
}
