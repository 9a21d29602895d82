/** INSERT, UPDATE, DELETE and COPY: queries that yield whole rows of the table. */
import { SqlError, unsupported } from '../../base/error.ts';
import type { RelationItem } from '../../catalog/catalog-reader.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { type SqlType, type as sqlType, typeToString } from '../../repr/types.ts';
import type { Expr, Ident, ObjectName, Query, SelectItem } from '../../sql/ast.ts';
import type {
  CopyStatement,
  CopyTable,
  DeleteStatement,
  InsertStatement,
  UpdateStatement,
} from '../../sql/ast-statement.ts';
import { exprStart } from '../../sql/walk.ts';
import { newBinder } from '../bind/binder.ts';
import { coerce, foldCast, tryCoerce } from '../bind/coerce.ts';
import type { BindContext, BoundQuery, ExprEnv } from '../bind/context.ts';
import { bindFrom } from '../bind/from.ts';
import { withScope } from '../bind/query.ts';
import { Scope, type ScopeColumn } from '../bind/scope.ts';
import { bindCondition, expandItem } from '../bind/select.ts';
import { Lowering } from '../decorrelate.ts';
import type { HExpr, HRel } from '../hir.ts';
import { finishPlan } from '../plan-query.ts';
import { clusterNamed, writableTable } from './names.ts';
import { readOptions } from './options.ts';
import type {
  DeletePlan,
  InsertPlan,
  Options,
  Plan,
  ReturningPlan,
  StatementContext,
  UpdatePlan,
} from './plan.ts';

const notNullOf = (table: RelationItem): readonly number[] =>
  table.desc.columns.flatMap((c, i) => (c.nullable ? [] : [i]));

/** Positions of the columns named, all of them if none is. */
function targetColumns(table: RelationItem, columns: readonly Ident[]): readonly number[] {
  if (columns.length === 0) return table.desc.columns.map((_, i) => i);
  const seen = new Set<number>();
  return columns.map((c) => {
    const at = table.desc.columns.findIndex((x) => x.name === c.name);
    const position = c.pos + 1;
    if (at < 0)
      throw new SqlError(
        'undefined_column',
        `column "${c.name}" of relation "${table.name.item}" does not exist`,
        { position },
      );
    if (seen.has(at))
      throw new SqlError('duplicate_column', `column "${c.name}" specified more than once`, { position });
    seen.add(at);
    return at;
  });
}

function assignmentMismatch(name: string, from: SqlType, to: SqlType, pos: number): SqlError {
  return new SqlError(
    'datatype_mismatch',
    `column "${name}" is of type ${typeToString(to)} but expression is of type ${typeToString(from)}`,
    { position: pos + 1, hint: 'You will need to rewrite or cast the expression.' },
  );
}

const defaultOf = (table: RelationItem, column: number): HExpr =>
  (table.defaults?.[column] as HExpr | null | undefined) ?? {
    kind: 'literal',
    value: null,
    type: table.desc.columns[column].type,
  };

export function planInsert(s: InsertStatement, context: StatementContext): InsertPlan {
  const table = writableTable(context, s.table);
  const columns = targetColumns(table, s.columns);
  const binder = newBinder(context);
  binder.noteRead(table.id);
  const scope = withScope(binder, s.with);
  const given = bindSource(binder, s, table, columns, scope);
  const bound: BoundQuery = { ...given, rel: wholeRows(binder, given, table, columns), columns: [] };
  const rows = rowColumns(bound.rel, table);
  const source = finishPlan(binder, { ...bound, columns: rows });
  const returning = planReturning(context, table, s.returning, s.alias);
  return { kind: 'insert', target: table.id, source, notNull: notNullOf(table), returning };
}

function bindSource(
  binder: BindContext,
  s: InsertStatement,
  table: RelationItem,
  columns: readonly number[],
  scope: Scope,
): BoundQuery {
  if (s.source === undefined)
    return {
      rel: { kind: 'values', columns: [], rows: [[]] },
      columns: [],
      order: [],
      limit: null,
      offset: 0,
    };
  const direct = plainValues(s.source);
  if (direct !== undefined) return bindRows(binder, direct, table, columns, scope, s);
  const types = columns.map((c) => table.desc.columns[c].type);
  const bound = binder.rules.query(binder, s.source, scope, {
    types,
    mismatch: (i, from, to, pos) =>
      assignmentMismatch(table.desc.columns[columns[i]]?.name ?? '', from, to, pos),
  });
  checkCount(bound.columns.length, columns, s, s.source.pos);
  return bound;
}

function checkCount(given: number, columns: readonly number[], s: InsertStatement, pos: number): void {
  if (given > columns.length)
    throw new SqlError('syntax_error', 'INSERT has more expressions than target columns', {
      position: pos + 1,
    });
  if (given < columns.length && s.columns.length > 0)
    throw new SqlError('syntax_error', 'INSERT has more target columns than expressions', {
      position: s.columns[given].pos + 1,
    });
}

/** VALUES alone, whose cells may be DEFAULT. */
function plainValues(q: Query): readonly (readonly Expr[])[] | undefined {
  const bare =
    q.with === undefined && q.orderBy.length === 0 && q.limit === undefined && q.offset === undefined;
  return bare && q.body.kind === 'values' ? q.body.rows : undefined;
}

function bindRows(
  binder: BindContext,
  rows: readonly (readonly Expr[])[],
  table: RelationItem,
  columns: readonly number[],
  scope: Scope,
  s: InsertStatement,
): BoundQuery {
  const env: ExprEnv = {
    context: binder,
    scope: new Scope(scope),
    clause: 'VALUES',
    aggregates: false,
    setReturning: false,
  };
  const width = rows[0].length;
  const cells = rows.map((row) => {
    if (row.length !== width)
      throw new SqlError('syntax_error', 'VALUES lists must all be the same length', {
        position: exprStart(row[0]) + 1,
      });
    const excess = row[columns.length];
    checkCount(row.length, columns, s, excess === undefined ? 0 : exprStart(excess));
    return row.map((e, i) => assigned(binder, env, e, table, columns[i]));
  });
  const used = columns.slice(0, width);
  const out = used.map(
    (c): ScopeColumn => ({ ...table.desc.columns[c], id: binder.newColumn(), nullable: true }),
  );
  return {
    rel: { kind: 'values', columns: out, rows: cells },
    columns: out,
    order: [],
    limit: null,
    offset: 0,
  };
}

/** An expression as the value of a column. */
function assigned(binder: BindContext, env: ExprEnv, e: Expr, table: RelationItem, column: number): HExpr {
  if (e.kind === 'default') return defaultOf(table, column);
  const to = table.desc.columns[column];
  const placed = { expr: binder.rules.expr(env, e), pos: exprStart(e) };
  const done = tryCoerce(binder, placed, to.type, 'assignment');
  if (done === undefined) throw assignmentMismatch(to.name, placed.expr.type, to.type, placed.pos);
  return foldCast(binder, done, placed.pos);
}

/** The given columns and the defaults of the others, in the table's order. */
function wholeRows(
  binder: BindContext,
  given: BoundQuery,
  table: RelationItem,
  columns: readonly number[],
): HRel {
  const exprs: { column: ScopeColumn; expr: HExpr }[] = [];
  const row = table.desc.columns.map((c, i): ScopeColumn => {
    const at = columns.indexOf(i);
    if (at >= 0 && at < given.columns.length) return given.columns[at];
    const column: ScopeColumn = { ...c, id: binder.newColumn(), nullable: true };
    exprs.push({ column, expr: defaultOf(table, i) });
    return column;
  });
  const input: HRel = exprs.length === 0 ? given.rel : { kind: 'map', input: given.rel, exprs };
  return { kind: 'project', input, columns: row };
}
const rowColumns = (rel: HRel, table: RelationItem): readonly ScopeColumn[] =>
  rel.kind === 'project' ? rel.columns.map((c, i) => ({ ...c, name: table.desc.columns[i].name })) : [];

/** The table under its alias, as the first of FROM. */
function bindTarget(binder: BindContext, table: RelationItem, alias: Ident | undefined, scope: Scope) {
  const columns = table.desc.columns.map((c): ScopeColumn => ({ ...c, id: binder.newColumn() }));
  const rel: HRel = { kind: 'get', id: table.id, columns, keys: table.desc.keys };
  binder.noteRead(table.id);
  const inner = new Scope(scope);
  const own = {
    alias: alias?.name ?? table.name.item,
    schema: alias === undefined ? table.name.schema : undefined,
    columns,
  };
  inner.setFrom({ tables: [own], visible: columns });
  return { rel, columns, scope: inner, own };
}

export function planUpdate(s: UpdateStatement, context: StatementContext): UpdatePlan {
  const table = writableTable(context, s.table);
  if (s.from.length > 0) throw unsupported('UPDATE … FROM', { position: s.from[0].pos + 1 });
  const binder = newBinder(context);
  const target = bindTarget(binder, table, s.alias, withScope(binder, s.with));
  const env = (clause: string): ExprEnv => ({
    context: binder,
    scope: target.scope,
    clause,
    aggregates: false,
    setReturning: false,
  });
  const names = s.assignments.map((a) => a.column.name);
  const twice = names.find((n, i) => names.indexOf(n) < i);
  if (twice !== undefined)
    throw new SqlError('syntax_error', `multiple assignments to same column "${twice}"`);
  const at = targetColumns(
    table,
    s.assignments.map((a) => a.column),
  );
  const values = s.assignments.map((a, i) => assigned(binder, env('UPDATE'), a.value, table, at[i]));
  const where = s.where === undefined ? undefined : bindCondition(env('WHERE'), s.where, 'WHERE');
  const filtered: HRel =
    where === undefined ? target.rel : { kind: 'filter', input: target.rel, predicate: where };
  const fresh = table.desc.columns.map((c, i) => {
    const expr: HExpr =
      at.includes(i) && s.assignments.length > 0
        ? values[at.indexOf(i)]
        : { kind: 'column', id: target.columns[i].id, type: c.type };
    return { column: { ...c, id: binder.newColumn(), nullable: true }, expr };
  });
  const assignedColumns = s.assignments.length === 0 ? [] : fresh;
  const rel: HRel = { kind: 'map', input: filtered, exprs: assignedColumns };
  const columns = [...target.columns, ...fresh.map((f) => f.column)];
  const read = finishPlan(binder, { rel, columns, order: [], limit: null, offset: 0 });
  const returning = planReturning(context, table, s.returning, s.alias);
  return {
    kind: 'update',
    target: table.id,
    read,
    arity: table.desc.columns.length,
    notNull: notNullOf(table),
    returning,
  };
}

export function planDelete(s: DeleteStatement, context: StatementContext): DeletePlan {
  const table = writableTable(context, s.table);
  const binder = newBinder(context);
  const around = withScope(binder, s.with);
  const target = bindTarget(binder, table, s.alias, around);
  const using = bindFrom(binder, s.using, around);
  target.scope.setFrom({
    tables: [target.own, ...using.tables],
    visible: [...target.columns, ...using.visible],
  });
  const env: ExprEnv = {
    context: binder,
    scope: target.scope,
    clause: 'WHERE',
    aggregates: false,
    setReturning: false,
  };
  const where = s.where === undefined ? undefined : bindCondition(env, s.where, 'WHERE');
  const predicate = s.using.length === 0 ? where : someMatch(using.rel, where);
  const rel: HRel = predicate === undefined ? target.rel : { kind: 'filter', input: target.rel, predicate };
  const read = finishPlan(binder, { rel, columns: target.columns, order: [], limit: null, offset: 0 });
  return {
    kind: 'delete',
    target: table.id,
    read,
    returning: planReturning(context, table, s.returning, s.alias),
  };
}

/** USING finds rows to delete, and never multiplies them. */
function someMatch(using: HRel, where: HExpr | undefined): HExpr {
  const rel: HRel = where === undefined ? using : { kind: 'filter', input: using, predicate: where };
  return { kind: 'existsQuery', rel, type: sqlType('bool') };
}

/** Over one row of the table. */
function planReturning(
  context: StatementContext,
  table: RelationItem,
  items: readonly SelectItem[],
  alias: Ident | undefined,
): ReturningPlan | undefined {
  if (items.length === 0) return undefined;
  const binder = newBinder(context);
  const target = bindTarget(binder, table, alias, new Scope(undefined));
  const env: ExprEnv = {
    context: binder,
    scope: target.scope,
    clause: 'RETURNING',
    aggregates: false,
    setReturning: false,
  };
  const bound = items.flatMap((i) => expandItem(env, i));
  const lowering = new Lowering({ ctes: [], parameters: context.paramValues ?? [] });
  const ids = target.columns.map((c) => c.id);
  const typed = bound.map((b) =>
    b.expr.type.name === 'unknown' ? coerce(binder, b, sqlType('text'), 'implicit') : b.expr,
  );
  const exprs = typed.map((e): ScalarExpr => {
    if ('rel' in e) throw unsupported('a subquery in RETURNING');
    return lowering.scalar(e, ids);
  });
  const columns = bound.map((b, i) => ({ name: b.name, type: exprs[i].type, nullable: true }));
  return { exprs, desc: { columns, keys: [] } };
}

const COPY_OPTIONS = [
  'format',
  'delimiter',
  'null',
  'header',
  'quote',
  'escape',
  'encoding',
  'force_quote',
  'default',
  'freeze',
];

export const copyOptions = (s: CopyStatement): Options =>
  readOptions(s.options, [...COPY_OPTIONS, 'max file size']);

export function planCopy(
  s: CopyStatement & { readonly source: CopyTable | Query },
  context: StatementContext,
): Plan {
  const options = copyOptions(s);
  if (s.direction === 'from') {
    if (s.source.kind !== 'copyTable')
      throw new SqlError('syntax_error', 'COPY query FROM is not possible', { position: s.pos + 1 });
    if (s.location !== undefined) throw unsupported('COPY FROM a file', { position: s.location.pos + 1 });
    const table = writableTable(context, s.source.table);
    const columns = targetColumns(table, s.source.columns);
    return {
      kind: 'copyFrom',
      target: table.id,
      columns,
      types: columns.map((c) => table.desc.columns[c].type),
      defaults: table.defaults ?? table.desc.columns.map(() => null),
      notNull: notNullOf(table),
      options,
    };
  }
  const binder = newBinder(context);
  const bound =
    s.source.kind === 'query' ? binder.rules.query(binder, s.source, undefined) : copyTable(binder, s.source);
  const location = s.location === undefined ? undefined : constantText(binder, s.location);
  if (location !== undefined) clusterNamed(context, undefined);
  return { kind: 'copyTo', query: finishPlan(binder, bound), location, options };
}

function copyTable(
  binder: BindContext,
  t: { readonly table: ObjectName; readonly columns: readonly Ident[] },
): BoundQuery {
  const scope = new Scope(undefined);
  const from = bindFrom(
    binder,
    [{ kind: 'table', name: t.table, alias: undefined, pos: t.table.pos }],
    scope,
  );
  const columns =
    t.columns.length === 0
      ? from.visible
      : t.columns.map((c) => {
          const found = from.visible.find((v) => v.name === c.name);
          if (found === undefined)
            throw new SqlError(
              'undefined_column',
              `column "${c.name}" of relation "${t.table.parts[t.table.parts.length - 1].name}" does not exist`,
              { position: c.pos + 1 },
            );
          return found;
        });
  return { rel: from.rel, columns, order: [], limit: null, offset: 0 };
}

export function constantOf(binder: BindContext, e: Expr, to: SqlType): ScalarExpr {
  const env: ExprEnv = {
    context: binder,
    scope: new Scope(undefined),
    clause: 'this place',
    aggregates: false,
    setReturning: false,
  };
  const done = coerce(binder, { expr: binder.rules.expr(env, e), pos: exprStart(e) }, to, 'assignment');
  return new Lowering({ ctes: [], parameters: binder.options.paramValues ?? [] }).scalar(done, []);
}
const constantText = (binder: BindContext, e: Expr): ScalarExpr => constantOf(binder, e, sqlType('text'));
