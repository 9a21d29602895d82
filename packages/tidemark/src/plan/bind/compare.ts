/** One comparison, resolved by its types: what rows, IN and quantified comparisons are made of. */
import { functionsByName } from '../../expr/registry.ts';
import type { TypeName } from '../../repr/types.ts';
import type { HExpr } from '../hir.ts';
import { coerce, type Placed, resolveArguments } from './coerce.ts';
import type { ExprEnv } from './context.ts';

const COMPARISONS = new Set(['=', '<>', '<', '<=', '>', '>=']);
/** The greatest value of each. */
const UNSIGNED: Readonly<Partial<Record<TypeName, bigint>>> = {
  uint2: 0xffffn,
  uint4: 0xffff_ffffn,
  uint8: (1n << 64n) - 1n,
};

/**
 * A whole number that is compared with an unsigned value is one: there is no exact common type to meet in, and the
 * comparison can be answered by an index.
 */
function unsignedLiterals(env: ExprEnv, [a, b]: readonly Placed[]): readonly Placed[] {
  const retype = (p: Placed, other: Placed): Placed => {
    const { expr } = p;
    const whole = expr.kind === 'literal' && (expr.type.name === 'int4' || expr.type.name === 'int8');
    const most = UNSIGNED[other.expr.type.name];
    if (!whole || expr.value === null || most === undefined) return p;
    const value = BigInt(expr.value as number | bigint);
    if (value < 0n || value > most) return p;
    return { expr: coerce(env.context, p, other.expr.type, 'assignment'), pos: p.pos };
  };
  return [retype(a, b), retype(b, a)];
}

/** A call of the named function or operator over bound arguments, cast as resolution says. */
export function resolveCall(env: ExprEnv, name: string, given: readonly Placed[], pos: number): HExpr {
  const typed = COMPARISONS.has(name) && given.length === 2 ? unsignedLiterals(env, given) : given;
  const { found, args } = resolveArguments(env.context, name, functionsByName(name), typed, pos);
  if (found.def.volatility === 'contextual') env.context.contextual.add(found.def.name ?? found.def.id);
  return { kind: 'call', func: found.def.id, args, type: found.returns };
}

export function comparison(env: ExprEnv, op: string, left: Placed, right: Placed, pos: number): HExpr {
  return resolveCall(env, op, [left, right], pos);
}
