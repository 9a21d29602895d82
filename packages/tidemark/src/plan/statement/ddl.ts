/** CREATE, DROP, ALTER, COMMENT: names resolved, queries planned, definitions normalised. */
import { SqlError, unsupported } from '../../base/error.ts';
import type { GlobalId } from '../../base/ids.ts';
import {
  type CatalogItem,
  isRelation,
  type QualifiedName,
  type RelationItem,
} from '../../catalog/catalog-reader.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { type ColumnDesc, type RelationDesc, type as sqlType } from '../../repr/types.ts';
import type { AsOf, Ident, ObjectName } from '../../sql/ast.ts';
import type {
  ColumnDef,
  CreateIndexStatement,
  CreateMaterializedViewStatement,
  CreateSourceStatement,
  CreateTableStatement,
  CreateViewStatement,
  Statement,
} from '../../sql/ast-statement.ts';
import { printStatement } from '../../sql/print.ts';
import { printExpr } from '../../sql/print-query.ts';
import { newBinder } from '../bind/binder.ts';
import { coerce, settle } from '../bind/coerce.ts';
import { columnName } from '../bind/column-name.ts';
import { type ExprEnv, refuseReplacement } from '../bind/context.ts';
import { Scope, type ScopeColumn } from '../bind/scope.ts';
import { resolveType } from '../bind/types.ts';
import { Lowering } from '../decorrelate.ts';
import { hasSubquery } from '../hir.ts';
import { planQuery } from '../plan-query.ts';
import { constantOf } from './dml.ts';
import { clusterNamed, missingObject, newName, objectNamed, partsOf } from './names.ts';
import { normalizeQuery, qualifiedIdents } from './normalize.ts';
import { readOptions } from './options.ts';
import type { AsOfPlan, Plan, StatementContext } from './plan.ts';
import { planRefresh } from './refresh.ts';

type Of<K extends Statement['kind']> = Extract<Statement, { kind: K }>;

export function planAsOf(asOf: AsOf | undefined, context: StatementContext): AsOfPlan | undefined {
  if (asOf === undefined) return undefined;
  return { time: constantOf(newBinder(context), asOf.time, sqlType('mz_timestamp')), atLeast: asOf.atLeast };
}

// ---- Tables

/** As in PostgreSQL. */
const MAX_COLUMNS = 1600;

export function planCreateTable(s: CreateTableStatement, context: StatementContext): Plan {
  const name = newTemporaryOr(s.name, s.temporary, context);
  const [constraint] = s.constraints;
  if (constraint !== undefined) throw refuseConstraint(constraint.kind, constraint.pos);
  if (s.columns.length > MAX_COLUMNS)
    throw new SqlError('too_many_columns', `tables can have at most ${MAX_COLUMNS} columns`);
  const columns: ColumnDesc[] = [];
  const defaults: (ScalarExpr | null)[] = [];
  for (const def of s.columns) {
    if (columns.some((c) => c.name === def.name.name))
      throw new SqlError('duplicate_column', `column "${def.name.name}" specified more than once`, {
        position: def.name.pos + 1,
      });
    const type = resolveType(def.type);
    columns.push({ name: def.name.name, type, nullable: !def.constraints.some((c) => c.kind === 'notNull') });
    defaults.push(columnDefault(def, { name: def.name.name, type, nullable: true }, context));
  }
  const desc: RelationDesc = { columns, keys: [] };
  const createSql = printStatement({ ...s, name: qualifiedIdents(name, s.name.pos), ifNotExists: false });
  return {
    kind: 'createTable',
    name,
    ifNotExists: s.ifNotExists,
    temporary: s.temporary,
    createSql,
    dependsOn: [],
    desc,
    defaults,
    defaultSql: s.columns.map(defaultText),
    options: readOptions(s.options),
  };
}

function defaultText(def: ColumnDef): string | null {
  const found = def.constraints.find((c) => c.kind === 'columnDefault');
  return found === undefined ? null : printExpr(found.expr);
}

function newTemporaryOr(name: ObjectName, temporary: boolean, context: StatementContext): QualifiedName {
  if (!temporary) return newName(name, context);
  if (name.parts.length > 1 && name.parts[name.parts.length - 2].name !== 'mz_temp')
    throw new SqlError(
      'invalid_object_definition',
      'cannot create temporary relation in non-temporary schema',
      { position: name.pos + 1 },
    );
  return { database: null, schema: 'mz_temp', item: name.parts[name.parts.length - 1].name };
}

const CONSTRAINTS: Readonly<Record<string, string>> = {
  unique: 'a UNIQUE or PRIMARY KEY constraint',
  columnUnique: 'a UNIQUE or PRIMARY KEY constraint',
  check: 'a CHECK constraint',
  foreignKey: 'a FOREIGN KEY constraint',
  columnReferences: 'a FOREIGN KEY constraint',
};
const refuseConstraint = (kind: string, pos: number): SqlError =>
  unsupported(CONSTRAINTS[kind] ?? kind, { position: pos + 1 });

function columnDefault(def: ColumnDef, column: ColumnDesc, context: StatementContext): ScalarExpr | null {
  let found: ScalarExpr | null = null;
  for (const c of def.constraints) {
    if (c.kind === 'notNull' || c.kind === 'nullable') continue;
    if (c.kind !== 'columnDefault') throw refuseConstraint(c.kind, c.pos);
    const binder = newBinder(context);
    const env: ExprEnv = {
      context: binder,
      scope: new Scope(undefined),
      clause: 'DEFAULT expressions',
      aggregates: false,
      setReturning: false,
    };
    const expr = binder.rules.expr(env, c.expr);
    if (hasSubquery(expr))
      throw new SqlError('feature_not_supported', 'cannot use subquery in DEFAULT expression', {
        position: c.expr.pos + 1,
      });
    const done = coerce(binder, { expr, pos: c.expr.pos }, column.type, 'assignment');
    found = new Lowering({ ctes: [], parameters: [] }).scalar(done, []);
  }
  if (
    def.collation !== undefined &&
    !['C', 'default', 'POSIX'].includes(def.collation.parts[def.collation.parts.length - 1].name)
  )
    throw unsupported('COLLATE', { position: def.collation.pos + 1 });
  return found;
}

// ---- Views and indexes

function renamed(desc: RelationDesc, columns: readonly Ident[], what: string, pos: number): RelationDesc {
  if (columns.length > desc.columns.length)
    throw new SqlError('syntax_error', `CREATE ${what} specifies more column names than columns`, {
      position: pos + 1,
    });
  const named = desc.columns.map((c, i) => (i < columns.length ? { ...c, name: columns[i].name } : c));
  const twice = named.find((c, i) => named.findIndex((x) => x.name === c.name) < i);
  if (twice !== undefined)
    throw new SqlError('duplicate_column', `column "${twice.name}" specified more than once`);
  return { ...desc, columns: named };
}

export function planCreateView(s: CreateViewStatement, context: StatementContext): Plan {
  const name = newTemporaryOr(s.name, s.temporary, context);
  // Nothing is maintained yet: what the view may hold depends on who reads it.
  const plan = planQuery(s.query, { ...context, maintained: true, describe: true, indexedViews: undefined });
  const query = normalizeQuery(s.query, context.catalog, context.names);
  return {
    kind: 'createView',
    name,
    ifNotExists: s.ifNotExists,
    orReplace: s.orReplace,
    temporary: s.temporary,
    createSql: printStatement({
      ...s,
      name: qualifiedIdents(name, s.name.pos),
      query,
      orReplace: false,
      ifNotExists: false,
    }),
    dependsOn: plan.dependsOn,
    query,
    desc: renamed(plan.desc, s.columns, 'VIEW', s.pos),
  };
}

export function planCreateMaterializedView(
  s: CreateMaterializedViewStatement,
  context: StatementContext,
): Plan {
  const name = newName(s.name, context);
  const cluster = clusterNamed(context, s.cluster);
  const replaced =
    s.replaces === undefined ? undefined : objectNamed(context, 'materialized view', s.replaces);
  // What is indexed on the session's cluster says nothing of the view's own.
  const plan = planQuery(s.query, { ...context, maintained: true, indexedViews: undefined });
  if (plan.usesLogs.length > 0)
    throw new SqlError(
      'feature_not_supported',
      'cannot create a materialized view over per-replica log relations',
      {
        detail: 'Each replica has its own rows of them; a materialized view has one set of rows.',
      },
    );
  const query = normalizeQuery(s.query, context.catalog, context.names);
  const clusterName = context.catalog.clusterById(cluster)?.name ?? s.cluster?.name;
  const refresh = planRefresh(s.refresh, context);
  const stated = {
    ...s,
    name: qualifiedIdents(name, s.name.pos),
    query,
    replaces: s.replaces && replaced?.name && qualifiedIdents(replaced.name, s.replaces.pos),
    refresh: refresh.stated,
    orReplace: false,
    ifNotExists: false,
    cluster: clusterName === undefined ? s.cluster : { name: clusterName, pos: s.pos },
  };
  return {
    kind: 'createMaterializedView',
    name,
    ifNotExists: s.ifNotExists,
    orReplace: s.orReplace,
    createSql: printStatement(stated),
    dependsOn: replaced === undefined ? plan.dependsOn : [...plan.dependsOn, replaced.id as GlobalId],
    query,
    plan,
    desc: renamed(plan.desc, s.columns, 'MATERIALIZED VIEW', s.pos),
    cluster,
    refresh: refresh.plan,
    options: readOptions(s.options),
    asOf: planAsOf(s.asOf, context),
    replaces: replaced?.id as GlobalId | undefined,
  };
}

export function planCreateIndex(s: CreateIndexStatement, context: StatementContext): Plan {
  const parts = partsOf(s.on);
  const on = context.catalog.resolve(parts, context.names);
  if (on === undefined) throw missingObject('table', s.on);
  if (!isRelation(on)) throw notIndexable(on, s.on.pos);
  refuseReplacement(on, s.on.pos + 1);
  const cluster = clusterNamed(context, s.cluster);
  const { keys, names } = indexKeys(s, on, context);
  const item =
    s.name?.name ??
    freeName(`${on.name.item}_${s.key === undefined ? 'primary' : names.join('_')}_idx`, on.name, context);
  const name: QualifiedName = { ...on.name, item };
  const clusterName = context.catalog.clusterById(cluster)?.name;
  const stated: CreateIndexStatement = {
    ...s,
    isDefault: false,
    ifNotExists: false,
    name: { name: item, pos: s.pos },
    on: qualifiedIdents(on.name, s.on.pos),
    cluster: clusterName === undefined ? s.cluster : { name: clusterName, pos: s.pos },
    key:
      s.key ??
      keys.map((k) => ({
        kind: 'column',
        pos: s.pos,
        name: {
          pos: s.pos,
          parts: [{ pos: s.pos, name: k.kind === 'column' ? on.desc.columns[k.index].name : '' }],
        },
      })),
  };
  return {
    kind: 'createIndex',
    name,
    ifNotExists: s.ifNotExists,
    createSql: printStatement(stated),
    dependsOn: [on.id],
    on: on.id,
    cluster,
    keys,
    keysNullable: keys.map((k) => k.kind !== 'column' || on.desc.columns[k.index].nullable),
    options: readOptions(s.options),
  };
}

/** The name, with a number if it is taken. */
function freeName(base: string, beside: QualifiedName, context: StatementContext): string {
  const taken = (item: string): boolean => {
    const parts = [beside.database, beside.schema, item].filter((p) => p !== null);
    return context.catalog.resolve(parts, context.names) !== undefined;
  };
  let item = base;
  for (let n = 1; taken(item); n++) item = `${base}${n}`;
  return item;
}

function notIndexable(item: CatalogItem, pos: number): SqlError {
  return new SqlError('wrong_object_type', `cannot create index on relation "${item.name.item}"`, {
    position: pos + 1,
    detail: `This operation is not supported for ${item.kind === 'index' ? 'indexes' : 'sinks'}.`,
  });
}

/** As written; by default the relation's first key, or all columns. */
function indexKeys(
  s: CreateIndexStatement,
  on: RelationItem,
  context: StatementContext,
): { keys: readonly ScalarExpr[]; names: readonly string[] } {
  if (s.key === undefined) {
    const [key] = on.desc.keys;
    const columns = key ?? on.desc.columns.map((_, i) => i);
    const keys = columns.map(
      (index): ScalarExpr => ({ kind: 'column', index, type: on.desc.columns[index].type }),
    );
    return { keys, names: columns.map((c) => on.desc.columns[c].name) };
  }
  const binder = newBinder(context);
  const columns = on.desc.columns.map((c): ScopeColumn => ({ ...c, id: binder.newColumn() }));
  const scope = new Scope(undefined);
  scope.setFrom({ tables: [{ alias: on.name.item, schema: on.name.schema, columns }], visible: columns });
  const env: ExprEnv = {
    context: binder,
    scope,
    clause: 'index expressions',
    aggregates: false,
    setReturning: false,
  };
  const lowering = new Lowering({ ctes: [], parameters: [] });
  const keys = s.key.map((e) => {
    const expr = settle(binder, { expr: binder.rules.expr(env, e), pos: e.pos });
    if (hasSubquery(expr))
      throw new SqlError('feature_not_supported', 'cannot use subquery in index expression', {
        position: e.pos + 1,
      });
    return lowering.scalar(
      expr,
      columns.map((c) => c.id),
    );
  });
  return { keys, names: s.key.map((e) => (columnName(e) === '?column?' ? 'expr' : columnName(e))) };
}

// ---- Sources, sinks and the rest

export function planCreateSource(s: CreateSourceStatement, context: StatementContext): Plan {
  const name = newName(s.name, context);
  const columns = s.columns.map(
    (c): ColumnDesc => ({ name: c.name.name, type: resolveType(c.type), nullable: true }),
  );
  const dependsOn: GlobalId[] = [];
  return {
    kind: 'createSource',
    name,
    ifNotExists: s.ifNotExists,
    createSql: printStatement({
      ...s,
      name: qualifiedIdents(name, s.name.pos),
      ifNotExists: false,
      // Nothing of a source runs there, and the cluster may be dropped before it.
      cluster: undefined,
    }),
    dependsOn,
    cluster: s.cluster === undefined ? context.cluster : clusterNamed(context, s.cluster),
    columns,
    from: s.from,
    originOptions: readOptions(s.from.options),
    tables: s.tables,
    options: readOptions(s.options),
  };
}

export function planCreateSink(s: Of<'createSink'>, context: StatementContext): Plan {
  const name = newName(s.name, context);
  const from = context.catalog.resolve(partsOf(s.from), context.names);
  if (from === undefined) throw missingObject('table', s.from);
  if (!isRelation(from))
    throw new SqlError('wrong_object_type', `"${from.name.item}" is not a relation`, {
      position: s.from.pos + 1,
    });
  const cluster = clusterNamed(context, s.cluster);
  const clusterName = context.catalog.clusterById(cluster)?.name;
  return {
    kind: 'createSink',
    name,
    ifNotExists: s.ifNotExists,
    createSql: printStatement({
      ...s,
      name: qualifiedIdents(name, s.name.pos),
      cluster: clusterName === undefined ? s.cluster : { name: clusterName, pos: s.pos },
      from: qualifiedIdents(from.name, s.from.pos),
      ifNotExists: false,
    }),
    dependsOn: [from.id],
    from: from.id,
    cluster,
    into: 'metrics',
    intoOptions: readOptions(s.into.options),
    options: readOptions(s.options),
  };
}

export function planCreateConnection(s: Of<'createConnection'>, context: StatementContext): Plan {
  const name = newName(s.name, context);
  return {
    kind: 'createConnection',
    name,
    ifNotExists: s.ifNotExists,
    createSql: printStatement({ ...s, name: qualifiedIdents(name, s.name.pos), ifNotExists: false }),
    dependsOn: [],
    connectionType: s.connectionType.name,
    options: readOptions(s.options),
  };
}

export function planCreateSecret(s: Of<'createSecret'>, context: StatementContext): Plan {
  const name = newName(s.name, context);
  return {
    kind: 'createSecret',
    name,
    ifNotExists: s.ifNotExists,
    // The value is no part of what SHOW CREATE tells.
    createSql: `CREATE SECRET ${[name.database, name.schema, name.item].filter((p) => p !== null).join('.')}`,
    dependsOn: [],
    value: constantOf(newBinder(context), s.value, sqlType('bytea')),
  };
}
