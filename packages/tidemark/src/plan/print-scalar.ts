/**
 * Scalars as EXPLAIN writes them: `(#0 + 1)`, `lower(#2)`, `case when … end`. Operators and functions by their SQL
 * names from the function table, so that the text reads like the statement.
 */
import { aggregateById, functionById } from '../expr/registry.ts';
import type { AggregateExpr, Mfp, OrderKey, ScalarExpr } from '../expr/scalar.ts';
import { isOperatorName } from '../expr/functions.ts';
import { type Datum, type SqlType, typeToString } from '../repr/types.ts';
import { IS_NULL, NOT } from './scalar-facts.ts';

function printDatum(value: Datum, type: SqlType): string {
  if (value === null) return 'null';
  if (typeof value === 'boolean' || typeof value === 'number') return String(value);
  if (typeof value === 'bigint')
    return type.name === 'int8' || type.name === 'uint8' ? String(value) : `${value}::${typeToString(type)}`;
  if (typeof value === 'string') return `'${value.replaceAll("'", "''")}'`;
  if (value instanceof Uint8Array)
    return `'\\x${Array.from(value, (b) => b.toString(16).padStart(2, '0')).join('')}'`;
  return String(value);
}

export function printScalar(e: ScalarExpr): string {
  switch (e.kind) {
    case 'column':
      return `#${e.index}`;
    case 'literal':
      return printDatum(e.value, e.type);
    case 'error':
      return `error(${JSON.stringify(e.error.message)})`;
    case 'and':
    case 'or':
      return `(${e.args.map(printScalar).join(e.kind === 'and' ? ' AND ' : ' OR ')})`;
    case 'coalesce':
      return `coalesce(${e.args.map(printScalar).join(', ')})`;
    case 'if': {
      const [condition, then, otherwise] = e.args.map(printScalar);
      return `case when ${condition} then ${then} else ${otherwise} end`;
    }
    case 'call':
      return printCall(e.func, e.args, e.type);
  }
}

function printCall(func: string, args: readonly ScalarExpr[], type: SqlType): string {
  const [a, b] = args.map(printScalar);
  if (func === IS_NULL) return `(${a}) IS NULL`;
  if (func === NOT) {
    const [inner] = args;
    if (inner.kind === 'call' && inner.func === IS_NULL) return `(${printScalar(inner.args[0])}) IS NOT NULL`;
    return `NOT(${a})`;
  }
  const { name } = functionById(func);
  if (name !== null && isOperatorName(name)) return args.length === 2 ? `(${a} ${name} ${b})` : `${name}${a}`;
  if (name === null && func.startsWith('cast_')) return `${a}::${typeToString(type)}`;
  return `${name ?? func}(${args.map(printScalar).join(', ')})`;
}

export const printOrder = (o: OrderKey): string =>
  `#${o.column} ${o.desc ? 'desc' : 'asc'} nulls_${o.nullsFirst ? 'first' : 'last'}`;

export function printAggregate(a: AggregateExpr): string {
  const { name, args } = aggregateById(a.func);
  const list = args.length === 0 && a.args.length === 0 ? '*' : a.args.map(printScalar).join(', ');
  const order = a.orderBy.map((o) => `${printScalar(o.expr)} ${o.desc ? 'desc' : 'asc'} nulls_${o.nullsFirst ? 'first' : 'last'}`);
  return `${name}(${a.distinct ? 'distinct ' : ''}${list}${order.length > 0 ? ` order_by=[${order.join(', ')}]` : ''})`;
}

/** The clauses that do something, in the order in which they happen. */
export function printMfp(m: Mfp): string[] {
  const lines: string[] = [];
  if (m.project.length !== m.inputArity + m.map.length || m.project.some((c, i) => c !== i))
    lines.push(`project=(${m.project.map((c) => `#${c}`).join(', ')})`);
  if (m.filter.length > 0) lines.push(`filter=(${m.filter.map(printScalar).join(' AND ')})`);
  if (m.map.length > 0) lines.push(`map=(${m.map.map(printScalar).join(', ')})`);
  return lines;
}
