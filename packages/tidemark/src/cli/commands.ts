/** The commands of `tidemark`. */
import { enableCompileCache } from 'node:module';
import { Command, InvalidArgumentError } from 'commander';
import { pino } from 'pino';
import type { Logger } from '../base/clock.ts';
import { SqlError } from '../base/error.ts';
import type { BoundAddress } from '../host/listen.ts';
import { type RunningServer, startServer } from '../server/server.ts';
import { type StatusOptions, showStatus } from './status-command.ts';
import { VERSION } from './version.ts';

/** Nobody should start this again as it was: another process writes now. */
const FENCED = 3;
/** What has not ended by then is cut off: a process that was fenced has nothing left to write. */
const LINGER_MS = 5000;

export async function run(argv: readonly string[]): Promise<void> {
  enableCompileCache();
  const program = new Command('tidemark')
    .description('streaming SQL: every index and materialized view tells its own life story')
    .version(VERSION);
  program
    .command('serve')
    .description('accept SQL over the Postgres wire protocol')
    .option('--data <dir>', 'directory that holds everything durable', './tidemark-data')
    .option('--memory', 'keep everything in memory instead')
    .option(
      '--listen <host:port>',
      'where Postgres clients connect; port 0 takes a free one',
      address,
      address('127.0.0.1:6875'),
    )
    .option(
      '--http <host:port>',
      'where /api/livez, /api/readyz and /api/status are',
      address,
      address('127.0.0.1:6876'),
    )
    .option('--workers <n>', 'workers of cluster quickstart, when a new directory is set up', workers)
    .option('--read-only', 'stand by for the process that serves the directory, until it is promoted')
    .option('--log-level <level>', 'debug, info, warn or error', 'warn')
    .addHelpText(
      'after',
      `
Off loopback a password is required: set TIDEMARK_PASSWORD, the user is tidemark.
A process that stands by is promoted by POST /api/leader/promote; it takes TIDEMARK_HTTP_TOKEN where that is set, and always off
loopback. Exit codes: 0 ended by a signal, 1 could not start, ${FENCED} another process has taken over.`,
    )
    .action(serve);
  program
    .command('status')
    .description('where each index and materialized view of a running server stands, and why it is not done')
    .option('--url <url>', "of the server's HTTP interface", httpUrl)
    .option('--host <host>', 'the same, in two parts', '127.0.0.1')
    .option('--port <port>', '', port, 6876)
    .option('--cluster <name>', 'only this cluster')
    .option('--watch', 'draw again and again, until interrupted')
    .option('--json', 'the answer as the server gives it')
    .addHelpText('after', '\nExit code: 0 ready, 1 not ready, 2 the server could not be asked.')
    .action(status);
  await program.parseAsync([...argv]);
}

async function status(
  o: Omit<StatusOptions, 'url'> & { readonly url?: URL; readonly host: string; readonly port: number },
): Promise<void> {
  const ending = new AbortController();
  process.on('SIGINT', () => ending.abort());
  const { stdout, stderr } = process;
  const terminal = {
    isTTY: stdout.isTTY === true,
    columns: stdout.columns ?? 0,
    color: stdout.isTTY === true && stdout.hasColors(),
    write: (text: string) => void stdout.write(text),
    fail: (text: string) => void stderr.write(text),
  };
  const url = o.url ?? new URL(`http://${o.host.includes(':') ? `[${o.host}]` : o.host}:${o.port}`);
  process.exitCode = await showStatus({ ...o, url }, terminal, ending.signal);
}

interface ServeOptions {
  readonly data: string;
  readonly memory?: true;
  readonly readOnly?: true;
  readonly listen: BoundAddress;
  readonly http: BoundAddress;
  readonly workers?: number;
  readonly logLevel: string;
}

async function serve(o: ServeOptions): Promise<void> {
  const logger: Logger = pino(
    { name: 'tidemark', level: o.logLevel, serializers: { error: errorText } },
    pino.destination(2),
  );
  let server: RunningServer | undefined;
  let ending = false;
  const end = async (code: number): Promise<void> => {
    if (ending) return;
    ending = true;
    await server?.close();
    process.exit(code);
  };
  process.on('SIGTERM', () => void end(0));
  process.on('SIGINT', () => void end(0));
  const password = process.env['TIDEMARK_PASSWORD'];
  try {
    server = await startServer({
      dataDir: o.memory === true ? null : o.data,
      listen: o.listen,
      http: o.http,
      logger,
      ...(o.workers !== undefined && { defaultWorkers: o.workers }),
      ...(password !== undefined && { password }),
      token: process.env['TIDEMARK_HTTP_TOKEN'] || undefined,
      ...(o.readOnly === true && { readOnly: true }),
      onFenced: (error) => {
        process.stderr.write(`tidemark stops: ${explain(error)}\n`);
        setTimeout(() => process.exit(FENCED), LINGER_MS).unref();
        void end(FENCED);
      },
    });
  } catch (error) {
    process.stderr.write(`tidemark cannot start: ${explain(error)}\n`);
    process.exit(1);
  }
  process.stdout.write(`tidemark ready pg=${text(server.pg)} http=${text(server.http)}\n`);
}

/** Errors are logged under `error`, which pino knows nothing of by itself; worker threads send theirs as text. */
const errorText = (error: unknown): unknown => (error instanceof Error ? explain(error) : error);

/** One line for what a user can act on; the whole story for what is our fault. */
function explain(error: unknown): string {
  if (error instanceof SqlError)
    return error.hint === undefined ? error.message : `${error.message} (${error.hint})`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}

const text = (a: BoundAddress): string => `${a.host.includes(':') ? `[${a.host}]` : a.host}:${a.port}`;

function address(value: string): BoundAddress {
  const m = /^(?:\[(.+)\]|([^:]+)):(\d{1,5})$/.exec(value);
  const port = Number(m?.[3]);
  if (m === null || port > 65535)
    throw new InvalidArgumentError('expected HOST:PORT, such as 127.0.0.1:6875');
  return { host: (m[1] ?? m[2])!, port };
}

function httpUrl(value: string): URL {
  const url = URL.parse(value);
  if (url === null || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('expected http://HOST:PORT, such as http://127.0.0.1:6876');
  return url;
}

function port(value: string): number {
  const n = Number(value);
  if (!Number.isInteger(n) || n < 1 || n > 65535)
    throw new InvalidArgumentError('expected a port, 1 to 65535');
  return n;
}

function workers(value: string): number {
  const n = Number(value);
  if (!Number.isInteger(n) || n < 1 || n > 64)
    throw new InvalidArgumentError('expected a number of workers, 1 to 64');
  return n;
}
