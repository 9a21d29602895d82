/** What PostgreSQL cannot judge: types of the dialect's own, casts of whole columns, contexts of the session. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { SqlArray, SqlList } from './array.ts';
import { numberKernel } from './cast-kernels.ts';
import { castAllowed, castColumn, findCast } from './casts.ts';
import { ColumnBuilder } from './column.ts';
import { civilFromDays, daysFromCivil } from './datetime.ts';
import { columnOf, datumAt } from './datum.ts';
import { DEFAULT_FORMAT, type FormatContext, parseText, textOf } from './format.ts';
import { parseInterval } from './interval-parse.ts';
import {
  jsonContains,
  jsonElements,
  jsonEntries,
  jsonExists,
  jsonObjectText,
  jsonPretty,
  jsonScalarText,
  jsonTypeof,
} from './json.ts';
import { parseJson } from './json-parse.ts';
import { addNumeric, numericFromBig, numericFromDouble, numericToDouble, parseNumeric } from './numeric.ts';
import { charLength, compareText, truncateBytes, truncateChars, utf8Length } from './text.ts';
import { findTimeZone, timeZone } from './time-zone.ts';
import {
  arrayOf,
  type Datum,
  kindOf,
  listOf,
  needsCanon,
  oidOf,
  type SqlType,
  TYPES,
  type TypeName,
  type,
  typeByOid,
  typeToString,
} from './types.ts';

const fails = (sqlstate: string, message: RegExp) => (e: unknown) =>
  e instanceof SqlError && e.sqlstate === sqlstate && message.test(e.message);
const cast = (from: SqlType, to: SqlType, d: Datum): Datum => {
  const c = findCast(from, to);
  assert.ok(c);
  return c.apply(d, DEFAULT_FORMAT);
};

test('unsigned integers', () => {
  assert.equal(parseText(type('uint8'), '18446744073709551615'), 18446744073709551615n);
  assert.throws(
    () => parseText(type('uint8'), '-1'),
    fails('22003', /value "-1" is out of range for type uint8/),
  );
  assert.throws(() => parseText(type('uint2'), '65536'), fails('22003', /out of range for type uint2/));
  assert.throws(() => cast(type('int4'), type('uint4'), -1), fails('22003', /^uint4 out of range$/));
  assert.equal(cast(type('uint8'), type('numeric'), 2n ** 64n - 1n)?.toString(), '18446744073709551615');
  assert.equal(
    cast(type('numeric'), type('uint8'), parseNumeric('18446744073709551614.5')),
    18446744073709551615n,
  );
});

test('mz_timestamp counts milliseconds', () => {
  const mz = type('mz_timestamp');
  assert.equal(parseText(mz, '1577836800000'), 1577836800000);
  assert.throws(() => parseText(mz, '-1'), fails('22003', /mz_timestamp/));
  const at = parseText(type('timestamptz'), '2020-01-01 00:00:00.0019+00');
  assert.equal(cast(type('timestamptz'), mz, at), 1577836800001);
  assert.equal(
    textOf(type('timestamptz'), cast(mz, type('timestamptz'), 1577836800001)),
    '2020-01-01 00:00:00.001+00',
  );
  const early = parseText(type('timestamptz'), '1969-12-31 23:59:59.9999+00');
  assert.throws(() => cast(type('timestamptz'), mz, early), fails('22003', /mz_timestamp out of range/));
  assert.throws(() => cast(type('int8'), mz, -1n), fails('22003', /mz_timestamp out of range/));
});

test('lists nest in their text', () => {
  const t = listOf(listOf(type('text')));
  const v = parseText(t, '{{a,"b c"},{},NULL,{NULL,"NULL"}}');
  assert.deepEqual(
    v,
    new SqlList([new SqlList(['a', 'b c']), new SqlList([]), null, new SqlList([null, 'NULL'])]),
  );
  assert.equal(textOf(t, v), '{{a,"b c"},{},NULL,{NULL,"NULL"}}');
  assert.throws(() => parseText(t, '{{a}'), fails('22P02', /malformed list literal: "\{\{a\}"/));
  assert.deepEqual(
    cast(arrayOf(type('int4')), listOf(type('int8')), SqlArray.of([1, null])),
    new SqlList([1n, null]),
  );
});

test('lengths: an explicit cast cuts, an assignment refuses all but spaces', () => {
  const to: SqlType = { name: 'varchar', typmod: 2 };
  const assign = findCast(type('text'), to, false)!;
  assert.equal(findCast(type('text'), to)!.apply('abc', DEFAULT_FORMAT), 'ab');
  assert.equal(assign.apply('ab  ', DEFAULT_FORMAT), 'ab');
  assert.throws(
    () => assign.apply('abc', DEFAULT_FORMAT),
    fails('22001', /^value too long for type character varying\(2\)$/),
  );
  assert.throws(() => parseText(to, 'abc'), fails('22001', /value too long/));
});

test('contexts order, and there is no cast between strangers', () => {
  assert.ok(castAllowed('implicit', 'assignment') && castAllowed('assignment', 'explicit'));
  assert.ok(!castAllowed('explicit', 'assignment') && !castAllowed('assignment', 'implicit'));
  assert.equal(findCast(type('date'), type('int4')), undefined);
  assert.equal(findCast(type('bool'), type('int8')), undefined);
  assert.equal(findCast(type('int4'), type('text'))?.context, 'assignment');
  assert.equal(findCast(type('text'), type('int4'))?.context, 'explicit');
  assert.equal(findCast(type('unknown'), type('int4'))?.context, 'implicit');
});

test('a cast of a column: errors are sparse and their rows NULL', () => {
  const c = columnOf(type('text'), ['1', 'x', null, '99999999999', '-5'], new ColumnBuilder('bytes'));
  const { column, errors } = castColumn(findCast(type('text'), type('int4'))!, c, DEFAULT_FORMAT);
  assert.deepEqual(
    [0, 1, 2, 3, 4].map((i) => datumAt(type('int4'), column, i)),
    [1, null, null, null, -5],
  );
  assert.deepEqual(
    errors.map((e) => [e.row, e.error.sqlstate]),
    [
      [1, '22P02'],
      [3, '22003'],
    ],
  );
});

test('kernels of casts agree with the general way', () => {
  const samples = [
    0, 1, -1, 127, 32767, 32768, -32769, 2147483647, -2147483648, 2147483648, 86400, 1577836800000,
    9007199254740991,
  ];
  const wide = [-(2n ** 63n), 2n ** 63n - 1n, 2n ** 60n + 1n, 86_399_999_999n, -1n, -86_400_000_001n];
  let pairs = 0;
  for (const from of Object.keys(TYPES) as TypeName[])
    for (const to of Object.keys(TYPES) as TypeName[]) {
      if (numberKernel(from, to) === undefined) continue;
      pairs++;
      const i64 = kindOf(type(from)) === 'i64';
      const range: Partial<Record<TypeName, [number, number]>> = {
        int2: [-32768, 32767],
        uint2: [0, 65535],
        uint4: [0, 2 ** 32 - 1],
        mz_timestamp: [0, 2 ** 53 - 1],
      };
      const [min, max] = range[from] ?? [-2147483648, 2147483647];
      // Dates and timestamps are in range where their calendar is; the infinities are the extremes.
      const values: Datum[] = i64
        ? [...samples.map(BigInt), ...wide, null]
        : [
            ...samples.filter(
              (v) =>
                v >= min &&
                v <= max &&
                !(from === 'date' && Math.abs(v) > 1e8 && v !== 2147483647 && v !== -2147483648),
            ),
            null,
          ];
      const c = columnOf(type(from), values, new ColumnBuilder(kindOf(type(from))));
      const one = findCast(type(from), type(to))!;
      const { column, errors } = castColumn(one, c, DEFAULT_FORMAT);
      const failed = new Map(errors.map((e) => [e.row, e.error.message]));
      values.forEach((v, i) => {
        let want: Datum = null;
        try {
          want = v === null ? null : one.apply(v, DEFAULT_FORMAT);
          assert.equal(failed.get(i), undefined);
        } catch (e) {
          if (!(e instanceof SqlError)) throw e;
          assert.equal(failed.get(i), e.message, `${from} to ${to} of ${v}`);
        }
        assert.deepEqual(datumAt(type(to), column, i), want, `${from} to ${to} of ${v}`);
      });
    }
  assert.ok(pairs > 25);
});

test('the present and the zone come from the context', () => {
  const ctx: FormatContext = { timeZone: timeZone('Asia/Tokyo'), nowMicros: 1_577_890_800_000_000 }; // 2020-01-01 15:00Z
  const date = (s: string): string => textOf(type('date'), parseText(type('date'), s, ctx));
  assert.deepEqual(['today', 'tomorrow', 'yesterday', 'now'].map(date), [
    '2020-01-02',
    '2020-01-03',
    '2020-01-01',
    '2020-01-02',
  ]);
  const tz = type('timestamptz');
  assert.equal(parseText(tz, 'now', ctx), 1_577_890_800_000_000n);
  assert.equal(textOf(tz, parseText(tz, 'today', ctx), ctx), '2020-01-02 00:00:00+09');
  assert.equal(textOf(type('timestamp'), parseText(type('timestamp'), 'now', ctx)), '2020-01-02 00:00:00');
});

test('time zones: names, abbreviations, offsets, strangers', () => {
  assert.equal(findTimeZone('europe/paris')?.name, 'Europe/Paris');
  assert.equal(findTimeZone('EST')?.fixed, -18000);
  assert.equal(findTimeZone('+05:30')?.fixed, -19800, 'POSIX counts west');
  assert.equal(findTimeZone('Mars/Olympus'), undefined);
  assert.throws(() => timeZone('Mars/Olympus'), fails('22023', /^time zone "Mars\/Olympus" not recognized$/));
  // Transitions of 2020 in Paris, and the rule carried to the year 3000.
  const paris = timeZone('Europe/Paris');
  assert.deepEqual(
    [1585443599, 1585443600, 1603587599, 1603587600].map((t) => paris.offsetAt(t)),
    [3600, 7200, 7200, 3600],
  );
  assert.equal(paris.offsetAt(daysFromCivil(3000, 7, 1) * 86400), 7200);
  assert.equal(paris.offsetAt(daysFromCivil(200000, 1, 1) * 86400), 3600);
});

test('civil dates are a bijection with days over the whole range', () => {
  for (let d = -2440588; d < 200_000_000; d += 9973) {
    const c = civilFromDays(d);
    assert.equal(daysFromCivil(c.year, c.month, c.day), d);
  }
});

test('limits: 39 digits, the time field of an interval', () => {
  const nines = '9'.repeat(39);
  assert.equal(parseNumeric(nines).toString(), nines);
  assert.throws(
    () => addNumeric(parseNumeric(nines), parseNumeric('1')),
    fails('22003', /^value overflows numeric format$/),
  );
  assert.equal(
    parseNumeric(`${'1'.repeat(38)}.55`).toString(),
    `${'1'.repeat(38)}.6`,
    'decimals are rounded to fit',
  );
  assert.throws(() => parseInterval('3000000 hours'), fails('22015', /interval field value out of range/));
  assert.throws(() => parseInterval('infinity'), fails('0A000', /infinite interval/));
});

test('numbers and doubles', () => {
  for (const v of [0, 0.1, -1.5, 1e20, 123456.789, 1e-7, 2 ** 40])
    assert.equal(numericToDouble(numericFromDouble(v)), v);
  assert.equal(numericToDouble(numericFromBig(10n ** 30n + 1n, 10)), 1e20);
  assert.ok(Object.is(numericToDouble(parseNumeric('-0')), 0));
});

test('jsonb in place', () => {
  const doc = textOf(type('jsonb'), parseText(type('jsonb'), '{"b":[1,{"x":"]}"}],"a":"q\\"r","cc":null}'));
  assert.equal(doc, '{"a": "q\\"r", "b": [1, {"x": "]}"}], "cc": null}');
  assert.deepEqual(jsonEntries(doc), [
    ['a', '"q\\"r"'],
    ['b', '[1, {"x": "]}"}]'],
    ['cc', 'null'],
  ]);
  assert.deepEqual(jsonElements('[1, {"x": "]}"}, []]'), ['1', '{"x": "]}"}', '[]']);
  assert.equal(jsonScalarText('"q\\"r"'), 'q"r');
  assert.equal(jsonScalarText('null'), null);
  assert.equal(jsonTypeof('-1'), 'number');
  assert.ok(
    jsonExists(doc, 'cc') && !jsonExists(doc, 'x') && jsonExists('["a"]', 'a') && jsonExists('"a"', 'a'),
  );
  assert.ok(jsonContains('[1, 2]', '1') && !jsonContains('1', '[1]'));
  const many = Array.from({ length: 60 }, (_, i) => [`k${(i * 7) % 50}`, String(i)] as const);
  assert.equal(
    jsonObjectText(many),
    textOf(type('jsonb'), parseText(type('jsonb'), `{${many.map(([k, v]) => `"${k}":${v}`).join(',')}}`)),
  );
  assert.equal(
    jsonPretty(parseJson('{"a":[1,[]],"b":{}}')),
    '{\n    "a": [\n        1,\n        [\n        ]\n    ],\n    "b": {\n    }\n}',
  );
  assert.throws(() => parseJson('['.repeat(5000)), fails('54001', /stack depth/));
});

test('text by characters and bytes', () => {
  const s = 'aé𝄞b';
  assert.equal(charLength(s), 4);
  assert.equal(utf8Length(new TextEncoder().encode(s)), 4);
  assert.equal(truncateChars(s, 3), 'aé𝄞');
  assert.equal(truncateBytes(s, 6), 'aé');
  assert.equal(truncateBytes(s, 7), 'aé𝄞');
  assert.ok(compareText('\uffee', '𝄞') < 0, 'code points, not UTF-16 units');
});

test('types: names, OIDs, keys', () => {
  assert.equal(typeToString({ name: 'numeric', typmod: (10 << 16) | 2 }), 'numeric(10,2)');
  assert.equal(typeToString({ name: 'numeric', typmod: (3 << 16) | (-2 & 0x7ff) }), 'numeric(3,-2)');
  assert.equal(typeToString({ name: 'timestamp', typmod: 3 }), 'timestamp(3) without time zone');
  assert.equal(typeToString(arrayOf({ name: 'varchar', typmod: 5 })), 'character varying(5)[]');
  for (const name of Object.keys(TYPES) as TypeName[]) {
    if (name === 'array' || name === 'void') continue;
    assert.equal(typeByOid(oidOf(type(name)))?.name, name);
  }
  assert.equal(oidOf(arrayOf(type('int4'))), 1007);
  assert.ok(needsCanon({ name: 'record', fields: [type('int4'), type('numeric')] }));
  assert.ok(!needsCanon({ name: 'record', fields: [type('int4')] }));
  assert.ok(!needsCanon({ name: 'numeric', typmod: (10 << 16) | 2 }));
});

test('inner white space costs no more than its length', () => {
  // A trailing-space pattern that backtracks needs minutes for this; the test would run into its time limit.
  const far = `1${' '.repeat(400_000)}x`;
  assert.throws(() => parseText(type('int4'), far), fails('22P02', /invalid input syntax/));
  assert.equal(cast(type('bpchar'), type('text'), `${far}  `), far);
  assert.throws(() => parseText(type('numeric'), far), fails('22P02', /invalid input syntax/));
});
