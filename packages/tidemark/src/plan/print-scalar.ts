/** Parts of plans as EXPLAIN writes them; scalars themselves are printed by `expr-tree`. */
import { printScalar } from '../expr/expr-tree.ts';
import { aggregateById } from '../expr/registry.ts';
import type { AggregateExpr, Mfp, OrderKey } from '../expr/scalar.ts';

const direction = (o: { readonly desc: boolean; readonly nullsFirst: boolean }): string =>
  `${o.desc ? 'desc' : 'asc'} nulls_${o.nullsFirst ? 'first' : 'last'}`;

export const printOrder = (o: OrderKey): string => `#${o.column} ${direction(o)}`;

export function printAggregate(a: AggregateExpr): string {
  const { name } = aggregateById(a.func);
  const list = a.args.length === 0 ? '*' : a.args.map((e) => printScalar(e)).join(', ');
  const order = a.orderBy.map((o) => `${printScalar(o.expr)} ${direction(o)}`);
  return `${name}(${a.distinct ? 'distinct ' : ''}${list}${order.length > 0 ? ` order_by=[${order.join(', ')}]` : ''})`;
}

/** The clauses that do something. */
export function printMfp(m: Mfp): string[] {
  const lines: string[] = [];
  if (m.project.length !== m.inputArity + m.map.length || m.project.some((c, i) => c !== i))
    lines.push(`project=(${m.project.map((c) => `#${c}`).join(', ')})`);
  if (m.filter.length > 0) lines.push(`filter=(${m.filter.map((f) => printScalar(f)).join(' AND ')})`);
  if (m.map.length > 0) lines.push(`map=(${m.map.map((e) => printScalar(e)).join(', ')})`);
  return lines;
}
