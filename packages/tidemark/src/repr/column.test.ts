/** Columns against arrays of values: gather, slice, concat and the builder keep values, NULLs and zeros under NULLs. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  allValid,
  type Column,
  ColumnBuilder,
  columnBytes,
  concatColumns,
  gather,
  i64ToBigInt,
  i64ToNumber,
  isNull,
  nullColumn,
  setI64BigInt,
  setI64Number,
  sliceColumn,
  u64ToBigInt,
} from './column.ts';
import type { Kind } from './types.ts';

const params = { seed: Number(process.env['SEED'] ?? 11), numRuns: Number(process.env['RUNS'] ?? 200) };
const KINDS: readonly Kind[] = ['bool', 'i32', 'i64', 'f64', 'bytes'];

/** A value of any kind as a string, so that models compare plainly; null is NULL. */
type Model = (string | null)[];
const VALUE: Record<Kind, fc.Arbitrary<string>> = {
  bool: fc.constantFrom('0', '1'),
  i32: fc.integer().map(String),
  i64: fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map(String),
  f64: fc.double({ noNaN: true }).map((x) => String(x + 0)),
  bytes: fc.string({ unit: fc.constantFrom('a', 'b'), maxLength: 40 }),
};
const model = (kind: Kind): fc.Arbitrary<Model> =>
  fc.array(fc.option(VALUE[kind], { nil: null, freq: 4 }), { maxLength: 40 });

function build(kind: Kind, values: Model): Column {
  const b = new ColumnBuilder(kind, 8);
  for (const v of values) {
    if (v === null) b.pushNull();
    else if (kind === 'i64') b.pushI64(BigInt(v));
    else if (kind === 'bytes') b.pushBytes(new TextEncoder().encode(v));
    else b.pushNumber(Number(v));
  }
  assert.equal(b.length, values.length);
  const c = b.finish();
  assert.equal(b.length, 0);
  return c;
}

function raw(c: Column, i: number): string {
  if (c.kind === 'i64') return String(i64ToBigInt(c.values as Int32Array, i));
  if (c.kind === 'bytes')
    return new TextDecoder().decode((c.values as Uint8Array).subarray(c.offsets[i]!, c.offsets[i + 1]!));
  return String(c.values[i]!);
}

function check(c: Column, want: Model): void {
  assert.equal(c.length, want.length);
  for (let i = 0; i < want.length; i++) {
    assert.equal(isNull(c, i), want[i] === null);
    assert.equal(raw(c, i), want[i] ?? (c.kind === 'bytes' ? '' : '0'), 'a NULL has zero under it');
  }
}

for (const kind of KINDS) {
  test(`${kind}: the builder keeps what is pushed`, () => {
    fc.assert(
      fc.property(model(kind), model(kind), (a, b) => {
        const c = build(kind, a);
        check(c, a);
        const again = new ColumnBuilder(kind);
        const d = build(kind, b);
        for (let i = 0; i < a.length; i++) again.pushFrom(c, i);
        for (let i = 0; i < b.length; i++) again.pushFrom(d, i);
        check(again.finish(), [...a, ...b]);
      }),
      params,
    );
  });

  test(`${kind}: gather, slice and concat`, () => {
    fc.assert(
      fc.property(
        model(kind),
        fc.array(fc.nat(60), { maxLength: 30 }),
        fc.nat(40),
        fc.nat(40),
        (a, picks, x, y) => {
          const c = build(kind, a);
          // -1 is the padded side of an outer join.
          const indices = picks.map((p) => (p < a.length ? p : -1));
          const g = gather(c, Int32Array.from(indices), indices.length);
          const gathered = indices.map((i) => (i < 0 ? null : a[i]!));
          check(g, gathered);
          const from = Math.min(x, y, a.length);
          const to = Math.min(Math.max(x, y), a.length);
          const s = sliceColumn(c, from, to);
          check(s, a.slice(from, to));
          check(concatColumns([s, g, c]), [...a.slice(from, to), ...gathered, ...a]);
          check(gather(s, Int32Array.from([...Array(s.length).keys()]), s.length), a.slice(from, to));
          const bytes = columnBytes(c);
          assert.ok(bytes.used <= bytes.allocated && bytes.buffers >= 1);
        },
      ),
      params,
    );
  });

  test(`${kind}: a column of NULLs`, () => check(nullColumn(kind, 9), Array(9).fill(null)));
}

test('64-bit words: safe integers through doubles, all through BigInt, unsigned readings', () => {
  const v = new Int32Array(2);
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), (n, u) => {
      setI64Number(v, 0, n);
      assert.equal(i64ToNumber(v, 0), n + 0);
      assert.equal(i64ToBigInt(v, 0), BigInt(n));
      setI64BigInt(v, 0, BigInt.asIntN(64, u));
      assert.equal(u64ToBigInt(v, 0), u);
      assert.equal(i64ToNumber(v, 0), Number(BigInt.asIntN(64, u)), 'correctly rounded beyond 2^53');
    }),
    params,
  );
});

test('the bitmap of all-valid rows has clear bits past the end', () => {
  assert.deepEqual([...allValid(11)], [0xff, 0x07]);
  assert.deepEqual([...allValid(8)], [0xff]);
  assert.deepEqual([...allValid(0)], []);
});
