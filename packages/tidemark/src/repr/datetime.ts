/**
 * Dates and times: `date` is days since 1970-01-01, `time` µs since midnight, `timestamp` and `timestamptz` µs
 * since 1970-01-01Z, all proleptic Gregorian. Year 0 is 1 BC.
 *
 * A timestamp is a bigint as a datum, and 285 years around 1970 are safe integers; every function here takes
 * either. Inside, an instant is a `Moment`: the day, and the µs of that day, both exact doubles over the whole
 * range (4714 BC to 294246 AD; PostgreSQL, counting from 2000, goes 30 years further).
 */
import { SqlError } from '../base/error.ts';
import {
  fractionText,
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  MICROS_PER_MINUTE,
  MICROS_PER_SECOND,
} from './interval.ts';
import { offsetText, type TimeZone } from './time-zone.ts';

/** µs since 1970; a number is a safe integer or one of the infinities' doubles. */
export type Micros = number | bigint;

export interface Moment {
  readonly days: number;
  /** In [0, one day). */
  readonly micros: number;
}

export const TIMESTAMP_INFINITY = 0x7fffffffffffffffn;
export const TIMESTAMP_NEG_INFINITY = -0x8000000000000000n;
export const DATE_INFINITY = 0x7fffffff;
export const DATE_NEG_INFINITY = -0x80000000;
/** As doubles, which an i64 cell of an infinity reads as. */
const INFINITY_DOUBLE = 2 ** 63;

/** Days of 4714-11-24 BC, the first that PostgreSQL knows, and the first days past timestamp's and date's range. */
const MIN_DAYS = -2440588;
const TIMESTAMP_END = 106751983; // 294247-01-01: an int64 of µs since 1970 ends ten days later
const DATE_END = 2145042906; // 5874898-01-01

export const isInfinite = (t: Micros): boolean =>
  typeof t === 'number'
    ? t >= INFINITY_DOUBLE || t <= -INFINITY_DOUBLE
    : t === TIMESTAMP_INFINITY || t === TIMESTAMP_NEG_INFINITY;

export function toMoment(t: Micros): Moment {
  if (typeof t === 'number') {
    const days = Math.floor(t / MICROS_PER_DAY);
    return { days, micros: t - days * MICROS_PER_DAY };
  }
  const n = Number(t);
  if (Number.isSafeInteger(n)) return toMoment(n);
  let days = Number(t / BigInt(MICROS_PER_DAY));
  let micros = Number(t % BigInt(MICROS_PER_DAY));
  if (micros < 0) {
    micros += MICROS_PER_DAY;
    days--;
  }
  return { days, micros };
}

export const timestampOutOfRange = (): SqlError =>
  new SqlError('datetime_field_overflow', 'timestamp out of range');
const dateOutOfRange = (): SqlError => new SqlError('datetime_field_overflow', 'date out of range');

/** The instant `micros` (any safe integer) after the start of a day, checked against the range of timestamps. */
export function fromMoment(days: number, micros: number): bigint {
  const carry = Math.floor(micros / MICROS_PER_DAY);
  const d = days + carry;
  if (!(d >= MIN_DAYS && d < TIMESTAMP_END)) throw timestampOutOfRange();
  const n = d * MICROS_PER_DAY + (micros - carry * MICROS_PER_DAY);
  if (Number.isSafeInteger(n)) return BigInt(n);
  return BigInt(d) * BigInt(MICROS_PER_DAY) + BigInt(micros - carry * MICROS_PER_DAY);
}

export function checkDate(days: number): number {
  if (!(days >= MIN_DAYS && days < DATE_END)) throw dateOutOfRange();
  return days;
}

// --- calendar

/** Days since 1970-01-01 of a civil date; the month may leave 1–12, the day may be anything. */
export function daysFromCivil(year: number, month: number, day: number): number {
  const m = month - 1;
  const y0 = year + Math.floor(m / 12);
  const m0 = m - Math.floor(m / 12) * 12;
  // Years from March, so that the leap day is the last.
  const y = m0 < 2 ? y0 - 1 : y0;
  const era = Math.floor(y / 400);
  const yoe = y - era * 400;
  const doy = Math.floor((153 * ((m0 + 10) % 12) + 2) / 5) + day - 1;
  return era * 146097 + yoe * 365 + Math.floor(yoe / 4) - Math.floor(yoe / 100) + doy - 719468;
}

export interface Civil {
  readonly year: number;
  readonly month: number;
  readonly day: number;
}

export function civilFromDays(days: number): Civil {
  const z = days + 719468;
  const era = Math.floor(z / 146097);
  const doe = z - era * 146097;
  const yoe = Math.floor(
    (doe - Math.floor(doe / 1460) + Math.floor(doe / 36524) - Math.floor(doe / 146096)) / 365,
  );
  const doy = doe - (365 * yoe + Math.floor(yoe / 4) - Math.floor(yoe / 100));
  const mp = Math.floor((5 * doy + 2) / 153);
  const day = doy - Math.floor((153 * mp + 2) / 5) + 1;
  const month = mp < 10 ? mp + 3 : mp - 9;
  return { year: era * 400 + yoe + (month <= 2 ? 1 : 0), month, day };
}

const isLeapYear = (y: number): boolean => y % 4 === 0 && (y % 100 !== 0 || y % 400 === 0);
const MONTH_DAYS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
export const daysInMonth = (year: number, month: number): number =>
  month === 2 && isLeapYear(year) ? 29 : MONTH_DAYS[month - 1]!;

/** 1 Monday … 7 Sunday. */
export const isoWeekday = (days: number): number => ((((days + 3) % 7) + 7) % 7) + 1;

// --- text out

const pad = (n: number, width: number): string => String(n).padStart(width, '0');

/** `2020-01-31`, without the era. */
function civilText(c: Civil): string {
  const y = c.year > 0 ? c.year : 1 - c.year;
  return `${pad(y, 4)}-${pad(c.month, 2)}-${pad(c.day, 2)}`;
}

export function dateToText(days: number): string {
  if (days === DATE_INFINITY) return 'infinity';
  if (days === DATE_NEG_INFINITY) return '-infinity';
  const c = civilFromDays(days);
  return c.year > 0 ? civilText(c) : `${civilText(c)} BC`;
}

export function timeToText(micros: number): string {
  const hours = Math.floor(micros / MICROS_PER_HOUR);
  const minutes = Math.floor(micros / MICROS_PER_MINUTE) % 60;
  const seconds = Math.floor(micros / MICROS_PER_SECOND) % 60;
  return `${pad(hours, 2)}:${pad(minutes, 2)}:${pad(seconds, 2)}${fractionText(micros % MICROS_PER_SECOND)}`;
}

const infinityText = (t: Micros): string => (t > 0 ? 'infinity' : '-infinity');

export function timestampToText(t: Micros): string {
  if (isInfinite(t)) return infinityText(t);
  const m = toMoment(t);
  const c = civilFromDays(m.days);
  return `${civilText(c)} ${timeToText(m.micros)}${c.year > 0 ? '' : ' BC'}`;
}

export function timestamptzToText(t: Micros, zone: TimeZone): string {
  if (isInfinite(t)) return infinityText(t);
  const offset = offsetOf(t, zone);
  const m = shift(toMoment(t), offset);
  const c = civilFromDays(m.days);
  return `${civilText(c)} ${timeToText(m.micros)}${offsetText(offset)}${c.year > 0 ? '' : ' BC'}`;
}

// --- zones

/** Seconds east of UTC at an instant. */
export const offsetOf = (t: Micros, zone: TimeZone): number =>
  zone.fixed ?? zone.offsetAt(Number(t) / MICROS_PER_SECOND);

/** A moment moved by seconds. */
function shift(m: Moment, seconds: number): Moment {
  if (seconds === 0) return m;
  const micros = m.micros + seconds * MICROS_PER_SECOND;
  const carry = Math.floor(micros / MICROS_PER_DAY);
  return { days: m.days + carry, micros: micros - carry * MICROS_PER_DAY };
}

/** What a clock in the zone shows at an instant: `timestamptz AT TIME ZONE`. */
export function localMoment(t: Micros, zone: TimeZone): Moment {
  return shift(toMoment(t), offsetOf(t, zone));
}

export function timestamptzToLocal(t: Micros, zone: TimeZone): bigint {
  if (isInfinite(t)) return t > 0 ? TIMESTAMP_INFINITY : TIMESTAMP_NEG_INFINITY;
  const m = localMoment(t, zone);
  return fromMoment(m.days, m.micros);
}

/** The instant at which a clock in the zone shows a moment: `timestamp AT TIME ZONE`. */
export function instantOf(m: Moment, zone: TimeZone): bigint {
  const offset = zone.fixed ?? zone.offsetOfLocal(m.days * 86400 + Math.floor(m.micros / MICROS_PER_SECOND));
  const u = shift(m, -offset);
  return fromMoment(u.days, u.micros);
}

export function localToTimestamptz(t: Micros, zone: TimeZone): bigint {
  if (isInfinite(t)) return t > 0 ? TIMESTAMP_INFINITY : TIMESTAMP_NEG_INFINITY;
  return instantOf(toMoment(t), zone);
}
