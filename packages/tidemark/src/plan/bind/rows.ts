/** Row values: comparison field by field, and rows as records. */
import { SqlError } from '../../base/error.ts';
import { type as sqlType } from '../../repr/types.ts';
import type { Expr } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import type { HExpr } from '../hir.ts';
import { not } from '../make-scalar.ts';
import { type Placed, settle } from './coerce.ts';
import { comparison, resolveCall } from './compare.ts';
import type { ExprEnv } from './context.ts';
import type { ScopeColumn } from './scope.ts';

const BOOL = sqlType('bool');
type RowExpr = Extract<Expr, { kind: 'row' }>;

export function compareRows(env: ExprEnv, op: string, left: RowExpr, right: RowExpr, pos: number): HExpr {
  const side = (row: RowExpr): Placed[] =>
    row.elements.map((e) => ({ expr: env.context.rules.expr(env, e), pos: exprStart(e) }));
  return comparePlaced(env, op, side(left), side(right), pos);
}

/** `(a, b) < (c, d)` is `a < c OR a = c AND b < d`. */
export function comparePlaced(
  env: ExprEnv,
  op: string,
  left: readonly Placed[],
  right: readonly Placed[],
  pos: number,
): HExpr {
  if (left.length !== right.length)
    throw new SqlError('syntax_error', 'unequal number of entries in row expressions', { position: pos + 1 });
  if (left.length === 0)
    throw new SqlError('feature_not_supported', 'cannot compare rows of zero length', { position: pos + 1 });
  const each = (symbol: string, i: number): HExpr => comparison(env, symbol, left[i], right[i], pos);
  const all = (args: readonly HExpr[], kind: 'and' | 'or'): HExpr =>
    args.length === 1 ? args[0] : { kind, args, type: BOOL };
  const equal = (): HExpr =>
    all(
      left.map((_, i) => each('=', i)),
      'and',
    );
  if (op === '=') return equal();
  if (op === '<>') return not<HExpr>(equal()) as HExpr;
  if (!['<', '<=', '>', '>='].includes(op))
    throw new SqlError(
      'feature_not_supported',
      `could not determine interpretation of row comparison operator ${op}`,
      {
        position: pos + 1,
        hint: 'Row comparison operators must be associated with btree operator families.',
      },
    );
  const strict = op.slice(0, 1);
  let rest = each(op, left.length - 1);
  for (let i = left.length - 2; i >= 0; i--)
    rest = {
      kind: 'or',
      args: [each(strict, i), { kind: 'and', args: [each('=', i), rest], type: BOOL }],
      type: BOOL,
    };
  return rest;
}

export function bindRow(env: ExprEnv, e: RowExpr): HExpr {
  return record(
    env,
    e.elements.map((x) => ({ expr: env.context.rules.expr(env, x), pos: exprStart(x) })),
    e.pos,
  );
}

/** A whole row of a table as a value. */
export function rowOf(env: ExprEnv, columns: readonly ScopeColumn[], pos: number): HExpr {
  return record(
    env,
    columns.map((c): Placed => ({ expr: { kind: 'column', id: c.id, type: c.type }, pos })),
    pos,
  );
}

function record(env: ExprEnv, fields: readonly Placed[], pos: number): HExpr {
  const settled = fields.map((f) => ({ expr: settle(env.context, f), pos: f.pos }));
  const call = resolveCall(env, 'make_record', settled, pos);
  return {
    ...(call as HExpr & { kind: 'call' }),
    type: { name: 'record', fields: settled.map((f) => f.expr.type) },
  };
}
