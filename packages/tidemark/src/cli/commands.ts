/** The commands of `tidemark`. */
import { enableCompileCache } from 'node:module';
import { Command, Option } from 'commander';
import { SqlError } from '../base/error.ts';
import type { BoundAddress } from '../host/listen.ts';
import { type RunningServer, startServer } from '../server/server.ts';
import { address, explain, httpUrl, port, replicaPlaces, stderrLogger, text, workers } from './arguments.ts';
import { replica } from './replica.ts';
import { EXIT, type StatusOptions, showStatus } from './status-command.ts';
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
    .addOption(
      addressOption('--listen', 'where Postgres clients connect; port 0 takes a free one', '127.0.0.1:6875'),
    )
    .addOption(
      addressOption(
        '--http',
        'where /api/livez, /api/readyz, /api/status and /api/leader are',
        '127.0.0.1:6876',
      ),
    )
    .option('--workers <n>', 'workers of cluster quickstart, when a new directory is set up', workers)
    .option('--read-only', 'stand by for the process that serves the directory, until it is promoted')
    .option(
      '--replica <cluster.replica=host:port>',
      'with --read-only: a replica of its own for one that runs in a process of its own',
      replicaPlaces,
    )
    .addOption(logLevelOption())
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
    .addHelpText('after', '\nExit code: 0 ready, 1 not ready, 2 not asked: no answer, or a wrong argument.')
    .exitOverride((e) => process.exit(e.exitCode === 0 ? 0 : EXIT.notAsked))
    .action(status);
  program
    .command('replica')
    .description('maintain a cluster in a process of its own, over a data directory that `serve` writes')
    .requiredOption(
      '--listen <host:port>',
      'where the environment connects; port 0 takes a free one',
      address,
    )
    .requiredOption('--data <dir>', 'the directory that `serve` was given')
    .option('--workers <n>', 'worker threads', workers, 1)
    .option('--token <text>', 'what the environment must know; better given as TIDEMARK_REPLICA_TOKEN')
    .addOption(logLevelOption())
    .addHelpText(
      'after',
      `
Off loopback a token is required. The environment shows the one in its own TIDEMARK_REPLICA_TOKEN:
  CREATE CLUSTER c REPLICAS (r1 (ADDRESSES ('host:port'), WORKERS 2))`,
    )
    .action(replica);
  await program.parseAsync([...argv]);
}

const addressOption = (flag: string, what: string, standard: string): Option =>
  new Option(`${flag} <host:port>`, what).argParser(address).default(address(standard), standard);

const logLevelOption = (): Option =>
  new Option('--log-level <level>', 'how much is logged')
    .choices(['debug', 'info', 'warn', 'error'])
    .default('warn');

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
  readonly replica?: ReadonlyMap<string, string>;
  readonly listen: BoundAddress;
  readonly http: BoundAddress;
  readonly workers?: number;
  readonly logLevel: string;
}

async function serve(o: ServeOptions): Promise<void> {
  const logger = stderrLogger(o.logLevel);
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
  const replicaToken = process.env['TIDEMARK_REPLICA_TOKEN'];
  try {
    if (o.replica !== undefined && o.readOnly !== true)
      throw new SqlError('invalid_parameter_value', '--replica is for a process that stands by', {
        hint: 'add --read-only; a process that leads has its replicas from CREATE CLUSTER REPLICA',
      });
    server = await startServer({
      dataDir: o.memory === true ? null : o.data,
      listen: o.listen,
      http: o.http,
      logger,
      ...(o.workers !== undefined && { defaultWorkers: o.workers }),
      ...(password !== undefined && { password }),
      token: process.env['TIDEMARK_HTTP_TOKEN'] || undefined,
      ...(o.readOnly === true && { readOnly: true }),
      ...(o.replica !== undefined && { replicas: o.replica }),
      ...(replicaToken !== undefined && { replicaToken }),
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
