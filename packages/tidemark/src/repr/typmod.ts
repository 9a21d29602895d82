/** What a declared length or precision does to a value: `numeric(p,s)`, `varchar(n)`, `char(n)`, `timestamp(p)`. */
import { SqlError } from '../base/error.ts';
import { isInfinite } from './datetime.ts';
import { applyNumericTypmod, type Numeric } from './numeric.ts';
import { charLength, truncateChars } from './text.ts';
import { type Datum, type SqlType, typeToString } from './types.ts';
import { PG_EPOCH_MICROS } from './wire.ts';

/**
 * The value as the type with its typmod holds it. An explicit cast cuts text that is too long; an assignment only
 * spaces, and raises 22001 for the rest.
 */
export function applyTypmod(type: SqlType, d: Datum, explicit: boolean): Datum {
  const typmod = type.typmod;
  if (typmod === undefined || typmod < 0 || d === null) return d;
  switch (type.name) {
    case 'numeric':
      return applyNumericTypmod(d as Numeric, typmod);
    case 'varchar':
      return fit(type, d as string, typmod, explicit);
    case 'bpchar': {
      const s = fit(type, d as string, typmod, explicit);
      const missing = typmod - charLength(s);
      return missing > 0 ? s + ' '.repeat(missing) : s;
    }
    case 'time':
      return roundTime(d as bigint, typmod);
    case 'timestamp':
    case 'timestamptz':
      // A tie goes away from PostgreSQL's zero, which is the year 2000.
      return isInfinite(d as bigint)
        ? d
        : PG_EPOCH_MICROS + roundTime((d as bigint) - PG_EPOCH_MICROS, typmod);
    default:
      return d;
  }
}

function fit(type: SqlType, s: string, n: number, explicit: boolean): string {
  if (s.length <= n || charLength(s) <= n) return s;
  const cut = truncateChars(s, n);
  if (!explicit && /[^ ]/.test(s.slice(cut.length)))
    throw new SqlError('string_data_right_truncation', `value too long for type ${typeToString(type)}`);
  return cut;
}

/** µs rounded to `digits` decimals of a second, half away from zero. */
function roundTime(t: bigint, digits: number): bigint {
  if (digits >= 6) return t;
  const unit = 10n ** BigInt(6 - digits);
  const half = t < 0n ? -unit / 2n : unit / 2n;
  return ((t + half) / unit) * unit;
}
