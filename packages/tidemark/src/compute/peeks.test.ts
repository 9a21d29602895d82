import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId } from '../base/ids.ts';
import { identityMfp } from '../expr/scalar.ts';
import { frontierOwner } from './frontier-owner.ts';
import { WorkerPeeks } from './peeks.ts';
import type { PeekCommand, PeekResponse } from './protocol.ts';
import type { ShardAccess } from './shard-source.ts';

const PEERS = 2;

/** Of a shard that the other worker reads: ready at once, and nothing to tell. */
function peek(n: number): PeekCommand {
  let uuid = `peek ${n}`;
  while (frontierOwner(uuid, PEERS) === 0) uuid += '.';
  const id = 'u1' as GlobalId;
  return {
    kind: 'peek',
    uuid,
    target: { kind: 'shard', id, shard: 's', desc: { columns: [], keys: [] } },
    literalKeys: null,
    timestamp: 1,
    mfp: identityMfp(0),
    finishing: { orderBy: [], limit: null, offset: 0, project: [] },
    desc: { columns: [], keys: [] },
  };
}

test('what is ready is answered before a slice, and every other slice whoever asks', () => {
  const sent: PeekResponse[] = [];
  const peeks = new WorkerPeeks({
    worker: 0,
    peers: PEERS,
    shards: {} as ShardAccess,
    evalContext: { timeZone: 'UTC' },
    log: () => null,
    maxResultSize: () => 1000,
    send: (r) => sent.push(r),
    wake: () => undefined,
  });
  assert.equal(peeks.answersFirst(), false, 'nobody asks');
  peeks.start(peek(0), undefined);
  assert.equal(peeks.answersFirst(), true);
  assert.deepEqual(
    sent.map((r) => r.uuid),
    [peek(0).uuid],
  );
  peeks.start(peek(1), undefined);
  assert.equal(peeks.answersFirst(), false, 'a slice is due');
  assert.equal(sent.length, 1);
  assert.equal(peeks.answersFirst(), true);
  assert.equal(sent.length, 2);
  assert.equal(peeks.size, 0);
});
