/** Who waits for what has failed hears of it: whatever replica it was that failed, left or came, and whichever came first. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import type { ReplicaId } from '../base/ids.ts';
import { answer, copy, dataflow, FakeReplica, gid, newInstance, PEEK } from './instance.fixture.ts';

const R1 = 'r1' as ReplicaId;
const R2 = 'r2' as ReplicaId;

/** `t1` is complete; `u1` is a view of it, written nowhere; both replicas maintain `i1`. */
function two() {
  const f = newInstance();
  const [r1, r2] = [new FakeReplica(), new FakeReplica()];
  f.instance.addReplica(R1, r1);
  f.instance.addReplica(R2, r2);
  f.shards.move('t1', 200_000);
  f.shards.move('u1', 0);
  f.instance.createDataflow(dataflow('u1', ['t1'], { view: true }));
  f.instance.createDataflow(dataflow('i1', ['t1']));
  r1.said();
  r2.said();
  return { ...f, r1, r2 };
}

const VIEW_PEEK = {
  ...PEEK,
  target: { kind: 'shard', id: gid('u1'), shard: 'u1', desc: PEEK.desc },
} as const;

/** The uuids of peeks that it was sent since the last look. */
const peeked = (r: FakeReplica): string[] =>
  r.commands.splice(0).flatMap((c) => (c.kind === 'peek' ? [c.uuid] : []));

test('what goes on only where a replica leaves has failed: whoever waits for its shard is told then', async () => {
  const { instance, r1, r2 } = two();
  const read = instance.peek(VIEW_PEEK);
  read.catch(() => undefined);
  r1.fail('u1', 'disk gone');
  assert.equal(instance.live.peeks, 1, 'the other replica goes on');
  r2.onLost('crashed');
  await assert.rejects(read, /disk gone/);
});

test("a view that failed on one replica: its shard is read there all the same, and a read under way isn't disturbed", async () => {
  const { instance, r1 } = two();
  const read = instance.peek(VIEW_PEEK);
  const [uuid] = peeked(r1);
  r1.fail('u1', 'disk gone');
  assert.deepEqual(r1.said(), [], 'neither ended nor begun anew');
  answer(r1, uuid!);
  assert.equal((await read).length, 0);
  const later = instance.peek(VIEW_PEEK);
  answer(r1, peeked(r1)[0]!);
  assert.equal((await later).length, 0);
});

test('a read that comes back to a replica takes nothing that it said the first time', async () => {
  const { instance, timers, r1, r2 } = two();
  const read = instance.peek(PEEK);
  const [first] = peeked(r1);
  r1.fail('i1', 'disk gone');
  const [second] = peeked(r2);
  timers.ring();
  r2.fail('i1', 'disk gone');
  const [third] = peeked(r1);
  assert.equal(new Set([first, second, third]).size, 3);
  r1.onResponse({ kind: 'peekResponse', worker: 0, uuid: first!, result: { kind: 'canceled' } });
  answer(r1, first!, 7);
  answer(r2, second!, 7);
  answer(r1, third!, 0);
  assert.equal((await read).length, 0);
  assert.equal(instance.live.peeks, 0);
});

test('a COPY of what has failed, or on a replica that the cluster does not have, ends before it begins', async () => {
  const { instance, r1 } = two();
  r1.fail('i1', 'disk gone');
  await assert.rejects(instance.copyTo(copy(['i1']), R1), /disk gone/);
  await assert.rejects(instance.copyTo(copy(['t1']), 'r3' as ReplicaId), /r3 is not attached/);
  const later = instance.copyTo(copy(['i1']), R2);
  await instance.removeReplica(R2);
  await assert.rejects(later, /was dropped/);
  assert.deepEqual([instance.live.collections, instance.live.peeks], [2, 0]);
});

test('a failure on another cluster: known when a read begins, told while it waits, found through what is maintained here', async () => {
  const elsewhere = new Map<string, SqlError>();
  let told = 0;
  const { instance, shards } = newInstance([], {
    failureElsewhere: (id) => elsewhere.get(id),
    onFailure: () => void told++,
  });
  const r1 = new FakeReplica();
  instance.addReplica(R1, r1);
  shards.move('t1', 5);
  instance.createDataflow(dataflow('i1', ['t1']));
  const ofIndex = instance.peek(PEEK);
  const ofShard = instance.peek({
    ...PEEK,
    target: { kind: 'shard', id: gid('t1'), shard: 't1', desc: PEEK.desc },
  });
  const copied = instance.copyTo(copy(['t1']), R1);
  for (const p of [ofIndex, ofShard, copied]) p.catch(() => undefined);
  instance.tellReaders();
  assert.equal(instance.live.peeks, 3, 'nothing has failed');
  elsewhere.set('t1', new SqlError('io_error', 'disk gone'));
  instance.tellReaders();
  for (const p of [ofIndex, ofShard, copied]) await assert.rejects(p, /disk gone/);
  await assert.rejects(instance.peek(PEEK), /disk gone/);
  await assert.rejects(instance.copyTo(copy(['t1']), R1), /disk gone/);
  instance.createDataflow(dataflow('t8', ['t1']));
  await assert.rejects(instance.peek({ ...PEEK, target: { ...PEEK.target, id: gid('t8') } }), /disk gone/);
  elsewhere.clear();
  assert.equal(instance.failure(gid('i1')), undefined, 'what is maintained goes on');
  assert.equal(told, 0, 'nothing failed here');
  r1.fail('i1', 'disk gone');
  assert.equal(told, 1);
});
