/**
 * What the planner asks about scalar expressions: is it an equality, a NULL test. All derived from the function table;
 * no function is known by its id here but the few that `make-scalar.ts` builds.
 */
import { functionById } from '../expr/registry.ts';
import type { ScalarExpr } from '../expr/scalar.ts';

export const IS_NULL = 'is_null';
export const NOT = 'not_bool';

export const isNullTest = (e: ScalarExpr): boolean => e.kind === 'call' && e.func === IS_NULL;
/** `x` of `x IS NOT NULL`. */
export function notNullArgument(e: ScalarExpr): ScalarExpr | undefined {
  if (e.kind !== 'call' || e.func !== NOT) return undefined;
  const [inner] = e.args;
  return inner.kind === 'call' && inner.func === IS_NULL ? inner.args[0] : undefined;
}

/** Whether it is SQL's `a = b`. */
export function isEquality(e: ScalarExpr): e is ScalarExpr & { kind: 'call' } {
  return e.kind === 'call' && e.args.length === 2 && functionById(e.func).name === '=';
}

/** A strict expression is NULL where one of these columns is. */
function nullRejecting(e: ScalarExpr, into: Set<number> = new Set()): Set<number> {
  if (e.kind === 'column') into.add(e.index);
  else if (e.kind === 'call' && functionById(e.func).strict) for (const a of e.args) nullRejecting(a, into);
  return into;
}

/** Columns that cannot be NULL in a row for which the predicate is TRUE. */
export function provesNotNull(p: ScalarExpr): ReadonlySet<number> {
  const tested = notNullArgument(p);
  if (tested !== undefined) return nullRejecting(tested);
  if (p.kind === 'and') return new Set(p.args.flatMap((a) => [...provesNotNull(a)]));
  return nullRejecting(p);
}

/** The column that the predicate holds to one literal. */
export function fixedColumn(p: ScalarExpr): number | undefined {
  if (!isEquality(p)) return undefined;
  const [a, b] = p.args;
  if (a.kind === 'column' && b.kind === 'literal') return a.index;
  if (b.kind === 'column' && a.kind === 'literal') return b.index;
  return undefined;
}
