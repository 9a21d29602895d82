/** FROM: tables, subqueries, functions, joins, aliases. */
import type {
  CallExpr,
  DerivedTable,
  Ident,
  JoinedTable,
  Query,
  TableAlias,
  TableFunction,
  TableRef,
  TypedColumn,
} from './ast.ts';
import type { Cursor } from './cursor.ts';
import { continuesQuery, parseSubquery, startsQuery } from './parse-primary.ts';
import { isNullary, SPECIAL } from './parse-special.ts';
import { parseType } from './parse-type.ts';

/** `FROM a, b, …` with the keyword, or nothing. */
export function parseFrom(c: Cursor, keyword: 'from' | 'using' = 'from'): TableRef[] {
  return c.accept(keyword) ? c.list(() => parseTableRef(c)) : [];
}

function parseTableRef(c: Cursor): TableRef {
  c.enter();
  let table = parseTablePrimary(c);
  while (startsJoin(c)) {
    table = parseJoin(c, table);
    c.link();
  }
  c.leave();
  return table;
}

// ---- Joins

const JOIN_WORDS = ['join', 'inner', 'left', 'right', 'full', 'cross', 'natural'] as const;

function startsJoin(c: Cursor): boolean {
  return JOIN_WORDS.some((word) => c.isWord(word));
}

/**
 * One join, its left side read. A qualified join ends with its ON or USING, so that joins in between belong to its
 * right side: `a JOIN b JOIN c ON x ON y` is `a JOIN (b JOIN c ON x) ON y`.
 */
function parseJoin(c: Cursor, left: TableRef): JoinedTable {
  c.enter();
  const { pos } = c.peek();
  const natural = c.accept('natural');
  const plain = {
    kind: 'join',
    natural,
    left,
    on: undefined,
    using: undefined,
    alias: undefined,
    pos,
  } as const;
  const cross = !natural && c.accept('cross');
  const type = cross ? 'cross' : (c.oneOf(['inner', 'left', 'right', 'full']) ?? 'inner');
  if (!cross && type !== 'inner') c.accept('outer');
  c.expect('join');
  let right = parseTablePrimary(c);
  let join: JoinedTable;
  if (cross || natural) join = { ...plain, type, right };
  else {
    while (startsJoin(c)) {
      right = parseJoin(c, right);
      c.link();
    }
    join = { ...plain, type, right, ...parseJoinCondition(c) };
  }
  c.leave();
  return join;
}

function parseJoinCondition(c: Cursor): Pick<JoinedTable, 'on' | 'using'> {
  if (c.accept('on')) return { on: c.rules.expr(c), using: undefined };
  c.expect('using');
  const columns = c.identList();
  return { on: undefined, using: { columns, alias: c.accept('as') ? c.ident() : undefined } };
}

// ---- One table

function parseTablePrimary(c: Cursor): TableRef {
  const { pos } = c.peek();
  if (c.accept('lateral')) {
    if (!c.isSymbol('(')) return parseFunctionTable(c, true, pos);
    return { ...derived(parseSubquery(c), pos), lateral: true, alias: parseAlias(c) };
  }
  if (c.isSymbol('(')) {
    const found = parseParenthesised(c);
    return { ...found, alias: parseAlias(c) };
  }
  if (c.isWords('rows', 'from') || startsFunction(c)) return parseFunctionTable(c, false, pos);
  if (c.isWord('only')) throw c.unsupported('ONLY');
  // A word that may name a function and nothing else wants its arguments.
  if (c.keywordClass(c.peek()) === 'typeFunc') throw c.syntaxError(c.peek(1));
  const name = c.name();
  if (c.isSymbol('*')) throw c.unsupported('table inheritance');
  const alias = parseAlias(c);
  if (c.isWord('tablesample')) throw c.unsupported('TABLESAMPLE');
  return { kind: 'table', name, alias, pos };
}

/** `(query)` or `(a JOIN b …)`, without an alias yet. */
function parseParenthesised(c: Cursor): DerivedTable | JoinedTable {
  c.enter();
  const { pos } = c.expectSymbol('(');
  const table = startsQuery(c) ? derived(c.rules.query(c), pos) : parseWrapped(c, pos);
  c.expectSymbol(')');
  c.leave();
  return table;
}

const derived = (query: Query, pos: number): DerivedTable => ({
  kind: 'derived',
  lateral: false,
  query,
  alias: undefined,
  pos,
});

/** What may stand in parentheses besides a plain query: a join, or more parentheses; not a lone table or an alias. */
function parseWrapped(c: Cursor, pos: number): DerivedTable | JoinedTable {
  const table = parseTableRef(c);
  if (table.alias !== undefined || !(table.kind === 'join' || table.kind === 'derived'))
    throw c.syntaxError();
  if (table.kind === 'join') return table;
  if (table.lateral) throw c.syntaxError();
  // `((select 1) union select 2)`: what looked like a table is a query's first operand.
  return continuesQuery(c) ? derived(c.rules.queryRest(c, table.query), pos) : table;
}

// ---- Functions

/** `name (` or a word like CURRENT_DATE. */
function startsFunction(c: Cursor): boolean {
  const first = c.peek();
  if (first.type === 'word' && isNullary(first.text)) return true;
  if (first.type !== 'word' && first.type !== 'quoted') return false;
  if (c.keywordClass(first) === 'reserved') return first.text === 'cast' && c.isSymbol('(', 1);
  let ahead = 1;
  while (c.isSymbol('.', ahead)) ahead += 2;
  // A word like TIME names no function by itself, one like COALESCE is a call.
  if (ahead === 1 && c.keywordClass(first) === 'colName' && !SPECIAL.has(first.text)) return false;
  return c.isSymbol('(', ahead);
}

function parseFunctionTable(c: Cursor, lateral: boolean, pos: number): TableRef {
  const functions: TableFunction[] = [];
  if (c.accept('rows', 'from')) functions.push(...c.parenList(() => parseListedFunction(c)));
  else functions.push({ call: parseFunction(c), columns: [], pos });
  const withOrdinality = c.acceptPair('with', 'ordinality');
  const [only] = functions;
  const typed = functions.length === 1 ? parseColumnDefs(c) : undefined;
  if (typed === undefined || only === undefined) {
    return { kind: 'function', lateral, functions, withOrdinality, alias: parseAlias(c), pos };
  }
  return {
    kind: 'function',
    lateral,
    functions: [{ ...only, columns: typed.columns }],
    withOrdinality,
    alias: typed.name && { name: typed.name, columns: [], pos: typed.name.pos },
    pos,
  };
}

/** A function of ROWS FROM, with its column definitions. */
function parseListedFunction(c: Cursor): TableFunction {
  const { pos } = c.peek();
  const call = parseFunction(c);
  return { call, columns: c.accept('as') ? parseTypedColumns(c) : [], pos };
}

function parseFunction(c: Cursor): CallExpr {
  const { pos } = c.peek();
  if (!startsFunction(c)) {
    c.name();
    throw c.syntaxError();
  }
  const call = c.rules.primary(c);
  if (call.kind !== 'call') throw c.unsupported('an expression other than a function call in FROM', pos);
  if (call.over !== undefined || call.filter !== undefined || call.withinGroup.length > 0) {
    throw c.syntaxError(c.previous);
  }
  return call;
}

export function parseTypedColumns(c: Cursor): TypedColumn[] {
  return c.parenList(() => {
    const name = c.ident();
    return { name, type: parseType(c), pos: name.pos };
  });
}

/** `AS (a int)`, `AS t (a int)`, `t (a int)`; undefined when an ordinary alias or nothing follows. */
function parseColumnDefs(c: Cursor): { name: Ident | undefined; columns: TypedColumn[] } | undefined {
  const as = c.isWord('as') ? 1 : 0;
  const named = as === 1 && c.isSymbol('(', 1) ? 0 : 1;
  const paren = as + named;
  if (!c.isSymbol('(', paren)) return undefined;
  // `t (a, b)` names columns; a type in the place of the comma defines them.
  if (named === 1 && (c.isSymbol(',', paren + 2) || c.isSymbol(')', paren + 2))) return undefined;
  if (named === 1 && !c.isColumnName(as)) return undefined;
  c.accept('as');
  const name = named === 1 ? c.ident() : undefined;
  return { name, columns: parseTypedColumns(c) };
}

// ---- Aliases

/** `[AS] name [(columns)]`, or nothing; `AS OF` is a clause of the statement. */
function parseAlias(c: Cursor): TableAlias | undefined {
  if (c.isWord('as')) {
    if (startsAsOf(c)) return undefined;
    c.next();
  } else if (!c.isColumnName()) return undefined;
  const name = c.ident();
  return { name, columns: c.optionalIdentList(), pos: name.pos };
}

/**
 * Whether `AS OF` here is the clause that says when to read, or an alias `of`. PostgreSQL has no token but a
 * parenthesis that may follow an alias and begin an expression, so what follows decides; `AS OF (a, b)` is an alias.
 */
export function startsAsOf(c: Cursor): boolean {
  if (!c.isPair('as', 'of')) return false;
  const token = c.peek(2);
  switch (token.type) {
    case 'number':
    case 'string':
    case 'param':
    case 'quoted':
      return true;
    case 'word':
      return c.isColumnName(2) || isNullary(token.text) || token.text === 'cast' || token.text === 'case';
    case 'symbol': {
      if (token.text !== '(') return token.text === '-' || token.text === '+';
      const aliased = c.isColumnName(3) && (c.isSymbol(',', 4) || c.isSymbol(')', 4));
      return !aliased;
    }
    default:
      return false;
  }
}
