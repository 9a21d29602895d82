import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ColumnBuilder } from '../../../repr/column.ts';
import { kindOf, type } from '../../../repr/types.ts';
import { cell, column } from '../test-support.ts';
import { GroupErrors } from './accumulator.ts';
import { maxOf, minOf, sumOf } from './by-type.ts';

for (const [arg, result, value, want] of [
  ['int2', 'int8', 7, 14n],
  ['int4', 'int8', -7, -14n],
  ['uint2', 'uint8', 65535, 131070n],
  ['uint4', 'uint8', 4294967295, 8589934590n],
  ['int8', 'int8', 5n, 10n],
  ['uint8', 'uint8', -1n, undefined],
  ['float4', 'float4', 0.5, 1],
  ['float8', 'float8', 0.1, 0.2],
] as const)
  test(`sum(${arg}) as ${result}`, () => {
    const acc = sumOf(type(arg), type(result));
    assert.equal(acc.outKind, kindOf(type(result)));
    acc.resize(1);
    acc.update(Int32Array.of(0, 0), [column(kindOf(type(arg)), [value, value])], Float64Array.of(1, 1), 2);
    const out = new ColumnBuilder(acc.outKind);
    const errors = new GroupErrors('v');
    acc.write(Int32Array.of(0), 1, out, errors);
    if (want === undefined) assert.equal(errors.byPosition.get(0)?.message, 'uint8 out of range');
    else assert.equal(cell(out.finish(), 0), want);
  });

test('min and max follow the order of the type: uint8 is unsigned', () => {
  for (const [make, want] of [
    [minOf, 1n],
    [maxOf, -1n],
  ] as const) {
    const acc = make(type('uint8'));
    acc.resize(1);
    acc.update(Int32Array.of(0, 0), [column('i64', [-1n, 1n])], Float64Array.of(1, 1), 2);
    const out = new ColumnBuilder('i64');
    acc.write(Int32Array.of(0), 1, out, new GroupErrors('v'));
    assert.equal(cell(out.finish(), 0), want);
  }
});

test('what has no sum is refused', () => {
  assert.throws(() => sumOf(type('text'), type('text')), /there is no sum of text/);
});
