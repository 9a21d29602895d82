import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplicaId } from '../base/ids.ts';
import { EMPTY } from '../time/timestamp.ts';
import { COMPACTION_LAG_MS } from './compaction.ts';
import { dataflow, FakeReplica, type Fixture, gid, newInstance, PEEK } from './instance.fixture.ts';

const R1 = 'r1' as ReplicaId;

function withReplica(workers = 1): Fixture & { readonly replica: FakeReplica } {
  const f = newInstance();
  const replica = new FakeReplica(workers);
  f.instance.addReplica(R1, replica);
  replica.said();
  return { ...f, replica };
}

test('schedules leave in dependency order: inputs past the as-of, and scheduled themselves', () => {
  const { instance, shards, replica } = withReplica();
  shards.move('t1', 5);
  instance.createDataflow(dataflow('i1', ['t1']));
  instance.createDataflow(dataflow('i2', ['i1']));
  instance.createDataflow(dataflow('u3', ['i2'], { view: true }));
  assert.deepEqual(replica.said(), ['create i1 as of 10', 'create i2 as of 10', 'create u3 as of 10']);
  const late = (id: string): readonly string[] => {
    const { asOf, inputs } = instance.reading(gid(id), instance.replicas[0]!.id)!;
    return inputs.filter((i) => i.frontier <= asOf).map((i) => i.id);
  };
  assert.deepEqual([late('i1'), late('u3')], [['t1'], ['i2']]);
  shards.move('t1', 10);
  assert.deepEqual(replica.said(), [], 'at the as-of is not past it');
  shards.move('t1', 11);
  assert.deepEqual(replica.said(), ['schedule i1']);
  replica.report('i2', 20);
  assert.deepEqual(replica.said(), [], 'i1 has not reported: its importer waits, however far that is');
  replica.report('i1', 11);
  assert.deepEqual(replica.said(), ['schedule i2', 'schedule u3'], 'all that is ready at once, in order');
  assert.deepEqual(late('u3'), []);
});

test('a frontier counts when every worker has reported it', () => {
  const { instance, shards, replica } = withReplica(2);
  shards.move('t1', 50);
  instance.createDataflow(dataflow('i1', ['t1']));
  instance.createDataflow(dataflow('i2', ['i1']));
  replica.said();
  replica.stage('i1', 'installed');
  replica.onResponse({ kind: 'frontiers', worker: 0, id: gid('i1'), write: 40 });
  assert.equal(instance.writeFrontier(gid('i1')), 0);
  assert.deepEqual(replica.said(), []);
  replica.onResponse({ kind: 'frontiers', worker: 1, id: gid('i1'), write: EMPTY });
  assert.equal(instance.writeFrontier(gid('i1')), 40, 'a worker that does not own it says empty');
  replica.stage('i1', 'hydrated');
  assert.deepEqual(replica.said(), ['schedule i2']);
});

test('transients start at once', () => {
  const { instance, shards, replica } = withReplica();
  shards.move('t1', 5);
  instance.createDataflow(dataflow('t9', ['t1']));
  assert.deepEqual(replica.said(), ['create t9 as of 10', 'schedule t9']);
});

test('an index compacts a second behind the lesser of its upper and now, in steps, never past its readers', () => {
  const { instance, shards, replica, clock } = withReplica();
  shards.move('t1', 200_000);
  instance.createDataflow(dataflow('i1', ['t1']));
  instance.createDataflow(dataflow('i2', ['i1'], { asOf: 50_000 }));
  replica.said();
  replica.report('i1', 90_000);
  replica.said();
  instance.maintain();
  assert.deepEqual(replica.said(), ['compact i1 to 50000'], 'its importer holds it');
  assert.equal(shards.held('t1'), 50_000, 'and its own hold follows');
  const peek = instance.hold(gid('i1'), 60_000);
  replica.report('i2', EMPTY);
  replica.said();
  instance.maintain();
  clock.ms = 95_000;
  instance.maintain();
  assert.ok(instance.since(gid('i1')) <= 60_000);
  instance.drop([gid('i2')]);
  peek.release();
  instance.maintain();
  assert.equal(instance.since(gid('i1')), 90_000 - COMPACTION_LAG_MS);
  assert.throws(() => instance.hold(gid('i1'), 10), /not before its since/);
});

test('holds that come and go, as reads do, do not tell the workers of an index each millisecond to compact', () => {
  const { instance, shards, replica, clock } = withReplica();
  shards.move('t1', 200_000);
  instance.createDataflow(dataflow('i1', ['t1']));
  replica.report('i1', 200_000);
  instance.maintain();
  replica.said();
  for (let i = 0; i < 400; i++) {
    clock.ms++;
    instance.hold(gid('i1')).release();
  }
  assert.deepEqual(replica.said(), []);
  clock.ms += 200;
  instance.maintain();
  assert.equal(replica.said().length, 1);
});

test('a view keeps its inputs one step below what is durable, and lets them go when it is sealed', () => {
  const { instance, shards, replica } = withReplica();
  shards.move('t1', 50);
  shards.move('u1', 0);
  instance.createDataflow(dataflow('u1', ['t1'], { view: true }));
  instance.maintain();
  assert.equal(shards.held('t1'), 10);
  shards.move('u1', 41);
  instance.maintain();
  assert.equal(shards.held('t1'), 10, 'another wrote it: what this replica has read it has not said');
  replica.report('u1', 45);
  instance.maintain();
  assert.equal(shards.held('t1'), 40);
  shards.move('u1', EMPTY);
  instance.maintain();
  assert.equal(shards.held('t1'), EMPTY);
});

test('a dropped index lives as long as somebody imports it; its life is forgotten at once', () => {
  const { instance, shards, replica } = withReplica();
  shards.move('t1', 50);
  instance.createDataflow(dataflow('i1', ['t1']));
  instance.createDataflow(dataflow('i2', ['i1']));
  replica.said();
  const event = {
    kind: 'lifecycle',
    worker: 0,
    id: gid('i1'),
    occurredAt: 1,
    reason: null,
    asOf: 10,
    life: 0,
  } as const;
  replica.onResponse({ ...event, stage: 'installed' });
  instance.drop([gid('i1')]);
  replica.onResponse({ ...event, stage: 'hydrated' });
  assert.deepEqual([...instance.lives.events()], []);
  assert.ok(!replica.said().includes('drop i1'));
  replica.report('i1', 20);
  assert.deepEqual(replica.said(), ['schedule i2'], 'its importer still gets started');
  instance.drop([gid('i2')]);
  assert.deepEqual(replica.said().sort(), ['drop i1', 'drop i2']);
  assert.deepEqual(instance.live, { collections: 0, peeks: 0, subscribes: 0, history: 0 });
  assert.equal(shards.held('t1'), EMPTY);
});

/** A read of an index that is not there yet. */
function peeking(f: Fixture & { replica: FakeReplica }, signal?: AbortSignal): Promise<unknown> {
  f.shards.move('t1', 50);
  f.instance.createDataflow(dataflow('i1', ['t1']));
  const answer = f.instance.peek({ ...PEEK, ...(signal !== undefined && { signal }) });
  answer.catch(() => undefined);
  f.replica.said();
  return answer;
}

for (const [name, end, message] of [
  ['its target is dropped', (f: Fixture) => f.instance.drop([gid('i1')]), /was dropped/],
  ['its replica is dropped', (f: Fixture) => f.instance.removeReplica(R1), /was dropped/],
  [
    'its dataflow fails',
    (f: Fixture & { replica: FakeReplica }) => f.replica.fail('i1', 'disk gone'),
    /disk gone/,
  ],
  [
    'its replica is lost',
    (f: Fixture & { replica: FakeReplica }) => f.replica.onLost('crashed'),
    /was lost: crashed/,
  ],
] as const)
  test(`a peek ends with an error when ${name}, and holds nothing`, async () => {
    const f = withReplica();
    const answer = peeking(f);
    await end(f);
    await assert.rejects(answer, message);
    f.instance.drop([gid('i1')]);
    assert.deepEqual(f.instance.live, { collections: 0, peeks: 0, subscribes: 0, history: 0 });
    assert.equal(f.shards.held('t1'), EMPTY);
  });

test('a cancelled peek answers once, and tells the replica', async () => {
  const f = withReplica();
  const abort = new AbortController();
  const answer = peeking(f, abort.signal);
  abort.abort();
  await assert.rejects(answer, /canceling statement/);
  assert.deepEqual(f.replica.said(), ['cancel p2']);
  f.replica.onResponse({ kind: 'peekResponse', worker: 0, uuid: 'p2', result: { kind: 'canceled' } });
  assert.equal(f.instance.live.peeks, 0);
});

test('a lost replica comes back to everything that lives; late words of its earlier life are ignored', () => {
  const { instance, shards, replica, lost } = withReplica();
  shards.move('t1', 50);
  instance.createDataflow(dataflow('i1', ['t1']));
  replica.report('i1', 40);
  replica.fail('i1', 'x');
  assert.ok(instance.failure(gid('i1')));
  replica.onLost('crashed');
  assert.deepEqual(lost, ['crashed']);
  assert.equal(instance.writeFrontier(gid('i1')), 0);
  const again = new FakeReplica();
  instance.addReplica(R1, again);
  assert.equal(instance.failure(gid('i1')), undefined, 'it is built anew');
  const said = again.said();
  assert.deepEqual(said.slice(0, 2), ['hello', 'createInstance']);
  assert.deepEqual(said.slice(2), ['create i1 as of 10', 'schedule i1', 'initializationComplete']);
  replica.report('i1', 49);
  assert.equal(instance.writeFrontier(gid('i1')), 0);
});

test('logs are installed by the instance itself: no schedule, and readers may hold them', () => {
  const { instance } = newInstance(['si1', 'si2']);
  const replica = new FakeReplica();
  instance.addReplica(R1, replica);
  assert.deepEqual(replica.said(), ['hello', 'createInstance', 'initializationComplete']);
  assert.ok(instance.hasCollection(gid('si1')));
  assert.deepEqual(instance.live, { collections: 0, peeks: 0, subscribes: 0, history: 0 });
});

test("a peek is one replica's: another that joins is not asked, and its answer would not count", async () => {
  const f = withReplica();
  const answer = peeking(f);
  const joined = new FakeReplica();
  f.instance.addReplica('r2' as ReplicaId, joined);
  assert.ok(!joined.said().some((c) => c.startsWith('peek')));
  const batch = { length: 0, columns: [], times: 0, diffs: 1 };
  const rows = {
    kind: 'peekResponse',
    worker: 0,
    uuid: 'p2',
    result: { kind: 'rows', batch, more: false },
  } as const;
  joined.onResponse(rows);
  assert.equal(f.instance.live.peeks, 1);
  f.replica.onResponse(rows);
  assert.equal(((await answer) as { length: number }).length, 0);
  assert.equal(f.instance.live.peeks, 0);
});
