import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { arrayOf, listOf, type SqlType, type, typeToString } from '../repr/types.ts';
import { aggregatesByName, functionsByName, tableFunctionsByName } from './registry.ts';
import { commonType, resolveFunction } from './resolve.ts';

const t = (s: string): SqlType =>
  s.endsWith('[]')
    ? arrayOf(t(s.slice(0, -2)))
    : s.endsWith(' list')
      ? listOf(t(s.slice(0, -5)))
      : type(s as never);
const args = (s: string): SqlType[] => (s === '' ? [] : s.split(', ').map(t));

/** Call -> id and result; PostgreSQL's choice where it has the types. */
const CALLS: readonly (readonly [string, string, string, string])[] = [
  ['+', 'int2, int4', 'add_int4_int4', 'integer'],
  ['+', 'int4, unknown', 'add_int4_int4', 'integer'],
  ['+', 'int4, numeric', 'add_numeric_numeric', 'numeric'],
  ['+', 'int4, float4', 'add_float8_float4', 'double precision'],
  ['-', 'date, unknown', 'sub_date_date', 'integer'],
  ['+', 'date, interval', 'add_date_interval', 'timestamp without time zone'],
  ['-', 'int4', 'neg_int4', 'integer'],
  ['||', 'unknown, unknown', 'concat_text_text', 'text'],
  ['||', 'varchar, varchar', 'concat_text_text', 'text'],
  ['||', 'text, int4', 'concat_text_any', 'text'],
  ['||', 'int4[], int4', 'concat_array_element', 'integer[]'],
  ['||', 'int4[], unknown', 'concat_array_array', 'integer[]'],
  ['||', 'jsonb, unknown', 'concat_jsonb_jsonb', 'jsonb'],
  ['->', 'jsonb, unknown', 'get_jsonb_text', 'jsonb'],
  ['->', 'jsonb, int4', 'get_jsonb_int4', 'jsonb'],
  ['=', 'varchar, unknown', 'eq_text_text', 'boolean'],
  ['=', 'varchar, varchar', 'eq_text_text', 'boolean'],
  ['=', 'name, text', 'eq_text_text', 'boolean'],
  ['=', 'name, unknown', 'eq_name_name', 'boolean'],
  ['=', 'oid, int4', 'eq_oid_oid', 'boolean'],
  ['=', 'regclass, unknown', 'eq_oid_oid', 'boolean'],
  ['<=', 'mz_timestamp, int8', 'le_mz_timestamp_mz_timestamp', 'boolean'],
  ['<=', 'timestamp, mz_timestamp', 'le_mz_timestamp_mz_timestamp', 'boolean'],
  ['=', 'uint8, int4', 'eq_numeric_numeric', 'boolean'],
  ['<', 'int8, uint8', 'lt_numeric_numeric', 'boolean'],
  ['>=', 'uint4, int8', 'ge_int8_int8', 'boolean'],
  ['<>', 'int4, uint4', 'ne_int8_int8', 'boolean'],
  ['=', 'uint2, int4', 'eq_int4_int4', 'boolean'],
  ['=', 'uint8, uint2', 'eq_uint8_uint8', 'boolean'],
  ['+', 'uint8, int4', 'add_numeric_numeric', 'numeric'],
  ['=', 'int4 list, int4 list', 'eq_list_list', 'boolean'],
  ['= any', 'int8, int4[]', 'any_eq', 'boolean'],
  ['round', 'float4', 'round_float8', 'double precision'],
  ['round', 'int4', 'round_float8', 'double precision'],
  ['round', 'numeric, int4', 'round_numeric_int4', 'numeric'],
  ['length', 'unknown', 'length_text', 'integer'],
  ['concat', 'int4, text, bool', 'concat', 'text'],
  ['greatest', 'int4, numeric', 'greatest', 'numeric'],
  ['array_append', 'unknown, unknown', 'array_append', 'text[]'],
  ['array_get', 'text[], int4', 'array_get_1', 'text'],
  ['make_array', 'int4, int8', 'make_array', 'bigint[]'],
];

test('calls resolve as documented', () => {
  for (const [name, types, id, returns] of CALLS) {
    const r = resolveFunction(name, functionsByName(name), args(types));
    assert.deepEqual([r.def.id, typeToString(r.returns)], [id, returns], `${name}(${types})`);
  }
});

test('casts name the arguments that change', () => {
  const r = resolveFunction('+', functionsByName('+'), args('int2, int8'));
  assert.deepEqual(r.casts, [type('int8'), null]);
  const m = resolveFunction('make_array', functionsByName('make_array'), args('int4, int8'));
  assert.deepEqual(m.casts, [type('int8'), null]);
});

test('aggregates and table functions resolve through the same rules', () => {
  const sum = resolveFunction('sum', aggregatesByName('sum'), args('int8'));
  assert.deepEqual([sum.def.id, sum.returns], ['sum_int8', type('numeric')]);
  assert.equal(resolveFunction('max', aggregatesByName('max'), args('varchar')).def.id, 'max_text');
  assert.equal(resolveFunction('count', aggregatesByName('count'), []).def.id, 'count_star');
  const series = resolveFunction(
    'generate_series',
    tableFunctionsByName('generate_series'),
    args('int4, int8'),
  );
  assert.equal(series.def.id, 'generate_series_int8_2');
  assert.deepEqual(series.returns, type('void'));
});

const ERRORS: readonly (readonly [string, string, string, string])[] = [
  ['+', 'int4, bool', 'undefined_function', 'operator does not exist: integer + boolean'],
  ['-', 'bool', 'undefined_function', 'operator does not exist: - boolean'],
  ['length', 'int4', 'undefined_function', 'function length(integer) does not exist'],
  ['nothing', 'int4, unknown', 'undefined_function', 'function nothing(integer, unknown) does not exist'],
  ['nothing', '', 'undefined_function', 'function nothing() does not exist'],
  ['+', 'unknown, unknown', 'ambiguous_function', 'operator is not unique: unknown + unknown'],
];

test('errors are PostgreSQL’s', () => {
  for (const [name, types, code, message] of ERRORS)
    assert.throws(
      () => resolveFunction(name, functionsByName(name), args(types)),
      (e) => e instanceof SqlError && e.code === code && e.message === message && e.hint !== undefined,
      `${name}(${types})`,
    );
});

test('common types', () => {
  const of = (s: string): string | undefined => {
    const c = commonType(args(s));
    return c && typeToString(c);
  };
  assert.equal(of('int4, int8, numeric'), 'numeric');
  assert.equal(of('unknown, unknown'), 'text');
  assert.equal(of('unknown, date'), 'date');
  assert.equal(of('date, timestamptz'), 'timestamp with time zone');
  assert.equal(of('varchar, text'), 'character varying');
  assert.equal(of('text, varchar'), 'text');
  assert.equal(of('int4, text'), undefined);
  assert.equal(of('int4, uint4'), 'bigint');
  assert.equal(of('uint8, int8'), 'numeric');
  assert.equal(of('uint2, uint8'), 'uint8');
  assert.deepEqual(
    commonType([
      { name: 'numeric', typmod: 1 },
      { name: 'numeric', typmod: 1 },
    ]),
    { name: 'numeric', typmod: 1 },
  );
  assert.deepEqual(commonType([{ name: 'numeric', typmod: 1 }, { name: 'numeric' }]), { name: 'numeric' });
});
