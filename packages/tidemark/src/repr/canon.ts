/**
 * Canonical forms of keys (see types.ts): a column in which SQL-equal values have equal bytes. Columns of types
 * that need none, and columns already canonical in every cell of a fixed kind, come back as they are.
 */
import { SqlArray, SqlList, SqlRecord } from './array.ts';
import { type Column, ColumnBuilder, isNull } from './column.ts';
import { datumAt, pushDatum } from './datum.ts';
import { canonInterval, decodeInterval, encodeInterval, type Interval } from './interval.ts';
import { canonJson } from './json.ts';
import { canonNumeric, decodeNumeric, encodeNumeric, type Numeric } from './numeric.ts';
import { trimPadding } from './text.ts';
import { type Datum, needsCanon, type SqlType } from './types.ts';

export function canonColumn(type: SqlType, c: Column): Column {
  if (!needsCanon(type)) return c;
  if (c.kind === 'f64') return canonFloats(c);
  const b = new ColumnBuilder('bytes', c.length);
  const data = c.values as Uint8Array;
  for (let i = 0; i < c.length; i++) {
    if (isNull(c, i)) {
      b.pushNull();
      continue;
    }
    const from = c.offsets[i]!;
    const to = c.offsets[i + 1]!;
    switch (type.name) {
      case 'numeric':
        encodeNumeric(b, canonNumeric(decodeNumeric(data, from, to)));
        break;
      case 'interval':
        encodeInterval(b, canonInterval(decodeInterval(data, from)));
        break;
      case 'bpchar': {
        let end = to;
        while (end > from && data[end - 1] === 32) end--;
        b.pushBytes(data, from, end);
        break;
      }
      default:
        pushDatum(type, b, canonDatum(type, datumAt(type, c, i)));
    }
  }
  return b.finish();
}

/** -0 becomes 0, every NaN the one NaN. */
function canonFloats(c: Column): Column {
  const src = c.values as Float64Array;
  const out = new Float64Array(c.length);
  // Storing the literal NaN fixes its bits; `+ 0` turns -0 into 0.
  for (let i = 0; i < out.length; i++) out[i] = Number.isNaN(src[i]!) ? Number.NaN : src[i]! + 0;
  return { ...c, values: out };
}

/** The same for one datum. */
export function canonDatum(type: SqlType, d: Datum): Datum {
  if (d === null || !needsCanon(type)) return d;
  switch (type.name) {
    case 'float4':
    case 'float8':
      return (d as number) + 0;
    case 'numeric':
      return canonNumeric(d as Numeric);
    case 'interval':
      return canonInterval(d as Interval);
    case 'bpchar':
      return trimPadding(d as string);
    case 'jsonb':
      return canonJson(d as string);
    case 'array': {
      const a = d as SqlArray;
      return new SqlArray(
        a.dims,
        a.lowers,
        a.items.map((x) => canonDatum(type.elem!, x)),
      );
    }
    case 'list':
      return new SqlList((d as SqlList).items.map((x) => canonDatum(type.elem!, x)));
    case 'record':
      return new SqlRecord((d as SqlRecord).items.map((x, k) => canonDatum(type.fields![k]!, x)));
    default:
      return d;
  }
}
