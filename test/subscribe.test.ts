/**
 * SUBSCRIBE in the simulator: over every kind of relation, what it adds up to is what a query gives; and whatever it stands on goes, it
 * ends with an error, at once, and leaves nothing.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../packages/tidemark/src/base/error.ts';
import { openTest, type TestEnvironment, type TestRow } from '../packages/tidemark/src/testkit/simulator.ts';
import { Subscribed } from '../packages/tidemark/src/testkit/subscribed.ts';
import { openWatched } from './support/watched.ts';

const LIFECYCLE = 'mz_introspection.mz_compute_lifecycle_events_per_worker';

async function simulated(
  options: { readonly workers: number; readonly seed?: number },
  body: (t: TestEnvironment) => Promise<void>,
): Promise<void> {
  const w = await openWatched(options);
  await body(w.t);
  await w.finish();
}

/** The same where replicas go for good: their logs have no end to look at. */
async function withoutLogs(
  options: { readonly workers: number },
  body: (t: TestEnvironment) => Promise<void>,
): Promise<void> {
  const t = await openTest(options);
  await body(t);
  await t.exec('DROP TABLE t CASCADE');
  await t.assertNothingLeft();
  await t.close();
}

const subscribe = (t: TestEnvironment, sql: string, session = t.session()): Promise<Subscribed> =>
  t.settle(Subscribed.start(session, sql));

/** Reads until everything that was acknowledged has come. */
const caughtUp = (t: TestEnvironment, s: Subscribed): Promise<void> =>
  t.settle(s.completeBefore(t.env.oracle.readTime + 1));

const cells = (rows: readonly TestRow[]): string[] =>
  rows
    .map((r) =>
      Object.values(r)
        .map((v) => (v === null ? null : String(v)))
        .join('|'),
    )
    .sort();
const texts = (rows: readonly (readonly (string | null)[])[]): string[] =>
  rows.map((r) => r.join('|')).sort();

/** What a subscribe that ended by an error said; not later than a second after `since`. */
async function endedAtOnce(t: TestEnvironment, s: Subscribed): Promise<SqlError> {
  const since = t.time.nowMs();
  await t.settle(s.end());
  assert.ok(t.time.nowMs() - since <= 1000, 'it ends within a second');
  assert.ok(s.ended instanceof SqlError, 'with an error');
  return s.ended;
}

async function nothingOf(t: TestEnvironment): Promise<void> {
  await t.advance(2500);
  assert.deepEqual(await t.query('SELECT * FROM mz_internal.mz_subscriptions'), []);
  assert.deepEqual(await t.query(`SELECT export_id FROM ${LIFECYCLE} WHERE export_id LIKE 't%'`), []);
}

for (const [workers, seed] of [
  [1, 1],
  [2, 2],
  [2, 3],
] as const)
  test(`table, view, indexed view, materialized view and query agree with what is read, ${workers} workers, seed ${seed}`, () =>
    simulated({ workers, seed }, async (t) => {
      await t.exec('CREATE TABLE t (a int, b text); CREATE TABLE u (a int, f int)');
      await t.exec(
        "INSERT INTO t VALUES (1, 'x'), (1, 'x'), (2, NULL); INSERT INTO u VALUES (1, 10), (2, 20)",
      );
      const join = 'SELECT t.b, count(*) AS n, sum(u.f) AS s FROM t JOIN u USING (a) GROUP BY t.b';
      await t.exec(`CREATE VIEW plain AS ${join}; CREATE VIEW v AS ${join}; CREATE INDEX v_b ON v (b)`);
      await t.exec(`CREATE MATERIALIZED VIEW m AS ${join}; CREATE INDEX t_a ON t (a)`);
      const sources = ['t', 'plain', 'v', 'm', `(${join})`, '(SELECT a FROM t ORDER BY a DESC LIMIT 2)'];
      const all: Subscribed[] = [];
      for (const from of sources) all.push(await subscribe(t, `SUBSCRIBE ${from} WITH (PROGRESS)`));
      for (let step = 0; step < 8; step++) {
        const [a, f] = [t.random.below(4), t.random.below(100)];
        const writes = [
          `INSERT INTO t VALUES (${a}, '${'xyz'[t.random.below(3)]}')`,
          `DELETE FROM t WHERE a = ${a}`,
          `INSERT INTO u VALUES (${a}, ${f})`,
          `UPDATE u SET f = f + 1 WHERE a = ${a}`,
        ];
        await t.exec(writes[t.random.below(4)]!);
        for (const [i, s] of all.entries()) {
          await caughtUp(t, s);
          assert.equal(s.ended, undefined);
          const read = await t.query(
            sources[i]!.startsWith('(') ? sources[i]!.slice(1, -1) : `TABLE ${sources[i]}`,
          );
          assert.deepEqual(texts(s.contents()), cells(read), `${sources[i]} at step ${step}, seed ${t.seed}`);
        }
      }
      assert.equal((await t.query('SELECT id FROM mz_internal.mz_subscriptions')).length, sources.length);
      for (const s of all) s.close();
      await nothingOf(t);
    }));

test('its life: export rows, installed, started, hydrated on each worker, and no Frontiers', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const s = await subscribe(t, 'SUBSCRIBE t WITH (PROGRESS)');
    await caughtUp(t, s);
    await t.advance(2000);
    const rows = await t.query(
      `SELECT worker_id, event, reason FROM ${LIFECYCLE} WHERE export_id LIKE 't%' ORDER BY worker_id, occurred_at, event`,
    );
    const stages = ['installed commanded', 'started inputs_available', 'hydrated null'];
    assert.deepEqual(
      rows.map((r) => `${r['worker_id']} ${r['event']} ${r['reason']}`),
      [0, 1].flatMap((w) => stages.map((x) => `${w} ${x}`)),
    );
    const exports = 'SELECT export_id FROM mz_introspection.mz_compute_exports_per_worker';
    assert.equal((await t.query(`${exports} WHERE export_id LIKE 't%'`)).length, 2);
    assert.ok(!t.trace.some((line) => / -> frontiers t/.test(line)), 'its own responses say how far it is');
    s.close();
    await nothingOf(t);
  }));

test('without a snapshot only what changes is told; AS OF begins earlier, UP TO ends it', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    await t.exec('CREATE INDEX t_a ON t (a)');
    const from = t.env.oracle.readTime;
    await t.exec('INSERT INTO t VALUES (2)');
    const to = t.env.oracle.readTime + 1;
    const changes = await subscribe(t, 'SUBSCRIBE t WITH (PROGRESS, SNAPSHOT = false)');
    await t.exec('INSERT INTO t VALUES (3)');
    await caughtUp(t, changes);
    assert.deepEqual(texts(changes.contents()), ['3']);
    const past = await subscribe(t, `SUBSCRIBE t WITH (PROGRESS) AS OF ${from} UP TO ${to}`);
    await t.settle(past.end());
    assert.equal(past.ended, null, 'it comes to its end');
    assert.deepEqual(past.updates.map((u) => [u.row[0], u.diff]).sort(), [
      ['1', 1],
      ['2', 1],
    ]);
    assert.ok(past.updates.every((u) => u.time >= from && u.time < to));
    const until = await subscribe(t, `SUBSCRIBE t WITH (PROGRESS) UP TO ${Math.ceil(t.time.nowMs()) + 3000}`);
    await t.settle(until.end());
    assert.deepEqual([until.ended, texts(until.contents())], [null, ['1', '2', '3']]);
    const early = await t.failure('SUBSCRIBE t AS OF 1');
    assert.equal(early.code, 'object_not_in_prerequisite_state');
    const later = Math.ceil(t.time.nowMs()) + 5000;
    assert.equal((await t.failure(`SUBSCRIBE t AS OF ${later} UP TO ${to}`)).code, 'invalid_parameter_value');
    changes.close();
    await nothingOf(t);
  }));

test('ENVELOPE UPSERT and WITHIN TIMESTAMP ORDER BY', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec(
      "CREATE TABLE t (k int, v text); INSERT INTO t VALUES (2, 'b'), (1, 'a'), (3, 'c'), (3, 'd')",
    );
    const soon = () => Math.ceil(t.time.nowMs()) + 2000;
    const upsert = 'ENVELOPE UPSERT (KEY (k))';
    const first = await t.query(`SUBSCRIBE (SELECT v, k FROM t) UP TO ${soon()} ${upsert}`);
    assert.deepEqual(
      first.map((r) => [r['mz_state'], r['k'], r['v']]),
      [
        ['upsert', 1, 'a'],
        ['upsert', 2, 'b'],
        ['key_violation', 3, null],
      ],
    );
    assert.deepEqual(Object.keys(first[0]!), ['mz_timestamp', 'mz_state', 'k', 'v']);
    const changes = t.start(`SUBSCRIBE t WITH (SNAPSHOT = false) UP TO ${soon()} ${upsert}`);
    await t.advance(10);
    await t.exec("UPDATE t SET v = 'z' WHERE k = 1");
    await t.exec('DELETE FROM t WHERE k = 2');
    assert.deepEqual(
      (await changes.result()).map((r) => [r['mz_state'], r['k'], r['v']]),
      [
        ['upsert', 1, 'z'],
        ['delete', 2, null],
      ],
    );
    const ordered = await t.query(`SUBSCRIBE t UP TO ${soon()} WITHIN TIMESTAMP ORDER BY v DESC, mz_diff`);
    assert.deepEqual(
      ordered.map((r) => r['v']),
      ['z', 'd', 'c'],
    );
    await nothingOf(t);
  }));

test('an error of a row ends it with that error, after what came before', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec(
      'CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); CREATE VIEW v AS SELECT 10 / a AS q FROM t',
    );
    const s = await subscribe(t, 'SUBSCRIBE v WITH (PROGRESS)');
    await caughtUp(t, s);
    await t.exec('INSERT INTO t VALUES (5)');
    await t.exec('INSERT INTO t VALUES (0)');
    assert.equal((await endedAtOnce(t, s)).code, 'division_by_zero');
    assert.deepEqual(texts(s.contents()), ['10', '2', '5']);
    await t.exec('DELETE FROM t WHERE a = 0');
    const again = await subscribe(t, 'SUBSCRIBE v WITH (PROGRESS)');
    await caughtUp(t, again);
    assert.deepEqual(texts(again.contents()), ['10', '2', '5'], 'the view has healed');
    again.close();
    await nothingOf(t);
  }));

for (const index of ['', '; CREATE INDEX v_a ON v (a)'])
  test(`I12: a subscribe to a view${index && ' that is indexed'} ends when the view is dropped, and its dataflow with it`, () =>
    simulated({ workers: 2 }, async (t) => {
      await t.exec(
        `CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE VIEW v AS SELECT a FROM t${index}`,
      );
      const s = await subscribe(t, 'SUBSCRIBE v WITH (PROGRESS)');
      await caughtUp(t, s);
      await t.exec('DROP VIEW v');
      assert.equal((await endedAtOnce(t, s)).code, 'undefined_table');
      await nothingOf(t);
    }));

test('an index that it reads may be dropped under it: it goes on', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1); CREATE INDEX t_a ON t (a)');
    const s = await subscribe(t, 'SUBSCRIBE t WITH (PROGRESS)');
    await caughtUp(t, s);
    await t.exec('DROP INDEX t_a');
    await t.exec('INSERT INTO t VALUES (2)');
    await caughtUp(t, s);
    assert.deepEqual([s.ended, texts(s.contents())], [undefined, ['1', '2']]);
    s.close();
    await nothingOf(t);
  }));

test('I11: a subscribe and a read under way end with an error within a second when their cluster is dropped, and cancelling them then is nothing', () =>
  withoutLogs({ workers: 2 }, async (t) => {
    await t.exec(
      "CREATE CLUSTER c (SIZE '2'); CREATE TABLE t (a int); CREATE TABLE u (a int); INSERT INTO u VALUES (1)",
    );
    const session = t.session();
    session.settings.set('cluster', ['c']);
    const s = await subscribe(t, 'SUBSCRIBE t WITH (PROGRESS)', session);
    await caughtUp(t, s);
    const release = t.holdReads('u');
    await t.exec('CREATE INDEX i IN CLUSTER c ON u (a)');
    const reads = ['SELECT a FROM u', 'SELECT count(*) FROM u x, u y', 'INSERT INTO t SELECT a FROM u'].map(
      (sql) => t.start(`SET cluster = c; ${sql}`),
    );
    await t.advance(500);
    const asked = t.time.nowMs();
    await t.exec('DROP CLUSTER c CASCADE');
    assert.match((await endedAtOnce(t, s)).message, /was dropped|cluster ended/);
    for (const r of reads) await assert.rejects(r.result(), /was dropped|cluster ended/);
    assert.ok(t.time.nowMs() - asked < 1000);
    for (const r of reads) r.cancel();
    session.cancel();
    release();
    assert.deepEqual(await t.query('SELECT a FROM u'), [{ a: 1 }]);
    await nothingOf(t);
  }));

test('on a cluster without replicas it is refused', () =>
  simulated({ workers: 1 }, async (t) => {
    await t.exec('CREATE CLUSTER empty REPLICAS (); CREATE TABLE t (a int); SET cluster = empty');
    assert.equal((await t.failure('SUBSCRIBE t')).code, 'object_not_in_prerequisite_state');
    await t.exec('SET cluster = quickstart; DROP CLUSTER empty');
  }));

test('a replica that is lost and comes back: nothing is missing and nothing is told twice', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (1); CREATE INDEX t_a ON t (a)');
    const s = await subscribe(t, 'SUBSCRIBE (SELECT a, count(*) FROM t GROUP BY a) WITH (PROGRESS)');
    await caughtUp(t, s);
    await t.advance(5000);
    await t.crash();
    await t.exec('INSERT INTO t VALUES (2)');
    await t.connected();
    await t.exec('INSERT INTO t VALUES (1)');
    await caughtUp(t, s);
    assert.deepEqual([s.ended, texts(s.contents())], [undefined, ['1|3', '2|1']]);
    s.close();
    await nothingOf(t);
  }));

test('of two replicas whichever is ahead tells, each change once', () =>
  withoutLogs({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const extra = t.addReplica(1);
    const s = await subscribe(t, 'SUBSCRIBE t WITH (PROGRESS)');
    await caughtUp(t, s);
    for (const id of [extra, undefined, extra]) {
      const go = t.stallWorker(0, undefined, id);
      await t.exec('INSERT INTO t VALUES (2)');
      await caughtUp(t, s);
      go();
      await t.advance(500);
    }
    assert.deepEqual(texts(s.contents()), ['1', '2', '2', '2']);
    await t.env.clusters.instances.get(t.env.catalog.cluster('quickstart')!.id)!.removeReplica(extra);
    await t.exec('DELETE FROM t WHERE a = 1');
    await caughtUp(t, s);
    assert.deepEqual([s.ended, texts(s.contents())], [undefined, ['2', '2', '2']]);
    s.close();
    await nothingOf(t);
  }));

test('I05: fifty subscribes come and go on two replicas, and none is left in mz_subscriptions, nor on either', () =>
  simulated({ workers: 1 }, async (t) => {
    await t.exec('ALTER CLUSTER quickstart SET (REPLICATION FACTOR 2)');
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    for (let i = 0; i < 50; i++) {
      const s = await subscribe(t, 'SUBSCRIBE t WITH (PROGRESS)');
      if (i % 10 === 0)
        assert.equal(
          (await t.query('SELECT * FROM mz_internal.mz_subscriptions')).length,
          1,
          'while it is open',
        );
      if (i % 3 === 0) await caughtUp(t, s);
      if (i % 7 === 0) await t.exec('INSERT INTO t VALUES (1)');
      s.close();
    }
    for (const replica of ['r1', 'r2']) {
      await t.exec(`SET cluster_replica = ${replica}`);
      await nothingOf(t);
    }
    await t.exec("SET cluster_replica = ''; ALTER CLUSTER quickstart RESET (REPLICATION FACTOR)");
  }));

test('a subscribe of a log tells its times and follows it; it ends with its replica', () =>
  simulated({ workers: 2 }, async (t) => {
    const s = await subscribe(
      t,
      `SUBSCRIBE (SELECT export_id, worker_id, event FROM ${LIFECYCLE}) WITH (PROGRESS)`,
    );
    await t.exec('CREATE TABLE t (a int); CREATE INDEX t_a ON t (a)');
    const id = t.id('t_a');
    await t.advance(3000);
    s.read();
    const mine = () => texts(s.contents()).filter((r) => r.startsWith(`${id}|`));
    assert.deepEqual(
      mine(),
      [0, 1].flatMap((w) => ['hydrated', 'installed', 'started'].map((e) => `${id}|${w}|${e}`)),
    );
    assert.ok(
      s.updates.every((u) => u.time % 1000 === 0),
      'times are those of the log',
    );
    await t.exec('DROP TABLE t CASCADE');
    await t.advance(3000);
    s.read();
    assert.deepEqual(mine(), []);
    await t.crash();
    assert.match((await endedAtOnce(t, s)).message, /was lost/);
    await t.connected();
    await nothingOf(t);
  }));

test('with introspection off a subscribe of a log ends at once', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec("CREATE CLUSTER quiet (SIZE '2', INTROSPECTION INTERVAL 0)");
    const session = t.session();
    session.settings.set('cluster', ['quiet']);
    const s = await subscribe(t, `SUBSCRIBE ${LIFECYCLE} WITH (PROGRESS)`, session);
    await t.settle(s.end());
    assert.deepEqual([s.ended, s.contents()], [null, []]);
    await t.exec('DROP CLUSTER quiet');
    await nothingOf(t);
  }));

test('it holds its inputs no further back than it has told', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const s = await subscribe(t, 'SUBSCRIBE t WITH (PROGRESS)');
    await caughtUp(t, s);
    const began = t.env.collections.since(t.id('t'));
    await t.advance(20_000);
    const behind = t.env.oracle.readTime - Number(t.env.collections.since(t.id('t')));
    assert.ok(t.env.collections.since(t.id('t')) > began && behind < 8000, `it is ${behind} ms behind`);
    s.close();
    await nothingOf(t);
  }));

test('cursors: FETCH waits for the first row, or as long as it is told, and the transaction ends them', () =>
  simulated({ workers: 1 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2), (3)');
    const session = t.session();
    const run = (sql: string): Promise<readonly TestRow[]> => t.start(sql, session).result();
    const values = async (sql: string): Promise<unknown[]> => (await run(sql)).map((r) => r['a']).sort();
    await run('BEGIN; DECLARE c CURSOR FOR SUBSCRIBE t');
    assert.equal((await values('FETCH 2 c')).length, 2);
    assert.equal((await values('FETCH ALL c')).length, 1, 'what is there');
    const waiting = t.start('FETCH 10 c', session);
    await t.advance(5000);
    assert.equal(waiting.isDone, false);
    await t.exec('INSERT INTO t VALUES (4)');
    assert.deepEqual(
      (await waiting.result()).map((r) => r['a']),
      [4],
    );
    const before = t.time.nowMs();
    assert.deepEqual(await values("FETCH ALL c WITH (timeout = '2s')"), []);
    assert.ok(t.time.nowMs() - before >= 2000);
    assert.deepEqual(await values("FETCH ALL c WITH (timeout = '0s')"), []);
    const gathering = t.start("FETCH 2 c WITH (timeout = '1 minute')", session);
    await t.exec('INSERT INTO t VALUES (5)');
    await t.advance(1000);
    assert.equal(gathering.isDone, false, 'it has one row of two');
    await t.exec('INSERT INTO t VALUES (6)');
    assert.deepEqual(
      (await gathering.result()).map((r) => r['a']),
      [5, 6],
    );
    const cancelled = t.start('FETCH c', session);
    await t.advance(100);
    cancelled.cancel();
    await assert.rejects(cancelled.result(), (e: SqlError) => e.code === 'query_canceled');
    await run('ROLLBACK; BEGIN; DECLARE d CURSOR FOR SUBSCRIBE t; CLOSE d; COMMIT');
    session.close();
    await nothingOf(t);
  }));

test('statement_timeout ends a subscribe', () =>
  simulated({ workers: 1 }, async (t) => {
    await t.exec("CREATE TABLE t (a int); SET statement_timeout = '3s'");
    assert.match((await t.failure('SUBSCRIBE t')).message, /statement timeout/);
    await t.exec('RESET statement_timeout');
    await nothingOf(t);
  }));

test('I14: a thousand subscribes and eight thousand prepared queries that nobody reads are gone without a trace once they are closed', () =>
  simulated({ workers: 2 }, async (t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const exports = async (): Promise<unknown> =>
      (await t.query('SELECT count(*) AS n FROM mz_introspection.mz_compute_exports_per_worker'))[0]!['n'];
    const dataflows = async (): Promise<unknown> =>
      (await t.query('SELECT count(*) AS n FROM mz_introspection.mz_dataflows_per_worker'))[0]!['n'];
    await t.advance(2500);
    const before = [await exports(), await dataflows()];
    for (let i = 0; i < 1000; i++)
      (await subscribe(t, `SUBSCRIBE (SELECT a + ${i % 100} FROM t) WITH (PROGRESS)`)).close();
    for (let i = 0; i < 8000; i++) {
      const query = `SELECT a + ${i} FROM t`;
      await t.exec(`PREPARE p${i} AS ${i % 2 === 0 ? query : `SUBSCRIBE (${query})`}`);
    }
    await t.exec('DEALLOCATE ALL');
    await nothingOf(t);
    assert.deepEqual([await exports(), await dataflows()], before);
  }));
