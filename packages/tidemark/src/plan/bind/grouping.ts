/**
 * GROUP BY: what the groups are, and what the select list, HAVING and ORDER BY may then read: the grouped expressions
 * and aggregates. A grouped plain column keeps its number, so that subqueries which read it need no rewriting.
 */
import { SqlError, unsupported } from '../../base/error.ts';
import type { Expr, GroupItem } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import { exprArgs, exprColumns, type HColumn, type HExpr, type HRel } from '../hir.ts';
import { settle } from './coerce.ts';
import type { ExprEnv } from './context.ts';
import type { Scope } from './scope.ts';
import { exprKey, outputPosition, type PendingItem } from './select-items.ts';

interface Grouped {
  readonly rel: HRel;
  /** An expression of the query, over the groups. */
  readonly over: (e: HExpr, pos: number) => HExpr;
}

export class Grouping {
  readonly #keys: readonly { readonly column: HColumn; readonly expr: HExpr }[];
  readonly #written: boolean;

  constructor(env: ExprEnv, items: readonly GroupItem[], list: readonly PendingItem[]) {
    this.#written = items.length > 0;
    const keys = new Map<string, { column: HColumn; expr: HExpr }>();
    for (const item of items) {
      if (item.kind === 'groupingSet') {
        if (item.form === 'empty') continue;
        throw unsupported(item.form === 'sets' ? 'GROUPING SETS' : item.form.toUpperCase(), {
          position: item.pos + 1,
        });
      }
      for (const expr of groupExprs(env, item, list)) {
        const key = exprKey(expr);
        if (keys.has(key)) continue;
        const id = expr.kind === 'column' ? expr.id : env.context.newColumn();
        keys.set(key, { column: { id, type: expr.type, nullable: true }, expr });
      }
    }
    this.#keys = [...keys.values()];
  }

  isGrouped(scope: Scope, having: HExpr | undefined): boolean {
    return this.#written || having !== undefined || scope.aggregates.length > 0;
  }

  apply(scope: Scope, input: HRel): Grouped {
    const rel: HRel = {
      kind: 'reduce',
      input,
      key: this.#keys,
      aggregates: scope.aggregates,
      global: this.#keys.length === 0,
    };
    const replaced = new Map(this.#keys.map((k) => [exprKey(k.expr), k.column]));
    const kept = new Set(this.#keys.map((k) => k.column.id));
    const own = scope.ownColumns();
    const replace = (e: HExpr): HExpr => {
      const column = e.kind === 'literal' ? undefined : replaced.get(exprKey(e));
      if (column !== undefined) return { kind: 'column', id: column.id, type: column.type };
      return 'args' in e ? { ...e, args: e.args.map(replace) } : e;
    };
    const over = (e: HExpr, pos: number): HExpr => {
      const out = replace(e);
      refuseUngrouped(out, scope, (id) => own.has(id) && !kept.has(id), pos);
      return out;
    };
    return { rel, over };
  }
}

function refuseUngrouped(e: HExpr, scope: Scope, ungrouped: (id: number) => boolean, pos: number): void {
  if (e.kind === 'column' && ungrouped(e.id)) {
    const at = scope.written.get(e.id);
    throw new SqlError(
      'grouping_error',
      `column "${at?.text ?? '?'}" must appear in the GROUP BY clause or be used in an aggregate function`,
      { position: (at?.pos ?? pos) + 1 },
    );
  }
  for (const a of exprArgs(e)) refuseUngrouped(a, scope, ungrouped, pos);
  if ('rel' in e)
    for (const id of exprColumns(e))
      if (ungrouped(id)) {
        const at = scope.writtenInside.get(id);
        throw new SqlError(
          'grouping_error',
          `subquery uses ungrouped column "${at?.text ?? '?'}" from outer query`,
          {
            position: (at?.pos ?? pos) + 1,
          },
        );
      }
}

/** A position of the list, a column of FROM, the name of an output column, or an expression. */
function groupExprs(env: ExprEnv, e: Expr, list: readonly PendingItem[]): readonly HExpr[] {
  if (e.kind === 'row') return e.elements.flatMap((x) => groupExprs(env, x, list));
  const bind = (): HExpr => settle(env.context, { expr: env.context.rules.expr(env, e), pos: exprStart(e) });
  const isInput =
    e.kind === 'column' &&
    e.name.parts.length === 1 &&
    env.scope.visible.some((c) => c.name === e.name.parts[0].name);
  if (isInput) return [bind()];
  const output = outputPosition(e, list, 'GROUP BY');
  if (output === undefined) return [bind()];
  const item = list[output];
  const own = new Set(env.scope.aggregates.map((a) => a.id));
  if ([...exprColumns(item.expr)].some((id) => own.has(id)))
    throw new SqlError('grouping_error', 'aggregate functions are not allowed in GROUP BY', {
      position: item.pos + 1,
    });
  return [settle(env.context, item)];
}
