/**
 * Functions of the session and the moment become literals, where the context tells their value; the others stay:
 * `mz_now()` of a maintained query is the one that rendering understands.
 */
import { SqlError } from '../../base/error.ts';
import { evalConstant } from '../../expr/eval.ts';
import { isEvalError } from '../../expr/eval-error.ts';
import { rewrite as rewriteScalar } from '../../expr/expr-tree.ts';
import type { EvalContext } from '../../expr/functions.ts';
import { functionById } from '../../expr/registry.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { type Mir, rewrite } from '../mir.ts';
import { mapScalars } from './map-scalars.ts';

export function foldContextual(mir: Mir, context: EvalContext): Mir {
  return rewrite(mir, (node) => mapScalars(node, (e) => rewriteScalar(e, (x) => fold(x, context))));
}

function fold(e: ScalarExpr, context: EvalContext): ScalarExpr {
  if (e.kind !== 'call' || !e.args.every((a) => a.kind === 'literal')) return e;
  const { volatility } = functionById(e.func);
  if (volatility !== 'contextual' && volatility !== 'catalog') return e;
  try {
    const value = evalConstant(e, context);
    return isEvalError(value) ? e : { kind: 'literal', value, type: e.type };
  } catch (error) {
    // What the context does not know is left to whoever does.
    if (error instanceof SqlError) return e;
    throw error;
  }
}
