import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { SqlError } from '../base/error.ts';
import { canonicalJson } from '../repr/json.ts';
import { encodeUtf8 } from '../repr/text.ts';
import { type RelationDesc, type TypeName, type } from '../repr/types.ts';
import { describeJson, readJson } from './json-rows.ts';
import { JsonScanner } from './json-scanner.ts';
import { allRows, memorySource, RUNS, SEED, shape, VEGA } from './memory-source.fixture.ts';

function load(content: string): { shape: string; rows: (string | null)[][] } {
  const source = memorySource(content);
  const { desc, rowsKnown } = describeJson(source);
  const rows = allRows(desc, readJson(source, desc));
  assert.equal(rowsKnown, rows.length);
  return { shape: shape(desc), rows };
}

const column = (name: TypeName): RelationDesc => ({
  columns: [{ name: 'a', type: type(name), nullable: true }],
  keys: [],
});

const fails = (
  content: string | Uint8Array,
  desc: RelationDesc | null,
  code: string,
  message: string | RegExp,
): void => {
  const source = memorySource(content, 'f.json');
  assert.throws(
    () => (desc === null ? describeJson(source) : [...readJson(source, desc)]),
    (e) => {
      assert.ok(e instanceof SqlError, String(e));
      assert.equal(e.code, code, e.message);
      if (typeof message === 'string') assert.equal(e.message, message);
      else assert.match(e.message, message);
      return true;
    },
    String(content),
  );
};

test('an array, lines, or objects one after the other', () => {
  const rows = [
    ['1', 'x'],
    ['2', null],
    [null, 'y'],
  ];
  for (const content of [
    '[{"a":1,"b":"x"},{"a":2},{"b":"y"}]',
    ' [ { "a" : 1 , "b" : "x" } , { "a" : 2, "b": null } , { "b" : "y" } ] \n',
    '{"a":1,"b":"x"}\n{"a":2}\n{"b":"y"}\n',
    '\ufeff{"a":1,"b":"x"}{"a":2}\r\n\r\n{"b":"y"}',
  ])
    assert.deepEqual(load(content), { shape: 'a bigint, b text', rows }, content);
  assert.deepEqual(load('[{"a":1},{}]').rows, [['1'], [null]]);
  assert.deepEqual(load('{"a":1,"a":2}').rows, [['2']], 'the last of equal keys counts');
});

test('types', () => {
  const typesOf = (...values: string[]): string =>
    load(values.map((v) => `{"a":${v}}`).join('\n')).shape.slice(2);
  assert.equal(typesOf('1', '-2', 'null'), 'bigint');
  assert.equal(typesOf('1', '2.5'), 'double precision');
  assert.equal(typesOf('1e3'), 'double precision');
  assert.equal(typesOf('12345678901234567890'), 'numeric');
  assert.equal(typesOf('true', 'false'), 'boolean');
  assert.equal(typesOf('"2020-01-01"'), 'text');
  assert.equal(typesOf('"x"', '1', 'true'), 'text');
  assert.equal(typesOf('true', '1'), 'text');
  assert.equal(typesOf('[]', '1', '"x"'), 'jsonb');
  assert.equal(typesOf('null'), 'text');
});

test('values keep their digits', () => {
  assert.deepEqual(load('{"a":9007199254740993}').rows, [['9007199254740993']]);
  assert.deepEqual(load('{"a":"x"}{"a":1.10}{"a":true}').rows, [['x'], ['1.10'], ['true']]);
  assert.deepEqual(load('{"a":{"z":1.10,"b":[12345678901234567890]}}{"a":"s"}').rows, [
    ['{"b": [12345678901234567890], "z": 1.10}'],
    ['"s"'],
  ]);
  assert.deepEqual(load('{"a":"q\\"\\u00e9\\n\\ud83d\\udc22"}').rows, [['q"é\n🐢']]);
  assert.deepEqual(load('{"\\u0061":1}{"a":2}').rows, [['1'], ['2']], 'a key is its characters');
});

test('errors name file and row', () => {
  const F = 'bad_copy_file_format';
  fails('', null, F, 'file "f.json": has no object to take columns from');
  fails('[]', null, F, /no object/);
  fails('3', null, F, 'file "f.json": at its start: expected an object, found "3"');
  fails('[{"a":1},2]', null, F, 'file "f.json": after row 1: expected an object, found "2"');
  fails('[{"a":1} {"a":2}]', null, F, /after row 1: expected a comma or the end of the array/);
  fails('[{"a":1},]', null, F, /after row 1: expected an object, found "]"/);
  fails('[{"a":1}', null, F, 'file "f.json": after row 1: the file ends within the array');
  fails('[{"a":1}] x', null, F, /expected the end of the file/);
  fails('{"a":1}\n{"a":', null, F, 'file "f.json": row 2: the file ends within the object');
  fails('{"a":1}\n{"a":}', null, F, /row 2: expected a value/);
  fails('{"a":1}\n{"a" 1}', null, F, /row 2: expected ":"/);
  fails('{"a":1}\n{"a":1 "b":2}', null, F, /row 2: expected "," or "}"/);
  fails('{"a":1}\n{a:1}', null, F, /row 2: expected a key/);
  fails('{"a":1}\n{"a":tru}', null, F, 'file "f.json": row 2: invalid token "tru"');
  fails('{"a":01}', null, F, /row 1: invalid token "01"/);
  fails('{"a":1,}', null, F, /row 1: expected a key/);
  fails(
    '{"a":1}\n{"a":[1}}',
    column('jsonb'),
    'invalid_text_representation',
    /row 2, column "a": invalid input syntax for type json/,
  );
  fails(
    '{"a":1}\n{"a":"x"}',
    column('int8'),
    'invalid_text_representation',
    'file "f.json": row 2, column "a": invalid input syntax for type bigint: "x"',
  );
  fails(
    '{"a":1}\n{"a":[1]}',
    column('int8'),
    'datatype_mismatch',
    /row 2, column "a": an array stands where a scalar/,
  );
  fails('{"a":"\\x"}', column('text'), F, /row 1, column "a": invalid string/);
  fails('{"a":"\\u0000"}', column('text'), 'untranslatable_character', /row 1, column "a"/);
  fails('{"a":"\\ud800"}', column('text'), 'invalid_text_representation', /row 1, column "a"/);
  fails('{"a":"\n"}', column('text'), F, /row 1, column "a": invalid string/);
  fails(
    Uint8Array.from([...encodeUtf8('{"a":"'), 0xff, ...encodeUtf8('"}')]),
    column('text'),
    'character_not_in_repertoire',
    /row 1, column "a"/,
  );
});

test('any objects, in any chunks, read as JSON.stringify wrote them', () => {
  const value = fc.oneof(
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.string({ unit: 'grapheme' }).filter((s) => s.isWellFormed() && !s.includes('\0')),
    fc.constantFrom('"', '\\', '{', '}', '],[', '\n', '\u2028'),
    fc.array(fc.oneof(fc.integer(), fc.constantFrom('}', '"', ']')), { maxLength: 3 }),
    fc.record({ k: fc.integer(), '"': fc.constant('{') }),
  );
  const row = fc.dictionary(fc.constantFrom('a', 'b', 'é', '"', '\\'), value);
  fc.assert(
    fc.property(fc.array(row, { minLength: 1 }), fc.nat(2), fc.array(fc.nat(12)), (rows, form, cuts) => {
      const text =
        form === 0
          ? JSON.stringify(rows)
          : form === 1
            ? JSON.stringify(rows, null, 2)
            : rows.map((r) => JSON.stringify(r)).join('\n');
      const bytes = encodeUtf8(text);
      const s = new JsonScanner();
      let at = 0;
      let seen = 0;
      const drain = (): void => {
        while (s.next()) {
          // Not by JSON.parse, which in Node 24.21 gives an object with the key '"' the key '\\' of one parsed before.
          const text = (from: number, to: number): string =>
            new TextDecoder().decode(s.bytes.subarray(from, to));
          const members = Array.from({ length: s.count }, (_, k) =>
            [text(s.keyFrom[k]! - 1, s.keyTo[k]! + 1), text(s.from[k]!, s.to[k]!)].map(canonicalJson),
          );
          const expected = Object.entries(rows[seen++]!);
          assert.deepEqual(
            members,
            expected.map((e) => e.map((v) => canonicalJson(JSON.stringify(v)))),
          );
        }
      };
      for (const n of cuts) {
        s.push(bytes.subarray(at, (at = Math.min(bytes.length, at + n))));
        drain();
      }
      s.push(bytes.subarray(at));
      s.finish();
      drain();
      assert.equal(seen, rows.length);

      if (rows.every((r) => Object.keys(r).length === 0)) return;
      const source = memorySource(text);
      const { desc } = describeJson(source);
      const jsonb = { ...desc, columns: desc.columns.map((c) => ({ ...c, type: type('jsonb') })) };
      const expected = rows.map((r) =>
        desc.columns.map((c) => {
          const v = Object.hasOwn(r, c.name) ? r[c.name] : null;
          return v === null ? null : canonicalJson(JSON.stringify(v));
        }),
      );
      assert.deepEqual(allRows(jsonb, readJson(source, jsonb)), expected);
    }),
    { seed: SEED, numRuns: RUNS },
  );
});

test('any text is rows or an error that names the file', () => {
  const piece = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '"b":',
    '"',
    '\\',
    '1',
    '-',
    'true',
    ' ',
    '{"a":1}',
    '\n',
    '\u0000',
  );
  let read = 0;
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 14 }), (pieces) => {
      const source = memorySource(pieces.join(''), 'f.json');
      try {
        const { desc } = describeJson(source);
        allRows(desc, readJson(source, desc));
        read++;
      } catch (e) {
        assert.ok(e instanceof SqlError, String((e as Error).stack));
        assert.match(e.message, /^file "f.json": /);
      }
    }),
    { seed: SEED, numRuns: RUNS * 10 },
  );
  assert.ok(read > 0, 'some of it is JSON');
});

test('files that nobody here made', () => {
  for (const file of ['movies.json', 'flights-2k.json', 'cars.json', 'weekly-weather.json']) {
    const bytes = readFileSync(new URL(file, VEGA));
    const objects = JSON.parse(bytes.toString()) as Record<string, unknown>[];
    const source = memorySource(bytes, file);
    const { desc, rowsKnown } = describeJson(source);
    assert.equal(rowsKnown, objects.length);
    const rows = allRows(desc, readJson(source, desc));
    for (const [i, row] of rows.entries())
      for (const [k, c] of desc.columns.entries()) {
        const v = objects[i]![c.name] ?? null;
        const expected = c.type.name === 'jsonb' && v !== null ? canonicalJson(JSON.stringify(v)) : v;
        if (c.type.name === 'float8') assert.equal(row[k] === null ? null : Number(row[k]), expected);
        else assert.equal(row[k], expected === null ? null : String(expected), `${file} row ${i} ${c.name}`);
      }
  }
  assert.equal(
    shape(describeJson(memorySource(readFileSync(new URL('flights-2k.json', VEGA)))).desc),
    'date text, delay bigint, distance bigint, origin text, destination text',
  );
});
