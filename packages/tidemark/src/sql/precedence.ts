/**
 * How tightly operators bind: one table, read by the parser and by the printer. The order is PostgreSQL's; what is
 * not named here (`||`, `->`, `~`, `@>`, any operator a user could make, `OPERATOR(…)`) has the level `operator`.
 */
import type { Expr } from './ast.ts';

/** An operator as written. */
interface Operator {
  readonly op: string;
  readonly schema: string | undefined;
}

export const LEVEL = {
  or: 1,
  and: 2,
  not: 3,
  /** IS …, ISNULL, NOTNULL. */
  is: 4,
  /** Does not associate: `a < b < c` is an error. */
  comparison: 5,
  /** BETWEEN, IN, LIKE, ILIKE, SIMILAR TO; does not associate. */
  match: 6,
  operator: 7,
  additive: 8,
  multiplicative: 9,
  power: 10,
  at: 11,
  collate: 12,
  /** Prefix + and -; other prefix operators have the level `operator`. */
  sign: 13,
  cast: 14,
  /** What never needs parentheses. */
  primary: 15,
} as const;

const SYMBOLS: Readonly<Record<string, number>> = {
  '<': LEVEL.comparison,
  '>': LEVEL.comparison,
  '=': LEVEL.comparison,
  '<=': LEVEL.comparison,
  '>=': LEVEL.comparison,
  '<>': LEVEL.comparison,
  '+': LEVEL.additive,
  '-': LEVEL.additive,
  '*': LEVEL.multiplicative,
  '/': LEVEL.multiplicative,
  '%': LEVEL.multiplicative,
  '^': LEVEL.power,
};

/** `=>` names an argument and is no operator. */
export const isOperator = (symbol: string): boolean =>
  symbol !== '=>' && /^[~!@#^&|`?+\-*/%<>=]/.test(symbol);

export const infixLevel = (op: string): number => SYMBOLS[op] ?? LEVEL.operator;

export const operatorLevel = (op: Operator): number =>
  op.schema === undefined ? infixLevel(op.op) : LEVEL.operator;

/** The level of a tree's topmost operator. */
export function levelOf(e: Expr): number {
  switch (e.kind) {
    case 'or':
    case 'and':
    case 'not':
    case 'collate':
    case 'cast':
      return LEVEL[e.kind];
    case 'isNull':
    case 'isBoolean':
    case 'isDistinct':
      return LEVEL.is;
    case 'between':
    case 'like':
    case 'inList':
    case 'inQuery':
      return LEVEL.match;
    case 'binary':
    case 'quantifiedArray':
    case 'quantifiedQuery':
      return operatorLevel(e);
    case 'unary':
      return isSign(e) ? LEVEL.sign : LEVEL.operator;
    case 'number':
      return e.text.startsWith('-') ? LEVEL.sign : LEVEL.primary;
    case 'namedArg':
    case 'default':
      return 0;
    default:
      return LEVEL.primary;
  }
}

/** Prefix + and -. */
export const isSign = (e: Operator): boolean => e.schema === undefined && (e.op === '-' || e.op === '+');
