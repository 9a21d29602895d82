/** Queries: WITH, set operations, VALUES, order and limit; the entry that everything nested comes back to. */
import { SqlError, unsupported } from '../../base/error.ts';
import { evalConstant } from '../../expr/eval.ts';
import { isEvalError, sqlErrorOf } from '../../expr/eval-error.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { type SqlType, sameType, type as sqlType } from '../../repr/types.ts';
import type { Expr, OrderItem, Query, QueryBody, SetOperation, Values, With } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import { exprColumns, type HExpr, type HOrder, type HRel, hasSubquery } from '../hir.ts';
import { coerceUnified, foldCast, type Placed, settle, tryCoerce, unifiedType } from './coerce.ts';
import {
  asRelation,
  type BindContext,
  type BoundQuery,
  type ExprEnv,
  isUnknown,
  type QueryTargets,
} from './context.ts';
import { bindCte } from './from.ts';
import { type CteDef, Scope, type ScopeColumn } from './scope.ts';
import { bindSelect, type Finished, type PendingBody } from './select.ts';
import { outputPosition } from './select-items.ts';
import { refuseRecursion } from './unsupported.ts';

export function bindQuery(
  context: BindContext,
  query: Query,
  parent: Scope | undefined,
  targets?: QueryTargets,
): BoundQuery {
  const [lock] = query.locking;
  if (lock !== undefined) throw unsupported(`FOR ${lock.strength.toUpperCase()}`, { position: lock.pos + 1 });
  if (query.withTies) throw unsupported('FETCH … WITH TIES', { position: query.pos + 1 });
  const scope = bindWith(context, query.with, parent);
  const pending = bindBody(context, query.body, scope, query.orderBy);
  const finished = pending.finish((i, value) => {
    const to = targets?.types[i];
    if (to === undefined || targets === undefined) return settle(context, value);
    const done = tryCoerce(context, value, to, 'assignment');
    if (done === undefined) throw targets.mismatch(i, value.expr.type, to, value.pos);
    return foldCast(context, done, value.pos);
  });
  const limit =
    query.limit === undefined ? null : rowCount(context, pending.scope ?? scope, query.limit, 'LIMIT');
  const offset =
    query.offset === undefined ? 0 : (rowCount(context, pending.scope ?? scope, query.offset, 'OFFSET') ?? 0);
  return { ...finished, limit, offset };
}

// ---- WITH

function bindWith(context: BindContext, w: Query['with'], parent: Scope | undefined): Scope {
  if (w?.kind === 'withMutuallyRecursive') throw refuseRecursion('WITH MUTUALLY RECURSIVE', w.pos);
  let scope = new Scope(parent);
  if (w === undefined) return scope;
  const defs: { def: CteDef; pos: number }[] = [];
  for (const cte of w.ctes) {
    if (defs.some((d) => d.def.name === cte.name.name))
      throw new SqlError('duplicate_alias', `WITH query name "${cte.name.name}" specified more than once`, {
        position: cte.name.pos + 1,
      });
    const inner: Scope = w.recursive ? scope : new Scope(scope);
    const def: CteDef = {
      name: cte.name.name,
      query: cte.query,
      columns: cte.columns.map((c) => c.name),
      scope,
    };
    inner.ctes.set(def.name, def);
    defs.push({ def, pos: cte.pos });
    scope = inner;
  }
  // A WITH query that nothing reads is still checked.
  for (const { def, pos } of defs) bindCte(context, def, pos);
  return scope;
}

/** For statements with a WITH of their own. */
export const withScope = (context: BindContext, w: With | undefined): Scope =>
  bindWith(context, w, undefined);

// ---- Bodies

function bindBody(
  context: BindContext,
  body: QueryBody,
  scope: Scope,
  orderBy: readonly OrderItem[],
): PendingBody {
  switch (body.kind) {
    case 'select':
      return bindSelect(context, body, scope, orderBy);
    case 'values':
      return ordered(context, bindValues(context, body, scope), orderBy);
    case 'setOperation':
      return ordered(context, bindSetOperation(context, body, scope), orderBy);
    case 'query': {
      const bound = bindQuery(context, body, scope);
      const rel = asRelation(bound);
      return ordered(context, overRelation(context, rel, bound.columns, body.pos), orderBy);
    }
  }
}

/** A relation as a body: columns that are cast get new numbers. */
function overRelation(
  context: BindContext,
  rel: HRel,
  columns: readonly ScopeColumn[],
  pos: number,
): PendingBody {
  return {
    columns: columns.map((c) => ({ expr: { kind: 'column', id: c.id, type: c.type }, pos, name: c.name })),
    finish: (cast) => ({ ...castColumns(context, rel, columns, pos, cast), order: [] }),
  };
}

function castColumns(
  context: BindContext,
  rel: HRel,
  columns: readonly ScopeColumn[],
  pos: number,
  cast: (column: number, value: Placed) => HExpr,
): { rel: HRel; columns: readonly ScopeColumn[] } {
  const exprs: { column: ScopeColumn; expr: HExpr }[] = [];
  const out = columns.map((c, i): ScopeColumn => {
    const expr = cast(i, { expr: { kind: 'column', id: c.id, type: c.type }, pos });
    if (expr.kind === 'column') return c;
    const column = { ...c, id: context.newColumn(), type: expr.type };
    exprs.push({ column, expr });
    return column;
  });
  return { rel: exprs.length === 0 ? rel : { kind: 'map', input: rel, exprs }, columns: out };
}

/** ORDER BY of what has only output columns. */
function ordered(_context: BindContext, body: PendingBody, orderBy: readonly OrderItem[]): PendingBody {
  if (orderBy.length === 0) return body;
  const by = orderBy.map((o) => {
    const output = outputPosition(o.expr, body.columns, 'ORDER BY');
    if (output === undefined) {
      if (o.expr.kind === 'column' && o.expr.name.parts.length === 1)
        throw new SqlError('undefined_column', `column "${o.expr.name.parts[0].name}" does not exist`, {
          position: o.expr.pos + 1,
        });
      throw new SqlError('feature_not_supported', 'invalid UNION/INTERSECT/EXCEPT ORDER BY clause', {
        detail: 'Only result column names can be used, not expressions or functions.',
        hint: 'Add the expression/function to every SELECT, or move the UNION into a FROM clause.',
        position: exprStart(o.expr) + 1,
      });
    }
    return {
      output,
      desc: o.descending,
      nullsFirst: o.nulls === undefined ? o.descending : o.nulls === 'first',
    };
  });
  return {
    columns: body.columns,
    finish: (cast) => {
      const done = body.finish(cast);
      const order: HOrder[] = by.map((o) => ({
        id: done.columns[o.output].id,
        desc: o.desc,
        nullsFirst: o.nullsFirst,
      }));
      return { ...done, order };
    },
  };
}

function bindValues(context: BindContext, values: Values, scope: Scope): PendingBody {
  const env: ExprEnv = { context, scope, clause: 'VALUES', aggregates: false, setReturning: false };
  const rows: Placed[][] = values.rows.map((row) =>
    row.map((e) => ({ expr: context.rules.expr(env, e), pos: exprStart(e) })),
  );
  const arity = rows[0].length;
  const uneven = values.rows.find((r) => r.length !== arity);
  if (uneven !== undefined)
    throw new SqlError('syntax_error', 'VALUES lists must all be the same length', {
      position: (uneven[0] === undefined ? values.pos : exprStart(uneven[0])) + 1,
    });
  const columns = Array.from({ length: arity }, (_, i) => {
    const cells = rows.map((r) => r[i]);
    const known = cells.every((c) => isUnknown(c.expr.type))
      ? cells[0].expr.type
      : unifiedType(cells, 'VALUES');
    const typed: HExpr = cells.length === 1 ? cells[0].expr : { kind: 'literal', value: null, type: known };
    return { expr: typed, pos: cells[0].pos, name: `column${i + 1}` };
  });
  return { columns, finish: (cast) => finishValues(context, rows, columns, cast) };
}

function finishValues(
  context: BindContext,
  rows: readonly (readonly Placed[])[],
  columns: PendingBody['columns'],
  cast: (column: number, value: Placed) => HExpr,
): Finished {
  // A target decides each cell; without one all cells of a column have their common type.
  const cells = rows.map((row) =>
    row.map((cell, i) => {
      const to = columns[i].expr.type;
      const direct = cast(i, cell);
      const wanted = isUnknown(to) || sameType(direct.type, to);
      return wanted || rows.length === 1 ? direct : undefined;
    }),
  );
  const done = cells.map((row, r) =>
    row.map((e, i) => {
      if (e !== undefined) return e;
      const to = columns[i].expr.type;
      return cast(i, { expr: coerceUnified(context, rows[r][i], to, 'VALUES'), pos: rows[r][i].pos });
    }),
  );
  const out = columns.map(
    (c, i): ScopeColumn => ({ id: context.newColumn(), name: c.name, type: done[0][i].type, nullable: true }),
  );
  return { rel: { kind: 'values', columns: out, rows: done }, columns: out, order: [] };
}

function bindSetOperation(context: BindContext, op: SetOperation, scope: Scope): PendingBody {
  const left = bindBody(context, op.left, scope, []);
  const right = bindBody(context, op.right, scope, []);
  const what = op.op.toUpperCase();
  if (left.columns.length !== right.columns.length) {
    const at =
      op.right.kind === 'select' && op.right.items.length > 0
        ? exprStart(op.right.items[0].expr)
        : op.right.pos;
    throw new SqlError('syntax_error', `each ${what} query must have the same number of columns`, {
      position: at + 1,
    });
  }
  const types = left.columns.map((l, i): SqlType => {
    const pair = [l, right.columns[i]];
    return pair.every((p) => isUnknown(p.expr.type)) ? sqlType('text') : unifiedType(pair, what);
  });
  const to = (i: number, value: Placed): HExpr => coerceUnified(context, value, types[i], what);
  const columns = left.columns.map(
    (c, i): ScopeColumn => ({ id: context.newColumn(), name: c.name, type: types[i], nullable: true }),
  );
  const side = (body: PendingBody): HRel => {
    const done = body.finish(to);
    return { kind: 'project', input: done.rel, columns: done.columns };
  };
  return {
    columns: columns.map((c, i) => ({
      expr: { kind: 'column', id: c.id, type: c.type },
      pos: left.columns[i].pos,
      name: c.name,
    })),
    finish: (cast) => {
      const rel: HRel = {
        kind: 'setOp',
        op: op.op,
        all: op.all,
        left: side(left),
        right: side(right),
        columns,
      };
      return { ...castColumns(context, rel, columns, op.pos, cast), order: [] };
    },
  };
}

// ---- LIMIT and OFFSET

/** A number, now; null for NULL or for a parameter whose value is not known yet. */
function rowCount(context: BindContext, scope: Scope, e: Expr, clause: 'LIMIT' | 'OFFSET'): number | null {
  const env: ExprEnv = { context, scope: new Scope(scope), clause, aggregates: false, setReturning: false };
  const placed: Placed = { expr: context.rules.expr(env, e), pos: exprStart(e) };
  const expr = tryCoerce(context, placed, sqlType('int8'), 'assignment');
  if (expr === undefined)
    throw new SqlError(
      'datatype_mismatch',
      `argument of ${clause} must be type bigint, not type ${placed.expr.type.name}`,
      { position: placed.pos + 1 },
    );
  if (exprColumns(expr).size > 0)
    throw new SqlError('invalid_column_reference', `argument of ${clause} must not contain variables`, {
      position: placed.pos + 1,
    });
  if (hasSubquery(expr)) throw unsupported(`a subquery in ${clause}`, { position: placed.pos + 1 });
  const scalar = withValues(context, expr);
  if (scalar === undefined) return null;
  const value = evalConstant(scalar, context.options.eval);
  if (isEvalError(value)) throw sqlErrorOf(value.error).at(placed.pos + 1);
  if (value === null) return null;
  if ((value as bigint) < 0n)
    throw new SqlError(
      clause === 'LIMIT' ? 'invalid_row_count_in_limit_clause' : 'invalid_row_count_in_result_offset_clause',
      `${clause} must not be negative`,
    );
  return Number(value as bigint);
}

function withValues(context: BindContext, e: HExpr): ScalarExpr | undefined {
  if (e.kind === 'parameter') {
    const value = context.options.paramValues?.[e.index - 1];
    return value === undefined ? undefined : { kind: 'literal', value, type: e.type };
  }
  if (!('args' in e)) return e as ScalarExpr;
  const args = e.args.map((a) => withValues(context, a));
  return args.some((a) => a === undefined) ? undefined : ({ ...e, args } as ScalarExpr);
}
