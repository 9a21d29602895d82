/** `to_char` of instants: the template patterns that reports use. An unknown letter pair stands for itself. */
import { civilFromDays, daysFromCivil, isoWeekday, type Moment } from '../../repr/datetime.ts';
import { MICROS_PER_HOUR, MICROS_PER_MINUTE, MICROS_PER_SECOND } from '../../repr/interval.ts';

const MONTHS = 'January February March April May June July August September October November December'.split(
  ' ',
);
const DAYS = 'Monday Tuesday Wednesday Thursday Friday Saturday Sunday'.split(' ');
const ROMAN = 'I II III IV V VI VII VIII IX X XI XII'.split(' ');

export interface Shown {
  readonly moment: Moment;
  /** Seconds east, and the name of the zone; null for a timestamp without one. */
  readonly offset: number | null;
  readonly zone: string;
}

const pad = (n: number, width: number, fill: boolean): string =>
  fill ? `${n < 0 ? '-' : ''}${String(Math.abs(n)).padStart(width, '0')}` : String(n);

/** Longest first, so that `MONTH` is not read as `MON`. */
const PATTERN =
  /FM|TH|th|"(?:[^"\\]|\\.)*"|Y,YYY|YYYY|YYY|YY|Y|IYYY|IYY|IY|HH24|HH12|HH|MI|SSSSS|SSSS|SS|MS|US|FF[1-6]|MONTH|Month|month|MON|Mon|mon|MM|DAY|Day|day|DY|Dy|dy|DDD|DD|D|IDDD|ID|IW|I|WW|W|CC|J|Q|RM|rm|A\.M\.|P\.M\.|a\.m\.|p\.m\.|AM|PM|am|pm|B\.C\.|A\.D\.|BC|AD|bc|ad|TZH|TZM|TZ|tz|OF|[\s\S]/g;

export function timestampToChar(shown: Shown, template: string): string {
  let out = '';
  let fill = true;
  let last: number | null = null;
  for (const [p] of template.matchAll(PATTERN)) {
    if (p === 'FM') {
      fill = false;
      continue;
    }
    if (p === 'TH' || p === 'th') {
      if (last !== null) out += p === 'TH' ? ordinal(last).toUpperCase() : ordinal(last);
      else out += p;
      continue;
    }
    if (p[0] === '"' && p.length > 1) {
      out += p.slice(1, -1).replace(/\\(.)/g, '$1');
      continue;
    }
    const piece = field(p, shown, fill);
    last = typeof piece === 'number' ? piece : /^\d+$/.test(piece) ? Number(piece) : null;
    out += piece;
    fill = true;
  }
  return out;
}

function ordinal(n: number): string {
  const tens = Math.floor(n / 10) % 10;
  if (tens === 1) return 'th';
  return ['th', 'st', 'nd', 'rd'][n % 10] ?? 'th';
}

function field(p: string, s: Shown, fill: boolean): string {
  return timePart(p, s, fill) ?? datePart(p, s, fill) ?? p;
}

function timePart(p: string, s: Shown, fill: boolean): string | undefined {
  const { micros } = s.moment;
  const hour = Math.floor(micros / MICROS_PER_HOUR);
  const second = Math.floor(micros / MICROS_PER_SECOND) % 60;
  const fraction = micros % MICROS_PER_SECOND;
  switch (p) {
    case 'HH24':
      return pad(hour, 2, fill);
    case 'HH':
    case 'HH12':
      return pad(hour % 12 === 0 ? 12 : hour % 12, 2, fill);
    case 'MI':
      return pad(Math.floor(micros / MICROS_PER_MINUTE) % 60, 2, fill);
    case 'SS':
      return pad(second, 2, fill);
    case 'SSSS':
    case 'SSSSS':
      return String(Math.floor(micros / MICROS_PER_SECOND));
    case 'MS':
      return pad(Math.floor(fraction / 1000), 3, true);
    case 'US':
      return pad(fraction, 6, true);
    case 'AM':
    case 'PM':
      return hour < 12 ? 'AM' : 'PM';
    case 'am':
    case 'pm':
      return hour < 12 ? 'am' : 'pm';
    case 'A.M.':
    case 'P.M.':
      return hour < 12 ? 'A.M.' : 'P.M.';
    case 'a.m.':
    case 'p.m.':
      return hour < 12 ? 'a.m.' : 'p.m.';
    case 'TZ':
      return s.zone.toUpperCase();
    case 'tz':
      return s.zone.toLowerCase();
    case 'TZH':
      return s.offset === null
        ? ''
        : `${s.offset < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(s.offset) / 3600), 2, true)}`;
    case 'TZM':
      return s.offset === null ? '' : pad(Math.floor(Math.abs(s.offset) / 60) % 60, 2, true);
    case 'OF': {
      if (s.offset === null) return '';
      const minutes = Math.floor(Math.abs(s.offset) / 60) % 60;
      const hours = `${s.offset < 0 ? '-' : '+'}${pad(Math.floor(Math.abs(s.offset) / 3600), 2, true)}`;
      return minutes === 0 ? hours : `${hours}:${pad(minutes, 2, true)}`;
    }
  }
  if (p.startsWith('FF')) return pad(Math.floor(fraction / 10 ** (6 - Number(p[2]))), Number(p[2]), true);
  return undefined;
}

function isoParts(days: number): { year: number; week: number } {
  // The ISO year is that of the week's Thursday.
  const thursday = days - isoWeekday(days) + 4;
  const { year } = civilFromDays(thursday);
  return {
    year: year > 0 ? year : 1 - year,
    week: Math.floor((thursday - daysFromCivil(year, 1, 1)) / 7) + 1,
  };
}

function datePart(p: string, s: Shown, fill: boolean): string | undefined {
  const { days } = s.moment;
  const { year, month, day } = civilFromDays(days);
  const shown = year > 0 ? year : 1 - year;
  const name = names(p, month, days, fill);
  if (name !== undefined) return name;
  const iso = isoParts(days);
  const doy = days - daysFromCivil(year, 1, 1) + 1;
  switch (p) {
    case 'YYYY':
      return pad(shown, 4, fill);
    case 'Y,YYY':
      return `${Math.floor(shown / 1000)},${pad(shown % 1000, 3, true)}`;
    case 'YYY':
      return pad(shown % 1000, 3, fill);
    case 'YY':
      return pad(shown % 100, 2, fill);
    case 'Y':
      return String(shown % 10);
    case 'IYYY':
      return pad(iso.year, 4, fill);
    case 'IYY':
      return pad(iso.year % 1000, 3, fill);
    case 'IY':
      return pad(iso.year % 100, 2, fill);
    case 'I':
      return String(iso.year % 10);
    case 'MM':
      return pad(month, 2, fill);
    case 'DDD':
      return pad(doy, 3, fill);
    case 'IDDD':
      return pad((iso.week - 1) * 7 + isoWeekday(days), 3, fill);
    case 'DD':
      return pad(day, 2, fill);
    case 'D':
      return String((isoWeekday(days) % 7) + 1);
    case 'ID':
      return String(isoWeekday(days));
    case 'WW':
      return pad(Math.floor((doy - 1) / 7) + 1, 2, fill);
    case 'W':
      return String(Math.floor((day - 1) / 7) + 1);
    case 'IW':
      return pad(iso.week, 2, fill);
    case 'CC':
      return pad(year > 0 ? Math.floor((year - 1) / 100) + 1 : -(Math.floor(-year / 100) + 1), 2, fill);
    case 'Q':
      return String(Math.floor((month - 1) / 3) + 1);
    case 'J':
      return String(days + 2440588);
    case 'BC':
    case 'AD':
      return year > 0 ? 'AD' : 'BC';
    case 'bc':
    case 'ad':
      return year > 0 ? 'ad' : 'bc';
    case 'B.C.':
    case 'A.D.':
      return year > 0 ? 'A.D.' : 'B.C.';
    default:
      return undefined;
  }
}

function names(p: string, month: number, days: number, fill: boolean): string | undefined {
  const key = p.toLowerCase();
  const cased = (s: string): string =>
    p === p.toUpperCase() ? s.toUpperCase() : p === key ? s.toLowerCase() : s;
  // Full names are padded to nine characters unless FM stands before.
  const wide = (s: string): string => (fill ? s.padEnd(9) : s);
  switch (key) {
    case 'month':
      return wide(cased(MONTHS[month - 1]!));
    case 'mon':
      return cased(MONTHS[month - 1]!.slice(0, 3));
    case 'day':
      return wide(cased(DAYS[isoWeekday(days) - 1]!));
    case 'dy':
      return cased(DAYS[isoWeekday(days) - 1]!.slice(0, 3));
    case 'rm':
      return fill ? cased(ROMAN[month - 1]!).padEnd(4) : cased(ROMAN[month - 1]!);
    default:
      return undefined;
  }
}
