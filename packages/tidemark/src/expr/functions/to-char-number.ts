/**
 * `to_char` of numbers: digits (9, 0), point, groups, FM, S and MI, and literal text. The other letters of number
 * templates are refused by name.
 */
import { SqlError, unsupported } from '../../base/error.ts';
import {
  absNumeric,
  type Numeric,
  numericFromBig,
  numericFromInt,
  numericToText,
  roundNumeric,
} from '../../repr/numeric.ts';
import type { Datum } from '../../repr/types.ts';
import type { FunctionDef } from '../functions.ts';
import { FAILS, rowFunction } from './define.ts';

interface Template {
  /** FM: no blanks, no trailing zeros where a 9 stands. */
  readonly fill: boolean;
  readonly whole: readonly string[];
  /** Null: no point. */
  readonly fraction: readonly string[] | null;
  readonly sign: 'float' | 'before' | 'after' | 'minus-after';
}

const TOKEN = /FM|MI|S|[90.D,G]|PR|PL|SG|L|RN|rn|TH|th|V|EEEE|B|"[^"]*"|[\s\S]/g;

function parseTemplate(text: string): Template {
  let fill = true;
  let sign: Template['sign'] = 'float';
  const whole: string[] = [];
  let fraction: string[] | null = null;
  for (const [t] of text.matchAll(TOKEN)) {
    const into: string[] = fraction ?? whole;
    if (t === 'FM') fill = false;
    else if (t === 'S' || t === 'MI') {
      const first = whole.length === 0 && fraction === null;
      if (sign !== 'float' || (t === 'MI' && first)) throw unsupported(`${t} there in a number template`);
      sign = t === 'MI' ? 'minus-after' : first ? 'before' : 'after';
    } else if (t === '.' || t === 'D') {
      if (fraction !== null) throw new SqlError('syntax_error', 'multiple decimal points');
      fraction = [];
    } else if (t === ',' || t === 'G' || t === '9' || t === '0') into.push(t === 'G' ? ',' : t);
    else if (/^[A-Za-z]/.test(t)) throw unsupported(`${t} in a number template`);
    else throw unsupported(`literal text in a number template`);
  }
  return { fill, whole, fraction, sign };
}

const isDigit = (t: string): boolean => t === '9' || t === '0';

/** The digits before the point, with blanks; `#` for each where they do not fit. */
function wholePart(t: Template, digits: string): { blanks: string; shown: string } {
  const width = t.whole.filter(isDigit).length;
  // A template without a place before the point has none for the zero there either.
  const over = digits.length > width || width === 0;
  const padding = width - digits.length;
  let blanks = '';
  let shown = '';
  let at = 0;
  let zero = false;
  for (const p of t.whole) {
    if (p === ',') {
      if (shown !== '') shown += ',';
      else if (t.fill) blanks += ' ';
      continue;
    }
    if (p === '0') zero = true;
    if (over) shown += '#';
    else if (at >= padding) shown += digits[at - padding]!;
    else if (zero) shown += '0';
    else if (t.fill) blanks += ' ';
    at++;
  }
  return { blanks, shown };
}

function numberToChar(n: Numeric, text: string): string {
  if (!n.finite) throw unsupported('to_char of a number that is not finite');
  const t = parseTemplate(text);
  const places = t.fraction?.filter(isDigit).length ?? 0;
  const rounded = roundNumeric(n, places);
  const [whole = '0', fraction = ''] = numericToText(absNumeric(rounded)).split('.');
  // A zero before a point with digits after it is not shown.
  const part = wholePart(t, whole === '0' && places > 0 ? '' : whole);
  let { shown } = part;
  let after = '';
  if (t.fraction !== null) {
    const full = whole.length > t.whole.filter(isDigit).length;
    const digits = full ? '#'.repeat(places) : fraction.padEnd(places, '0');
    const kept = t.fill ? places : keptDigits(t.fraction.filter(isDigit), digits);
    after = `.${digits.slice(0, kept)}`;
    if (kept === 0 && shown === '') shown = '0';
  }
  const negative = rounded.sign < 0;
  const { blanks } = part;
  const body = shown + after;
  if (t.sign === 'after') return `${blanks}${body}${negative ? '-' : '+'}`;
  if (t.sign === 'minus-after') return `${blanks}${body}${negative ? '-' : t.fill ? ' ' : ''}`;
  if (t.sign === 'before') return `${blanks}${negative ? '-' : '+'}${body}`;
  return `${blanks}${negative ? '-' : t.fill ? ' ' : ''}${body}`;
}

/** FM drops zeros at the end, down to the last 0 of the template. */
function keptDigits(template: readonly string[], digits: string): number {
  let n = digits.length;
  while (n > 0 && digits[n - 1] === '0' && template.lastIndexOf('0') < n - 1) n--;
  return n;
}

const toNumeric = {
  int4: (d: Datum) => numericFromInt(d as number),
  int8: (d: Datum) => numericFromBig(d as bigint),
  numeric: (d: Datum) => d as Numeric,
} as const;

export const TO_CHAR_NUMBER: readonly FunctionDef[] = (
  Object.keys(toNumeric) as (keyof typeof toNumeric)[]
).map((t) =>
  rowFunction(
    `to_char_${t}_text`,
    'to_char',
    [t, 'text'],
    'text',
    ([d, template]) => numberToChar(toNumeric[t](d), template),
    'A number after a template.',
    FAILS,
  ),
);
