/**
 * Properties of every type at once, over random values: cells give back their datums, both wire forms round-trip,
 * order is total and agrees with canonical equality, and encoders of columns agree with the forms of datums.
 * Cannot see: forms that are wrong in both directions alike (oracle.test.ts does).
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import { SqlArray, SqlList, SqlRecord } from './array.ts';
import { canonColumn, canonDatum } from './canon.ts';
import { binaryEncoder, encodedCell, textEncoder } from './cell-encoder.ts';
import { type Column, ColumnBuilder } from './column.ts';
import { comparator, datumComparator, sortIndices } from './compare.ts';
import { columnOf, datumAt } from './datum.ts';
import { parseBinary, parseText, textOf } from './format.ts';
import { cellsEqual, hashRows } from './hash.ts';
import { Interval } from './interval.ts';
import { canonicalJson } from './json.ts';
import { NUMERIC_INFINITY, NUMERIC_NAN, NUMERIC_NEG_INFINITY, numericFromBig } from './numeric.ts';
import { decodeUtf8 } from './text.ts';
import { arrayOf, type Datum, kindOf, listOf, type SqlType, type TypeName, type } from './types.ts';
import { encodeBinary } from './wire.ts';

const params = {
  seed: Number(process.env['SEED'] ?? 7),
  numRuns: Number(process.env['RUNS'] ?? 150),
};

const text = fc
  .oneof(
    fc.string({ unit: 'grapheme', maxLength: 12 }),
    fc.constantFrom('', 'a', 'NULL', '{', ' x ', '"', '\\'),
  )
  .filter((s) => !s.includes('\0'));
const numeric = fc.oneof(
  fc
    .tuple(fc.bigInt({ min: -(10n ** 25n), max: 10n ** 25n }), fc.nat(8))
    .map(([c, s]) => numericFromBig(c, s)),
  fc
    .tuple(fc.integer({ min: -3, max: 3 }), fc.nat(2))
    .map(([c, s]) => numericFromBig(BigInt(c) * 10n ** BigInt(s), s)),
  fc.constantFrom(NUMERIC_NAN, NUMERIC_INFINITY, NUMERIC_NEG_INFINITY),
);
const interval = fc
  .tuple(
    fc.integer({ min: -40, max: 40 }),
    fc.integer({ min: -70, max: 70 }),
    fc.integer({ min: -200, max: 200 }),
  )
  .map(([m, d, h]) => new Interval(m, d, h * 1_800_000_000));
const i64 = fc.oneof(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }), fc.bigInt({ min: -3n, max: 3n }));
const stamp = fc.oneof(
  fc.bigInt({ min: -62_135_596_800_000_000n * 2n, max: 9_000_000_000_000_000_000n }),
  fc.constantFrom(2n ** 63n - 1n, -(2n ** 63n), 0n),
);
const double = fc.oneof(fc.double(), fc.constantFrom(0, -0, Number.NaN, 1e15, 1e-5));
const json = fc.oneof(
  fc.jsonValue({ maxDepth: 3 }).map((v) => canonicalJson(JSON.stringify(v).replaceAll('\\u0000', ''))),
  fc.constantFrom('1.0', '1.00', '1', '[1.10]', '[1.1]', '{"a": 1.0}', '{"a": 1}'),
);
const oid = fc.nat(0xffffffff);

/** A generator for every type. */
const VALUES: Readonly<Record<Exclude<TypeName, 'array' | 'list' | 'record' | 'void'>, fc.Arbitrary<Datum>>> =
  {
    bool: fc.boolean(),
    int2: fc.integer({ min: -32768, max: 32767 }),
    int4: fc.integer(),
    int8: i64,
    uint2: fc.nat(65535),
    uint4: oid,
    uint8: fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }),
    float4: double.map(Math.fround),
    float8: double,
    numeric,
    text,
    varchar: text,
    bpchar: text,
    name: fc.string({ maxLength: 20 }).filter((s) => !s.includes('\0')),
    char: fc.constantFrom('', 'a', 'z'),
    bytea: fc.uint8Array({ maxLength: 12 }),
    date: fc.oneof(fc.integer({ min: -2440588, max: 5_000_000 }), fc.constantFrom(0x7fffffff, -0x80000000)),
    time: fc.bigInt({ min: 0n, max: 86_400_000_000n }),
    timestamp: stamp,
    timestamptz: stamp,
    interval,
    uuid: fc.uuid(),
    jsonb: json,
    oid,
    regclass: oid,
    regtype: oid,
    regproc: oid,
    regnamespace: oid,
    mz_timestamp: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
    unknown: text,
  };

const nullable = (a: fc.Arbitrary<Datum>): fc.Arbitrary<Datum> => fc.option(a, { nil: null, freq: 5 });
const cases: [SqlType, fc.Arbitrary<Datum>][] = (Object.keys(VALUES) as (keyof typeof VALUES)[]).map((n) => [
  type(n),
  VALUES[n],
]);
for (const n of ['int4', 'int8', 'float8', 'bool', 'text', 'numeric', 'jsonb'] as const) {
  const items = fc.array(nullable(VALUES[n]), { maxLength: 4 });
  cases.push([arrayOf(type(n)), items.map((x) => SqlArray.of(x))]);
  cases.push([listOf(type(n)), items.map((x) => new SqlList(x))]);
}
cases.push([
  arrayOf(type('int4')),
  fc.tuple(fc.integer(), fc.integer()).map(([a, b]) => new SqlArray([2, 1], [0, 5], [a, b])),
]);
cases.push([
  listOf(listOf(type('text'))),
  fc
    .array(
      fc.array(nullable(text), { maxLength: 3 }).map((x) => new SqlList(x)),
      { maxLength: 3 },
    )
    .map((x) => new SqlList(x)),
]);
const recordType: SqlType = { name: 'record', fields: [type('int4'), type('text'), type('numeric')] };
const record: [SqlType, fc.Arbitrary<Datum>] = [
  recordType,
  fc.tuple(nullable(fc.integer()), nullable(text), nullable(numeric)).map((x) => new SqlRecord(x)),
];

const label = (t: SqlType): string => (t.elem ? `${t.name} of ${label(t.elem)}` : t.name);
const column = (t: SqlType, values: readonly Datum[]): Column =>
  columnOf(t, values, new ColumnBuilder(kindOf(t), 8));

for (const [t, value] of [...cases, record])
  describe(label(t), () => {
    const values = fc.array(nullable(value), { maxLength: 12 });

    test('cells give back their datums', () => {
      fc.assert(
        fc.property(values, (vs) => {
          const c = column(t, vs);
          assert.equal(c.length, vs.length);
          for (let i = 0; i < vs.length; i++) assert.deepEqual(datumAt(t, c, i), vs[i]);
        }),
        params,
      );
    });

    test('both wire forms round-trip', () => {
      fc.assert(
        fc.property(value, (v) => {
          if (t.name !== 'record') assert.deepEqual(parseText(t, textOf(t, v)), v);
          assert.deepEqual(parseBinary(t, encodeBinary(t, v)), v);
        }),
        params,
      );
    });

    test('encoders of columns agree with the forms of datums', () => {
      const asText = textEncoder(t);
      const asBinary = binaryEncoder(t);
      fc.assert(
        fc.property(values, (vs) => {
          const c = column(t, vs);
          for (let i = 0; i < vs.length; i++) {
            const v = vs[i]!;
            const cell = encodedCell(asText, c, i);
            assert.equal(cell === null ? null : decodeUtf8(cell), v === null ? null : textOf(t, v));
            const binary = encodedCell(asBinary, c, i);
            assert.deepEqual(binary && [...binary], v === null ? null : [...encodeBinary(t, v)]);
          }
        }),
        params,
      );
    });

    test('order is total and is equality exactly where canonical cells are equal', () => {
      const cells = comparator(t);
      const datums = datumComparator(t);
      fc.assert(
        fc.property(fc.array(value, { minLength: 3, maxLength: 6 }), (vs) => {
          const c = column(t, vs);
          const k = canonColumn(t, c);
          const hashes = hashRows([k], k.length);
          for (let i = 0; i < vs.length; i++)
            for (let j = 0; j < vs.length; j++) {
              const d = Math.sign(cells(c, i, c, j));
              assert.equal(d + 0, 0 - Math.sign(cells(c, j, c, i)));
              assert.equal(d + 0, Math.sign(datums(vs[i]!, vs[j]!)) + 0);
              assert.equal(d === 0, cellsEqual(k, i, k, j));
              if (d === 0) assert.equal(hashes[i], hashes[j]);
              for (let m = 0; m < vs.length; m++)
                if (d <= 0 && cells(c, j, c, m) <= 0) assert.ok(cells(c, i, c, m) <= 0, 'transitive');
            }
          // Canonical columns and datums are one thing, and canonical already.
          for (let i = 0; i < vs.length; i++) assert.deepEqual(datumAt(t, k, i), canonDatum(t, vs[i]!));
          const again = canonColumn(t, k);
          for (let i = 0; i < vs.length; i++) assert.ok(cellsEqual(k, i, again, i));
        }),
        params,
      );
    });

    test('sorting follows the order, NULLs where asked, equal rows in place', () => {
      const cells = comparator(t);
      fc.assert(
        fc.property(values, fc.boolean(), fc.boolean(), (vs, desc, nullsFirst) => {
          const c = column(t, vs);
          const order = sortIndices([{ type: t, column: c, desc, nullsFirst }], vs.length);
          assert.deepEqual(
            [...order].sort((a, b) => a - b),
            [...vs.keys()],
          );
          for (let p = 1; p < order.length; p++) {
            const [i, j] = [order[p - 1]!, order[p]!];
            const [x, y] = [vs[i] === null, vs[j] === null];
            if (x || y) {
              if (x && y) assert.ok(i < j);
              else assert.equal(x, nullsFirst);
              continue;
            }
            const d = desc ? cells(c, j, c, i) : cells(c, i, c, j);
            assert.ok(d < 0 || (d === 0 && i < j));
          }
        }),
        params,
      );
    });
  });

test('every type has a generator', () => {
  const covered = new Set(cases.map(([t]) => t.name));
  assert.ok(covered.has('array') && covered.has('list'));
  assert.equal(covered.size, Object.keys(VALUES).length + 2);
});
