/** What commands share: their arguments, their log, and how they say that something went wrong. */
import { InvalidArgumentError } from 'commander';
import { pino } from 'pino';
import type { Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { BoundAddress } from '../host/listen.ts';

export const stderrLogger = (level: string): Logger =>
  pino({ name: 'tidemark', level, serializers: { error: errorText } }, pino.destination(2));

/** Errors are logged under `error`, which pino knows nothing of by itself; worker threads send theirs as text. */
const errorText = (error: unknown): unknown => (error instanceof Error ? explain(error) : error);

/** One line for what a user can act on; the whole story for what is our fault. */
export function explain(error: unknown): string {
  if (error instanceof SqlError) {
    const more = [error.detail, error.hint].filter((text) => text !== undefined);
    return more.length === 0 ? error.message : `${error.message} (${more.join('; ')})`;
  }
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

export const text = (a: BoundAddress): string => `${a.host.includes(':') ? `[${a.host}]` : a.host}:${a.port}`;

export function address(value: string): BoundAddress {
  const m = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(value);
  const port = Number(m?.[3]);
  if (m === null || port > 65535)
    throw new InvalidArgumentError('expected HOST:PORT, such as 127.0.0.1:6875');
  return { host: (m[1] ?? m[2])!, port };
}

/** Given any number of times: `cluster.replica=host:port`. */
export function replicaPlaces(
  value: string,
  before: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<string, string> {
  const [, name, place] = /^([^=]+\.[^=]+)=([^=]+)$/.exec(value) ?? [];
  if (name === undefined || place === undefined)
    throw new InvalidArgumentError('expected CLUSTER.REPLICA=HOST:PORT, such as c.r2=127.0.0.1:7001');
  address(place);
  return new Map([...before, [name, place]]);
}

export function httpUrl(value: string): URL {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('expected http://HOST:PORT, such as http://127.0.0.1:6876');
  return url;
}

export function port(value: string): number {
  const n = Number(value);
  if (!Number.isInteger(n) || n < 1 || n > 65535)
    throw new InvalidArgumentError('expected a port, 1 to 65535');
  return n;
}

export function workers(value: string): number {
  const n = Number(value);
  if (!Number.isInteger(n) || n < 1 || n > 64)
    throw new InvalidArgumentError('expected a number of workers, 1 to 64');
  return n;
}
