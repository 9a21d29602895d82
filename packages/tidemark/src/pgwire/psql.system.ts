/**
 * psql against the wire: a system tool, so not part of `npm test`. Run with `node --test src/pgwire/psql.system.ts`.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { describe, it, type TestContext } from 'node:test';
import { silentLogger } from '../base/clock.ts';
import { type ListenPgOptions, listenPg } from '../host/pg-server.ts';
import { scramAuth } from '../host/scram-auth.ts';
import { CannedBackend } from './canned-backend.fixture.ts';
import { until } from './wire-client.fixture.ts';

interface Psql {
  readonly backend: CannedBackend;
  start(
    args: readonly string[],
    input?: string,
  ): { readonly kill: (signal: NodeJS.Signals) => void; readonly done: Promise<string> };
  run(args: readonly string[], input?: string): Promise<string>;
}

async function psql(
  t: TestContext,
  options: Partial<ListenPgOptions> & { env?: NodeJS.ProcessEnv } = {},
): Promise<Psql> {
  const backend = new CannedBackend();
  const { env, ...listen } = options;
  const server = await listenPg({
    host: '127.0.0.1',
    port: 0,
    backend,
    auth: { kind: 'trust' },
    logger: silentLogger,
    ...listen,
  });
  t.after(() => server.close());
  const start: Psql['start'] = (args, input = '') => {
    const child = spawn(
      'psql',
      ['-X', '-h', '127.0.0.1', '-p', String(server.port), '-U', 'ada', '-d', 'd', ...args],
      {
        env: { PATH: process.env['PATH'], ...env },
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += chunk));
    child.stdin.end(input);
    const done = new Promise<string>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', () => resolve(output));
    });
    return { kill: (signal) => child.kill(signal), done };
  };
  return { backend, start, run: (args, input) => start(args, input).done };
}

describe('psql', () => {
  it('prints results, notices and errors', async (t) => {
    const { run } = await psql(t);
    assert.equal(await run(['-At', '-c', 'rows 2', '-c', 'insert 3']), '1|row 1\n2|row 2\nINSERT 0 3\n');
    assert.match(await run(['-c', 'notice']), /NOTICE: {2}mind the gap\nHINT: {2}step over\nNOTICE\n/);
    const error = await run(['-v', 'VERBOSITY=verbose', '-c', 'fail']);
    for (const part of [
      'ERROR:  23505: duplicate key',
      'DETAIL:  the detail',
      'HINT:  the hint',
      'LINE 1: fail',
      'CONSTRAINT NAME:  t_pk',
    ]) {
      assert.ok(error.includes(part), `${part} in ${error}`);
    }
  });

  it('runs scripts with several results a query', async (t) => {
    const { run, backend } = await psql(t);
    assert.equal(
      await run(['-Atq'], 'select 1\\; select 2;\nbegin;\n\\echo :SERVER_VERSION_NUM\n'),
      '1\n2\n150000\n',
    );
    await until(() => backend.open.size === 0, 'Terminate was understood');
  });

  it('copies in and out', async (t) => {
    const { run, backend } = await psql(t);
    assert.equal(
      await run(
        [],
        'copy t from stdin;\n1\tone\n2\ttwo\n\\.\nselect 7 \\g (format=unaligned tuples_only=on)\n',
      ),
      'COPY 2\n7\n',
    );
    assert.deepEqual(backend.copied, ['1\tone\n2\ttwo\n']);
    assert.equal(await run(['-c', 'copy 2 to stdout']), '1\trow 1\n2\trow 2\n');
  });

  it('cancels with Ctrl-C', async (t) => {
    const { start, backend } = await psql(t);
    const child = start(['-c', 'wait']);
    await until(() => backend.waiting === 1, 'the statement runs');
    child.kill('SIGINT');
    assert.match(await child.done, /canceling statement due to user request/);
  });

  it('is noticed when killed', async (t) => {
    const { start, backend } = await psql(t);
    const child = start(['-c', 'copy changes to stdout']);
    await until(() => backend.waiting === 1, 'the subscription waits');
    child.kill('SIGKILL');
    await until(() => backend.open.size === 0 && backend.results === 0, 'everything is freed');
    await child.done;
  });

  it('logs in with a password', async (t) => {
    const auth = await scramAuth({ ada: 'pencil' });
    const right = await psql(t, { auth, env: { PGPASSWORD: 'pencil' } });
    assert.equal(await right.run(['-Atc', 'select 1']), '1\n');
    const wrong = await psql(t, { auth, env: { PGPASSWORD: 'pen' } });
    assert.match(
      await wrong.run(['-Atc', 'select 1']),
      /FATAL: {2}password authentication failed for user "ada"/,
    );
  });
});
