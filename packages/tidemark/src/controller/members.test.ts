/** Reads of a cluster of which no replica is connected: they wait for one, and end when none is left that may come. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ReplicaId } from '../base/ids.ts';
import {
  answer,
  copy,
  dataflow,
  FakeReplica,
  type Fixture,
  gid,
  newInstance,
  PEEK,
} from './instance.fixture.ts';

const R1 = 'r1' as ReplicaId;
const R2 = 'r2' as ReplicaId;

/** `i1` is an index on `t1`; of its replicas one is lost, and the other one was never there. */
function lost(): Fixture {
  const f = newInstance();
  const r1 = new FakeReplica();
  f.instance.addReplica(R1, r1);
  f.instance.expectReplica(R2);
  f.shards.move('t1', 200_000);
  f.instance.createDataflow(dataflow('i1', ['t1']));
  r1.onLost('crashed');
  return f;
}

/** A read of each kind, that may be answered anywhere or on R1 alone; resolves with how it ended. */
const READS: readonly (readonly [
  string,
  ReplicaId | undefined,
  (i: Fixture['instance']) => Promise<unknown>,
])[] = [
  ['a read', undefined, (i) => i.peek(PEEK)],
  ['a read of one replica', R1, (i) => i.peek({ ...PEEK, replicaId: R1 })],
  ['a COPY', undefined, (i) => i.copyTo(copy(['t1']), undefined)],
  ['a COPY of one replica', R1, (i) => i.copyTo(copy(['t1']), R1)],
];

for (const [name, wanted, begin] of READS) {
  const outcome = (instance: Fixture['instance']): Promise<string> =>
    begin(instance).then(
      () => 'answered',
      (e: Error) => e.message,
    );
  test(`${name} waits for a replica that is started again`, async () => {
    const { instance } = lost();
    const read = outcome(instance);
    const r1 = new FakeReplica(1);
    instance.addReplica(R1, r1);
    const peek = r1.commands.find((c) => c.kind === 'peek');
    if (peek !== undefined) answer(r1, peek.uuid);
    else
      r1.onResponse({ kind: 'copyToResponse', worker: 0, id: gid('t9'), result: { kind: 'rows', rows: 0 } });
    assert.equal(await read, 'answered');
    assert.equal(instance.live.peeks, 0);
  });

  test(`${name} ends when nobody is left who may come`, async () => {
    const { instance, shards } = lost();
    const held = shards.held('t1');
    const read = outcome(instance);
    await instance.removeReplica(R2);
    assert.equal(instance.live.peeks, 1, 'R1 may come back');
    await instance.removeReplica(R1);
    assert.equal(await read, 'replica r1 was dropped');
    assert.equal(
      await outcome(instance),
      `${wanted === undefined ? 'no replica of the cluster is' : 'replica r1 is not'} attached to this environment`,
    );
    assert.deepEqual([instance.live.peeks, shards.held('t1')], [0, held]);
  });
}

test('who waits for a replica can be canceled, and hears that what it reads failed or went', async () => {
  const { instance } = lost();
  const cancel = new AbortController();
  const canceled = instance.peek({ ...PEEK, signal: cancel.signal });
  const dropped = instance.peek(PEEK);
  cancel.abort();
  await assert.rejects(canceled, /canceling statement/);
  instance.drop([gid('i1')]);
  await assert.rejects(dropped, /dropped meanwhile/);
  assert.equal(instance.live.peeks, 0);
});

test('a COPY that may be written anywhere is the first replica’s that comes, and outlives those that never did', async () => {
  const { instance, shards } = lost();
  const held = shards.held('t1');
  const rows = instance.copyTo(copy(['t1']), undefined);
  await instance.removeReplica(R1);
  const r3 = new FakeReplica(1);
  instance.addReplica('r3' as ReplicaId, r3);
  assert.deepEqual(
    r3.said().filter((s) => s.includes('t9')),
    ['create t9 as of 10', 'schedule t9'],
  );
  const r2 = new FakeReplica(1);
  instance.addReplica(R2, r2);
  await instance.removeReplica(R2);
  assert.deepEqual(
    r2.said().filter((s) => s.includes('t9')),
    [],
    'one replica writes it',
  );
  r3.onResponse({ kind: 'copyToResponse', worker: 0, id: gid('t9'), result: { kind: 'rows', rows: 3 } });
  assert.equal(await rows, 3);
  assert.deepEqual([r3.said().includes('drop t9'), shards.held('t1')], [true, held]);
});
