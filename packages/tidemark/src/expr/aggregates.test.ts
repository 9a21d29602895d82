import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlArray } from '../repr/array.ts';
import { parseText, textOf } from '../repr/format.ts';
import { type Datum, type Row, type SqlType, type } from '../repr/types.ts';
import { aggregateRows } from './naive-aggregate.ts';
import { aggregateById, aggregatesByName } from './registry.ts';
import { resolveFunction } from './resolve.ts';

const CONTEXT = { timeZone: 'UTC' };
const TEXT = type('text');

/** The aggregate of rows given as text. */
function run(
  name: string,
  types: readonly SqlType[],
  rows: readonly (readonly (string | null)[])[],
): string | null {
  const r = resolveFunction(name, aggregatesByName(name), types);
  const values = rows.map(
    (row): Row => row.map((s, k): Datum => (s === null ? null : parseText(r.argTypes[k]!, s))),
  );
  const v = aggregateRows(r.def, values, r.argTypes, r.returns, CONTEXT);
  return v === null ? null : textOf(r.returns, v);
}
const column = (...values: (string | null)[]): (string | null)[][] => values.map((v) => [v]);

test('a sum of bigints is a numeric and does not wrap; one of ints is a bigint', () => {
  assert.equal(
    run('sum', [type('int8')], column('9000000000000000000', '9000000000000000000')),
    '18000000000000000000',
  );
  assert.equal(run('sum', [type('int4')], column('2147483647', '2147483647', null)), '4294967294');
});

test('an empty group is NULL, and 0 for counts', () => {
  for (const name of ['sum', 'avg', 'min', 'max', 'stddev', 'array_agg', 'jsonb_agg', 'list_agg'])
    assert.equal(run(name, [type('int4')], []), null, name);
  assert.equal(run('count', [type('int4')], column(null)), '0');
  assert.equal(run('count', [], [[], []]), '2');
});

test('aggregates that show their rows keep the order, and NULLs where SQL does', () => {
  assert.equal(run('array_agg', [TEXT], column('b', null, 'a')), '{b,NULL,a}');
  assert.equal(run('list_agg', [TEXT], column('b', null, 'a')), '{b,NULL,a}');
  assert.equal(
    run(
      'string_agg',
      [TEXT, TEXT],
      [
        ['a', ';'],
        [null, '?'],
        ['b', '-'],
      ],
    ),
    'a-b',
  );
  assert.equal(run('jsonb_agg', [type('int4')], column('1', null)), '[1, null]');
  assert.equal(
    run(
      'jsonb_object_agg',
      [TEXT, type('int4')],
      [
        ['b', '1'],
        ['a', null],
        ['b', '2'],
      ],
    ),
    '{"a": null, "b": 2}',
  );
  const nested = aggregateById('array_agg');
  const rows = [[SqlArray.of([1, 2])], [SqlArray.of([3, 4])]];
  const t: SqlType = { name: 'array', elem: type('int4') };
  assert.equal(textOf(t, aggregateRows(nested, rows, [t], t, CONTEXT)), '{{1,2},{3,4}}');
});

test('the parts of a deviation tell values apart by the value, not by its square', () => {
  const def = aggregateById('stddev_pop_int4');
  assert.equal(def.plan.kind, 'composite');
  if (def.plan.kind !== 'composite') return;
  const arg = { kind: 'column', index: 0, type: type('int4') } as const;
  const { aggregates } = def.plan.lower({ args: [arg], type: type('numeric') });
  // -1 and 1 have one square: a part that saw only squares would drop one of them under DISTINCT.
  for (const part of aggregates)
    assert.ok(part.args.some((a) => JSON.stringify(a) !== JSON.stringify(aggregates[1]!.args[0])));
});
