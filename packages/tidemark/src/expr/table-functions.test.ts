import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { datumAt } from '../repr/datum.ts';
import { parseText, textOf } from '../repr/format.ts';
import { arrayOf, type Datum, type SqlType, type } from '../repr/types.ts';
import { CHUNK_ROWS } from './functions.ts';
import { tableFunctionsByName } from './registry.ts';
import { resolveFunction } from './resolve.ts';

const CONTEXT = { timeZone: 'UTC' };
const t = (name: string): SqlType =>
  name.endsWith('[]') ? arrayOf(t(name.slice(0, -2))) : type(name as never);

/** Rows as text, fields joined by a bar. */
function rows(name: string, args: readonly (readonly [string | null, string])[]): string[] {
  const types = args.map(([, n]) => t(n));
  const { def, argTypes } = resolveFunction(name, tableFunctionsByName(name), types);
  const values = args.map(([text], k): Datum => (text === null ? null : parseText(argTypes[k]!, text)));
  const columns = def.columns(argTypes);
  const out: string[] = [];
  for (const chunk of def.rows(values, argTypes, CONTEXT))
    for (let i = 0; i < chunk.length; i++)
      out.push(
        columns
          .map((c, k) => {
            const d = datumAt(c.type, chunk.columns[k]!, i);
            return d === null ? 'NULL' : textOf(c.type, d);
          })
          .join('|'),
      );
  return out;
}

const CASES: readonly (readonly [string, readonly (readonly [string | null, string])[], string])[] = [
  [
    'generate_series',
    [
      ['1', 'int4'],
      ['4', 'int4'],
    ],
    '1 2 3 4',
  ],
  [
    'generate_series',
    [
      ['4', 'int4'],
      ['1', 'int4'],
    ],
    '',
  ],
  [
    'generate_series',
    [
      ['5', 'int4'],
      ['-1', 'int4'],
      ['-3', 'int4'],
    ],
    '5 2 -1',
  ],
  [
    'generate_series',
    [
      ['2147483646', 'int4'],
      ['2147483647', 'int4'],
    ],
    '2147483646 2147483647',
  ],
  [
    'generate_series',
    [
      ['9223372036854775806', 'int8'],
      ['9223372036854775807', 'int8'],
    ],
    '9223372036854775806 9223372036854775807',
  ],
  [
    'generate_series',
    [
      ['0', 'numeric'],
      ['1', 'numeric'],
      ['0.4', 'numeric'],
    ],
    '0 0.4 0.8',
  ],
  [
    'generate_series',
    [
      ['2024-01-31 00:00', 'timestamp'],
      ['2024-04-01 00:00', 'timestamp'],
      ['1 mon', 'interval'],
    ],
    '2024-01-31 00:00:00,2024-02-29 00:00:00,2024-03-29 00:00:00',
  ],
  ['unnest', [['{a,NULL,b}', 'text[]']], 'a NULL b'],
  ['unnest', [['{{1,2},{3,4}}', 'int4[]']], '1 2 3 4'],
  [
    'generate_subscripts',
    [
      ['[0:2]={7,8,9}', 'int4[]'],
      ['1', 'int4'],
    ],
    '0 1 2',
  ],
  ['jsonb_array_elements', [['[1, "a", null]', 'jsonb']], '1 "a" null'],
  ['jsonb_array_elements_text', [['[1, "a", null]', 'jsonb']], '1 a NULL'],
  ['jsonb_each', [['{"b": 1, "aa": {"x": 2}}', 'jsonb']], 'b|1,aa|{"x": 2}'],
  ['jsonb_each_text', [['{"b": "x", "a": null}', 'jsonb']], 'a|NULL b|x'],
  ['jsonb_object_keys', [['{"b": 1, "a": 2}', 'jsonb']], 'a b'],
  [
    'regexp_matches',
    [
      ['foobarbequebaz', 'text'],
      ['(b[^b]+)(b[^b]+)', 'text'],
    ],
    '{bar,beque}',
  ],
  [
    'regexp_matches',
    [
      ['a1b22', 'text'],
      ['[0-9]+', 'text'],
      ['g', 'text'],
    ],
    '{1} {22}',
  ],
  [
    'regexp_split_to_table',
    [
      ['a1b22c', 'text'],
      ['[0-9]+', 'text'],
    ],
    'a b c',
  ],
  [
    'string_to_table',
    [
      ['a,b,x', 'text'],
      [',', 'text'],
      ['x', 'text'],
    ],
    'a b NULL',
  ],
  ['_pg_expandarray', [['{5,6}', 'int4[]']], '5|1 6|2'],
  ['pg_options_to_table', [['{a=1,b}', 'text[]']], 'a|1 b|NULL'],
];

test('rows of the table functions', () => {
  for (const [name, args, want] of CASES) {
    const separator = want.includes(',') && !want.startsWith('{') ? ',' : ' ';
    assert.deepEqual(rows(name, args), want === '' ? [] : want.split(separator), name);
  }
});

test('a long series comes in chunks, one at a time', () => {
  const { def, argTypes } = resolveFunction('generate_series', tableFunctionsByName('generate_series'), [
    t('int4'),
    t('int4'),
  ]);
  const it = def.rows([1, 10_000_000], argTypes, CONTEXT)[Symbol.iterator]();
  const first = it.next().value!;
  const second = it.next().value!;
  assert.deepEqual([first.length, second.length], [CHUNK_ROWS, CHUNK_ROWS]);
  assert.equal(second.columns[0]!.values[0], CHUNK_ROWS + 1);
});

test('what cannot be enumerated fails', () => {
  const fails = (name: string, args: readonly (readonly [string, string])[], message: string): void =>
    assert.throws(
      () => rows(name, args),
      (e) => e instanceof SqlError && e.message === message,
    );
  fails(
    'generate_series',
    [
      ['1', 'int4'],
      ['2', 'int4'],
      ['0', 'int4'],
    ],
    'step size cannot equal zero',
  );
  fails('jsonb_array_elements', [['{}', 'jsonb']], 'cannot extract elements from an object');
  fails('jsonb_array_elements', [['1', 'jsonb']], 'cannot extract elements from a scalar');
  fails('jsonb_each', [['[]', 'jsonb']], 'cannot call jsonb_each on a non-object');
});
