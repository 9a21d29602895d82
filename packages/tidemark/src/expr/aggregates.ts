/**
 * The aggregates. Counts, sums and boolean aggregates accumulate; min and max keep a hierarchy; those that show
 * their rows are finished from all of them; averages and deviations are expressions over sums and counts.
 */
import { SqlError } from '../base/error.ts';
import { SqlArray, SqlList } from '../repr/array.ts';
import { datumAt } from '../repr/datum.ts';
import { jsonArrayText, jsonObjectText } from '../repr/json.ts';
import { numericFromInt } from '../repr/numeric.ts';
import { arrayOf, type Datum, listOf, type SqlType, type TypeName, type } from '../repr/types.ts';
import { ORDERED } from './functions/comparison.ts';
import { jsonKey, jsonOf } from './functions/jsonb.ts';
import type {
  AccumulatorState,
  AggregateCall,
  AggregateDef,
  BasicFinish,
  CompositeAggregate,
  EvalContext,
  GroupRows,
  Pattern,
  ResultType,
} from './functions.ts';
import type { Call, Literal, ScalarExpr, Special } from './scalar.ts';

const accumulable = (
  id: string,
  name: string,
  args: readonly Pattern[],
  returns: ResultType,
  state: AccumulatorState,
  doc: string,
): AggregateDef => ({
  id,
  name,
  args,
  returns,
  skipsNull: state !== 'count_star',
  ordered: false,
  nullable: state !== 'count' && state !== 'count_star',
  plan: { kind: 'accumulable', state },
  doc,
});

/** Type of the argument, of the sum, and how it is kept. */
const SUMS: readonly (readonly [arg: TypeName & Pattern, sum: TypeName & Pattern, AccumulatorState])[] = [
  ['int2', 'int8', 'sum_int'],
  ['int4', 'int8', 'sum_int'],
  ['int8', 'numeric', 'sum_int'],
  ['uint2', 'uint8', 'sum_int'],
  ['uint4', 'uint8', 'sum_int'],
  ['uint8', 'numeric', 'sum_int'],
  ['float4', 'float4', 'sum_float'],
  ['float8', 'float8', 'sum_float'],
  ['numeric', 'numeric', 'sum_numeric'],
  ['interval', 'interval', 'sum_interval'],
];

// ---- Composites

const NUMERIC = type('numeric');
const FLOAT8 = type('float8');
const INT8 = type('int8');

const column = (index: number, t: SqlType): ScalarExpr => ({ kind: 'column', index, type: t });
const call = (func: string, args: readonly ScalarExpr[], t: SqlType): Call => ({
  kind: 'call',
  func,
  args,
  type: t,
});
const literal = (value: Datum, t: SqlType): Literal => ({ kind: 'literal', value, type: t });
const nullOf = (t: SqlType): Literal => literal(null, t);
const cast = (e: ScalarExpr, t: SqlType): ScalarExpr =>
  e.type.name === t.name ? e : call(`cast_${e.type.name}_${t.name}`, [e], t);
const when = (condition: ScalarExpr, then: ScalarExpr, otherwise: ScalarExpr): Special => ({
  kind: 'if',
  args: [condition, then, otherwise],
  type: then.type,
});
const isZero = (e: ScalarExpr): ScalarExpr => call('eq_int8_int8', [e, literal(0n, INT8)], type('bool'));

/** sum / count, NULL for no values. */
function average(sumId: string, sumType: SqlType, out: SqlType): (c: AggregateCall) => CompositeAggregate {
  return ({ args }) => {
    const sum = column(0, sumType);
    const count = column(1, INT8);
    const final =
      out.name === 'interval'
        ? call('div_interval_float8', [sum, cast(count, FLOAT8)], out)
        : call(`div_${out.name}_${out.name}`, [cast(sum, out), cast(count, out)], out);
    return {
      aggregates: [
        { func: sumId, args, type: sumType },
        { func: 'count', args, type: INT8 },
      ],
      final: when(isZero(count), nullOf(out), final),
    };
  };
}

/** Of a numeric with as many decimals as the variance has, which is PostgreSQL's choice. */
function squareRoot(e: ScalarExpr): ScalarExpr {
  const t = e.type;
  const root = call(`sqrt_${t.name}`, [e], t);
  if (t.name !== 'numeric') return root;
  const int4 = type('int4');
  return call('round_numeric_int4', [root, call('scale_numeric', [e], int4)], t);
}

/** Sums of x and x², and the count; the argument is cast to the type that the sums are kept in. */
function moments(
  wide: SqlType,
  population: boolean,
  root: boolean,
): (c: AggregateCall) => CompositeAggregate {
  const t = wide.name;
  return ({ args }) => {
    const x = cast(args[0]!, wide);
    const sum = column(0, wide);
    const squares = column(1, wide);
    const count = column(2, INT8);
    const n = cast(count, wide);
    const op = (f: string, a: ScalarExpr, b: ScalarExpr): ScalarExpr => call(`${f}_${t}_${t}`, [a, b], wide);
    const one = literal(t === 'numeric' ? numericFromInt(1) : 1, wide);
    const zero = literal(t === 'numeric' ? numericFromInt(0) : 0, wide);
    const numerator = op('sub', op('mul', n, squares), op('mul', sum, sum));
    const divisor = population ? op('mul', n, n) : op('mul', n, op('sub', n, one));
    // Rounding may leave a sum of squares a hair below zero.
    const spread = call('greatest', [op('div', numerator, divisor), zero], wide);
    const final = root ? squareRoot(spread) : spread;
    const few = call('le_int8_int8', [count, literal(population ? 0n : 1n, INT8)], type('bool'));
    return {
      aggregates: [
        { func: `sum_${t}`, args: [x], type: wide },
        // Distinct by the value, not by its square.
        { func: `sum_${t}`, args: [op('mul', x, x), x], type: wide },
        { func: 'count', args, type: INT8 },
      ],
      final: when(few, nullOf(wide), final),
    };
  };
}

const composite = (
  id: string,
  name: string,
  arg: Pattern,
  returns: Pattern,
  lower: (c: AggregateCall) => CompositeAggregate,
  doc: string,
): AggregateDef => ({
  id,
  name,
  args: [arg],
  returns,
  skipsNull: true,
  ordered: false,
  nullable: true,
  plan: { kind: 'composite', lower },
  doc,
});

/** What an average is divided in. */
const averageType = (arg: TypeName, sum: TypeName): TypeName =>
  arg === 'float4' || arg === 'float8' ? 'float8' : sum === 'interval' ? 'interval' : 'numeric';

const averages: AggregateDef[] = SUMS.map(([arg, sum]) => {
  const out = averageType(arg, sum);
  // float4 averages are kept in double precision.
  const lower =
    arg === 'float4'
      ? (c: AggregateCall) =>
          average('sum_float8', FLOAT8, FLOAT8)({ ...c, args: [cast(c.args[0]!, FLOAT8)] })
      : average(`sum_${arg}`, type(sum), type(out));
  return composite(`avg_${arg}`, 'avg', arg, out as Pattern, lower, 'Arithmetic mean.');
});

const DEVIATIONS = [
  ['variance', false, false, 'Sample variance.'],
  ['var_samp', false, false, 'Sample variance.'],
  ['var_pop', true, false, 'Population variance.'],
  ['stddev', false, true, 'Sample standard deviation.'],
  ['stddev_samp', false, true, 'Sample standard deviation.'],
  ['stddev_pop', true, true, 'Population standard deviation.'],
] as const;

const deviations: AggregateDef[] = DEVIATIONS.flatMap(([name, population, root, doc]) =>
  (['int2', 'int4', 'int8', 'numeric', 'float4', 'float8'] as const).map((arg) => {
    const wide = arg === 'float4' || arg === 'float8' ? FLOAT8 : NUMERIC;
    return composite(`${name}_${arg}`, name, arg, wide.name as Pattern, moments(wide, population, root), doc);
  }),
);

// ---- From all rows

const basic = (
  id: string,
  name: string,
  args: readonly Pattern[],
  returns: ResultType,
  skipsNull: boolean,
  finish: BasicFinish,
  doc: string,
): AggregateDef => ({
  id,
  name,
  args,
  returns,
  skipsNull,
  ordered: true,
  nullable: true,
  plan: { kind: 'basic', finish },
  doc,
});

function valuesOf(rows: GroupRows, k: number): Datum[] {
  const c = rows.column(k);
  const t = rows.argTypes[k]!;
  return Array.from({ length: rows.length }, (_, i) => datumAt(t, c, rows.indices[i]!));
}

/** Aggregates run in maintained dataflows, whose time zone is UTC. */
const UTC: EvalContext = { timeZone: 'UTC' };

const arrayAgg: BasicFinish = (rows) => {
  const items = valuesOf(rows, 0);
  if (items.length === 0) return null;
  if (rows.argTypes[0]!.name !== 'array') return SqlArray.of(items);
  const parts = items as (SqlArray | null)[];
  const first = parts[0] ?? null;
  if (
    first === null ||
    first.dims.length === 0 ||
    parts.some((p) => p === null || p.dims.join() !== first.dims.join())
  )
    throw new SqlError(
      'array_subscript_error',
      parts.some((p) => p === null)
        ? 'cannot accumulate null arrays'
        : first?.dims.length === 0
          ? 'cannot accumulate empty arrays'
          : 'cannot accumulate arrays of different dimensionality',
    );
  const dims = [parts.length, ...first.dims];
  return new SqlArray(
    dims,
    dims.map(() => 1),
    parts.flatMap((p) => p!.items),
  );
};

/** The separator before a value is that value's own; the first has none. */
const stringAgg: BasicFinish = (rows) => {
  const values = valuesOf(rows, 0) as (string | null)[];
  const separators = valuesOf(rows, 1) as (string | null)[];
  let out: string | null = null;
  values.forEach((v, i) => {
    if (v === null) return;
    out = out === null ? v : out + (separators[i] ?? '') + v;
  });
  return out;
};

const jsonObjectAgg: BasicFinish = (rows) => {
  if (rows.length === 0) return null;
  const keys = valuesOf(rows, 0);
  const values = valuesOf(rows, 1);
  return jsonObjectText(
    keys.map((k, i) => {
      if (k === null) throw new SqlError('null_value_not_allowed', 'field name must not be null');
      return [jsonKey(k, rows.argTypes[0]!, UTC, 1), jsonOf(values[i]!, rows.argTypes[1]!, UTC)];
    }),
  );
};

const idOf = (p: Pattern): string => p.replace(/^any/, '');

export const AGGREGATES: readonly AggregateDef[] = [
  accumulable('count_star', 'count', [], 'int8', 'count_star', 'Number of rows.'),
  accumulable('count', 'count', ['any'], 'int8', 'count', 'Number of values that are not NULL.'),
  ...SUMS.map(([arg, sum, state]) =>
    accumulable(`sum_${arg}`, 'sum', [arg], sum, state, 'Sum of the values.'),
  ),
  ...(['bool_and', 'every'] as const).map((name) =>
    accumulable(name, name, ['bool'], 'bool', 'bool_and', 'Whether all are true.'),
  ),
  accumulable('bool_or', 'bool_or', ['bool'], 'bool', 'bool_or', 'Whether any is true.'),
  ...(['min', 'max'] as const).flatMap((direction) =>
    ORDERED.filter((p) => p !== 'record' && p !== 'jsonb').map(
      (p): AggregateDef => ({
        id: `${direction}_${idOf(p)}`,
        name: direction,
        args: [p],
        returns: p,
        skipsNull: true,
        ordered: false,
        nullable: true,
        plan: { kind: 'hierarchical', direction },
        doc: direction === 'min' ? 'The least value.' : 'The greatest value.',
      }),
    ),
  ),
  ...averages,
  ...deviations,
  basic(
    'array_agg',
    'array_agg',
    ['any'],
    (args) => (args[0]!.name === 'array' ? args[0]! : arrayOf(args[0]!)),
    false,
    arrayAgg,
    'An array of the values.',
  ),
  basic(
    'list_agg',
    'list_agg',
    ['any'],
    (args) => listOf(args[0]!),
    false,
    (rows) => (rows.length === 0 ? null : new SqlList(valuesOf(rows, 0))),
    'A list of the values.',
  ),
  basic('string_agg', 'string_agg', ['text', 'text'], 'text', true, stringAgg, 'The strings joined.'),
  basic(
    'jsonb_agg',
    'jsonb_agg',
    ['any'],
    'jsonb',
    false,
    (rows) =>
      rows.length === 0
        ? null
        : jsonArrayText(valuesOf(rows, 0).map((d) => jsonOf(d, rows.argTypes[0]!, UTC))),
    'A jsonb array of the values.',
  ),
  basic(
    'jsonb_object_agg',
    'jsonb_object_agg',
    ['any', 'any'],
    'jsonb',
    false,
    jsonObjectAgg,
    'A jsonb object of keys and values.',
  ),
];
