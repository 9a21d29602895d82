/** Scalar expressions over other columns: what `expr-tree` offers, by the planner's needs. */
import { columnsOf, exprEquals, mapColumns, substituteColumns } from '../expr/expr-tree.ts';
import type { AggregateExpr, ScalarExpr } from '../expr/scalar.ts';

export const columnsRead = (e: ScalarExpr): ReadonlySet<number> => columnsOf(e);
export const collectColumns = columnsOf;
export const remap = mapColumns;
export const substitute = substituteColumns;
export const sameScalar = exprEquals;
export const shift = (e: ScalarExpr, by: number): ScalarExpr => (by === 0 ? e : mapColumns(e, (c) => c + by));

/** Substitutes the expressions of a Map into what reads its output: the result reads the Map's input. */
export function inlineMap(e: ScalarExpr, inputArity: number, exprs: readonly ScalarExpr[]): ScalarExpr {
  return substituteColumns(e, (c) =>
    c < inputArity ? undefined : inlineMap(exprs[c - inputArity], inputArity, exprs),
  );
}

export function mapAggregate(a: AggregateExpr, f: (e: ScalarExpr) => ScalarExpr): AggregateExpr {
  return { ...a, args: a.args.map(f), orderBy: a.orderBy.map((o) => ({ ...o, expr: f(o.expr) })) };
}
export function aggregateColumns(a: AggregateExpr, into: Set<number>): Set<number> {
  for (const e of a.args) columnsOf(e, into);
  for (const o of a.orderBy) columnsOf(o.expr, into);
  return into;
}
