/** CREATE: one rule an object, keyed by the words after CREATE and its modifiers. */
import type { Expr, Ident, ObjectName, Query, SqlOption } from './ast.ts';
import type {
  ClusterReplicaDef,
  CreateClusterStatement,
  CreateIndexStatement,
  CreateMaterializedViewStatement,
  CreateSinkStatement,
  CreateViewStatement,
  RefreshOption,
  Statement,
} from './ast-statement.ts';
import type { Cursor } from './cursor.ts';
import { parseBareOptions, parseOption, parseOptionList, parseWithOptions } from './parse-options.ts';
import { parseAsOf } from './parse-query.ts';
import { parseCreateSource } from './parse-source.ts';
import { parseCreateTable } from './parse-table.ts';

interface Modifiers {
  readonly pos: number;
  readonly orReplace: boolean;
  readonly temporary: boolean;
}

interface CreateRule {
  readonly words: readonly string[];
  /** Modifiers the object may have; any other is a syntax error. */
  readonly allows: readonly (keyof Modifiers)[];
  /** The words are taken. */
  readonly parse: (c: Cursor, m: Modifiers) => Statement;
}

const rule = (words: string, parse: CreateRule['parse'], allows: CreateRule['allows'] = []): CreateRule => ({
  words: words.split(' '),
  allows,
  parse,
});

/** Longest first where one begins another. */
const RULES: readonly CreateRule[] = [
  rule('cluster replica', createClusterReplica),
  rule('cluster', createCluster),
  rule('table', (c, m) => parseCreateTable(c, m), ['temporary']),
  rule('source', (c, m) => parseCreateSource(c, m.pos)),
  rule('view', createView, ['orReplace', 'temporary']),
  rule('materialized view', (c, m) => createMaterializedView(c, m, false), ['orReplace']),
  rule('replacement materialized view', (c, m) => createMaterializedView(c, m, true)),
  rule('default index', (c, m) => createIndex(c, m, true)),
  rule('index', (c, m) => createIndex(c, m, false)),
  rule('unique index', (c) => {
    throw c.unsupported('CREATE UNIQUE INDEX');
  }),
  rule('sink', createSink),
  rule('schema', createSchema),
  rule('database', (c, m) => {
    const ifNotExists = c.ifNotExists();
    const name = c.ident();
    if (c.peek().type === 'word') throw c.unsupported('an option of CREATE DATABASE');
    return { kind: 'createDatabase', name, ifNotExists, pos: m.pos };
  }),
  rule('connection', createConnection),
  rule('secret', (c, m) => {
    const ifNotExists = c.ifNotExists();
    const name = c.name();
    c.expect('as');
    return { kind: 'createSecret', name, ifNotExists, value: c.rules.expr(c), pos: m.pos };
  }),
];

/** PostgreSQL's objects that this engine does not have. */
const REFUSED: readonly string[] =
  `access aggregate assertion cast collation constraint conversion domain event
  extension foreign function global group language local operator policy procedural procedure publication recursive
  role rule sequence server statistics subscription tablespace text transform trigger trusted type unlogged
  user`.split(/\s+/);

export function parseCreate(c: Cursor): Statement {
  const { pos } = c.expect('create');
  const orReplace = c.accept('or', 'replace');
  const temporary = c.accept('temporary') || c.accept('temp');
  const found = RULES.find(({ words }) => c.isWords(...words));
  if (found === undefined) {
    const refused = c.oneOf(REFUSED);
    if (refused !== undefined) throw c.unsupported(`CREATE ${refused.toUpperCase()}`, pos);
    throw c.syntaxError();
  }
  if (
    (orReplace && !found.allows.includes('orReplace')) ||
    (temporary && !found.allows.includes('temporary'))
  ) {
    throw c.syntaxError();
  }
  c.expect(...found.words);
  return found.parse(c, { pos, orReplace, temporary });
}

/** `IN CLUSTER c`, or nothing. */
function parseInCluster(c: Cursor): Ident | undefined {
  return c.accept('in', 'cluster') ? c.ident() : undefined;
}

// ---- Clusters

function createCluster(c: Cursor, { pos }: Modifiers): CreateClusterStatement {
  const ifNotExists = c.ifNotExists();
  const name = c.ident();
  const options: SqlOption[] = [];
  let replicas: ClusterReplicaDef[] | undefined;
  const member = () => {
    if (replicas === undefined && c.isWord('replicas') && c.isSymbol('(', 1)) {
      c.next();
      replicas = c.isSymbol(')', 1)
        ? emptyList(c)
        : c.parenList(() => replicaDef(c, c.ident(), parseOptionList));
    } else options.push(parseOption(c));
  };
  if (c.acceptSymbol('(')) {
    if (!c.isSymbol(')')) c.list(member);
    c.expectSymbol(')');
  } else if (c.peek().type === 'word') c.list(member);
  return { kind: 'createCluster', name, ifNotExists, options, replicas, pos };
}

function emptyList(c: Cursor): [] {
  c.expectSymbol('(');
  c.expectSymbol(')');
  return [];
}

function replicaDef(c: Cursor, name: Ident, options: (c: Cursor) => SqlOption[]): ClusterReplicaDef {
  return { name, options: options(c), pos: name.pos };
}

function createClusterReplica(c: Cursor, { pos }: Modifiers): Statement {
  const ifNotExists = c.ifNotExists();
  const cluster = c.ident();
  c.expectSymbol('.');
  const name = c.label();
  return {
    kind: 'createClusterReplica',
    cluster,
    ifNotExists,
    replica: replicaDef(c, name, parseBareOptions),
    pos,
  };
}

// ---- Views

/** AS and the query; the clauses PostgreSQL has after it are refused. */
function parseAsQuery(c: Cursor): Query {
  c.expect('as');
  const query = c.rules.query(c);
  if (c.isWord('with')) throw c.unsupported(`WITH ${c.peek(1).text.toUpperCase()} after a view's query`);
  return query;
}

function createView(c: Cursor, { pos, orReplace, temporary }: Modifiers): CreateViewStatement {
  const ifNotExists = c.ifNotExists();
  const name = c.name();
  const columns = c.optionalIdentList();
  if (c.isWord('with')) throw c.unsupported('options of a view');
  return {
    kind: 'createView',
    temporary,
    orReplace,
    ifNotExists,
    name,
    columns,
    query: parseAsQuery(c),
    pos,
  };
}

function createMaterializedView(
  c: Cursor,
  { pos, orReplace }: Modifiers,
  replacement: boolean,
): CreateMaterializedViewStatement {
  const ifNotExists = !replacement && c.ifNotExists();
  const name = c.name();
  const columns = c.optionalIdentList();
  let replaces: ObjectName | undefined;
  if (replacement) {
    c.expect('for');
    replaces = c.name();
  }
  const cluster = parseInCluster(c);
  if (c.isWord('using') || c.isWord('tablespace')) throw c.unsupported(c.peek().text.toUpperCase());
  const { refresh, options } = parseViewOptions(c);
  const query = parseAsQuery(c);
  const asOf = parseAsOf(c);
  return {
    kind: 'createMaterializedView',
    orReplace,
    ifNotExists,
    name,
    columns,
    replaces,
    cluster,
    refresh,
    options,
    query,
    asOf,
    pos,
  };
}

type ViewOptions = Pick<CreateMaterializedViewStatement, 'refresh' | 'options'>;

function parseViewOptions(c: Cursor): ViewOptions {
  const refresh: RefreshOption[] = [];
  const options: SqlOption[] = [];
  if (c.accept('with')) {
    c.parenList(() => {
      if (c.isWord('refresh')) refresh.push(parseRefresh(c));
      else options.push(parseOption(c));
    });
  }
  return { refresh, options };
}

/** `REFRESH [=] ON COMMIT | AT CREATION | AT t | EVERY '…' [ALIGNED TO t]` */
function parseRefresh(c: Cursor): RefreshOption {
  const { pos } = c.expect('refresh');
  c.acceptSymbol('=');
  if (c.accept('on', 'commit')) return { kind: 'refreshOnCommit', pos };
  if (c.accept('every')) {
    const interval = c.stringLiteral();
    const alignedTo: Expr | undefined = c.accept('aligned', 'to') ? c.rules.expr(c) : undefined;
    return { kind: 'refreshEvery', interval, alignedTo, pos };
  }
  c.expect('at');
  const { type } = c.peek(1);
  // The word CREATION alone; `creation + 1` would be an expression, and an error later.
  if (c.isWord('creation') && type === 'symbol' && (c.isSymbol(')', 1) || c.isSymbol(',', 1))) {
    c.next();
    return { kind: 'refreshAtCreation', pos };
  }
  return { kind: 'refreshAt', time: c.rules.expr(c), pos };
}

// ---- Indexes

/**
 * `CREATE INDEX [name] [IN CLUSTER c] ON o [USING …] (key)`; DEFAULT takes no key. A key without parts, `()`, is that of what has one
 * row at most.
 */
function createIndex(c: Cursor, { pos }: Modifiers, isDefault: boolean): CreateIndexStatement {
  if (c.isWord('concurrently')) throw c.unsupported('CREATE INDEX CONCURRENTLY');
  const ifNotExists = c.ifNotExists();
  const unnamed = !ifNotExists && (c.isWord('on') || c.isWords('in', 'cluster'));
  const name = unnamed ? undefined : c.ident();
  const cluster = parseInCluster(c);
  c.expect('on');
  if (c.isWord('only')) throw c.unsupported('ONLY');
  const on = c.name();
  const method = c.accept('using') ? c.ident() : undefined;
  if (method !== undefined && method.name !== 'arrangement') {
    throw c.unsupported(`index method "${method.name}"`, method.pos);
  }
  const keyed = !isDefault && c.isSymbol('(');
  const key = keyed ? parseKey(c) : undefined;
  const options = parseWithOptions(c);
  if (!isDefault && key === undefined) throw c.syntaxError();
  for (const clause of ['include', 'nulls', 'tablespace', 'where']) {
    if (c.isWord(clause)) throw c.unsupported(`${clause.toUpperCase()} of an index`);
  }
  return { kind: 'createIndex', isDefault, ifNotExists, name, cluster, on, key, options, pos };
}

function parseKey(c: Cursor): Expr[] {
  if (!c.isSymbol(')', 1)) return c.parenList(() => parseKeyPart(c));
  c.expectSymbol('(');
  c.expectSymbol(')');
  return [];
}

function parseKeyPart(c: Cursor): Expr {
  const expr = c.rules.expr(c);
  for (const clause of ['asc', 'desc', 'nulls', 'collate']) {
    if (c.isWord(clause)) throw c.unsupported(`${clause.toUpperCase()} in an index key`);
  }
  if (c.isTypeName()) throw c.unsupported('an operator class in an index key');
  return expr;
}

// ---- The rest

/** `CREATE SINK s [IN CLUSTER c] FROM o INTO METRICS [(…)] [WITH (…)]` */
function createSink(c: Cursor, { pos }: Modifiers): CreateSinkStatement {
  const ifNotExists = c.ifNotExists();
  const name = c.name();
  const cluster = parseInCluster(c);
  c.expect('from');
  const from = c.name();
  c.expect('into');
  if (!c.isWord('metrics')) {
    if (c.peek().type === 'word') throw c.unsupported(`a sink into ${c.peek().text.toUpperCase()}`);
    throw c.syntaxError();
  }
  const target = c.next();
  const into = {
    kind: 'metrics',
    options: c.isSymbol('(') ? parseOptionList(c) : [],
    pos: target.pos,
  } as const;
  return { kind: 'createSink', name, ifNotExists, cluster, from, into, options: parseWithOptions(c), pos };
}

function createSchema(c: Cursor, { pos }: Modifiers): Statement {
  const ifNotExists = c.ifNotExists();
  const name = c.name();
  if (c.isWord('authorization')) throw c.unsupported('AUTHORIZATION');
  if (c.isWord('create') || c.isWord('grant')) throw c.unsupported('an element of CREATE SCHEMA');
  return { kind: 'createSchema', name, ifNotExists, pos };
}

/** `CREATE CONNECTION k TO POSTGRES (HOST …, PASSWORD SECRET s)` */
function createConnection(c: Cursor, { pos }: Modifiers): Statement {
  const ifNotExists = c.ifNotExists();
  const name = c.name();
  c.expect('to');
  const connectionType = c.ident();
  return { kind: 'createConnection', name, ifNotExists, connectionType, options: parseOptionList(c), pos };
}
