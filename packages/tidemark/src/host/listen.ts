/** Binding a TCP port, with errors that say what to do. */
import { once } from 'node:events';
import type { AddressInfo, Server } from 'node:net';
import { type ErrorCode, SqlError } from '../base/error.ts';

const REASONS: Readonly<Record<string, readonly [code: ErrorCode, reason: string]>> = {
  EADDRINUSE: ['object_in_use', 'the port is in use'],
  EACCES: ['insufficient_privilege', 'the port needs a privilege that this process does not have'],
  EADDRNOTAVAIL: ['system_error', 'this machine does not have the address'],
  ENOTFOUND: ['system_error', 'the host name does not resolve'],
};

export interface BoundAddress {
  readonly host: string;
  readonly port: number;
}

/** Binds `server`; port 0 takes a free one, which the answer names. */
export async function bindServer(server: Server, { host, port }: BoundAddress): Promise<BoundAddress> {
  try {
    server.listen({ host, port });
    await once(server, 'listening');
  } catch (cause) {
    const errno = (cause as NodeJS.ErrnoException).code ?? '';
    const [code, reason] = REASONS[errno] ?? ['system_error', (cause as Error).message];
    throw new SqlError(code, `could not listen on ${host}:${port}: ${reason}`, { cause });
  }
  const address = server.address() as AddressInfo;
  return { host: address.address, port: address.port };
}
