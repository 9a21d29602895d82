/**
 * Calls: the forms that are no functions, aggregates (which belong to the query that owns their columns), set-returning
 * functions of the select list, and plain functions.
 */
import { SqlError, unsupported } from '../../base/error.ts';
import { aggregatesByName, functionsByName, tableFunctionsByName } from '../../expr/registry.ts';
import type { CallExpr, Expr } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import { type ColumnId, exprColumns, type HAggregate, type HExpr } from '../hir.ts';
import { plainText } from '../plain-text.ts';
import { coerceBoolean, type Placed, resolveArguments, settle, unify } from './coerce.ts';
import { comparison, resolveCall } from './compare.ts';
import { type BindContext, type ExprEnv, notAllowed } from './context.ts';
import type { Scope } from './scope.ts';
import { refuseWindow } from './unsupported.ts';

const FUNCTION_SCHEMAS = new Set(['pg_catalog', 'mz_catalog', 'mz_internal', 'information_schema']);

/** Syntax that looks like a call: arguments are evaluated when needed, or typed together. */
const FORMS: Readonly<Record<string, (env: ExprEnv, e: CallExpr) => HExpr>> = {
  coalesce: (env, e) => {
    const { exprs, type } = unify(env.context, placed(env, e.args), 'COALESCE');
    return exprs.length === 1 ? exprs[0] : { kind: 'coalesce', args: exprs, type };
  },
  nullif: (env, e) => {
    if (e.args.length !== 2)
      throw new SqlError('syntax_error', 'NULLIF takes two arguments', { position: e.pos + 1 });
    const [a, b] = placed(env, e.args);
    const equal = comparison(env, '=', a, b, e.pos);
    const first = settle(env.context, a);
    return {
      kind: 'if',
      args: [equal, { kind: 'literal', value: null, type: first.type }, first],
      type: first.type,
    };
  },
};

function placed(env: ExprEnv, args: readonly Expr[]): Placed[] {
  return args.map((a) => ({ expr: env.context.rules.expr(env, a), pos: exprStart(a) }));
}

/** The function's own name; a schema that holds none is an error. */
export function functionName(e: CallExpr): string {
  const parts = e.name.parts.map((p) => p.name);
  const name = parts[parts.length - 1];
  if (parts.length > 1 && !FUNCTION_SCHEMAS.has(parts[parts.length - 2]))
    throw new SqlError('invalid_schema_name', `schema "${parts[parts.length - 2]}" does not exist`, {
      position: e.pos + 1,
    });
  return name;
}

export function bindCall(env: ExprEnv, e: CallExpr): HExpr {
  const name = functionName(e);
  if (e.over !== undefined) throw refuseWindow(e.pos);
  if (e.withinGroup.length > 0) throw unsupported('WITHIN GROUP', { position: e.pos + 1 });
  if (e.variadic) throw unsupported('a VARIADIC argument', { position: e.pos + 1 });
  const form = e.name.parts.length === 1 ? FORMS[name] : undefined;
  if (form !== undefined) return form(env, e);
  if (aggregatesByName(name).length > 0) return bindAggregate(env, e, name);
  if (tableFunctionsByName(name).length > 0 && functionsByName(name).length === 0)
    return bindSetReturning(env, e, name);
  refuseAggregateClauses(e, name);
  if (e.star)
    throw new SqlError(
      'wrong_object_type',
      `${name}(*) specified, but ${name} is not an aggregate function`,
      { position: e.pos + 1 },
    );
  return resolveCall(env, name, placed(env, e.args), e.pos);
}

function refuseAggregateClauses(e: CallExpr, name: string): void {
  const clause = e.distinct
    ? 'DISTINCT'
    : e.orderBy.length > 0
      ? 'ORDER BY'
      : e.filter !== undefined
        ? 'FILTER'
        : undefined;
  if (clause !== undefined)
    throw new SqlError('wrong_object_type', `${clause} specified, but ${name} is not an aggregate function`, {
      position: e.pos + 1,
    });
}

// ---- Aggregates

function bindAggregate(env: ExprEnv, e: CallExpr, name: string): HExpr {
  if (env.inAggregate)
    throw new SqlError('grouping_error', 'aggregate function calls cannot be nested', {
      position: e.pos + 1,
    });
  const inner: ExprEnv = {
    ...env,
    inAggregate: true,
    aggregates: true,
    setReturning: false,
    clause: 'aggregate arguments',
  };
  const { context } = env;
  if (e.star && name !== 'count')
    throw new SqlError('undefined_function', `function ${name}() does not exist`, { position: e.pos + 1 });
  const given = placed(inner, e.args);
  const { found, args } = resolveArguments(context, name, aggregatesByName(name), given, e.pos);
  const orderBy = aggregateOrder(inner, e);
  const filter = aggregateFilter(inner, e);
  if (e.distinct) checkDistinct(e, args, orderBy);
  const owner = ownerOf(env.scope, [
    ...args,
    ...orderBy.map((o) => o.expr),
    ...(filter === undefined ? [] : [filter]),
  ]);
  if (owner === env.scope && !env.aggregates) throw notAllowed('aggregate functions', env, e.pos);
  const id = register(owner, context, {
    func: found.def.id,
    args,
    distinct: e.distinct,
    filter,
    orderBy,
    type: found.returns,
  });
  return { kind: 'column', id, type: found.returns };
}

function aggregateFilter(env: ExprEnv, e: CallExpr): HExpr | undefined {
  if (e.filter === undefined) return undefined;
  const { context } = env;
  const expr = context.rules.expr({ ...env, clause: 'FILTER', aggregates: false }, e.filter);
  return coerceBoolean(context, { expr, pos: exprStart(e.filter) }, 'FILTER');
}

function checkDistinct(e: CallExpr, args: readonly HExpr[], orderBy: HAggregate['orderBy']): void {
  if (args.length === 0)
    throw new SqlError('grouping_error', 'DISTINCT specified, but there is no argument', {
      position: e.pos + 1,
    });
  const own = new Set(args.map(plainText));
  if (orderBy.some((o) => !own.has(plainText(o.expr))))
    throw new SqlError(
      'invalid_column_reference',
      'in an aggregate with DISTINCT, ORDER BY expressions must appear in argument list',
      { position: e.orderBy[0].expr.pos + 1 },
    );
}

function aggregateOrder(env: ExprEnv, e: CallExpr): HAggregate['orderBy'] {
  const { context } = env;
  return e.orderBy.map((o) => ({
    expr: settle(context, { expr: context.rules.expr(env, o.expr), pos: exprStart(o.expr) }),
    desc: o.descending,
    nullsFirst: o.nulls === undefined ? o.descending : o.nulls === 'first',
  }));
}

/** The same call twice is one aggregate. */
function register(owner: Scope, context: BindContext, call: Omit<HAggregate, 'id'>): ColumnId {
  const key = plainText(call);
  const same = owner.aggregateKeys.get(key);
  if (same !== undefined) return same;
  const id = context.newColumn();
  owner.aggregateKeys.set(key, id);
  owner.aggregates.push({ id, ...call });
  return id;
}

/** The innermost query that has a column of the arguments; this one if there is none. */
function ownerOf(start: Scope, exprs: readonly HExpr[]): Scope {
  const read = new Set(exprs.flatMap((e) => [...exprColumns(e)]));
  if (read.size === 0) return start;
  for (let scope: Scope | undefined = start; scope !== undefined; scope = scope.parent)
    if ([...scope.ownColumns()].some((id) => read.has(id))) return scope;
  return start;
}

// ---- Set-returning functions of the select list

function bindSetReturning(env: ExprEnv, e: CallExpr, name: string): HExpr {
  if (env.inAggregate)
    throw new SqlError(
      'feature_not_supported',
      'aggregate function calls cannot contain set-returning function calls',
      {
        position: e.pos + 1,
        hint: 'You might be able to move the set-returning function into a LATERAL FROM item.',
      },
    );
  if (!env.setReturning) throw notAllowed('set-returning functions', env, e.pos);
  refuseAggregateClauses(e, name);
  const call = resolveTableFunction(env, e, name);
  if (call.columns.length !== 1) throw unsupported(`${name} in the select list`, { position: e.pos + 1 });
  const [c] = call.columns;
  const column = { id: env.context.newColumn(), type: c.type, nullable: true };
  env.scope.setReturning.push({ func: call.func, args: call.args, column });
  return { kind: 'column', id: column.id, type: column.type };
}

export function resolveTableFunction(env: ExprEnv, e: CallExpr, name: string) {
  const given = placed(env, e.args);
  const { found, args } = resolveArguments(env.context, name, tableFunctionsByName(name), given, e.pos);
  return { func: found.def.id, args, columns: found.def.columns(found.argTypes) };
}
