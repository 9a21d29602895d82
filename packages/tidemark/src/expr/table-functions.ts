/**
 * Functions that yield rows. Rows come in chunks of at most `CHUNK_ROWS`, made when they are asked for: the caller
 * stops between chunks when its fuel is spent.
 */
import { SqlError } from '../base/error.ts';
import type { SqlArray, SqlList } from '../repr/array.ts';
import { type Column, ColumnBuilder } from '../repr/column.ts';
import { isInfinite } from '../repr/datetime.ts';
import { addToTimestamp, addToTimestamptz } from '../repr/datetime-functions.ts';
import { pushDatum } from '../repr/datum.ts';
import type { Interval } from '../repr/interval.ts';
import { jsonElements, jsonEntries, jsonScalarText, jsonTypeof } from '../repr/json.ts';
import { addNumeric, compareNumeric, type Numeric, numericFromInt } from '../repr/numeric.ts';
import { type Datum, kindOf, type Row, type SqlType, type } from '../repr/types.ts';
import { zoneOf } from './context.ts';
import { splitText } from './functions/arrays.ts';
import { regexpMatches, regexpSplit } from './functions/pattern.ts';
import {
  CHUNK_ROWS,
  type EvalContext,
  type Pattern,
  type RowsChunk,
  type TableFunctionColumn,
  type TableFunctionDef,
} from './functions.ts';
import { compileRegex } from './text-match.ts';

const col = (name: string, t: SqlType, nullable = false): TableFunctionColumn => ({
  name,
  type: t,
  nullable,
});

/** Datum rows as chunks of columns. */
function* chunks(types: readonly SqlType[], rows: Iterable<Row>): Generator<RowsChunk> {
  let builders: ColumnBuilder[] = [];
  let n = 0;
  const fresh = (): ColumnBuilder[] => types.map((t) => new ColumnBuilder(kindOf(t)));
  for (const r of rows) {
    if (n === 0) builders = fresh();
    types.forEach((t, k) => {
      pushDatum(t, builders[k]!, r[k]!);
    });
    if (++n === CHUNK_ROWS) {
      yield { length: n, columns: builders.map((b) => b.finish()) };
      n = 0;
    }
  }
  if (n > 0) yield { length: n, columns: builders.map((b) => b.finish()) };
}

type RowSource = (
  args: readonly Datum[],
  argTypes: readonly SqlType[],
  context: EvalContext,
) => Iterable<Row>;

interface Options {
  readonly fallible?: boolean;
  readonly strict?: boolean;
  readonly variadic?: Pattern;
  readonly stable?: boolean;
}

function fromRows(
  id: string,
  name: string,
  args: readonly Pattern[],
  columns: (args: readonly SqlType[]) => readonly TableFunctionColumn[],
  rows: RowSource,
  doc: string,
  options: Options = {},
): TableFunctionDef {
  return {
    id,
    name,
    args,
    columns,
    strict: options.strict ?? true,
    volatility: options.stable === true ? 'stable' : 'immutable',
    fallible: options.fallible ?? false,
    rows: (values, argTypes, context) =>
      chunks(
        columns(argTypes).map((c) => c.type),
        rows(values, argTypes, context),
      ),
    doc,
    ...(options.variadic !== undefined && { variadic: options.variadic }),
  };
}

const zeroStep = (): SqlError => new SqlError('invalid_parameter_value', 'step size cannot equal zero');

/** Integers as typed arrays, without a datum a row. */
function* integerSeries(
  kind: 'i32' | 'i64',
  start: bigint,
  stop: bigint,
  step: bigint,
): Generator<RowsChunk> {
  if (step === 0n) throw zeroStep();
  const span = step > 0n ? stop - start : start - stop;
  if (span < 0n) return;
  const size = step > 0n ? step : -step;
  let left = span / size + 1n;
  let at = start;
  while (left > 0n) {
    const n = left < BigInt(CHUNK_ROWS) ? Number(left) : CHUNK_ROWS;
    yield { length: n, columns: [series(kind, at, step, n)] };
    at += step * BigInt(n);
    left -= BigInt(n);
  }
}

function series(kind: 'i32' | 'i64', start: bigint, step: bigint, n: number): Column {
  if (kind === 'i32') {
    const values = new Int32Array(n);
    const from = Number(start);
    const by = Number(step);
    for (let i = 0; i < n; i++) values[i] = from + i * by;
    return { kind, length: n, validity: null, values, offsets: new Int32Array(0) };
  }
  const b = new ColumnBuilder('i64', n);
  for (let i = 0, v = start; i < n; i++, v += step) b.pushI64(v);
  return b.finish();
}

const integers: TableFunctionDef[] = (['int4', 'int8'] as const).flatMap((t) =>
  [2, 3].map(
    (arity): TableFunctionDef => ({
      id: `generate_series_${t}_${arity}`,
      name: 'generate_series',
      args: new Array<Pattern>(arity).fill(t),
      columns: () => [col('generate_series', type(t))],
      strict: true,
      volatility: 'immutable',
      fallible: arity === 3,
      rows: ([a, b, s]) =>
        integerSeries(
          t === 'int4' ? 'i32' : 'i64',
          BigInt(a as number | bigint),
          BigInt(b as number | bigint),
          BigInt((s as number | bigint | undefined) ?? 1),
        ),
      doc: 'Numbers from a start to a stop.',
    }),
  ),
);

function* numericSeries(start: Numeric, stop: Numeric, step: Numeric): Generator<Row> {
  for (const [n, what] of [
    [start, 'start'],
    [stop, 'stop'],
    [step, 'step size'],
  ] as const)
    if (!n.finite)
      throw new SqlError(
        'invalid_parameter_value',
        `${what}${what === 'step size' ? '' : ' value'} cannot be ${n.isNaN ? 'NaN' : 'infinity'}`,
      );
  if (step.sign === 0) throw zeroStep();
  for (
    let v = start;
    step.sign > 0 ? compareNumeric(v, stop) <= 0 : compareNumeric(v, stop) >= 0;
    v = addNumeric(v, step)
  )
    yield [v];
}

function* instantSeries(
  start: bigint,
  stop: bigint,
  step: Interval,
  add: (t: bigint, v: Interval) => bigint,
): Generator<Row> {
  const size = step.months * 30 * 86400e6 + step.days * 86400e6 + step.micros;
  if (size === 0) throw zeroStep();
  if (isInfinite(start)) return;
  for (let t = start; size > 0 ? t <= stop : t >= stop; t = add(t, step)) yield [t];
}

const instants: TableFunctionDef[] = (['timestamp', 'timestamptz'] as const).map((t) =>
  fromRows(
    `generate_series_${t}`,
    'generate_series',
    [t, t, 'interval'],
    () => [col('generate_series', type(t))],
    ([a, b, s], _, context) => {
      if (t === 'timestamp') return instantSeries(a as bigint, b as bigint, s as Interval, addToTimestamp);
      return instantSeries(a as bigint, b as bigint, s as Interval, (v, i) =>
        addToTimestamptz(v, i, zoneOf(context)),
      );
    },
    'Instants from a start to a stop.',
    { fallible: true, stable: t === 'timestamptz' },
  ),
);

const element = (args: readonly SqlType[]): SqlType => args[0]!.elem!;
const TEXT = type('text');
const JSONB = type('jsonb');
const INT4 = type('int4');

function elementsOf(text: string): string[] {
  const kind = jsonTypeof(text);
  if (kind === 'array') return jsonElements(text);
  throw new SqlError(
    'invalid_parameter_value',
    kind === 'object' ? 'cannot extract elements from an object' : 'cannot extract elements from a scalar',
  );
}

function entriesOf(text: string, name: string): [string, string][] {
  if (jsonTypeof(text) === 'object') return jsonEntries(text);
  throw new SqlError(
    'invalid_parameter_value',
    name === 'jsonb_object_keys'
      ? `cannot call jsonb_object_keys on ${jsonTypeof(text) === 'array' ? 'an array' : 'a scalar'}`
      : `cannot call ${name} on a non-object`,
  );
}

const FAILS: Options = { fallible: true };

export const TABLE_FUNCTIONS: readonly TableFunctionDef[] = [
  ...integers,
  ...[2, 3].map((arity) =>
    fromRows(
      `generate_series_numeric_${arity}`,
      'generate_series',
      new Array<Pattern>(arity).fill('numeric'),
      () => [col('generate_series', type('numeric'))],
      ([a, b, s]) =>
        numericSeries(a as Numeric, b as Numeric, (s as Numeric | undefined) ?? numericFromInt(1)),
      'Numbers from a start to a stop.',
      FAILS,
    ),
  ),
  ...instants,
  fromRows(
    'unnest_array',
    'unnest',
    ['anyarray'],
    (args) => [col('unnest', element(args), true)],
    ([a]) => (a as SqlArray).items.map((x) => [x]),
    'The elements of an array as rows.',
  ),
  fromRows(
    'unnest_list',
    'unnest',
    ['anylist'],
    (args) => [col('unnest', element(args), true)],
    ([l]) => (l as SqlList).items.map((x) => [x]),
    'The elements of a list as rows.',
  ),
  fromRows(
    'generate_subscripts',
    'generate_subscripts',
    ['anyarray', 'int4'],
    () => [col('generate_subscripts', INT4)],
    function* ([array, d]) {
      const a = array as SqlArray;
      const k = (d as number) - 1;
      for (let i = 0; i < (a.dims[k] ?? 0); i++) yield [a.lowers[k]! + i];
    },
    'The subscripts of a dimension.',
  ),
  fromRows(
    'jsonb_array_elements',
    'jsonb_array_elements',
    ['jsonb'],
    () => [col('value', JSONB)],
    ([j]) => elementsOf(j as string).map((e) => [e]),
    'The elements of a jsonb array.',
    FAILS,
  ),
  fromRows(
    'jsonb_array_elements_text',
    'jsonb_array_elements_text',
    ['jsonb'],
    () => [col('value', TEXT, true)],
    ([j]) => elementsOf(j as string).map((e) => [jsonScalarText(e)]),
    'The elements of a jsonb array, as text.',
    FAILS,
  ),
  fromRows(
    'jsonb_each',
    'jsonb_each',
    ['jsonb'],
    () => [col('key', TEXT), col('value', JSONB)],
    ([j]) => entriesOf(j as string, 'jsonb_each'),
    'Keys and values of a jsonb object.',
    FAILS,
  ),
  fromRows(
    'jsonb_each_text',
    'jsonb_each_text',
    ['jsonb'],
    () => [col('key', TEXT), col('value', TEXT, true)],
    ([j]) => entriesOf(j as string, 'jsonb_each_text').map(([k, v]) => [k, jsonScalarText(v)]),
    'Keys and values of a jsonb object, as text.',
    FAILS,
  ),
  fromRows(
    'jsonb_object_keys',
    'jsonb_object_keys',
    ['jsonb'],
    () => [col('jsonb_object_keys', TEXT)],
    ([j]) => entriesOf(j as string, 'jsonb_object_keys').map(([k]) => [k]),
    'Keys of a jsonb object.',
    FAILS,
  ),
  ...[2, 3].map((arity) =>
    fromRows(
      `regexp_matches_${arity}`,
      'regexp_matches',
      new Array<Pattern>(arity).fill('text'),
      () => [col('regexp_matches', { name: 'array', elem: TEXT })],
      ([s, p, f]) => regexpMatches(s as string, p as string, (f as string | undefined) ?? '').map((m) => [m]),
      'Groups of the matches of a regular expression.',
      FAILS,
    ),
  ),
  ...[2, 3].map((arity) =>
    fromRows(
      `regexp_split_to_table_${arity}`,
      'regexp_split_to_table',
      new Array<Pattern>(arity).fill('text'),
      () => [col('regexp_split_to_table', TEXT)],
      ([s, p, f]) => regexpSplit(s as string, p as string, (f as string | undefined) ?? '').map((x) => [x]),
      'The text between matches of a regular expression.',
      FAILS,
    ),
  ),
  fromRows(
    'regexp_extract',
    'regexp_extract',
    ['text', 'text'],
    () => [col('column1', TEXT, true)],
    ([p, s]) => {
      const m = compileRegex(p as string).program.exec(s as string) as (string | undefined)[] | null;
      return m === null ? [] : [[m[1] ?? m[0] ?? null]];
    },
    'The first group of a regular expression’s match.',
    FAILS,
  ),
  ...[2, 3].map((arity) =>
    fromRows(
      `string_to_table_${arity}`,
      'string_to_table',
      new Array<Pattern>(arity).fill('text'),
      () => [col('string_to_table', TEXT, true)],
      ([s, d, n]) =>
        s === null
          ? []
          : splitText(s as string, d as string | null, (n as string | null | undefined) ?? null).map((x) => [
              x,
            ]),
      'The parts between delimiters as rows.',
      { strict: false },
    ),
  ),
  {
    id: 'repeat_row',
    name: 'repeat_row',
    args: ['int8'],
    columns: () => [],
    strict: true,
    volatility: 'immutable',
    fallible: false,
    multiplies: true,
    rows: () => [{ length: 1, columns: [] }],
    doc: 'A row without columns, so many times; a negative number takes rows away.',
  },
  fromRows(
    '_pg_expandarray',
    '_pg_expandarray',
    ['anyarray'],
    (args) => [col('x', element(args), true), col('n', INT4)],
    ([a]) => (a as SqlArray).items.map((x, i) => [x, i + 1]),
    'The elements of an array with their numbers.',
  ),
  fromRows(
    'pg_partition_ancestors',
    'pg_partition_ancestors',
    ['regclass'],
    () => [col('relid', type('regclass'))],
    () => [],
    'The tables of which a table is a partition: there are none.',
  ),
  fromRows(
    'pg_options_to_table',
    'pg_options_to_table',
    ['text[]'],
    () => [col('option_name', TEXT), col('option_value', TEXT, true)],
    ([a]) =>
      (a as SqlArray).items.map((x) => {
        const [k, ...v] = String(x).split('=');
        return [k!, v.length === 0 ? null : v.join('=')];
      }),
    'Options of the form name=value.',
  ),
];
