/**
 * Conversions that the text does not write: untyped literals and parameters take the type that is wanted, values are
 * cast where the context allows it. One place decides; all of PostgreSQL's contexts go through `coerce`.
 */
import { SqlError } from '../../base/error.ts';
import { evalConstant } from '../../expr/eval.ts';
import { isEvalError, sqlErrorOf } from '../../expr/eval-error.ts';
import { castFunctionId } from '../../expr/functions/casts.ts';
import { functionById } from '../../expr/registry.ts';
import { type Candidate, commonType, type Resolved, resolveFunction } from '../../expr/resolve.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { type CastContext, castAllowed, findCast } from '../../repr/casts.ts';
import { arrayOf, listOf, type SqlType, sameType, TYPES, type, typeToString } from '../../repr/types.ts';
import type { HExpr } from '../hir.ts';
import { type BindContext, isUnknown } from './context.ts';
import { regLiteral } from './reg.ts';

/** An expression and the place to blame. */
export interface Placed {
  readonly expr: HExpr;
  readonly pos: number;
}

/** The expression in type `to`, or undefined where the context does not allow the cast. */
export function tryCoerce(
  context: BindContext,
  { expr, pos }: Placed,
  to: SqlType,
  by: CastContext,
): HExpr | undefined {
  if (isUnknown(expr.type) && !isUnknown(to)) {
    if (expr.kind === 'parameter') {
      const decided: HExpr = { ...expr, type: context.decideParameter(expr.index, to) };
      return tryCoerce(context, { expr: decided, pos }, to, by);
    }
    if (expr.kind === 'literal') return typedLiteral(context, expr, to, pos, by);
  }
  if (sameType(expr.type, to) && (to.typmod === undefined || to.typmod === expr.type.typmod)) return expr;
  if (expr.kind === 'literal' && expr.value === null) return { ...expr, type: to };
  const from = isUnknown(expr.type) ? type('text') : expr.type;
  return castCall(expr, from, to, by);
}

/** The call of the cast, undefined where there is none or the context does not allow it. */
function castCall(expr: HExpr, from: SqlType, to: SqlType, by: CastContext): HExpr | undefined {
  // Names of objects are looked up: in no cast of values is a catalog at hand.
  if (to.name.startsWith('reg') && TYPES[from.name].category === 'S')
    return by === 'explicit' ? { kind: 'call', func: `${to.name}_in`, args: [expr], type: to } : undefined;
  const cast = findCast(from, to, by === 'explicit');
  if (cast === undefined || !castAllowed(cast.context, by)) return undefined;
  if (sameType(from, to) && (to.typmod === undefined || to.typmod === from.typmod)) return expr;
  const func = castFunctionId(from, to, by === 'explicit');
  return func === undefined ? undefined : { kind: 'call', func, args: [expr], type: to };
}

export function coerce(context: BindContext, placed: Placed, to: SqlType, by: CastContext): HExpr {
  const done = tryCoerce(context, placed, to, by);
  if (done !== undefined) return foldCast(context, done, placed.pos);
  const from = typeToString(placed.expr.type);
  throw new SqlError('cannot_coerce', `cannot cast type ${from} to ${typeToString(to)}`, {
    position: placed.pos + 1,
  });
}

/** A literal of text read as the type: the error of a bad one stands at the literal. */
function typedLiteral(
  context: BindContext,
  e: Extract<HExpr, { kind: 'literal' }>,
  to: SqlType,
  pos: number,
  by: CastContext,
): HExpr {
  if (e.value === null) return { ...e, type: to };
  const reg = regLiteral(context, String(e.value), to, pos);
  if (reg !== undefined) return reg;
  if (to.name === 'text') return { ...e, type: to };
  const cast = castCall(e, e.type, to, to.typmod === undefined ? 'explicit' : by);
  if (cast === undefined)
    throw new SqlError('cannot_coerce', `cannot cast type unknown to ${typeToString(to)}`, {
      position: pos + 1,
    });
  return foldCast(context, cast, pos);
}

/** A cast of a literal is computed now, so that its error says where it stands. */
export function foldCast(context: BindContext, e: HExpr, pos: number): HExpr {
  if (!isConstant(e) || e.kind === 'literal') return e;
  const value = evalConstant(e as ScalarExpr, context.options.eval);
  if (!isEvalError(value)) return { kind: 'literal', value, type: e.type };
  throw sqlErrorOf(value.error).at(pos + 1);
}
function isConstant(e: HExpr): boolean {
  if (e.kind === 'literal') return true;
  if (e.kind !== 'call') return false;
  const { volatility } = functionById(e.func);
  return (volatility === 'immutable' || volatility === 'stable') && e.args.every(isConstant);
}

/** All in one type; `what` as messages call the construct: `CASE`, `UNION`, `VALUES`. */
export function unify(
  context: BindContext,
  list: readonly Placed[],
  what: string,
): { exprs: readonly HExpr[]; type: SqlType } {
  const to = unifiedType(list, what);
  return { exprs: list.map((p) => coerceUnified(context, p, to, what)), type: to };
}

export function unifiedType(list: readonly Placed[], what: string): SqlType {
  const types = list.map((p) => p.expr.type);
  const to = commonType(types);
  if (to !== undefined) return to;
  const first = types.find((t) => !isUnknown(t))!;
  const other =
    list.find((p) => !isUnknown(p.expr.type) && commonType([first, p.expr.type]) === undefined) ??
    list[list.length - 1];
  throw mismatch(what, first, other.expr.type, other.pos);
}

function mismatch(what: string, a: SqlType, b: SqlType, pos: number): SqlError {
  return new SqlError(
    'datatype_mismatch',
    `${what} types ${typeToString(a)} and ${typeToString(b)} cannot be matched`,
    {
      position: pos + 1,
    },
  );
}

export function coerceUnified(context: BindContext, p: Placed, to: SqlType, what: string): HExpr {
  const done = tryCoerce(context, p, to, 'implicit');
  if (done !== undefined) return foldCast(context, done, p.pos);
  throw new SqlError(
    'cannot_coerce',
    `${what} could not convert type ${typeToString(p.expr.type)} to ${typeToString(to)}`,
    { position: p.pos + 1 },
  );
}

export interface BoundCall<T extends Candidate> {
  readonly found: Resolved<T>;
  /** Cast as `found` says. */
  readonly args: readonly HExpr[];
}

/** The overload that the arguments choose; an error blames the place of the call. */
export function resolveArguments<T extends Candidate>(
  context: BindContext,
  name: string,
  candidates: readonly T[],
  given: readonly Placed[],
  pos: number,
): BoundCall<T> {
  try {
    const found = resolveFunction(
      name,
      candidates,
      given.map((a) => a.expr.type),
    );
    const args = given.map((a, i) => {
      const to = found.casts[i];
      return to === null ? a.expr : coerce(context, a, to, 'implicit');
    });
    return { found, args };
  } catch (e) {
    throw e instanceof SqlError ? e.at(pos + 1) : e;
  }
}

/** For WHERE, ON, AND, CASE WHEN … */
export function coerceBoolean(context: BindContext, p: Placed, what: string): HExpr {
  const bool = type('bool');
  const done = tryCoerce(context, p, bool, 'implicit');
  if (done !== undefined) return done;
  throw new SqlError(
    'datatype_mismatch',
    `argument of ${what} must be type boolean, not type ${typeToString(p.expr.type)}`,
    { position: p.pos + 1 },
  );
}

/** What is left untyped is text. */
export function settle(context: BindContext, p: Placed): HExpr {
  return isUnknown(p.expr.type) ? coerce(context, p, type('text'), 'implicit') : p.expr;
}

export const arrayTypeOf = (elem: SqlType, list: boolean): SqlType => (list ? listOf(elem) : arrayOf(elem));
