/** The name of an output column without an alias, as PostgreSQL chooses it. */
import type { Expr, QueryBody } from '../../sql/ast.ts';

const NONE = '?column?';

export function columnName(e: Expr): string {
  return nameOf(e) ?? NONE;
}

/** Named by a type or a keyword only: a cast or a CASE around such a one names itself. */
function weakly(e: Expr): boolean {
  switch (e.kind) {
    case 'boolean':
      return true;
    case 'cast':
      return nameOf(e.expr) === undefined || weakly(e.expr);
    case 'case':
      return e.otherwise === undefined || nameOf(e.otherwise) === undefined || weakly(e.otherwise);
    case 'collate':
    case 'subscript':
      return weakly(e.expr);
    default:
      return false;
  }
}

const strongName = (e: Expr): string | undefined => (weakly(e) ? undefined : nameOf(e));

function nameOf(e: Expr): string | undefined {
  switch (e.kind) {
    case 'column':
      return e.name.parts[e.name.parts.length - 1].name;
    case 'field':
      return e.field.name;
    case 'call':
      return e.name.parts[e.name.parts.length - 1].name;
    case 'cast':
      return strongName(e.expr) ?? e.type.name.parts[e.type.name.parts.length - 1].name;
    case 'case':
      return (e.otherwise === undefined ? undefined : strongName(e.otherwise)) ?? 'case';
    case 'collate':
    case 'subscript':
      return nameOf(e.expr);
    case 'subquery':
      return queryName(e.query.body);
    case 'exists':
      return 'exists';
    case 'array':
    case 'arrayQuery':
      return 'array';
    case 'list':
      return 'list';
    case 'map':
      return 'map';
    case 'row':
      return 'row';
    case 'boolean':
      return 'bool';
    default:
      return undefined;
  }
}

function queryName(body: QueryBody): string | undefined {
  switch (body.kind) {
    case 'select':
      return body.items.length === 1 ? (body.items[0].alias?.name ?? nameOf(body.items[0].expr)) : undefined;
    case 'values':
      return 'column1';
    case 'setOperation':
      return queryName(body.left);
    case 'query':
      return queryName(body.body);
  }
}
