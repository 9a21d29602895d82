/**
 * Input of intervals: PostgreSQL's verbose form ('1 year 2 mons 3 days 04:05:06', 'ago', '@'), SQL's ('1-2 3 4:05:06')
 * and ISO 8601 ('P1Y2M3DT4H5M6S'), with the field restrictions of the type (`interval '90' minute`).
 */
import { SqlError, unsupported } from '../base/error.ts';
import {
  type Interval,
  MICROS_PER_DAY,
  MICROS_PER_HOUR,
  MICROS_PER_MINUTE,
  MICROS_PER_SECOND,
  makeInterval,
  roundEven,
} from './interval.ts';
import { trimSpace } from './numeric.ts';

const DAYS_PER_MONTH = 30;
const INT4_MAX = 0x7fffffff;

type Unit =
  | 'microsecond'
  | 'millisecond'
  | 'second'
  | 'minute'
  | 'hour'
  | 'day'
  | 'week'
  | 'month'
  | 'quarter'
  | 'year'
  | 'decade'
  | 'century'
  | 'millennium';

/** Spellings of PostgreSQL's units. */
const UNITS: Readonly<Record<string, Unit>> = (() => {
  const table: Record<string, Unit> = {};
  const spellings: Record<Unit, string> = {
    microsecond: 'us usec usecs usecond useconds microsecond microseconds microsecon',
    millisecond: 'ms msec msecs msecond mseconds millisecond milliseconds millisecon',
    second: 's sec secs second seconds',
    minute: 'm min mins minute minutes',
    hour: 'h hr hrs hour hours',
    day: 'd day days',
    week: 'w week weeks',
    month: 'mon mons month months',
    quarter: 'qtr quarter',
    year: 'y yr yrs year years',
    decade: 'dec decs decade decades',
    century: 'c cent century centuries',
    millennium: 'mil mils millennium millennia',
  };
  for (const [unit, words] of Object.entries(spellings) as [Unit, string][])
    for (const w of words.split(' ')) table[w] = unit;
  return table;
})();

/** The unit that a spelling means (`mons`, `hrs` …), for `extract` and `date_trunc` too. */
export const unitOf = (word: string): Unit | undefined =>
  Object.hasOwn(UNITS, word) ? UNITS[word] : undefined;

const MICROS: Partial<Record<Unit, number>> = {
  microsecond: 1,
  millisecond: 1000,
  second: MICROS_PER_SECOND,
  minute: MICROS_PER_MINUTE,
  hour: MICROS_PER_HOUR,
};
const MONTHS: Partial<Record<Unit, number>> = {
  month: 1,
  quarter: 3,
  year: 12,
  decade: 120,
  century: 1200,
  millennium: 12000,
};

/** Sums fields; a fraction of a larger unit spills into the smaller ones, as PostgreSQL spreads it. */
/** A decimal as its whole and its fraction, both with its sign. */
function decimal(text: string): [whole: number, fraction: number] {
  const point = text.indexOf('.');
  const negative = text.startsWith('-');
  const whole = Math.abs(Number(point < 0 ? text : text.slice(0, point)) || 0);
  const fraction = point < 0 ? 0 : Number(`0${text.slice(point)}`);
  return negative ? [0 - whole, 0 - fraction] : [whole, fraction];
}

class Sum {
  months = 0;
  days = 0;
  micros = 0;

  /** `fraction` comes apart from the whole, so that 9999999.99 does not lose microseconds. */
  add(unit: Unit, whole: number, fraction = 0): void {
    const perMonth = MONTHS[unit];
    if (perMonth !== undefined) {
      this.months += whole * perMonth;
      if (unit === 'month') this.#addDays(fraction * DAYS_PER_MONTH);
      else this.months += roundEven(fraction * perMonth);
    } else if (unit === 'week' || unit === 'day') {
      const days = unit === 'week' ? 7 : 1;
      this.days += whole * days;
      this.#addDays(fraction * days);
    } else this.micros += whole * MICROS[unit]! + roundEven(fraction * MICROS[unit]!);
  }

  #addDays(n: number): void {
    const whole = Math.trunc(n);
    this.days += whole;
    this.micros += roundEven((n - whole) * MICROS_PER_DAY);
  }
}

const badSyntax = (text: string): SqlError =>
  new SqlError('invalid_datetime_format', `invalid input syntax for type interval: "${text}"`);
const fieldOverflow = (text: string): SqlError =>
  new SqlError('interval_field_overflow', `interval field value out of range: "${text}"`);

/** `fields` restricts as in `interval '1' day` or `interval '1:02' minute to second`; lower case. */
export function parseInterval(text: string, fields?: string): Interval {
  const s = trimSpace(text).toLowerCase();
  if (/^[+-]?inf(inity)?$/.test(s)) throw unsupported('an infinite interval');
  const sum = new Sum();
  if (s.startsWith('p')) parseIso(text, s, sum);
  else parseVerbose(text, s, sum, fields);
  if (Math.abs(sum.months) > INT4_MAX || Math.abs(sum.days) > INT4_MAX || !Number.isSafeInteger(sum.micros))
    throw fieldOverflow(text);
  return restrict(makeInterval(sum.months, sum.days, sum.micros), fields);
}

const TOKEN =
  /\s*(?:([+-]?)(\d+):(\d+)(?::(\d+)(\.\d*)?|(\.\d+))?|([+-]?)(\d+)-(\d+)(?![\d.-])|([+-]?\d+\.?\d*|\.\d+)|([a-z]+)|(@))\s*/y;

interface Piece {
  readonly kind: 'time' | 'yearMonth' | 'number' | 'word';
  readonly negative: boolean;
  readonly parts: readonly number[];
  readonly word: string;
}

/** Words that a digit may follow at once, as in `1y2mon`; PostgreSQL takes any other for a zone or a date. */
const TOUCHING = new Set(['y', 'd', 'h', 'm', 's', 'mm', 'mon', 'dec']);

/** Whether a token may stand right before the next character: white space parts any two. */
function mayTouch(token: string, next: string): boolean {
  if (next === '' || /\s$/.test(token)) return true;
  const last = token.charAt(token.length - 1);
  if (/[a-z]/.test(last)) return !/[-+.\d]/.test(next) || (/\d/.test(next) && TOUCHING.has(token.trim()));
  return last === '@' || (last !== '.' && /[a-z]/.test(next));
}

function tokens(text: string, s: string): Piece[] {
  const out: Piece[] = [];
  TOKEN.lastIndex = 0;
  let at = 0;
  while (at < s.length) {
    const m = TOKEN.exec(s);
    if (m === null) throw badSyntax(text);
    at = TOKEN.lastIndex;
    if (!mayTouch(m[0], s.charAt(at))) throw badSyntax(text);
    const piece = (kind: Piece['kind'], sign: string | undefined, parts: number[], word = ''): void => {
      out.push({ kind, negative: sign === '-', parts, word });
    };
    if (m[2] !== undefined) {
      const fraction = m[5] ?? m[6];
      piece('time', m[1], [
        Number(m[2]),
        Number(m[3]),
        m[4] === undefined ? -1 : Number(m[4]),
        fraction === undefined ? 0 : Number(`0${fraction}`),
        m[6] === undefined ? 0 : 1,
      ]);
    } else if (m[8] !== undefined) piece('yearMonth', m[7], [Number(m[8]), Number(m[9])]);
    else if (m[10] !== undefined) piece('number', '', decimal(m[10]));
    else if (m[11] !== undefined) piece('word', '', [], m[11]);
  }
  return out;
}

function addTime(text: string, p: Piece, sum: Sum, fields: string | undefined): void {
  let [h, m, s] = p.parts as [number, number, number];
  const fraction = p.parts[3]!;
  // 'mm:ss' where the fields say so or a fraction follows the second number.
  if (s < 0) {
    if (fields === 'minute to second' || p.parts[4] === 1) [h, m, s] = [0, h, m];
    else s = 0;
  }
  if (m > 59 || s > 60) throw fieldOverflow(text);
  const t = h * MICROS_PER_HOUR + m * MICROS_PER_MINUTE + s * MICROS_PER_SECOND + roundEven(fraction * 1e6);
  sum.micros += p.negative ? -t : t;
}

function parseVerbose(text: string, s: string, sum: Sum, fields: string | undefined): void {
  const pieces = tokens(text, s);
  let ago = false;
  if (pieces.at(-1)?.kind === 'word' && pieces.at(-1)!.word === 'ago') {
    ago = true;
    pieces.pop();
  }
  if (pieces.length === 0) throw badSyntax(text);
  const last = fields
    ?.replace(/^.* to /, '')
    .replace(/\(.*$/, '')
    .trim();
  let bare: Unit | undefined = last === undefined || last === '' ? 'second' : unitOf(last);
  const seen = new Set<string>();
  const once = (what: string): void => {
    if (seen.has(what)) throw badSyntax(text);
    seen.add(what);
  };
  for (let i = pieces.length - 1; i >= 0; i--) {
    const p = pieces[i]!;
    if (p.kind === 'time') {
      for (const unit of ['hour', 'minute', 'second']) once(unit);
      addTime(text, p, sum, fields);
      bare = 'day';
    } else if (p.kind === 'yearMonth') {
      once('month');
      if (p.parts[1]! > 11) throw fieldOverflow(text);
      const months = p.parts[0]! * 12 + p.parts[1]!;
      sum.months += p.negative ? -months : months;
      bare = undefined;
    } else if (p.kind === 'number') {
      if (bare === undefined) throw badSyntax(text);
      once(bare);
      sum.add(bare, p.parts[0]!, p.parts[1]!);
      bare = undefined;
    } else {
      const unit = unitOf(p.word);
      const n = pieces[i - 1];
      // `quarter` is a field to extract, not a unit of input.
      if (unit === undefined || unit === 'quarter' || n?.kind !== 'number') throw badSyntax(text);
      bare = unit;
    }
  }
  if (ago) {
    sum.months = -sum.months;
    sum.days = -sum.days;
    sum.micros = -sum.micros;
  }
}

const ISO_NUMBER = '([+-]?(?:\\d+\\.?\\d*|\\.\\d+))';
const ISO_PART = new RegExp(`${ISO_NUMBER}([ymwdhs])`, 'y');
const ISO_UNITS = { y: 'year', m: 'month', w: 'week', d: 'day', h: 'hour', s: 'second' } as const;

function parseIso(text: string, s: string, sum: Sum): void {
  let at = 1;
  let time = false;
  if (at === s.length) throw badSyntax(text);
  const alternative = /^(\d{1,4})(?:-(\d{1,2})(?:-(\d{1,2}))?)?(?:t(\d+):(\d+):(\d+(?:\.\d+)?))?$/.exec(
    s.slice(at),
  );
  if (alternative !== null) {
    const [y, mo, d, h, mi, se] = alternative.slice(1).map((x) => Number(x ?? 0));
    sum.add('year', y!);
    sum.add('month', mo!);
    sum.add('day', d!);
    sum.add('hour', h!);
    sum.add('minute', mi!);
    sum.add('second', Math.trunc(se!), se! % 1);
    return;
  }
  while (at < s.length) {
    if (s[at] === 't' && !time) {
      time = true;
      at++;
      continue;
    }
    ISO_PART.lastIndex = at;
    const m = ISO_PART.exec(s);
    if (m === null) throw badSyntax(text);
    const letter = m[2] as keyof typeof ISO_UNITS;
    if (time !== (letter === 'h' || letter === 's') && letter !== 'm') throw badSyntax(text);
    sum.add(letter === 'm' && time ? 'minute' : ISO_UNITS[letter], ...decimal(m[1]!));
    at = ISO_PART.lastIndex;
  }
}

/** Drops what is finer than the fields of the type. */
function restrict(v: Interval, fields: string | undefined): Interval {
  if (fields === undefined) return v;
  const last = fields.replace(/^.* to /, '');
  const cut = (unit: number): number => Math.trunc(v.micros / unit) * unit;
  switch (last.replace(/\(.*$/, '').trim()) {
    case 'year':
      return makeInterval(Math.trunc(v.months / 12) * 12, 0, 0);
    case 'month':
      return makeInterval(v.months, 0, 0);
    case 'day':
      return makeInterval(v.months, v.days, 0);
    case 'hour':
      return makeInterval(v.months, v.days, cut(MICROS_PER_HOUR));
    case 'minute':
      return makeInterval(v.months, v.days, cut(MICROS_PER_MINUTE));
    default: {
      const precision = /\((\d)\)/.exec(last);
      if (precision === null) return v;
      const unit = 10 ** (6 - Math.min(6, Number(precision[1])));
      const half = v.micros < 0 ? -unit / 2 : unit / 2;
      return unit === 1 ? v : makeInterval(v.months, v.days, Math.trunc((v.micros + half) / unit) * unit);
    }
  }
}
