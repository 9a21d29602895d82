/** A plan is used again only while everything that planning asked has the same answer. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openTest, type TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';

/** Rows of a query, and whether its plan was one that had been made before. */
async function ask(
  t: TestEnvironment,
  text: string,
  session = t.session(),
): Promise<{ readonly rows: readonly unknown[][]; readonly again: boolean }> {
  const { plans } = t.env;
  const before = plans.hits;
  const rows = await t.start(text, session).result();
  return { rows: rows.map((r) => Object.values(r)), again: plans.hits > before };
}

test('the second time a text is sent it is neither parsed nor planned', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
  const text = 'SELECT count(*) FROM t WHERE a > 0';
  assert.equal(t.env.plans.parse(text), t.env.plans.parse(text));
  assert.deepEqual(await ask(t, text), { rows: [[1n]], again: false });
  assert.deepEqual(await ask(t, text), { rows: [[1n]], again: true });
  // What it reads is read anew.
  await t.exec('INSERT INTO t VALUES (2)');
  assert.deepEqual(await ask(t, text), { rows: [[2n]], again: true });
  await t.close();
});

test('a change of the catalog ends every plan', async () => {
  const t = await openTest();
  await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a FROM t');
  const text = 'SELECT * FROM v';
  await ask(t, text);
  assert.deepEqual(await ask(t, text), { rows: [[1]], again: true });
  await t.exec('DROP VIEW v; CREATE VIEW v AS SELECT a + 1, a FROM t');
  assert.deepEqual(await ask(t, text), { rows: [[2, 1]], again: false });
  // Read through its index from now on, and no longer once that is gone.
  await t.exec('CREATE INDEX i ON v (a)');
  const explain = 'EXPLAIN SELECT * FROM v';
  assert.match(JSON.stringify((await ask(t, explain)).rows), /Used indexes/);
  assert.deepEqual(await ask(t, text), { rows: [[2, 1]], again: false });
  assert.deepEqual(await ask(t, text), { rows: [[2, 1]], again: true });
  await t.exec('DROP INDEX i');
  assert.deepEqual(await ask(t, text), { rows: [[2, 1]], again: false });
  await t.exec('DROP VIEW v');
  await assert.rejects(ask(t, text), /relation "v" does not exist|unknown relation/);
  await t.close();
});

test('names, time zone and cluster are part of what a plan was made for', async () => {
  const t = await openTest();
  await t.exec('CREATE SCHEMA other; CREATE TABLE t (a int); CREATE TABLE other.t (a int)');
  await t.exec('INSERT INTO t VALUES (1); INSERT INTO other.t VALUES (2)');
  const [one, two] = [t.session(), t.session()];
  two.settings.set('search_path', ['other']);
  two.settings.set('timezone', ['Asia/Tokyo']);
  const text = 'SELECT a FROM t';
  for (const again of [false, true]) {
    assert.deepEqual(await ask(t, text, one), { rows: [[1]], again });
    assert.deepEqual(await ask(t, text, two), { rows: [[2]], again });
  }
  const hour = "SELECT extract(hour FROM timestamptz '2020-01-01 00:00+00')::int";
  for (let i = 0; i < 2; i++) {
    assert.deepEqual((await ask(t, hour, one)).rows, [[0]]);
    assert.deepEqual((await ask(t, hour, two)).rows, [[9]]);
  }
  await t.close();
});

test('the moment and the session are asked each time', async () => {
  const t = await openTest();
  const [one, two] = [t.session(), t.session()];
  for (const text of ['SELECT now()', "SELECT 'now'::timestamptz", 'SELECT mz_now()']) {
    const first = await ask(t, text, one);
    await t.advance(5000);
    const second = await ask(t, text, one);
    assert.notDeepEqual(second.rows, first.rows, text);
    assert.equal(second.again, false, text);
  }
  const pid = 'SELECT pg_backend_pid()';
  assert.notDeepEqual((await ask(t, pid, one)).rows, (await ask(t, pid, two)).rows);
  const setting = "SELECT current_setting('application_name')";
  one.settings.set('application_name', ['x']);
  assert.deepEqual((await ask(t, setting, one)).rows, [['x']]);
  assert.notDeepEqual((await ask(t, setting, two)).rows, [['x']]);
  await t.close();
});

test('texts are forgotten in the order of their last use', async () => {
  const t = await openTest();
  const { plans } = t.env;
  const kept = plans.parse('SELECT 1 AS kept');
  const old = plans.parse('SELECT 1 AS old');
  for (let i = 0; i < 499; i++) {
    plans.parse(`SELECT ${i}`);
    plans.parse('SELECT 1 AS kept');
  }
  assert.equal(plans.parse('SELECT 1 AS kept'), kept);
  assert.notEqual(plans.parse('SELECT 1 AS old'), old);
  await t.close();
});
