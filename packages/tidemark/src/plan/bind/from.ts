/** FROM: tables, views (inlined), WITH queries, derived tables, functions, and the joins between them. */
import { assert } from '../../base/assert.ts';
import { SqlError, unsupported } from '../../base/error.ts';
import type { RelationItem } from '../../catalog/catalog-reader.ts';
import { functionsByName, tableFunctionsByName } from '../../expr/registry.ts';
import { type as sqlType } from '../../repr/types.ts';
import type {
  CallExpr,
  FunctionTable,
  Ident,
  JoinedTable,
  NamedTable,
  TableAlias,
  TableRef,
} from '../../sql/ast.ts';
import { exprStart } from '../../sql/walk.ts';
import { freeColumns, type HExpr, type HRel } from '../hir.ts';
import { functionName, resolveTableFunction } from './call.ts';
import { coerceBoolean, settle, unify } from './coerce.ts';
import { comparison } from './compare.ts';
import { asRelation, type BindContext, type ExprEnv } from './context.ts';
import { type CteDef, type FromItem, Scope, type ScopeColumn, type ScopeTable } from './scope.ts';
import { refuseRecursion } from './unsupported.ts';

/** The one row of a query without FROM. */
const NOTHING: FromItem = { rel: { kind: 'values', columns: [], rows: [[]] }, tables: [], visible: [] };

/** `around`: the scope outside this FROM, with the WITH queries in reach. */
export function bindFrom(context: BindContext, refs: readonly TableRef[], around: Scope): FromItem {
  let item: FromItem | undefined;
  for (const ref of refs) {
    const next = bindRef(context, ref, around, item);
    if (item === undefined) item = next;
    else {
      refuseDuplicates(item.tables, next.tables);
      item = {
        rel: { kind: 'join', type: 'inner', left: item.rel, right: next.rel, on: undefined },
        tables: [...item.tables, ...next.tables],
        visible: [...item.visible, ...next.visible],
      };
    }
  }
  return item ?? NOTHING;
}

/** `beside`: what stands before it in the same FROM, which LATERAL may read. */
function bindRef(context: BindContext, ref: TableRef, around: Scope, beside: FromItem | undefined): FromItem {
  switch (ref.kind) {
    case 'table':
      return bindTable(context, ref, around);
    case 'derived': {
      const scope =
        beside === undefined ? around : ref.lateral ? scopeOver(around, beside) : scopeHiding(around, beside);
      const bound = context.rules.query(context, ref.query, scope);
      return aliased({ rel: asRelation(bound), columns: bound.columns, name: undefined }, ref.alias);
    }
    case 'function':
      return bindFunctions(context, ref, beside === undefined ? around : scopeOver(around, beside));
    case 'join':
      return bindJoin(context, ref, around, beside);
  }
}

function scopeOver(around: Scope, ...items: readonly FromItem[]): Scope {
  const scope = new Scope(around);
  scope.setFrom({ tables: items.flatMap((i) => i.tables), visible: items.flatMap((i) => i.visible) });
  return scope;
}

/** The tables beside a subquery without LATERAL: not to be read, but known to error messages. */
function scopeHiding(around: Scope, item: FromItem): Scope {
  const scope = new Scope(around);
  scope.hidden = item.tables;
  return scope;
}

/** The relation under an alias; without one under its own name, or none. */
function aliased(
  of: {
    readonly rel: HRel;
    readonly columns: readonly ScopeColumn[];
    readonly name: string | undefined;
    readonly schema?: string;
  },
  alias: TableAlias | undefined,
): FromItem {
  const names = alias?.columns ?? [];
  const table = alias?.name.name ?? of.name;
  if (names.length > of.columns.length)
    throw new SqlError(
      'invalid_column_reference',
      `table "${table}" has ${of.columns.length} columns available but ${names.length} columns specified`,
    );
  const columns = of.columns.map((c, i) => (i < names.length ? { ...c, name: names[i].name } : c));
  const tables: readonly ScopeTable[] =
    table === undefined
      ? []
      : [{ alias: table, schema: alias === undefined ? of.schema : undefined, columns }];
  return { rel: of.rel, tables, visible: columns };
}

function refuseDuplicates(a: readonly ScopeTable[], b: readonly ScopeTable[]): void {
  for (const t of b)
    if (
      a.some(
        (x) =>
          x.alias === t.alias && (x.schema === t.schema || x.schema === undefined || t.schema === undefined),
      )
    )
      throw new SqlError('duplicate_alias', `table name "${t.alias}" specified more than once`);
}

// ---- Names

function bindTable(context: BindContext, ref: NamedTable, around: Scope): FromItem {
  if (ref.name.parts.length === 1) {
    const def = around.cte(ref.name.parts[0].name);
    if (def !== undefined) return aliased({ ...useCte(context, def, ref.pos), name: def.name }, ref.alias);
  }
  const item = context.relation(ref.name);
  context.noteRead(item.id);
  const { rel, columns } = readRelation(context, item);
  return aliased({ rel, columns, name: item.name.item, schema: item.name.schema }, ref.alias);
}

/** The rows of a relation under fresh column numbers; a view is its query, unless an index has its rows. */
function readRelation(
  context: BindContext,
  item: RelationItem,
): { rel: HRel; columns: readonly ScopeColumn[] } {
  if (item.kind === 'view' && context.options.indexedViews?.(item.id) !== true) {
    const { query } = item;
    assert(query !== undefined, `view ${item.name.item} has a query`);
    const bound = context.within(() => context.rules.query(context, query, undefined));
    assert(
      bound.columns.length === item.desc.columns.length,
      `view ${item.name.item} has the columns of its query`,
    );
    const columns = bound.columns.map((c, i) => ({ ...c, name: item.desc.columns[i].name }));
    return { rel: asRelation(bound), columns };
  }
  const columns = item.desc.columns.map((c) => ({ ...c, id: context.newColumn() }));
  return { rel: { kind: 'get', id: item.id, columns, keys: item.desc.keys }, columns };
}

function useCte(
  context: BindContext,
  def: CteDef,
  pos: number,
): { rel: HRel; columns: readonly ScopeColumn[] } {
  const own = bindCte(context, def, pos);
  if ('rel' in own) return own;
  const columns = own.columns.map((c) => ({ ...c, id: context.newColumn() }));
  return { rel: { kind: 'cte', cte: own.cte, columns }, columns };
}

/** Bound on first need. One that reads columns from outside has no place of its own and is bound for each use. */
export function bindCte(
  context: BindContext,
  def: CteDef,
  pos: number,
):
  | { readonly cte: number; readonly columns: readonly ScopeColumn[] }
  | { readonly rel: HRel; readonly columns: readonly ScopeColumn[] } {
  if (def.shared !== undefined) return def.shared;
  if (context.binding.has(def)) throw refuseRecursion('WITH RECURSIVE', pos);
  context.binding.add(def);
  const bound = context.rules.query(context, def.query, def.scope);
  context.binding.delete(def);
  if (def.columns.length > bound.columns.length)
    throw new SqlError(
      'invalid_column_reference',
      `WITH query "${def.name}" has ${bound.columns.length} columns available but ${def.columns.length} columns specified`,
      { position: pos + 1 },
    );
  const columns = bound.columns.map((c, i) => (i < def.columns.length ? { ...c, name: def.columns[i] } : c));
  const rel = asRelation(bound);
  if (freeColumns(rel).size > 0) return { rel, columns };
  const cte = context.ctes.length;
  context.ctes.push({ cte, rel });
  def.shared = { cte, columns };
  return def.shared;
}

// ---- Functions

function bindFunctions(context: BindContext, ref: FunctionTable, scope: Scope): FromItem {
  const env: ExprEnv = {
    context,
    scope,
    clause: 'functions in FROM',
    aggregates: false,
    setReturning: false,
  };
  if (ref.functions.length !== 1)
    throw unsupported('ROWS FROM with several functions', { position: ref.pos + 1 });
  const [{ call, columns: typed }] = ref.functions;
  if (typed.length > 0) throw unsupported('a column definition list', { position: ref.pos + 1 });
  const name = functionName(call);
  const found = functionRows(env, call, name);
  // A function of one column lends it the alias of the table, or its own name.
  const alone = found.columns.length === 1;
  const named = found.columns.map((c) => ({ ...c, name: alone ? (ref.alias?.name.name ?? name) : c.name }));
  const ordinality = { id: context.newColumn(), name: 'ordinality', type: sqlType('int8'), nullable: false };
  const columns = ref.withOrdinality ? [...named, ordinality] : named;
  const rel: HRel = found.rel ?? {
    kind: 'tableFunction',
    func: found.func,
    args: found.args,
    columns: named,
    ordinality: ref.withOrdinality ? ordinality : undefined,
  };
  return aliased({ rel, columns, name }, ref.alias);
}

function functionRows(env: ExprEnv, call: CallExpr, name: string) {
  const { context } = env;
  if (tableFunctionsByName(name).length > 0 || functionsByName(name).length === 0) {
    const { func, args, columns } = resolveTableFunction(env, call, name);
    return {
      func,
      args,
      rel: undefined,
      columns: columns.map((c) => ({ ...c, nullable: true, id: context.newColumn() })),
    };
  }
  // A plain function in FROM is a table of one row.
  const expr = settle(context, { expr: context.rules.expr(env, call), pos: call.pos });
  const column = { id: context.newColumn(), name, type: expr.type, nullable: true };
  return {
    func: '',
    args: [],
    columns: [column],
    rel: { kind: 'values', columns: [column], rows: [[expr]] } satisfies HRel,
  };
}

// ---- Joins

function bindJoin(
  context: BindContext,
  ref: JoinedTable,
  around: Scope,
  beside: FromItem | undefined,
): FromItem {
  const left = bindRef(context, ref.left, around, beside);
  const lateral = ref.type === 'right' || ref.type === 'full' ? unreachable(left) : left;
  const right = bindRef(context, ref.right, around, beside === undefined ? lateral : joined(beside, lateral));
  refuseDuplicates(left.tables, right.tables);
  const type = ref.type === 'cross' ? 'inner' : ref.type;
  const names = ref.natural ? sharedNames(left, right, ref.pos) : ref.using?.columns;
  const tables = [...left.tables, ...right.tables];
  if (names === undefined) {
    const item: FromItem = { rel: left.rel, tables, visible: [...left.visible, ...right.visible] };
    const env: ExprEnv = {
      context,
      scope: scopeOver(around, item),
      clause: 'JOIN conditions',
      aggregates: false,
      setReturning: false,
    };
    const on =
      ref.on === undefined
        ? undefined
        : coerceBoolean(
            context,
            { expr: context.rules.expr(env, ref.on), pos: exprStart(ref.on) },
            'JOIN/ON',
          );
    return joinAlias({ ...item, rel: { kind: 'join', type, left: left.rel, right: right.rel, on } }, ref);
  }
  return joinAlias(bindUsing(context, { type, left, right, names, around, tables }), ref);
}

const joined = (a: FromItem, b: FromItem): FromItem => ({
  rel: a.rel,
  tables: [...a.tables, ...b.tables],
  visible: [...a.visible, ...b.visible],
});
function unreachable(item: FromItem): FromItem {
  const reason = 'The combining JOIN type must be INNER or LEFT for a LATERAL reference.';
  return { ...item, visible: [], tables: item.tables.map((t) => ({ ...t, unreachable: reason })) };
}

function sharedNames(left: FromItem, right: FromItem, pos: number): readonly Ident[] {
  return [...new Set(left.visible.map((c) => c.name))]
    .filter((n) => right.visible.some((c) => c.name === n))
    .map((name) => ({ name, pos }));
}

function bindUsing(
  context: BindContext,
  j: {
    readonly type: 'inner' | 'left' | 'right' | 'full';
    readonly left: FromItem;
    readonly right: FromItem;
    readonly names: readonly Ident[];
    readonly around: Scope;
    readonly tables: readonly ScopeTable[];
  },
): FromItem {
  const env: ExprEnv = {
    context,
    scope: j.around,
    clause: 'JOIN/USING',
    aggregates: false,
    setReturning: false,
  };
  const merged: ScopeColumn[] = [];
  const made: { column: ScopeColumn; expr: HExpr }[] = [];
  const tests = j.names.map((n) => {
    const a = usingColumn(j.left, n, 'left');
    const b = usingColumn(j.right, n, 'right');
    const place = (c: ScopeColumn) => ({
      expr: { kind: 'column', id: c.id, type: c.type } as HExpr,
      pos: n.pos,
    });
    const test = comparison(env, '=', place(a), place(b), n.pos);
    const { exprs, type } = unify(context, [place(a), place(b)], 'JOIN/USING');
    const expr: HExpr =
      j.type === 'full' ? { kind: 'coalesce', args: exprs, type } : j.type === 'right' ? exprs[1] : exprs[0];
    if (expr.kind === 'column') merged.push({ ...(j.type === 'right' ? b : a), name: n.name });
    else {
      const column: ScopeColumn = { id: context.newColumn(), name: n.name, type, nullable: true };
      made.push({ column, expr });
      merged.push(column);
    }
    return test;
  });
  const on: HExpr | undefined =
    tests.length === 0
      ? undefined
      : tests.length === 1
        ? tests[0]
        : { kind: 'and', args: tests, type: sqlType('bool') };
  const rel: HRel = { kind: 'join', type: j.type, left: j.left.rel, right: j.right.rel, on };
  const rest = (item: FromItem): readonly ScopeColumn[] =>
    item.visible.filter((c) => !j.names.some((n) => n.name === c.name));
  return {
    rel: made.length === 0 ? rel : { kind: 'map', input: rel, exprs: made },
    tables: j.tables,
    visible: [...merged, ...rest(j.left), ...rest(j.right)],
  };
}

function usingColumn(item: FromItem, name: Ident, side: 'left' | 'right'): ScopeColumn {
  const found = item.visible.filter((c) => c.name === name.name);
  if (found.length === 0)
    throw new SqlError(
      'undefined_column',
      `column "${name.name}" specified in USING clause does not exist in ${side} table`,
    );
  if (found.length > 1)
    throw new SqlError(
      'ambiguous_column',
      `common column name "${name.name}" appears more than once in ${side} table`,
    );
  return found[0];
}

/** `(a JOIN b) AS x` hides a and b; `USING (…) AS x` adds a table of the merged columns. */
function joinAlias(item: FromItem, ref: JoinedTable): FromItem {
  if (ref.alias !== undefined)
    return aliased({ rel: item.rel, columns: item.visible, name: undefined }, ref.alias);
  if (ref.using?.alias !== undefined) {
    const columns = item.visible.slice(0, ref.using.columns.length);
    return { ...item, tables: [...item.tables, { alias: ref.using.alias.name, schema: undefined, columns }] };
  }
  return item;
}
