/** `c_expr` of PostgreSQL's grammar: literals, names, calls, parentheses, constructors, with subscripts and fields. */
import type { ColumnExpr, Expr, Ident, ObjectName, Query, Subscript, TypeName } from './ast.ts';
import type { Cursor } from './cursor.ts';
import type { Token } from './lexer.ts';
import { parseCall, plainCall } from './parse-call.ts';
import { nullaryCall, SPECIAL, type SpecialRules } from './parse-special.ts';
import { namedType, parseSimpleType, startsBuiltinType, withIntervalFields } from './parse-type.ts';

export function parsePrimary(c: Cursor, rules: SpecialRules): Expr {
  const token = c.peek();
  switch (token.type) {
    case 'number':
      c.next();
      return { kind: 'number', text: token.text, pos: token.pos };
    case 'string':
      c.next();
      return { kind: 'string', value: token.text, pos: token.pos };
    case 'bits':
      c.next();
      return {
        kind: 'bitString',
        base: token.text.startsWith('b') ? 'b' : 'x',
        value: token.text.slice(1),
        pos: token.pos,
      };
    case 'param':
      c.next();
      return parseIndirection(c, { kind: 'parameter', index: Number(token.text), pos: token.pos });
    case 'symbol':
      if (token.text !== '(') throw c.syntaxError();
      return parseParenthesised(c);
    case 'word':
    case 'quoted':
      return parseWord(c, token, rules);
    case 'end':
      throw c.syntaxError();
  }
}

// ---- Parentheses

export function startsQuery(c: Cursor): boolean {
  const { type, text } = c.peek();
  if (type !== 'word') return false;
  return (
    text === 'select' || text === 'with' || text === 'table' || (text === 'values' && c.isSymbol('(', 1))
  );
}

const CONTINUES_QUERY = ['union', 'intersect', 'except', 'order', 'limit', 'offset', 'fetch', 'for'] as const;

export function continuesQuery(c: Cursor): boolean {
  return CONTINUES_QUERY.some((word) => c.isWord(word));
}

/**
 * What stands between parentheses, the closing one taken: a query, or one expression or more. Which of them is known
 * only after inner parentheses: `((select 1) union select 2)` against `((select 1) + 1)`; both begin with a subquery,
 * and what follows it decides, so nothing is read twice.
 */
export function queryOrList(c: Cursor, most: number = Number.POSITIVE_INFINITY): Query | Expr[] {
  c.expectSymbol('(');
  if (startsQuery(c)) {
    const query = c.rules.query(c);
    c.expectSymbol(')');
    return query;
  }
  const first = c.rules.expr(c);
  if (first.kind === 'subquery' && (c.isSymbol(')') || continuesQuery(c))) {
    const query = c.isSymbol(')') ? first.query : c.rules.queryRest(c, first.query);
    c.expectSymbol(')');
    return query;
  }
  const items = [first];
  while (items.length < most && c.acceptSymbol(',')) items.push(c.rules.expr(c));
  c.expectSymbol(')');
  return items;
}

/** A query in its parentheses, where nothing else may stand. */
export function parseSubquery(c: Cursor): Query {
  c.enter();
  c.expectSymbol('(');
  let query: Query;
  if (startsQuery(c) || c.isWord('values')) query = c.rules.query(c);
  else {
    query = parseSubquery(c);
    if (continuesQuery(c)) query = c.rules.queryRest(c, query);
  }
  c.expectSymbol(')');
  c.leave();
  return query;
}

function parseParenthesised(c: Cursor): Expr {
  const { pos } = c.peek();
  const found = queryOrList(c);
  if (!Array.isArray(found)) return parseIndirection(c, { kind: 'subquery', query: found, pos });
  if (found.length > 1) return { kind: 'row', elements: found, pos };
  return parseIndirection(c, found[0] as Expr);
}

// ---- Subscripts and fields

/** `[…]`, `.f`, `.*` after what may have them. */
function parseIndirection(c: Cursor, base: Expr): Expr {
  let expr = base;
  for (;;) {
    const { pos } = expr;
    if (c.isSymbol('[')) {
      expr = { kind: 'subscript', expr, subscripts: parseSubscripts(c), pos };
    } else if (c.acceptSymbol('.')) {
      if (c.acceptSymbol('*')) return { kind: 'fieldStar', expr, pos };
      expr = { kind: 'field', expr, field: c.label(), pos };
    } else return expr;
    c.link();
  }
}

function parseSubscripts(c: Cursor): Subscript[] {
  const subscripts: Subscript[] = [];
  while (c.isSymbol('[')) {
    const { pos } = c.next();
    subscripts.push(finishSubscript(c, pos, c.isSymbol(':') ? undefined : c.rules.expr(c)));
  }
  return subscripts;
}

function finishSubscript(c: Cursor, pos: number, lower: Expr | undefined): Subscript {
  // Without a lower bound only a slice can follow.
  const slice = lower === undefined ? c.expectSymbol(':') !== undefined : c.acceptSymbol(':');
  const upper = slice && !c.isSymbol(']') ? c.rules.expr(c) : undefined;
  c.expectSymbol(']');
  return { slice, lower, upper, pos };
}

// ---- What begins with a word

function parseWord(c: Cursor, token: Token, rules: SpecialRules): Expr {
  if (token.type === 'word') {
    const special = SPECIAL.get(token.text);
    if (special !== undefined && (!special.paren || c.isSymbol('(', 1))) {
      return special.rule(c, token.pos, rules);
    }
    const constructed = parseConstructor(c, token);
    if (constructed !== undefined) return constructed;
    if (startsBuiltinType(c)) {
      const typed = parseTypedLiteral(c);
      if (typed !== undefined) return typed;
    }
    const keyword = c.keywordClass(token);
    if (keyword === 'typeFunc') return parseTypeFunction(c, token);
    if (keyword === 'reserved') throw c.syntaxError();
  }
  return parseNamed(c);
}

/** EXISTS, ARRAY, ROW, LIST, MAP; undefined when the word is a name here. */
function parseConstructor(c: Cursor, token: Token): Expr | undefined {
  const { pos } = token;
  const before = (symbol: string) => c.isSymbol(symbol, 1);
  switch (token.text) {
    case 'exists':
      if (!before('(')) return undefined;
      c.next();
      return { kind: 'exists', query: parseSubquery(c), pos };
    case 'array':
      c.next();
      if (c.isSymbol('('))
        return { kind: 'arrayQuery', constructorName: 'array', query: parseSubquery(c), pos };
      return { kind: 'array', elements: parseArrayElements(c), pos };
    case 'row':
      if (!before('(')) return undefined;
      c.next();
      return { kind: 'row', elements: parseRowElements(c), pos };
    case 'list':
      return parseList(c, pos);
    case 'map':
      return before('[') ? parseMap(c, pos) : undefined;
    default:
      return undefined;
  }
}

function parseRowElements(c: Cursor): Expr[] {
  c.expectSymbol('(');
  if (c.acceptSymbol(')')) return [];
  const elements = c.list(() => c.rules.expr(c));
  c.expectSymbol(')');
  return elements;
}

/** `[a, b]`, `[[a], [b]]`, `[]`. */
function parseArrayElements(c: Cursor): Expr[] {
  c.enter();
  c.expectSymbol('[');
  let elements: Expr[] = [];
  if (c.isSymbol('[')) {
    elements = c.list(() => ({ kind: 'array', pos: c.pos, elements: parseArrayElements(c) }));
  } else if (!c.isSymbol(']')) elements = c.list(() => c.rules.expr(c));
  c.expectSymbol(']');
  c.leave();
  return elements;
}

/**
 * `LIST[…]` and `LIST(query)`; a column of that name is subscripted as `"list"[1]`, and `list((select 1))` is a query
 * in its parentheses, as it is after IN.
 */
function parseList(c: Cursor, pos: number): Expr | undefined {
  const mark = c.mark();
  c.next();
  if (c.isSymbol('[')) return { kind: 'list', elements: parseArrayElements(c), pos };
  if (c.isSymbol('(')) {
    c.next();
    const query = startsQuery(c) || c.isSymbol('(');
    c.reset(mark + 1);
    if (query) {
      const found = queryOrList(c);
      if (Array.isArray(found)) return plainCall('list', found, pos);
      return { kind: 'arrayQuery', constructorName: 'list', query: found, pos };
    }
  }
  c.reset(mark);
  return undefined;
}

/** `MAP[k => v, …]`; without `=>` it is a subscript of a column of that name. */
function parseMap(c: Cursor, pos: number): Expr {
  const name = c.ident();
  const bracket = c.expectSymbol('[').pos;
  if (c.acceptSymbol(']')) return { kind: 'map', entries: [], pos };
  const first = c.isSymbol(':') ? undefined : c.rules.expr(c);
  if (first === undefined || !c.acceptSymbol('=>')) {
    const subscripts = [finishSubscript(c, bracket, first), ...parseSubscripts(c)];
    const expr: Expr = { kind: 'column', name: { parts: [name], pos }, pos };
    return parseIndirection(c, { kind: 'subscript', expr, subscripts, pos });
  }
  const entries = [{ key: first, value: c.rules.expr(c) }];
  while (c.acceptSymbol(',')) {
    const key = c.rules.expr(c);
    c.expectSymbol('=>');
    entries.push({ key, value: c.rules.expr(c) });
  }
  c.expectSymbol(']');
  return { kind: 'map', entries, pos };
}

// ---- Typed literals

/** `int '1'`, `timestamp with time zone '…'`, `interval '1' day`: undefined if the words are a name after all. */
function parseTypedLiteral(c: Cursor): Expr | undefined {
  const mark = c.mark();
  const { pos, text: word } = c.peek();
  if (word === 'interval') {
    if (c.peek(1).type === 'string') {
      c.next();
      const expr = literalString(c);
      return { kind: 'cast', expr, type: withIntervalFields(c, namedType('interval', pos)), pos };
    }
    if (!c.isSymbol('(', 1)) return undefined;
  }
  if (word === 'national' && !c.isWord('char', 1) && !c.isWord('character', 1)) return undefined;
  const type = parseSimpleType(c);
  if (c.peek().type === 'string') return { kind: 'cast', expr: literalString(c), type: unpadded(type), pos };
  if (c.mark() > mark + 1) throw c.syntaxError();
  c.reset(mark);
  return undefined;
}

/** `char 'abc'` has no length of its own, unlike the type `char`: its implied one stands where the word stands. */
function unpadded(type: TypeName): TypeName {
  const implied = type.name.parts[0]?.name === 'bpchar' && type.modifiers[0]?.pos === type.pos;
  return implied ? { ...type, modifiers: [] } : type;
}

function literalString(c: Cursor): Expr {
  const { text, pos } = c.expectType('string');
  return { kind: 'string', value: text, pos };
}

function genericLiteral(c: Cursor, name: ObjectName, modifiers: readonly Expr[]): Expr {
  const type = { ...namedType('', name.pos), name, modifiers };
  return { kind: 'cast', expr: literalString(c), type, pos: name.pos };
}

// ---- Names

/** `left(…)`, `left '…'`: the word may name a function or a type, not a column. */
function parseTypeFunction(c: Cursor, token: Token): Expr {
  if (token.text === 'current_schema' && !c.isSymbol('(', 1)) return nullaryCall(c, token.pos);
  if (token.text === 'collation' && c.isWord('for', 1)) {
    c.expect('collation', 'for');
    c.expectSymbol('(');
    const expr = c.rules.expr(c);
    c.expectSymbol(')');
    return plainCall('pg_collation_for', [expr], token.pos);
  }
  const first = c.typeIdent();
  const name = { parts: [first], pos: first.pos };
  if (c.peek().type === 'string') return genericLiteral(c, name, []);
  if (!c.isSymbol('(')) throw c.syntaxError();
  return parseCall(c, name);
}

/** A column, a call, or a literal of a named type. */
function parseNamed(c: Cursor): Expr {
  const columnOnly = c.keywordClass(c.peek()) === 'colName';
  const parts: Ident[] = [c.ident()];
  const { pos } = parts[0] as Ident;
  while (c.acceptSymbol('.')) {
    if (c.acceptSymbol('*')) return { kind: 'wildcard', qualifier: { parts, pos }, pos };
    parts.push(c.label());
  }
  const name: ObjectName = { parts, pos };
  if (!columnOnly || parts.length > 1) {
    if (c.isSymbol('(')) return parseCallOrLiteral(c, name);
    if (c.peek().type === 'string') return genericLiteral(c, name, []);
  }
  if (parts.length > 4) {
    const written = parts.map((p) => p.name).join('.');
    throw c.fail('syntax_error', `improper qualified name (too many dotted names): ${written}`, pos);
  }
  const column: ColumnExpr = { kind: 'column', name, pos };
  return parseIndirection(c, column);
}

/** `f(…)`; `bpchar(3) 'abc'` is a literal. */
function parseCallOrLiteral(c: Cursor, name: ObjectName): Expr {
  const call = parseCall(c, name);
  if (c.peek().type !== 'string' || call.args.length === 0) return call;
  const plain = !(call.star || call.distinct || call.variadic || call.filter || call.over);
  if (!plain || call.orderBy.length + call.withinGroup.length > 0) throw c.syntaxError();
  if (call.args.some((arg) => arg.kind === 'namedArg')) throw c.syntaxError();
  return genericLiteral(c, name, call.args);
}
