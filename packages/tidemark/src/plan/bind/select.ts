/**
 * One SELECT: FROM, WHERE, grouping, HAVING, set-returning calls, the list, DISTINCT, the order. Binding comes first;
 * `finish` builds the relation once the place around has said which types it wants.
 */
import { SqlError, unsupported } from '../../base/error.ts';
import type { Expr, OrderItem, Select, SelectItem } from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import { type HExpr, type HOrder, type HRel, relColumns } from '../hir.ts';
import { coerceBoolean, type Placed, settle } from './coerce.ts';
import { columnName } from './column-name.ts';
import type { BindContext, ExprEnv } from './context.ts';
import { bindFrom } from './from.ts';
import { Grouping } from './grouping.ts';
import { type FromItem, findTable, Scope, type ScopeColumn } from './scope.ts';
import { outputPosition, type PendingItem, sameExpr } from './select-items.ts';

export interface Finished {
  readonly rel: HRel;
  readonly columns: readonly ScopeColumn[];
  readonly order: readonly HOrder[];
}
/** A body bound, its untyped columns undecided. */
export interface PendingBody {
  /** Of a SELECT: what its LIMIT would see. */
  readonly scope?: Scope;
  readonly columns: readonly PendingItem[];
  /** `cast`: brings a value of the column to the type it is to have. */
  readonly finish: (cast: (column: number, value: Placed) => HExpr) => Finished;
}

interface BoundOrder {
  readonly pos: number;
  readonly by: { readonly output: number } | { readonly expr: HExpr; readonly pos: number };
  readonly desc: boolean;
  readonly nullsFirst: boolean;
}

export function bindSelect(
  context: BindContext,
  select: Select,
  around: Scope,
  orderBy: readonly OrderItem[],
): PendingBody {
  const from = bindFrom(context, select.from, around);
  const scope = new Scope(around);
  scope.setFrom(from);
  if (select.windows.length > 0)
    throw unsupported('a WINDOW clause', { position: select.windows[0].pos + 1 });
  const env = (clause: string, more: Partial<ExprEnv> = {}): ExprEnv => ({
    context,
    scope,
    clause,
    aggregates: false,
    setReturning: false,
    ...more,
  });
  const where = select.where === undefined ? undefined : bindCondition(env('WHERE'), select.where, 'WHERE');
  const listEnv = env('SELECT', { aggregates: true, setReturning: true });
  // Counted before they are bound: a hostile list costs its parsing only.
  refuseWide(select.items.length);
  const items = select.items.flatMap((item) => expandItem(listEnv, item));
  refuseWide(items.length);
  const grouping = new Grouping(env('GROUP BY'), select.groupBy, items);
  const having =
    select.having === undefined
      ? undefined
      : bindCondition(env('HAVING', { aggregates: true }), select.having, 'HAVING');
  const orderEnv = env('ORDER BY', { aggregates: true, setReturning: true });
  const order = orderBy.map((o) => bindOrder(orderEnv, o, items, 'ORDER BY'));
  const distinctOn = select.distinctOn.map((e) =>
    bindOrder(
      env('DISTINCT ON', { aggregates: true }),
      { expr: e, descending: false, nulls: undefined, pos: e.pos },
      items,
      'DISTINCT ON',
    ),
  );
  return {
    scope,
    columns: items,
    finish: (cast) =>
      new SelectBuilder({
        context,
        scope,
        from,
        where,
        items,
        grouping,
        having,
        order,
        distinctOn,
        distinct: select.distinct,
      }).build(cast),
  };
}

export function bindCondition(env: ExprEnv, e: Expr, what: string): HExpr {
  return coerceBoolean(env.context, { expr: env.context.rules.expr(env, e), pos: exprStart(e) }, what);
}

/** PostgreSQL's limits; the protocol's own lies at 32,767. */
const MAX_ENTRIES = 1664;
function refuseWide(entries: number): void {
  if (entries > MAX_ENTRIES)
    throw new SqlError('too_many_columns', `target lists can have at most ${MAX_ENTRIES} entries`);
}

/** `*` and `t.*` become columns. */
export function expandItem(env: ExprEnv, item: SelectItem): readonly PendingItem[] {
  const { expr: e } = item;
  if (e.kind !== 'wildcard')
    return [
      { expr: env.context.rules.expr(env, e), pos: exprStart(e), name: item.alias?.name ?? columnName(e) },
    ];
  const columns =
    e.qualifier === undefined
      ? env.scope.visible
      : findTable(
          env.scope,
          e.qualifier.parts.map((p) => p.name),
          e.pos,
        ).table.columns;
  if (e.qualifier === undefined && env.scope.tables.length === 0 && columns.length === 0)
    throw new SqlError('syntax_error', 'SELECT * with no tables specified is not valid', {
      position: e.pos + 1,
    });
  return columns.map((c) => {
    env.scope.noteWritten(c, e.pos);
    return { expr: { kind: 'column', id: c.id, type: c.type }, pos: e.pos, name: c.name };
  });
}

/** A position, the name of an output column, or an expression over FROM. */
function bindOrder(env: ExprEnv, o: OrderItem, items: readonly PendingItem[], clause: string): BoundOrder {
  const direction = {
    pos: exprStart(o.expr),
    desc: o.descending,
    nullsFirst: o.nulls === undefined ? o.descending : o.nulls === 'first',
  };
  const output = outputPosition(o.expr, items, clause);
  if (output !== undefined) return { by: { output }, ...direction };
  const expr = settle(env.context, { expr: env.context.rules.expr(env, o.expr), pos: exprStart(o.expr) });
  const same = items.findIndex((i) => sameExpr(i.expr, expr));
  return same >= 0
    ? { by: { output: same }, ...direction }
    : { by: { expr, pos: exprStart(o.expr) }, ...direction };
}

interface SelectParts {
  readonly context: BindContext;
  readonly scope: Scope;
  readonly from: FromItem;
  readonly where: HExpr | undefined;
  readonly items: readonly PendingItem[];
  readonly grouping: Grouping;
  readonly having: HExpr | undefined;
  readonly order: readonly BoundOrder[];
  readonly distinctOn: readonly BoundOrder[];
  readonly distinct: boolean;
}

class SelectBuilder {
  readonly #s: SelectParts;
  #rel: HRel;
  readonly #made: { column: ScopeColumn; expr: HExpr }[] = [];

  constructor(parts: SelectParts) {
    this.#s = parts;
    this.#rel = parts.from.rel;
  }

  build(cast: (column: number, value: Placed) => HExpr): Finished {
    const { where, having, grouping, scope } = this.#s;
    if (where !== undefined) this.#rel = { kind: 'filter', input: this.#rel, predicate: where };
    const grouped = grouping.isGrouped(scope, having);
    const after = grouped ? grouping.apply(scope, this.#rel) : undefined;
    if (after !== undefined) this.#rel = after.rel;
    const over = (e: HExpr, pos: number): HExpr => after?.over(e, pos) ?? e;
    if (having !== undefined) this.#rel = { kind: 'filter', input: this.#rel, predicate: over(having, 0) };
    this.#setReturning(over);
    const columns = this.#s.items.map((item, i): ScopeColumn => {
      const expr = cast(i, { expr: over(item.expr, item.pos), pos: item.pos });
      return this.#column(expr, item.name, this.#used);
    });
    const order = this.#s.order.map((o) => this.#orderColumn(o, columns, over));
    const on = this.#s.distinctOn.map((o) => this.#orderColumn(o, columns, over).id);
    if (this.#made.length > 0) this.#rel = { kind: 'map', input: this.#rel, exprs: this.#made };
    if (this.#s.distinct) this.#distinct(columns, order);
    if (on.length > 0) this.#distinctOn(on, order);
    return { rel: this.#rel, columns, order };
  }

  readonly #used = new Set<number>();

  /**
   * The expression as a column: a plain one of this query as it stands, unless it is in the list already. A column of
   * a query around gets a number of its own here.
   */
  #column(expr: HExpr, name: string, used: Set<number>): ScopeColumn {
    if (expr.kind === 'column' && !used.has(expr.id) && relColumns(this.#rel).some((c) => c.id === expr.id)) {
      used.add(expr.id);
      return { id: expr.id, name, type: expr.type, nullable: true };
    }
    const column: ScopeColumn = { id: this.#s.context.newColumn(), name, type: expr.type, nullable: true };
    this.#made.push({ column, expr });
    return column;
  }

  #orderColumn(
    o: BoundOrder,
    columns: readonly ScopeColumn[],
    over: (e: HExpr, pos: number) => HExpr,
  ): HOrder {
    const id =
      'output' in o.by ? columns[o.by.output].id : this.#column(over(o.by.expr, o.by.pos), '', new Set()).id;
    return { id, desc: o.desc, nullsFirst: o.nullsFirst };
  }

  #setReturning(over: (e: HExpr, pos: number) => HExpr): void {
    const calls = this.#s.scope.setReturning;
    if (calls.length > 1) throw unsupported('more than one set-returning function in a select list');
    for (const call of calls) {
      const right: HRel = {
        kind: 'tableFunction',
        func: call.func,
        args: call.args.map((a) => over(a, 0)),
        columns: [call.column],
        ordinality: undefined,
      };
      this.#rel = { kind: 'join', type: 'inner', left: this.#rel, right, on: undefined };
    }
  }

  #distinct(columns: readonly ScopeColumn[], order: readonly HOrder[]): void {
    const strange = order.findIndex((o) => !columns.some((c) => c.id === o.id));
    if (strange >= 0) {
      const { by } = this.#s.order[strange];
      throw new SqlError(
        'invalid_column_reference',
        'for SELECT DISTINCT, ORDER BY expressions must appear in select list',
        {
          position: 'pos' in by ? by.pos + 1 : undefined,
        },
      );
    }
    this.#rel = { kind: 'distinct', input: { kind: 'project', input: this.#rel, columns } };
  }

  #distinctOn(on: readonly number[], order: readonly HOrder[]): void {
    const leading = order.slice(0, on.length);
    if (leading.some((o) => !on.includes(o.id)))
      throw new SqlError(
        'invalid_column_reference',
        'SELECT DISTINCT ON expressions must match initial ORDER BY expressions',
        { position: this.#s.distinctOn[0].pos + 1 },
      );
    this.#rel = { kind: 'topK', input: this.#rel, groupKey: on, orderBy: order, limit: 1, offset: 0 };
  }
}
