/**
 * Trees as SQL, in one line: parsing the text gives the same tree but for positions. The catalog keeps definitions in
 * this form and SHOW CREATE answers with it.
 */

import type { Expr, Ident, ObjectName, SelectItem } from './ast.ts';
import type {
  CopyStatement,
  ExplainAnalyzeStatement,
  FetchStatement,
  ShowObjectsStatement,
  Statement,
  SubscribeOutput,
  SubscribeStatement,
  TransactionModes,
} from './ast-statement.ts';
import { CREATE_PRINTERS } from './print-create.ts';
import {
  printColumns,
  printIdent,
  printIdents,
  printName,
  printOptionName,
  printOptions,
  printPlainOptions,
  printSetting,
  printSetValue,
  printWithOptions,
  quoteString,
  words,
} from './print-name.ts';
import {
  printAsOf,
  printExpr,
  printOrderBy,
  printQuery,
  printSelectItems,
  printTableRef,
  printType,
  printWith,
} from './print-query.ts';

type Printers = { readonly [K in Statement['kind']]: (s: Extract<Statement, { kind: K }>) => string };

const PRINTERS: Printers = {
  ...CREATE_PRINTERS,
  selectStatement: (s) => words(printQuery(s.query), s.asOf && printAsOf(s.asOf)),
  insert: (s) =>
    words(
      s.with && printWith(s.with),
      `INSERT INTO ${changed(s)}${printColumns(s.columns)}`,
      s.source === undefined ? 'DEFAULT VALUES' : printQuery(s.source),
      returning(s.returning),
    ),
  update: (s) =>
    words(
      s.with && printWith(s.with),
      `UPDATE ${changed(s)} SET`,
      s.assignments.map(({ column, value }) => `${printIdent(column)} = ${printExpr(value)}`).join(', '),
      s.from.length > 0 && `FROM ${s.from.map(printTableRef).join(', ')}`,
      where(s.where),
      returning(s.returning),
    ),
  delete: (s) =>
    words(
      s.with && printWith(s.with),
      `DELETE FROM ${changed(s)}`,
      s.using.length > 0 && `USING ${s.using.map(printTableRef).join(', ')}`,
      where(s.where),
      returning(s.returning),
    ),
  copy: printCopy,
  subscribe: printSubscribe,
  declareCursor: (s) =>
    words(
      `DECLARE ${printIdent(s.name)}`,
      s.binary && 'BINARY',
      s.scroll !== undefined && (s.scroll ? 'SCROLL' : 'NO SCROLL'),
      'CURSOR',
      s.hold && 'WITH HOLD',
      `FOR ${printStatement(s.statement)}`,
    ),
  fetch: printFetch,
  close: (s) => `CLOSE ${s.cursor === undefined ? 'ALL' : printIdent(s.cursor)}`,
  alterRename: (s) => `${altered(s)} RENAME TO ${printIdent(s.to)}`,
  alterSetSchema: (s) => `${altered(s)} SET SCHEMA ${printName(s.schema)}`,
  alterSwap: (s) => `${altered(s)} SWAP WITH ${printIdent(s.with)}`,
  alterOwner: (s) =>
    `${altered(s)} OWNER TO ${OWN_ROLES.has(s.owner.name) ? s.owner.name : printIdent(s.owner)}`,
  alterSet: (s) => `${altered(s)} SET ${printOptions(s.options)}`,
  alterReset: (s) => `${altered(s)} RESET (${s.options.map(printOptionName).join(', ')})`,
  alterApplyReplacement: (s) => `${altered(s)} APPLY REPLACEMENT ${printName(s.replacement)}`,
  alterSecret: (s) => `${altered(s)} AS ${printExpr(s.value)}`,
  drop: (s) =>
    words(
      `DROP ${s.objectType.toUpperCase()}`,
      s.ifExists && 'IF EXISTS',
      s.names.map(printName).join(', '),
      s.behavior?.toUpperCase(),
    ),
  comment: (s) =>
    `COMMENT ON ${s.objectType.toUpperCase()} ${printName(s.name)} IS ${s.comment === undefined ? 'NULL' : quoteString(s.comment)}`,
  showObjects: printShowObjects,
  showCreate: (s) => `SHOW CREATE ${s.objectType.toUpperCase()} ${printName(s.name)}`,
  showVariable: (s) => `SHOW ${printSetting(s.name, SHOWN)}`,
  showAll: () => 'SHOW ALL',
  explainPlan: (s) => {
    if (s.stage === undefined && s.format === 'text') {
      return words(
        'EXPLAIN',
        s.options.length > 0 && printPlainOptions(s.options),
        printExplainee(s.explainee),
      );
    }
    const options = printWithOptions(s.options);
    return words(
      'EXPLAIN',
      s.stage?.toUpperCase(),
      'PLAN',
      options,
      format(s),
      'FOR',
      printExplainee(s.explainee),
    );
  },
  explainTimestamp: (s) => words('EXPLAIN TIMESTAMP', format(s), 'FOR', printStatement(s.explainee)),
  explainAnalyze: printExplainAnalyze,
  begin: (s) => words('BEGIN', modes(s.modes)),
  commit: (s) => words('COMMIT', s.chain && 'AND CHAIN'),
  rollback: (s) => words('ROLLBACK', s.chain && 'AND CHAIN'),
  setTransaction: (s) =>
    words(
      s.scope === 'session' ? 'SET SESSION CHARACTERISTICS AS TRANSACTION' : 'SET TRANSACTION',
      modes(s.modes),
    ),
  set: (s) => words('SET', s.scope === 'local' && 'LOCAL', `${printSetting(s.name)} TO`, setValues(s)),
  reset: (s) => `RESET ${s.name === undefined ? 'ALL' : printSetting(s.name)}`,
  discard: (s) => `DISCARD ${s.what.toUpperCase()}`,
  prepare: (s) =>
    words(
      `PREPARE ${printIdent(s.name)}`,
      s.types.length > 0 && `(${s.types.map(printType).join(', ')})`,
      `AS ${printStatement(s.statement)}`,
    ),
  execute: (s) =>
    words(`EXECUTE ${printIdent(s.name)}`, s.args.length > 0 && `(${s.args.map(printExpr).join(', ')})`),
  deallocate: (s) => `DEALLOCATE ${s.name === undefined ? 'ALL' : printIdent(s.name)}`,
  alterSystemSet: (s) => words('ALTER SYSTEM SET', `${printSetting(s.name)} TO`, setValues(s)),
  alterSystemReset: (s) => `ALTER SYSTEM RESET ${s.name === undefined ? 'ALL' : printSetting(s.name)}`,
};

export function printStatement(statement: Statement): string {
  return (PRINTERS[statement.kind] as (s: Statement) => string)(statement);
}

// ---- Data

const changed = (s: { readonly table: ObjectName; readonly alias: Ident | undefined }): string =>
  words(printName(s.table), s.alias && `AS ${printIdent(s.alias)}`);

const where = (e: Expr | undefined) => e && `WHERE ${printExpr(e)}`;

const returning = (items: readonly SelectItem[]) =>
  items.length > 0 && `RETURNING ${printSelectItems(items)}`;

function printCopied(s: CopyStatement['source']): string {
  switch (s.kind) {
    case 'query':
      return `(${printQuery(s)})`;
    case 'subscribe':
      return `(${printSubscribe(s)})`;
    default:
      return printName(s.table) + printColumns(s.columns);
  }
}

function printCopy(s: CopyStatement): string {
  const source = printCopied(s.source);
  const client = s.direction === 'from' ? 'STDIN' : 'STDOUT';
  const location = s.location === undefined ? client : printExpr(s.location);
  const options = s.options.length > 0 && `WITH ${printPlainOptions(s.options)}`;
  return words(`COPY ${source} ${s.direction.toUpperCase()} ${location}`, options);
}

// ---- Streams

function printSubscribe(s: SubscribeStatement): string {
  const relation = 'kind' in s.relation ? `(${printQuery(s.relation)})` : printName(s.relation);
  return words(
    `SUBSCRIBE TO ${relation}`,
    printWithOptions(s.options),
    s.asOf && printAsOf(s.asOf),
    s.upTo && `UP TO ${printExpr(s.upTo)}`,
    s.output && printOutput(s.output),
  );
}

function printOutput(output: SubscribeOutput): string {
  return output.kind === 'envelopeUpsert'
    ? `ENVELOPE UPSERT (KEY (${printIdents(output.key)}))`
    : `WITHIN TIMESTAMP ${printOrderBy(output.orderBy)}`;
}

function printFetch(s: FetchStatement): string {
  const count = s.count === 'all' ? 'ALL' : String(s.count);
  return words(`FETCH ${count} FROM ${printIdent(s.cursor)}`, printWithOptions(s.options));
}

// ---- Objects, looking, session

/** Words for the session's role, which have no quotes. */
const OWN_ROLES: ReadonlySet<string> = new Set(['current_user', 'current_role', 'session_user']);

type Altered = Pick<Extract<Statement, { kind: 'alterRename' }>, 'objectType' | 'ifExists' | 'name'>;

const altered = (s: Altered): string =>
  words(`ALTER ${s.objectType.toUpperCase()}`, s.ifExists && 'IF EXISTS', printName(s.name));

/** Settings whose bare name would list objects. */
const SHOWN: ReadonlySet<string> = new Set(
  `clusters objects tables views indexes sources sinks schemas databases connections secrets columns`.split(
    ' ',
  ),
);

function printShowObjects(s: ShowObjectsStatement): string {
  const of = s.objectType === 'columns' ? 'FROM' : 'ON';
  return words(
    `SHOW ${s.objectType.toUpperCase()}`,
    // The order in which both are read: columns name their object first, indexes their schema.
    s.objectType === 'columns' && s.on && `${of} ${printName(s.on)}`,
    s.schema && `FROM ${printName(s.schema)}`,
    s.objectType !== 'columns' && s.on && `${of} ${printName(s.on)}`,
    s.cluster && `IN CLUSTER ${printIdent(s.cluster)}`,
    s.like !== undefined && `LIKE ${quoteString(s.like)}`,
    where(s.where),
  );
}

const format = (s: { readonly format: 'text' | 'json' }) => s.format === 'json' && 'AS JSON';

function printExplainee(e: Extract<Statement, { kind: 'explainPlan' }>['explainee']): string {
  return e.kind === 'explainedObject'
    ? `${e.objectType.toUpperCase()} ${printName(e.name)}`
    : printStatement(e);
}

function printExplainAnalyze(s: ExplainAnalyzeStatement): string {
  return words(
    'EXPLAIN ANALYZE',
    s.properties.map((p) => p.toUpperCase()).join(', '),
    s.skew && 'WITH SKEW',
    `FOR ${printExplainee(s.object)}`,
    s.asSql && 'AS SQL',
  );
}

function modes({ isolation, readOnly, deferrable }: TransactionModes): string {
  return words(
    isolation && `ISOLATION LEVEL ${isolation.toUpperCase()}`,
    readOnly !== undefined && (readOnly ? 'READ ONLY' : 'READ WRITE'),
    deferrable !== undefined && (deferrable ? 'DEFERRABLE' : 'NOT DEFERRABLE'),
  );
}

function setValues({ values }: Pick<Extract<Statement, { kind: 'set' }>, 'values'>): string {
  return values === undefined ? 'DEFAULT' : values.map(printSetValue).join(', ');
}
