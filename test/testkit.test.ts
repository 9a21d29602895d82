/**
 * The public test kit, through its door: statements, time, each fault, processes, and what is left. What the engine does about them is
 * tested elsewhere; here only that the kit does what it says.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/index.ts';

const BLOCKERS = `SELECT o.name, b.reason FROM mz_internal.mz_hydration_blockers b
  JOIN mz_objects o ON o.id = b.object_id ORDER BY 1`;

const reasons = async (t: TestEnvironment): Promise<unknown> => (await t.query(BLOCKERS)).values;

async function end(t: TestEnvironment): Promise<void> {
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
}

const open = async (options: Parameters<typeof openTest>[0] = {}): Promise<TestEnvironment> => {
  const t = await openTest(options);
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
  return t;
};

test('a clock that only the test moves, and the library on it', async () => {
  const t = await open({ seed: 3 });
  const before = t.nowMs;
  await t.advance(5000);
  assert.ok(Math.abs(t.nowMs - before - 5000) < 1);
  t.stepClock(3_600_000);
  assert.ok(t.nowMs - before > 3_600_000);
  const { rows, command } = await t.query('SELECT a FROM t WHERE a > $1', [1]);
  assert.deepEqual([rows, command], [[{ a: 2 }], 'SELECT 1']);
  await t.settle(t.db.ready());
  await assert.rejects(t.exec('SELECT nothing'), /nothing/);
  await assert.rejects(
    t.until(() => false, 'the impossible'),
    /the impossible/,
  );
  await end(t);
});

test('an input that is held, an input that fails, a sink that is held', async () => {
  const t = await open({ workers: 2 });
  const release = t.holdReads('t');
  await t.exec('CREATE INDEX i ON t (a)');
  await t.advance(1000);
  assert.deepEqual(await reasons(t), [['i', 'computing']]);
  release();
  await t.advance(1000);
  assert.deepEqual(await reasons(t), []);
  await t.exec('DROP INDEX i');
  const heal = t.failReads('t');
  await t.exec('CREATE INDEX i ON t (a)');
  await t.advance(1000);
  assert.deepEqual(await reasons(t), [['i', 'failed']]);
  heal();
  await t.advance(60_000);
  assert.deepEqual(await reasons(t), []);
  await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
  const write = t.holdAppends('v');
  await t.advance(5000);
  await t.exec('INSERT INTO t VALUES (3)');
  const late = t.start('SELECT count(*) FROM v');
  await t.advance(2000);
  assert.equal(late.isDone, false);
  write();
  assert.deepEqual((await late.result()).values, [[3n]]);
  await end(t);
});

test('a slow sink: each write takes that long', async () => {
  const t = await open();
  const release = t.slowAppends('t', 700);
  const before = t.nowMs;
  await t.exec('INSERT INTO t VALUES (3)');
  assert.ok(t.nowMs - before >= 700);
  release();
  await end(t);
});

test('a crash when an object reaches a stage, and one right now', async () => {
  for (const stage of ['installed', 'started', 'hydrated', 'written'] as const) {
    const t = await open({ workers: 2 });
    t.crashAt({ object: 'v', stage });
    await t.exec('CREATE MATERIALIZED VIEW other AS SELECT a + 1 AS b FROM t');
    await t.advance(3000);
    assert.equal(t.crashesToCome, 1, 'another object is another matter');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    await t.until(() => t.crashesToCome === 0, `the replica dies at ${stage}`);
    await t.connected();
    await t.advance(3000);
    await t.crash();
    await t.connected();
    await t.advance(3000);
    const { values } = await t.query(`SELECT h.status FROM mz_internal.mz_object_hydration_history h
      JOIN mz_objects o ON o.id = h.object_id WHERE o.name = 'v' ORDER BY installed_at`);
    const [first, ...later] = values.map(([status]) => status);
    assert.deepEqual(later, ['hydrated', 'hydrated'], stage);
    if (stage === 'installed' || stage === 'started') assert.equal(first, 'lost', stage);
    await end(t);
  }
});

test('a worker that stands still, and one whose clock is off', async () => {
  const t = await open({ workers: 2, skewMs: [0, 60_000] });
  const release = t.stallWorker(1);
  await t.exec('CREATE INDEX i ON t (a)');
  await t.advance(1000);
  assert.notDeepEqual(await reasons(t), []);
  release();
  await t.advance(1000);
  assert.deepEqual(await reasons(t), []);
  await t.advance(62_000);
  const { values } = await t.query(`SELECT worker_id, occurred_at > now() + INTERVAL '-1 minute' AS ahead
    FROM mz_introspection.mz_compute_lifecycle_events_per_worker
    WHERE export_id = '${t.id('i')}' AND event = 'hydrated' ORDER BY 1`);
  assert.deepEqual(values, [
    [0n, false],
    [1n, true],
  ]);
  await end(t);
});

test('an environment that restarts, one that is killed, and connections that are cut', async () => {
  const t = await open({ outlive: true });
  await t.exec('CREATE INDEX i ON t (a)');
  await t.restart();
  await t.kill();
  await t.connected();
  t.cut();
  await t.advance(100);
  await t.connected();
  assert.deepEqual((await t.query('SELECT count(*) FROM t')).values, [[2n]]);
  await t.advance(3000);
  await end(t);
});

test('a process that stands by takes over from one that hangs', async () => {
  const t = await open();
  const next = await t.standby();
  assert.equal(next.leaderStatus.role, 'read_only');
  await next.caughtUp();
  const wake = t.hang();
  await next.promote();
  wake();
  await next.exec('INSERT INTO t VALUES (3)');
  await next.until(() => t.fenced !== null, 'the old leader is told');
  await t.close();
  assert.deepEqual((await next.query('SELECT count(*) FROM t')).values, [[3n]]);
  await next.close();
});

test('the same seed, the same run; and what is left is found', async () => {
  const run = async (seed: number): Promise<readonly string[]> => {
    const t = await open({ seed, workers: 2 });
    await t.exec('CREATE INDEX i ON t (a)');
    await t.advance(2000);
    await assert.rejects(t.assertNothingLeft(), /nothing is left/);
    await end(t);
    return t.trace;
  };
  const first = await run(5);
  assert.deepEqual(await run(5), first);
  assert.notDeepEqual(await run(6), first);
});

test('the program of docs/testkit.md runs', async () => {
  const text = readFileSync(new URL('../docs/testkit.md', import.meta.url), 'utf8');
  const programs = [...text.matchAll(/^```ts\n(.*?)^```/gms)].map((m) => m[1]!);
  assert.ok(programs.length > 0);
  const door = new URL('../packages/tidemark/src/testkit/index.ts', import.meta.url).href;
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-testkit-'));
  try {
    for (const [i, program] of programs.entries()) {
      const file = join(folder, `program-${i}.ts`);
      writeFileSync(file, program.replace("'tidemark/testkit'", `'${door}'`));
      await import(pathToFileURL(file).href);
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
});
