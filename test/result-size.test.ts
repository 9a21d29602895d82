/** How large an answer may be: every copy of a row counts, before any is made, and the system's setting says how much is too much. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest } from '../packages/tidemark/src/testkit/simulator.ts';

test('a row that stands for a number is refused as so many rows, and counted all the same', async () => {
  const t = await openTest();
  await t.exec(`CREATE TABLE t (a int, s text); INSERT INTO t SELECT g, 'row ' || g FROM generate_series(1, 5000) AS g;
    CREATE INDEX i ON t (a)`);
  await t.advance(3000);
  const bytes = 'mz_introspection.mz_arrangement_heap_size_raw';
  const [counted] = await t.query(`SELECT count(*) AS n FROM ${bytes}`);
  assert.ok((counted!['n'] as bigint) > 100_000n);
  assert.equal(BigInt((await t.query(`SELECT * FROM ${bytes}`)).length), counted!['n']);
  await t.exec("ALTER SYSTEM SET max_result_size = '1MB'");
  await t.run();
  const e = await t.failure(`SELECT * FROM ${bytes}`);
  assert.equal(e.code, 'program_limit_exceeded');
  assert.equal(e.message, 'the result is larger than 1048576 bytes');
  assert.match(e.hint!, /max_result_size/);
  assert.deepEqual(await t.query(`SELECT count(*) AS n FROM ${bytes}`), [counted]);
  assert.equal((await t.query(`SELECT * FROM ${bytes} LIMIT 3`)).length, 3);
  // A replica that comes later has heard of it too, and so has a start of the environment.
  for (const again of [() => t.crash(), () => t.restart()]) {
    await again();
    await t.connected();
    await t.advance(3000);
    assert.equal((await t.failure(`SELECT * FROM ${bytes}`)).code, 'program_limit_exceeded');
  }
  await t.exec('ALTER SYSTEM RESET max_result_size');
  await t.run();
  assert.ok((await t.query(`SELECT * FROM ${bytes}`)).length > 100_000);
  for (const value of ['0kB', '2GB', 'much', '5'])
    assert.equal((await t.failure(`ALTER SYSTEM SET max_result_size = '${value}'`)).sqlstate, '22023', value);
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
});

test('a snapshot of a SUBSCRIBE is as large as an answer', async () => {
  const t = await openTest();
  await t.exec(
    `CREATE TABLE t (s text); INSERT INTO t SELECT repeat('x', 100) || g FROM generate_series(1, 500) AS g`,
  );
  const session = t.session();
  await t.start('BEGIN; DECLARE a CURSOR FOR SUBSCRIBE t', session).result();
  assert.equal((await t.start('FETCH ALL a', session).result()).length, 500);
  await t.start('ROLLBACK', session).result();
  await t.exec("ALTER SYSTEM SET max_result_size = '10kB'");
  await t.run();
  await t.start('BEGIN; DECLARE b CURSOR FOR SUBSCRIBE t', session).result();
  await assert.rejects(t.start('FETCH ALL b', session).result(), {
    code: 'program_limit_exceeded',
    message: 'result exceeds max size of 10240 bytes',
  });
  await t.start('ROLLBACK', session).result();
  await t.exec('ALTER SYSTEM RESET max_result_size; DROP TABLE t');
  await t.assertNothingLeft();
  await t.close();
});
