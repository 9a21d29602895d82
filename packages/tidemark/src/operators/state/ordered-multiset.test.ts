import assert from 'node:assert/strict';
import { test } from 'node:test';
import { comparator } from '../../repr/compare.ts';
import { type Kind, type } from '../../repr/types.ts';
import { OrderedMultiset } from './ordered-multiset.ts';
import { emptySize } from './state-size.ts';
import { cell, column, forSeeds, keyOf, type Value } from './test-support.ts';

const KINDS: readonly Kind[] = ['i64', 'bytes'];

for (const unsigned of [false, true])
  test(`k-th and windows agree with sorting (${unsigned ? 'uint8' : 'int8'} order)`, () => {
    forSeeds(process.env, (random) => {
      const desc = random.below(2) === 0;
      const nullsFirst = random.below(2) === 0;
      const compare = comparator(type(unsigned ? 'uint8' : 'int8'));
      const set = new OrderedMultiset(KINDS, [{ column: 0, compare, desc, nullsFirst }]);
      set.resize(2);
      const rows = new Map<string, { row: Value[]; count: number }>();
      const number = (v: Value): bigint => (unsigned ? BigInt.asUintN(64, v as bigint) : (v as bigint));
      for (let step = 0; step < 150; step++) {
        const row: Value[] = [
          random.pick([null, -1n, 0n, 1n << 62n, (1n << 62n) + 1n, -(1n << 63n), BigInt(random.below(20))]),
          random.pick(['', 'a', 'b']),
        ];
        const diff = random.pick([1, 2, -1]);
        const columns = KINDS.map((k, c) => column(k, [row[c]!]));
        set.add(1, columns, 0, diff);
        const e = rows.get(keyOf(row)) ?? { row, count: 0 };
        e.count += diff;
        if (e.count === 0) rows.delete(keyOf(row));
        else rows.set(keyOf(row), e);
        if (random.below(3) === 0) set.sweep();
        if (random.below(10) > 0) continue;
        assert.equal(
          set.isNegative(1),
          [...rows.values()].some((r) => r.count < 0),
        );
        assert.equal(set.isZero(1), rows.size === 0);
        const copies = [...rows.values()]
          .sort(({ row: [a, s] }, { row: [b, t] }) => {
            if (a === b) return s! < t! ? -1 : 1;
            if (a === null || b === null) return (a === null) === nullsFirst ? -1 : 1;
            return number(a!) < number(b!) === desc ? 1 : -1;
          })
          .flatMap((r) => Array.from({ length: Math.max(0, r.count) }, () => keyOf(r.row)));
        const at = (slot: number): string => keyOf(set.rows.columns.map((c) => cell(c, slot << c.shift)));
        assert.equal(set.weight(1), copies.length);
        for (const [i, k] of copies.entries()) assert.equal(at(set.kth(1, i)), k);
        const from = random.below(copies.length + 2);
        const to = from + random.below(6);
        const window: string[] = [];
        set.visit(1, from, to, (slot, n) => {
          for (let k = 0; k < n; k++) window.push(at(slot));
        });
        assert.deepEqual(window, copies.slice(from, to));
      }
      assert.equal(set.weight(0), 0);
    });
  });

test('a group of 20,000 rows in ascending order stays shallow, and empties to nothing', () => {
  const set = new OrderedMultiset(['i32'], []);
  set.resize(1);
  const n = 20_000;
  const values = column(
    'i32',
    Array.from({ length: n }, (_, i) => i),
  );
  for (let i = 0; i < n; i++) set.add(0, [values], i, 1);
  assert.equal(set.rows.columns[0]!.values[set.kth(0, 12_345)], 12_345);
  for (let i = 0; i < n; i++) set.add(0, [values], i, -1);
  set.sweep();
  assert.ok(set.isZero(0));
  assert.equal(set.rows.live, 0);
  const size = emptySize();
  set.addSize(size);
  assert.equal(size.records, 0);
});
