/**
 * Input of dates and times: ISO 8601 through one regular expression (what programs send), PostgreSQL's looser
 * forms through tokens ('Jan 5 2020', '1/8/1999' as month/day/year, '20200105T040506', AM/PM, BC, zone names).
 * What depends on the present (`now`, `today`) or the session's zone takes it from the context.
 */
import { SqlError } from '../base/error.ts';
import {
  checkDate,
  DATE_INFINITY,
  DATE_NEG_INFINITY,
  daysFromCivil,
  daysInMonth,
  fromMoment,
  instantOf,
  localMoment,
  type Micros,
  type Moment,
  TIMESTAMP_INFINITY,
  TIMESTAMP_NEG_INFINITY,
} from './datetime.ts';
import {
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  MICROS_PER_MINUTE,
  MICROS_PER_SECOND,
  roundEven,
} from './interval.ts';
import { trimSpace } from './numeric.ts';
import { abbreviationOffset, findTimeZone, parseOffset, type TimeZone, UTC } from './time-zone.ts';

export interface DateTimeContext {
  readonly timeZone: TimeZone;
  /** µs since 1970 of what `now` means. */
  readonly nowMicros: Micros;
}

export const UTC_CONTEXT: DateTimeContext = { timeZone: UTC, nowMicros: 0 };

type What = 'date' | 'time' | 'timestamp' | 'timestamptz';
const TYPE_NAME: Record<What, string> = {
  date: 'date',
  time: 'time',
  timestamp: 'timestamp',
  timestamptz: 'timestamp with time zone',
};

/** What the text said. */
interface Reading {
  infinite: 0 | 1 | -1;
  days: number | undefined;
  micros: number | undefined;
  zone: TimeZone | undefined;
}

class Parser {
  readonly text: string;
  readonly what: What;
  readonly ctx: DateTimeContext;
  constructor(text: string, what: What, ctx: DateTimeContext) {
    this.text = text;
    this.what = what;
    this.ctx = ctx;
  }

  bad(): SqlError {
    return new SqlError(
      'invalid_datetime_format',
      `invalid input syntax for type ${TYPE_NAME[this.what]}: "${this.text}"`,
    );
  }
  range(hint?: string): SqlError {
    return new SqlError('datetime_field_overflow', `date/time field value out of range: "${this.text}"`, {
      hint,
    });
  }

  days(year: number, month: number, day: number, bc: boolean, hint?: string): number {
    if (bc && year <= 0) throw this.range();
    const y = bc ? 1 - year : year;
    if (year === 0 || month < 1 || month > 12 || day < 1 || day > 31) throw this.range(hint);
    if (day > daysInMonth(y, month)) throw this.range();
    return daysFromCivil(y, month, day);
  }

  clock(hour: number, minute: number, second: number, fraction: number): number {
    if (hour > 24 || minute > 59 || second > 60) throw this.range();
    const micros =
      hour * MICROS_PER_HOUR +
      minute * MICROS_PER_MINUTE +
      second * MICROS_PER_SECOND +
      roundEven(fraction * MICROS_PER_SECOND);
    if (micros > MICROS_PER_DAY) throw this.range();
    return micros;
  }

  offset(text: string): TimeZone {
    const o = parseOffset(text);
    if (o === undefined || Math.abs(o) >= 16 * 3600)
      throw new SqlError(
        'time_zone_displacement_overflow',
        `time zone displacement out of range: "${this.text}"`,
      );
    return fixedZone(o);
  }
}

/** A zone of one offset in the ISO sense. */
const fixedZones = new Map<number, TimeZone>();
function fixedZone(seconds: number): TimeZone {
  if (seconds === 0) return UTC;
  let zone = fixedZones.get(seconds);
  if (zone === undefined) {
    const a = Math.abs(seconds);
    const two = (n: number): string => String(n).padStart(2, '0');
    // The POSIX name turns the sign round.
    const name = `${seconds > 0 ? '-' : '+'}${two(Math.floor(a / 3600))}:${two(Math.floor(a / 60) % 60)}:${two(a % 60)}`;
    zone = findTimeZone(name)!;
    fixedZones.set(seconds, zone);
  }
  return zone;
}

const ISO =
  /^(\d{4,7})-(\d{1,2})-(\d{1,2})(?:(?:[Tt]|[ ]+)(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?)?)?[ ]?(Z|z|[+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?)?(?:[ ]+(BC|AD|bc|ad))?$/;

function read(p: Parser): Reading {
  const s = trimSpace(p.text);
  const m = ISO.exec(s);
  // A minus right after a date is no zone; the tokens tell.
  if (m === null || (m[4] === undefined && m[8]?.startsWith('-'))) return readTokens(p, s);
  const r: Reading = { infinite: 0, days: undefined, micros: undefined, zone: undefined };
  r.days = p.days(Number(m[1]), Number(m[2]), Number(m[3]), m[9]?.toUpperCase() === 'BC');
  if (m[4] !== undefined) {
    const fraction = m[7] ? Number(`0.${m[7]}`) : 0;
    r.micros = p.clock(Number(m[4]), Number(m[5]), Number(m[6] ?? 0), fraction);
  }
  if (m[8] !== undefined) r.zone = m[8] === 'Z' || m[8] === 'z' ? UTC : p.offset(m[8]);
  return r;
}

const MONTH_NAMES =
  'january february march april may june july august september october november december'.split(' ');
const DAY_NAMES = 'sunday monday tuesday wednesday thursday friday saturday'.split(' ');
const DAY_SHORT = new Set(['sun', 'mon', 'tue', 'tues', 'wed', 'weds', 'thu', 'thur', 'thurs', 'fri', 'sat']);

function monthOf(word: string): number {
  if (word === 'sept') return 9;
  if (word.length < 3) return 0;
  return MONTH_NAMES.findIndex((n) => n === word || (word.length === 3 && n.startsWith(word))) + 1;
}

const TOKEN =
  /[ ,]*(?:(\d{1,2}):(\d{1,2})(?::(\d{1,2})(\.\d*)?)?|(\d+)([-/.])(\d+|[a-z]{3,9})\6(\d+)|(?:t(?=\d))|([+-]\d{1,2}(?::?\d{2}(?::?\d{2})?)?)|(\d+)(\.\d*)?(?:st|nd|rd|th)?|([a-z][a-z_]*(?:\/[a-z0-9_+-]+)*))/y;

/** Fields as the tokens give them, before they are put together. */
interface Fields {
  year: number | undefined;
  month: number | undefined;
  day: number | undefined;
  numbers: { value: number; width: number }[];
  meridiem: string;
  bc: boolean;
  hour: number;
  textMonth: boolean;
  dashed: boolean;
}

function readTokens(p: Parser, s: string): Reading {
  const r: Reading = { infinite: 0, days: undefined, micros: undefined, zone: undefined };
  const lower = s.toLowerCase();
  if (readWord(p, lower, r)) return r;
  const f: Fields = {
    year: undefined,
    month: undefined,
    day: undefined,
    numbers: [],
    meridiem: '',
    bc: false,
    hour: -1,
    textMonth: false,
    dashed: false,
  };
  let at = 0;
  let any = false;
  while (at < lower.length) {
    TOKEN.lastIndex = at;
    const m = TOKEN.exec(lower);
    if (m === null) {
      if (/^[ ,]+$/.test(lower.slice(at))) break;
      throw p.bad();
    }
    any = true;
    if (!mayTouch(m, lower.charAt(TOKEN.lastIndex))) throw p.bad();
    token(p, s.slice(at), m, f, r);
    at = TOKEN.lastIndex;
    // A sign after digits is a zone only where the digits were a time.
    if (m[10] !== undefined && r.micros === undefined && /[-+]/.test(lower.charAt(at))) throw p.bad();
  }
  if (!any) throw p.bad();
  finishFields(p, f, r);
  return r;
}

/** Whether a token may stand right before the next character. */
function mayTouch(m: RegExpExecArray, next: string): boolean {
  if (m[5] !== undefined) return !/[-/.\d]/.test(next);
  if (m[12] !== undefined) return !/[-.\d]/.test(next);
  if (m[9] !== undefined) return !/\d/.test(next);
  return true;
}

/** Words that stand for a whole value. */
function readWord(p: Parser, word: string, r: Reading): boolean {
  const today = (): Moment => localMoment(p.ctx.nowMicros, p.ctx.timeZone);
  switch (word) {
    case 'infinity':
    case '+infinity':
    case '-infinity':
      if (p.what === 'time') throw p.bad();
      r.infinite = word === '-infinity' ? -1 : 1;
      return true;
    case 'epoch':
      r.days = 0;
      r.micros = 0;
      r.zone = UTC;
      return true;
    case 'allballs':
      r.micros = 0;
      r.zone = UTC;
      return true;
    case 'now':
    case 'today':
    case 'tomorrow':
    case 'yesterday': {
      const t = today();
      r.days = t.days + (word === 'tomorrow' ? 1 : word === 'yesterday' ? -1 : 0);
      r.micros = word === 'now' ? t.micros : 0;
      return true;
    }
    default:
      return false;
  }
}

function token(p: Parser, source: string, m: RegExpExecArray, f: Fields, r: Reading): void {
  if (m[1] !== undefined) {
    if (r.micros !== undefined) throw p.bad();
    f.hour = Number(m[1]);
    r.micros = p.clock(
      f.hour,
      Number(m[2]),
      Number(m[3] ?? 0),
      m[4] && m[4] !== '.' ? Number(`0${m[4]}`) : 0,
    );
  } else if (m[5] !== undefined) dateToken(p, m[5], m[7]!, m[8]!, f);
  else if (m[9] !== undefined) {
    const first = !f.dashed && r.micros === undefined && f.numbers.length === 0;
    if (first || r.zone !== undefined) throw p.bad();
    r.zone = p.offset(m[9]);
  } else if (m[10] !== undefined) numberToken(p, m[10], m[11], f, r);
  else if (m[12] !== undefined) wordToken(p, m[12], source, f, r);
  // The T of ISO 8601 follows a date.
  else if (!f.dashed && f.year === undefined && p.what !== 'time') throw p.bad();
}

function dateToken(p: Parser, a: string, b: string, c: string, f: Fields): void {
  if (f.dashed) throw p.bad();
  f.dashed = true;
  // Only a year has more than two digits.
  if (/^\d{3}/.test(b) || (a.length >= 3 && c.length > 2)) throw p.bad();
  if (/[a-z]/.test(b)) {
    // 08-Jan-1999 or 1999-Jan-08
    f.month = monthOf(b);
    if (f.month === 0) throw p.bad();
    if (a.length >= 3) [f.year, f.day] = [Number(a), Number(c)];
    else [f.day, f.year] = [Number(a), shortYear(c)];
  } else if (a.length >= 3) [f.year, f.month, f.day] = [Number(a), Number(b), Number(c)];
  else [f.month, f.day, f.year] = [Number(a), Number(b), shortYear(c)];
}

/** Two digits mean 1970–2069. */
function shortYear(s: string): number {
  const n = Number(s);
  return s.length <= 2 ? n + (n < 70 ? 2000 : 1900) : n;
}

function numberToken(p: Parser, digits: string, fraction: string | undefined, f: Fields, r: Reading): void {
  const dated = f.dashed || f.year !== undefined;
  if (fraction !== undefined && !(dated && digits.length === 6)) throw p.bad();
  if (digits.length === 8 && !dated) {
    f.dashed = true;
    f.year = Number(digits.slice(0, 4));
    f.month = Number(digits.slice(4, 6));
    f.day = Number(digits.slice(6));
  } else if (
    (digits.length === 6 || digits.length === 4) &&
    (dated || p.what === 'time') &&
    r.micros === undefined
  ) {
    f.hour = Number(digits.slice(0, 2));
    const second = digits.length === 6 ? Number(digits.slice(4)) : 0;
    r.micros = p.clock(f.hour, Number(digits.slice(2, 4)), second, fraction ? Number(`0${fraction}`) : 0);
  } else if (digits.length === 6 && f.numbers.length === 0 && !f.textMonth) {
    f.dashed = true;
    f.year = shortYear(digits.slice(0, 2));
    f.month = Number(digits.slice(2, 4));
    f.day = Number(digits.slice(4));
  } else f.numbers.push({ value: Number(digits), width: digits.length });
}

function wordToken(p: Parser, word: string, source: string, f: Fields, r: Reading): void {
  const month = monthOf(word);
  if (month > 0) {
    if (f.month !== undefined) throw p.bad();
    f.month = month;
    f.textMonth = true;
  } else if (word === 'bc' || word === 'ad') f.bc = word === 'bc';
  else if (word === 'am' || word === 'pm') f.meridiem = word;
  else if (word === 'at' || word === 'on' || DAY_SHORT.has(word) || DAY_NAMES.includes(word)) return;
  else {
    const offset = abbreviationOffset(word);
    // A bare word is no value of any type: 'est' is refused, '12:00 est' is a time.
    if (r.zone !== undefined || (r.micros === undefined && !f.dashed && f.numbers.length === 0))
      throw p.bad();
    if (offset !== undefined) {
      r.zone = fixedZone(offset);
      return;
    }
    const named = source.replace(/^[ ,]+/, '').slice(0, word.length);
    const zone = findTimeZone(named);
    if (zone === undefined) {
      if (word.includes('/'))
        throw new SqlError('invalid_parameter_value', `time zone "${word}" not recognized`);
      throw p.bad();
    }
    r.zone = zone;
  }
}

const DATE_STYLE_HINT = 'Perhaps you need a different "datestyle" setting.';

function finishFields(p: Parser, f: Fields, r: Reading): void {
  if (f.meridiem !== '') {
    if (r.micros === undefined || f.hour < 1 || f.hour > 12)
      throw r.micros === undefined ? p.bad() : p.range();
    if (f.meridiem === 'pm' && f.hour !== 12) r.micros += 12 * MICROS_PER_HOUR;
    if (f.meridiem === 'am' && f.hour === 12) r.micros -= 12 * MICROS_PER_HOUR;
  }
  if (!f.dashed && (f.textMonth || f.numbers.length > 0)) placeNumbers(p, f);
  else if (f.numbers.length > 0) throw p.bad();
  if (f.month === undefined && f.day === undefined && f.year === undefined) return;
  if (f.year === undefined || f.month === undefined || f.day === undefined) throw p.bad();
  r.days = p.days(f.year, f.month, f.day, f.bc, DATE_STYLE_HINT);
}

/** 'Jan 8 1999', '8 Jan 1999', '1999 Jan 8', '1 8 1999'. */
function placeNumbers(p: Parser, f: Fields): void {
  const n = f.numbers;
  if (n.length !== (f.textMonth ? 2 : 3)) throw p.bad();
  const year = n.findIndex((x) => x.width >= 3);
  const at = year >= 0 ? year : n.length - 1;
  const y = n[at]!;
  f.year = y.width <= 2 ? shortYear(String(y.value).padStart(2, '0')) : y.value;
  const rest = n.filter((_, i) => i !== at);
  if (!f.textMonth) f.month = rest.shift()!.value;
  f.day = rest[0]!.value;
}

// --- the four types

/** Days since 1970-01-01. A time of day is read and dropped. */
export function parseDate(text: string, ctx: DateTimeContext = UTC_CONTEXT): number {
  const p = new Parser(text, 'date', ctx);
  const r = read(p);
  if (r.infinite !== 0) return r.infinite > 0 ? DATE_INFINITY : DATE_NEG_INFINITY;
  if (r.days === undefined) throw p.bad();
  try {
    return checkDate(r.days);
  } catch {
    throw new SqlError('datetime_field_overflow', `date out of range: "${text}"`);
  }
}

/** µs since midnight, at most a whole day. A zone is read and dropped. */
export function parseTime(text: string, ctx: DateTimeContext = UTC_CONTEXT): number {
  const p = new Parser(text, 'time', ctx);
  const r = read(p);
  if (r.micros === undefined) throw p.bad();
  return r.micros;
}

const outOfRange = (text: string): SqlError =>
  new SqlError('datetime_field_overflow', `timestamp out of range: "${text}"`);

export function parseTimestamp(text: string, ctx: DateTimeContext = UTC_CONTEXT): bigint {
  const p = new Parser(text, 'timestamp', ctx);
  const r = read(p);
  if (r.infinite !== 0) return r.infinite > 0 ? TIMESTAMP_INFINITY : TIMESTAMP_NEG_INFINITY;
  if (r.days === undefined) throw p.bad();
  try {
    return fromMoment(r.days, r.micros ?? 0);
  } catch {
    throw outOfRange(text);
  }
}

export function parseTimestamptz(text: string, ctx: DateTimeContext = UTC_CONTEXT): bigint {
  const p = new Parser(text, 'timestamptz', ctx);
  const r = read(p);
  if (r.infinite !== 0) return r.infinite > 0 ? TIMESTAMP_INFINITY : TIMESTAMP_NEG_INFINITY;
  if (r.days === undefined) throw p.bad();
  try {
    const micros = r.micros ?? 0;
    // 24:00 is midnight of the next day.
    const carry = micros === MICROS_PER_DAY ? 1 : 0;
    return instantOf({ days: r.days + carry, micros: carry ? 0 : micros }, r.zone ?? ctx.timeZone);
  } catch {
    throw outOfRange(text);
  }
}
