/**
 * Functions that ask the catalog, in one-off queries. With literal arguments they are folded while planning; over columns they
 * become lookups in a literal, for workers have no catalog: a JSON object from the argument's text to the answer.
 */
import { assert } from '../base/assert.ts';
import { type ErrorCode, SqlError } from '../base/error.ts';
import { builtinDocs } from '../catalog/builtins/builtin-docs.ts';
import { commentsOf } from '../catalog/builtins/builtin-table.ts';
import { functionNames, functionOids, functionRows } from '../catalog/builtins/engine-rows.ts';
import { BUILTIN_TABLES } from '../catalog/builtins/tables.ts';
import type { CatalogItem, NameContext } from '../catalog/catalog-reader.ts';
import { isRelation } from '../catalog/catalog-reader.ts';
import type { CatalogState } from '../catalog/catalog-state.ts';
import { type CommentEntity, commentedKind } from '../catalog/entities.ts';
import { rewrite as rewriteScalar } from '../expr/expr-tree.ts';
import { functionById } from '../expr/registry.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import { call, functionId, ifThen, isNull, literal } from '../plan/make-scalar.ts';
import { type Mir, rewrite } from '../plan/mir.ts';
import { mapScalars } from '../plan/optimize/map-scalars.ts';
import { jsonQuote } from '../repr/json.ts';
import { type Datum, type SqlType, TYPES, type TypeName, type } from '../repr/types.ts';
import { printQuery } from '../sql/print-query.ts';

export interface CatalogFacts {
  readonly catalog: CatalogState;
  readonly names: NameContext;
}

/** How a function is answered. `table`: for every value of its first argument (or first two, joined by a dot) that has an answer, by text. */
type Answer =
  | { readonly kind: 'constant'; readonly value: Datum }
  | { readonly kind: 'argument' }
  | {
      readonly kind: 'table';
      readonly pair?: true;
      readonly rows: (f: CatalogFacts) => Iterable<readonly [key: string, answer: string]>;
    };

const constant = (value: Datum): Answer => ({ kind: 'constant', value });
const table = (rows: (f: CatalogFacts) => Iterable<readonly [string, string]>): Answer => ({
  kind: 'table',
  rows,
});

function* items(
  f: CatalogFacts,
  answer: (item: CatalogItem) => string | undefined,
): Iterable<readonly [string, string]> {
  for (const item of f.catalog.items()) {
    const a = answer(item);
    if (a !== undefined) yield [String(item.oid), a];
  }
}

/** A relation is visible if its bare name finds it and nothing before it. */
const isVisible = (f: CatalogFacts, item: CatalogItem): boolean =>
  f.catalog.resolve([item.name.item], f.names)?.id === item.id;

const doubleQuoted = (name: string): string => `"${name.replaceAll('"', '""')}"`;

function displayName(f: CatalogFacts, item: CatalogItem): string {
  const quote = (s: string) => (/^[a-z_][a-z0-9_$]*$/.test(s) ? s : doubleQuoted(s));
  return isVisible(f, item) ? quote(item.name.item) : `${quote(item.name.schema)}.${quote(item.name.item)}`;
}

const commented = ({ catalog }: CatalogFacts, c: CommentEntity): CatalogItem | undefined =>
  commentedKind(c) === 'item' ? catalog.item(c.objectId as CatalogItem['id']) : undefined;

function* comments(f: CatalogFacts): Iterable<readonly [string, string]> {
  for (const c of f.catalog.all('comment')) {
    const item = commented(f, c);
    if (item !== undefined && c.column === null) yield [String(item.oid), c.comment];
  }
  for (const d of builtinDocs()) if (d.doc !== '') yield [String(d.oid), d.doc];
}

function* columnComments(f: CatalogFacts): Iterable<readonly [string, string]> {
  for (const c of f.catalog.all('comment')) {
    const item = commented(f, c);
    if (item !== undefined && c.column !== null) yield [`${item.oid}.${c.column}`, c.comment];
  }
  for (const d of builtinDocs())
    for (const [column, text] of commentsOf(d)) if (column !== null) yield [`${d.oid}.${column}`, text];
}

const indexDef = table((f) => items(f, (i) => (i.kind === 'index' ? indexText(f, i) : undefined)));
const viewDef = table((f) =>
  items(f, (i) =>
    isRelation(i) && i.createSql !== '' && i.query !== undefined ? `${printQuery(i.query)};` : undefined,
  ),
);
const functionArguments = table(() => functionTexts((f) => f.arguments));

function indexText(f: CatalogFacts, index: Extract<CatalogItem, { kind: 'index' }>): string {
  if (index.createSql !== '') return index.createSql;
  const on = f.catalog.item(index.on);
  return `CREATE INDEX ${index.name.item} ON ${on === undefined ? '' : displayName(f, on)}`;
}

const FUNCTION_COLUMNS = ['oid', 'arguments', 'result'] as const;

/** From the rows of mz_functions. */
function* functionTexts(
  text: (f: Readonly<Record<(typeof FUNCTION_COLUMNS)[number], string>>) => string,
): Iterable<readonly [string, string]> {
  const { columns } = BUILTIN_TABLES.find((t) => t.name === 'mz_functions')!;
  const at = FUNCTION_COLUMNS.map((name) => columns.findIndex((c) => c.name === name));
  for (const row of functionRows()) {
    const [oid, args, result] = at.map((i) => String(row[i])) as [string, string, string];
    yield [oid, text({ oid, arguments: args, result })];
  }
}

function* types(): Iterable<readonly [string, string]> {
  for (const { oid, arrayOid, sqlName } of Object.values(TYPES)) {
    if (oid !== 0) yield [String(oid), sqlName];
    if (arrayOid !== 0) yield [String(arrayOid), `${sqlName}[]`];
  }
}

/** By function id. What is missing answers NULL: functions, rules, triggers and constraints do not exist here. */
const ANSWERS: Readonly<Record<string, Answer>> = {
  pg_get_userbyid: constant('tidemark'),
  // psql leaves pg_catalog out of its lists by name, and would show every mz_catalog relation beside the user's own.
  pg_table_is_visible: table((f) =>
    items(f, (i) => String(i.name.schema !== 'mz_catalog' && isVisible(f, i))),
  ),
  pg_type_is_visible: constant(true),
  pg_function_is_visible: constant(true),
  pg_operator_is_visible: constant(true),
  pg_opclass_is_visible: constant(true),
  pg_opfamily_is_visible: constant(true),
  pg_collation_is_visible: constant(true),
  pg_conversion_is_visible: constant(true),
  pg_get_expr: { kind: 'argument' },
  pg_get_expr_pretty: { kind: 'argument' },
  obj_description: table(comments),
  obj_description_oid: table(comments),
  col_description: { kind: 'table', rows: columnComments, pair: true },
  pg_get_indexdef: indexDef,
  pg_get_indexdef_column: indexDef,
  pg_get_viewdef: viewDef,
  pg_get_viewdef_pretty: viewDef,
  pg_get_function_arguments: functionArguments,
  pg_get_function_identity_arguments: functionArguments,
  pg_get_function_result: table(() => functionTexts((f) => f.result)),
  pg_relation_size: constant(0n),
  pg_table_size: constant(0n),
  pg_indexes_size: constant(0n),
  pg_total_relation_size: constant(0n),
  pg_database_size: constant(0n),
  regclass_out: table((f) => items(f, (i) => displayName(f, i))),
  regtype_out: table(types),
  regproc_out: table(function* () {
    for (const [name, oid] of functionNames()) yield [String(oid), name];
  }),
  to_regproc: table(function* () {
    for (const [name] of functionNames()) {
      const [oid, another] = functionOids(name);
      if (another === undefined) yield [name, String(oid)];
    }
  }),
  regnamespace_out: table(function* (f) {
    for (const s of f.catalog.all('schema')) yield [String(s.oid), s.name];
  }),
  to_regclass: table(function* (f) {
    for (const i of f.catalog.items()) {
      const oid = String(i.oid);
      const { schema, item } = i.name;
      for (const [s, n] of [
        [schema, item],
        [doubleQuoted(schema), doubleQuoted(item)],
      ]) {
        if (isVisible(f, i)) yield [n!, oid];
        yield [`${s}.${n}`, oid];
      }
    }
  }),
  to_regtype: table(function* () {
    for (const [oid, name] of types()) yield [name, oid];
    for (const name of Object.keys(TYPES) as TypeName[]) yield [name, String(TYPES[name].oid)];
  }),
  to_regnamespace: table(function* (f) {
    for (const s of f.catalog.all('schema')) yield [s.name, String(s.oid)];
  }),
};

/** A name is read as the function that looks it up does; over columns an unknown one gives NULL. */
const answerOf = (func: string): Answer | undefined => ANSWERS[func.replace(/^(reg\w+)_in$/, 'to_$1')];

const NAMED: Readonly<Record<string, readonly [code: ErrorCode, what: string]>> = {
  regclass: ['undefined_table', 'relation'],
  regtype: ['undefined_object', 'type'],
  regproc: ['undefined_function', 'function'],
  regnamespace: ['invalid_schema_name', 'schema'],
};

/** The answer for one value of each argument. */
export function askCatalog(facts: CatalogFacts, func: string, args: readonly Datum[]): Datum {
  const returns = functionById(func).returns as TypeName;
  const reads = /^(reg\w+)_in$/.exec(func)?.[1];
  const answer = answerOf(func);
  switch (answer?.kind) {
    case undefined:
      return null;
    case 'constant':
      return answer.value;
    case 'argument':
      return args[0] ?? null;
    case 'table': {
      if (reads !== undefined && /^\d+$/.test(String(args[0]))) return Number(args[0]);
      const key = answer.pair === true ? `${args[0]}.${args[1]}` : String(args[0]);
      for (const [k, a] of answer.rows(facts)) if (k === key) return fromText(a, returns);
      if (reads !== undefined) {
        const [code, what] = NAMED[reads]!;
        throw new SqlError(code, `${what} "${key}" does not exist`);
      }
      return func.endsWith('_out') ? key : null;
    }
  }
}

function fromText(text: string, returns: TypeName): Datum {
  if (returns === 'bool') return text === 'true';
  return TYPES[returns].kind === 'f64' ? Number(text) : text;
}

/** All answers of a function that has a table of them: for many questions at once. */
export function answersOf(facts: CatalogFacts, func: string): ReadonlyMap<string, string> {
  const answer = ANSWERS[func];
  return new Map(answer?.kind === 'table' ? answer.rows(facts) : []);
}

/** The plan with every call over columns replaced by a lookup. */
/** Plans without such a function: the same for ever. */
const without = new WeakSet<Mir>();

export function lowerCatalogCalls(mir: Mir, facts: CatalogFacts): Mir {
  if (without.has(mir)) return mir;
  const lowered = rewrite(mir, (node) => mapScalars(node, (e) => rewriteScalar(e, (x) => lower(x, facts))));
  if (lowered === mir) without.add(mir);
  return lowered;
}

function lower(e: ScalarExpr, facts: CatalogFacts): ScalarExpr {
  if (e.kind !== 'call' || functionById(e.func).volatility !== 'catalog') return e;
  // Where the planner left it, it is NULL or fails: now is the time to say so.
  const values = e.args.flatMap((a) => (a.kind === 'literal' ? [a.value] : []));
  if (values.length === e.args.length)
    return literal(values.includes(null) ? null : askCatalog(facts, e.func, values), e.type);
  const answer = answerOf(e.func);
  const [key] = e.args;
  assert(key !== undefined, `catalog function ${e.func} has an argument`);
  switch (answer?.kind) {
    case undefined:
      return literal(null, e.type);
    case 'constant':
      return literal(answer.value, e.type);
    case 'argument':
      return key;
    case 'table':
      return lookup(keyText(e, answer.pair === true), e, answer.rows(facts));
  }
}

const TEXT = type('text');

function keyText({ args }: ScalarExpr & { kind: 'call' }, pair: boolean): ScalarExpr {
  const [first, second] = args.map((a) => cast(a, TEXT));
  if (!pair) return first!;
  const concat = functionId('||', [TEXT, TEXT]);
  const withDot: ScalarExpr = call(concat, [first!, literal('.', TEXT)], TEXT);
  return call(concat, [withDot, second!], TEXT);
}

/** `'{…}'::jsonb ->> key`, brought to the result's type. */
function lookup(
  key: ScalarExpr,
  e: ScalarExpr & { kind: 'call' },
  rows: Iterable<readonly [string, string]>,
): ScalarExpr {
  const entries = [...new Map(rows)].map(([k, a]) => `${jsonQuote(k)}: ${jsonQuote(a)}`);
  const json = literal(`{${entries.join(', ')}}`, type('jsonb'));
  const found: ScalarExpr = call(functionId('->>', [type('jsonb'), TEXT]), [json, key], TEXT);
  if (e.type.name === 'bool')
    return call(functionId('=', [TEXT, TEXT]), [found, literal('true', TEXT)], e.type);
  const value = cast(found, e.type);
  return e.func.endsWith('_out')
    ? ifThen<ScalarExpr>(isNull(value), cast(key, e.type), value, e.type)
    : value;
}

function cast(e: ScalarExpr, to: SqlType): ScalarExpr {
  return e.type.name === to.name ? e : call(`cast_${e.type.name}_${to.name}`, [e], to);
}
