/** CREATE statements as text. */
import type { Expr, Ident, TypedColumn } from './ast.ts';
import type {
  ClusterReplicaDef,
  ColumnConstraint,
  ColumnDef,
  CreateMaterializedViewStatement,
  CreateSourceStatement,
  CreateTableStatement,
  RefreshOption,
  SourceOrigin,
  SourceTables,
  Statement,
  TableConstraint,
} from './ast-statement.ts';
import { LEVEL } from './precedence.ts';
import {
  printColumns,
  printIdent,
  printIdents,
  printName,
  printOption,
  printOptions,
  printWithOptions,
  quoteString,
  words,
} from './print-name.ts';
import {
  printAsOf,
  printExpr,
  printExprAt,
  printQuery,
  printType,
  printTypedColumns,
} from './print-query.ts';

type Creating = Extract<Statement, { kind: `create${string}` }>;

export const CREATE_PRINTERS: {
  readonly [K in Creating['kind']]: (s: Extract<Creating, { kind: K }>) => string;
} = {
  createCluster: (s) => {
    const members = s.options.map(printOption);
    if (s.replicas !== undefined) members.push(`REPLICAS (${s.replicas.map(replicaDef).join(', ')})`);
    const list = members.length > 0 && `(${members.join(', ')})`;
    return words('CREATE CLUSTER', ifNotExists(s), printIdent(s.name), list);
  },
  createClusterReplica: (s) =>
    words('CREATE CLUSTER REPLICA', ifNotExists(s), `${printIdent(s.cluster)}.${replicaDef(s.replica)}`),
  createTable: printCreateTable,
  createSource: printCreateSource,
  createView: (s) =>
    words(
      'CREATE',
      s.orReplace && 'OR REPLACE',
      s.temporary && 'TEMPORARY',
      'VIEW',
      ifNotExists(s),
      printName(s.name) + printColumns(s.columns),
      `AS ${printQuery(s.query)}`,
    ),
  createMaterializedView: printCreateMaterializedView,
  createIndex: (s) =>
    words(
      'CREATE',
      s.isDefault && 'DEFAULT',
      'INDEX',
      ifNotExists(s),
      s.name && printIdent(s.name),
      inCluster(s.cluster),
      `ON ${printName(s.on)}`,
      s.key && `(${s.key.map(printKeyPart).join(', ')})`,
      printWithOptions(s.options),
    ),
  createSink: (s) =>
    words(
      'CREATE SINK',
      ifNotExists(s),
      printName(s.name),
      inCluster(s.cluster),
      `FROM ${printName(s.from)} INTO METRICS`,
      s.into.options.length > 0 && printOptions(s.into.options),
      printWithOptions(s.options),
    ),
  createSchema: (s) => words('CREATE SCHEMA', ifNotExists(s), printName(s.name)),
  createDatabase: (s) => words('CREATE DATABASE', ifNotExists(s), printIdent(s.name)),
  createConnection: (s) =>
    words(
      'CREATE CONNECTION',
      ifNotExists(s),
      `${printName(s.name)} TO ${printIdent(s.connectionType)}`,
      printOptions(s.options),
    ),
  createSecret: (s) =>
    words('CREATE SECRET', ifNotExists(s), `${printName(s.name)} AS ${printExpr(s.value)}`),
};

const ifNotExists = (s: { readonly ifNotExists: boolean }) => s.ifNotExists && 'IF NOT EXISTS';

const inCluster = (cluster: Ident | undefined) => cluster && `IN CLUSTER ${printIdent(cluster)}`;

/** Columns and calls stand alone, all else in parentheses, as PostgreSQL asks. */
const printKeyPart = (e: Expr): string =>
  e.kind === 'column' || e.kind === 'call' ? printExpr(e) : `(${printExpr(e)})`;

const replicaDef = (r: ClusterReplicaDef): string => `${printIdent(r.name)} ${printOptions(r.options)}`;

// ---- Tables

function printCreateTable(s: CreateTableStatement): string {
  const members = [...s.columns.map(printColumnDef), ...s.constraints.map(printConstraint)];
  return words(
    'CREATE',
    s.temporary && 'TEMPORARY',
    'TABLE',
    ifNotExists(s),
    `${printName(s.name)} (${members.join(', ')})`,
    printWithOptions(s.options),
  );
}

function printColumnDef(col: ColumnDef): string {
  return words(
    printIdent(col.name),
    printType(col.type),
    col.collation && `COLLATE ${printName(col.collation)}`,
    ...col.constraints.map(printConstraint),
  );
}

function printConstraint(k: ColumnConstraint | TableConstraint): string {
  return words(k.name && `CONSTRAINT ${printIdent(k.name)}`, constraintBody(k));
}

function constraintBody(k: ColumnConstraint | TableConstraint): string {
  switch (k.kind) {
    case 'notNull':
      return 'NOT NULL';
    case 'nullable':
      return 'NULL';
    case 'columnDefault':
      // A `b_expr`: what has no operator at all is one.
      return `DEFAULT ${printExprAt(k.expr, LEVEL.sign)}`;
    case 'columnUnique':
      return k.primary ? 'PRIMARY KEY' : 'UNIQUE';
    case 'check':
      return `CHECK (${printExpr(k.expr)})`;
    case 'columnReferences':
      return `REFERENCES ${printName(k.table)}${printColumns(k.columns)}`;
    case 'unique':
      return `${k.primary ? 'PRIMARY KEY' : 'UNIQUE'} (${printIdents(k.columns)})`;
    case 'foreignKey':
      return `FOREIGN KEY (${printIdents(k.columns)}) REFERENCES ${printName(k.table)}${printColumns(k.foreignColumns)}`;
  }
}

// ---- Sources

function printCreateSource(s: CreateSourceStatement): string {
  const columns: readonly TypedColumn[] = s.columns;
  return words(
    'CREATE SOURCE',
    ifNotExists(s),
    printName(s.name),
    columns.length > 0 && printTypedColumns(columns),
    inCluster(s.cluster),
    `FROM ${origin(s.from)}`,
    s.from.options.length > 0 && printOptions(s.from.options),
    s.tables && `FOR ${sourceTables(s.tables)}`,
    printWithOptions(s.options),
  );
}

function origin(from: SourceOrigin): string {
  switch (from.kind) {
    case 'loadGenerator':
      return `LOAD GENERATOR ${printIdent(from.generator)}`;
    case 'file':
      return `FILE ${quoteString(from.path)}`;
    case 'postgres':
      return `POSTGRES CONNECTION ${printName(from.connection)}`;
  }
}

function sourceTables({ tables, schemas }: SourceTables): string {
  if (schemas.length > 0) return `SCHEMAS (${printIdents(schemas)})`;
  if (tables.length === 0) return 'ALL TABLES';
  const list = tables.map(({ name, as }) => words(printName(name), as && `AS ${printName(as)}`));
  return `TABLES (${list.join(', ')})`;
}

// ---- Materialized views

function printCreateMaterializedView(s: CreateMaterializedViewStatement): string {
  const options = [...s.refresh.map(printRefresh), ...s.options.map(printOption)];
  return words(
    'CREATE',
    s.orReplace && 'OR REPLACE',
    s.replaces && 'REPLACEMENT',
    'MATERIALIZED VIEW',
    ifNotExists(s),
    printName(s.name) + printColumns(s.columns),
    s.replaces && `FOR ${printName(s.replaces)}`,
    inCluster(s.cluster),
    options.length > 0 && `WITH (${options.join(', ')})`,
    `AS ${printQuery(s.query)}`,
    s.asOf && printAsOf(s.asOf),
  );
}

function printRefresh(r: RefreshOption): string {
  switch (r.kind) {
    case 'refreshOnCommit':
      return 'REFRESH ON COMMIT';
    case 'refreshAtCreation':
      return 'REFRESH AT CREATION';
    case 'refreshAt':
      // A column of the name CREATION must not read as the keyword.
      return `REFRESH AT ${r.time.kind === 'column' ? `(${printExpr(r.time)})` : printExpr(r.time)}`;
    case 'refreshEvery':
      return words(
        `REFRESH EVERY ${quoteString(r.interval)}`,
        r.alignedTo && `ALIGNED TO ${printExpr(r.alignedTo)}`,
      );
  }
}
