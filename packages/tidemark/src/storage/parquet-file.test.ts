import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { parquetRead } from 'hyparquet';
import { parquetWriteBuffer } from 'hyparquet-writer';
import { AssertionError } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { type RelationDesc, type TypeName, type, typeToString } from '../repr/types.ts';
import { allRows, codecs, memorySource, RUNS, rowTexts, SEED, shape, VEGA } from './memory-source.fixture.ts';
import { describeParquet, readParquet } from './parquet-file.ts';
import { unsnappy } from './snappy.ts';

const FIXTURES = new URL('./fixtures/', import.meta.url);
const fixture = (name: string): Uint8Array => Uint8Array.from(readFileSync(new URL(name, FIXTURES)));

function load(bytes: Uint8Array, maxRows?: number): { desc: RelationDesc; rows: (string | null)[][] } {
  const source = memorySource(bytes, 'f.parquet');
  const { desc, rowsKnown } = describeParquet(source);
  const rows = allRows(desc, readParquet(source, desc, codecs, maxRows));
  assert.equal(rows.length, rowsKnown);
  return { desc, rows };
}

const fails = (f: () => unknown, code: string, message: string | RegExp): void => {
  assert.throws(f, (e) => {
    assert.ok(e instanceof SqlError, String((e as Error).stack));
    assert.equal(e.code, code, e.message);
    if (typeof message === 'string') assert.equal(e.message, message);
    else assert.match(e.message, message);
    return true;
  });
};

test('every type, with NULLs, as another implementation writes it', () => {
  const expected = JSON.parse(readFileSync(new URL('expected.json', FIXTURES), 'utf8')) as Record<
    string,
    { type: string; values: (string | null)[] }
  >;
  for (const name of ['v1-plain', 'v1-snappy', 'v1-brotli', 'v2-zstd', 'v2-gzip'])
    for (const maxRows of [1000, 37, 1]) {
      const { desc, rows } = load(fixture(`${name}.parquet`), maxRows);
      assert.deepEqual(
        desc.columns.map((c) => [c.name, typeToString(c.type), c.nullable]),
        Object.entries(expected).map(([k, e]) => [k, e.type, k !== 'req']),
      );
      assert.equal(rows.length, 150);
      for (const [i, row] of rows.entries())
        for (const [k, c] of desc.columns.entries())
          assert.equal(row[k], expected[c.name]!.values[i % 3], `${name}, row ${i}, column ${c.name}`);
    }
});

test('other encodings and old timestamps', () => {
  const delta = load(fixture('delta.parquet'));
  assert.equal(shape(delta.desc), 'di bigint, ds text');
  assert.deepEqual(delta.rows[777], ['777', 'key00777']);
  assert.equal(delta.rows.length, 1000);
  const old = load(fixture('int96.parquet'));
  assert.deepEqual(old.rows, [['1970-01-01 00:00:00'], ['1969-12-31 23:59:59.999999'], [null]]);
  fails(
    () => load(fixture('lz4.parquet')),
    'feature_not_supported',
    'file "f.parquet": row group 1, column "di": compression codec: LZ4_RAW is not supported',
  );
});

test('columns by name, in the order that is asked for', () => {
  const source = memorySource(fixture('v2-gzip.parquet'));
  const { columns } = describeParquet(source).desc;
  const pick = (...names: string[]): RelationDesc => ({
    columns: names.map((n) => columns.find((c) => c.name === n)!),
    keys: [],
  });
  assert.deepEqual(allRows(pick('s', 'req'), readParquet(source, pick('s', 'req'), codecs)).slice(0, 3), [
    ['', '1'],
    ['żółw 🐢', '2'],
    [null, '3'],
  ]);
  const none: RelationDesc = { columns: [{ name: 'zz', type: type('text'), nullable: true }], keys: [] };
  fails(() => [...readParquet(source, none, codecs)], 'undefined_column', 'file "x": has no column "zz"');
  const other: RelationDesc = { columns: [{ name: 's', type: type('int4'), nullable: true }], keys: [] };
  fails(
    () => [...readParquet(source, other, codecs)],
    'datatype_mismatch',
    'file "x": column "s" is text, expected integer',
  );
});

test('what a type cannot hold is an error', () => {
  const write = (element: object, data: unknown[]): Uint8Array =>
    new Uint8Array(
      parquetWriteBuffer({
        schema: [
          { name: 'root', num_children: 1 },
          { name: 'c', repetition_type: 'OPTIONAL', ...element },
        ] as never,
        columnData: [{ name: 'c', data: data as never }],
      }),
    );
  const utf8 = { type: 'BYTE_ARRAY', converted_type: 'UTF8' };
  fails(
    () => load(write(utf8, [Uint8Array.of(0xc3)])),
    'character_not_in_repertoire',
    /row group 1, column "c": invalid byte sequence/,
  );
  fails(
    () => load(write(utf8, [Uint8Array.of(0xc3), Uint8Array.of(0xa9)])),
    'character_not_in_repertoire',
    /0xc3/,
  );
  fails(() => load(write(utf8, [Uint8Array.of(65, 0)])), 'character_not_in_repertoire', /0x00/);
  fails(
    () => load(write({ type: 'INT32', converted_type: 'DATE' }, [2 ** 31 - 1])),
    'datetime_field_overflow',
    /date out of range/,
  );
  fails(
    () => load(write({ type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' }, [2n ** 62n])),
    'datetime_field_overflow',
    /timestamp out of range/,
  );
  fails(
    () => load(write({ type: 'INT64', converted_type: 'TIMESTAMP_MICROS' }, [2n ** 63n - 1n])),
    'datetime_field_overflow',
    /timestamp out of range/,
  );
  fails(
    () => load(write({ type: 'INT32', converted_type: 'INT_8' }, [128])),
    'data_corrupted',
    /integer 128 is outside -128 to 127/,
  );
  fails(
    () => load(write({ type: 'INT32', converted_type: 'DECIMAL', precision: 2, scale: 0 }, [100n])),
    'data_corrupted',
    /more than 2 digits/,
  );
  fails(
    () =>
      load(
        write(
          {
            type: 'FIXED_LEN_BYTE_ARRAY',
            type_length: 20,
            converted_type: 'DECIMAL',
            precision: 45,
            scale: 0,
          },
          [1n],
        ),
      ),
    'feature_not_supported',
    /numeric of 45 digits/,
  );
});

test('what the library writes is what is read', () => {
  const cell = <T>(a: fc.Arbitrary<T>): fc.Arbitrary<(T | null)[]> =>
    fc.array(fc.option(a, { freq: 4 }), { minLength: 30, maxLength: 30 });
  const few = fc.constantFrom('', 'a', 'żółw', 'x'.repeat(50));
  const table = fc.record({
    i: cell(fc.integer()),
    l: cell(fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n })),
    d: cell(fc.double({ noNaN: true })),
    b: cell(fc.boolean()),
    s: cell(few),
    t: cell(fc.string({ unit: 'binary' }).map((s) => s.replaceAll('\0', ''))),
    u: cell(fc.uuid()),
    m: cell(fc.integer({ min: -1e12, max: 1e12 })),
  });
  const of: Record<string, [writer: string, sql: TypeName]> = {
    i: ['INT32', 'int4'],
    l: ['INT64', 'int8'],
    d: ['DOUBLE', 'float8'],
    b: ['BOOLEAN', 'bool'],
    s: ['STRING', 'text'],
    t: ['STRING', 'text'],
    u: ['UUID', 'uuid'],
    m: ['TIMESTAMP', 'timestamptz'],
  };
  const codec = fc.constantFrom('SNAPPY', 'UNCOMPRESSED');
  fc.assert(
    fc.property(
      table,
      codec,
      fc.integer({ min: 1, max: 40 }),
      fc.integer({ min: 10, max: 400 }),
      (data, codec, group, pageSize) => {
        const columnData = Object.entries(data).map(([name, values]) => ({
          name,
          type: of[name]![0] as 'INT32',
          data: (name === 'm'
            ? values.map((v) => (v === null ? null : new Date(v as number)))
            : values) as never,
        }));
        const file = new Uint8Array(parquetWriteBuffer({ columnData, codec, rowGroupSize: group, pageSize }));
        const { desc, rows } = load(file, 7);
        assert.deepEqual(
          desc.columns.map((c) => c.type.name),
          Object.values(of).map(([, t]) => t),
        );
        for (const [k, [name, values]] of Object.entries(data).entries())
          for (const [i, v] of values.entries()) {
            const got = rows[i]![k]!;
            if (v === null) assert.equal(got, null);
            else if (name === 'd') assert.ok(Object.is(Number(got), v), `${got} for ${v}`);
            else if (name === 'b') assert.equal(got, v ? 't' : 'f');
            else if (name === 'm') assert.equal(Date.parse(`${got.replace(' ', 'T')}:00`), v);
            else assert.equal(got, String(v));
          }
      },
    ),
    { seed: SEED, numRuns: Math.ceil(RUNS / 8) },
  );
});

test('a file that is cut off anywhere is refused', () => {
  const whole = fixture('v1-snappy.parquet');
  for (let n = 0; n < whole.length; n += 1 + (n % 97)) {
    const cut = whole.subarray(0, n);
    fails(() => load(cut), 'data_corrupted', /^file "f.parquet": /);
  }
  fails(() => load(new Uint8Array(0)), 'data_corrupted', 'file "f.parquet": is empty');
  fails(
    () => load(new TextEncoder().encode('a,b\n'.repeat(9))),
    'data_corrupted',
    'file "f.parquet": is not a Parquet file',
  );
  fails(
    () => load(whole.subarray(0, whole.length - 5)),
    'data_corrupted',
    'file "f.parquet": the end of a Parquet file is missing',
  );
});

test('a page with a checksum is never read changed', () => {
  const whole = fixture('v2-zstd.parquet');
  const source = memorySource(whole);
  const { desc } = describeParquet(source);
  const good = allRows(desc, readParquet(source, desc, codecs));
  const footer = new DataView(whole.buffer).getUint32(whole.length - 8, true);
  for (let p = 4; p < whole.length - 8 - footer; p += 31) {
    const bad = Uint8Array.from(whole);
    bad[p]! ^= 0x55;
    const rows = outcome(bad);
    // What a changed header leaves readable (statistics of a page) does not touch the rows.
    if (rows !== null) assert.deepEqual(rows, good, `byte ${p}`);
  }
});

/** The rows, or null for an error of the kind that users get; anything else fails the test. */
function outcome(bytes: Uint8Array): (string | null)[][] | null {
  try {
    return load(bytes).rows;
  } catch (e) {
    if (e instanceof AssertionError || !(e instanceof SqlError)) throw e;
    assert.match(e.message, /^file "f.parquet": /);
    return null;
  }
}

test('damage anywhere ends in an error or in rows, soon', () => {
  const files = readdirSync(FIXTURES)
    .filter((f) => f.endsWith('.parquet'))
    .map(fixture);
  let refused = 0;
  const runs = RUNS * 3;
  fc.assert(
    fc.property(
      fc.constantFrom(...files),
      fc.array(
        fc.tuple(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), fc.nat(255), fc.boolean()),
        { minLength: 1, maxLength: 4 },
      ),
      (file, changes) => {
        const bad = Uint8Array.from(file);
        // Half of the changes fall on the footer, where a byte means most.
        for (const [where, value, late] of changes)
          bad[Math.floor(late ? bad.length - 1 - where * Math.min(bad.length, 3000) : where * bad.length)] =
            value;
        if (outcome(bad) === null) refused++;
      },
    ),
    { seed: SEED, numRuns: runs },
  );
  assert.ok(refused > runs / 4, 'most damage is seen');
});

test('snappy: copies that overlap, damage that ends', () => {
  assert.deepEqual(
    unsnappy(Uint8Array.of(7, 0, 65, ((6 - 1) << 2) | 2, 1, 0), 7),
    new TextEncoder().encode('AAAAAAA'),
  );
  for (const bad of [
    [1, 63 << 2, 0xff, 0xff, 0xff, 0xff, 0],
    [5, 0, 65, 9, 0],
    [5, 0, 65, 2, 9, 0],
    [2, 0, 65],
    [1, 4, 65],
  ])
    fails(() => unsnappy(Uint8Array.from(bad), bad[0]!), 'data_corrupted', /snappy/);
});

test('flights: the first row group agrees with the library, row by row; all rows are there', async () => {
  const bytes = readFileSync(new URL('flights-3m.parquet', VEGA));
  const source = memorySource(bytes);
  const { desc, rowsKnown } = describeParquet(source);
  assert.equal(rowsKnown, 3_000_000);
  const file = {
    byteLength: bytes.length,
    slice: (a: number, b?: number) => Uint8Array.from(bytes.subarray(a, b)).buffer,
  };
  const expected: unknown[][] = [];
  await parquetRead({
    file,
    columns: ['delay', 'origin'],
    rowEnd: 50_000,
    compressors: { ZSTD: codecs.zstd },
    onComplete: (rows) => expected.push(...rows),
  });
  const want: RelationDesc = { columns: [desc.columns[1]!, desc.columns[3]!], keys: [] };
  let row = 0;
  let rows = 0;
  for (const { batch } of readParquet(source, want, codecs)) {
    rows += batch.length;
    if (row < expected.length)
      for (const cells of rowTexts(want, batch)) {
        if (row === expected.length) break;
        const [delay, origin] = expected[row++]!;
        assert.deepEqual(cells, [String(delay), origin]);
      }
  }
  assert.equal(row, 50_000);
  assert.equal(rows, 3_000_000);
});
