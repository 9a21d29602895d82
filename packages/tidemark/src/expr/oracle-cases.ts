/** What oracle.test.ts asks: edge values by type, and calls whose arguments no table can enumerate. */
import { arrayOf, type SqlType, type TypeName, type } from '../repr/types.ts';
import type { FunctionDef, Pattern } from './functions.ts';

export const EDGES: Partial<Record<TypeName, readonly string[]>> = {
  bool: ['t', 'f'],
  int2: ['0', '1', '-1', '7', '-5', '32767', '-32768', '100'],
  int4: ['0', '1', '-1', '2', '3', '-7', '10', '2147483647', '-2147483648', '65536', '31', '33'],
  int8: [
    '0',
    '1',
    '-1',
    '3',
    '-10',
    '9223372036854775807',
    '-9223372036854775808',
    '9007199254740993',
    '4294967296',
    '-4294967297',
    '3037000500',
  ],
  float4: ['0', '1', '-1.5', '0.1', '3.4e38', '-3.4e38', '1e-45', 'NaN', 'Infinity', '-Infinity', '16777217'],
  float8: [
    '0',
    '-0',
    '1',
    '-1',
    '0.5',
    '2.5',
    '-3.5',
    '1e308',
    '-1e308',
    '5e-324',
    'NaN',
    'Infinity',
    '-Infinity',
    '123456.789',
    '9007199254740993',
  ],
  numeric: [
    '0',
    '1',
    '-1',
    '0.00',
    '1.50',
    '-2.5',
    '3',
    '123456789012345678.123',
    '0.0000001',
    'NaN',
    'Infinity',
    '-Infinity',
    '99.995',
    '10',
  ],
  text: [
    '',
    'a',
    'abc',
    'ABC',
    'a%b',
    'a_c',
    '%',
    '_b%',
    'héllo wörld',
    '日本語',
    'a\\b',
    'foo.bar.baz',
    '  x ',
    '😀x',
    '12',
    'hour',
    'abcabc',
    '^a',
    'b+',
    'O\'Brien "q"',
  ],
  bpchar: ['a', 'a  ', 'b', ''],
  name: ['a', 'pg_catalog', 'B'],
  bytea: ['\\x', '\\x00ff', '\\x616263', '\\x61'],
  date: [
    '2000-01-01',
    '1999-12-31',
    '2024-02-29',
    '0001-01-01 BC',
    '1970-01-01',
    'infinity',
    '-infinity',
    '2021-03-14',
    '1582-10-15',
  ],
  time: ['00:00:00', '12:34:56.789', '23:59:59.999999', '24:00:00'],
  timestamp: [
    '2000-01-01 00:00:00',
    '2024-02-29 12:34:56.789012',
    '1969-12-31 23:59:59.5',
    '0044-03-15 10:00:00 BC',
    '2021-03-14 02:30:00',
    'infinity',
    '-infinity',
    '2021-11-07 01:30:00',
    '1999-12-31 23:59:59',
    '2001-01-01 01:01:01',
  ],
  timestamptz: [
    '2000-01-01 00:00:00+00',
    '2024-02-29 12:34:56.789012+00',
    '1969-12-31 23:59:59.5+00',
    '2021-03-14 06:30:00+00',
    '2021-03-14 07:30:00+00',
    'infinity',
    '-infinity',
    '2021-11-07 05:30:00+00',
    '2021-11-07 06:30:00+00',
    '1883-11-18 12:00:00+00',
  ],
  interval: [
    '0',
    '1 day',
    '-1 day 2 hours',
    '1 mon',
    '1 year 2 mons 3 days 04:05:06.789',
    '24:00:00',
    '-00:00:01',
    '30 days',
    '10 years',
    '00:15:00',
  ],
  uuid: ['00000000-0000-0000-0000-000000000000', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  jsonb: [
    'null',
    'true',
    '1',
    '1.0',
    '"a"',
    '[]',
    '{}',
    '[1, 2, "a", null]',
    '{"a": 1, "b": {"c": [1, 2]}}',
    '{"a": null}',
    '[[1], {"a": 2}]',
    '"abc"',
    '{"a": 1}',
    '-1.50e2',
  ],
  oid: ['0', '1', '4294967295', '16384'],
};
const ARRAYS: Readonly<Record<string, readonly string[]>> = {
  'text[]': ['{}', '{a}', '{a,b,NULL}', '{b,c}', '{0}', '{1,c}', '{a,abc}'],
  'int4[]': ['{}', '{1}', '{1,2,NULL}', '{{1,2},{3,4}}', '[0:2]={5,6,7}', '{3,1,2}'],
};

/** Units that `extract` and its kin are asked for. */
const UNITS =
  'microseconds millisecond second minute hour day week month quarter year decade century millennium dow isodow doy isoyear epoch timezone timezone_hour julian foo'.split(
    ' ',
  );
const TEMPLATES = [
  'YYYY-MM-DD HH24:MI:SS.US',
  'FMMonth FMDD, YYYY',
  'Day DD Mon YY',
  'Q WW IW IYYY ID D DDD',
  'HH12:MI AM',
  'MONTH|Dy',
  'FMHH24hFMMI',
  'J CC',
  '"at" HH:MI',
  'DDth',
];
const NUMBER_TEMPLATES =
  '9 99 999,999.99 FM999,999.00 0 000.0 FM990.09 S999 999S 999MI FM9.9 9999999999 FM0000 .99 9.9 99,999 FM99.99'.split(
    ' ',
  );
const ZONES = ['UTC', 'Europe/Paris', 'America/New_York', '+05:30', 'Nowhere/Land', 'EST'];

/** What argument `k` of a function is drawn from; undefined where PostgreSQL has no such type. */
export function valuesFor(def: FunctionDef, k: number, p: Pattern): readonly string[] | undefined {
  if (p.endsWith('[]')) return ARRAYS[p];
  const { name } = def;
  if (p === 'text' && k === 0 && ['extract', 'date_part', 'date_trunc'].includes(name!)) return UNITS;
  if (
    p === 'text' &&
    ((name === 'timezone' && k === 0) ||
      (name === 'date_trunc' && k === 2) ||
      (name === 'make_timestamptz' && k === 6))
  )
    return ZONES;
  if (name === 'to_char') {
    if (k === 0) return EDGES[p as TypeName];
    return /int|numeric|float/.test(def.args[0]!) ? NUMBER_TEMPLATES : TEMPLATES;
  }
  if (p === 'text' && k === 1 && (name === 'encode' || name === 'decode')) return ['hex', 'base64', 'foo'];
  if (name === 'decode' && k === 0) return ['', '61', '6', 'YWJj', 'YQ==', 'zz'];
  if (p === 'text' && def.id.endsWith('_flags') && k === def.args.length - 1) return ['', 'g', 'i', 'gi'];
  if ((name === 'repeat' || name === 'lpad' || name === 'rpad') && p === 'int4') return ['0', '-1', '3', '7'];
  if (name === 'chr') return ['65', '0', '-1', '233', '128512', '1114112', '55296'];
  return EDGES[p as TypeName];
}

/** A value by its text, null for NULL. */
export type Argument = readonly [text: string | null, type: SqlType];
export type OracleCall = readonly [name: string, ...args: Argument[]];

const of =
  (t: SqlType) =>
  (text: string | null): Argument => [text, t];
const int = of(type('int4'));
const text = of(type('text'));
const jsonb = of(type('jsonb'));
const ints = of(arrayOf(type('int4')));
const texts = of(arrayOf(type('text')));
const NUMBER_ARRAYS = ARRAYS['int4[]']!;

const arrayCalls = (a: string): OracleCall[] => [
  ...['0', '1', '2'].flatMap((d) =>
    ['array_length', 'array_lower', 'array_upper'].map((f): OracleCall => [f, ints(a), int(d)]),
  ),
  ...['cardinality', 'array_ndims', 'to_jsonb'].map((f): OracleCall => [f, ints(a)]),
  ...['2', '7', null].flatMap((x) =>
    ['array_append', 'array_remove', 'array_position', 'array_positions', '||'].map(
      (f): OracleCall => [f, ints(a), int(x)],
    ),
  ),
  ...NUMBER_ARRAYS.flatMap((b) =>
    ['array_cat', '||', '@>', '<@', '&&', '=', '<', '<='].map((f): OracleCall => [f, ints(a), ints(b)]),
  ),
  ['array_prepend', int('9'), ints(a)],
  ['array_replace', ints(a), int('2'), int('8')],
  ['array_to_string', ints(a), text(', ')],
  ['array_to_string', ints(a), text('-'), text('*')],
];

const textCalls = (s: string | null): OracleCall[] => [
  ...[',', '', null].flatMap((d): OracleCall[] => [
    ['string_to_array', text(s), text(d)],
    ['string_to_array', text(s), text(d), text('b')],
  ]),
  ['concat', text(s), int('1'), of(type('bool'))('t'), texts('{a,b}')],
  ['concat_ws', text('-'), text(s), of(type('numeric'))('1.50'), int(null)],
  ['quote_nullable', text(s)],
];

const FORMATS = ['%s and %s', '%I', '%L', '%2$s %1$s', '%-5s|', '%5s|', '%%', '%z', '%s %s %s', '%'];

/** Polymorphic and variadic calls, resolved as a statement would be. */
export const CALLS: readonly OracleCall[] = [
  ...NUMBER_ARRAYS.flatMap(arrayCalls),
  ...['a,b,,c', '', 'abc', null].flatMap(textCalls),
  ...FORMATS.map((f): OracleCall => ['format', text(f), text('a b'), int('2')]),
  ...['greatest', 'least'].flatMap((f): OracleCall[] => [
    [f, int('1'), of(type('numeric'))('2.5'), of(type('int8'))(null)],
    [f, int(null), int(null)],
    [f, text('a'), text('b')],
  ]),
  ...(Object.entries(EDGES) as [TypeName, string[]][])
    .filter(([n]) => n !== 'name' && n !== 'oid' && n !== 'bpchar')
    .flatMap(([n, values]) => values.map((v): OracleCall => ['to_jsonb', of(type(n))(v)])),
  ['jsonb_build_object', text('a'), int('1'), text('b'), ints('{1,2}')],
  ['jsonb_build_object', text('a')],
  ['jsonb_build_object', text(null), int('1')],
  ['jsonb_build_array', text('a'), int(null), of(type('date'))('2000-01-01')],
  ['jsonb_extract_path', jsonb('{"a": {"b": 5}}'), text('a'), text('b')],
  ['jsonb_extract_path_text', jsonb('{"a": [1, "x"]}'), text('a'), text('-1')],
];
