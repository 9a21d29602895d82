/** `expr/simplify`, and what is known of the input's columns: a NULL test of what is never NULL is decided. */
import { canFail, rewrite } from '../../expr/expr-tree.ts';
import type { EvalContext } from '../../expr/functions.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { isNullable, simplify as simplifyScalar } from '../../expr/simplify.ts';
import { FALSE } from '../make-scalar.ts';
import type { Column } from '../mir.ts';
import { isNullTest } from '../scalar-facts.ts';

/** Session time zones are fixed when a dataflow is made, so that stable functions fold too. */
const FOLD = ['immutable', 'stable'] as const;

export function simplify(e: ScalarExpr, columns: readonly Column[], context: EvalContext): ScalarExpr {
  const decided = rewrite(e, (x) => (isNullTest(x) ? nullTest(x, columns) : x));
  return simplifyScalar(decided, { context, fold: FOLD });
}

function nullTest(e: ScalarExpr, columns: readonly Column[]): ScalarExpr {
  const [arg] = 'args' in e ? e.args : [];
  return arg.kind !== 'error' && !isNullable(arg, columns) && !canFail(arg) ? FALSE : e;
}
