/**
 * Expressions and queries as text, in one line, with the fewest parentheses that keep the tree: an operand gets them
 * when it binds less tightly than its place asks (`precedence.ts`, the parser's own table). They are one file because
 * each holds the other.
 */
import type {
  AsOf,
  CallExpr,
  Expr,
  FrameBound,
  FunctionTable,
  GroupItem,
  JoinedTable,
  LockingClause,
  OrderItem,
  Query,
  QueryBody,
  Select,
  SelectItem,
  Subscript,
  TableAlias,
  TableFunction,
  TableRef,
  TypedColumn,
  TypeName,
  WindowRef,
  WindowSpec,
  With,
  WithMutuallyRecursive,
} from './ast.ts';
import { KEYWORDS } from './keywords.ts';
import { isNullary } from './parse-special.ts';
import { isOperator, isSign, LEVEL, levelOf, operatorLevel } from './precedence.ts';
import {
  isBareType,
  printColumns,
  printIdent,
  printIdents,
  printName,
  quoteIdent,
  quoteString,
  quoteUnless,
  words,
} from './print-name.ts';

// ---- Types

export function printType(type: TypeName): string {
  const bounds = type.arrayBounds.map((n) => `[${n ?? ''}]`).join('');
  const setof = type.setof ? 'SETOF ' : '';
  const [first, second] = type.params;
  if (first !== undefined) {
    const composite =
      second === undefined ? `${printType(first)} list` : `map[${printType(first)} => ${printType(second)}]`;
    return setof + composite + bounds;
  }
  const [part] = type.name.parts;
  const lone = type.name.parts.length === 1 ? part?.name : undefined;
  const bare = lone !== undefined && isBareType(lone, type.modifiers);
  const name = bare ? lone : lone === 'map' ? '"map"' : printName(type.name);
  const modifiers = type.modifiers.length === 0 ? '' : `(${list(type.modifiers)})`;
  // The precision of `interval second(3)` follows its fields.
  const fields = type.intervalFields === undefined ? '' : ` ${type.intervalFields}`;
  return setof + name + fields + modifiers + bounds;
}

export const printTypedColumns = (columns: readonly TypedColumn[]): string =>
  `(${columns.map((col) => `${printIdent(col.name)} ${printType(col.type)}`).join(', ')})`;

// ---- Expressions

export const printExpr = (e: Expr): string => printExprAt(e, 0);

const list = (exprs: readonly Expr[]): string => exprs.map(printExpr).join(', ');

const subquery = (query: Query): string => `(${printQuery(query)})`;

/** In parentheses if it binds less tightly than `min`. */
export function printExprAt(e: Expr, min: number): string {
  const text = render(e);
  return levelOf(e) < min ? `(${text})` : text;
}

const not = (negated: boolean): string => (negated ? 'NOT ' : '');

const printOperator = ({
  op,
  schema,
}: {
  readonly op: string;
  readonly schema: string | undefined;
}): string => (schema === undefined ? op : `OPERATOR(${quoteIdent(schema)}.${op})`);

/** The left operand of a level that does not associate must bind more tightly. */
function leftOperand(e: Expr, level: number): string {
  return printExprAt(e, level === LEVEL.comparison ? level + 1 : level);
}

type Printers = { readonly [K in Expr['kind']]: (e: Extract<Expr, { kind: K }>) => string };

const PRINTERS: Printers = {
  null: () => 'NULL',
  boolean: (e) => (e.value ? 'TRUE' : 'FALSE'),
  number: (e) => e.text,
  string: (e) => quoteString(e.value),
  bitString: (e) => e.base.toUpperCase() + quoteString(e.value),
  parameter: (e) => `$${e.index}`,
  default: () => 'DEFAULT',
  column: (e) => printName(e.name),
  wildcard: (e) => (e.qualifier === undefined ? '*' : `${printName(e.qualifier)}.*`),
  field: (e) => `${indirectionBase(e.expr, false)}.${printIdent(e.field)}`,
  fieldStar: (e) => `${indirectionBase(e.expr, false)}.*`,
  subscript: (e) => `${indirectionBase(e.expr, true)}${e.subscripts.map(printSubscript).join('')}`,
  unary: printUnary,
  binary: (e) => {
    const level = operatorLevel(e);
    return `${leftOperand(e.left, level)} ${printOperator(e)} ${printExprAt(e.right, level + 1)}`;
  },
  and: (e) => e.operands.map((operand) => printExprAt(operand, LEVEL.and + 1)).join(' AND '),
  or: (e) => e.operands.map((operand) => printExprAt(operand, LEVEL.or + 1)).join(' OR '),
  not: (e) => `NOT ${printExprAt(e.expr, LEVEL.not)}`,
  isNull: (e) => `${printExprAt(e.expr, LEVEL.is + 1)} IS ${not(e.negated)}NULL`,
  isBoolean: (e) => `${printExprAt(e.expr, LEVEL.is + 1)} IS ${not(e.negated)}${e.value.toUpperCase()}`,
  isDistinct: (e) =>
    `${printExprAt(e.left, LEVEL.is + 1)} IS ${not(e.negated)}DISTINCT FROM ${printExprAt(e.right, LEVEL.is + 1)}`,
  between: (e) =>
    words(
      printExprAt(e.expr, LEVEL.match + 1),
      `${not(e.negated)}BETWEEN`,
      e.symmetric && 'SYMMETRIC',
      // A `b_expr`: what has no operator at all is one.
      printExprAt(e.low, LEVEL.sign),
      'AND',
      printExprAt(e.high, LEVEL.match + 1),
    ),
  like: (e) =>
    words(
      printExprAt(e.expr, LEVEL.match + 1),
      not(e.negated) + e.op.toUpperCase(),
      printExprAt(e.pattern, LEVEL.match + 1),
      e.escape && `ESCAPE ${printExprAt(e.escape, LEVEL.match + 1)}`,
    ),
  inList: (e) => `${printExprAt(e.expr, LEVEL.match + 1)} ${not(e.negated)}IN (${list(e.list)})`,
  inQuery: (e) => `${printExprAt(e.expr, LEVEL.match + 1)} ${not(e.negated)}IN ${subquery(e.query)}`,
  quantifiedArray: (e) => `${quantified(e)} (${printExpr(e.array)})`,
  quantifiedQuery: (e) => `${quantified(e)} ${subquery(e.query)}`,
  exists: (e) => `EXISTS ${subquery(e.query)}`,
  subquery: (e) => subquery(e.query),
  arrayQuery: (e) => `${e.constructorName.toUpperCase()}${subquery(e.query)}`,
  array: (e) => `ARRAY[${list(e.elements)}]`,
  list: (e) => `LIST[${list(e.elements)}]`,
  map: (e) =>
    `MAP[${e.entries.map(({ key, value }) => `${printExpr(key)} => ${printExpr(value)}`).join(', ')}]`,
  row: (e) => `ROW(${list(e.elements)})`,
  case: (e) =>
    words(
      'CASE',
      e.operand && printExpr(e.operand),
      ...e.branches.map((b) => `WHEN ${printExpr(b.when)} THEN ${printExpr(b.result)}`),
      e.otherwise && `ELSE ${printExpr(e.otherwise)}`,
      'END',
    ),
  cast: (e) => `${printExprAt(e.expr, LEVEL.cast)}::${printType(e.type)}`,
  collate: (e) => `${printExprAt(e.expr, LEVEL.collate)} COLLATE ${printName(e.collation)}`,
  namedArg: (e) => `${quoteIdent(e.name.name)} => ${printExpr(e.value)}`,
  call: printCall,
};

function render(e: Expr): string {
  return (PRINTERS[e.kind] as (e: Expr) => string)(e);
}

function quantified(e: Extract<Expr, { kind: 'quantifiedArray' | 'quantifiedQuery' }>): string {
  return `${leftOperand(e.left, operatorLevel(e))} ${printOperator(e)} ${e.quantifier.toUpperCase()}`;
}

function printUnary(e: Extract<Expr, { kind: 'unary' }>): string {
  if (!isSign(e)) return `${printOperator(e)} ${printExprAt(e.expr, LEVEL.operator + 1)}`;
  // A number would take the sign for its own.
  const operand = e.expr.kind === 'number' ? `(${render(e.expr)})` : printExprAt(e.expr, LEVEL.sign);
  return e.op + (isOperator(operand) ? ' ' : '') + operand;
}

// ---- Subscripts and fields

/** Words that, before `[`, open a constructor. */
const CONSTRUCTORS: ReadonlySet<string> = new Set(['list', 'map']);

/** What may stand before `[` or `.`: columns only before `[`, since `a.f` would be a column too. */
function indirectionBase(e: Expr, subscripted: boolean): string {
  if (e.kind === 'parameter' || e.kind === 'subquery' || e.kind === 'field') return render(e);
  if (e.kind === 'subscript' && !subscripted) return render(e);
  if (e.kind !== 'column' || !subscripted) return `(${render(e)})`;
  const [first] = e.name.parts;
  const lone = e.name.parts.length === 1 ? first?.name : undefined;
  return lone === undefined ? render(e) : quoteUnless(lone, CONSTRUCTORS);
}

function printSubscript({ slice, lower, upper }: Subscript): string {
  const bound = (e: Expr | undefined) => (e === undefined ? '' : printExpr(e));
  return slice ? `[${bound(lower)} : ${bound(upper)}]` : `[${bound(lower)}]`;
}

// ---- Calls

/** Function names that, bare, begin another construct. */
const NOT_FUNCTIONS: ReadonlySet<string> = new Set(['operator', 'rollup', 'cube', 'list']);
/** Keywords whose syntax is that of a call. */
const CALL_KEYWORDS: ReadonlySet<string> = new Set([
  'coalesce',
  'greatest',
  'least',
  'nullif',
  'grouping',
  'substring',
  'overlay',
]);
const EXTRACT_FIELDS: ReadonlySet<string> = new Set(['year', 'month', 'day', 'hour', 'minute', 'second']);

function printCall(e: CallExpr): string {
  return printSpecialCall(e) ?? printOrdinaryCall(e, printFunctionName(e));
}

function printFunctionName({ name }: CallExpr): string {
  const [first] = name.parts;
  if (first === undefined || name.parts.length > 1) return printName(name);
  // `left`, `right` … may name a function without quotes.
  if (KEYWORDS.get(first.name) === 'typeFunc' && first.name !== 'current_schema') return first.name;
  return quoteUnless(first.name, NOT_FUNCTIONS);
}

function printOrdinaryCall(e: CallExpr, name: string): string {
  const last = e.args.length - 1;
  const args = e.args.map((arg, i) =>
    e.variadic && i === last ? `VARIADIC ${printExpr(arg)}` : printExpr(arg),
  );
  const inside = words(
    e.distinct && 'DISTINCT',
    e.star ? '*' : args.join(', '),
    e.orderBy.length > 0 && printOrderBy(e.orderBy),
  );
  return words(
    `${name}(${inside})`,
    e.withinGroup.length > 0 && `WITHIN GROUP (${printOrderBy(e.withinGroup)})`,
    e.filter && `FILTER (WHERE ${printExpr(e.filter)})`,
    e.over && `OVER ${printWindowRef(e.over)}`,
  );
}

/** The keyword's own syntax where the call came from one, or undefined. */
function printSpecialCall(e: CallExpr): string | undefined {
  const [first] = e.name.parts;
  const clauses =
    e.star || e.distinct || e.variadic || e.filter || e.over || e.orderBy.length + e.withinGroup.length > 0;
  if (first === undefined || e.name.parts.length > 1 || clauses) return undefined;
  const { name } = first;
  const [a, b] = e.args;
  if (a === undefined) return isNullary(name) ? name.toUpperCase() : undefined;
  if (
    b === undefined &&
    a.kind === 'number' &&
    /^(current|local)_?time(stamp)?$/.test(name) &&
    /^\d{1,9}$/.test(a.text)
  ) {
    return `${name.toUpperCase()}(${a.text})`;
  }
  const named = e.args.some((arg) => arg.kind === 'namedArg');
  if (named) return undefined;
  if (CALL_KEYWORDS.has(name) && (name !== 'nullif' || e.args.length === 2))
    return printOrdinaryCall(e, name.toUpperCase());
  if (b === undefined || e.args.length > 2) return undefined;
  if (name === 'extract' && a.kind === 'string') {
    const bare = /^[a-z]+$/.test(a.value) && (EXTRACT_FIELDS.has(a.value) || !KEYWORDS.has(a.value));
    return `EXTRACT(${bare ? a.value : quoteString(a.value)} FROM ${printExpr(b)})`;
  }
  return name === 'position'
    ? `POSITION(${printExprAt(b, LEVEL.sign)} IN ${printExprAt(a, LEVEL.sign)})`
    : undefined;
}

// ---- Windows and order

export const printOrderBy = (items: readonly OrderItem[]): string =>
  `ORDER BY ${items.map(printOrderItem).join(', ')}`;

function printOrderItem({ expr, descending, nulls }: OrderItem): string {
  return words(printExpr(expr), descending && 'DESC', nulls && `NULLS ${nulls.toUpperCase()}`);
}

const WINDOW_CLAUSES: ReadonlySet<string> = new Set(['partition', 'range', 'rows', 'groups']);

function printWindowRef(ref: WindowRef): string {
  return ref.kind === 'windowName' ? printIdent(ref.name) : printWindowSpec(ref);
}

function printWindowSpec({ base, partitionBy, orderBy, frame }: WindowSpec): string {
  const inside = words(
    base && quoteUnless(base.name, WINDOW_CLAUSES),
    partitionBy.length > 0 && `PARTITION BY ${list(partitionBy)}`,
    orderBy.length > 0 && printOrderBy(orderBy),
    frame && `${frame.units.toUpperCase()} BETWEEN ${printBound(frame.start)} AND ${printBound(frame.end)}`,
    frame && frame.exclude !== 'no others' && `EXCLUDE ${frame.exclude.toUpperCase()}`,
  );
  return `(${inside})`;
}

function printBound(bound: FrameBound): string {
  switch (bound.kind) {
    case 'unboundedPreceding':
      return 'UNBOUNDED PRECEDING';
    case 'unboundedFollowing':
      return 'UNBOUNDED FOLLOWING';
    case 'currentRow':
      return 'CURRENT ROW';
    case 'preceding':
    case 'following':
      // BETWEEN … AND around it: the offset must not end in an AND of its own.
      return `${printExprAt(bound.offset, LEVEL.and + 1)} ${bound.kind.toUpperCase()}`;
  }
}

// ---- Queries

export function printQuery(q: Query): string {
  const fetch =
    q.limit &&
    `FETCH FIRST ${q.limit.kind === 'parameter' ? printExpr(q.limit) : `(${printExpr(q.limit)})`} ROWS WITH TIES`;
  return words(
    q.with && printWith(q.with),
    printBody(q.body, 0),
    q.orderBy.length > 0 && printOrderBy(q.orderBy),
    q.withTies ? fetch : q.limit && `LIMIT ${printExpr(q.limit)}`,
    q.offset && `OFFSET ${printExpr(q.offset)}`,
    ...q.locking.map(printLocking),
  );
}

function printLocking({ strength, of, wait }: LockingClause): string {
  return words(
    `FOR ${strength.toUpperCase()}`,
    of.length > 0 && `OF ${of.map(printName).join(', ')}`,
    wait?.toUpperCase(),
  );
}

export function printWith(w: With | WithMutuallyRecursive): string {
  if (w.kind === 'with') {
    const ctes = w.ctes.map((cte) => {
      const hint = cte.materialized === undefined ? '' : `${not(!cte.materialized)}MATERIALIZED `;
      return `${printIdent(cte.name)}${printColumns(cte.columns)} AS ${hint}${subquery(cte.query)}`;
    });
    return words('WITH', w.recursive && 'RECURSIVE', ctes.join(', '));
  }
  const limit = w.limit && `(${w.limit.onReached.toUpperCase()} AT RECURSION LIMIT ${w.limit.count})`;
  const bindings = w.bindings.map(
    (b) => `${printIdent(b.name)} ${printTypedColumns(b.columns)} AS ${subquery(b.query)}`,
  );
  return words('WITH MUTUALLY RECURSIVE', limit, bindings.join(', '));
}

const SET_LEVEL = { union: 1, except: 1, intersect: 2 } as const;

function printBody(body: QueryBody, min: number): string {
  switch (body.kind) {
    case 'select':
      return printSelect(body);
    case 'values':
      return `VALUES ${body.rows.map((row) => `(${list(row)})`).join(', ')}`;
    case 'query':
      return subquery(body);
    case 'setOperation': {
      const level = SET_LEVEL[body.op];
      const op = words(body.op.toUpperCase(), body.all && 'ALL');
      const text = `${printBody(body.left, level)} ${op} ${printBody(body.right, level + 1)}`;
      return level < min ? `(${text})` : text;
    }
  }
}

function printSelect(s: Select): string {
  return words(
    'SELECT',
    s.distinct && 'DISTINCT',
    s.distinctOn.length > 0 && `DISTINCT ON (${list(s.distinctOn)})`,
    printSelectItems(s.items),
    s.from.length > 0 && `FROM ${s.from.map(printTableRef).join(', ')}`,
    s.where && `WHERE ${printExpr(s.where)}`,
    s.groupBy.length > 0 && `GROUP BY ${s.groupBy.map(printGroupItem).join(', ')}`,
    s.having && `HAVING ${printExpr(s.having)}`,
    s.windows.length > 0 &&
      `WINDOW ${s.windows.map((w) => `${printIdent(w.name)} AS ${printWindowSpec(w.spec)}`).join(', ')}`,
  );
}

export const printSelectItems = (items: readonly SelectItem[]): string =>
  items.map(({ expr, alias }) => words(printExpr(expr), alias && `AS ${printIdent(alias)}`)).join(', ');

const GROUPING = {
  empty: '',
  columns: '',
  rollup: 'ROLLUP ',
  cube: 'CUBE ',
  sets: 'GROUPING SETS ',
} as const;

function printGroupItem(item: GroupItem): string {
  if (item.kind !== 'groupingSet') return printExpr(item);
  return `${GROUPING[item.form]}(${item.items.map(printGroupItem).join(', ')})`;
}

/** Reading `AS OF` asks for an expression that cannot be an alias: all but these stand in parentheses. */
const BARE_TIMES: ReadonlySet<Expr['kind']> = new Set(['number', 'string', 'parameter', 'column']);

export function printAsOf({ atLeast, time }: AsOf): string {
  const text = printExpr(time);
  return words('AS OF', atLeast && 'AT LEAST', BARE_TIMES.has(time.kind) ? text : `(${text})`);
}

// ---- FROM

export function printTableRef(t: TableRef): string {
  switch (t.kind) {
    case 'table':
      return printName(t.name) + printAlias(t.alias);
    case 'derived':
      return words(t.lateral && 'LATERAL', subquery(t.query)) + printAlias(t.alias);
    case 'function':
      return printFunctionTable(t);
    case 'join': {
      const text = printJoin(t);
      return t.alias === undefined ? text : `(${text})${printAlias(t.alias)}`;
    }
  }
}

function printAlias(alias: TableAlias | undefined): string {
  return alias === undefined ? '' : ` AS ${printIdent(alias.name)}${printColumns(alias.columns)}`;
}

function printJoin(t: JoinedTable): string {
  const right = printTableRef(t.right);
  const nested = t.right.kind === 'join' && t.right.alias === undefined;
  return words(
    printTableRef(t.left),
    t.natural && 'NATURAL',
    t.type !== 'inner' && t.type.toUpperCase(),
    'JOIN',
    nested ? `(${right})` : right,
    t.on && `ON ${printExpr(t.on)}`,
    t.using && `USING (${printIdents(t.using.columns)})`,
    t.using?.alias && `AS ${printIdent(t.using.alias)}`,
  );
}

function printFunctionTable(t: FunctionTable): string {
  const [only] = t.functions;
  const ordinality = t.withOrdinality && 'WITH ORDINALITY';
  const lateral = t.lateral && 'LATERAL';
  const renamed = (t.alias?.columns.length ?? 0) > 0;
  if (
    only !== undefined &&
    t.functions.length === 1 &&
    (only.columns.length === 0 || !(renamed || t.withOrdinality))
  ) {
    if (only.columns.length === 0)
      return words(lateral, printCall(only.call), ordinality) + printAlias(t.alias);
    return words(
      lateral,
      printCall(only.call),
      'AS',
      t.alias && printIdent(t.alias.name),
      printTypedColumns(only.columns),
    );
  }
  return (
    words(lateral, `ROWS FROM (${t.functions.map(printTableFunction).join(', ')})`, ordinality) +
    printAlias(t.alias)
  );
}

function printTableFunction({ call, columns }: TableFunction): string {
  return words(printCall(call), columns.length > 0 && `AS ${printTypedColumns(columns)}`);
}
