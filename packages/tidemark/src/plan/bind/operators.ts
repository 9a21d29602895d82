/** Operators: prefix and infix, LIKE, BETWEEN, IN a list, IS DISTINCT FROM. Rows compare field by field. */
import { SqlError } from '../../base/error.ts';
import { type as sqlType } from '../../repr/types.ts';
import type { Expr } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import type { HExpr } from '../hir.ts';
import { not } from '../make-scalar.ts';
import { type Placed, unify } from './coerce.ts';
import { comparison as operator, resolveCall } from './compare.ts';
import type { ExprEnv } from './context.ts';
import { compareRows } from './rows.ts';

const BOOL = sqlType('bool');
type Of<K extends Expr['kind']> = Extract<Expr, { kind: K }>;

const place = (env: ExprEnv, e: Expr): Placed => ({
  expr: env.context.rules.expr(env, e),
  pos: exprStart(e),
});

export function bindUnary(env: ExprEnv, e: Of<'unary'>): HExpr {
  const arg = place(env, e.expr);
  // Typed as its argument: there is no operator behind it.
  if (e.op === '+' && arg.expr.type.name !== 'unknown') return arg.expr;
  return resolveCall(env, e.op, [arg], e.pos);
}

export function bindBinary(env: ExprEnv, e: Of<'binary'>): HExpr {
  if (e.left.kind === 'row' && e.right.kind === 'row') return compareRows(env, e.op, e.left, e.right, e.pos);
  return operator(env, e.op, place(env, e.left), place(env, e.right), e.pos);
}

export function bindIsDistinct(env: ExprEnv, e: Of<'isDistinct'>): HExpr {
  const distinct = resolveCall(env, 'is_distinct', [place(env, e.left), place(env, e.right)], e.pos);
  return e.negated ? (not<HExpr>(distinct) as HExpr) : distinct;
}

export function bindBetween(env: ExprEnv, e: Of<'between'>): HExpr {
  const [x, low, high] = [place(env, e.expr), place(env, e.low), place(env, e.high)];
  const within = (a: Placed, b: Placed): HExpr => ({
    kind: 'and',
    args: [operator(env, '>=', x, a, e.pos), operator(env, '<=', x, b, e.pos)],
    type: BOOL,
  });
  const test: HExpr = e.symmetric
    ? { kind: 'or', args: [within(low, high), within(high, low)], type: BOOL }
    : within(low, high);
  return e.negated ? (not<HExpr>(test) as HExpr) : test;
}

const LIKE_OPERATORS = { like: '~~', ilike: '~~*', 'similar to': '~' } as const;

export function bindLike(env: ExprEnv, e: Of<'like'>): HExpr {
  const subject = place(env, e.expr);
  let pattern = place(env, e.pattern);
  const escape = e.escape === undefined ? [] : [place(env, e.escape)];
  if (e.op === 'similar to')
    pattern = { expr: resolveCall(env, 'similar_to_escape', [pattern, ...escape], e.pos), pos: pattern.pos };
  else if (escape.length > 0)
    pattern = { expr: resolveCall(env, 'like_escape', [pattern, ...escape], e.pos), pos: pattern.pos };
  const op = `${e.negated ? '!' : ''}${LIKE_OPERATORS[e.op]}`;
  return operator(env, op, subject, pattern, e.pos);
}

/** `x = a OR x = b …`, all in one type where they have one. */
export function bindInList(env: ExprEnv, e: Of<'inList'>): HExpr {
  const tests = e.expr.kind === 'row' ? rowTests(env, e, e.expr) : valueTests(env, e);
  const any: HExpr = tests.length === 1 ? tests[0] : { kind: 'or', args: tests, type: BOOL };
  return e.negated ? (not<HExpr>(any) as HExpr) : any;
}

function rowTests(env: ExprEnv, e: Of<'inList'>, row: Of<'row'>): readonly HExpr[] {
  return e.list.map((item) => {
    if (item.kind !== 'row')
      throw new SqlError('syntax_error', 'subquery has too few columns', { position: item.pos + 1 });
    return compareRows(env, '=', row, item, e.pos);
  });
}

function valueTests(env: ExprEnv, e: Of<'inList'>): readonly HExpr[] {
  const all = [e.expr, ...e.list].map((x) => place(env, x));
  let placed = all;
  try {
    placed = unify(env.context, all, 'IN').exprs.map((expr, i) => ({ expr, pos: all[i].pos }));
  } catch (error) {
    // Without a common type each comparison resolves on its own, or says what is missing.
    if (!(error instanceof SqlError) || error.code !== 'datatype_mismatch') throw error;
  }
  const [x, ...list] = placed;
  return list.map((item) => operator(env, '=', x, item, e.pos));
}
