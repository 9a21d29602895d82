/**
 * Types of columns that their format does not declare, from the text of their cells. A cell allows a set of types;
 * a column gets the first, in the order of `ORDER`, that all its cells allow, and text if there is none, or no cell.
 *
 * - boolean: `true`, `false`, `t`, `f`
 * - bigint: digits and a sign, in range; a leading zero makes it text (`00501` is a code, not a number)
 * - double precision: decimals and exponents with at most 17 digits, NaN, Infinity; also where bigints are among them
 * - numeric: more digits than those two hold
 * - date, timestamp with and without time zone: ISO 8601, or with slashes for dashes; dates are among timestamps
 *
 * The price of narrow forms: a month by name stays text, which a view casts in one place; a guess that is wrong in a
 * million rows would be worse.
 */
import { parseDate, parseTimestamp, parseTimestamptz } from '../repr/datetime-parse.ts';
import { INT_RANGE } from '../repr/scalars.ts';
import { type SqlType, type TypeName, type } from '../repr/types.ts';

const BOOL = 1;
const INT = 2;
const FLOAT = 4;
const NUMERIC = 8;
const DATE = 16;
const TIMESTAMP = 32;
const TIMESTAMPTZ = 64;
/** A set of types by bit: what a cell, or all cells of a column, can be. Text always can. */
export type TypeSet = number;
export const ANY_TYPE: TypeSet = 127;

const ORDER: readonly (readonly [bit: number, name: TypeName])[] = [
  [BOOL, 'bool'],
  [INT, 'int8'],
  [FLOAT, 'float8'],
  [NUMERIC, 'numeric'],
  [DATE, 'date'],
  [TIMESTAMP, 'timestamp'],
  [TIMESTAMPTZ, 'timestamptz'],
];

const INTEGER = /^[+-]?(?:0|[1-9]\d*)$/;
const DECIMAL = /^[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?$/;
const FLOAT_WORD = /^(?:nan|[+-]?inf(?:inity)?)$/i;
const BOOL_WORD = /^(?:t|f|true|false)$/i;
const MOMENT =
  /^\d{4}([-/])\d{2}\1\d{2}(?:([ T])\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?(Z|[+-]\d{2}(?::?\d{2})?)?)?$/;
/** A double gives back every decimal of so many digits, and none of more. */
const DOUBLE_DIGITS = 17;

/** The types that a number's text can be. */
export function numberTypes(text: string): TypeSet {
  if (INTEGER.test(text)) {
    if (text.length <= 18) return INT | FLOAT | NUMERIC;
    const v = BigInt(text);
    return v >= INT_RANGE.int8.min && v <= INT_RANGE.int8.max ? INT | FLOAT | NUMERIC : NUMERIC;
  }
  if (!DECIMAL.test(text)) return 0;
  const digits = text.replace(/[eE].*$/, '').replace(/^[+-]?0*\.?0*|[.]/g, '').length;
  const v = Number(text);
  const fits = digits <= DOUBLE_DIGITS && Number.isFinite(v) && (v !== 0 || digits === 0);
  return fits ? FLOAT | NUMERIC : NUMERIC;
}

export const BOOL_TYPES: TypeSet = BOOL;

/** The types that a cell's text can be. */
export function cellTypes(text: string): TypeSet {
  const c = text.charCodeAt(0);
  if ((c >= 48 && c <= 57) || c === 45 || c === 43 || c === 46) {
    const n = numberTypes(text);
    if (n !== 0) return n;
  }
  const m = MOMENT.exec(text);
  if (m !== null) return momentTypes(text, m[2] !== undefined, m[3] !== undefined);
  if (BOOL_WORD.test(text)) return BOOL;
  return FLOAT_WORD.test(text) ? FLOAT : 0;
}

function momentTypes(text: string, time: boolean, zone: boolean): TypeSet {
  try {
    if (zone) parseTimestamptz(text);
    else if (time) parseTimestamp(text);
    else parseDate(text);
  } catch {
    return 0;
  }
  return zone ? TIMESTAMPTZ : time ? TIMESTAMP : DATE | TIMESTAMP;
}

/** The type of a column whose cells all allow `set`. */
export function inferredType(set: TypeSet): SqlType {
  if (set === ANY_TYPE) return type('text');
  return type(ORDER.find(([bit]) => (set & bit) !== 0)?.[1] ?? 'text');
}

/** Names for columns: an empty one gets its number, a repeated one a suffix that makes it its own. */
export function columnNames(given: readonly string[]): string[] {
  const taken = new Set<string>();
  return given.map((name, i) => {
    const base = name === '' ? `column${i + 1}` : name;
    let own = base;
    for (let k = 2; taken.has(own) || (own !== base && given.includes(own)); k++) own = `${base}_${k}`;
    taken.add(own);
    return own;
  });
}
