/** A cluster of several replicas: whose frontier counts for what, where reads go, and what fails on one of them alone. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplicaId } from '../base/ids.ts';
import { EMPTY } from '../time/timestamp.ts';
import { answer, dataflow, FakeReplica, type Fixture, gid, newInstance, PEEK } from './instance.fixture.ts';

const R1 = 'r1' as ReplicaId;
const R2 = 'r2' as ReplicaId;

interface Two extends Fixture {
  readonly r1: FakeReplica;
  readonly r2: FakeReplica;
}

/** `t1` is complete up to 200 s, and `i1` is an index on it. */
function two(): Two {
  const f = newInstance();
  const [r1, r2] = [new FakeReplica(), new FakeReplica()];
  f.instance.addReplica(R1, r1);
  f.instance.addReplica(R2, r2);
  f.shards.move('t1', 200_000);
  f.instance.createDataflow(dataflow('i1', ['t1']));
  r1.said();
  r2.said();
  return { ...f, r1, r2 };
}

const started = (r: FakeReplica): string[] => r.said().filter((c) => c.startsWith('peek'));

test('served is what the furthest replica has; forgotten only what the slowest one does not need', () => {
  const { instance, shards, r1, r2 } = two();
  r1.report('i1', 90_000);
  instance.maintain();
  assert.equal(instance.writeFrontier(gid('i1')), 90_000);
  assert.equal(instance.since(gid('i1')), 10, 'the other replica has said nothing yet');
  r2.report('i1', 50_000);
  instance.maintain();
  assert.equal(instance.since(gid('i1')), 49_000);
  assert.equal(shards.held('t1'), 49_000);
});

test('what a slow replica has not read stays readable, though another one has written it', () => {
  const { instance, shards, r1, r2 } = two();
  instance.drop([gid('i1')]);
  shards.move('u1', 0);
  instance.createDataflow(dataflow('u1', ['t1'], { view: true }));
  r1.report('u1', 60_000);
  shards.move('u1', 60_000);
  instance.maintain();
  assert.equal(instance.since(gid('u1')), 59_999);
  assert.equal(shards.held('t1'), 10);
  r2.report('u1', 20_000);
  instance.maintain();
  assert.equal(shards.held('t1'), 19_999);
});

test('a lost replica keeps nothing from compacting, and starts over from the then since', () => {
  const { instance, shards, r1, r2 } = two();
  r1.report('i1', 90_000);
  r2.report('i1', 20_000);
  r2.onLost('crashed');
  instance.maintain();
  assert.equal(instance.since(gid('i1')), 89_000);
  assert.equal(shards.held('t1'), 89_000);
  const again = new FakeReplica();
  instance.addReplica(R2, again);
  assert.ok(again.said().includes('create i1 as of 89000'));
  r1.report('i1', 99_000);
  instance.maintain();
  assert.equal(instance.since(gid('i1')), 89_000, 'and holds it there until it is hydrated');
});

test('a replica that joins is told everything at once, and starts what its own indexes allow', () => {
  const { instance, r1 } = two();
  instance.createDataflow(dataflow('i2', ['i1']));
  r1.report('i1', 90_000);
  assert.ok(r1.said().includes('schedule i2'));
  const joined = new FakeReplica();
  instance.addReplica('r3' as ReplicaId, joined);
  assert.deepEqual(joined.said(), [
    'hello',
    'createInstance',
    'create i1 as of 10',
    'create i2 as of 10',
    'schedule i1',
    'initializationComplete',
  ]);
  joined.report('i1', 11);
  assert.deepEqual(joined.said(), ['schedule i2']);
});

test('the limit is of each replica: one that is full does not keep the other waiting', () => {
  const { instance, limit, r1, r2 } = two();
  limit.slots = 1;
  instance.createDataflow(dataflow('i2', ['t1']));
  r1.said();
  r2.said();
  r1.report('i1', 50);
  assert.deepEqual([r1.said(), r2.said()], [['schedule i2'], []]);
  assert.equal(instance.queued(R1, gid('i2')), undefined);
  assert.equal(instance.queued(R2, gid('i2'))?.longestHolder, 'i1');
  limit.slots = 2;
  instance.hydrationConcurrencyChanged();
  assert.deepEqual(r2.said(), ['schedule i2']);
});

test('a read goes to the replica that has the time, and nowhere else', async () => {
  const { instance, r1, r2 } = two();
  r2.report('i1', 31);
  const read = instance.peek(PEEK);
  assert.deepEqual([started(r1), started(r2)], [[], ['peek i1 at 30']]);
  answer(r2, 'p2', 0);
  assert.equal((await read).length, 0);
});

for (const [name, lose] of [
  ['is lost', (f: Two) => f.r1.onLost('crashed')],
  ['is dropped', (f: Two) => void f.instance.removeReplica(R1)],
  ['cannot maintain it', (f: Two) => f.r1.fail('i1', 'disk gone')],
] as const) {
  test(`a read whose replica ${name} goes to the other one`, async () => {
    const f = two();
    f.r1.report('i1', 31);
    const read = f.instance.peek(PEEK);
    assert.deepEqual(started(f.r1), ['peek i1 at 30']);
    lose(f);
    assert.deepEqual(started(f.r2), ['peek i1 at 30']);
    answer(f.r1, 'p2', 7);
    answer(f.r2, 'p3', 0);
    assert.equal((await read).length, 0, 'what the first one says now is not the answer');
    assert.equal(f.instance.live.peeks, 0);
  });

  test(`a read that names its replica ends when that ${name}`, async () => {
    const f = two();
    const read = f.instance.peek({ ...PEEK, replicaId: R1 });
    read.catch(() => undefined);
    lose(f);
    await assert.rejects(read, /was lost|was dropped|disk gone/);
    assert.deepEqual(started(f.r2), []);
    assert.equal(f.instance.live.peeks, 0);
  });
}

test('a dataflow of one replica is on no other, and goes without a trace', () => {
  const { instance, r1, r2, shards } = two();
  instance.createDataflow(dataflow('t9', ['t1']), R2);
  assert.deepEqual([r1.said(), r2.said()], [[], ['create t9 as of 10', 'schedule t9']]);
  instance.drop([gid('t9'), gid('i1')]);
  assert.ok(!r1.said().includes('drop t9'));
  assert.deepEqual(instance.live, { collections: 0, peeks: 0, subscribes: 0, history: 0 });
  assert.equal(shards.held('t1'), EMPTY);
});

// ---- Failures

test('what failed on one replica is built again there, with what imports it; nobody else notices', () => {
  const { instance, timers, r1, r2, failed } = two();
  instance.createDataflow(dataflow('i2', ['i1']));
  for (const id of ['i1', 'i2']) r1.stage(id, 'installed');
  r1.report('i1', 50);
  r2.report('i1', 50);
  r1.said();
  r2.said();
  r1.fail('i1', 'disk gone');
  assert.deepEqual(failed, ['i1']);
  assert.equal(instance.failure(gid('i1')), undefined, 'the other replica goes on');
  assert.equal(instance.episodeFailure(R1, gid('i1'))?.error.message, 'disk gone');
  timers.ring();
  assert.deepEqual(r1.said(), [
    'drop i2',
    'drop i1',
    'create i1 as of 10',
    'create i2 as of 10',
    'schedule i1',
  ]);
  assert.deepEqual(r2.said(), []);
  r1.frontiers('i1', EMPTY);
  assert.equal(instance.writeFrontier(gid('i1')), 50, 'the last words of the earlier episode');
  r1.stage('i1', 'installed');
  r1.stage('i2', 'installed');
  r1.report('i1', 60);
  assert.equal(instance.writeFrontier(gid('i1')), 60);
  assert.deepEqual(r1.said(), ['schedule i2']);
  assert.equal(instance.episodeFailure(R1, gid('i1')), undefined, 'it has healed');
  assert.deepEqual(timers.delays, []);
});

test('the pause before it is built again doubles up to half a minute, and starts over once it is hydrated', () => {
  const { timers, r1 } = two();
  const pauses: number[] = [];
  for (let i = 0; i < 9; i++) {
    r1.stage('i1', 'installed');
    r1.fail('i1', 'disk gone');
    pauses.push(...timers.delays);
    timers.ring();
  }
  assert.deepEqual(pauses, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  r1.stage('i1', 'installed');
  r1.report('i1', 50);
  r1.fail('i1', 'disk gone');
  assert.deepEqual(timers.delays, [500]);
});

test('an episode that failed on one worker is over, though the other one is hydrated later', () => {
  const { instance, timers, shards } = newInstance();
  const r = new FakeReplica(2);
  instance.addReplica(R1, r);
  shards.move('t1', 50);
  instance.createDataflow(dataflow('i1', ['t1']));
  const hydrated = {
    kind: 'lifecycle',
    id: gid('i1'),
    stage: 'hydrated',
    occurredAt: 1,
    reason: null,
    asOf: 10,
    life: 0,
  } as const;
  r.stage('i1', 'installed');
  r.onResponse({ ...hydrated, worker: 0 });
  r.onResponse({ kind: 'failed', worker: 0, id: gid('i1'), code: 'io_error', message: 'disk gone' });
  r.onResponse({ ...hydrated, worker: 1 });
  assert.deepEqual(timers.delays, [500], 'it is still built again');
  assert.ok(instance.failure(gid('i1')));
});

test('what failed everywhere is told to its readers, also through what is built on it, until it is built again', async () => {
  const { instance, timers, r1, r2 } = two();
  instance.createDataflow(dataflow('i2', ['i1']));
  const read = instance.peek({ ...PEEK, target: { ...PEEK.target, id: gid('i2') } });
  read.catch(() => undefined);
  r1.fail('i1', 'disk gone');
  assert.equal(instance.live.peeks, 1);
  r2.fail('i1', 'disk gone too');
  await assert.rejects(read, /disk gone/);
  await assert.rejects(instance.peek(PEEK), /disk gone/);
  assert.match(instance.failure(gid('i2'))!.message, /disk gone/);
  timers.ring();
  assert.equal(instance.failure(gid('i2')), undefined);
});

test('a failure is over with its object, and with its replica', async () => {
  const { instance, timers, r1, r2 } = two();
  r1.fail('i1', 'disk gone');
  r2.fail('i1', 'disk gone');
  await instance.removeReplica(R1);
  assert.equal(timers.delays.length, 1);
  instance.drop([gid('i1')]);
  assert.deepEqual(timers.delays, []);
  assert.equal(instance.episodeFailure(R2, gid('i1')), undefined);
});
