/**
 * Functions over dates and times: fields, truncation, arithmetic with intervals, age, bins, construction. They
 * take and give what columns hold (µs as bigint or safe integer, days as number) and know PostgreSQL's rules for
 * months of different lengths, years BC, ISO weeks, and days of 23 or 25 hours.
 */
import { SqlError, unsupported } from '../base/error.ts';
import {
  type Civil,
  checkDate,
  civilFromDays,
  DATE_INFINITY,
  DATE_NEG_INFINITY,
  daysFromCivil,
  daysInMonth,
  fromMoment,
  instantOf,
  isInfinite,
  isoWeekday,
  localMoment,
  type Micros,
  type Moment,
  offsetOf,
  TIMESTAMP_INFINITY,
  TIMESTAMP_NEG_INFINITY,
  timestampOutOfRange,
  toMoment,
} from './datetime.ts';
import {
  extractInterval,
  Interval,
  justifyHours,
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  MICROS_PER_MINUTE,
  MICROS_PER_SECOND,
  makeInterval,
  roundEven,
} from './interval.ts';
import { unitOf } from './interval-parse.ts';
import {
  addNumeric,
  divNumeric,
  NUMERIC_INFINITY,
  NUMERIC_NEG_INFINITY,
  Numeric,
  numericFromBig,
  numericFromInt,
} from './numeric.ts';
import type { TimeZone } from './time-zone.ts';
import { TYPES, type TypeName } from './types.ts';

// --- fields

/** Fields beyond the units of intervals. */
const FIELDS: Readonly<Record<string, string>> = {
  microsecond: 'microseconds',
  millisecond: 'milliseconds',
  dow: 'dow',
  isodow: 'isodow',
  doy: 'doy',
  isoyear: 'isoyear',
  julian: 'julian',
  j: 'julian',
  jd: 'julian',
  epoch: 'epoch',
  timezone: 'timezone',
  timezone_h: 'timezone_hour',
  timezone_hour: 'timezone_hour',
  timezone_m: 'timezone_minute',
  timezone_minute: 'timezone_minute',
};

/** The field that a word names in `extract` and `date_trunc` (`secs`, `MONTH`, `doy`); undefined if it names none. */
function fieldOf(word: string): string | undefined {
  const w = word.toLowerCase();
  const unit = unitOf(w) ?? w;
  return Object.hasOwn(FIELDS, unit) ? FIELDS[unit] : unitOf(w);
}

/** The types that have fields. */
export type FieldType = Extract<TypeName, 'date' | 'time' | 'timestamp' | 'timestamptz' | 'interval'>;

const unknownField = (word: string, type: FieldType): SqlError =>
  new SqlError(
    'invalid_parameter_value',
    `unit "${word.toLowerCase()}" not recognized for type ${TYPES[type].sqlName}`,
  );
const fieldUnsupported = (word: string, type: FieldType): SqlError =>
  new SqlError(
    'feature_not_supported',
    `unit "${word.toLowerCase()}" not supported for type ${TYPES[type].sqlName}`,
  );

/** ISO 8601 week and its year. */
function isoWeek(days: number): { year: number; week: number } {
  // The week belongs to the year of its Thursday.
  const thursday = days - isoWeekday(days) + 4;
  const { year } = civilFromDays(thursday);
  return { year, week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1 };
}

const noYearZero = (y: number): number => (y > 0 ? y : y - 1);
const centuries = (y: number, n: number): number =>
  y > 0 ? Math.floor((y + n - 1) / n) : -Math.floor((n - 1 - (y - 1)) / n);
const decades = (y: number): number => (y >= 0 ? Math.floor(y / 10) : -Math.floor((8 - (y - 1)) / 10));

/** 1970-01-01 as a Julian day. */
const JULIAN_EPOCH = 2440588;

/** Fields that a date has. */
function dayField(field: string, days: number): number | undefined {
  switch (field) {
    case 'dow':
      return isoWeekday(days) % 7;
    case 'isodow':
      return isoWeekday(days);
    case 'week':
      return isoWeek(days).week;
    case 'isoyear':
      return noYearZero(isoWeek(days).year);
    case 'julian':
      return days + JULIAN_EPOCH;
  }
  const c = civilFromDays(days);
  switch (field) {
    case 'day':
      return c.day;
    case 'month':
      return c.month;
    case 'quarter':
      return Math.floor((c.month - 1) / 3) + 1;
    case 'year':
      return noYearZero(c.year);
    case 'decade':
      return decades(c.year);
    case 'century':
      return centuries(c.year, 100);
    case 'millennium':
      return centuries(c.year, 1000);
    case 'doy':
      return days - daysFromCivil(c.year, 1, 1) + 1;
    default:
      return undefined;
  }
}

/** Fields that a time of day has. */
function clockField(field: string, micros: number): Numeric | undefined {
  switch (field) {
    case 'microseconds':
      return numericFromInt(micros % MICROS_PER_MINUTE);
    case 'milliseconds':
      return new Numeric(micros % MICROS_PER_MINUTE, null, 3);
    case 'second':
      return new Numeric(micros % MICROS_PER_MINUTE, null, 6);
    case 'minute':
      return numericFromInt(Math.floor(micros / MICROS_PER_MINUTE) % 60);
    case 'hour':
      return numericFromInt(Math.floor(micros / MICROS_PER_HOUR));
    default:
      return undefined;
  }
}

/** Fields that grow without bound, and so are infinite with the value; the others are NULL then. */
const MONOTONE = new Set(['year', 'decade', 'century', 'millennium', 'isoyear', 'julian', 'epoch']);
const infiniteField = (field: string, positive: boolean): Numeric | null =>
  MONOTONE.has(field) ? (positive ? NUMERIC_INFINITY : NUMERIC_NEG_INFINITY) : null;

export function extractDate(word: string, days: number): Numeric | null {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'date');
  const infinite = days === DATE_INFINITY || days === DATE_NEG_INFINITY;
  const v = field === 'epoch' ? days * 86400 : dayField(field, infinite ? 0 : days);
  if (v === undefined) throw fieldUnsupported(word, 'date');
  if (infinite) return infiniteField(field, days > 0);
  return numericFromInt(v);
}

export function extractTime(word: string, micros: number): Numeric {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'time');
  const v = field === 'epoch' ? new Numeric(micros, null, 6) : clockField(field, micros);
  if (v === undefined) throw fieldUnsupported(word, 'time');
  return v;
}

export function extractOfInterval(word: string, v: Interval): Numeric {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'interval');
  const n = extractInterval(field, v);
  if (n === undefined) throw fieldUnsupported(word, 'interval');
  return n;
}

function momentField(field: string, m: Moment): Numeric | undefined {
  const clock = clockField(field, m.micros);
  if (clock !== undefined) return clock;
  const v = dayField(field, m.days);
  if (v === undefined) return undefined;
  if (field !== 'julian') return numericFromInt(v);
  return addNumeric(numericFromInt(v), divNumeric(numericFromInt(m.micros), numericFromInt(MICROS_PER_DAY)));
}

const epochOf = (t: Micros): Numeric =>
  typeof t === 'number' ? new Numeric(t + 0, null, 6) : numericFromBig(t, 6);

export function extractTimestamp(word: string, t: Micros): Numeric | null {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'timestamp');
  if (isInfinite(t)) return infiniteField(field, t > 0);
  const v = field === 'epoch' ? epochOf(t) : momentField(field, toMoment(t));
  if (v === undefined) throw fieldUnsupported(word, 'timestamp');
  return v;
}

export function extractTimestamptz(word: string, t: Micros, zone: TimeZone): Numeric | null {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'timestamptz');
  if (isInfinite(t)) return infiniteField(field, t > 0);
  switch (field) {
    case 'epoch':
      return epochOf(t);
    case 'timezone':
      return numericFromInt(offsetOf(t, zone));
    case 'timezone_hour':
      return numericFromInt(Math.trunc(offsetOf(t, zone) / 3600));
    case 'timezone_minute':
      return numericFromInt(Math.trunc((offsetOf(t, zone) % 3600) / 60));
  }
  const v = momentField(field, localMoment(t, zone));
  if (v === undefined) throw fieldUnsupported(word, 'timestamptz');
  return v;
}

// --- truncation

const CLOCK_UNITS: Readonly<Record<string, number>> = {
  microseconds: 1,
  milliseconds: 1000,
  second: MICROS_PER_SECOND,
  minute: MICROS_PER_MINUTE,
  hour: MICROS_PER_HOUR,
};

/** Fields of `extract` that `date_trunc` does not even recognize. */
const NOT_CUT = new Set(['dow', 'isodow', 'doy', 'isoyear', 'julian', 'epoch']);
const cannotCut = (field: string, word: string, type: FieldType): SqlError =>
  NOT_CUT.has(field) ? unknownField(word, type) : fieldUnsupported(word, type);

/** First year of the decade, century or millennium. */
function truncYear(field: string, y: number): number {
  switch (field) {
    case 'decade':
      return y > 0 ? Math.floor(y / 10) * 10 : -Math.floor((8 - (y - 1)) / 10) * 10;
    case 'century':
      return y > 0 ? Math.floor((y + 99) / 100) * 100 - 99 : -Math.floor((99 - (y - 1)) / 100) * 100 + 1;
    default:
      return y > 0
        ? Math.floor((y + 999) / 1000) * 1000 - 999
        : -Math.floor((999 - (y - 1)) / 1000) * 1000 + 1;
  }
}

/** A moment cut to a field; undefined for a field that cannot be cut to. */
function truncMoment(field: string, m: Moment): Moment | undefined {
  const unit = Object.hasOwn(CLOCK_UNITS, field) ? CLOCK_UNITS[field] : undefined;
  if (unit !== undefined) return { days: m.days, micros: m.micros - (m.micros % unit) };
  const at = (days: number): Moment => ({ days, micros: 0 });
  if (field === 'day') return at(m.days);
  if (field === 'week') return at(m.days - isoWeekday(m.days) + 1);
  const c: Civil = civilFromDays(m.days);
  switch (field) {
    case 'month':
      return at(daysFromCivil(c.year, c.month, 1));
    case 'quarter':
      return at(daysFromCivil(c.year, Math.floor((c.month - 1) / 3) * 3 + 1, 1));
    case 'year':
      return at(daysFromCivil(c.year, 1, 1));
    case 'decade':
    case 'century':
    case 'millennium':
      return at(daysFromCivil(truncYear(field, c.year), 1, 1));
    default:
      return undefined;
  }
}

/** The length of a unit that has the same at all times, as `truncTimestamp` takes it; undefined for all others. */
export function truncUnitMicros(word: string): number | undefined {
  const field = fieldOf(word);
  if (field === 'day') return MICROS_PER_DAY;
  return field !== undefined && Object.hasOwn(CLOCK_UNITS, field) ? CLOCK_UNITS[field] : undefined;
}

const infinite = (t: Micros): bigint => (t > 0 ? TIMESTAMP_INFINITY : TIMESTAMP_NEG_INFINITY);

export function truncTimestamp(word: string, t: Micros): bigint {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'timestamp');
  const m = truncMoment(field, isInfinite(t) ? { days: 0, micros: 0 } : toMoment(t));
  if (m === undefined) throw cannotCut(field, word, 'timestamp');
  return isInfinite(t) ? infinite(t) : fromMoment(m.days, m.micros);
}

export function truncTimestamptz(word: string, t: Micros, zone: TimeZone): bigint {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'timestamptz');
  const local = isInfinite(t) ? { days: 0, micros: 0 } : localMoment(t, zone);
  const m = truncMoment(field, local);
  if (m === undefined) throw cannotCut(field, word, 'timestamptz');
  if (isInfinite(t)) return infinite(t);
  // Within the day the offset stays; a new day may have another.
  if (Object.hasOwn(CLOCK_UNITS, field)) return BigInt(t) - BigInt(local.micros - m.micros);
  return instantOf(m, zone);
}

export function truncInterval(word: string, v: Interval): Interval {
  const field = fieldOf(word);
  if (field === undefined) throw unknownField(word, 'interval');
  const unit = Object.hasOwn(CLOCK_UNITS, field) ? CLOCK_UNITS[field] : undefined;
  if (unit !== undefined) return makeInterval(v.months, v.days, Math.trunc(v.micros / unit) * unit);
  const months = { month: 1, quarter: 3, year: 12, decade: 120, century: 1200, millennium: 12000 }[field];
  if (field === 'day') return makeInterval(v.months, v.days, 0);
  if (months !== undefined) return makeInterval(Math.trunc(v.months / months) * months, 0, 0);
  if (NOT_CUT.has(field)) throw unknownField(word, 'interval');
  throw new SqlError(
    'feature_not_supported',
    `unit "${word.toLowerCase()}" not supported for type interval`,
    field === 'week' ? { detail: 'Months usually have fractional weeks.' } : {},
  );
}

// --- arithmetic

/** Days after adding months: the day of the month is at most the last of the new month. */
function addMonths(days: number, months: number): number {
  if (months === 0) return days;
  const c = civilFromDays(days);
  const total = c.year * 12 + c.month - 1 + months;
  const year = Math.floor(total / 12);
  const month = total - year * 12 + 1;
  return daysFromCivil(year, month, Math.min(c.day, daysInMonth(year, month)));
}

export function addToTimestamp(t: Micros, v: Interval): bigint {
  if (isInfinite(t)) return infinite(t);
  const m = toMoment(t);
  return fromMoment(addMonths(m.days, v.months) + v.days, m.micros + v.micros);
}

/** Months and days move the local calendar, the time field moves the instant. */
export function addToTimestamptz(t: Micros, v: Interval, zone: TimeZone): bigint {
  if (isInfinite(t)) return infinite(t);
  if (v.months === 0 && v.days === 0) return addToTimestamp(t, v);
  const m = localMoment(t, zone);
  const moved = instantOf({ days: addMonths(m.days, v.months) + v.days, micros: m.micros }, zone);
  return v.micros === 0 ? moved : addToTimestamp(moved, new Interval(0, 0, v.micros));
}

/** `time + interval` wraps round midnight. */
export function addToTime(micros: number, v: Interval): number {
  const t = (micros + (v.micros % MICROS_PER_DAY)) % MICROS_PER_DAY;
  return t < 0 ? t + MICROS_PER_DAY : t;
}

export function addDays(days: number, n: number): number {
  if (days === DATE_INFINITY || days === DATE_NEG_INFINITY) return days;
  return checkDate(days + n);
}

/** `timestamp - timestamp`: days and a time, no months. */
export function diffTimestamps(a: Micros, b: Micros): Interval {
  if (isInfinite(a) || isInfinite(b)) throw unsupported('infinite intervals');
  const x = toMoment(a);
  const y = toMoment(b);
  return justifyHours(new Interval(0, x.days - y.days, x.micros - y.micros));
}

/** `age(a, b)`: years, months and days as a calendar counts them. */
export function age(a: Moment, b: Moment): Interval {
  const before = a.days < b.days || (a.days === b.days && a.micros < b.micros);
  const [late, early] = before ? [b, a] : [a, b];
  const x = civilFromDays(late.days);
  const y = civilFromDays(early.days);
  let micros = late.micros - early.micros;
  let day = x.day - y.day;
  let month = x.year * 12 + x.month - (y.year * 12 + y.month);
  if (micros < 0) {
    micros += MICROS_PER_DAY;
    day--;
  }
  // A borrowed month is the earlier date's.
  while (day < 0) {
    day += daysInMonth(y.year, y.month);
    month--;
  }
  return before ? makeInterval(0 - month, 0 - day, 0 - micros) : makeInterval(month, day, micros);
}

/** `date_bin(stride, t, origin)`. */
export function binTimestamp(stride: Interval, t: Micros, origin: Micros): bigint {
  if (isInfinite(t)) return infinite(t);
  if (isInfinite(origin)) throw new SqlError('datetime_field_overflow', 'origin out of range');
  if (stride.months !== 0)
    throw new SqlError(
      'feature_not_supported',
      'timestamps cannot be binned into intervals containing months or years',
    );
  const step = BigInt(stride.days) * BigInt(MICROS_PER_DAY) + BigInt(stride.micros);
  if (step <= 0n) throw new SqlError('datetime_field_overflow', 'stride must be greater than zero');
  const diff = BigInt(t) - BigInt(origin);
  const rest = diff % step;
  const { days, micros } = toMoment(BigInt(origin) + diff - rest - (rest < 0n ? step : 0n));
  return fromMoment(days, micros);
}

// --- construction

/** A date as the timestamp of its midnight. */
export function midnight(days: number): bigint {
  if (days === DATE_INFINITY) return TIMESTAMP_INFINITY;
  return days === DATE_NEG_INFINITY ? TIMESTAMP_NEG_INFINITY : fromMoment(days, 0);
}

/** `date + time`. */
export function dateAtTime(days: number, micros: number): bigint {
  const m = midnight(days);
  return isInfinite(m) ? m : fromMoment(days, micros);
}

/** `to_timestamp(seconds)`: seconds since 1970. */
export function fromEpoch(seconds: number): bigint {
  if (Number.isNaN(seconds)) throw new SqlError('datetime_field_overflow', 'timestamp cannot be NaN');
  if (!Number.isFinite(seconds)) return infinite(seconds);
  const whole = Math.floor(seconds);
  const days = Math.floor(whole / 86400);
  if (Math.abs(days) > 110_000_000) throw timestampOutOfRange();
  const rest = Math.round((seconds - whole) * MICROS_PER_SECOND);
  return fromMoment(days, (whole - days * 86400) * MICROS_PER_SECOND + rest);
}

const pad2 = (n: number): string => String(n).padStart(2, '0');

export function makeDate(year: number, month: number, day: number): number {
  const y = year < 0 ? year + 1 : year;
  if (year === 0 || month < 1 || month > 12 || day < 1 || day > daysInMonth(y, month))
    throw new SqlError(
      'datetime_field_overflow',
      `date field value out of range: ${year}-${pad2(month)}-${pad2(day)}`,
    );
  const days = daysFromCivil(y, month, day);
  return checkDate(days);
}

export function makeTime(hour: number, minute: number, second: number): number {
  const micros = hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + roundEven(second * MICROS_PER_SECOND);
  const bad = hour < 0 || hour > 24 || minute < 0 || minute > 59 || !(second >= 0 && second <= 60);
  if (bad || micros > MICROS_PER_DAY)
    throw new SqlError(
      'datetime_field_overflow',
      `time field value out of range: ${hour}:${pad2(minute)}:${String(second).padStart(2, '0')}`,
    );
  return micros;
}
