/** Queries: WITH, set operations, SELECT, VALUES, TABLE, and the clauses around them. */

import { SqlError } from '../base/error.ts';
import type {
  AsOf,
  Cte,
  Expr,
  GroupItem,
  LockingClause,
  OrderItem,
  Query,
  QueryBody,
  RecursiveBinding,
  Select,
  SelectItem,
  WithMutuallyRecursive,
} from './ast.ts';
import type { Cursor } from './cursor.ts';
import { isBareLabel } from './keywords.ts';
import { parseOrderBy, parseWindowSpec } from './parse-call.ts';
import { parseFrom, parseTypedColumns, startsAsOf } from './parse-from.ts';
import { parseSubquery } from './parse-primary.ts';
import { exprStart } from './walk.ts';

type Clauses = Pick<Query, 'with' | 'orderBy' | 'limit' | 'withTies' | 'offset' | 'locking'>;
const NO_CLAUSES: Clauses = {
  with: undefined,
  orderBy: [],
  limit: undefined,
  withTies: false,
  offset: undefined,
  locking: [],
};

export function parseQuery(c: Cursor): Query {
  const { pos } = c.peek();
  return parseQueryAfterWith(c, parseWith(c), pos);
}

export function parseQueryAfterWith(c: Cursor, ctes: Query['with'], pos: number): Query {
  c.enter();
  const query = finishQuery(c, { body: parseBody(c, 0, undefined), ctes, pos });
  c.leave();
  return query;
}

/** A query whose first operand was read, parentheses and all. */
export function parseQueryRest(c: Cursor, first: Query): Query {
  c.enter();
  const query = finishQuery(c, { body: parseBody(c, 0, first), ctes: undefined, pos: first.pos });
  c.leave();
  return query;
}

interface Unfinished {
  readonly body: QueryBody;
  readonly ctes: Query['with'];
  readonly pos: number;
}

/**
 * ORDER BY, LIMIT and the rest. As in PostgreSQL they apply to the query in parentheses before them, if that is all
 * there is, and may not repeat a clause it has.
 */
function finishQuery(c: Cursor, { body, ctes, pos }: Unfinished): Query {
  const inner: Clauses = body.kind === 'query' ? body : NO_CLAUSES;
  const fail = (clause: string, at: number) =>
    c.fail('syntax_error', `multiple ${clause} clauses not allowed`, at);
  if (ctes !== undefined && inner.with !== undefined) throw fail('WITH', ctes.pos);
  const orderBy = parseOrderBy(c);
  const [first] = orderBy;
  if (first !== undefined && inner.orderBy.length > 0) throw fail('ORDER BY', exprStart(first.expr));
  const tail = parseTail(c);
  if (tail.limit !== undefined && inner.limit !== undefined) throw fail('LIMIT', tail.limitAt);
  if (tail.offset !== undefined && inner.offset !== undefined) throw fail('OFFSET', tail.offsetAt);
  const order: readonly OrderItem[] = orderBy.length > 0 ? orderBy : inner.orderBy;
  const withTies = tail.withTies || inner.withTies;
  if (withTies && order.length === 0) {
    throw c.fail('syntax_error', 'WITH TIES cannot be specified without ORDER BY clause', tail.tiesAt);
  }
  return {
    kind: 'query',
    with: ctes ?? inner.with,
    body: body.kind === 'query' ? body.body : body,
    orderBy: order,
    limit: tail.limit ?? inner.limit,
    withTies,
    offset: tail.offset ?? inner.offset,
    locking: [...inner.locking, ...tail.locking],
    pos,
  };
}

// ---- WITH

export function parseWith(c: Cursor): Query['with'] {
  if (!c.isWord('with')) return undefined;
  const { pos } = c.next();
  if (c.accept('mutually', 'recursive')) return parseMutuallyRecursive(c, pos);
  // The word is a name too: `WITH recursive AS (…)`.
  const recursive = !c.isSymbol('(', 1) && !c.isWord('as', 1) && c.accept('recursive');
  const ctes = c.list(() => parseCte(c));
  return { kind: 'with', recursive, ctes, pos };
}

const DATA_MODIFYING = ['insert', 'update', 'delete', 'merge'] as const;

function parseCte(c: Cursor): Cte {
  const name = c.ident();
  const columns = c.optionalIdentList();
  c.expect('as');
  const not = c.isWords('not', 'materialized') && c.accept('not');
  const materialized = c.accept('materialized') ? !not : undefined;
  if (c.isSymbol('(') && DATA_MODIFYING.some((word) => c.isWord(word, 1))) {
    throw c.unsupported('a data-modifying statement in WITH', c.peek(1).pos);
  }
  const query = parseSubquery(c);
  if (c.isWord('search') || c.isWord('cycle'))
    throw c.unsupported(`the ${c.peek().text.toUpperCase()} clause`);
  return { name, columns, materialized, query, pos: name.pos };
}

function parseMutuallyRecursive(c: Cursor, pos: number): WithMutuallyRecursive {
  const limit = c.isSymbol('(') ? parseRecursionLimit(c) : undefined;
  const bindings = c.list((): RecursiveBinding => {
    const name = c.ident();
    const columns = parseTypedColumns(c);
    c.expect('as');
    return { name, columns, query: parseSubquery(c), pos: name.pos };
  });
  return { kind: 'withMutuallyRecursive', limit, bindings, pos };
}

/** `([RETURN AT | ERROR AT] RECURSION LIMIT [=] n)` */
function parseRecursionLimit(c: Cursor): WithMutuallyRecursive['limit'] {
  c.expectSymbol('(');
  const { pos } = c.peek();
  const onReached = c.accept('return', 'at') ? 'return' : 'error';
  if (onReached === 'error') c.accept('error', 'at');
  c.expect('recursion', 'limit');
  c.acceptSymbol('=');
  const count = c.integer();
  c.expectSymbol(')');
  return { count, onReached, pos };
}

// ---- Set operations

const SET_LEVEL = { union: 1, except: 1, intersect: 2 } as const;

/** INTERSECT binds tighter; all associate to the left. `first`: an operand in parentheses, read already. */
function parseBody(c: Cursor, min: number, first: Query | undefined): QueryBody {
  c.enter();
  let body = first === undefined ? parseOperand(c) : unwrapped(first);
  for (;;) {
    const { text, pos, type } = c.peek();
    if (type !== 'word' || !(text === 'union' || text === 'except' || text === 'intersect')) break;
    const level = SET_LEVEL[text];
    if (level <= min) break;
    c.next();
    const all = c.oneOf(['all', 'distinct']) === 'all';
    const right = parseBody(c, level, undefined);
    body = { kind: 'setOperation', op: text, all, left: body, right, pos };
    c.link();
  }
  c.leave();
  return body;
}

function parseOperand(c: Cursor): QueryBody {
  if (c.isSymbol('(')) return unwrapped(parseSubquery(c));
  const { pos } = c.peek();
  if (c.isWord('select')) return parseSelect(c);
  if (c.accept('values')) return { kind: 'values', rows: parseRows(c), pos };
  if (c.accept('table')) {
    if (c.isWord('only')) throw c.unsupported('ONLY');
    const name = c.name();
    const expr: Expr = { kind: 'wildcard', qualifier: undefined, pos };
    return {
      ...EMPTY_SELECT,
      items: [{ expr, alias: undefined, pos }],
      from: [{ kind: 'table', name, alias: undefined, pos: name.pos }],
      pos,
    };
  }
  throw c.syntaxError();
}

/** The body alone, if the parentheses hold no clause of their own. */
function unwrapped(query: Query): QueryBody {
  const clauses = query.with ?? query.limit ?? query.offset;
  return clauses === undefined && query.orderBy.length + query.locking.length === 0 ? query.body : query;
}

function parseRows(c: Cursor): Expr[][] {
  const rows = c.list(() => c.parenList(() => c.rules.expr(c)));
  const width = rows[0]?.length;
  for (const row of rows) {
    const [first] = row;
    if (row.length !== width && first !== undefined) {
      throw c.fail('syntax_error', 'VALUES lists must all be the same length', first.pos);
    }
  }
  return rows;
}

// ---- SELECT

const EMPTY_SELECT = {
  kind: 'select',
  distinct: false,
  distinctOn: [],
  items: [],
  from: [],
  where: undefined,
  groupBy: [],
  having: undefined,
  windows: [],
} as const;

function parseSelect(c: Cursor): Select {
  const { pos } = c.expect('select');
  const quantifier = c.oneOf(['distinct', 'all']);
  const on = quantifier === 'distinct' && c.accept('on');
  const distinctOn = on ? c.parenList(() => c.rules.expr(c)) : [];
  const items = quantifier === 'distinct' || !endsItems(c) ? parseSelectItems(c) : [];
  if (c.isWord('into')) throw c.unsupported('SELECT INTO');
  const from = parseFrom(c);
  const where = c.accept('where') ? c.rules.expr(c) : undefined;
  const groupBy = parseGroupBy(c);
  const having = c.accept('having') ? c.rules.expr(c) : undefined;
  const windows = c.accept('window')
    ? c.list(() => {
        const name = c.ident();
        c.expect('as');
        return { name, spec: parseWindowSpec(c), pos: name.pos };
      })
    : [];
  const distinct = quantifier === 'distinct' && !on;
  return { kind: 'select', distinct, distinctOn, items, from, where, groupBy, having, windows, pos };
}

const AFTER_ITEMS =
  `from into where group having window union intersect except order limit offset fetch for`.split(' ');

/** Whether a select list is empty: PostgreSQL allows `SELECT FROM t`. */
function endsItems(c: Cursor): boolean {
  const { type, text } = c.peek();
  if (type === 'end') return true;
  if (type === 'symbol') return text === ')' || text === ';';
  return type === 'word' && (AFTER_ITEMS.includes(text) || startsAsOf(c));
}

export function parseSelectItems(c: Cursor): SelectItem[] {
  return c.list(() => {
    const { pos } = c.peek();
    if (c.acceptSymbol('*')) {
      return { expr: { kind: 'wildcard', qualifier: undefined, pos }, alias: undefined, pos };
    }
    const expr = c.rules.expr(c);
    return { expr, alias: parseLabel(c), pos };
  });
}

function parseLabel(c: Cursor): SelectItem['alias'] {
  if (c.isWord('as')) {
    if (startsAsOf(c)) return undefined;
    c.next();
    return c.label();
  }
  const { type, text } = c.peek();
  const bare = type === 'quoted' || (type === 'word' && isBareLabel(text));
  return bare ? c.label() : undefined;
}

// ---- GROUP BY

function parseGroupBy(c: Cursor): GroupItem[] {
  if (!c.isWord('group')) return [];
  c.expect('group', 'by');
  if (c.isWord('distinct')) throw c.unsupported('GROUP BY DISTINCT');
  c.accept('all');
  const items = c.list(() => parseGroupItem(c));
  // `GROUP BY (a, b)` outside a set is `GROUP BY a, b`.
  return items.flatMap((item) =>
    item.kind === 'groupingSet' && item.form === 'columns' ? item.items : [item],
  );
}

function parseGroupItem(c: Cursor): GroupItem {
  const { pos } = c.peek();
  c.enter();
  let item: GroupItem;
  if (c.isSymbol('(') && c.isSymbol(')', 1)) {
    c.next();
    c.next();
    item = { kind: 'groupingSet', form: 'empty', items: [], pos };
  } else if (c.accept('grouping', 'sets')) {
    item = { kind: 'groupingSet', form: 'sets', items: c.parenList(() => parseGroupItem(c)), pos };
  } else if ((c.isWord('rollup') || c.isWord('cube')) && c.isSymbol('(', 1)) {
    const form = c.next().text === 'rollup' ? 'rollup' : 'cube';
    item = { kind: 'groupingSet', form, items: c.parenList(() => parseGroupColumns(c)), pos };
  } else item = parseGroupColumns(c);
  c.leave();
  return item;
}

/** `(a, b)` without ROW is not a row here but two columns. */
function parseGroupColumns(c: Cursor): GroupItem {
  const { pos } = c.peek();
  const paren = c.isSymbol('(');
  const expr = c.rules.expr(c);
  if (!paren || expr.kind !== 'row' || expr.pos !== pos) return expr;
  return { kind: 'groupingSet', form: 'columns', items: expr.elements, pos };
}

// ---- LIMIT, OFFSET, FETCH, FOR

type Limit = Pick<Query, 'limit' | 'withTies'> & { readonly tiesAt: number };
/** With the places of the words LIMIT (or FETCH) and OFFSET. */
type Tail = Limit &
  Pick<Query, 'offset' | 'locking'> & {
    readonly limitAt: number;
    readonly offsetAt: number;
    readonly tiesAt: number;
  };

/** LIMIT and OFFSET in any order; locking before or after them. */
function parseTail(c: Cursor): Tail {
  const locking = parseLocking(c);
  let limit: Limit | undefined;
  let offset: Expr | undefined;
  let limitAt = 0;
  let offsetAt = 0;
  for (;;) {
    const { pos } = c.peek();
    if (limit === undefined && (c.isWord('limit') || c.isWord('fetch'))) limitAt = pos;
    if (offset === undefined && c.isWord('offset')) offsetAt = pos;
    if (limit === undefined && c.isWord('limit')) limit = parseLimit(c);
    else if (limit === undefined && c.isWord('fetch')) limit = parseFetchFirst(c);
    else if (offset === undefined && c.accept('offset')) {
      offset = c.rules.expr(c);
      c.oneOf(['row', 'rows']);
    } else break;
  }
  if (locking.length === 0) locking.push(...parseLocking(c));
  const limited = limit ?? { limit: undefined, withTies: false, tiesAt: 0 };
  return { ...limited, limitAt, offset, offsetAt, locking };
}

function parseLimit(c: Cursor): Limit {
  const { pos } = c.expect('limit');
  const limit = c.accept('all') ? undefined : c.rules.expr(c);
  if (c.acceptSymbol(',')) {
    c.rules.expr(c);
    throw new SqlError('syntax_error', 'LIMIT #,# syntax is not supported', {
      hint: 'use separate LIMIT and OFFSET clauses',
      position: pos + 1,
    });
  }
  return { limit, withTies: false, tiesAt: pos };
}

/** `FETCH FIRST [n] ROWS ONLY | WITH TIES` */
function parseFetchFirst(c: Cursor): Limit {
  const { pos } = c.expect('fetch');
  if (c.oneOf(['first', 'next']) === undefined) throw c.syntaxError();
  const implied = c.isWord('row') || c.isWord('rows');
  const limit: Expr = implied ? { kind: 'number', text: '1', pos } : parseFetchCount(c);
  if (c.oneOf(['row', 'rows']) === undefined) throw c.syntaxError();
  const tiesAt = c.pos;
  const withTies = c.accept('with', 'ties');
  if (!withTies) c.expect('only');
  return { limit, withTies, tiesAt };
}

function parseFetchCount(c: Cursor): Expr {
  const { pos } = c.peek();
  const sign = c.acceptSymbol('-') ? '-' : '';
  const signed = sign === '-' || c.acceptSymbol('+');
  return signed ? { kind: 'number', text: sign + c.expectType('number').text, pos } : c.rules.primary(c);
}

function parseLocking(c: Cursor): LockingClause[] {
  const clauses: LockingClause[] = [];
  while (c.isWord('for')) {
    const { pos } = c.next();
    if (c.accept('read', 'only')) continue;
    const strength = parseStrength(c);
    const of = c.accept('of') ? c.list(() => c.name()) : [];
    const skip = c.accept('skip', 'locked');
    clauses.push({ strength, of, wait: skip ? 'skip locked' : c.oneOf(['nowait']), pos });
  }
  return clauses;
}

function parseStrength(c: Cursor): LockingClause['strength'] {
  if (c.accept('no', 'key', 'update')) return 'no key update';
  if (c.accept('key', 'share')) return 'key share';
  const strength = c.oneOf(['update', 'share']);
  if (strength === undefined) throw c.syntaxError();
  return strength;
}

// ---- AS OF

/** `AS OF [AT LEAST] e`, or nothing: a clause of statements, not of queries. */
export function parseAsOf(c: Cursor): AsOf | undefined {
  if (!startsAsOf(c)) return undefined;
  const { pos } = c.expect('as', 'of');
  const atLeast = c.accept('at', 'least');
  return { atLeast, time: c.rules.expr(c), pos };
}
