/**
 * Intervals: months, days and microseconds, kept apart because a month has no fixed number of days and a day no
 * fixed number of hours. Printed in PostgreSQL's `postgres` style.
 *
 * Comparison counts 30 days a month and 24 hours a day, as PostgreSQL does, so '1 mon' = '30 days' in different
 * bytes: keys take `canonInterval`.
 *
 * The time field is a safe integer: at most 285 years of hours. PostgreSQL takes 292,000 years there; in exchange
 * nothing here goes through BigInt. Infinite intervals are refused (`interval-parse.ts`).
 *
 * Encoding: 16 bytes, little-endian: µs (8), days (4), months (4).
 */
import { SqlError } from '../base/error.ts';
import type { ColumnBuilder } from './column.ts';
import { Numeric, numericFromBig, numericFromInt } from './numeric.ts';

export const MICROS_PER_SECOND = 1_000_000;
export const MICROS_PER_MINUTE = 60_000_000;
export const MICROS_PER_HOUR = 3_600_000_000;
export const MICROS_PER_DAY = 86_400_000_000;
const DAYS_PER_MONTH = 30;
const INT4_MAX = 0x7fffffff;

export class Interval {
  readonly months: number;
  readonly days: number;
  readonly micros: number;
  constructor(months: number, days: number, micros: number) {
    this.months = months;
    this.days = days;
    this.micros = micros;
  }
  toString(): string {
    return intervalToText(this);
  }
}

/** rint(): half to even. */
export function roundEven(x: number): number {
  const r = Math.round(x);
  return Math.abs(x % 1) === 0.5 && r % 2 !== 0 ? r - 1 : r;
}

export const intervalOutOfRange = (): SqlError =>
  new SqlError('datetime_field_overflow', 'interval out of range');

/** An interval whose fields were computed: refuses what the format cannot hold. */
export function makeInterval(months: number, days: number, micros: number): Interval {
  if (
    Math.abs(months) > INT4_MAX ||
    Math.abs(days) > INT4_MAX ||
    !Number.isSafeInteger(micros) ||
    !Number.isInteger(months) ||
    !Number.isInteger(days)
  )
    throw intervalOutOfRange();
  return new Interval(months + 0, days + 0, micros + 0);
}

// --- bytes

const scratch = new Uint8Array(16);
const view = new DataView(scratch.buffer);

function writeInterval(v: Interval): void {
  view.setInt32(0, v.micros | 0, true);
  view.setInt32(4, Math.floor(v.micros / 4294967296), true);
  view.setInt32(8, v.days, true);
  view.setInt32(12, v.months, true);
}

export function encodeInterval(builder: ColumnBuilder, v: Interval): void {
  writeInterval(v);
  builder.pushBytes(scratch, 0, 16);
}
export function intervalBytes(v: Interval): Uint8Array<ArrayBuffer> {
  writeInterval(v);
  return scratch.slice();
}
const int32At = (b: Uint8Array, p: number): number =>
  b[p]! | (b[p + 1]! << 8) | (b[p + 2]! << 16) | (b[p + 3]! << 24);

export function decodeInterval(bytes: Uint8Array, from = 0): Interval {
  const micros = int32At(bytes, from + 4) * 4294967296 + (int32At(bytes, from) >>> 0);
  return new Interval(int32At(bytes, from + 12), int32At(bytes, from + 8), micros);
}

// --- text out

const pad2 = (n: number): string => (n < 10 ? `0${n}` : String(n));

/** `.5` for 500000 µs, nothing for none. */
export function fractionText(micros: number): string {
  if (micros === 0) return '';
  return `.${String(micros).padStart(6, '0').replace(/0+$/, '')}`;
}

export function intervalToText(v: Interval): string {
  let out = '';
  let before = false;
  const part = (n: number, unit: string): void => {
    if (n === 0) return;
    out += `${out === '' ? '' : ' '}${before && n > 0 ? '+' : ''}${n} ${unit}${n === 1 ? '' : 's'}`;
    before = n < 0;
  };
  part(Math.trunc(v.months / 12), 'year');
  part(v.months % 12, 'mon');
  part(v.days, 'day');
  if (v.micros !== 0 || out === '') {
    const t = Math.abs(v.micros);
    const hours = Math.floor(t / MICROS_PER_HOUR);
    const minutes = Math.floor(t / MICROS_PER_MINUTE) % 60;
    const seconds = Math.floor(t / MICROS_PER_SECOND) % 60;
    const sign = v.micros < 0 ? '-' : before ? '+' : '';
    out += `${out === '' ? '' : ' '}${sign}${pad2(hours)}:${pad2(minutes)}:${pad2(seconds)}`;
    out += fractionText(t % MICROS_PER_SECOND);
  }
  return out;
}

// --- order and arithmetic

/** Whole days and the µs left in [0, one day), 30 days a month. */
function span(v: Interval): { days: number; rest: number } {
  const carry = Math.floor(v.micros / MICROS_PER_DAY);
  return { days: v.months * DAYS_PER_MONTH + v.days + carry, rest: v.micros - carry * MICROS_PER_DAY };
}

export function compareInterval(a: Interval, b: Interval): number {
  const x = span(a);
  const y = span(b);
  return x.days - y.days || x.rest - y.rest;
}

/** One representative of all equal intervals: fields justified to 24 hours and 30 days, of one sign. */
export function canonInterval(v: Interval): Interval {
  let { days, rest } = span(v);
  if (days < 0 && rest > 0) {
    days++;
    rest -= MICROS_PER_DAY;
  }
  const months = Math.trunc(days / DAYS_PER_MONTH);
  if (Math.abs(months) > INT4_MAX) return new Interval(0, days, rest);
  return new Interval(months + 0, (days % DAYS_PER_MONTH) + 0, rest);
}

export const addInterval = (a: Interval, b: Interval): Interval =>
  makeInterval(a.months + b.months, a.days + b.days, a.micros + b.micros);
export const subInterval = (a: Interval, b: Interval): Interval =>
  makeInterval(a.months - b.months, a.days - b.days, a.micros - b.micros);
export const negInterval = (v: Interval): Interval => makeInterval(0 - v.months, 0 - v.days, 0 - v.micros);

/** Rounds away the noise of doubles, as PostgreSQL does to the microsecond. */
const tidy = (x: number): number => roundEven(x * 1e6) / 1e6;

export function mulInterval(v: Interval, factor: number): Interval {
  return scale(v.months * factor, v.days * factor, v.micros * factor);
}
export function divInterval(v: Interval, divisor: number): Interval {
  if (divisor === 0) throw new SqlError('division_by_zero', 'division by zero');
  return scale(v.months / divisor, v.days / divisor, v.micros / divisor);
}
function scale(months: number, days: number, micros: number): Interval {
  if (!Number.isFinite(months + days + micros)) throw intervalOutOfRange();
  const wholeMonths = Math.trunc(months);
  let wholeDays = Math.trunc(days);
  const monthDays = tidy((months - wholeMonths) * DAYS_PER_MONTH);
  let seconds = tidy((days - wholeDays + monthDays - Math.trunc(monthDays)) * 86400);
  if (Math.abs(seconds) >= 86400) {
    const carry = Math.trunc(seconds / 86400);
    wholeDays += carry;
    seconds -= carry * 86400;
  }
  wholeDays += Math.trunc(monthDays);
  return makeInterval(wholeMonths, wholeDays, roundEven(micros + seconds * 1e6));
}

/** Whole `size`s of the lower field move to the upper one, and both get one sign. */
function carried(upper: number, lower: number, size: number): readonly [upper: number, lower: number] {
  const whole = Math.trunc(lower / size);
  const up = upper + whole;
  const low = lower - whole * size;
  if (up > 0 && low < 0) return [up - 1, low + size];
  return up < 0 && low > 0 ? [up + 1, low - size] : [up, low];
}

export function justifyHours(v: Interval): Interval {
  const [days, micros] = carried(v.days, v.micros, MICROS_PER_DAY);
  return makeInterval(v.months, days, micros);
}

export function justifyDays(v: Interval): Interval {
  const [months, days] = carried(v.months, v.days, DAYS_PER_MONTH);
  return makeInterval(months, days, v.micros);
}

export function justifyInterval(v: Interval): Interval {
  let { months, days, micros } = v;
  const wholeDays = Math.trunc(micros / MICROS_PER_DAY);
  days += wholeDays;
  micros -= wholeDays * MICROS_PER_DAY;
  const wholeMonths = Math.trunc(days / DAYS_PER_MONTH);
  months += wholeMonths;
  days -= wholeMonths * DAYS_PER_MONTH;
  if (months > 0 && (days < 0 || (days === 0 && micros < 0))) {
    days += DAYS_PER_MONTH;
    months--;
  } else if (months < 0 && (days > 0 || (days === 0 && micros > 0))) {
    days -= DAYS_PER_MONTH;
    months++;
  }
  if (days > 0 && micros < 0) {
    micros += MICROS_PER_DAY;
    days--;
  } else if (days < 0 && micros > 0) {
    micros -= MICROS_PER_DAY;
    days++;
  }
  return makeInterval(months, days, micros);
}

/** `extract(field from interval)`; undefined for a field that intervals do not have. */
export function extractInterval(field: string, v: Interval): Numeric | undefined {
  const years = Math.trunc(v.months / 12);
  const seconds = v.micros % MICROS_PER_MINUTE;
  switch (field) {
    case 'microseconds':
      return numericFromInt(seconds);
    case 'milliseconds':
      return new Numeric(seconds + 0, null, 3);
    case 'second':
      return new Numeric(seconds + 0, null, 6);
    case 'minute':
      return numericFromInt(Math.trunc(v.micros / MICROS_PER_MINUTE) % 60);
    case 'hour':
      return numericFromInt(Math.trunc(v.micros / MICROS_PER_HOUR));
    case 'day':
      return numericFromInt(v.days);
    case 'week':
      return numericFromInt(Math.trunc(v.days / 7));
    case 'month':
      return numericFromInt(v.months % 12);
    case 'quarter': {
      const month = v.months % 12;
      return numericFromInt(v.months >= 0 ? Math.trunc(month / 3) + 1 : -(Math.trunc(-month / 3) + 1));
    }
    case 'year':
      return numericFromInt(years);
    case 'decade':
      return numericFromInt(Math.trunc(years / 10));
    case 'century':
      return numericFromInt(Math.trunc(years / 100));
    case 'millennium':
      return numericFromInt(Math.trunc(years / 1000));
    case 'epoch': {
      // A year counts 365.25 days here, a month 30.
      const days = years * 365.25 + (v.months % 12) * DAYS_PER_MONTH + v.days;
      return numericFromBig(BigInt(days * 4) * BigInt(MICROS_PER_DAY / 4) + BigInt(v.micros), 6);
    }
    default:
      return undefined;
  }
}
