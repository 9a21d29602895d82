/** The name of an output column without an alias, as PostgreSQL chooses it. */
import type { Expr, QueryBody } from '../../sql/ast.ts';

const NONE = '?column?';

export function columnName(e: Expr): string {
  return nameOf(e) ?? NONE;
}

function nameOf(e: Expr): string | undefined {
  switch (e.kind) {
    case 'column':
      return e.name.parts[e.name.parts.length - 1].name;
    case 'field':
      return e.field.name;
    case 'call':
      return e.name.parts[e.name.parts.length - 1].name;
    case 'cast': {
      const inner = nameOf(e.expr);
      return inner ?? e.type.name.parts[e.type.name.parts.length - 1].name;
    }
    case 'case':
      return (e.otherwise === undefined ? undefined : nameOf(e.otherwise)) ?? 'case';
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
