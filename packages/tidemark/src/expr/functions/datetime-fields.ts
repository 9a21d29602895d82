/** What is read out of dates, times, instants and intervals, and what is made of their parts: fields, truncation, bins, construction, zones, templates. */
import { SqlError } from '../../base/error.ts';
import {
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
  addToTimestamp,
  binTimestamp,
  dateAtTime,
  extractDate,
  extractOfInterval,
  extractTime,
  extractTimestamp,
  extractTimestamptz,
  type FieldType,
  fromEpoch,
  makeDate,
  makeTime,
  midnight,
  truncInterval,
  truncTimestamptz,
} from '../../repr/datetime-functions.ts';
import { type Interval, MICROS_PER_SECOND, makeInterval } from '../../repr/interval.ts';
import { type Numeric, numericToDouble } from '../../repr/numeric.ts';
import { type TimeZone, timeZone } from '../../repr/time-zone.ts';
import type { Datum } from '../../repr/types.ts';
import { zoneOf } from '../context.ts';
import type { FunctionDef } from '../functions.ts';
import { dateTruncTimestamp } from '../kernels/date-trunc.ts';
import type { RowFunction } from '../kernels/per-row.ts';
import { define, FAILS, type Options, rowFunction, STABLE_FAILS } from './define.ts';
import { timestampToChar } from './to-char.ts';

const toDouble = (n: Numeric | null): Datum => (n === null ? null : numericToDouble(n));
const FIELD_DOC = 'A field of a date, time or interval.';

/** How `extract` takes each type apart. */
const EXTRACT: Readonly<Record<FieldType, (field: string, v: Datum, zone: TimeZone) => Numeric | null>> = {
  date: (field, v) => extractDate(field, v as number),
  time: (field, v) => extractTime(field, Number(v)),
  timestamp: (field, v) => extractTimestamp(field, v as bigint),
  timestamptz: (field, v, zone) => extractTimestamptz(field, v as bigint, zone),
  interval: (field, v) => extractOfInterval(field, v as Interval),
};

/** `extract` gives numeric, `date_part` the same as a double. */
const fields: readonly FunctionDef[] = (Object.keys(EXTRACT) as FieldType[]).flatMap((t) => {
  const f: RowFunction = ([field, v], c) => EXTRACT[t](field, v, zoneOf(c.context));
  // date_part looks at a date as the timestamp of its midnight.
  const part: RowFunction = t === 'date' ? ([field, d]) => extractTimestamp(field, midnight(d)) : f;
  const options: Options = {
    fallible: true,
    nullable: true,
    volatility: t === 'timestamptz' ? 'stable' : 'immutable',
  };
  return [
    rowFunction(`extract_text_${t}`, 'extract', ['text', t], 'numeric', f, FIELD_DOC, options),
    rowFunction(
      `date_part_text_${t}`,
      'date_part',
      ['text', t],
      'float8',
      (a, c) => toDouble(part(a, c) as Numeric | null),
      FIELD_DOC,
      options,
    ),
  ];
});

const TRUNC_DOC = 'The start of the unit around an instant.';
const truncations: FunctionDef[] = [
  define(
    'date_trunc_text_timestamp',
    'date_trunc',
    ['text', 'timestamp'],
    'timestamp',
    dateTruncTimestamp,
    TRUNC_DOC,
    FAILS,
  ),
  rowFunction(
    'date_trunc_text_timestamptz',
    'date_trunc',
    ['text', 'timestamptz'],
    'timestamptz',
    ([u, t], c) => truncTimestamptz(u, t, zoneOf(c.context)),
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

/** An offset counts east here, not west as in `AT TIME ZONE`. */
const eastward = (z: string): TimeZone => timeZone(z.replace(/^[+-]/, (c) => (c === '+' ? '-' : '+')));

/** Year, month, day, hour, minute, second. */
const timestampOf = (a: readonly Datum[]): bigint => {
  const [year, month, day, hour, minute, second] = a as number[];
  return dateAtTime(makeDate(year, month, day), makeTime(hour, minute, second));
};

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
    ([h, m, s]) => BigInt(makeTime(h, m, s)),
    'A time from hour, minute and second.',
    FAILS,
  ),
  rowFunction(
    'make_timestamp',
    'make_timestamp',
    ['int4', 'int4', 'int4', 'int4', 'int4', 'float8'],
    'timestamp',
    (a) => timestampOf(a),
    'A timestamp from its fields.',
    FAILS,
  ),
  rowFunction(
    'make_timestamptz',
    'make_timestamptz',
    ['int4', 'int4', 'int4', 'int4', 'int4', 'float8'],
    'timestamptz',
    (a, c) => localToTimestamptz(timestampOf(a), zoneOf(c.context)),
    'An instant from the fields of the session’s clock.',
    STABLE_FAILS,
  ),
  rowFunction(
    'make_timestamptz_zone',
    'make_timestamptz',
    ['int4', 'int4', 'int4', 'int4', 'int4', 'float8', 'text'],
    'timestamptz',
    (a) => localToTimestamptz(timestampOf(a), eastward(a[6] as string)),
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
      const zone = zoneOf(c.context);
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

export const DATETIME_FIELDS: readonly FunctionDef[] = [
  ...fields,
  ...truncations,
  ...makers,
  ...zones,
  ...texts,
  ...finite,
];
