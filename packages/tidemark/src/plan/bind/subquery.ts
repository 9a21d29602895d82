/** Subqueries as expressions: scalar, IN, ANY and ALL. All quantified forms are one: `anyQuery`, and NOT around it. */
import { SqlError, unsupported } from '../../base/error.ts';
import { functionsByName } from '../../expr/registry.ts';
import { tryResolve } from '../../expr/resolve.ts';
import { type as sqlType } from '../../repr/types.ts';
import type { Expr, Query } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import type { HExpr } from '../hir.ts';
import { not } from '../make-scalar.ts';
import { coerce, coerceUnified, type Placed, settle } from './coerce.ts';
import { comparison, resolveCall } from './compare.ts';
import { asRelation, type ExprEnv, isUnknown } from './context.ts';
import { comparePlaced } from './rows.ts';

const BOOL = sqlType('bool');
type Of<K extends Expr['kind']> = Extract<Expr, { kind: K }>;

export function bindScalarQuery(env: ExprEnv, e: Of<'subquery'>): HExpr {
  const { context } = env;
  const bound = context.rules.query(context, e.query, env.scope);
  if (bound.columns.length !== 1)
    throw new SqlError('syntax_error', 'subquery must return only one column', { position: e.pos + 1 });
  const rel = asRelation(bound);
  return { kind: 'scalarQuery', rel, type: bound.columns[0].type };
}

export function bindInQuery(env: ExprEnv, e: Of<'inQuery'>): HExpr {
  const any = anyOf(env, '=', e.expr, e.query, e.pos);
  return e.negated ? (not<HExpr>(any) as HExpr) : any;
}

/** `x op ALL (q)` is `NOT (x negated-op ANY (q))`. */
const NEGATED: Readonly<Record<string, string>> = {
  '=': '<>',
  '<>': '=',
  '<': '>=',
  '<=': '>',
  '>': '<=',
  '>=': '<',
  '~~': '!~~',
  '!~~': '~~',
  '~~*': '!~~*',
  '!~~*': '~~*',
  '~': '!~',
  '!~': '~',
};

export function bindQuantifiedQuery(env: ExprEnv, e: Of<'quantifiedQuery'>): HExpr {
  if (e.quantifier === 'any') return anyOf(env, e.op, e.left, e.query, e.pos);
  const negated = NEGATED[e.op];
  if (negated === undefined) throw unsupported(`${e.op} ALL`, { position: e.pos + 1 });
  return not<HExpr>(anyOf(env, negated, e.left, e.query, e.pos)) as HExpr;
}

function anyOf(env: ExprEnv, op: string, left: Expr, query: Query, pos: number): HExpr {
  const { context } = env;
  const bound = context.rules.query(context, query, env.scope);
  const rel = asRelation(bound);
  const right: Placed[] = bound.columns.map((c) => ({
    expr: { kind: 'column', id: c.id, type: c.type },
    pos,
  }));
  const row = left.kind === 'row' ? left.elements : [left];
  const mine: Placed[] = row.map((x) => ({ expr: context.rules.expr(env, x), pos: exprStart(x) }));
  if (mine.length !== right.length)
    throw new SqlError(
      'syntax_error',
      `subquery has too ${right.length > mine.length ? 'many' : 'few'} columns`,
      { position: pos + 1 },
    );
  const condition =
    mine.length === 1
      ? comparison(env, op, mine[0], right[0], pos)
      : comparePlaced(env, op, mine, right, pos);
  return { kind: 'anyQuery', rel, condition, type: BOOL };
}

/** Over a constructor of few elements a disjunction, else the function `any_<op>` of the table. */
export function bindQuantifiedArray(env: ExprEnv, e: Of<'quantifiedArray'>): HExpr {
  const { context } = env;
  const left: Placed = { expr: context.rules.expr(env, e.left), pos: exprStart(e.left) };
  if (e.array.kind === 'array' && e.array.elements.length > 0) {
    const tests = e.array.elements.map((x) =>
      comparison(env, e.op, left, { expr: context.rules.expr(env, x), pos: exprStart(x) }, e.pos),
    );
    if (tests.length === 1) return tests[0];
    return { kind: e.quantifier === 'any' ? 'or' : 'and', args: tests, type: BOOL };
  }
  let array: Placed = { expr: context.rules.expr(env, e.array), pos: exprStart(e.array) };
  if (isUnknown(array.expr.type)) {
    const elem = isUnknown(left.expr.type) ? sqlType('text') : left.expr.type;
    array = { expr: coerce(context, array, { name: 'array', elem }, 'implicit'), pos: array.pos };
  }
  const { type } = array.expr;
  if (type.name !== 'array' && type.name !== 'list')
    throw new SqlError('wrong_object_type', 'op ANY/ALL (array) requires array on right side', {
      position: e.pos + 1,
    });
  const name = `${e.op} ${e.quantifier}`;
  const elem = type.elem!;
  const settled: Placed = {
    expr: isUnknown(left.expr.type) ? coerceUnified(context, left, elem, 'ANY') : settle(context, left),
    pos: left.pos,
  };
  if (tryResolve(name, functionsByName(name), [settled.expr.type, type]) === undefined) {
    // The operator decides the types: find it for the elements, then bring both sides to what it takes.
    const found = tryResolve(e.op, functionsByName(e.op), [settled.expr.type, elem]);
    if (found === undefined)
      return comparison(
        env,
        e.op,
        settled,
        { expr: { kind: 'literal', value: null, type: elem }, pos: e.pos },
        e.pos,
      );
    const [l, r] = found.argTypes;
    return resolveCall(
      env,
      name,
      [
        { expr: coerceUnified(context, settled, l, 'ANY'), pos: settled.pos },
        { expr: coerce(context, array, { name: type.name, elem: r }, 'explicit'), pos: array.pos },
      ],
      e.pos,
    );
  }
  return resolveCall(env, name, [settled, array], e.pos);
}
