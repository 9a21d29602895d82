/**
 * Operators, by precedence climbing over `precedence.ts`. `a_expr` is everything; `b_expr` (between BETWEEN and AND,
 * in column defaults, in POSITION) leaves out what needs a keyword other than IS DISTINCT FROM.
 *
 * PostgreSQL's non-associative levels only forbid what would otherwise be ambiguous: `a < b < c` is an error, but
 * `a IS NULL IS NULL` and `a = ANY (b) = c` are not, because nothing follows the first operator's last token.
 */
import type { Expr } from './ast.ts';
import type { Cursor } from './cursor.ts';
import { plainCall } from './parse-call.ts';
import { parsePrimary, queryOrList } from './parse-primary.ts';
import type { SpecialRules } from './parse-special.ts';
import { parseType } from './parse-type.ts';
import { infixLevel, isOperator, LEVEL } from './precedence.ts';

export const parseExpr = (c: Cursor): Expr => climb(c, 0, false);
export const parseBExpr = (c: Cursor): Expr => climb(c, 0, true);

export const parseOperand = (c: Cursor): Expr => parsePrimary(c, SPECIAL_RULES);

const SPECIAL_RULES: SpecialRules = { bExpr: parseBExpr };

/** One infix or postfix step: the tree so far and whether its last operand is open to the right. */
interface Step {
  readonly expr: Expr;
  /** Ends in an operand, so that a second operator of a non-associative level is ambiguous. */
  readonly open: boolean;
}
const open = (expr: Expr): Step => ({ expr, open: true });
const closed = (expr: Expr): Step => ({ expr, open: false });

function climb(c: Cursor, min: number, restricted: boolean): Expr {
  c.enter();
  let expr = parsePrefix(c, restricted);
  /** The level at which no further operator may follow. */
  let barred = 0;
  for (;;) {
    const level = nextLevel(c, restricted);
    if (level < min || level === 0) break;
    if (level === barred) throw c.syntaxError();
    const step = parseStep(c, expr, level, restricted);
    const associates = level !== LEVEL.is && level !== LEVEL.comparison && level !== LEVEL.match;
    barred = step.open && !associates ? level : 0;
    expr = step.expr;
    c.link();
  }
  c.leave();
  return expr;
}

const MATCH_WORDS: ReadonlySet<string> = new Set(['between', 'in', 'like', 'ilike', 'similar']);

/** The level of the operator that comes next, 0 if none does. */
function nextLevel(c: Cursor, restricted: boolean): number {
  const { type, text } = c.peek();
  if (type === 'symbol') {
    if (text === '::') return LEVEL.cast;
    return isOperator(text) ? infixLevel(text) : 0;
  }
  if (type !== 'word') return 0;
  if (text === 'is') return LEVEL.is;
  if (text === 'operator') return c.isSymbol('(', 1) ? LEVEL.operator : 0;
  return restricted ? 0 : wordLevel(c, text);
}

function wordLevel(c: Cursor, word: string): number {
  switch (word) {
    case 'and':
      return LEVEL.and;
    case 'or':
      return LEVEL.or;
    case 'isnull':
    case 'notnull':
      return LEVEL.is;
    case 'between':
    case 'in':
    case 'like':
    case 'ilike':
    case 'overlaps':
      return LEVEL.match;
    case 'similar':
      return c.isWord('to', 1) ? LEVEL.match : 0;
    case 'not':
      return MATCH_WORDS.has(c.peek(1).text) && c.peek(1).type === 'word' ? LEVEL.match : 0;
    case 'collate':
      return LEVEL.collate;
    case 'at':
      return c.isWord('time', 1) || c.isWord('local', 1) ? LEVEL.at : 0;
    default:
      return 0;
  }
}

function parsePrefix(c: Cursor, restricted: boolean): Expr {
  const token = c.peek();
  const sign = token.text === '-' || token.text === '+';
  // Of the operators with a level of their own only the signs have a prefix form.
  const prefix = sign || (isOperator(token.text) && infixLevel(token.text) === LEVEL.operator);
  if (token.type === 'symbol' && prefix) {
    c.next();
    const expr = climb(c, sign ? LEVEL.sign : LEVEL.operator + 1, restricted);
    if (token.text === '-' && expr.kind === 'number') {
      const text = expr.text.startsWith('-') ? expr.text.slice(1) : `-${expr.text}`;
      return { kind: 'number', text, pos: token.pos };
    }
    return { kind: 'unary', op: token.text, schema: undefined, expr, pos: token.pos };
  }
  if (c.isWord('operator') && c.isSymbol('(', 1)) {
    const op = parseQualifiedOperator(c);
    return { kind: 'unary', ...op, expr: climb(c, LEVEL.operator + 1, restricted), pos: token.pos };
  }
  if (!restricted && c.accept('default')) return { kind: 'default', pos: token.pos };
  if (!restricted && c.isWord('not')) {
    c.next();
    return { kind: 'not', expr: climb(c, LEVEL.not, false), pos: token.pos };
  }
  return parseOperand(c);
}

function parseStep(c: Cursor, left: Expr, level: number, restricted: boolean): Step {
  const { type, text, pos } = c.peek();
  if (type === 'symbol') {
    c.next();
    if (text === '::') return closed({ kind: 'cast', expr: left, type: parseType(c), pos });
    return parseOperatorStep(c, { left, op: text, schema: undefined, pos, level, restricted });
  }
  switch (text) {
    case 'operator':
      return parseOperatorStep(c, { left, ...parseQualifiedOperator(c), pos, level, restricted });
    case 'and':
    case 'or':
      return parseConnective(c, left, text, pos);
    case 'is':
      return parseIs(c, left, restricted);
    case 'isnull':
    case 'notnull':
      c.next();
      return closed({ kind: 'isNull', negated: text === 'notnull', expr: left, pos });
    case 'collate': {
      c.next();
      return closed({ kind: 'collate', expr: left, collation: c.name(), pos });
    }
    case 'at':
      return parseAtZone(c, left, pos);
    case 'overlaps':
      return parseOverlaps(c, left, pos);
    default:
      return parseMatch(c, left);
  }
}

interface OperatorStep {
  readonly left: Expr;
  readonly op: string;
  readonly schema: string | undefined;
  readonly pos: number;
  readonly level: number;
  readonly restricted: boolean;
}

/** The operator is taken: its right operand, or ANY, SOME, ALL. */
function parseOperatorStep(c: Cursor, step: OperatorStep): Step {
  const { left, op, schema, pos, level, restricted } = step;
  if (!restricted) {
    const quantified = parseQuantified(c, { left, op, schema, pos });
    if (quantified !== undefined) return closed(quantified);
  }
  return open({ kind: 'binary', op, schema, left, right: climb(c, level + 1, restricted), pos });
}

type Quantified = Pick<OperatorStep, 'left' | 'op' | 'schema' | 'pos'>;

function parseQuantified(c: Cursor, step: Quantified): Expr | undefined {
  const word = c.oneOf(['any', 'some', 'all']);
  if (word === undefined) return undefined;
  const quantifier = word === 'all' ? 'all' : 'any';
  const found = queryOrList(c, 1);
  if (!Array.isArray(found)) return { kind: 'quantifiedQuery', ...step, quantifier, query: found };
  return { kind: 'quantifiedArray', ...step, quantifier, array: found[0] as Expr };
}

/** `OPERATOR(schema.op)` */
function parseQualifiedOperator(c: Cursor): { op: string; schema: string | undefined } {
  c.expect('operator');
  c.expectSymbol('(');
  let schema: string | undefined;
  while (c.peek().type !== 'symbol') {
    if (schema !== undefined) throw c.unsupported('an operator of another database');
    schema = c.ident().name;
    c.expectSymbol('.');
  }
  const op = c.next().text;
  if (!isOperator(op)) throw c.syntaxError(c.previous);
  c.expectSymbol(')');
  return { op, schema };
}

/** A whole run of AND (or OR) is one node. */
function parseConnective(c: Cursor, left: Expr, word: 'and' | 'or', pos: number): Step {
  const operands = [left];
  while (c.accept(word)) operands.push(climb(c, LEVEL[word] + 1, false));
  return open({ kind: word, operands, pos });
}

function parseIs(c: Cursor, left: Expr, restricted: boolean): Step {
  const { pos } = c.expect('is');
  const negated = c.accept('not');
  if (c.accept('distinct')) {
    c.expect('from');
    return open({ kind: 'isDistinct', negated, left, right: climb(c, LEVEL.is + 1, restricted), pos });
  }
  const document = c.isWord('document');
  if (document) throw c.unsupported('IS DOCUMENT', pos);
  if (restricted) throw c.syntaxError();
  if (c.accept('null')) return closed({ kind: 'isNull', negated, expr: left, pos });
  const value = c.oneOf(['true', 'false', 'unknown']);
  if (value !== undefined) return closed({ kind: 'isBoolean', value, negated, expr: left, pos });
  if (c.isWord('json')) throw c.unsupported('IS JSON', pos);
  if (c.oneOf(['nfc', 'nfd', 'nfkc', 'nfkd', 'normalized']) !== undefined) {
    throw c.unsupported('IS NORMALIZED', pos);
  }
  throw c.syntaxError();
}

function parseAtZone(c: Cursor, left: Expr, pos: number): Step {
  if (c.accept('at', 'local')) return closed(plainCall('timezone', [left], pos));
  c.expect('at', 'time', 'zone');
  return open(plainCall('timezone', [climb(c, LEVEL.at + 1, false), left], pos));
}

/** `(a, b) OVERLAPS (c, d)` is `overlaps(a, b, c, d)`. */
function parseOverlaps(c: Cursor, left: Expr, pos: number): Step {
  if (left.kind !== 'row') throw c.syntaxError();
  c.next();
  if (!c.isSymbol('(') && !(c.isWord('row') && c.isSymbol('(', 1))) throw c.syntaxError();
  const right = parseOperand(c);
  if (right.kind !== 'row') throw c.syntaxError(c.previous);
  for (const [side, row] of [
    ['left', left],
    ['right', right],
  ] as const) {
    if (row.elements.length !== 2) {
      throw c.fail(
        'syntax_error',
        `wrong number of parameters on ${side} side of OVERLAPS expression`,
        row.pos,
      );
    }
  }
  return closed(plainCall('overlaps', [...left.elements, ...right.elements], pos));
}

const LIKE_OPERATORS: Readonly<Record<'like' | 'ilike', readonly [string, string]>> = {
  like: ['~~', '!~~'],
  ilike: ['~~*', '!~~*'],
};

/** [NOT] BETWEEN, IN, LIKE, ILIKE, SIMILAR TO. */
function parseMatch(c: Cursor, expr: Expr): Step {
  const { pos } = c.peek();
  const negated = c.accept('not');
  if (c.accept('in')) {
    const found = queryOrList(c);
    return closed(
      Array.isArray(found)
        ? { kind: 'inList', negated, expr, list: found, pos }
        : { kind: 'inQuery', negated, expr, query: found, pos },
    );
  }
  if (c.accept('between')) {
    const symmetric = c.oneOf(['symmetric', 'asymmetric']) === 'symmetric';
    const low = parseBExpr(c);
    c.expect('and');
    return open({
      kind: 'between',
      negated,
      symmetric,
      expr,
      low,
      high: climb(c, LEVEL.match + 1, false),
      pos,
    });
  }
  const word = c.oneOf(['like', 'ilike']);
  if (word === undefined) c.expect('similar', 'to');
  else {
    const op = LIKE_OPERATORS[word][negated ? 1 : 0];
    const quantified = parseQuantified(c, { left: expr, op, schema: undefined, pos });
    if (quantified !== undefined) return closed(quantified);
  }
  const pattern = climb(c, LEVEL.match + 1, false);
  const escape = c.accept('escape') ? climb(c, LEVEL.match + 1, false) : undefined;
  return open({ kind: 'like', op: word ?? 'similar to', negated, expr, pattern, escape, pos });
}
