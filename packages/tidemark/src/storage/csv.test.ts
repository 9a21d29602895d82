import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import fc from 'fast-check';
import { SqlError } from '../base/error.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { datumAt } from '../repr/datum.ts';
import { parseText } from '../repr/format.ts';
import { encodeUtf8 } from '../repr/text.ts';
import { kindOf, type RelationDesc, type TypeName, type } from '../repr/types.ts';
import { cellParser } from './cell-parser.ts';
import { type CsvOptions, describeCsv, readCsv } from './csv.ts';
import { CsvScanner } from './csv-scanner.ts';
import { columnNames } from './infer.ts';
import { allRows, memorySource, RUNS, SEED, shape, VEGA } from './memory-source.fixture.ts';

const load = (content: string | Uint8Array, options: CsvOptions = {}, maxRows?: number): unknown[][] => {
  const source = memorySource(content);
  const { desc } = describeCsv(source, options);
  return allRows(desc, readCsv(source, desc, options, maxRows));
};

const texts = (n: number): RelationDesc => ({
  columns: Array.from({ length: n }, (_, i) => ({ name: `c${i}`, type: type('text'), nullable: true })),
  keys: [],
});

const fails = (f: () => unknown, code: string, message: RegExp | string): void => {
  assert.throws(f, (e) => {
    assert.ok(e instanceof SqlError, String(e));
    assert.equal(e.code, code);
    if (typeof message === 'string') assert.equal(e.message, message);
    else assert.match(e.message, message);
    return true;
  });
};

test('fields, quotes, line ends, NULL', () => {
  const cases: [string, (string | null)[][]][] = [
    ['a,b\n', [['a', 'b']]],
    ['a,b', [['a', 'b']]],
    [
      'a,b\r\nc,d\r\n',
      [
        ['a', 'b'],
        ['c', 'd'],
      ],
    ],
    [
      'a,\n,b\n',
      [
        ['a', null],
        [null, 'b'],
      ],
    ],
    ['"",x\n', [['', 'x']]],
    ['"a,b","c\nd"\n', [['a,b', 'c\nd']]],
    ['"a\r\nb",c\n', [['a\r\nb', 'c']]],
    ['"say ""hi""",c\n', [['say "hi"', 'c']]],
    ['a"b,c"d,e\n', [['ab,cd', 'e']]],
    ['"""",""""""\n', [['"', '""']]],
    [' x , y \n', [[' x ', ' y ']]],
    ['\ufeffa,b\n', [['a', 'b']]],
    ['zażółć,🐢\n', [['zażółć', '🐢']]],
    ['a,b\r', [['a', 'b']]],
  ];
  for (const [content, rows] of cases)
    assert.deepEqual(allRows(texts(2), readCsv(memorySource(content), texts(2), {})), rows, content);
  assert.deepEqual(allRows(texts(1), readCsv(memorySource('a\n\n""\n'), texts(1), {})), [
    ['a'],
    [null],
    [''],
  ]);
});

test('delimiter, quote, null string, header by name', () => {
  assert.deepEqual(load("x;'a;b'\n\\N;'\\N'\n", { delimiter: ';', quote: "'", nullString: '\\N' }), [
    ['x', 'a;b'],
    [null, '\\N'],
  ]);
  const source = memorySource('b,a,skip\n1,2,3\n4,5,6\n');
  const desc: RelationDesc = {
    columns: ['a', 'b'].map((name) => ({ name, type: type('int8'), nullable: true })),
    keys: [],
  };
  assert.deepEqual(allRows(desc, readCsv(source, desc, { header: true })), [
    ['2', '1'],
    ['5', '4'],
  ]);
  const missing: RelationDesc = { columns: [{ name: 'z', type: type('text'), nullable: true }], keys: [] };
  fails(() => [...readCsv(source, missing, { header: true })], 'undefined_column', /has no column "z"/);
});

test('errors name file, line and column', () => {
  const two = (content: string) => () => [...readCsv(memorySource(content, 'f.csv'), texts(2), {})];
  const F = 'bad_copy_file_format';
  fails(two('a,b\nc\n'), F, 'file "f.csv": line 2: missing data for column "c1"');
  fails(two('a,b\n"x\ny",z\nc,d,e\n'), F, 'file "f.csv": line 4: extra data after last expected column');
  fails(two('a,b\nc,"d\n'), F, 'file "f.csv": line 2: unterminated CSV quoted field');
  fails(two('a,b\rc,d\n'), F, 'file "f.csv": line 1: unquoted carriage return found in data');
  fails(two('a,b\n\n'), F, 'file "f.csv": line 2: missing data for column "c1"');
  fails(() => describeCsv(memorySource('', 'f.csv'), {}), F, 'file "f.csv": is empty');
  const int: RelationDesc = { columns: [{ name: 'n', type: type('int4'), nullable: true }], keys: [] };
  const ints =
    (content: string | Uint8Array, desc = int) =>
    () => [...readCsv(memorySource(content, 'f.csv'), desc, {})];
  fails(
    ints('1\n"2\n"\nx\n'),
    'invalid_text_representation',
    'file "f.csv": line 4, column "n": invalid input syntax for type integer: "x"',
  );
  fails(ints('3000000000\n'), 'numeric_value_out_of_range', /line 1, column "n"/);
  fails(
    ints(Uint8Array.of(0x61, 10, 0xff, 10), texts(1)),
    'character_not_in_repertoire',
    /line 2, column "c0".*0xff/,
  );
  fails(ints(Uint8Array.of(0x61, 0, 10), texts(1)), 'character_not_in_repertoire', /0x00/);
  fails(() => load('a', { delimiter: ',,' }), 'invalid_parameter_value', /single one-byte/);
  fails(() => load('a', { delimiter: '"' }), 'invalid_parameter_value', /must not be/);
});

test('types are inferred from cells', () => {
  const types = (...cells: string[]): string =>
    shape(describeCsv(memorySource(`c\n${cells.join('\n')}\n`), { header: true }).desc).slice(2);
  assert.equal(types('1', '', '-7'), 'bigint');
  assert.equal(types('"1"', '2'), 'bigint');
  assert.equal(types('1', '2.5'), 'double precision');
  assert.equal(types('1e3', 'NaN', '-Infinity'), 'double precision');
  assert.equal(types('00501', '1'), 'text');
  assert.equal(types('9223372036854775807'), 'bigint');
  assert.equal(types('9223372036854775808', '1'), 'numeric');
  assert.equal(types('0.12345678901234567890'), 'numeric');
  assert.equal(types('0.00012345678901234567'), 'double precision');
  assert.equal(types('1e999'), 'numeric');
  assert.equal(types('t', 'False'), 'boolean');
  assert.equal(types('t', '1'), 'text');
  assert.equal(types('2020-02-29', '1999-12-31'), 'date');
  assert.equal(types('2021-02-29'), 'text');
  assert.equal(types('2020-01-01', '2020-01-01 10:00'), 'timestamp without time zone');
  assert.equal(types('2020/01/01 10:00:00', '2020-01-01T10:00:00.123456'), 'timestamp without time zone');
  assert.equal(types('2020-01-01T10:00:00Z', '2020-01-01 10:00:00+02'), 'timestamp with time zone');
  assert.equal(types('2020-01-01 10:00', '2020-01-01 10:00Z'), 'text');
  assert.equal(types('Jan 1 2000'), 'text');
  assert.equal(types('', ''), 'text');
  assert.equal(types('x', '1'), 'text');
});

test('a value that the sampled type does not hold ends the load', () => {
  const content = `${'1\n'.repeat(10_000)}x\n`;
  const source = memorySource(content);
  const { desc } = describeCsv(source, {});
  assert.equal(shape(desc), 'column1 bigint');
  fails(() => [...readCsv(source, desc, {})], 'invalid_text_representation', /line 10001, column "column1"/);
});

test('names of columns', () => {
  assert.deepEqual(columnNames(['a', '', 'a', 'a_2', 'a']), ['a', 'column2', 'a_3', 'a_2', 'a_4']);
});

test('batches keep to their size, progress to the file', () => {
  const source = memorySource('1\n2\n3\n4\n5\n');
  const { desc } = describeCsv(source, {});
  const out = [...readCsv(source, desc, {}, 2)];
  assert.deepEqual(
    out.map((d) => d.batch.length),
    [2, 2, 1],
  );
  assert.deepEqual(
    out.map((d) => d.progress),
    [
      { rowsRead: 2, bytesRead: 4 },
      { rowsRead: 4, bytesRead: 8 },
      { rowsRead: 5, bytesRead: 10 },
    ],
  );
});

test('a batch of long rows is cut by its bytes', () => {
  const row = `${'x'.repeat(40 << 20)}\n`;
  const source = memorySource(row.repeat(3));
  const lengths = [...readCsv(source, texts(1), {})].map((d) => d.batch.length);
  assert.deepEqual(lengths, [2, 1]);
});

test('any bytes are rows or an error that names the file', () => {
  const bytes = fc.uint8Array({ maxLength: 60 }).map((a) => a.map((b) => (b < 200 ? b : b & 1 ? 44 : 34)));
  fc.assert(
    fc.property(bytes, fc.boolean(), (content, header) => {
      const source = memorySource(content, 'f.csv');
      try {
        const { desc } = describeCsv(source, { header });
        allRows(desc, readCsv(source, desc, { header }));
      } catch (e) {
        assert.ok(e instanceof SqlError, String((e as Error).stack));
        assert.match(e.message, /^file "f.csv": /);
      }
    }),
    { seed: SEED, numRuns: RUNS * 3 },
  );
});

/** A character at a time, by the rules as they are written. */
function naive(s: string): (string | null)[][] {
  const rows: (string | null)[][] = [];
  let row: (string | null)[] = [];
  let field = '';
  let quoted = false;
  let inside = false;
  const end = (): void => {
    row.push(field === '' && !quoted ? null : field);
    field = '';
    quoted = false;
  };
  for (let i = 0; i < s.length; i++) {
    const c = s[i]!;
    if (inside) {
      if (c !== '"') field += c;
      else if (s[i + 1] === '"') field += s[++i];
      else inside = false;
    } else if (c === '"') inside = quoted = true;
    else if (c === ',') end();
    else if (c === '\n' || (c === '\r' && s[i + 1] === '\n')) {
      if (c === '\r') i++;
      end();
      rows.push(row);
      row = [];
    } else field += c;
  }
  if (field !== '' || quoted || row.length > 0) {
    end();
    rows.push(row);
  }
  return rows;
}

test('any text, in any chunks, reads as the naive parser reads it', () => {
  const piece = fc.constantFrom(
    'a',
    '"',
    '""',
    ',',
    '\n',
    '\r\n',
    'żó',
    '🐢',
    ' ',
    '"x,\ny"',
    'long '.repeat(9),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), fc.array(fc.nat(12)), (pieces, cuts) => {
      let s = pieces.join('');
      // An odd quote leaves a field open, which is an error of its own.
      if (((s.match(/"/g) ?? []).length & 1) === 1) s += '"';
      const bytes = encodeUtf8(s);
      const scanner = new CsvScanner({ delimiter: 44, quote: 34 });
      const rows: (string | null)[][] = [];
      const drain = (): void => {
        while (scanner.next())
          rows.push(
            Array.from({ length: scanner.count }, (_, k) =>
              scanner.from[k] === scanner.to[k] && scanner.quoted[k] === 0
                ? null
                : new TextDecoder().decode(scanner.bytes.subarray(scanner.from[k], scanner.to[k])),
            ),
          );
      };
      let at = 0;
      for (const n of cuts) {
        scanner.push(bytes.subarray(at, (at = Math.min(bytes.length, at + n))));
        drain();
      }
      scanner.push(bytes.subarray(at));
      scanner.finish();
      drain();
      assert.deepEqual(rows, naive(s));
      assert.equal(scanner.consumed, bytes.length);
    }),
    { seed: SEED, numRuns: RUNS * 5 },
  );
});

test('short forms read as the input functions read them', () => {
  const digits = fc.stringMatching(/^[+-]?\d{0,18}$/);
  const cell = fc.oneof(
    digits,
    fc.stringMatching(/^[+-]?\d{0,10}\.?\d{0,10}$/),
    fc.stringMatching(/^[0-2]\d{3}-[01]\d-[0-3]\d$/),
    fc.stringMatching(/^[0-2]\d{3}-[01]\d-[0-3]\d[ T][0-2]\d:[0-6]\d(:[0-6]\d(\.\d{1,7})?)?$/),
    fc.constantFrom(
      '',
      ' 1',
      '1 ',
      '-',
      '.',
      '-0',
      '-0.0',
      '1_000',
      '0x1F',
      'NaN',
      '1e5',
      'infinity',
      'today',
    ),
  );
  const names: TypeName[] = [
    'int2',
    'int4',
    'int8',
    'uint2',
    'uint4',
    'uint8',
    'float8',
    'numeric',
    'date',
    'timestamp',
    'text',
    'bool',
  ];
  const outcome = (f: () => unknown): unknown => {
    try {
      return f();
    } catch (e) {
      return `${(e as SqlError).code}: ${(e as Error).message}`;
    }
  };
  fc.assert(
    fc.property(cell, fc.constantFrom(...names), (text, name) => {
      const t = type(name);
      const fast = outcome(() => {
        const b = new ColumnBuilder(kindOf(t));
        const bytes = encodeUtf8(`12${text}34`);
        cellParser(t)(bytes, 2, bytes.length - 2, b);
        return datumAt(t, b.finish(), 0);
      });
      assert.deepEqual(
        fast,
        outcome(() => parseText(t, text)),
        `${name} from ${JSON.stringify(text)}`,
      );
    }),
    { seed: SEED, numRuns: RUNS * 20 },
  );
});

test('files that nobody here made', () => {
  const cases: [string, number, string][] = [
    ['stocks.csv', 560, 'symbol text, date text, price double precision'],
    [
      'airports.csv',
      3376,
      'iata text, name text, city text, state text, country text, latitude double precision, longitude double precision',
    ],
    [
      'weather.csv',
      2922,
      'location text, date date, precipitation double precision, temp_max double precision, temp_min double precision, wind double precision, weather text',
    ],
    ['github.csv', 955, 'time timestamp without time zone, count bigint'],
  ];
  for (const [file, rows, columns] of cases) {
    const source = memorySource(readFileSync(new URL(file, VEGA)), file);
    const { desc } = describeCsv(source, { header: true });
    assert.equal(shape(desc), columns);
    assert.equal(allRows(desc, readCsv(source, desc, { header: true })).length, rows, file);
  }
});
