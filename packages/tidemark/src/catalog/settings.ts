/**
 * Session variables, one literal each: default, what values it takes, whether clients are told of changes. SHOW, SET, RESET, pg_settings and
 * ParameterStatus derive from here.
 */
import { SqlError } from '../base/error.ts';
import { parseInterval } from '../repr/interval-parse.ts';
import { findTimeZone } from '../repr/time-zone.ts';

export const SERVER_VERSION = '15.0';

export interface Setting {
  readonly default: string;
  readonly doc: string;
  /** Gives the canonical form, or throws; absent: anything. */
  readonly check?: (value: string) => string;
  /** Several values are a list. */
  readonly list?: true;
  readonly readOnly?: true;
  /** The same for all sessions, and durable: ALTER SYSTEM changes it. */
  readonly system?: true;
  /** Clients are told (ParameterStatus), under this exact name. */
  readonly reported?: string;
}

const oneOf =
  (name: string, values: readonly string[]) =>
  (value: string): string => {
    const found = values.find((v) => v.toLowerCase() === value.toLowerCase());
    if (found === undefined)
      throw new SqlError('invalid_parameter_value', `invalid value for parameter "${name}": "${value}"`, {
        hint: `Available values: ${values.join(', ')}.`,
      });
    return found;
  };

function boolean(name: string): (value: string) => string {
  return (value) => {
    const v = value.toLowerCase();
    if (['on', 'true', 'yes', '1', 't', 'y'].includes(v)) return 'on';
    if (['off', 'false', 'no', '0', 'f', 'n'].includes(v)) return 'off';
    throw new SqlError('invalid_parameter_value', `parameter "${name}" requires a Boolean value`);
  };
}

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  ms: 1,
  s: 1000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

function wholeNumber(name: string): (value: string) => string {
  return (value) => {
    if (!/^\s*\d{1,9}\s*$/.test(value))
      throw new SqlError('invalid_parameter_value', `parameter "${name}" requires a whole number, 0 or more`);
    return String(Number(value));
  };
}

/** Milliseconds of `10s`, `500ms`, `1min`, or a bare number of milliseconds; 0 is no limit. */
export function durationMs(name: string, value: string): number {
  const m = /^\s*(\d+(?:\.\d+)?)\s*(ms|s|min|h|d|)\s*$/.exec(value);
  if (m === null)
    throw new SqlError('invalid_parameter_value', `invalid value for parameter "${name}": "${value}"`, {
      hint: 'Valid units for this parameter are "ms", "s", "min", "h", and "d".',
    });
  return Math.round(Number(m[1]) * UNITS[m[2]!]!);
}

const BYTES: Readonly<Record<string, number>> = { kB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30, TB: 2 ** 40 };

/** Bytes of `512MB`; undefined: it is no size. */
export function bytesOfSize(value: string): number | undefined {
  const m = /^\s*(\d{1,9})\s*(kB|MB|GB|TB)\s*$/.exec(value);
  return m === null ? undefined : Number(m[1]) * BYTES[m[2]!]!;
}

/** The most that one answer may take. */
export function resultBytes(name: string, value: string): number {
  const bytes = bytesOfSize(value);
  if (bytes !== undefined && bytes > 0 && bytes <= 2 ** 30) return bytes;
  throw new SqlError('invalid_parameter_value', `invalid value for parameter "${name}": "${value}"`, {
    hint: "a number with kB, MB or GB, from 1kB to 1GB, e.g. '100MB'",
  });
}

/** Milliseconds of an interval without months. */
export function retentionMs(name: string, value: string): number {
  const { months, days, micros } = parseInterval(value);
  const ms = Math.floor(days * 86_400_000 + Number(micros) / 1000);
  if (months === 0 && ms >= 0) return ms;
  throw new SqlError('invalid_parameter_value', `invalid value for parameter "${name}": "${value}"`, {
    hint: "an interval of days or less, e.g. '30 days'",
  });
}

function timeZone(value: string): string {
  if (findTimeZone(value) === undefined)
    throw new SqlError('invalid_parameter_value', `invalid value for parameter "TimeZone": "${value}"`);
  return value;
}

export const SETTINGS = {
  application_name: { default: '', doc: 'what the client calls itself', reported: 'application_name' },
  bytea_output: { default: 'hex', doc: 'form of bytea', check: oneOf('bytea_output', ['hex']) },
  client_encoding: {
    default: 'UTF8',
    doc: 'encoding of text',
    check: (v: string) => {
      if (!['utf8', 'utf-8', 'unicode', 'sql_ascii'].includes(v.toLowerCase()))
        throw new SqlError('feature_not_supported', `client_encoding "${v}" is not supported`, {
          hint: 'use UTF8',
        });
      return 'UTF8';
    },
    reported: 'client_encoding',
  },
  client_min_messages: {
    default: 'notice',
    doc: 'least severity of messages sent',
    check: oneOf('client_min_messages', [
      'debug5',
      'debug4',
      'debug3',
      'debug2',
      'debug1',
      'debug',
      'log',
      'info',
      'notice',
      'warning',
      'error',
    ]),
  },
  cluster: { default: 'quickstart', doc: 'where queries run' },
  cluster_replica: { default: '', doc: 'the replica that queries of the cluster run on' },
  compute_hydration_concurrency: {
    default: '4',
    doc: 'how many objects of a cluster hydrate at once on each replica; 0 pauses hydration',
    system: true,
    check: wholeNumber('compute_hydration_concurrency'),
  },
  database: { default: 'tidemark', doc: 'where names are looked up' },
  datestyle: {
    default: 'ISO, MDY',
    doc: 'form of dates',
    list: true,
    reported: 'DateStyle',
    check: dateStyle,
  },
  default_transaction_isolation: {
    default: 'strict serializable',
    doc: 'of new transactions',
    check: isolation,
  },
  default_transaction_read_only: {
    default: 'off',
    doc: 'whether new transactions may write',
    check: boolean('default_transaction_read_only'),
  },
  extra_float_digits: { default: '1', doc: 'kept for clients; floats print shortest exactly' },
  integer_datetimes: {
    default: 'on',
    doc: 'times are integers',
    readOnly: true,
    reported: 'integer_datetimes',
  },
  intervalstyle: {
    default: 'postgres',
    doc: 'form of intervals',
    check: oneOf('IntervalStyle', ['postgres']),
    reported: 'IntervalStyle',
  },
  is_superuser: { default: 'on', doc: 'there is one role', readOnly: true, reported: 'is_superuser' },
  lock_timeout: { default: '0', doc: 'kept for clients; nothing waits for locks' },
  hydration_history_retention: {
    default: '30 days',
    doc: 'how long rows of the hydration and status histories are kept',
    system: true,
    check: (v: string) => {
      retentionMs('hydration_history_retention', v);
      return v;
    },
  },
  idle_in_transaction_session_timeout: { default: '0', doc: 'kept for clients' },
  max_result_size: {
    default: '1GB',
    doc: 'the most bytes that the answer to a query may take, with every copy of a row, and a snapshot of a SUBSCRIBE',
    system: true,
    check: (v: string) => {
      resultBytes('max_result_size', v);
      return v;
    },
  },
  max_identifier_length: { default: '63', doc: 'bytes of a name', readOnly: true },
  metrics_interval: {
    default: '1s',
    doc: 'how often replicas put their metrics into mz_cluster_prometheus_metrics, if that is less than once an interval of introspection; 0 takes them out',
    system: true,
    check: (v: string) => {
      durationMs('metrics_interval', v);
      return v;
    },
  },
  row_security: { default: 'off', doc: 'kept for clients', check: boolean('row_security') },
  search_path: { default: 'public', doc: 'schemas of bare names', list: true },
  server_encoding: { default: 'UTF8', doc: 'encoding of text', readOnly: true, reported: 'server_encoding' },
  server_version: {
    default: SERVER_VERSION,
    doc: 'the PostgreSQL version that clients may assume',
    readOnly: true,
    reported: 'server_version',
  },
  server_version_num: { default: '150000', doc: 'the same as a number', readOnly: true },
  session_authorization: {
    default: 'tidemark',
    doc: 'the one role',
    readOnly: true,
    reported: 'session_authorization',
  },
  standard_conforming_strings: {
    default: 'on',
    doc: 'backslashes are ordinary',
    readOnly: true,
    reported: 'standard_conforming_strings',
  },
  statement_timeout: {
    default: '0',
    doc: 'how long a statement may take; 0 is no limit',
    check: (v: string) => {
      durationMs('statement_timeout', v);
      return v;
    },
  },
  timezone: { default: 'UTC', doc: 'of timestamptz', check: timeZone, reported: 'TimeZone' },
  transaction_isolation: {
    default: 'strict serializable',
    doc: 'strict serializable, or serializable: which never waits for freshness',
    check: isolation,
  },
  transaction_read_only: {
    default: 'off',
    doc: 'of the transaction',
    check: boolean('transaction_read_only'),
  },
} as const satisfies Record<string, Setting>;

export type SettingName = keyof typeof SETTINGS;

/** Weaker levels are given more than they ask for. */
function isolation(value: string): string {
  const v = value.toLowerCase();
  if (v === 'serializable' || v === 'strict serializable') return v;
  if (['repeatable read', 'read committed', 'read uncommitted'].includes(v)) return 'strict serializable';
  throw new SqlError(
    'invalid_parameter_value',
    `invalid value for parameter "transaction_isolation": "${value}"`,
  );
}

function dateStyle(value: string): string {
  if (!/^iso(,\s*(mdy|dmy|ymd))?$|^(mdy|dmy|ymd)$/i.test(value))
    throw new SqlError('feature_not_supported', `DateStyle "${value}" is not supported`, { hint: 'use ISO' });
  return 'ISO, MDY';
}
