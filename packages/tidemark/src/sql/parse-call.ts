/** Function calls with all their clauses, windows, and the items of ORDER BY. */
import type {
  CallExpr,
  Expr,
  FrameBound,
  Ident,
  ObjectName,
  OrderItem,
  WindowFrame,
  WindowRef,
  WindowSpec,
} from './ast.ts';
import type { Cursor } from './cursor.ts';
import { isOperator } from './precedence.ts';

/** A call without further clauses: what PostgreSQL's special syntaxes are rewritten to. */
export function plainCall(name: string, args: readonly Expr[], pos: number): CallExpr {
  return callOf({ parts: [{ name, pos }], pos }, args);
}

function callOf(name: ObjectName, args: readonly Expr[]): CallExpr {
  return {
    kind: 'call',
    name,
    args,
    star: false,
    distinct: false,
    variadic: false,
    orderBy: [],
    withinGroup: [],
    filter: undefined,
    over: undefined,
    pos: name.pos,
  };
}

/** From the opening parenthesis on. */
export function parseCall(c: Cursor, name: ObjectName): CallExpr {
  return callSuffix(c, parseArguments(c, name));
}

/** The call proper, without WITHIN GROUP, FILTER and OVER. */
function parseArguments(c: Cursor, name: ObjectName): CallExpr {
  c.expectSymbol('(');
  const call = callOf(name, []);
  if (c.acceptSymbol(')')) return call;
  if (c.isSymbol('*')) {
    c.next();
    c.expectSymbol(')');
    return { ...call, star: true };
  }
  const quantifier = c.oneOf(['distinct', 'all']);
  const args: Expr[] = [];
  let variadic = false;
  do {
    variadic = quantifier === undefined && c.accept('variadic');
    args.push(parseArgument(c));
  } while (!variadic && c.acceptSymbol(','));
  const orderBy = parseOrderBy(c);
  c.expectSymbol(')');
  return { ...call, args, distinct: quantifier === 'distinct', variadic, orderBy };
}

/** An argument, maybe `name => value`. */
export function parseArgument(c: Cursor): Expr {
  if (c.isTypeName() && (c.isSymbol('=>', 1) || c.isSymbol(':=', 1))) {
    const name = c.typeIdent();
    c.next();
    return { kind: 'namedArg', name, value: c.rules.expr(c), pos: name.pos };
  }
  return c.rules.expr(c);
}

function callSuffix(c: Cursor, call: CallExpr): CallExpr {
  let { withinGroup, filter, over } = call;
  if (c.isWords('within', 'group')) {
    const { pos } = c.expect('within', 'group');
    c.expectSymbol('(');
    if (!c.isWord('order')) throw c.syntaxError();
    withinGroup = parseOrderBy(c);
    c.expectSymbol(')');
    const clash = [
      call.orderBy.length > 0 && 'multiple ORDER BY clauses',
      call.distinct && 'DISTINCT',
      call.variadic && 'VARIADIC',
    ].find((what) => what !== false);
    if (clash !== undefined) throw c.fail('syntax_error', `cannot use ${clash} with WITHIN GROUP`, pos);
  }
  if (c.accept('filter')) {
    c.expectSymbol('(');
    c.expect('where');
    filter = c.rules.expr(c);
    c.expectSymbol(')');
  }
  if (c.accept('over')) over = parseWindowRef(c);
  return { ...call, withinGroup, filter, over };
}

// ---- ORDER BY

/** `ORDER BY …` if it comes next, else nothing. */
export function parseOrderBy(c: Cursor): OrderItem[] {
  if (!c.isWord('order')) return [];
  c.expect('order', 'by');
  return c.list(() => parseOrderItem(c));
}

function parseOrderItem(c: Cursor): OrderItem {
  const expr = c.rules.expr(c);
  const pos = c.pos;
  const descending = c.accept('using') ? orderOperator(c) : c.oneOf(['asc', 'desc']) === 'desc';
  const nulls = c.acceptPair('nulls', 'first') ? 'first' : c.acceptPair('nulls', 'last') ? 'last' : undefined;
  return { expr, descending, nulls, pos };
}

/** `USING <` and `USING >` are the two orders there are. */
function orderOperator(c: Cursor): boolean {
  const token = c.peek();
  if (token.type !== 'symbol' || !isOperator(token.text)) {
    if (c.isWord('operator')) throw c.unsupported('ORDER BY USING OPERATOR');
    throw c.syntaxError();
  }
  if (token.text !== '<' && token.text !== '>') throw c.unsupported(`ORDER BY USING ${token.text}`);
  c.next();
  return token.text === '>';
}

// ---- Windows

function parseWindowRef(c: Cursor): WindowRef {
  if (c.isSymbol('(')) return parseWindowSpec(c);
  const name = c.ident();
  return { kind: 'windowName', name, pos: name.pos };
}

export function parseWindowSpec(c: Cursor): WindowSpec {
  const { pos } = c.expectSymbol('(');
  // These words open a clause here, though they may name a window elsewhere.
  const clause = ['partition', 'range', 'rows', 'groups'].some((word) => c.isWord(word));
  const base: Ident | undefined = !clause && c.isColumnName() ? c.ident() : undefined;
  const partitionBy: Expr[] = [];
  if (c.accept('partition')) {
    c.expect('by');
    partitionBy.push(...c.list(() => c.rules.expr(c)));
  }
  const orderBy = parseOrderBy(c);
  const frame = parseFrame(c);
  c.expectSymbol(')');
  return { kind: 'windowSpec', base, partitionBy, orderBy, frame, pos };
}

const FRAME_ORDER = [
  'unboundedPreceding',
  'preceding',
  'currentRow',
  'following',
  'unboundedFollowing',
] as const;

function parseFrame(c: Cursor): WindowFrame | undefined {
  const pos = c.pos;
  const units = c.oneOf(['rows', 'range', 'groups']);
  if (units === undefined) return undefined;
  const both = c.accept('between');
  const start = parseFrameBound(c);
  let end: FrameBound = { kind: 'currentRow', pos: start.pos };
  if (both) {
    c.expect('and');
    end = parseFrameBound(c);
  }
  checkFrame(c, start, end);
  return { units, start, end, exclude: parseExclusion(c), pos };
}

function parseFrameBound(c: Cursor): FrameBound {
  const pos = c.pos;
  if (c.accept('unbounded', 'preceding')) return { kind: 'unboundedPreceding', pos };
  if (c.accept('unbounded', 'following')) return { kind: 'unboundedFollowing', pos };
  if (c.accept('current', 'row')) return { kind: 'currentRow', pos };
  const offset = c.rules.expr(c);
  const direction = c.oneOf(['preceding', 'following']);
  if (direction === undefined) throw c.syntaxError();
  return { kind: direction, offset, pos };
}

function checkFrame(c: Cursor, start: FrameBound, end: FrameBound): void {
  const fail = (message: string, pos: number) => {
    throw c.fail('windowing_error', message, pos);
  };
  const order = (bound: FrameBound) => FRAME_ORDER.indexOf(bound.kind);
  if (start.kind === 'unboundedFollowing') fail('frame start cannot be UNBOUNDED FOLLOWING', start.pos);
  if (end.kind === 'unboundedPreceding') fail('frame end cannot be UNBOUNDED PRECEDING', end.pos);
  if (order(end) < order(start)) {
    const from = start.kind === 'currentRow' ? 'current' : 'following';
    const rest = end.kind === 'preceding' ? 'have preceding rows' : 'end with current row';
    fail(`frame starting from ${from} row cannot ${rest}`, end.pos);
  }
}

function parseExclusion(c: Cursor): WindowFrame['exclude'] {
  if (!c.accept('exclude')) return 'no others';
  if (c.accept('no', 'others')) return 'no others';
  if (c.accept('current', 'row')) return 'current row';
  const rest = c.oneOf(['group', 'ties']);
  if (rest === undefined) throw c.syntaxError();
  return rest;
}
