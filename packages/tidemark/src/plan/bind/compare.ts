/** One comparison, resolved by its types: what rows, IN and quantified comparisons are made of. */
import { SqlError } from '../../base/error.ts';
import { functionsByName } from '../../expr/registry.ts';
import { resolveFunction } from '../../expr/resolve.ts';
import type { HExpr } from '../hir.ts';
import { coerce, type Placed } from './coerce.ts';
import type { ExprEnv } from './context.ts';

/** A call of the named function or operator over bound arguments, cast as resolution says. */
export function resolveCall(env: ExprEnv, name: string, args: readonly Placed[], pos: number): HExpr {
  try {
    const found = resolveFunction(
      name,
      functionsByName(name),
      args.map((a) => a.expr.type),
    );
    const cast = args.map((a, i) => {
      const to = found.casts[i];
      return to === null ? a.expr : coerce(env.context, a, to, 'implicit');
    });
    if (found.def.volatility === 'contextual') env.context.contextual.add(found.def.name ?? found.def.id);
    return { kind: 'call', func: found.def.id, args: cast, type: found.returns };
  } catch (e) {
    throw e instanceof SqlError ? e.at(pos + 1) : e;
  }
}

export function comparison(env: ExprEnv, op: string, left: Placed, right: Placed, pos: number): HExpr {
  return resolveCall(env, op, [left, right], pos);
}
