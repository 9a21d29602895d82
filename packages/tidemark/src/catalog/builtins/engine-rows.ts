/**
 * Functions, operators and casts as rows, from the tables that the engine runs by. Their OIDs come from a hash of their ids, which
 * are stable: adding a function moves no other one's OID.
 */
import { assert } from '../../base/assert.ts';
import type { Pattern, ResultType, Volatility } from '../../expr/functions.ts';
import { allAggregates, allFunctions, allTableFunctions } from '../../expr/registry.ts';
import { SqlArray } from '../../repr/array.ts';
import { CASTS } from '../../repr/cast-table.ts';
import { hashName } from '../../repr/hash.ts';
import { TYPES, type TypeName } from '../../repr/types.ts';
import type { BuiltinRow } from './declare.ts';

/** PostgreSQL's OIDs of its pseudo-types; for lists, those of the field's streaming databases. */
const PSEUDO: Readonly<Record<string, number>> = {
  any: 2276,
  anyarray: 2277,
  anyelement: 2283,
  anynonarray: 2776,
  anycompatible: 5077,
  anycompatiblearray: 5078,
  anylist: 16448,
  anycompatiblelist: 16986,
};

/** Engine objects lie above the builtin relations and below log indexes. */
const FIRST_OID = 100_000_000;
const OIDS = 800_000_000;

const given = new Map<number, string>();

function oidOfId(id: string): number {
  const oid = FIRST_OID + (hashName(id) % OIDS);
  const other = given.get(oid) ?? id;
  assert(other === id, `OIDs of ${id} and ${other} differ`);
  given.set(oid, id);
  return oid;
}

const patternOid = (p: Pattern): number => {
  const array = p.endsWith('[]');
  const row = TYPES[(array ? p.slice(0, -2) : p) as TypeName];
  return row === undefined ? PSEUDO[p]! : array ? row.arrayOid : row.oid;
};
const patternText = (p: Pattern): string => {
  const row = TYPES[p.replace('[]', '') as TypeName];
  return row === undefined ? p : `${row.sqlName}${p.endsWith('[]') ? '[]' : ''}`;
};

const oids = (args: readonly Pattern[]): SqlArray => SqlArray.of(args.map(patternOid));
const textOf = (args: readonly Pattern[], variadic: Pattern | undefined): string =>
  [...args.map(patternText), ...(variadic === undefined ? [] : [`VARIADIC ${patternText(variadic)}`])].join(
    ', ',
  );

/** What is computed from the arguments is said to be any element type. */
const resultOf = (r: ResultType): Pattern => (typeof r === 'function' ? 'anyelement' : r);

const VOLATILITY: Readonly<Record<Volatility, string>> = {
  immutable: 'i',
  stable: 's',
  contextual: 's',
  catalog: 's',
};

const isOperator = (name: string): boolean => !/[a-z]/i.test(name);

let made: readonly BuiltinRow[] | undefined;

export function functionRows(): readonly BuiltinRow[] {
  made ??= makeFunctionRows();
  return made;
}

function makeFunctionRows(): readonly BuiltinRow[] {
  const rows: BuiltinRow[] = [];
  const add = (
    kind: string,
    f: { id: string; name: string; args: readonly Pattern[]; variadic?: Pattern; doc: string },
    result: Pattern,
    more: readonly [set: boolean, strict: boolean, volatility: string],
  ) =>
    rows.push([
      oidOfId(`${kind}/${f.id}`),
      f.name,
      kind === 'a' ? 'a' : 'f',
      oids(f.args),
      textOf(f.args, f.variadic),
      f.variadic === undefined ? 0 : patternOid(f.variadic),
      patternOid(result),
      (more[0] ? 'SETOF ' : '') + patternText(result),
      ...more,
      f.doc,
    ]);
  for (const f of allFunctions())
    if (f.name !== null && !isOperator(f.name))
      add('f', { ...f, name: f.name }, resultOf(f.returns), [false, f.strict, VOLATILITY[f.volatility]]);
  for (const f of allAggregates()) add('a', f, resultOf(f.returns), [false, false, 'i']);
  for (const f of allTableFunctions()) add('t', f, 'record', [true, f.strict, VOLATILITY[f.volatility]]);
  return rows;
}

/** Functions that only name how a type is read, under PostgreSQL's OIDs: clients compare `typinput` with them. */
const TYPE_INPUT: ReadonlyMap<string, number> = new Map([['array_in', 750]]);

let byName: Map<string, (readonly [name: string, oid: number])[]> | undefined;

export function functionOids(name: string): readonly number[] {
  const input = TYPE_INPUT.get(name);
  if (input !== undefined) return [input];
  byName ??= Map.groupBy(functionNames(), ([n]) => n);
  return (byName.get(name) ?? []).map(([, oid]) => oid);
}

export function* functionNames(): Generator<readonly [name: string, oid: number]> {
  for (const row of functionRows()) yield [row[1] as string, row[0] as number];
  yield* TYPE_INPUT;
}

export function operatorRows(): readonly BuiltinRow[] {
  return allFunctions().flatMap((f) =>
    f.name === null || !isOperator(f.name)
      ? []
      : [[oidOfId(`o/${f.id}`), f.name, oids(f.args), patternOid(resultOf(f.returns)), f.doc]],
  );
}

export function castRows(): readonly BuiltinRow[] {
  return CASTS.map(([from, to, context, f]) => [
    oidOfId(`c/${from}/${to}`),
    TYPES[from].oid,
    TYPES[to].oid,
    context,
    f === null,
  ]);
}
