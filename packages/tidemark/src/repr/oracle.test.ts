/**
 * PostgreSQL as the judge: input, output, errors, arithmetic, casts, order and binary forms of every type it
 * shares with us, over hand-picked edges and seeded random values. Cannot see: types that PostgreSQL lacks (uint,
 * mz_timestamp, list), and values beyond our documented limits (39 digits, 285 years in an interval's time field).
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { PGlite } from '@electric-sql/pglite';
import { SqlError } from '../base/error.ts';
import { findCast } from './casts.ts';
import { datumComparator } from './compare.ts';
import { localMoment, toMoment } from './datetime.ts';
import {
  addToTimestamp,
  addToTimestamptz,
  age,
  binTimestamp,
  diffTimestamps,
  extractDate,
  extractOfInterval,
  extractTime,
  extractTimestamp,
  extractTimestamptz,
  truncInterval,
  truncTimestamp,
  truncTimestamptz,
} from './datetime-functions.ts';
import { type FormatContext, parseBinary, parseText, textOf } from './format.ts';
import {
  addInterval,
  divInterval,
  type Interval,
  justifyDays,
  justifyHours,
  justifyInterval,
  mulInterval,
  subInterval,
} from './interval.ts';
import { parseInterval } from './interval-parse.ts';
import { jsonContains, jsonGet, jsonPath } from './json.ts';
import {
  addNumeric,
  ceilNumeric,
  divNumeric,
  floorNumeric,
  modNumeric,
  mulNumeric,
  type Numeric,
  parseNumeric,
  quotNumeric,
  roundNumeric,
  subNumeric,
  truncNumeric,
} from './numeric.ts';
import { expNumeric, lnNumeric, logNumeric, powerNumeric, sqrtNumeric } from './numeric-functions.ts';
import * as corpus from './oracle-corpus.ts';
import { timeZone } from './time-zone.ts';
import { arrayOf, type Datum, type SqlType, type TypeName, type } from './types.ts';
import { encodeBinary } from './wire.ts';

/** xorshift32 in [0, 1); SEED replays. */
function random(): () => number {
  let s = Number(process.env['SEED'] ?? 20261129) | 1;
  return () => {
    s ^= s << 13;
    s ^= s >>> 17;
    s ^= s << 5;
    return (s >>> 0) / 4294967296;
  };
}

function randomNumerics(n: number): string[] {
  const next = random();
  const digits = (k: number): string => Array.from({ length: k }, () => Math.floor(next() * 10)).join('');
  return Array.from({ length: n }, () => {
    const whole = Math.floor(next() * 9);
    const scale = Math.floor(next() * 8);
    return `${next() < 0.5 ? '-' : ''}${digits(whole) || '0'}${scale > 0 ? `.${digits(scale)}` : ''}`;
  });
}

const ZONE = 'America/New_York';
const ctx: FormatContext = { timeZone: timeZone(ZONE), nowMicros: 0 };

let pg: PGlite;
before(async () => {
  pg = await PGlite.create();
  await pg.exec(`
    SET timezone = '${ZONE}';
    CREATE FUNCTION attempt(q text) RETURNS text LANGUAGE plpgsql AS $$
    DECLARE r text; d text;
    BEGIN
      EXECUTE q INTO r;
      RETURN coalesce(r, 'NULL');
    EXCEPTION WHEN OTHERS THEN
      GET STACKED DIAGNOSTICS d = PG_EXCEPTION_DETAIL;
      RETURN 'error ' || SQLSTATE || ': ' || SQLERRM || CASE WHEN d = '' THEN '' ELSE ' / ' || d END;
    END $$;`);
});
after(() => pg.close());

/** Collects pairs of a query and our answer; one round trip compares them all. */
class Judge {
  readonly #queries: string[] = [];
  readonly #ours: string[] = [];

  check(query: string, ours: () => string | null): void {
    this.#queries.push(query);
    this.#ours.push(answer(ours));
  }

  async verdict(): Promise<void> {
    assert.ok(this.#queries.length > 0, 'a judged test asks something');
    const { rows } = await pg.query<{ r: string }>(
      'SELECT attempt(q) AS r FROM unnest($1::text[]) WITH ORDINALITY AS t(q, i) ORDER BY i',
      [this.#queries],
    );
    const wrong: string[] = [];
    for (let i = 0; i < rows.length; i++) {
      const want = rows[i]!.r;
      const got = this.#ours[i]!;
      if (want !== got) wrong.push(`${this.#queries[i]}\n    postgres ${want}\n    ours     ${got}`);
    }
    assert.equal(
      wrong.length,
      0,
      `${wrong.length} of ${rows.length} differ\n${wrong.slice(0, 60).join('\n')}`,
    );
  }
}

function answer(f: () => string | null): string {
  try {
    return f() ?? 'NULL';
  } catch (e) {
    if (!(e instanceof SqlError)) throw e;
    return `error ${e.sqlstate}: ${e.message}${e.detail === undefined ? '' : ` / ${e.detail}`}`;
  }
}

const lit = (s: string): string => `'${s.replaceAll("'", "''")}'`;
const hex = (b: Uint8Array): string => `\\x${[...b].map((x) => x.toString(16).padStart(2, '0')).join('')}`;

function typeOf(name: string): SqlType {
  if (name.endsWith('[]')) return arrayOf(typeOf(name.slice(0, -2)));
  const m = /^(\w+)\((\d+)(?:,\s*(-?\d+))?\)$/.exec(name);
  if (m === null) return type(name as TypeName);
  const typmod = m[1] === 'numeric' ? (Number(m[2]) << 16) | (Number(m[3] ?? 0) & 0x7ff) : Number(m[2]);
  return { name: m[1] as TypeName, typmod };
}
const sqlType = (name: string): string => (name === 'char' ? '"char"' : name);

describe('against PostgreSQL', () => {
  for (const [name, values] of Object.entries(corpus.INPUTS))
    test(`input and output of ${name}`, async () => {
      const j = new Judge();
      const t = typeOf(name);
      for (const v of values)
        j.check(`SELECT ${lit(v)}::${sqlType(name)}::text`, () => {
          const d = parseText({ ...t }, v, ctx);
          // A cast of text is explicit in the query: lengths cut there.
          return name === 'bool'
            ? d
              ? 'true'
              : 'false'
            : textOf(t, d, ctx).replace(/ +$/, t.name === 'bpchar' ? '' : '$&');
        });
      await j.verdict();
    });

  test('arithmetic of numeric', async () => {
    const j = new Judge();
    const ops: Record<string, (a: Numeric, b: Numeric) => Numeric> = {
      '+': addNumeric,
      '-': subNumeric,
      '*': mulNumeric,
      '/': divNumeric,
      '%': modNumeric,
    };
    const values = [...corpus.NUMERIC_OPERANDS, ...randomNumerics(40)];
    const next = random();
    for (let k = 0; k < 1500; k++) {
      const a = values[Math.floor(next() * values.length)]!;
      const b = values[Math.floor(next() * values.length)]!;
      for (const [op, f] of Object.entries(ops))
        j.check(`SELECT (${lit(a)}::numeric ${op} ${lit(b)}::numeric)::text`, () =>
          String(f(parseNumeric(a), parseNumeric(b))),
        );
      j.check(`SELECT div(${lit(a)}, ${lit(b)})::text`, () =>
        String(quotNumeric(parseNumeric(a), parseNumeric(b))),
      );
    }
    await j.verdict();
  });

  test('rounding of numeric', async () => {
    const j = new Judge();
    for (const v of [...corpus.NUMERIC_OPERANDS, ...randomNumerics(60)]) {
      const n = parseNumeric(v);
      for (const places of [-3, -1, 0, 1, 2, 5]) {
        j.check(`SELECT round(${lit(v)}::numeric, ${places})::text`, () => String(roundNumeric(n, places)));
        j.check(`SELECT trunc(${lit(v)}::numeric, ${places})::text`, () => String(truncNumeric(n, places)));
      }
      j.check(`SELECT ceil(${lit(v)}::numeric)::text`, () => String(ceilNumeric(n)));
      j.check(`SELECT floor(${lit(v)}::numeric)::text`, () => String(floorNumeric(n)));
    }
    await j.verdict();
  });

  test('transcendental functions of numeric', async () => {
    const j = new Judge();
    const values = [...corpus.FUNCTION_ARGUMENTS];
    for (const v of values) {
      const n = parseNumeric(v);
      j.check(`SELECT sqrt(${lit(v)}::numeric)::text`, () => String(sqrtNumeric(n)));
      j.check(`SELECT ln(${lit(v)}::numeric)::text`, () => String(lnNumeric(n)));
      j.check(`SELECT log(2, ${lit(v)}::numeric)::text`, () => String(logNumeric(parseNumeric('2'), n)));
      j.check(`SELECT log(${lit(v)}::numeric)::text`, () => String(logNumeric(parseNumeric('10'), n)));
      if (Math.abs(Number(v)) < 45 || !n.finite)
        j.check(`SELECT exp(${lit(v)}::numeric)::text`, () => String(expNumeric(n)));
      for (const e of ['0', '1', '-1', '2', '3', '-3', '0.5', '1.50', '-2.5'])
        if (Math.abs(Number(v)) < 1e6 || !n.finite)
          j.check(`SELECT power(${lit(v)}::numeric, ${lit(e)}::numeric)::text`, () =>
            String(powerNumeric(n, parseNumeric(e))),
          );
    }
    await j.verdict();
  });

  test('arithmetic of intervals', async () => {
    const j = new Judge();
    const values = corpus.INTERVAL_OPERANDS;
    const i = (s: string): Interval => parseInterval(s);
    for (const a of values) {
      for (const b of values) {
        j.check(`SELECT (${lit(a)}::interval + ${lit(b)}::interval)::text`, () =>
          String(addInterval(i(a), i(b))),
        );
        j.check(`SELECT (${lit(a)}::interval - ${lit(b)}::interval)::text`, () =>
          String(subInterval(i(a), i(b))),
        );
      }
      for (const f of [2, 0.5, -1.5, 1 / 3, 0.1, 7.77, 0]) {
        j.check(`SELECT (${lit(a)}::interval * ${f}::float8)::text`, () => String(mulInterval(i(a), f)));
        j.check(`SELECT (${lit(a)}::interval / ${f}::float8)::text`, () => String(divInterval(i(a), f)));
      }
      j.check(`SELECT justify_days(${lit(a)})::text`, () => String(justifyDays(i(a))));
      j.check(`SELECT justify_hours(${lit(a)})::text`, () => String(justifyHours(i(a))));
      j.check(`SELECT justify_interval(${lit(a)})::text`, () => String(justifyInterval(i(a))));
      for (const f of corpus.FIELDS) {
        j.check(`SELECT extract(${f} from ${lit(a)}::interval)::text`, () =>
          String(extractOfInterval(f, i(a))),
        );
        j.check(`SELECT date_trunc(${lit(f)}, ${lit(a)}::interval)::text`, () =>
          String(truncInterval(f, i(a))),
        );
      }
    }
    for (const [text, fields] of corpus.INTERVAL_FIELDS)
      j.check(`SELECT (interval ${lit(text)} ${fields})::text`, () => String(parseInterval(text, fields)));
    await j.verdict();
  });

  test('fields, truncation and arithmetic of dates and times', async () => {
    const j = new Judge();
    const ts = (s: string): bigint => parseText(type('timestamp'), s, ctx) as bigint;
    const tz = (s: string): bigint => parseText(type('timestamptz'), s, ctx) as bigint;
    const outTs = (t: Datum): string => textOf(type('timestamp'), t, ctx);
    const outTz = (t: Datum): string => textOf(type('timestamptz'), t, ctx);
    for (const v of corpus.MOMENTS) {
      for (const f of corpus.FIELDS) {
        const show = (n: Numeric | null): string | null => (n === null ? null : String(n));
        j.check(`SELECT extract(${f} from ${lit(v)}::timestamp)::text`, () =>
          show(extractTimestamp(f, ts(v))),
        );
        j.check(`SELECT extract(${f} from ${lit(v)}::timestamptz)::text`, () =>
          show(extractTimestamptz(f, tz(v), ctx.timeZone)),
        );
        j.check(`SELECT extract(${f} from ${lit(v)}::date)::text`, () =>
          show(extractDate(f, parseText(type('date'), v, ctx) as number)),
        );
        j.check(`SELECT date_trunc(${lit(f)}, ${lit(v)}::timestamp)::text`, () =>
          outTs(truncTimestamp(f, ts(v))),
        );
        j.check(`SELECT date_trunc(${lit(f)}, ${lit(v)}::timestamptz)::text`, () =>
          outTz(truncTimestamptz(f, tz(v), ctx.timeZone)),
        );
      }
      for (const i of corpus.INTERVAL_OPERANDS) {
        j.check(`SELECT (${lit(v)}::timestamp + ${lit(i)}::interval)::text`, () =>
          outTs(addToTimestamp(ts(v), parseInterval(i))),
        );
        j.check(`SELECT (${lit(v)}::timestamptz + ${lit(i)}::interval)::text`, () =>
          outTz(addToTimestamptz(tz(v), parseInterval(i), ctx.timeZone)),
        );
      }
      if (v.includes('infinity')) continue;
      for (const w of corpus.MOMENTS.slice(0, 14)) {
        j.check(`SELECT age(${lit(v)}::timestamp, ${lit(w)}::timestamp)::text`, () =>
          String(age(toMoment(ts(v)), toMoment(ts(w)))),
        );
        j.check(`SELECT age(${lit(v)}::timestamptz, ${lit(w)}::timestamptz)::text`, () =>
          String(age(localMoment(tz(v), ctx.timeZone), localMoment(tz(w), ctx.timeZone))),
        );
        j.check(`SELECT (${lit(v)}::timestamp - ${lit(w)}::timestamp)::text`, () =>
          String(diffTimestamps(ts(v), ts(w))),
        );
        for (const stride of ['15 minutes', '2 days 3 hours', '0.007 seconds'])
          j.check(`SELECT date_bin(${lit(stride)}, ${lit(v)}::timestamp, ${lit(w)}::timestamp)::text`, () =>
            outTs(binTimestamp(parseInterval(stride), ts(v), ts(w))),
          );
      }
    }
    for (const v of ['00:00', '23:59:59.999999', '24:00', '12:34:56.5'])
      for (const f of corpus.FIELDS)
        j.check(`SELECT extract(${f} from ${lit(v)}::time)::text`, () =>
          String(extractTime(f, Number(parseText(type('time'), v, ctx)))),
        );
    await j.verdict();
  });

  test('casts', async () => {
    const j = new Judge();
    for (const [from, values, targets] of corpus.CASTS)
      for (const to of targets)
        for (const v of values) {
          const cast = findCast(typeOf(from), typeOf(to));
          assert.ok(cast, `${from} casts to ${to}`);
          const show = findCast(typeOf(to), type('text'))!;
          j.check(`SELECT (${lit(v)}::${sqlType(from)})::${sqlType(to)}::text`, () => {
            const d = cast.apply(parseText(typeOf(from), v, ctx), ctx);
            return d === null ? null : (show.apply(d, ctx) as string);
          });
        }
    await j.verdict();
  });

  test('contexts of casts', async () => {
    const names = Object.keys(corpus.INPUTS).filter((n) => !/[[(]/.test(n));
    const { rows } = await pg.query<{ f: TypeName; t: TypeName; c: string }>(
      `SELECT s.typname AS f, t.typname AS t, castcontext AS c FROM pg_cast
       JOIN pg_type s ON s.oid = castsource JOIN pg_type t ON t.oid = casttarget
       WHERE s.typname = ANY($1) AND t.typname = ANY($1) AND s.oid <> t.oid`,
      [names],
    );
    assert.ok(rows.length > 60);
    const context = { i: 'implicit', a: 'assignment', e: 'explicit' } as Record<string, string>;
    const wrong = rows
      .filter((r) => findCast(type(r.f), type(r.t))?.context !== context[r.c])
      .map((r) => `${r.f} to ${r.t}: ${context[r.c]}, ours ${findCast(type(r.f), type(r.t))?.context}`);
    assert.deepEqual(wrong, corpus.CAST_DIFFERENCES);
  });

  for (const [name, values] of Object.entries(corpus.ORDERED))
    test(`order of ${name}`, async () => {
      const j = new Judge();
      const t = typeOf(name);
      const compare = datumComparator(t);
      for (const a of values)
        for (const b of values) {
          const [x, y] = [`${lit(a)}::${sqlType(name)}`, `${lit(b)}::${sqlType(name)}`];
          const collate = ['text', 'varchar', 'bpchar'].includes(name) ? ' COLLATE "C"' : '';
          j.check(`SELECT sign((${x} > ${y}${collate})::int - (${x} < ${y}${collate})::int)::text`, () =>
            String(Math.sign(compare(parseText(t, a, ctx), parseText(t, b, ctx))) + 0),
          );
        }
      await j.verdict();
    });

  test('random floats, intervals and moments', async () => {
    const j = new Judge();
    const next = random();
    const pick = (n: number): number => Math.floor(next() * n);
    const bits = new DataView(new ArrayBuffer(8));
    for (let k = 0; k < 400; k++) {
      bits.setUint32(0, pick(2 ** 32));
      bits.setUint32(4, pick(2 ** 32));
      const wide = bits.getFloat64(0);
      const narrow = bits.getFloat32(0);
      // PostgreSQL reads our digits to the same bits, and prints the same digits.
      if (!Number.isNaN(wide))
        j.check(`SELECT float8send('${textOf(type('float8'), wide)}')::text`, () =>
          hex(new Uint8Array(bits.buffer)),
        );
      if (!Number.isNaN(narrow))
        j.check(`SELECT float4send('${textOf(type('float4'), narrow)}')::text`, () =>
          hex(new Uint8Array(bits.buffer, 0, 4)),
        );
      j.check(`SELECT '${textOf(type('float8'), wide)}'::float8::text`, () => textOf(type('float8'), wide));
      j.check(`SELECT '${textOf(type('float4'), narrow)}'::float4::text`, () =>
        textOf(type('float4'), narrow),
      );
      const short = `${(next() * 10 ** pick(9)).toFixed(pick(7))}`;
      j.check(`SELECT '${short}'::float4::text`, () =>
        textOf(type('float4'), parseText(type('float4'), short)),
      );
      j.check(`SELECT '${short}'::float8::numeric::text`, () =>
        String(findCast(type('float8'), type('numeric'))!.apply(Number(short), ctx)),
      );
    }
    const part = (n: number): number => pick(2 * n) - n;
    for (let k = 0; k < 200; k++) {
      const i = `${part(40)} mons ${part(70)} days ${part(400000)}.${pick(1e6)} secs`;
      const stamp = `${1700 + pick(700)}-${1 + pick(12)}-${1 + pick(28)} ${pick(24)}:${pick(60)}:${pick(60)}.${pick(1e6)}`;
      const f = next() * 10 - 5;
      j.check(`SELECT '${i}'::interval::text`, () => String(parseInterval(i)));
      j.check(`SELECT ('${i}'::interval * ${f}::float8)::text`, () =>
        String(mulInterval(parseInterval(i), f)),
      );
      j.check(`SELECT ('${i}'::interval / ${f}::float8)::text`, () =>
        String(divInterval(parseInterval(i), f)),
      );
      j.check(`SELECT extract(epoch from '${i}'::interval)::text`, () =>
        String(extractOfInterval('epoch', parseInterval(i))),
      );
      const tz = (): bigint => parseText(type('timestamptz'), stamp, ctx) as bigint;
      const out = (t: bigint): string => textOf(type('timestamptz'), t, ctx);
      j.check(`SELECT '${stamp}'::timestamptz::text`, () => out(tz()));
      j.check(`SELECT ('${stamp}'::timestamptz + '${i}'::interval)::text`, () =>
        out(addToTimestamptz(tz(), parseInterval(i), ctx.timeZone)),
      );
      for (const field of ['week', 'month', 'isoyear', 'doy', 'julian'])
        j.check(`SELECT extract(${field} from '${stamp}'::timestamptz)::text`, () =>
          String(extractTimestamptz(field, tz(), ctx.timeZone)),
        );
    }
    await j.verdict();
  });

  test('binary forms', async () => {
    const j = new Judge();
    for (const [name, send] of corpus.SEND) {
      const t = typeOf(name);
      for (const v of corpus.INPUTS[name]!) {
        const ours = answer(() => hex(encodeBinary(t, parseText(t, v, ctx))));
        if (ours.startsWith('error')) continue;
        j.check(`SELECT ${send}(${lit(v)}::${sqlType(name)})::text`, () => {
          const d = parseText(t, v, ctx);
          const bytes = encodeBinary(t, d);
          assert.equal(textOf(t, parseBinary(t, bytes), ctx), textOf(t, d, ctx));
          return hex(bytes);
        });
      }
    }
    await j.verdict();
  });

  test('reading jsonb', async () => {
    const j = new Judge();
    const docs = corpus.INPUTS['jsonb']!.filter(
      (v) => !answer(() => textOf(type('jsonb'), parseText(type('jsonb'), v))).startsWith('error'),
    );
    const parsed = (v: string): string => parseText(type('jsonb'), v) as string;
    for (const v of docs) {
      for (const k of ['a', 'b', '', 'é', 'aa'])
        j.check(`SELECT (${lit(v)}::jsonb -> ${lit(k)})::text`, () => jsonGet(parsed(v), k) ?? null);
      for (const p of [['0'], ['a', '0'], ['-1'], ['a', 'b'], ['1', 'a']])
        j.check(
          `SELECT (${lit(v)}::jsonb #> ${lit(`{${p.join(',')}}`)})::text`,
          () => jsonPath(parsed(v), p) ?? null,
        );
      for (const w of docs)
        j.check(`SELECT (${lit(v)}::jsonb @> ${lit(w)}::jsonb)::text`, () =>
          String(jsonContains(parsed(v), parsed(w))),
        );
    }
    await j.verdict();
  });
});
