/**
 * Evaluation of scalar expressions: column at a time over batches, and of single constants.
 */
import { assert } from '../base/assert.ts';
import type { Column } from '../repr/column.ts';
import { datumAt } from '../repr/datum.ts';
import type { Datum } from '../repr/types.ts';
import { Compiler } from './compile.ts';
import { FailedEval } from './eval-error.ts';
import { Frame } from './frame.ts';
import type { EvalContext, RowErrors } from './functions.ts';
import { evaluate } from './node.ts';
import type { ScalarExpr } from './scalar.ts';
import { spread } from './vec.ts';

export interface Evaluated {
  /** One value a row; NULL where the row failed. */
  readonly column: Column;
  readonly errors: RowErrors | null;
}

/**
 * `n` rows of the columns, or the `n` rows that `selection` names; the result has `n` rows. A bare column reference
 * without a selection yields that very column.
 */
export type ScalarEvaluator = (columns: readonly Column[], n: number, selection?: Int32Array) => Evaluated;

export function compileScalar(expr: ScalarExpr, context: EvalContext): ScalarEvaluator {
  const node = new Compiler(context).compile(expr);
  return (columns, n, selection) => {
    const frame =
      selection === undefined
        ? Frame.of(columns, n)
        : Frame.of(columns, columns[0]?.length ?? n).select(selection, n);
    return spread(evaluate(node, frame), n);
  };
}

/** The value of an expression that reads no column, or its failure. */
export function evalConstant(expr: ScalarExpr, context: EvalContext): Datum | FailedEval {
  const { constant } = new Compiler(context).compile(expr);
  assert(constant !== null, 'a constant expression reads no column');
  const error = constant.errors?.get(0);
  return error === undefined ? datumAt(expr.type, constant.column, 0) : new FailedEval(error);
}
