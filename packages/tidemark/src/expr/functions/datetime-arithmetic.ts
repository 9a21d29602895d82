/** Calendar arithmetic on instants and dates: shifting by an interval, truncation, fields, ages. */
import { SqlError, unsupported } from '../../base/error.ts';
import {
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
  type Moment,
  offsetOf,
  timestampOutOfRange,
  toMoment,
} from '../../repr/datetime.ts';
import {
  extractInterval,
  type Interval,
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  MICROS_PER_MINUTE,
  MICROS_PER_SECOND,
  makeInterval,
} from '../../repr/interval.ts';
import { unitOf } from '../../repr/interval-parse.ts';
import { divRound, Numeric, numericFromBig, numericFromInt } from '../../repr/numeric.ts';
import type { TimeZone } from '../../repr/time-zone.ts';
import { TYPES } from '../../repr/types.ts';

export type DateKind = 'date' | 'time' | 'timestamp' | 'timestamptz' | 'interval';

/** The day so many months later; a day past the end of its month becomes the last. */
function addMonths(days: number, months: number): number {
  if (months === 0) return days;
  const c = civilFromDays(days);
  const m = c.month - 1 + months;
  const year = c.year + Math.floor(m / 12);
  const month = m - Math.floor(m / 12) * 12 + 1;
  return daysFromCivil(year, month, Math.min(c.day, daysInMonth(year, month)));
}

export function addToTimestamp(t: bigint, v: Interval): bigint {
  if (isInfinite(t)) return t;
  const m = toMoment(t);
  return fromMoment(addMonths(m.days, v.months) + v.days, m.micros + v.micros);
}

/** Months and days move the clock of the zone, the rest is elapsed time. */
export function addToTimestamptz(t: bigint, v: Interval, zone: TimeZone): bigint {
  if (isInfinite(t)) return t;
  let u = t;
  if (v.months !== 0 || v.days !== 0) {
    const m = localMoment(t, zone);
    const days = addMonths(m.days, v.months) + v.days;
    fromMoment(days, m.micros);
    u = instantOf({ days, micros: m.micros }, zone);
  }
  const n = toMoment(u);
  return fromMoment(n.days, n.micros + v.micros);
}

/** Days and time between two instants. */
export function subtractTimestamps(a: bigint, b: bigint): Interval {
  if (isInfinite(a) || isInfinite(b)) throw unsupported('infinite intervals');
  const x = toMoment(a);
  const y = toMoment(b);
  let days = x.days - y.days;
  let micros = x.micros - y.micros;
  if (days > 0 && micros < 0) {
    days--;
    micros += MICROS_PER_DAY;
  } else if (days < 0 && micros > 0) {
    days++;
    micros -= MICROS_PER_DAY;
  }
  return makeInterval(0, days, micros);
}

/** `age(a, b)`: years, months, days and time, counted field by field. */
export function ageOf(a: Moment, b: Moment): Interval {
  const later = a.days > b.days || (a.days === b.days && a.micros >= b.micros);
  const hi = later ? a : b;
  const lo = later ? b : a;
  const x = civilFromDays(hi.days);
  const y = civilFromDays(lo.days);
  let months = (x.year - y.year) * 12 + x.month - y.month;
  let days = x.day - y.day;
  let micros = hi.micros - lo.micros;
  if (micros < 0) {
    micros += MICROS_PER_DAY;
    days--;
  }
  while (days < 0) {
    // The month of the earlier date lends its days.
    days += daysInMonth(y.year, y.month);
    months--;
  }
  return later ? makeInterval(months, days, micros) : makeInterval(-months, -days, -micros);
}

const isoYearStart = (year: number): number => {
  const jan4 = daysFromCivil(year, 1, 4);
  return jan4 - isoWeekday(jan4) + 1;
};
function isoYearOf(days: number): number {
  const { year } = civilFromDays(days);
  if (days >= isoYearStart(year + 1)) return year + 1;
  return days < isoYearStart(year) ? year - 1 : year;
}

/** Years without a zero, as centuries and millennia count them. */
const groupOf = (year: number, size: number): number =>
  year > 0 ? Math.floor((year + size - 1) / size) : -Math.floor((size - 1 - (year - 1)) / size);

const notSupported = (unit: string, kind: DateKind): SqlError =>
  unsupportedUnit(`unit "${unit}" not supported for type ${TYPES[kind].sqlName}`);
const unsupportedUnit = (message: string): SqlError => new SqlError('feature_not_supported', message);
const notRecognized = (unit: string, kind: DateKind): SqlError =>
  new SqlError('invalid_parameter_value', `unit "${unit}" not recognized for type ${TYPES[kind].sqlName}`);

/** Spellings that `extract` knows besides the units of intervals. */
const FIELDS = new Set([
  'dow',
  'doy',
  'isodow',
  'isoyear',
  'epoch',
  'julian',
  'timezone',
  'timezone_hour',
  'timezone_minute',
]);
const ALIASES: Readonly<Record<string, string>> = {
  timezone_h: 'timezone_hour',
  timezone_m: 'timezone_minute',
  j: 'julian',
  jd: 'julian',
};

function fieldOf(text: string): string | undefined {
  const word = text.toLowerCase();
  const field = ALIASES[word] ?? word;
  return FIELDS.has(field) ? field : unitOf(field);
}

const micros = (n: number, scale: number): Numeric => new Numeric(n, null, scale);

/** Fields of the time of day; undefined for others. */
function timeField(field: string, t: number): Numeric | undefined {
  switch (field) {
    case 'microsecond':
      return numericFromInt(t % MICROS_PER_MINUTE);
    case 'millisecond':
      return micros(t % MICROS_PER_MINUTE, 3);
    case 'second':
      return micros(t % MICROS_PER_MINUTE, 6);
    case 'minute':
      return numericFromInt(Math.floor(t / MICROS_PER_MINUTE) % 60);
    case 'hour':
      return numericFromInt(Math.floor(t / MICROS_PER_HOUR));
    default:
      return undefined;
  }
}

function dayField(field: string, days: number): Numeric | undefined {
  const { year, month, day } = civilFromDays(days);
  const shown = year > 0 ? year : year - 1;
  const n = dayNumber(field, days, shown, year, month, day);
  return n === undefined ? undefined : numericFromInt(n);
}

function dayNumber(
  field: string,
  days: number,
  shown: number,
  year: number,
  month: number,
  day: number,
): number | undefined {
  switch (field) {
    case 'day':
      return day;
    case 'month':
      return month;
    case 'quarter':
      return Math.floor((month - 1) / 3) + 1;
    case 'year':
      return shown;
    case 'decade':
      return Math.floor(year / 10);
    case 'century':
      return groupOf(year, 100);
    case 'millennium':
      return groupOf(year, 1000);
    case 'week':
      return Math.floor((days - isoYearStart(isoYearOf(days))) / 7) + 1;
    case 'isoyear': {
      const iso = isoYearOf(days);
      return iso > 0 ? iso : iso - 1;
    }
    case 'dow':
      return isoWeekday(days) % 7;
    case 'isodow':
      return isoWeekday(days);
    case 'doy':
      return days - daysFromCivil(year, 1, 1) + 1;
    default:
      return undefined;
  }
}

/** Days of the Julian calendar count at 1970-01-01. */
const JULIAN_EPOCH = 2440588;

/** What `extract` of an infinite date gives: an infinity for fields that grow for ever, else NULL. */
function infiniteField(field: string, positive: boolean): Numeric | null {
  const grows = ['year', 'decade', 'century', 'millennium', 'isoyear', 'epoch', 'julian'].includes(field);
  return grows ? new Numeric(positive ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY, null, 0) : null;
}

/** `extract(field from …)`; µs for the kinds that hold them, days for dates. */
export function extract(
  text: string,
  kind: Exclude<DateKind, 'interval'>,
  v: bigint | number,
  zone: TimeZone,
) {
  const field = fieldOf(text);
  const unit = text.toLowerCase();
  if (field === undefined) throw notRecognized(unit, kind);
  if (kind === 'time') return timeExtract(field, unit, Number(v));
  const zonedField = field.startsWith('timezone');
  if (kind === 'date') return dateExtract(field, unit, v as number);
  const t = v as bigint;
  if (isInfinite(t)) return infiniteField(field, t > 0n);
  if (zonedField && kind !== 'timestamptz') throw notSupported(unit, kind);
  const m = kind === 'timestamptz' ? localMoment(t, zone) : toMoment(t);
  if (zonedField) {
    const offset = offsetOf(t, zone);
    if (field === 'timezone') return numericFromInt(offset);
    return numericFromInt(
      field === 'timezone_hour' ? Math.trunc(offset / 3600) : Math.trunc(offset / 60) % 60,
    );
  }
  if (field === 'epoch') return numericFromBig(t, 6);
  if (field === 'julian')
    return numericFromBig(
      BigInt(m.days + JULIAN_EPOCH) * 10n ** 20n +
        divRound(BigInt(m.micros) * 10n ** 20n, BigInt(MICROS_PER_DAY)),
      20,
    );
  return timeField(field, m.micros) ?? dayField(field, m.days)!;
}

function timeExtract(field: string, unit: string, t: number): Numeric {
  if (field === 'epoch') return micros(t, 6);
  const v = timeField(field, t);
  if (v === undefined) throw notSupported(unit, 'time');
  return v;
}

function dateExtract(field: string, unit: string, days: number): Numeric | null {
  if (days === DATE_INFINITY || days === DATE_NEG_INFINITY) {
    if (timeField(field, 0) !== undefined || field.startsWith('timezone')) throw notSupported(unit, 'date');
    return infiniteField(field, days > 0);
  }
  if (field === 'epoch') return numericFromBig(BigInt(days) * 86400n, 0);
  if (field === 'julian') return numericFromInt(days + JULIAN_EPOCH);
  const v = dayField(field, days);
  if (v === undefined) throw notSupported(unit, 'date');
  return v;
}

/** The names by which `extractInterval` goes. */
const INTERVAL_FIELD: Readonly<Record<string, string>> = {
  microsecond: 'microseconds',
  millisecond: 'milliseconds',
};

export function extractFromInterval(text: string, v: Interval): Numeric {
  const field = fieldOf(text);
  const unit = text.toLowerCase();
  if (field === undefined) throw notRecognized(unit, 'interval');
  const n = extractInterval(INTERVAL_FIELD[field] ?? field, v);
  if (n === undefined) throw notSupported(unit, 'interval');
  return n;
}

const MICROS_OF: Readonly<Record<string, number>> = {
  microsecond: 1,
  millisecond: 1000,
  second: MICROS_PER_SECOND,
  minute: MICROS_PER_MINUTE,
  hour: MICROS_PER_HOUR,
  day: MICROS_PER_DAY,
};

/** The start of the unit around a moment. */
function truncMoment(unit: string, m: Moment): Moment {
  const size = MICROS_OF[unit];
  if (size !== undefined) return { days: m.days, micros: m.micros - (m.micros % size) };
  const { year, month } = civilFromDays(m.days);
  const start = (y: number, mo: number): Moment => ({ days: daysFromCivil(y, mo, 1), micros: 0 });
  switch (unit) {
    case 'week':
      return { days: m.days - isoWeekday(m.days) + 1, micros: 0 };
    case 'month':
      return start(year, month);
    case 'quarter':
      return start(year, month - ((month - 1) % 3));
    case 'year':
      return start(year, 1);
    case 'decade':
      return start(Math.floor(year / 10) * 10, 1);
    case 'century':
      return start(
        year > 0 ? Math.floor((year - 1) / 100) * 100 + 1 : -(Math.floor((99 - (year - 1)) / 100) * 100) + 1,
        1,
      );
    default:
      return start(
        year > 0
          ? Math.floor((year - 1) / 1000) * 1000 + 1
          : -(Math.floor((999 - (year - 1)) / 1000) * 1000) + 1,
        1,
      );
  }
}

function truncUnit(text: string, kind: DateKind): string {
  const field = fieldOf(text);
  const unit = text.toLowerCase();
  if (field === undefined) throw notRecognized(unit, kind);
  if (FIELDS.has(field))
    throw field.startsWith('timezone') ? notSupported(unit, kind) : notRecognized(unit, kind);
  return field;
}

export function truncTimestamp(text: string, t: bigint): bigint {
  const unit = truncUnit(text, 'timestamp');
  if (isInfinite(t)) return t;
  const m = truncMoment(unit, toMoment(t));
  return fromMoment(m.days, m.micros);
}

export function truncTimestamptz(text: string, t: bigint, zone: TimeZone): bigint {
  const unit = truncUnit(text, 'timestamptz');
  if (isInfinite(t)) return t;
  const offset = offsetOf(t, zone);
  const m = truncMoment(unit, localMoment(t, zone));
  // Hours and less keep the offset that they had, so that an hour that happens twice stays the one it was.
  if (unit in MICROS_OF && unit !== 'day') return fromMoment(m.days, m.micros - offset * MICROS_PER_SECOND);
  return instantOf(m, zone);
}

export function truncInterval(text: string, v: Interval): Interval {
  const unit = truncUnit(text, 'interval');
  const size = MICROS_OF[unit];
  if (unit === 'week')
    throw new SqlError(
      'feature_not_supported',
      `unit "${text.toLowerCase()}" not supported for type interval`,
      {
        detail: 'Months usually have fractional weeks.',
      },
    );
  if (unit === 'day') return makeInterval(v.months, v.days, 0);
  if (size !== undefined) return makeInterval(v.months, v.days, v.micros - (v.micros % size));
  const months = { month: 1, quarter: 3, year: 12, decade: 120, century: 1200, millennium: 12000 }[unit]!;
  return makeInterval(v.months - (v.months % months), 0, 0);
}

export function binTimestamp(stride: Interval, t: bigint, origin: bigint): bigint {
  if (isInfinite(t)) return t;
  if (isInfinite(origin)) throw new SqlError('datetime_field_overflow', 'origin out of range');
  if (stride.months !== 0)
    throw new SqlError(
      'feature_not_supported',
      'timestamps cannot be binned into intervals containing months or years',
    );
  const size = BigInt(stride.days) * BigInt(MICROS_PER_DAY) + BigInt(stride.micros);
  if (size <= 0n) throw new SqlError('datetime_field_overflow', 'stride must be greater than zero');
  const diff = t - origin;
  let bins = diff / size;
  if (diff % size < 0n) bins--;
  return inRange(origin + bins * size);
}

export function inRange(t: bigint): bigint {
  const m = toMoment(t);
  return fromMoment(m.days, m.micros);
}

/** `to_timestamp(seconds)`. */
export function fromEpoch(seconds: number): bigint {
  if (Number.isNaN(seconds)) throw new SqlError('datetime_field_overflow', 'timestamp cannot be NaN');
  if (!Number.isFinite(seconds)) return seconds > 0 ? 0x7fffffffffffffffn : -0x8000000000000000n;
  const whole = Math.floor(seconds);
  const days = Math.floor(whole / 86400);
  if (Math.abs(days) > 110_000_000) throw timestampOutOfRange();
  const rest = Math.round((seconds - whole) * MICROS_PER_SECOND);
  return fromMoment(days, (whole - days * 86400) * MICROS_PER_SECOND + rest);
}

export function makeDate(year: number, month: number, day: number): number {
  const bc = year < 0;
  const y = bc ? year + 1 : year;
  if (year === 0 || month < 1 || month > 12 || day < 1 || day > daysInMonth(y, month))
    throw new SqlError(
      'datetime_field_overflow',
      `date field value out of range: ${year}-${String(month).padStart(2, '0')}-${String(day).padStart(2, '0')}`,
    );
  return checkDate(daysFromCivil(y, month, day));
}

export function makeTime(hour: number, minute: number, second: number): bigint {
  const bad =
    hour < 0 ||
    minute < 0 ||
    minute > 59 ||
    !(second >= 0) ||
    second > 60 ||
    hour > 24 ||
    (hour === 24 && (minute > 0 || second > 0));
  if (bad)
    throw new SqlError(
      'datetime_field_overflow',
      `time field value out of range: ${hour}:${String(minute).padStart(2, '0')}:${String(second).padStart(2, '0')}`,
    );
  return BigInt(hour * MICROS_PER_HOUR + minute * MICROS_PER_MINUTE + Math.round(second * MICROS_PER_SECOND));
}

/** A time of day after an interval's time, modulo a day. */
export function addToTime(t: bigint, v: Interval, sign: 1 | -1): bigint {
  const m = (Number(t) + sign * (v.micros % MICROS_PER_DAY)) % MICROS_PER_DAY;
  return BigInt(m < 0 ? m + MICROS_PER_DAY : m);
}
