/**
 * Every type through the wire, there and back: text in, binary out, the same bytes in again, text out. That the bytes are PostgreSQL's is
 * checked against what a PostgreSQL server sends; the text forms are the ones PostgreSQL prints.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type pg from 'pg';
import { send } from '../packages/tidemark/src/pgwire/wire-client.fixture.ts';
import { TYPES } from '../packages/tidemark/src/repr/types.ts';
import { RawClient } from './support/raw-client.ts';
import { rowsOf, wireDatabase } from './support/wire-database.ts';

const db = await wireDatabase();

/** Texts as the type prints them. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  bool: ['t', 'f'],
  int2: ['-32768', '0', '32767'],
  int4: ['-2147483648', '0', '2147483647'],
  int8: ['-9223372036854775808', '0', '9223372036854775807'],
  uint2: ['0', '65535'],
  uint4: ['0', '4294967295'],
  uint8: ['0', '18446744073709551615'],
  float4: ['0', '-0', '1.5', '3.4028235e+38', '1e-45', 'NaN', 'Infinity', '-Infinity'],
  float8: ['0', '-0', '0.1', '1.7976931348623157e+308', '5e-324', 'NaN', 'Infinity', '-Infinity'],
  numeric: [
    '0',
    '-1.50',
    '0.0001',
    '123456789012345678901234567890.123456789',
    '10000',
    'NaN',
    'Infinity',
    '-Infinity',
  ],
  text: ['', 'plain', "quo'te \\ tab\t", 'žluťoučký 🐎'],
  varchar: ['', 'v'],
  bpchar: ['x'],
  name: ['ident'],
  char: ['c'],
  bytea: ['\\x', '\\x00ff10'],
  date: ['0001-01-01', '2000-01-01', '2026-11-29', '0044-03-15 BC', 'infinity', '-infinity'],
  time: ['00:00:00', '23:59:59.999999', '24:00:00'],
  timestamp: ['2026-11-29 01:02:03.456789', '1999-12-31 23:59:59', 'infinity', '-infinity'],
  timestamptz: ['2026-11-29 01:02:03.456789+00', '1970-01-01 00:00:00+00', 'infinity', '-infinity'],
  interval: ['00:00:00', '1 year 2 mons -3 days +04:05:06.789', '-00:00:01'],
  uuid: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
  jsonb: ['null', '{"a": [1, 2.50, "x"], "b": {}}', '"text"'],
  oid: ['0', '4294967295'],
  mz_timestamp: ['0', '1700000000000'],
  'int4[]': ['{}', '{1,NULL,3}', '{{1,2},{3,4}}'],
  'text[]': ['{}', '{a,"b c","d\\"e",NULL,"NULL",""}'],
  'numeric[]': ['{1.0,NaN}'],
  'timestamptz[]': ['{"2026-11-29 01:02:03+00",NULL}'],
  'bool[]': ['{t,f}'],
  'int4 list': ['{1,NULL,3}'],
};

/** Not values of columns, or printed by the catalog. */
const ELSEWHERE = [
  'array',
  'list',
  'void',
  'unknown',
  'record',
  'regclass',
  'regtype',
  'regproc',
  'regnamespace',
];

const asText = (text: string | null): Buffer | null => (text === null ? null : Buffer.from(text));

async function shown(
  c: RawClient,
  select: string,
  param: Uint8Array | null,
  format: 0 | 1,
): Promise<string | null> {
  const cell = await c.cell(select, param, { param: format, result: 0 });
  return cell === null ? null : cell.toString();
}

const encoded = (c: RawClient, select: string, text: string | null): Promise<Buffer | null> =>
  c.cell(select, asText(text), { param: 0, result: 1 });

async function rawClient(): Promise<RawClient> {
  const c = await RawClient.connect(db.port);
  db.onClose(async () => c.end());
  return c;
}

describe('types over the wire', () => {
  it('are all here', () => {
    const untested = Object.keys(TYPES).filter((t) => !(t in VALUES) && !ELSEWHERE.includes(t));
    assert.deepEqual(untested, []);
  });

  for (const [name, values] of Object.entries(VALUES))
    it(name, async () => {
      const c = await rawClient();
      const select = `select $1::${name === 'char' ? '"char"' : name}`;
      for (const text of values) {
        assert.equal(await shown(c, select, asText(text), 0), text, 'text in, text out');
        const bytes = await encoded(c, select, text);
        assert.equal(
          await shown(c, select, bytes, 1),
          text,
          `binary in, text out (${bytes!.toString('hex')})`,
        );
        assert.deepEqual(
          await c.cell(select, bytes, { param: 1, result: 1 }),
          bytes,
          'binary in, binary out',
        );
      }
      assert.equal(await encoded(c, select, null), null);
    });

  it('are stored and read back', async () => {
    const c = await db.client();
    const columns = Object.keys(VALUES).map((t, i) => `c${i} ${t === 'char' ? '"char"' : t}`);
    await c.query(`create table everything (n int, ${columns.join(', ')})`);
    const texts = Object.values(VALUES);
    for (const n of [0, 1]) {
      const row = texts.map((t) => t[n] ?? null);
      await c.query(
        `insert into everything values (${n}, ${row.map((_, i) => `$${i + 1}`).join(', ')})`,
        row,
      );
    }
    for (const n of [0, 1]) {
      const query = {
        text: 'select * from everything where n = $1',
        values: [n],
        types: { getTypeParser: () => String },
        rowMode: 'array',
      };
      const { rows } = await c.query(query as unknown as pg.QueryArrayConfig<string[]>);
      assert.deepEqual(
        rows[0]!.slice(1),
        texts.map((t) => t[n] ?? null),
      );
    }
  });

  it('have the bytes of PostgreSQL', async () => {
    const c = await rawClient();
    const hex = async (type: string, text: string): Promise<string> =>
      (await encoded(c, `select $1::${type}`, text))!.toString('hex');
    // As a PostgreSQL server sends them.
    assert.equal(await hex('bool', 't'), '01');
    assert.equal(await hex('int2', '-7'), 'fff9');
    assert.equal(await hex('int8', '-1'), 'ffffffffffffffff');
    assert.equal(await hex('float8', '1.5'), '3ff8000000000000');
    assert.equal(await hex('numeric', '-12.50'), '000200004000' + '0002' + '000c' + '1388');
    assert.equal(await hex('date', '2000-01-02'), '00000001');
    assert.equal(await hex('timestamptz', '2000-01-01 00:00:01+00'), '00000000000f4240');
    assert.equal(
      await hex('interval', '1 year 2 days 00:00:01'),
      '00000000000f4240' + '00000002' + '0000000c',
    );
    assert.equal(await hex('jsonb', '[1]'), '015b315d');
    assert.equal(
      await hex('int4[]', '{1,NULL}'),
      '00000001' + '00000001' + '00000017' + '00000002' + '00000001' + '00000004' + '00000001' + 'ffffffff',
    );
  });

  it('follow the time zone in text and not in binary', async () => {
    const c = await rawClient();
    await c.exchange(send.query("set timezone = 'Asia/Tokyo'"));
    const at = '2026-11-29 10:02:03+09';
    const bytes = await encoded(c, 'select $1::timestamptz', at);
    assert.equal(await shown(c, 'select $1::timestamptz', bytes, 1), at);
    await c.exchange(send.query('set timezone = default'));
    assert.equal(await shown(c, 'select $1::timestamptz', bytes, 1), '2026-11-29 01:02:03+00');
  });

  it('name objects by their OIDs', async () => {
    const c = await db.client();
    await c.query('create table named (a int)');
    const [[oid]] = (await rowsOf(c, "select 'named'::regclass::oid")) as [[number]];
    for (const [type, given, answer] of [
      ['regclass', 'named', 'named'],
      ['regclass', oid, 'named'],
      ['regtype', 'integer', 'integer'],
      ['regnamespace', 'public', 'public'],
    ])
      assert.deepEqual(await rowsOf(c, `select $1::${type}`, [given]), [[answer]]);
    assert.deepEqual(await rowsOf(c, 'select 0::regclass, 1::regclass::text, $1::regclass::oid', ['named']), [
      ['-', '1', oid],
    ]);
  });

  it('tell their OIDs and modifiers', async () => {
    const c = await db.client();
    const { fields } = await c.query(
      'select 1::int2, 1::numeric(10,2), null::varchar(7), null::timestamp, null::text[], null::uint8',
    );
    assert.deepEqual(
      fields.map((f) => [f.dataTypeID, f.dataTypeSize, f.dataTypeModifier]),
      [
        [21, 2, -1],
        [1700, -1, 655366],
        [1043, -1, 11],
        [1114, 8, -1],
        [1009, -1, -1],
        [16464, 8, -1],
      ],
    );
  });
});
