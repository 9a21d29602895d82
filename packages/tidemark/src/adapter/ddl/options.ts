/** What the options of clusters mean. */
import { SqlError, unsupported } from '../../base/error.ts';
import { bytesOfSize } from '../../catalog/settings.ts';
import type { ReplicaIntrospection } from '../../introspection/logging-config.ts';
import type { OptionDatum, Options } from '../../plan/statement/plan.ts';
import { parseInterval } from '../../repr/interval-parse.ts';

/** Those of a cluster, and of a replica, that have an effect; the planner knows more names, and they are refused. */
export const CLUSTER_OPTIONS: readonly string[] = [
  'size',
  'replication factor',
  'introspection interval',
  'introspection debugging',
  'managed',
  'memory limit',
];
export const REPLICA_OPTIONS: readonly string[] = [
  'size',
  'addresses',
  'workers',
  'memory limit',
  'introspection interval',
  'introspection debugging',
];

export interface ReplicaSize {
  readonly size: string;
  readonly workers: number;
}

const MAX_WORKERS = 64;

/** `scale=S,workers=W`, or just the number of workers. */
export function replicaSize(value: OptionDatum | undefined): ReplicaSize {
  const text = String(value);
  const m = /^(?:scale=(\d+),workers=)?(\d+)$/.exec(text);
  if (m === null)
    throw new SqlError('invalid_parameter_value', `unknown cluster replica size "${text}"`, {
      hint: "a size is a number of workers, '2', or 'scale=1,workers=2'",
    });
  if (m[1] !== undefined && m[1] !== '1')
    throw unsupported('a replica of several processes (scale above 1)', { hint: 'use scale=1' });
  const workers = Number(m[2]);
  if (workers < 1 || workers > MAX_WORKERS)
    throw new SqlError(
      'invalid_parameter_value',
      `a replica has 1 to ${MAX_WORKERS} workers, not ${workers}`,
    );
  return { size: text, workers };
}

/** `ADDRESSES ('host:port')`: a replica is one process. */
export function replicaAddress(value: OptionDatum): string {
  const addresses = Array.isArray(value) ? (value as readonly OptionDatum[]) : [value];
  if (addresses.length > 1)
    throw unsupported('a replica of several processes (more than one address)', {
      hint: 'give one address; a cluster may have several replicas',
    });
  const text = String(addresses[0] ?? '');
  const m = /^(?:\[[^\]]+\]|[^:\s]+):(\d{1,5})$/.exec(text);
  if (m === null || Number(m[1]) < 1 || Number(m[1]) > 65_535)
    throw new SqlError('invalid_parameter_value', `"${text}" is not the address of a replica`, {
      hint: "an address is 'host:port'",
    });
  return text;
}

/** `MEMORY LIMIT '512MB'`: units as PostgreSQL writes them, of 1024. Nothing where the option is not there. */
export function memoryLimit(options: Options): { readonly memoryLimitBytes?: number } {
  const value = options['memory limit'];
  if (value === undefined || value === false) return {};
  const bytes = bytesOfSize(String(value)) ?? 0;
  if (bytes >= 2 ** 20 && bytes <= 2 ** 46) return { memoryLimitBytes: bytes };
  throw new SqlError('invalid_parameter_value', `MEMORY LIMIT "${String(value)}" is no size of memory`, {
    hint: "a size is a number with kB, MB, GB or TB, at least 1MB, e.g. '512MB'",
  });
}

const DEFAULT_INTERVAL_MS = 1000;

/** `INTROSPECTION INTERVAL`, in milliseconds; 0 is off. */
export function introspectionInterval(options: Options): number {
  const value = options['introspection interval'];
  if (value === undefined) return DEFAULT_INTERVAL_MS;
  if (value === 0 || value === '0' || value === false) return 0;
  const { months, days, micros } = parseInterval(String(value));
  const ms = Math.round(micros / 1000) + days * 86_400_000;
  if (months !== 0 || ms < 0 || ms > 86_400_000)
    throw new SqlError('invalid_parameter_value', 'INTROSPECTION INTERVAL lies between 0 and one day');
  return ms;
}

/** Of a replica: what it is to have otherwise than its cluster. */
export function replicaIntrospection(options: Options): { readonly introspection?: ReplicaIntrospection } {
  const interval = 'introspection interval' in options && { intervalMs: introspectionInterval(options) };
  const debugging = 'introspection debugging' in options && {
    debugging: flag(options, 'introspection debugging'),
  };
  if (interval === false && debugging === false) return {};
  return { introspection: { ...interval, ...debugging } };
}

export function flag(options: Options, name: string): boolean {
  const value = options[name];
  if (value === undefined || value === false || value === 'false' || value === 'off') return false;
  if (value === true || value === 'true' || value === 'on') return true;
  throw new SqlError(
    'invalid_parameter_value',
    `${name.toUpperCase()} is true or false, not ${JSON.stringify(value)}`,
  );
}

/** Refuses what is recognised and does not exist yet: never silently ignored. */
export function onlyOptions(options: Options, known: readonly string[], what: string): void {
  for (const name of Object.keys(options))
    if (!known.includes(name)) throw unsupported(`option ${name.toUpperCase()} of ${what}`);
}
