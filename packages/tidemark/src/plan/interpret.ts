/**
 * Reference interpreter: what a plan means, row by row, with nothing clever. For tests, as the oracle of the optimiser
 * and of the operators; it shares with them the scalar functions and the finishing of ordered aggregates, so it cannot
 * see a fault of those. Quadratic joins; an error anywhere is the answer.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { GlobalId } from '../base/ids.ts';
import { evalConstant } from '../expr/eval.ts';
import { isEvalError, sqlErrorOf } from '../expr/eval-error.ts';
import type { AccumulatorState, EvalContext } from '../expr/functions.ts';
import { aggregateById, tableFunctionById } from '../expr/registry.ts';
import type { AggregateExpr, OrderKey, ScalarExpr } from '../expr/scalar.ts';
import { datumComparator } from '../repr/compare.ts';
import { datumAt } from '../repr/datum.ts';
import { addNumeric, type Numeric, numericFromBig } from '../repr/numeric.ts';
import { columnsOfRows } from '../repr/rows.ts';
import { type Datum, kindOf, type Row, type SqlType } from '../repr/types.ts';
import type { RowSetFinishing } from './lir.ts';
import { columnsOf, type Mir } from './mir.ts';
import { substitute } from './scalar-walk.ts';

/** A multiset: row and signed multiplicity under the row's key; no entry is zero. */
export type Bag = Map<string, { readonly row: Row; readonly count: number }>;

export interface InterpretOptions {
  readonly tables: (id: GlobalId) => readonly Row[];
  readonly context: EvalContext;
}

export function datumKey(d: Datum): string {
  return JSON.stringify(d, (_, v: unknown) => {
    if (typeof v === 'bigint') return `n${v}`;
    if (typeof v === 'number' && !Number.isFinite(v)) return `f${v}`;
    if (Object.is(v, -0)) return 'f-0';
    return v;
  });
}
const rowKey = (row: Row): string => row.map(datumKey).join('\u0000');

export function addRow(bag: Bag, row: Row, count: number): void {
  const key = rowKey(row);
  const total = (bag.get(key)?.count ?? 0) + count;
  if (total === 0) bag.delete(key);
  else bag.set(key, { row, count: total });
}

type Value = (e: ScalarExpr, row: Row) => Datum;

/** Throws SqlError for the first error of any row. */
export function interpret(
  mir: Mir,
  options: InterpretOptions,
  locals: ReadonlyMap<number, Bag> = new Map(),
): Bag {
  const recur = (m: Mir): Bag => interpret(m, options, locals);
  const value: Value = (e, row) => evalScalar(e, row, options.context);
  switch (mir.op) {
    case 'Constant':
      if ('error' in mir.rows) throw sqlErrorOf(mir.rows.error);
      return bagOf(mir.rows.map(({ row, diff }) => ({ row, count: diff })));
    case 'Get':
      return bagOf(options.tables(mir.id).map((row) => ({ row, count: 1 })));
    case 'LocalGet': {
      const bag = locals.get(mir.local);
      assert(bag !== undefined, `l${mir.local} is bound`);
      return bag;
    }
    case 'Let':
      return interpret(mir.body, options, new Map([...locals, [mir.local, recur(mir.value)]]));
    case 'LetRec':
      throw new SqlError('feature_not_supported', 'recursion is not interpreted');
    case 'Join':
      return interpretJoin(mir, mir.inputs.map(recur), value);
    case 'Reduce':
      return interpretReduce(mir, recur(mir.input), value);
    case 'TopK':
      return interpretTopK(mir, recur(mir.input));
    case 'Union':
      return bagOf(mir.inputs.flatMap((input) => [...recur(input).values()]));
    case 'ArrangeBy':
      return recur(mir.input);
    default:
      return interpretRows(mir, recur(mir.input), value, options.context);
  }
}

function bagOf(rows: Iterable<{ readonly row: Row; readonly count: number }>): Bag {
  const out: Bag = new Map();
  for (const { row, count } of rows) addRow(out, row, count);
  return out;
}

type RowByRow = Extract<Mir, { op: 'Project' | 'Map' | 'Filter' | 'FlatMap' | 'Negate' | 'Threshold' }>;

/** What treats each row by itself. */
function interpretRows(mir: RowByRow, input: Bag, value: Value, context: EvalContext): Bag {
  const out: Bag = new Map();
  for (const { row, count } of input.values())
    switch (mir.op) {
      case 'Project':
        addRow(
          out,
          mir.outputs.map((c) => row[c]),
          count,
        );
        break;
      case 'Map': {
        const all = [...row];
        for (const e of mir.exprs) all.push(value(e, all));
        addRow(out, all, count);
        break;
      }
      case 'Filter': {
        const all: ScalarExpr = { kind: 'and', args: mir.predicates, type: mir.predicates[0].type };
        if (value(all, row) === true) addRow(out, row, count);
        break;
      }
      case 'FlatMap': {
        const args = mir.args.map((a) => value(a, row));
        flatMap(mir, row, args, context, (r, n) => addRow(out, r, n * count));
        break;
      }
      case 'Negate':
        addRow(out, row, -count);
        break;
      case 'Threshold':
        if (count > 0) addRow(out, row, count);
        break;
    }
  return out;
}

/** Columns become literals, and the expression a constant. */
export function evalScalar(e: ScalarExpr, row: Row, context: EvalContext): Datum {
  const typed = substitute(e, (c) => ({ kind: 'literal', value: row[c], type: columnType(e, c) }));
  const value = evalConstant(typed, context);
  if (isEvalError(value)) throw sqlErrorOf(value.error);
  return value;
}
function columnType(e: ScalarExpr, index: number): SqlType {
  if (e.kind === 'column' && e.index === index) return e.type;
  const args = 'args' in e ? e.args : [];
  for (const a of args) if (reads(a, index)) return columnType(a, index);
  assert(false, `column ${index} is read`);
  return e.type;
}
const reads = (e: ScalarExpr, index: number): boolean =>
  e.kind === 'column' ? e.index === index : 'args' in e && e.args.some((a) => reads(a, index));

function flatMap(
  mir: Extract<Mir, { op: 'FlatMap' }>,
  row: Row,
  args: readonly Datum[],
  context: EvalContext,
  emit: (row: Row, count: number) => void,
): void {
  const def = tableFunctionById(mir.func);
  if (def.strict && args.includes(null)) return;
  const types = mir.args.map((a) => a.type);
  const columns = def.columns(types);
  let n = 0n;
  for (const chunk of def.rows(args, types, context))
    for (let i = 0; i < chunk.length; i++) {
      const values = chunk.columns.map((c, k) => datumAt(columns[k].type, c, i));
      n += 1n;
      const count = def.multiplies ? Number(args[0]) : 1;
      emit([...row, ...values, ...(mir.ordinality ? [n] : [])], count);
    }
}

function interpretJoin(
  mir: Extract<Mir, { op: 'Join' }>,
  inputs: readonly Bag[],
  value: (e: ScalarExpr, row: Row) => Datum,
): Bag {
  const out: Bag = new Map();
  const extend = (i: number, row: Row, count: number): void => {
    if (i === inputs.length) {
      const equal = mir.equivalences.every(
        (cls) => new Set(cls.map((e) => datumKey(value(e, row)))).size === 1,
      );
      if (equal) addRow(out, row, count);
      return;
    }
    for (const next of inputs[i].values()) extend(i + 1, [...row, ...next.row], count * next.count);
  };
  extend(0, [], 1);
  return out;
}

function interpretReduce(
  mir: Extract<Mir, { op: 'Reduce' }>,
  input: Bag,
  value: (e: ScalarExpr, row: Row) => Datum,
): Bag {
  const groups = new Map<string, { key: Row; rows: Row[] }>();
  for (const { row, count } of input.values()) {
    const key = mir.key.map((e) => value(e, row));
    const group = groups.get(rowKey(key)) ?? { key, rows: [] };
    groups.set(rowKey(key), group);
    assert(count > 0, 'a reduction sees no negative multiplicity');
    for (let i = 0; i < count; i++) group.rows.push(row);
  }
  const out: Bag = new Map();
  for (const { key, rows } of groups.values())
    addRow(out, [...key, ...mir.aggregates.map((a) => aggregate(a, rows, value))], 1);
  return out;
}

function aggregate(a: AggregateExpr, rows: readonly Row[], value: (e: ScalarExpr, row: Row) => Datum): Datum {
  const def = aggregateById(a.func);
  let calls = rows.map((row) => ({
    args: a.args.map((e) => value(e, row)),
    order: a.orderBy.map((o) => value(o.expr, row)),
  }));
  if (def.skipsNull && a.args.length > 0) calls = calls.filter((c) => c.args[0] !== null);
  if (a.distinct) calls = [...new Map(calls.map((c) => [rowKey(c.args), c])).values()];
  const byOrder = compareBy(
    a.orderBy.map((o, i) => ({ column: i, desc: o.desc, nullsFirst: o.nullsFirst })),
    a.orderBy.map((o) => o.expr.type),
  );
  calls.sort((x, y) => byOrder(x.order, y.order));
  const { plan } = def;
  assert(plan.kind !== 'composite', 'composite aggregates are taken apart by decorrelation');
  if (plan.kind === 'accumulable')
    return accumulate(
      plan.state,
      calls.map((c) => c.args[0]),
      a.type,
    );
  const argTypes = a.args.map((e) => e.type);
  if (plan.kind === 'hierarchical') {
    const compare = datumComparator(argTypes[0]);
    const sign = plan.direction === 'min' ? 1 : -1;
    return calls
      .map((c) => c.args[0])
      .reduce<Datum>((best, v) => (best === null || sign * compare(v, best) < 0 ? v : best), null);
  }
  if (calls.length === 0 && def.nullable) return null;
  const columns = columnsOfRows(
    argTypes,
    calls.map((c) => c.args),
  );
  const indices = Int32Array.from(calls, (_, i) => i);
  return plan.finish({ length: calls.length, column: (k) => columns[k], indices, argTypes, type: a.type });
}

function accumulate(state: AccumulatorState, values: readonly Datum[], type: SqlType): Datum {
  const known = values.filter((v) => v !== null);
  if (state === 'count_star') return BigInt(values.length);
  if (state === 'count') return BigInt(known.length);
  if (known.length === 0) return null;
  if (state === 'bool_and') return known.every((v) => v === true);
  if (state === 'bool_or') return known.includes(true);
  if (state === 'sum_float') return known.reduce<number>((s, v) => s + (v as number), 0);
  if (state === 'sum_numeric') return known.reduce((s, v) => addNumeric(s as Numeric, v as Numeric));
  assert(state === 'sum_int', `the interpreter knows the sum ${state}`);
  const sum = known.reduce<bigint>((s, v) => s + BigInt(v as number | bigint), 0n);
  return type.name === 'numeric' ? numericFromBig(sum) : kindOf(type) === 'i64' ? sum : Number(sum);
}

/** Orders rows as ORDER BY does; ties by the whole row, so that results are the same each time. */
function compareBy(keys: readonly OrderKey[], types: readonly SqlType[]): (a: Row, b: Row) => number {
  const compare = keys.map((k) => datumComparator(types[k.column]));
  return (a, b) => {
    for (let i = 0; i < keys.length; i++) {
      const { column, desc, nullsFirst } = keys[i];
      const [x, y] = [a[column], b[column]];
      if (x === null || y === null) {
        if (x === y) continue;
        return (x === null) === nullsFirst ? -1 : 1;
      }
      const c = compare[i](x, y);
      if (c !== 0) return desc ? -c : c;
    }
    return 0;
  };
}

function interpretTopK(mir: Extract<Mir, { op: 'TopK' }>, input: Bag): Bag {
  const types = columnsOf(mir.input).map((c) => c.type);
  const order = compareBy(mir.orderBy, types);
  const groups = new Map<string, Row[]>();
  for (const { row, count } of input.values()) {
    const key = rowKey(mir.groupKey.map((c) => row[c]));
    const rows = groups.get(key) ?? [];
    groups.set(key, rows);
    for (let i = 0; i < count; i++) rows.push(row);
  }
  const out: Bag = new Map();
  for (const rows of groups.values()) {
    rows.sort((a, b) => order(a, b) || (rowKey(a) < rowKey(b) ? -1 : 1));
    const end = mir.limit === null ? rows.length : mir.offset + mir.limit;
    for (const row of rows.slice(mir.offset, end)) addRow(out, row, 1);
  }
  return out;
}

/** Rows of a bag in the order of a finishing, cut and projected. */
export function finish(bag: Bag, finishing: RowSetFinishing, types: readonly SqlType[]): Row[] {
  const rows = [...bag.values()].flatMap(({ row, count }) => {
    assert(count > 0, 'a result has no negative multiplicity');
    return new Array<Row>(count).fill(row);
  });
  rows.sort(compareBy(finishing.orderBy, types));
  const end = finishing.limit === null ? rows.length : finishing.offset + finishing.limit;
  return rows.slice(finishing.offset, end).map((row) => finishing.project.map((c) => row[c]));
}
