/** Arithmetic of dates, times, instants, intervals and mz_timestamp; the clocks. */
import { SqlError, unsupported } from '../../base/error.ts';
import {
  DATE_INFINITY,
  DATE_NEG_INFINITY,
  isInfinite,
  localMoment,
  type Moment,
  timestamptzToLocal,
  toMoment,
} from '../../repr/datetime.ts';
import {
  addDays,
  addToTime,
  addToTimestamp,
  addToTimestamptz,
  age,
  dateAtTime,
  diffTimestamps,
  midnight,
} from '../../repr/datetime-functions.ts';
import {
  addInterval,
  divInterval,
  type Interval,
  justifyDays,
  justifyHours,
  justifyInterval,
  MICROS_PER_DAY,
  makeInterval,
  mulInterval,
  negInterval,
  subInterval,
} from '../../repr/interval.ts';
import { zoneOf } from '../context.ts';
import type { EvalContext, FunctionDef, Pattern } from '../functions.ts';
import type { RowCall, RowFunction } from '../kernels/per-row.ts';
import { FAILS, type Options, rowFunction, STABLE_FAILS } from './define.ts';

const NOW: Options = { fallible: true, volatility: 'contextual' };

/** Operators in one literal a row: id, symbol, left, right, result, function. */
const op = (
  id: string,
  symbol: string,
  args: readonly Pattern[],
  returns: Pattern,
  f: RowFunction,
  options: Options = FAILS,
): FunctionDef => rowFunction(id, symbol, args, returns, f, DOC[symbol]!, options);
const DOC: Readonly<Record<string, string>> = {
  '+': 'Sum.',
  '-': 'Difference, or negation.',
  '*': 'Product.',
  '/': 'Quotient.',
};

const DATES: readonly FunctionDef[] = [
  op('add_date_int4', '+', ['date', 'int4'], 'date', ([d, n]) => addDays(d, n)),
  op('add_int4_date', '+', ['int4', 'date'], 'date', ([n, d]) => addDays(d, n)),
  op('sub_date_int4', '-', ['date', 'int4'], 'date', ([d, n]) => addDays(d, -n)),
  op('sub_date_date', '-', ['date', 'date'], 'int4', ([a, b]) => {
    if ([a, b].some((d) => d === DATE_INFINITY || d === DATE_NEG_INFINITY))
      throw new SqlError('datetime_field_overflow', 'cannot subtract infinite dates');
    return a - b;
  }),
  op('add_date_interval', '+', ['date', 'interval'], 'timestamp', ([d, v]) => addToTimestamp(midnight(d), v)),
  op('add_interval_date', '+', ['interval', 'date'], 'timestamp', ([v, d]) => addToTimestamp(midnight(d), v)),
  op('sub_date_interval', '-', ['date', 'interval'], 'timestamp', ([d, v]) =>
    addToTimestamp(midnight(d), negInterval(v)),
  ),
  op('add_date_time', '+', ['date', 'time'], 'timestamp', ([d, t]) => dateAtTime(d, Number(t))),
  op('add_time_date', '+', ['time', 'date'], 'timestamp', ([t, d]) => dateAtTime(d, Number(t))),
  op('add_time_interval', '+', ['time', 'interval'], 'time', ([t, v]) => BigInt(addToTime(Number(t), v))),
  op('add_interval_time', '+', ['interval', 'time'], 'time', ([v, t]) => BigInt(addToTime(Number(t), v))),
  op('sub_time_interval', '-', ['time', 'interval'], 'time', ([t, v]) =>
    BigInt(addToTime(Number(t), negInterval(v))),
  ),
  op('sub_time_time', '-', ['time', 'time'], 'interval', ([a, b]) => makeInterval(0, 0, Number(a - b))),
];

const INSTANTS: readonly FunctionDef[] = [
  op('add_timestamp_interval', '+', ['timestamp', 'interval'], 'timestamp', ([t, v]) => addToTimestamp(t, v)),
  op('add_interval_timestamp', '+', ['interval', 'timestamp'], 'timestamp', ([v, t]) => addToTimestamp(t, v)),
  op('sub_timestamp_interval', '-', ['timestamp', 'interval'], 'timestamp', ([t, v]) =>
    addToTimestamp(t, negInterval(v)),
  ),
  op('sub_timestamp_timestamp', '-', ['timestamp', 'timestamp'], 'interval', ([a, b]) =>
    diffTimestamps(a, b),
  ),
  op(
    'add_timestamptz_interval',
    '+',
    ['timestamptz', 'interval'],
    'timestamptz',
    ([t, v], c) => addToTimestamptz(t, v, zoneOf(c.context)),
    STABLE_FAILS,
  ),
  op(
    'add_interval_timestamptz',
    '+',
    ['interval', 'timestamptz'],
    'timestamptz',
    ([v, t], c) => addToTimestamptz(t, v, zoneOf(c.context)),
    STABLE_FAILS,
  ),
  op(
    'sub_timestamptz_interval',
    '-',
    ['timestamptz', 'interval'],
    'timestamptz',
    ([t, v], c) => addToTimestamptz(t, negInterval(v), zoneOf(c.context)),
    STABLE_FAILS,
  ),
  op('sub_timestamptz_timestamptz', '-', ['timestamptz', 'timestamptz'], 'interval', ([a, b]) =>
    diffTimestamps(a, b),
  ),
];

const INTERVALS: readonly FunctionDef[] = [
  op('add_interval_interval', '+', ['interval', 'interval'], 'interval', ([a, b]) => addInterval(a, b)),
  op('sub_interval_interval', '-', ['interval', 'interval'], 'interval', ([a, b]) => subInterval(a, b)),
  op('neg_interval', '-', ['interval'], 'interval', ([v]) => negInterval(v)),
  op('mul_interval_float8', '*', ['interval', 'float8'], 'interval', ([v, x]) => mulInterval(v, x)),
  op('mul_float8_interval', '*', ['float8', 'interval'], 'interval', ([x, v]) => mulInterval(v, x)),
  op('div_interval_float8', '/', ['interval', 'float8'], 'interval', ([v, x]) => divInterval(v, x)),
  ...(
    [
      ['justify_hours', justifyHours, 'Spans of 24 hours as days.'],
      ['justify_days', justifyDays, 'Spans of 30 days as months.'],
      ['justify_interval', justifyInterval, 'Both, with one sign.'],
    ] as const
  ).map(([name, f, doc]) =>
    rowFunction(`${name}_interval`, name, ['interval'], 'interval', ([v]) => f(v), doc, FAILS),
  ),
];

const AGE_DOC = 'Years, months, days and time between two instants.';
function ageOf(a: bigint, b: bigint, moment: (t: bigint) => Moment): Interval {
  if (isInfinite(a) || isInfinite(b)) throw unsupported('infinite intervals');
  return age(moment(a), moment(b));
}

function nowOf(context: EvalContext, what: string): bigint {
  if (context.nowMicros === undefined)
    throw new SqlError('feature_not_supported', `${what} cannot be used in a maintained query`, {
      hint: 'Compare mz_now() with a column in WHERE to keep rows for a span of time.',
    });
  return context.nowMicros;
}

const today = (c: RowCall, what: string): number =>
  localMoment(nowOf(c.context, what), zoneOf(c.context)).days;

const clocks: FunctionDef[] = [
  ...['now', 'current_timestamp', 'transaction_timestamp', 'statement_timestamp', 'clock_timestamp'].map(
    (name) =>
      rowFunction(
        name,
        name,
        [],
        'timestamptz',
        (_, c) => nowOf(c.context, `${name}()`),
        'The time of the statement.',
        NOW,
      ),
  ),
  rowFunction(
    'localtimestamp',
    'localtimestamp',
    [],
    'timestamp',
    (_, c) => timestamptzToLocal(nowOf(c.context, 'localtimestamp'), zoneOf(c.context)),
    'The time of the statement on the clock of the session.',
    NOW,
  ),
  rowFunction('current_date', 'current_date', [], 'date', (_, c) => today(c, 'current_date'), 'Today.', NOW),
  rowFunction(
    'mz_now',
    'mz_now',
    [],
    'mz_timestamp',
    (_, c) => {
      if (c.context.mzNow === undefined)
        throw new SqlError(
          'feature_not_supported',
          'mz_now() may stand only in a comparison in WHERE or HAVING',
        );
      return c.context.mzNow;
    },
    'The logical time at which the query is evaluated.',
    NOW,
  ),
  rowFunction(
    'age_timestamptz',
    'age',
    ['timestamptz'],
    'interval',
    ([t], c) => age({ days: today(c, 'age()'), micros: 0 }, localMoment(t, zoneOf(c.context))),
    'Time between today and an instant.',
    NOW,
  ),
  rowFunction(
    'age_timestamp',
    'age',
    ['timestamp'],
    'interval',
    ([t], c) => age({ days: today(c, 'age()'), micros: 0 }, toMoment(t)),
    'Time between today and an instant.',
    NOW,
  ),
];

const MAX_MZ = Number.MAX_SAFE_INTEGER;
function mzShift(t: number, v: Interval, sign: 1 | -1): number {
  if (v.months !== 0)
    throw new SqlError('feature_not_supported', 'adding months or years to an mz_timestamp is not supported');
  const ms = t + (sign * (v.days * MICROS_PER_DAY + v.micros)) / 1000;
  const out = Math.trunc(ms);
  if (out < 0 || out > MAX_MZ) throw new SqlError('numeric_value_out_of_range', 'mz_timestamp out of range');
  return out;
}

const logical: FunctionDef[] = [
  op('add_mz_timestamp_interval', '+', ['mz_timestamp', 'interval'], 'mz_timestamp', ([t, v]) =>
    mzShift(t, v, 1),
  ),
  op('add_interval_mz_timestamp', '+', ['interval', 'mz_timestamp'], 'mz_timestamp', ([v, t]) =>
    mzShift(t, v, 1),
  ),
  op('sub_mz_timestamp_interval', '-', ['mz_timestamp', 'interval'], 'mz_timestamp', ([t, v]) =>
    mzShift(t, v, -1),
  ),
];

export const DATETIME: readonly FunctionDef[] = [
  ...DATES,
  ...INSTANTS,
  ...INTERVALS,
  rowFunction(
    'age_timestamptz_timestamptz',
    'age',
    ['timestamptz', 'timestamptz'],
    'interval',
    ([a, b], c) => ageOf(a, b, (t) => localMoment(t, zoneOf(c.context))),
    AGE_DOC,
    STABLE_FAILS,
  ),
  rowFunction(
    'age_timestamp_timestamp',
    'age',
    ['timestamp', 'timestamp'],
    'interval',
    ([a, b]) => ageOf(a, b, toMoment),
    AGE_DOC,
    FAILS,
  ),
  ...clocks,
  ...logical,
];
