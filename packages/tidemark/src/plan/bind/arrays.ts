/** Arrays and lists: constructors, subscripts, ARRAY(query). */
import { SqlError, unsupported } from '../../base/error.ts';
import { aggregatesByName } from '../../expr/registry.ts';
import { resolveFunction } from '../../expr/resolve.ts';
import { type SqlType, type as sqlType } from '../../repr/types.ts';
import type { Expr } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import { type HExpr, type HRel, relColumns } from '../hir.ts';
import { arrayTypeOf, coerce, coerceUnified, type Placed, settle, unify } from './coerce.ts';
import { resolveCall } from './compare.ts';
import type { ExprEnv } from './context.ts';

type Of<K extends Expr['kind']> = Extract<Expr, { kind: K }>;

/** `wanted`: the element type that a cast around asks for. */
export function bindArray(
  env: ExprEnv,
  elements: readonly Expr[],
  list: boolean,
  pos: number,
  wanted?: SqlType,
): HExpr {
  const what = list ? 'LIST' : 'ARRAY';
  if (elements.length === 0) {
    if (wanted === undefined)
      throw new SqlError(
        'indeterminate_datatype',
        `cannot determine type of empty ${list ? 'list' : 'array'}`,
        {
          position: pos + 1,
          hint: `Explicitly cast to the desired type, for example ${list ? 'LIST[]::integer list' : 'ARRAY[]::integer[]'}.`,
        },
      );
    const to = arrayTypeOf(wanted, list);
    return coerce(
      env.context,
      { expr: { kind: 'literal', value: '{}', type: sqlType('unknown') }, pos },
      to,
      'explicit',
    );
  }
  const placed: Placed[] = elements.map((e) => ({
    expr:
      e.kind === 'array' && wanted !== undefined
        ? bindArray(env, e.elements, list, e.pos, wanted)
        : env.context.rules.expr(env, e),
    pos: exprStart(e),
  }));
  const nested = placed[0].expr.type.name === 'array';
  const unified =
    wanted === undefined || nested
      ? unify(env.context, placed, what)
      : { exprs: placed.map((p) => coerce(env.context, p, wanted, 'explicit')), type: wanted };
  const type = nested && !list ? unified.type : arrayTypeOf(unified.type, list);
  const args = unified.exprs.map((expr, i) => ({ expr, pos: placed[i].pos }));
  return {
    ...(resolveCall(env, list ? 'make_list' : 'make_array', args, pos) as HExpr & { kind: 'call' }),
    type,
  };
}

export function bindSubscript(env: ExprEnv, e: Of<'subscript'>): HExpr {
  const { context } = env;
  const subject: Placed = { expr: context.rules.expr(env, e.expr), pos: exprStart(e.expr) };
  const { type } = subject.expr;
  const index = (x: Expr, to: SqlType): HExpr =>
    coerceUnified(context, { expr: context.rules.expr(env, x), pos: exprStart(x) }, to, 'array subscript');
  if (type.name === 'jsonb') {
    return e.subscripts.reduce<HExpr>((on, s) => {
      if (s.slice || s.lower === undefined) throw unsupported('a slice of jsonb', { position: s.pos + 1 });
      const key: Placed = { expr: context.rules.expr(env, s.lower), pos: exprStart(s.lower) };
      return resolveCall(env, '->', [{ expr: on, pos: subject.pos }, key], s.pos);
    }, subject.expr);
  }
  if (type.name !== 'array' && type.name !== 'list')
    throw new SqlError(
      'datatype_mismatch',
      'cannot subscript type because it does not support subscripting',
      { position: e.pos + 1 },
    );
  const int = sqlType('int4');
  if (e.subscripts.some((x) => x.slice)) {
    const [slice] = e.subscripts;
    if (type.name === 'list' || e.subscripts.length > 1)
      throw unsupported('a slice of several dimensions', { position: e.pos + 1 });
    const bounds = [slice.lower, slice.upper].flatMap((b) =>
      b === undefined ? [] : [{ expr: index(b, int), pos: slice.pos }],
    );
    const name =
      slice.upper === undefined
        ? 'array_slice_from'
        : slice.lower === undefined
          ? 'array_slice_to'
          : 'array_slice';
    return bounds.length === 0 ? subject.expr : resolveCall(env, name, [subject, ...bounds], e.pos);
  }
  const args = e.subscripts.map((x) => ({ expr: index(x.lower!, int), pos: x.pos }));
  return resolveCall(env, type.name === 'list' ? 'list_get' : 'array_get', [subject, ...args], e.pos);
}

/** `array_agg` over the query, in its order; empty instead of NULL. */
export function bindArrayQuery(env: ExprEnv, e: Of<'arrayQuery'>): HExpr {
  const { context } = env;
  const bound = context.rules.query(context, e.query, env.scope);
  if (bound.columns.length !== 1)
    throw new SqlError('syntax_error', 'subquery must return only one column', { position: e.pos + 1 });
  const [c] = bound.columns;
  const list = e.constructorName === 'list';
  const { rel, limit, offset, order } = bound;
  const input: HRel =
    limit === null && offset === 0
      ? rel
      : { kind: 'topK', input: rel, groupKey: [], orderBy: order, limit, offset };
  const types = new Map(relTypes(bound.rel, order));
  const name = list ? 'list_agg' : 'array_agg';
  const found = resolveFunction(name, aggregatesByName(name), [c.type]);
  const id = context.newColumn();
  const type = arrayTypeOf(c.type, list);
  const reduce: HRel = {
    kind: 'reduce',
    input,
    key: [],
    global: true,
    aggregates: [
      {
        id,
        func: found.def.id,
        args: [{ kind: 'column', id: c.id, type: c.type }],
        distinct: false,
        filter: undefined,
        orderBy: order.map((o) => ({
          expr: { kind: 'column', id: o.id, type: types.get(o.id) ?? c.type },
          desc: o.desc,
          nullsFirst: o.nullsFirst,
        })),
        type,
      },
    ],
  };
  const empty = coerce(
    context,
    { expr: { kind: 'literal', value: '{}', type: sqlType('unknown') }, pos: e.pos },
    type,
    'explicit',
  );
  return {
    kind: 'coalesce',
    args: [{ kind: 'scalarQuery', rel: reduce, type }, settle(context, { expr: empty, pos: e.pos })],
    type,
  };
}

function relTypes(rel: HRel, order: readonly { readonly id: number }[]): [number, SqlType][] {
  return order.flatMap((o) => {
    const column = relColumns(rel).find((c) => c.id === o.id);
    return column === undefined ? [] : [[o.id, column.type] as [number, SqlType]];
  });
}
