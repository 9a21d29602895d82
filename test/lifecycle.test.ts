/**
 * The lifecycle log and its rules, one test a rule, in the simulator: every test runs with a checker that looks at the logs at
 * every timestamp, and ends with the proof that nothing is left. Written permission is withheld from the replica itself, for
 * no statement does so yet.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../packages/tidemark/src/base/ids.ts';
import type { RelationItem } from '../packages/tidemark/src/catalog/catalog-reader.ts';
import { frontierOwner } from '../packages/tidemark/src/compute/frontier-owner.ts';
import type { Command } from '../packages/tidemark/src/compute/protocol.ts';
import type { LifecycleStage } from '../packages/tidemark/src/introspection/lifecycle.ts';
import type { Row } from '../packages/tidemark/src/repr/types.ts';
import type { TestEnvironment } from '../packages/tidemark/src/testkit/simulator.ts';
import type { TestOptions } from '../packages/tidemark/src/testkit/test-options.ts';
import { EMPTY } from '../packages/tidemark/src/time/timestamp.ts';
import { openWatched, type Watched } from './support/watched.ts';

const LIFECYCLE = 'mz_introspection.mz_compute_lifecycle_events_per_worker';
const TIMES = 'mz_introspection.mz_compute_hydration_times_per_worker';

interface Event {
  readonly worker: number;
  readonly stage: LifecycleStage;
  /** Microseconds. */
  readonly at: number;
  readonly reason: string | null;
  readonly details: { readonly as_of?: string };
}

/** The events of an object, as SQL has them, in the order of their instants. */
async function eventsOf(t: TestEnvironment, id: GlobalId): Promise<readonly Event[]> {
  const rows = await t.query(`SELECT * FROM ${LIFECYCLE} WHERE export_id = '${id}'`);
  return rows
    .map(
      (r): Event => ({
        worker: Number(r['worker_id']),
        stage: r['event'] as LifecycleStage,
        at: Number(r['occurred_at']),
        reason: r['reason'] as string | null,
        details: JSON.parse(String(r['details'])) as Event['details'],
      }),
    )
    .sort((a, b) => a.at - b.at || a.worker - b.worker || a.stage.localeCompare(b.stage));
}

const stagesOf = (events: readonly Event[]): string[] => events.map((e) => `${e.worker} ${e.stage}`).sort();
const at = (events: readonly Event[], stage: LifecycleStage): number[] =>
  events.filter((e) => e.stage === stage).map((e) => e.at);

/** Rows of the log as the stream of updates has them now, ahead of what a query may read. */
const seen = (w: Watched, id: GlobalId): readonly Row[] =>
  w.checker.contents('mz_compute_lifecycle_events_per_worker').filter((r) => r[0] === id);

/** What the replica reported, log or no log: by worker and stage. */
function reported(t: TestEnvironment, id: GlobalId): string[] {
  const { lives } = t.env.instance(t.env.catalog.cluster('quickstart')!.id);
  return [...lives.events()]
    .filter((e) => e.objectId === id)
    .map((e) => `${e.worker} ${e.stage}`)
    .sort();
}

/** Creates something while the replica stands still: whatever is held up before it goes on is held up from the start. */
async function createHeld(
  t: TestEnvironment,
  sql: string,
  hold: () => readonly (() => void)[],
): Promise<() => void> {
  const stalls = Array.from({ length: t.replicaOf().workers }, (_, i) => t.stallWorker(i));
  await t.exec(sql);
  const holds = hold();
  for (const release of stalls) release();
  return () => {
    for (const release of holds) release();
  };
}

/** Creates views that may not write. */
function readOnly(c: Command): Command {
  return c.kind === 'createDataflow' ? { ...c, dataflow: { ...c.dataflow, mayWrite: false } } : c;
}

async function watched(
  options: TestOptions,
  body: (w: Watched, t: TestEnvironment) => Promise<void>,
): Promise<void> {
  const w = await openWatched(options);
  await body(w, w.t);
  await w.finish();
}

test('over SQL on two workers: an index three events a worker, a view those and written once', () =>
  watched({ workers: 2 }, async (w, t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2), (3)');
    await t.exec(
      'CREATE INDEX i ON t (a); CREATE MATERIALIZED VIEW v AS SELECT a, count(*) AS n FROM t GROUP BY a',
    );
    const [index, view] = [t.id('i'), t.id('v')];
    await t.advance(2000);
    const three = ['0 hydrated', '0 installed', '0 started', '1 hydrated', '1 installed', '1 started'];
    assert.deepEqual(stagesOf(await eventsOf(t, index)), three);
    const events = await eventsOf(t, view);
    assert.deepEqual(stagesOf(events), [...three, `${frontierOwner(view, 2)} written`].sort());
    for (const e of events) {
      assert.match(e.details.as_of!, /^\d+$/);
      assert.ok(Math.abs(e.at / 1000 - t.time.nowMs()) < 3_600_000, 'within the last hour');
    }
    assert.deepEqual(
      events.map((e) => e.reason).filter((r) => r !== null),
      ['commanded', 'commanded', 'inputs_available', 'inputs_available'],
    );
    await t.exec('DROP MATERIALIZED VIEW v; DROP INDEX i');
    await t.advance(2000);
    for (const log of ['exports', 'frontiers', 'import_frontiers', 'hydration_times', 'lifecycle_events']) {
      const sql = `SELECT * FROM mz_introspection.mz_compute_${log}_per_worker WHERE export_id IN ('${index}', '${view}')`;
      assert.deepEqual(await t.query(sql), [], log);
    }
    assert.equal(w.checker.stagesSeen.size, 4);
  }));

test('what the arrangement answers is what went into it', () =>
  watched({ workers: 2 }, async (w, t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(2000);
    const rows = await t.query(`SELECT * FROM ${LIFECYCLE}`);
    const expected = w.checker.contents('mz_compute_lifecycle_events_per_worker');
    const text = (r: readonly unknown[]): string => r.map(String).join(' ');
    assert.ok(expected.length > 6);
    assert.deepEqual(rows.map((r) => text(Object.values(r))).sort(), expected.map(text).sort());
  }));

test("R1: a row is visible from the next multiple of the interval on, its instant is the event's own", () =>
  watched({}, async (w, t) => {
    await t.exec('CREATE TABLE t (a int)');
    const interval = 1000;
    await t.advance(interval - (t.time.nowMs() % interval) + 300);
    await t.exec('CREATE INDEX i ON t (a)');
    const created = t.time.nowMs();
    const boundary = Math.ceil(created / interval) * interval;
    await t.advance(boundary - created - 5);
    assert.deepEqual(seen(w, t.id('i')), [], 'not before the interval is over');
    await t.advance(10);
    const rows = seen(w, t.id('i'));
    assert.equal(rows.length, 3, 'at the next multiple');
    for (const r of rows) assert.ok(Math.abs(Number(r[3]) / 1000 - created) < 10, 'stamped when it happened');
  }));

test('R2: steps of the wall clock move no instant', () =>
  watched({ workers: 2 }, async (_, t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    const before = t.time.nowMs() * 1000;
    t.time.step(-3_600_000);
    await t.exec('CREATE INDEX i ON t (a)');
    await t.advance(2000);
    t.time.step(3_600_000);
    await t.exec('CREATE INDEX j ON t (a)');
    await t.advance(2000);
    for (const id of [t.id('i'), t.id('j')]) {
      const events = await eventsOf(t, id);
      assert.equal(events.length, 6);
      for (const e of events)
        assert.ok(e.at >= before - 1000 && e.at < before + 5e6, 'on the anchor of the worker');
    }
  }));

test('R2: workers whose clocks differ by ten seconds lose no row, and their rollup stands', () =>
  watched({ workers: 2, skewMs: [5000, -5000] }, async (_, t) => {
    await t.exec('CREATE TABLE t (a int); CREATE MATERIALIZED VIEW v AS SELECT sum(a) AS s FROM t');
    const id = t.id('v');
    await t.advance(12_000);
    const events = await eventsOf(t, id);
    assert.equal(events.length, 7);
    const [first, last] = [Math.min(...at(events, 'hydrated')), Math.max(...at(events, 'hydrated'))];
    assert.ok(last - first > 9_900_000, 'the clocks do differ');
    const { lives } = t.env.instance(t.env.catalog.cluster('quickstart')!.id);
    const rollup = lives.rollup(t.replicaOf().id, id, 2);
    assert.equal(rollup.installedAt, Math.min(...at(events, 'installed')));
    assert.equal(rollup.hydratedAt, last);
    assert.ok(rollup.writtenAt! >= rollup.hydratedAt, 'durable is never before computed');
  }));

test('R4: hydrated reads the probe before the sink, also while the sink is stuck', () =>
  watched({ workers: 2 }, async (_, t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (0)');
    const release = await createHeld(t, 'CREATE MATERIALIZED VIEW v AS SELECT a FROM t', () => [
      t.holdAppends('v'),
    ]);
    const id = t.id('v');
    await t.advance(3000);
    const three = ['0 hydrated', '0 installed', '0 started', '1 hydrated', '1 installed', '1 started'];
    assert.deepEqual(stagesOf(await eventsOf(t, id)), three);
    const [times] = await t.query(
      `SELECT * FROM ${TIMES} WHERE export_id = '${id}' AND worker_id = ${frontierOwner(id, 2)}`,
    );
    assert.equal(times!['time_ns'], null, 'the older relation waits for the writer on its owner');
    release();
    await t.advance(2500);
    const events = await eventsOf(t, id);
    assert.ok(
      at(events, 'written')[0]! - Math.max(...at(events, 'hydrated')) > 2_000_000,
      'as long as it was held',
    );
  }));

test('R4: an error stream that is behind keeps an object from being hydrated', () =>
  watched({}, async (w, t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (0), (1)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT 1 / a AS q FROM t; CREATE INDEX i ON v (q)');
    await t.advance(2000);
    assert.equal((await eventsOf(t, t.id('v'))).length, 4, 'errors are data: the view is complete');
    assert.equal((await eventsOf(t, t.id('i'))).length, 3);
    assert.deepEqual(w.complaints, []);
  }));

test('R5, R6: written only when every worker has computed, though shard and owner are past the as-of', () =>
  watched({ workers: 4 }, async (_, t) => {
    await t.exec('ALTER SYSTEM SET compute_hydration_concurrency = 8');
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2), (3)');
    const ids: GlobalId[] = [];
    for (let i = 0; i < 8; i++) {
      await t.exec(`CREATE MATERIALIZED VIEW v${i} AS SELECT a FROM t`);
      ids.push(t.id(`v${i}`));
    }
    const owner = (id: GlobalId): number => frontierOwner(id, 4);
    assert.ok(new Set(ids.map(owner)).size > 1, 'more than one worker is elected');
    await t.advance(2000);
    // Every shard holds data now. The rows of the table are one part, and whoever reads it waits.
    const release = t.holdReads('t');
    await t.crash();
    await t.advance(5000);
    const ahead = ids.filter((id) => reported(t, id).includes(`${owner(id)} hydrated`));
    assert.ok(ahead.length > 0, 'some owners have computed their part');
    for (const id of ids) {
      const events = reported(t, id);
      assert.equal(events.filter((e) => e.endsWith('hydrated')).length, 3, 'one worker has not');
      assert.ok(!events.some((e) => e.endsWith('written')), 'and no owner takes the others for done');
    }
    release();
    await t.advance(3000);
    for (const id of ids) {
      const events = await eventsOf(t, id);
      assert.equal(events.length, 13);
      assert.ok(at(events, 'written')[0]! >= Math.max(...at(events, 'hydrated')));
    }
  }));

test('R5, R7, R8: without permission a view is blocked once computed, and written only after permission is applied', () =>
  watched({ workers: 2, onCommand: readOnly }, async (w, t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2)');
    await t.exec('CREATE MATERIALIZED VIEW v AS SELECT a FROM t');
    const id = t.id('v');
    const owner = frontierOwner(id, 2);
    // Another replica writes it: the shard is past the as-of, and this one still has written nothing.
    const shard = t.env.collections.shard(id);
    const appended = shard.compareAndAppend(
      { generation: 1, exportId: id },
      { parts: [], expectedUpper: 0, newUpper: Math.floor(t.time.nowMs()) + 60_000 },
    );
    assert.equal((await t.settle(appended)).kind, 'ok');
    await t.advance(3000);
    const blocked = await eventsOf(t, id);
    assert.deepEqual(
      blocked.filter((e) => e.stage.startsWith('w')).map((e) => [e.worker, e.stage, e.reason]),
      [[owner, 'write_blocked', 'read_only']],
    );
    assert.ok(
      at(blocked, 'write_blocked')[0]! >= Math.max(...at(blocked, 'hydrated')),
      'entered once computed',
    );
    const [times] = await t.query(
      `SELECT * FROM ${TIMES} WHERE export_id = '${id}' AND worker_id = ${owner}`,
    );
    assert.notEqual(times!['time_ns'], null, 'while read-only the older relation leaves the writer out');
    const permitted = t.time.nowMs() * 1000;
    t.sendTo('quickstart', { kind: 'allowWrites', id });
    t.sendTo('quickstart', { kind: 'allowWrites', id });
    await t.advance(2000);
    const events = await eventsOf(t, id);
    assert.equal(events.length, 9, 'each stage once, though permission came twice');
    const [unblocked, written] = [at(events, 'write_unblocked')[0]!, at(events, 'written')[0]!];
    assert.ok(unblocked - permitted < 1000, 'stamped when it was applied');
    assert.ok(unblocked <= written);
    assert.ok(w.checker.stagesSeen.has('write_unblocked'));
  }));

test('R8: a write that is slow after the permission stays inside the write interval', () =>
  watched({ workers: 1, onCommand: readOnly }, async (_, t) => {
    await t.exec('CREATE TABLE t (a int)');
    const release = await createHeld(t, 'CREATE MATERIALIZED VIEW v AS SELECT a FROM t', () => [
      t.holdAppends('v'),
    ]);
    const id = t.id('v');
    await t.advance(2000);
    t.sendTo('quickstart', { kind: 'allowWrites', id });
    await t.advance(3000);
    release();
    await t.advance(2000);
    const events = await eventsOf(t, id);
    assert.ok(at(events, 'written')[0]! - at(events, 'write_unblocked')[0]! > 2_900_000);
  }));

test('R6: only the owner has a write frontier that is not empty', () =>
  watched({ workers: 4 }, async (_, t) => {
    await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1)');
    for (let i = 0; i < 4; i++) await t.exec(`CREATE MATERIALIZED VIEW v${i} AS SELECT a FROM t`);
    await t.advance(2000);
    const rows = await t.query(
      'SELECT export_id, worker_id FROM mz_introspection.mz_compute_frontiers_per_worker',
    );
    const views = rows.filter((r) => String(r['export_id']).startsWith('u'));
    assert.equal(views.length, 4);
    for (const r of views) assert.equal(Number(r['worker_id']), frontierOwner(String(r['export_id']), 4));
  }));

test('R10: an index over a hydrated index is done while still suspended, and its start is that of its installation', () =>
  watched(
    { workers: 2, onCommand: (c) => (c.kind === 'schedule' && c.id === 'u3' ? null : c) },
    async (_, t) => {
      await t.exec('CREATE TABLE t (a int); INSERT INTO t VALUES (1), (2); CREATE INDEX i ON t (a)');
      await t.advance(2000);
      await t.exec('CREATE INDEX j ON t (a)');
      const id = t.id('j');
      assert.equal(id, 'u3', 'the one whose Schedule never comes');
      await t.advance(2000);
      const events = await eventsOf(t, id);
      assert.deepEqual(at(events, 'started'), at(events, 'installed'), 'to the microsecond');
      assert.equal(events.length, 6);
      for (const r of await t.query(`SELECT * FROM ${TIMES} WHERE export_id = '${id}'`)) {
        assert.equal(r['started_at'], r['installed_at']);
        assert.ok((r['hydrated_at'] as bigint) >= (r['started_at'] as bigint));
      }
      // R11: a Schedule that comes after the back-fill logs nothing.
      t.sendTo('quickstart', { kind: 'schedule', id, waitedOn: 'hydration_limit' });
      await t.advance(2000);
      assert.deepEqual(await eventsOf(t, id), events);
    },
  ));

test('R10: constants and log collections wait for nothing', () =>
  watched({ workers: 2 }, async (_, t) => {
    await t.exec(
      'CREATE MATERIALIZED VIEW one AS SELECT 1 AS a; CREATE VIEW two AS SELECT 2 AS a; CREATE INDEX i ON two (a)',
    );
    await t.advance(2000);
    for (const [name, n] of [
      ['one', 7],
      ['i', 6],
    ] as const) {
      const events = await eventsOf(t, t.id(name));
      assert.equal(events.length, n);
      for (const [i, started] of at(events, 'started').entries())
        assert.ok(started - at(events, 'installed')[i]! < 1000, 'started with its installation');
    }
    for (const { id } of t.env.catalog.logging(t.env.catalog.cluster('quickstart')!.id).indexes) {
      const events = await eventsOf(t, id);
      assert.equal(events.length, 6);
      assert.ok(
        Math.max(...events.map((e) => e.at)) - Math.min(...events.map((e) => e.at)) < 10_000,
        'at once',
      );
    }
  }));

test('R11: schedules that are repeated, and come for what is hydrated, log nothing', () =>
  watched({}, async (_, t) => {
    await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
    await t.advance(2000);
    const before = await eventsOf(t, t.id('i'));
    for (let i = 0; i < 3; i++)
      t.sendTo('quickstart', { kind: 'schedule', id: t.id('i'), waitedOn: 'inputs_available' });
    await t.advance(2000);
    assert.deepEqual(await eventsOf(t, t.id('i')), before);
  }));

test('the reason of started is what the schedule waited on', () =>
  watched(
    { onCommand: (c) => (c.kind === 'schedule' ? { ...c, waitedOn: 'hydration_limit' } : c) },
    async (_, t) => {
      await t.exec('CREATE TABLE t (a int); CREATE INDEX i ON t (a)');
      await t.advance(2000);
      const [started] = (await eventsOf(t, t.id('i'))).filter((e) => e.stage === 'started');
      assert.equal(started!.reason, 'hydration_limit');
    },
  ));

/** One dataflow with two indexes over a table, as the protocol allows and no statement makes yet. */
function twoIndexes(t: TestEnvironment): readonly [GlobalId, GlobalId] {
  const ids = ['u901', 'u902'] as unknown as readonly [GlobalId, GlobalId];
  const table = t.env.catalog.item(t.id('t')) as RelationItem;
  const { collections } = t.env;
  const asOf = Number(collections.upper(table.id)) - 1;
  t.env.instance(t.env.catalog.cluster('quickstart')!.id).createDataflow({
    name: 'two indexes',
    shardImports: [{ id: table.id, shard: collections.shardOf(table.id), desc: table.desc }],
    indexImports: [],
    objects: [],
    indexExports: ids.map((id, key) => ({ id, onId: table.id, key: [key], desc: table.desc })),
    sinkExports: [],
    asOf,
    until: EMPTY,
    mayWrite: true,
  });
  return ids;
}

const withoutSecondSchedule = (c: Command): Command | null =>
  c.kind === 'schedule' && c.id === 'u902' ? null : c;

test("R14: a dataflow of two exports starts when the last of them is scheduled, and the start is both's", () =>
  watched({ onCommand: withoutSecondSchedule }, async (_, t) => {
    await t.exec('CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2)');
    const [first, second] = twoIndexes(t);
    await t.advance(2000);
    for (const id of [first, second]) assert.deepEqual(stagesOf(await eventsOf(t, id)), ['0 installed']);
    t.sendTo('quickstart', { kind: 'schedule', id: second, waitedOn: 'hydration_limit' });
    await t.advance(2000);
    const [a, b] = [await eventsOf(t, first), await eventsOf(t, second)];
    assert.equal(a.length, 3);
    assert.equal(b.length, 3);
    assert.ok(Math.abs(at(a, 'started')[0]! - at(b, 'started')[0]!) < 100);
    assert.equal(
      a.find((e) => e.stage === 'started')!.reason,
      'hydration_limit',
      'what the last one waited on',
    );
    t.env.instance(t.env.catalog.cluster('quickstart')!.id).drop([first, second]);
  }));

test('R14: dropping the export that was not scheduled starts the others, and logs nothing for itself', () =>
  watched({ onCommand: withoutSecondSchedule }, async (w, t) => {
    await t.exec('CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2)');
    const [first, second] = twoIndexes(t);
    const instance = t.env.instance(t.env.catalog.cluster('quickstart')!.id);
    await t.advance(2000);
    instance.drop([second]);
    await t.advance(2000);
    assert.equal((await eventsOf(t, first)).length, 3);
    assert.ok(!w.checker.exports.has(second));
    instance.drop([first]);
  }));

test('R14: with its last export dropped a dataflow never starts', () =>
  watched({ onCommand: (c) => (c.kind === 'schedule' && /^u90/.test(c.id) ? null : c) }, async (w, t) => {
    await t.exec('CREATE TABLE t (a int, b int); INSERT INTO t VALUES (1, 2)');
    const ids = twoIndexes(t);
    await t.advance(1000);
    t.env.instance(t.env.catalog.cluster('quickstart')!.id).drop(ids);
    await t.advance(2000);
    for (const id of ids) assert.ok(!w.t.trace.some((l) => l.includes(`${id} started`)));
  }));
