/**
 * The rows of pg_cast that the dialect has, and those of its own types. A function of null means that the cells
 * are the same. Casts through text are derived in casts.ts and stand here only where they differ.
 */
import { SqlError } from '../base/error.ts';
import {
  checkDate,
  DATE_INFINITY,
  DATE_NEG_INFINITY,
  fromMoment,
  instantOf,
  isInfinite,
  localMoment,
  localToTimestamptz,
  TIMESTAMP_INFINITY,
  TIMESTAMP_NEG_INFINITY,
  timestamptzToLocal,
  toMoment,
} from './datetime.ts';
import type { FormatContext } from './format.ts';
import { type Interval, MICROS_PER_DAY, makeInterval, roundEven } from './interval.ts';
import { jsonTypeof } from './json.ts';
import {
  type Numeric,
  numericFromBig,
  numericFromDouble,
  numericFromInt,
  numericToBigInt,
  numericToDouble,
  parseNumeric,
} from './numeric.ts';
import { INT_RANGE, outOfRange } from './scalars.ts';
import { trimPadding, truncateBytes } from './text.ts';
import { type Datum, TYPES, type TypeName, type } from './types.ts';
import { encodeBinary } from './wire.ts';

export type CastContext = 'implicit' | 'assignment' | 'explicit';
export type CastFunction = (d: Datum, ctx: FormatContext) => Datum;
export type CastRow = readonly [from: TypeName, to: TypeName, context: CastContext, fn: CastFunction | null];

// --- numbers

type Number64 = 'int8' | 'uint8';
type NumberName = 'int2' | 'int4' | 'uint2' | 'uint4' | 'mz_timestamp' | 'oid' | Number64;
type Numeral = NumberName | 'float4' | 'float8' | 'numeric';

const is64 = (name: Numeral): name is Number64 => name === 'int8' || name === 'uint8';

/** An exact integer as a datum of an integer type. */
function toInt(to: NumberName, v: bigint): Datum {
  const { min, max } = INT_RANGE[to];
  if (v < (to === 'oid' ? 0n : min) || v > max) throw outOfRange(to);
  return is64(to) ? v : Number(v);
}

function toFloat(to: 'float4' | 'float8', v: number): Datum {
  if (to === 'float8') return v;
  const f = Math.fround(v);
  if (!Number.isFinite(f) && Number.isFinite(v))
    throw new SqlError('numeric_value_out_of_range', 'value out of range: overflow');
  if (f === 0 && v !== 0) throw new SqlError('numeric_value_out_of_range', 'value out of range: underflow');
  return f;
}

/** One function for every pair of number types. */
function between(from: Numeral, to: Numeral): CastFunction {
  switch (from) {
    case 'float4':
    case 'float8':
      if (to === 'numeric') return (d) => numericFromDouble(d as number, from === 'float4' ? 6 : 15);
      if (to === 'float4' || to === 'float8') return (d) => toFloat(to, d as number);
      return (d) => {
        const v = roundEven(d as number);
        if (!Number.isFinite(v)) throw outOfRange(to);
        return toInt(to, BigInt(v));
      };
    case 'numeric':
      if (to === 'float4' || to === 'float8') return (d) => numericToFloat(to, d as Numeric);
      if (to === 'numeric') return (d) => d;
      return (d) => numericToInt(to, d as Numeric);
    default:
      if (to === 'numeric')
        return is64(from) ? (d) => numericFromBig(d as bigint) : (d) => numericFromInt(d as number);
      if (to === 'float4' || to === 'float8') return (d) => toFloat(to, Number(d));
      // The same 32 bits, read without a sign.
      if (to === 'oid' && !is64(from)) return (d) => (d as number) >>> 0;
      if (from === 'oid' && to === 'int4') return (d) => (d as number) | 0;
      return (d) => toInt(to, BigInt(d as number | bigint));
  }
}

function numericToInt(to: NumberName, n: Numeric): Datum {
  if (!n.finite)
    throw new SqlError(
      'feature_not_supported',
      `cannot convert ${n.isNaN ? 'NaN' : 'infinity'} to ${TYPES[to].sqlName}`,
    );
  return toInt(to, numericToBigInt(n));
}

function numericToFloat(to: 'float4' | 'float8', n: Numeric): Datum {
  const v = numericToDouble(n);
  if (to === 'float8') return v;
  const f = Math.fround(v);
  if ((!Number.isFinite(f) && n.finite) || (f === 0 && n.sign !== 0 && !n.isNaN))
    throw new SqlError('numeric_value_out_of_range', `"${n}" is out of range for type real`);
  return f;
}

const NUMBERS: readonly (readonly [Numeral, string, CastContext])[] = [
  ['int2', 'int4 int8 numeric float4 float8 oid', 'implicit'],
  ['int4', 'int2', 'assignment'],
  ['int4', 'int8 numeric float4 float8 oid', 'implicit'],
  ['int8', 'int2 int4', 'assignment'],
  ['int8', 'numeric float4 float8 oid', 'implicit'],
  ['numeric', 'int2 int4 int8', 'assignment'],
  ['numeric', 'float4 float8', 'implicit'],
  ['float4', 'int2 int4 int8 numeric', 'assignment'],
  ['float4', 'float8', 'implicit'],
  ['float8', 'int2 int4 int8 numeric float4', 'assignment'],
  ['oid', 'int4 int8', 'assignment'],
  ['uint2', 'uint4 uint8 int4 int8 numeric float4 float8', 'implicit'],
  ['uint4', 'uint8 int8 numeric float4 float8', 'implicit'],
  ['uint8', 'numeric float4 float8', 'implicit'],
  ['uint2', 'int2', 'assignment'],
  ['uint4', 'uint2 int2 int4', 'assignment'],
  ['uint8', 'uint2 uint4 int2 int4 int8', 'assignment'],
  ['int2', 'uint2 uint4 uint8', 'assignment'],
  ['int4', 'uint2 uint4 uint8', 'assignment'],
  ['int8', 'uint2 uint4 uint8', 'assignment'],
  ['numeric', 'uint2 uint4 uint8', 'assignment'],
  ['float4', 'uint2 uint4 uint8', 'assignment'],
  ['float8', 'uint2 uint4 uint8', 'assignment'],
  // A mz_timestamp takes any whole number that it can hold, so that `AS OF 1700000000000` needs no cast.
  ['int4', 'mz_timestamp', 'implicit'],
  ['int8', 'mz_timestamp', 'implicit'],
  ['numeric', 'mz_timestamp', 'implicit'],
  ['uint4', 'mz_timestamp', 'implicit'],
  ['uint8', 'mz_timestamp', 'implicit'],
  ['mz_timestamp', 'int8 uint8 numeric', 'assignment'],
  ['mz_timestamp', 'float8', 'explicit'],
];

function* numberRows(): Generator<CastRow> {
  for (const [from, targets, context] of NUMBERS)
    for (const to of targets.split(' ') as Numeral[]) yield [from, to, context, between(from, to)];
}

const REG = ['regclass', 'regtype', 'regproc', 'regnamespace'] as const;

/** The reg types are oids. */
function* regRows(): Generator<CastRow> {
  for (const reg of REG) {
    yield [reg, 'oid', 'implicit', null];
    yield ['oid', reg, 'implicit', null];
    for (const from of ['int2', 'int4', 'int8'] as const) yield [from, reg, 'implicit', between(from, 'oid')];
    for (const to of ['int4', 'int8'] as const) yield [reg, to, 'assignment', between('oid', to)];
  }
}

// --- dates and times

const DAY = BigInt(MICROS_PER_DAY);

function dateToTimestamp(d: Datum): Datum {
  const days = d as number;
  if (days === DATE_INFINITY) return TIMESTAMP_INFINITY;
  if (days === DATE_NEG_INFINITY) return TIMESTAMP_NEG_INFINITY;
  try {
    return fromMoment(days, 0);
  } catch {
    throw new SqlError('datetime_field_overflow', 'date out of range for timestamp');
  }
}

function timestampToDate(d: Datum): Datum {
  const t = d as bigint;
  if (isInfinite(t)) return t > 0n ? DATE_INFINITY : DATE_NEG_INFINITY;
  return checkDate(toMoment(t).days);
}

/** NULL for an infinity, as PostgreSQL has it. */
const timeOfDay = (t: bigint): Datum => (isInfinite(t) ? null : BigInt(toMoment(t).micros));

const timestampToMz = (t: bigint): Datum => {
  const ms = t >= 0n ? t / 1000n : -1n;
  if (isInfinite(t) || ms < 0n || ms > INT_RANGE.mz_timestamp.max) throw outOfRange('mz_timestamp');
  return Number(ms);
};

const mzToTimestamp = (d: Datum): Datum => {
  const ms = d as number;
  const day = Math.floor(ms / 86_400_000);
  return fromMoment(day, (ms - day * 86_400_000) * 1000);
};

const TIMES: readonly CastRow[] = [
  ['date', 'timestamp', 'implicit', dateToTimestamp],
  [
    'date',
    'timestamptz',
    'implicit',
    (d, ctx) => {
      const t = dateToTimestamp(d) as bigint;
      return isInfinite(t) ? t : instantOf(toMoment(t), ctx.timeZone);
    },
  ],
  ['timestamp', 'date', 'assignment', timestampToDate],
  ['timestamp', 'time', 'assignment', (d) => timeOfDay(d as bigint)],
  ['timestamp', 'timestamptz', 'implicit', (d, ctx) => localToTimestamptz(d as bigint, ctx.timeZone)],
  [
    'timestamptz',
    'date',
    'assignment',
    (d, ctx) => timestampToDate(timestamptzToLocal(d as bigint, ctx.timeZone)),
  ],
  [
    'timestamptz',
    'time',
    'assignment',
    (d, ctx) => (isInfinite(d as bigint) ? null : BigInt(localMoment(d as bigint, ctx.timeZone).micros)),
  ],
  ['timestamptz', 'timestamp', 'assignment', (d, ctx) => timestamptzToLocal(d as bigint, ctx.timeZone)],
  ['time', 'interval', 'implicit', (d) => makeInterval(0, 0, Number(d))],
  [
    'interval',
    'time',
    'assignment',
    (d) => {
      const t = BigInt((d as Interval).micros) % DAY;
      return t < 0n ? t + DAY : t;
    },
  ],
  ['timestamp', 'mz_timestamp', 'implicit', (d) => timestampToMz(d as bigint)],
  ['timestamptz', 'mz_timestamp', 'implicit', (d) => timestampToMz(d as bigint)],
  ['date', 'mz_timestamp', 'assignment', (d) => timestampToMz(dateToTimestamp(d) as bigint)],
  ['mz_timestamp', 'timestamptz', 'implicit', mzToTimestamp],
  ['mz_timestamp', 'timestamp', 'assignment', mzToTimestamp],
];

// --- jsonb

const JSON_NOUN = {
  null: 'null',
  string: 'string',
  number: 'numeric',
  boolean: 'boolean',
  array: 'array',
  object: 'object',
} as const;

/** JSON null gives NULL; another kind of value than the target's is an error. */
function fromJson(to: 'bool' | Exclude<Numeral, NumberName> | 'int2' | 'int4' | 'int8'): CastFunction {
  const wanted = to === 'bool' ? 'boolean' : 'number';
  const convert = to === 'bool' ? null : between('numeric', to);
  return (d, ctx) => {
    const text = d as string;
    const kind = jsonTypeof(text);
    if (kind === 'null') return null;
    if (kind !== wanted)
      throw new SqlError(
        'invalid_parameter_value',
        `cannot cast jsonb ${JSON_NOUN[kind]} to type ${TYPES[to].sqlName}`,
      );
    return convert === null ? text === 'true' : convert(parseNumeric(text), ctx);
  };
}

function* jsonRows(): Generator<CastRow> {
  for (const to of ['bool', 'int2', 'int4', 'int8', 'numeric', 'float4', 'float8'] as const)
    yield ['jsonb', to, 'explicit', fromJson(to)];
}

// --- text family

const same = (d: Datum): Datum => d;
const unpad = (d: Datum): Datum => trimPadding(d as string);
const toName = (d: Datum): Datum => truncateBytes(d as string, 63);
const firstChar = (d: Datum): Datum => truncateBytes(d as string, 1);

const TEXTS: readonly CastRow[] = [
  ['text', 'varchar', 'implicit', null],
  ['varchar', 'text', 'implicit', null],
  ['text', 'bpchar', 'implicit', same],
  ['varchar', 'bpchar', 'implicit', same],
  ['bpchar', 'text', 'implicit', unpad],
  ['bpchar', 'varchar', 'implicit', unpad],
  ['name', 'text', 'implicit', null],
  ['name', 'varchar', 'assignment', null],
  ['name', 'bpchar', 'assignment', null],
  ['text', 'name', 'implicit', toName],
  ['varchar', 'name', 'implicit', toName],
  ['bpchar', 'name', 'implicit', (d) => toName(unpad(d))],
  ['char', 'text', 'implicit', null],
  ['char', 'varchar', 'assignment', null],
  ['text', 'char', 'assignment', firstChar],
  ['varchar', 'char', 'assignment', firstChar],
  ['char', 'int4', 'explicit', (d) => ((d as string) === '' ? 0 : ((d as string).charCodeAt(0) << 24) >> 24)],
  ['int4', 'char', 'explicit', (d) => ((d as number) === 0 ? '' : String.fromCharCode((d as number) & 0x7f))],
];

const INT_BYTES = { int2: 2, int4: 4, int8: 8 } as const;

/** Integers as their bytes, most significant first; fewer bytes read as an unsigned number. */
function* byteRows(): Generator<CastRow> {
  for (const name of ['int2', 'int4', 'int8'] as const) {
    const width = INT_BYTES[name];
    yield [name, 'bytea', 'explicit', (d) => encodeBinary(type(name), d)];
    yield [
      'bytea',
      name,
      'explicit',
      (d) => {
        const b = d as Uint8Array;
        if (b.length > width) throw outOfRange(name);
        let v = 0n;
        for (const x of b) v = (v << 8n) | BigInt(x);
        return toInt(name, BigInt.asIntN(width * 8, v));
      },
    ];
  }
}

const BOOLS: readonly CastRow[] = [
  ['bool', 'int4', 'explicit', (d) => (d ? 1 : 0)],
  ['int4', 'bool', 'explicit', (d) => d !== 0],
  ['bool', 'text', 'assignment', (d) => (d ? 'true' : 'false')],
  ['bool', 'varchar', 'assignment', (d) => (d ? 'true' : 'false')],
  ['bool', 'bpchar', 'assignment', (d) => (d ? 'true' : 'false')],
];

export const CASTS: readonly CastRow[] = [
  ...numberRows(),
  ...regRows(),
  ...TIMES,
  ...jsonRows(),
  ...TEXTS,
  ...byteRows(),
  ...BOOLS,
];
