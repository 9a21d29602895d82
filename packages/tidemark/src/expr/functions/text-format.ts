/** Values as text: concat, format, quoting. */
import { SqlError } from '../../base/error.ts';
import { textOf } from '../../repr/format.ts';
import { type Datum, type SqlType, typeToString } from '../../repr/types.ts';
import { formatContext } from '../context.ts';
import type { FunctionDef } from '../functions.ts';
import type { RowCall } from '../kernels/per-row.ts';
import { rowFunction } from './define.ts';

const error = (message: string): SqlError => new SqlError('invalid_parameter_value', message);

/** Words that an identifier must not be without quotes. */
const RESERVED = new Set(
  `all analyse analyze and any array as asc asymmetric between bigint bit boolean both case cast char character check
  coalesce collate column concurrently constraint create cross current_catalog current_date current_role
  current_schema current_time current_timestamp current_user dec decimal default deferrable desc distinct do else end
  except exists extract false fetch float for foreign freeze from full grant greatest group grouping having ilike in
  initially inner inout int integer intersect interval into is isnull join json_array json_arrayagg lateral leading
  least left like limit localtime localtimestamp national natural nchar none normalize not notnull null nullif numeric
  offset on only or order out outer overlaps overlay placing position precision primary real references returning
  right row select session_user setof similar smallint some substring symmetric system_user table tablesample then
  time timestamp to trailing treat trim true union unique user using values varchar variadic verbose when where
  window with xmlattributes`.split(/\s+/),
);
function quoteIdent(s: string): string {
  if (/^[a-z_][a-z0-9_]*$/.test(s) && !RESERVED.has(s)) return s;
  return `"${s.replaceAll('"', '""')}"`;
}
function quoteLiteral(s: string): string {
  const q = `'${s.replaceAll("'", "''")}'`;
  return s.includes('\\') ? ` E${q.replaceAll('\\', '\\\\')}`.trimStart() : q;
}

/** Text of any value, NULL as undefined. */
const output = (d: Datum, type: SqlType, call: RowCall): string =>
  textOf(type, d, formatContext(call.context));

const concat = (args: readonly Datum[], call: RowCall): string =>
  args.map((d, i) => (d === null ? '' : output(d, call.argTypes[i]!, call))).join('');

function concatWs([separator, ...rest]: readonly Datum[], call: RowCall): Datum {
  if (separator === null) return null;
  return rest
    .flatMap((d, i) => (d === null ? [] : [output(d, call.argTypes[i + 1]!, call)]))
    .join(separator as string);
}

/** `format(f, …)`: %s, %I, %L with position, flag and width. */
function format([pattern, ...args]: readonly Datum[], call: RowCall): Datum {
  if (pattern === null) return null;
  let next = 0;
  const spec = /%(?:(\d+)\$)?(-)?(?:(\d+)|\*(?:(\d+)\$)?)?([\s\S]?)/g;
  return (pattern as string).replace(spec, (whole, position, minus, width, starPosition, kind) => {
    if (kind === '%' && whole === '%%') return '%';
    if (kind === '')
      throw new SqlError('invalid_parameter_value', 'unterminated format() type specifier', {
        hint: 'For a single "%" use "%%".',
      });
    if (!'sIL'.includes(kind))
      throw new SqlError('invalid_parameter_value', `unrecognized format() type specifier "${kind}"`, {
        hint: 'For a single "%" use "%%".',
      });
    const take = (n: number): number => {
      if (n === 0) throw error('format specifies argument 0, but arguments are numbered from 1');
      if (n > args.length) throw error('too few arguments for format()');
      return n - 1;
    };
    let w = width === undefined ? 0 : Number(width);
    if (whole.includes('*')) {
      const at = take(starPosition === undefined ? ++next : Number(starPosition));
      w = args[at] === null ? 0 : Number(args[at]);
      if (starPosition !== undefined) next = Number(starPosition);
    }
    if (position !== undefined) next = Number(position) - 1;
    const at = take(++next);
    const text = formatOne(kind, args[at]!, call.argTypes[at + 1]!, call);
    const toLeft = minus !== undefined || w < 0;
    return toLeft ? text.padEnd(Math.abs(w)) : text.padStart(Math.abs(w));
  });
}

function formatOne(kind: string, d: Datum, type: SqlType, call: RowCall): string {
  if (d === null) {
    if (kind === 'I')
      throw new SqlError('null_value_not_allowed', 'null values cannot be formatted as an SQL identifier');
    return kind === 'L' ? 'NULL' : '';
  }
  const text = output(d, type, call);
  return kind === 'I' ? quoteIdent(text) : kind === 'L' ? quoteLiteral(text) : text;
}

const STABLE_ANY = { strict: false, volatility: 'stable', variadic: 'any' } as const;

export const TEXT_FORMAT: readonly FunctionDef[] = [
  rowFunction(
    'concat_text_any',
    '||',
    ['text', 'anynonarray'],
    'text',
    ([a, b], c) => a + output(b, c.argTypes[1]!, c),
    'A string joined with the text of a value.',
    { volatility: 'stable' },
  ),
  rowFunction(
    'concat_any_text',
    '||',
    ['anynonarray', 'text'],
    'text',
    ([a, b], c) => output(a, c.argTypes[0]!, c) + b,
    'The text of a value joined with a string.',
    { volatility: 'stable' },
  ),
  rowFunction(
    'concat',
    'concat',
    [],
    'text',
    concat,
    'The texts of all values joined; NULL counts as nothing.',
    {
      ...STABLE_ANY,
      nullable: false,
    },
  ),
  rowFunction(
    'concat_ws',
    'concat_ws',
    ['text'],
    'text',
    concatWs,
    'The texts of the values that are not NULL, joined by the first argument.',
    STABLE_ANY,
  ),
  rowFunction('format', 'format', ['text'], 'text', format, 'A text with %s, %I and %L filled in.', {
    ...STABLE_ANY,
    fallible: true,
  }),
  rowFunction(
    'quote_ident_text',
    'quote_ident',
    ['text'],
    'text',
    ([s]) => quoteIdent(s),
    'As an identifier.',
  ),
  rowFunction(
    'quote_literal_text',
    'quote_literal',
    ['text'],
    'text',
    ([s]) => quoteLiteral(s),
    'As a literal.',
  ),
  rowFunction(
    'quote_nullable_text',
    'quote_nullable',
    ['text'],
    'text',
    ([s]) => (s === null ? 'NULL' : quoteLiteral(s)),
    'As a literal, NULL as the word.',
    { strict: false, nullable: false },
  ),
  rowFunction(
    'pg_typeof',
    'pg_typeof',
    ['any'],
    'text',
    (_, c) => typeToString(c.argTypes[0]!),
    'Name of the type of the argument.',
    { strict: false, nullable: false },
  ),
];
