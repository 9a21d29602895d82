/**
 * Offsets of time zones at instants. The library knows the rules; what it says is cached as spans between two
 * transitions, so that a column of timestamps asks it about once a span. UTC and fixed offsets need no library.
 */
import { Temporal } from 'temporal-polyfill';
import { SqlError } from '../base/error.ts';

/** Rules repeat every 400 years; the library stops near the year 275760, so far instants are mapped back. */
const CYCLE_SECONDS = 146097 * 86400;
/** 2500-01-01 and 1800-01-01 in seconds since 1970. */
const FAR_FUTURE = 16725225600;
const FAR_PAST = -5364662400;

interface Span {
  /** Seconds since 1970: from (inclusive) and to (exclusive). */
  readonly from: number;
  readonly to: number;
  /** Seconds east of UTC. */
  readonly offset: number;
}

/** Abbreviations of PostgreSQL's default set that clients send; seconds east. */
const ABBREVIATIONS: Readonly<Record<string, number>> = {
  utc: 0,
  gmt: 0,
  z: 0,
  zulu: 0,
  uct: 0,
  wet: 0,
  west: 3600,
  bst: 3600,
  cet: 3600,
  cest: 7200,
  met: 3600,
  mest: 7200,
  eet: 7200,
  eest: 10800,
  ist: 7200,
  msk: 10800,
  msd: 14400,
  jst: 32400,
  kst: 32400,
  aest: 36000,
  aedt: 39600,
  awst: 28800,
  nzst: 43200,
  nzdt: 46800,
  ast: -14400,
  adt: -10800,
  est: -18000,
  edt: -14400,
  cst: -21600,
  cdt: -18000,
  mst: -25200,
  mdt: -21600,
  pst: -28800,
  pdt: -25200,
  akst: -32400,
  akdt: -28800,
  hst: -36000,
};

export class TimeZone {
  /** As `SHOW timezone` prints it. */
  readonly name: string;
  /** Seconds east when the zone is one offset for ever. */
  readonly fixed: number | null;
  readonly #spans: Span[] = [];
  #last: Span | null = null;

  constructor(name: string, fixed: number | null) {
    this.name = name;
    this.fixed = fixed;
  }

  /** Seconds east of UTC at an instant (seconds since 1970). */
  offsetAt(seconds: number): number {
    if (this.fixed !== null) return this.fixed;
    let t = Math.max(Math.floor(seconds), FAR_PAST);
    if (t >= FAR_FUTURE) t = FAR_FUTURE - CYCLE_SECONDS + ((t - FAR_FUTURE) % CYCLE_SECONDS);
    const last = this.#last;
    if (last !== null && t >= last.from && t < last.to) return last.offset;
    const span = this.#spans.find((s) => t >= s.from && t < s.to) ?? this.#ask(t);
    this.#last = span;
    return span.offset;
  }

  #ask(t: number): Span {
    const at = Temporal.Instant.fromEpochMilliseconds(t * 1000).toZonedDateTimeISO(this.name);
    const seconds = (z: Temporal.ZonedDateTime | null, otherwise: number): number =>
      z === null ? otherwise : Math.floor(z.epochMilliseconds / 1000);
    // 'previous' looks strictly before, so it starts one nanosecond later.
    const from = at.add({ nanoseconds: 1 }).getTimeZoneTransition('previous');
    const span: Span = {
      from: seconds(from, Number.NEGATIVE_INFINITY),
      to: seconds(at.getTimeZoneTransition('next'), Number.POSITIVE_INFINITY),
      offset: at.offsetNanoseconds / 1e9,
    };
    this.#spans.push(span);
    return span;
  }

  /**
   * The offset for a local reading (seconds since 1970 as if it were UTC). A reading that a forward jump skips
   * takes the offset before it; one that happens twice is the later: PostgreSQL's choices.
   */
  offsetOfLocal(local: number): number {
    if (this.fixed !== null) return this.fixed;
    const before = this.offsetAt(local - 86400);
    const after = this.offsetAt(local + 86400);
    if (before === after) return before;
    return this.offsetAt(local - after) === after ? after : before;
  }
}

export const UTC = new TimeZone('UTC', 0);
const zones = new Map<string, TimeZone>([
  ['utc', UTC],
  ['gmt', new TimeZone('GMT', 0)],
]);

/** `+05`, `-0830`, `+05:30`, `+05:30:15` as seconds east in the ISO sense; undefined if it is none. */
export function parseOffset(text: string): number | undefined {
  const m = /^([+-])(\d{1,2})(?::?(\d{2})(?::?(\d{2}))?)?$/.exec(text);
  if (m === null) return undefined;
  if (Number(m[3] ?? 0) > 59 || Number(m[4] ?? 0) > 59) return undefined;
  const seconds = Number(m[2]) * 3600 + Number(m[3] ?? 0) * 60 + Number(m[4] ?? 0);
  return m[1] === '-' ? 0 - seconds : seconds;
}

/** Seconds east of an abbreviation (`EST`, `Z`). */
export const abbreviationOffset = (word: string): number | undefined => {
  const w = word.toLowerCase();
  return Object.hasOwn(ABBREVIATIONS, w) ? ABBREVIATIONS[w] : undefined;
};

/** `+05`, `+05:30` as PostgreSQL prints an offset. */
export function offsetText(offset: number): string {
  const a = Math.abs(offset);
  const two = (n: number): string => String(n).padStart(2, '0');
  const s = a % 60;
  const m = Math.floor(a / 60) % 60;
  const tail = s !== 0 ? `:${two(m)}:${two(s)}` : m !== 0 ? `:${two(m)}` : '';
  return `${offset < 0 ? '-' : '+'}${two(Math.floor(a / 3600))}${tail}`;
}

/** A zone by name, abbreviation or offset (POSIX sign, as `AT TIME ZONE '+05'` has it); undefined if there is none. */
export function findTimeZone(name: string): TimeZone | undefined {
  const key = name.trim().toLowerCase();
  const known = zones.get(key);
  if (known !== undefined) return known;
  const zone = resolve(name.trim(), key);
  // Names come from clients: the cache must not grow with what they invent.
  if (zone !== undefined && zones.size < 2000) zones.set(key, zone);
  return zone;
}

function resolve(name: string, key: string): TimeZone | undefined {
  const offset = parseOffset(name);
  if (offset !== undefined)
    return Math.abs(offset) >= 16 * 3600
      ? undefined
      : new TimeZone(`<${offsetText(-offset)}>${name}`, 0 - offset);
  const abbreviation = abbreviationOffset(key);
  if (abbreviation !== undefined) return new TimeZone(name.toUpperCase(), abbreviation);
  if (!/^[a-z][a-z0-9_+\-/]*$/.test(key)) return undefined;
  try {
    return new TimeZone(Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name).timeZoneId, null);
  } catch {
    return undefined; // The library throws RangeError for a name that it does not know.
  }
}

export function timeZone(name: string): TimeZone {
  const zone = findTimeZone(name);
  if (zone === undefined) throw new SqlError('invalid_parameter_value', `time zone "${name}" not recognized`);
  return zone;
}
