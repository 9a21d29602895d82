/** Dates, times, instants, intervals and mz_timestamp. */
import { SqlError, unsupported } from '../../base/error.ts';
import {
  checkDate,
  DATE_INFINITY,
  DATE_NEG_INFINITY,
  isInfinite,
  localMoment,
  localToTimestamptz,
  offsetOf,
  timestamptzToLocal,
  toMoment,
} from '../../repr/datetime.ts';
import {
  addInterval,
  divInterval,
  type Interval,
  justifyDays,
  justifyHours,
  justifyInterval,
  MICROS_PER_DAY,
  MICROS_PER_SECOND,
  makeInterval,
  mulInterval,
  negInterval,
  subInterval,
} from '../../repr/interval.ts';
import { type Numeric, numericToDouble } from '../../repr/numeric.ts';
import { type TimeZone, timeZone } from '../../repr/time-zone.ts';
import type { Datum } from '../../repr/types.ts';
import { formatContext } from '../context.ts';
import type { EvalContext, FunctionDef, Pattern } from '../functions.ts';
import type { RowCall, RowFunction } from '../kernels/per-row.ts';
import {
  addToTime,
  addToTimestamp,
  addToTimestamptz,
  ageOf,
  binTimestamp,
  extract,
  extractFromInterval,
  fromEpoch,
  makeDate,
  makeTime,
  subtractTimestamps,
  truncInterval,
  truncTimestamp,
  truncTimestamptz,
} from './datetime-arithmetic.ts';
import { FAILS, type Options, rowFunction } from './define.ts';
import { timestampToChar } from './to-char.ts';

const STABLE_FAILS: Options = { fallible: true, volatility: 'stable' };
const NOW: Options = { fallible: true, volatility: 'contextual' };

const zoneOf = (c: RowCall): TimeZone => formatContext(c.context).timeZone;

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

const addDays = (days: number, n: number): number =>
  days === DATE_INFINITY || days === DATE_NEG_INFINITY ? days : checkDate(days + n);

function dateToMicros(days: number): bigint {
  if (days === DATE_INFINITY) return 0x7fffffffffffffffn;
  if (days === DATE_NEG_INFINITY) return -0x8000000000000000n;
  return BigInt(days) * BigInt(MICROS_PER_DAY);
}

const DATES: readonly FunctionDef[] = [
  op('add_date_int4', '+', ['date', 'int4'], 'date', ([d, n]) => addDays(d, n)),
  op('add_int4_date', '+', ['int4', 'date'], 'date', ([n, d]) => addDays(d, n)),
  op('sub_date_int4', '-', ['date', 'int4'], 'date', ([d, n]) => addDays(d, -n)),
  op('sub_date_date', '-', ['date', 'date'], 'int4', ([a, b]) => {
    if ([a, b].some((d) => d === DATE_INFINITY || d === DATE_NEG_INFINITY))
      throw new SqlError('datetime_field_overflow', 'cannot subtract infinite dates');
    return a - b;
  }),
  op('add_date_interval', '+', ['date', 'interval'], 'timestamp', ([d, v]) =>
    addToTimestamp(dateToMicros(d), v),
  ),
  op('add_interval_date', '+', ['interval', 'date'], 'timestamp', ([v, d]) =>
    addToTimestamp(dateToMicros(d), v),
  ),
  op('sub_date_interval', '-', ['date', 'interval'], 'timestamp', ([d, v]) =>
    addToTimestamp(dateToMicros(d), negInterval(v)),
  ),
  op('add_date_time', '+', ['date', 'time'], 'timestamp', ([d, t]) => dateAtTime(d, t)),
  op('add_time_date', '+', ['time', 'date'], 'timestamp', ([t, d]) => dateAtTime(d, t)),
  op('add_time_interval', '+', ['time', 'interval'], 'time', ([t, v]) => addToTime(t, v, 1)),
  op('add_interval_time', '+', ['interval', 'time'], 'time', ([v, t]) => addToTime(t, v, 1)),
  op('sub_time_interval', '-', ['time', 'interval'], 'time', ([t, v]) => addToTime(t, v, -1)),
  op('sub_time_time', '-', ['time', 'time'], 'interval', ([a, b]) => makeInterval(0, 0, Number(a - b))),
];

function dateAtTime(d: number, t: bigint): bigint {
  const m = dateToMicros(d);
  return isInfinite(m) ? m : m + t;
}

const INSTANTS: readonly FunctionDef[] = [
  op('add_timestamp_interval', '+', ['timestamp', 'interval'], 'timestamp', ([t, v]) => addToTimestamp(t, v)),
  op('add_interval_timestamp', '+', ['interval', 'timestamp'], 'timestamp', ([v, t]) => addToTimestamp(t, v)),
  op('sub_timestamp_interval', '-', ['timestamp', 'interval'], 'timestamp', ([t, v]) =>
    addToTimestamp(t, negInterval(v)),
  ),
  op('sub_timestamp_timestamp', '-', ['timestamp', 'timestamp'], 'interval', ([a, b]) =>
    subtractTimestamps(a, b),
  ),
  op(
    'add_timestamptz_interval',
    '+',
    ['timestamptz', 'interval'],
    'timestamptz',
    ([t, v], c) => addToTimestamptz(t, v, zoneOf(c)),
    STABLE_FAILS,
  ),
  op(
    'add_interval_timestamptz',
    '+',
    ['interval', 'timestamptz'],
    'timestamptz',
    ([v, t], c) => addToTimestamptz(t, v, zoneOf(c)),
    STABLE_FAILS,
  ),
  op(
    'sub_timestamptz_interval',
    '-',
    ['timestamptz', 'interval'],
    'timestamptz',
    ([t, v], c) => addToTimestamptz(t, negInterval(v), zoneOf(c)),
    STABLE_FAILS,
  ),
  op('sub_timestamptz_timestamptz', '-', ['timestamptz', 'timestamptz'], 'interval', ([a, b]) =>
    subtractTimestamps(a, b),
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

const toDouble = (n: Numeric | null): Datum => (n === null ? null : numericToDouble(n));
const FIELD_DOC = 'A field of a date, time or interval.';

/** `extract` gives numeric, `date_part` the same as a double. */
const fields: FunctionDef[] = (['date', 'time', 'timestamp', 'timestamptz', 'interval'] as const).flatMap(
  (t) => {
    const f = ([field, v]: readonly Datum[], c: RowCall): Numeric | null =>
      t === 'interval'
        ? extractFromInterval(field as string, v as Interval)
        : extract(field as string, t, v as bigint, zoneOf(c));
    const options: Options = {
      fallible: true,
      nullable: true,
      volatility: t === 'timestamptz' ? 'stable' : 'immutable',
    };
    // date_part looks at a date as the timestamp of its midnight.
    const part: RowFunction =
      t === 'date'
        ? ([field, d], c) => toDouble(extract(field, 'timestamp', dateToMicros(d), zoneOf(c)))
        : (a, c) => toDouble(f(a, c));
    return [
      rowFunction(`extract_text_${t}`, 'extract', ['text', t], 'numeric', f, FIELD_DOC, options),
      rowFunction(`date_part_text_${t}`, 'date_part', ['text', t], 'float8', part, FIELD_DOC, options),
    ];
  },
);

const TRUNC_DOC = 'The start of the unit around an instant.';
const truncations: FunctionDef[] = [
  rowFunction(
    'date_trunc_text_timestamp',
    'date_trunc',
    ['text', 'timestamp'],
    'timestamp',
    ([u, t]) => truncTimestamp(u, t),
    TRUNC_DOC,
    FAILS,
  ),
  rowFunction(
    'date_trunc_text_timestamptz',
    'date_trunc',
    ['text', 'timestamptz'],
    'timestamptz',
    ([u, t], c) => truncTimestamptz(u, t, zoneOf(c)),
    TRUNC_DOC,
    STABLE_FAILS,
  ),
  rowFunction(
    'date_trunc_text_timestamptz_text',
    'date_trunc',
    ['text', 'timestamptz', 'text'],
    'timestamptz',
    ([u, t, z]) => truncTimestamptz(u, t, timeZone(z)),
    `${TRUNC_DOC} In the given zone.`,
    FAILS,
  ),
  rowFunction(
    'date_trunc_text_interval',
    'date_trunc',
    ['text', 'interval'],
    'interval',
    ([u, v]) => truncInterval(u, v),
    'An interval without the fields below the unit.',
    FAILS,
  ),
  ...(['timestamp', 'timestamptz'] as const).map((t) =>
    rowFunction(
      `date_bin_interval_${t}_${t}`,
      'date_bin',
      ['interval', t, t],
      t,
      ([s, v, o]) => binTimestamp(s, v, o),
      'The start of the bin, counted from an origin.',
      FAILS,
    ),
  ),
];

const AGE_DOC = 'Years, months, days and time between two instants.';
function age(a: bigint, b: bigint, zone: TimeZone | null): Interval {
  if (isInfinite(a) || isInfinite(b)) throw unsupported('infinite intervals');
  return zone === null ? ageOf(toMoment(a), toMoment(b)) : ageOf(localMoment(a, zone), localMoment(b, zone));
}

function nowOf(context: EvalContext, what: string): bigint {
  if (context.nowMicros === undefined)
    throw new SqlError('feature_not_supported', `${what} cannot be used in a maintained query`, {
      hint: 'Compare mz_now() with a column in WHERE to keep rows for a span of time.',
    });
  return context.nowMicros;
}

const today = (c: RowCall, what: string): number => localMoment(nowOf(c.context, what), zoneOf(c)).days;

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
    (_, c) => timestamptzToLocal(nowOf(c.context, 'localtimestamp'), zoneOf(c)),
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
    ([t], c) => ageOf({ days: today(c, 'age()'), micros: 0 }, localMoment(t, zoneOf(c))),
    'Time between today and an instant.',
    NOW,
  ),
  rowFunction(
    'age_timestamp',
    'age',
    ['timestamp'],
    'interval',
    ([t], c) => ageOf({ days: today(c, 'age()'), micros: 0 }, toMoment(t)),
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

/** An offset counts east here, not west as in `AT TIME ZONE`. */
const eastward = (z: string): TimeZone => timeZone(z.replace(/^[+-]/, (c) => (c === '+' ? '-' : '+')));

const makers: FunctionDef[] = [
  rowFunction(
    'make_date_int4_int4_int4',
    'make_date',
    ['int4', 'int4', 'int4'],
    'date',
    ([y, m, d]) => makeDate(y, m, d),
    'A date from year, month and day.',
    FAILS,
  ),
  rowFunction(
    'make_time_int4_int4_float8',
    'make_time',
    ['int4', 'int4', 'float8'],
    'time',
    ([h, m, s]) => makeTime(h, m, s),
    'A time from hour, minute and second.',
    FAILS,
  ),
  rowFunction(
    'make_timestamp',
    'make_timestamp',
    ['int4', 'int4', 'int4', 'int4', 'int4', 'float8'],
    'timestamp',
    ([y, mo, d, h, mi, s]) => dateAtTime(makeDate(y, mo, d), makeTime(h, mi, s)),
    'A timestamp from its fields.',
    FAILS,
  ),
  rowFunction(
    'make_timestamptz',
    'make_timestamptz',
    ['int4', 'int4', 'int4', 'int4', 'int4', 'float8'],
    'timestamptz',
    ([y, mo, d, h, mi, s], c) =>
      localToTimestamptz(dateAtTime(makeDate(y, mo, d), makeTime(h, mi, s)), zoneOf(c)),
    'An instant from the fields of the session’s clock.',
    STABLE_FAILS,
  ),
  rowFunction(
    'make_timestamptz_zone',
    'make_timestamptz',
    ['int4', 'int4', 'int4', 'int4', 'int4', 'float8', 'text'],
    'timestamptz',
    ([y, mo, d, h, mi, s, z]) =>
      localToTimestamptz(dateAtTime(makeDate(y, mo, d), makeTime(h, mi, s)), eastward(z)),
    'An instant from the fields of a zone’s clock.',
    FAILS,
  ),
  rowFunction(
    'to_timestamp_float8',
    'to_timestamp',
    ['float8'],
    'timestamptz',
    ([x]) => fromEpoch(x),
    'The instant so many seconds after 1970.',
    FAILS,
  ),
];

/** `AT TIME ZONE` is `timezone(zone, value)`. */
const zones: FunctionDef[] = [
  rowFunction(
    'timezone_text_timestamp',
    'timezone',
    ['text', 'timestamp'],
    'timestamptz',
    ([z, t]) => localToTimestamptz(t, timeZone(z)),
    'The instant at which clocks in the zone show a time.',
    FAILS,
  ),
  rowFunction(
    'timezone_text_timestamptz',
    'timezone',
    ['text', 'timestamptz'],
    'timestamp',
    ([z, t]) => timestamptzToLocal(t, timeZone(z)),
    'What clocks in the zone show at an instant.',
    FAILS,
  ),
  rowFunction(
    'timezone_interval_timestamp',
    'timezone',
    ['interval', 'timestamp'],
    'timestamptz',
    ([v, t]) => addToTimestamp(t, makeInterval(0, 0, -zoneInterval(v))),
    'The instant at which clocks with an offset show a time.',
    FAILS,
  ),
  rowFunction(
    'timezone_interval_timestamptz',
    'timezone',
    ['interval', 'timestamptz'],
    'timestamp',
    ([v, t]) => addToTimestamp(t, makeInterval(0, 0, zoneInterval(v))),
    'What clocks with an offset show at an instant.',
    FAILS,
  ),
];

function zoneInterval(v: Interval): number {
  if (v.months !== 0 || v.days !== 0)
    throw new SqlError(
      'invalid_parameter_value',
      `interval time zone "${v}" must not include months or days`,
    );
  return v.micros - (v.micros % MICROS_PER_SECOND);
}

const CHAR_DOC = 'Text after a template.';
const texts: FunctionDef[] = [
  rowFunction(
    'to_char_timestamp_text',
    'to_char',
    ['timestamp', 'text'],
    'text',
    ([t, f]) =>
      isInfinite(t) || f === '' ? null : timestampToChar({ moment: toMoment(t), offset: null, zone: '' }, f),
    CHAR_DOC,
    { nullable: true },
  ),
  rowFunction(
    'to_char_timestamptz_text',
    'to_char',
    ['timestamptz', 'text'],
    'text',
    ([t, f], c) => {
      if (isInfinite(t) || f === '') return null;
      const zone = zoneOf(c);
      return timestampToChar({ moment: localMoment(t, zone), offset: offsetOf(t, zone), zone: zone.name }, f);
    },
    CHAR_DOC,
    { nullable: true, volatility: 'stable' },
  ),
];

const finite: FunctionDef[] = [
  rowFunction(
    'isfinite_date',
    'isfinite',
    ['date'],
    'bool',
    ([d]) => d !== DATE_INFINITY && d !== DATE_NEG_INFINITY,
    'Whether the date is no infinity.',
  ),
  ...(['timestamp', 'timestamptz'] as const).map((t) =>
    rowFunction(
      `isfinite_${t}`,
      'isfinite',
      [t],
      'bool',
      ([v]) => !isInfinite(v),
      'Whether it is no infinity.',
    ),
  ),
  rowFunction(
    'isfinite_interval',
    'isfinite',
    ['interval'],
    'bool',
    () => true,
    'Whether it is no infinity.',
  ),
];

export const DATETIME: readonly FunctionDef[] = [
  ...DATES,
  ...INSTANTS,
  ...INTERVALS,
  ...fields,
  ...truncations,
  rowFunction(
    'age_timestamptz_timestamptz',
    'age',
    ['timestamptz', 'timestamptz'],
    'interval',
    ([a, b], c) => age(a, b, zoneOf(c)),
    AGE_DOC,
    STABLE_FAILS,
  ),
  rowFunction(
    'age_timestamp_timestamp',
    'age',
    ['timestamp', 'timestamp'],
    'interval',
    ([a, b]) => age(a, b, null),
    AGE_DOC,
    FAILS,
  ),
  ...clocks,
  ...logical,
  ...makers,
  ...zones,
  ...texts,
  ...finite,
];
