/** Values to and from a client: PostgreSQL's text and binary forms by type. Columns go out by `cell-encoder.ts`. */
import { unsupported } from '../base/error.ts';
import {
  arrayToText,
  listToText,
  parseArray,
  parseList,
  recordToText,
  SqlArray,
  SqlList,
  type SqlRecord,
} from './array.ts';
import type { ColumnBuilder } from './column.ts';
import { dateToText, timestampToText, timestamptzToText, timeToText } from './datetime.ts';
import {
  type DateTimeContext,
  parseDate,
  parseTime,
  parseTimestamp,
  parseTimestamptz,
  UTC_CONTEXT,
} from './datetime-parse.ts';
import { pushDatum } from './datum.ts';
import { type Interval, intervalToText } from './interval.ts';
import { parseInterval } from './interval-parse.ts';
import { canonicalJson } from './json.ts';
import { type Numeric, numericToText, parseNumeric } from './numeric.ts';
import {
  byteaToText,
  float4ToText,
  float8ToText,
  parseBigInt,
  parseBool,
  parseBytea,
  parseFloatText,
  parseInteger,
  parseUuid,
  uuidToText,
} from './scalars.ts';
import { encodeUtf8, truncateBytes } from './text.ts';
import { type Datum, type SqlType, type TypeName, typeToString } from './types.ts';
import { applyTypmod } from './typmod.ts';
import { decodeBinary } from './wire.ts';

/** What input and output of values take from the session. */
export type FormatContext = DateTimeContext;
export const DEFAULT_FORMAT: FormatContext = UTC_CONTEXT;

/** Bytes of `name` that PostgreSQL keeps. */
const NAME_BYTES = 63;

interface TextForm {
  readonly out: (d: Datum, type: SqlType, ctx: FormatContext) => string;
  readonly in: (text: string, type: SqlType, ctx: FormatContext) => Datum;
}

const plain: TextForm = { out: (d) => d as string, in: (text) => text };
const oidForm: TextForm = { out: (d) => String(d), in: (text) => parseInteger('oid', text) };
const int = (name: 'int2' | 'int4' | 'uint2' | 'uint4' | 'mz_timestamp'): TextForm => ({
  out: (d) => String(d),
  in: (text) => parseInteger(name, text),
});
const bigint = (name: 'int8' | 'uint8'): TextForm => ({
  out: (d) => String(d),
  in: (text) => parseBigInt(name, text),
});

/** Text output and input of every type; the derived functions below are its only readers. */
const TEXT: Readonly<Record<TypeName, TextForm>> = {
  bool: { out: (d) => (d ? 't' : 'f'), in: (text) => parseBool(text) },
  int2: int('int2'),
  int4: int('int4'),
  int8: bigint('int8'),
  uint2: int('uint2'),
  uint4: int('uint4'),
  uint8: bigint('uint8'),
  float4: { out: (d) => float4ToText(d as number), in: (text) => parseFloatText('float4', text) },
  float8: { out: (d) => float8ToText(d as number), in: (text) => parseFloatText('float8', text) },
  numeric: { out: (d) => numericToText(d as Numeric), in: (text) => parseNumeric(text) },
  text: plain,
  varchar: plain,
  bpchar: plain,
  name: { out: (d) => d as string, in: (text) => truncateBytes(text, NAME_BYTES) },
  char: { out: (d) => d as string, in: (text) => truncateBytes(text, 1) },
  bytea: { out: (d) => byteaToText(d as Uint8Array), in: (text) => parseBytea(text) },
  date: { out: (d) => dateToText(d as number), in: (text, _, ctx) => parseDate(text, ctx) },
  time: { out: (d) => timeToText(Number(d)), in: (text, _, ctx) => BigInt(parseTime(text, ctx)) },
  timestamp: { out: (d) => timestampToText(d as bigint), in: (text, _, ctx) => parseTimestamp(text, ctx) },
  timestamptz: {
    out: (d, _, ctx) => timestamptzToText(d as bigint, ctx.timeZone),
    in: (text, _, ctx) => parseTimestamptz(text, ctx),
  },
  interval: { out: (d) => intervalToText(d as Interval), in: (text) => parseInterval(text) },
  uuid: { out: (d) => d as string, in: (text) => uuidToText(parseUuid(text)) },
  jsonb: { out: (d) => d as string, in: (text) => canonicalJson(text) },
  oid: oidForm,
  regclass: oidForm,
  regtype: oidForm,
  regproc: oidForm,
  regnamespace: oidForm,
  mz_timestamp: int('mz_timestamp'),
  void: { out: () => '', in: () => 0 },
  unknown: plain,
  record: {
    out: (d, type, ctx) => recordToText(d as SqlRecord, (x, k) => textOf(type.fields![k]!, x, ctx)),
    in: (_, type) => {
      throw unsupported(`input of type ${typeToString(type)}`);
    },
  },
  array: {
    out: (d, type, ctx) => arrayToText(d as SqlArray, (x) => textOf(type.elem!, x, ctx)),
    in: (text, type, ctx) => parseArray(text, (x) => parseText(type.elem!, x, ctx)),
  },
  list: {
    out: (d, type, ctx) =>
      listToText(d as SqlList, (x) => textOf(type.elem!, x, ctx), type.elem!.name === 'list'),
    in: (text, type, ctx) =>
      parseList(text, (x) => parseText(type.elem!, x, ctx), type.elem!.name === 'list'),
  },
};

/** Text form of a value that is not NULL. */
export const textOf = (type: SqlType, d: Datum, ctx: FormatContext = DEFAULT_FORMAT): string =>
  TEXT[type.name].out(d, type, ctx);

/** A value from its text form, with the type's length and precision applied as by assignment. */
export function parseText(type: SqlType, text: string, ctx: FormatContext = DEFAULT_FORMAT): Datum {
  const d = TEXT[type.name].in(text, type, ctx);
  return type.typmod === undefined ? d : applyTypmod(type, d, false);
}

/** A value from its binary form. */
export function parseBinary(type: SqlType, bytes: Uint8Array): Datum {
  const d = normalize(type, decodeBinary(type, bytes));
  return type.typmod === undefined ? d : applyTypmod(type, d, false);
}

/** What the wire's bytes alone do not guarantee. */
function normalize(type: SqlType, d: Datum): Datum {
  switch (type.name) {
    case 'jsonb':
      return canonicalJson(d as string);
    case 'name':
      return truncateBytes(d as string, NAME_BYTES);
    case 'array': {
      const a = d as SqlArray;
      return new SqlArray(
        a.dims,
        a.lowers,
        a.items.map((x) => (x === null ? null : normalize(type.elem!, x))),
      );
    }
    case 'list':
      return new SqlList((d as SqlList).items.map((x) => (x === null ? null : normalize(type.elem!, x))));
    default:
      return d;
  }
}

/** Parses a text cell straight into a column: what COPY and inserts of text parameters do. */
export function pushText(type: SqlType, b: ColumnBuilder, text: string, ctx: FormatContext): void {
  if (type.typmod === undefined && (type.name === 'text' || type.name === 'varchar'))
    b.pushBytes(encodeUtf8(text));
  else pushDatum(type, b, parseText(type, text, ctx));
}
