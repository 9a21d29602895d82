import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GlobalId, ReplicaId } from '../base/ids.ts';
import type { LifecycleStage } from '../introspection/lifecycle.ts';
import { type LifecycleEvent, Lives } from './lives.ts';

const R1 = 'r1' as ReplicaId;
const U1 = 'u1' as GlobalId;

function say(
  lives: Lives,
  worker: number,
  stage: LifecycleStage,
  occurredAt: number,
  replica = R1,
  id = U1,
): void {
  lives.receive(replica, {
    kind: 'lifecycle',
    worker,
    id,
    stage,
    occurredAt,
    reason: null,
    asOf: 1,
    life: 0,
  });
}

test('the denominator is the number of workers, never of the rows that came', () => {
  const lives = new Lives();
  for (const [i, stage] of (['installed', 'started', 'hydrated'] as const).entries())
    say(lives, 0, stage, 10 + i);
  const none = { installedAt: null, startedAt: null, hydratedAt: null, writtenAt: null, stage: null };
  assert.partialDeepStrictEqual(lives.rollup(R1, U1, 2), none, 'a busy worker installs late');
  say(lives, 1, 'installed', 5);
  assert.partialDeepStrictEqual(lives.rollup(R1, U1, 2), { ...none, installedAt: 5, stage: 'installed' });
  say(lives, 1, 'started', 30);
  say(lives, 1, 'hydrated', 40);
  const all = { installedAt: 5, startedAt: 11, hydratedAt: 40, writtenAt: null, stage: 'hydrated' };
  assert.partialDeepStrictEqual(lives.rollup(R1, U1, 2), all, 'least, least, greatest');
});

test('written stands only beside hydrated, and never before it, though clocks differ', () => {
  const lives = new Lives();
  say(lives, 0, 'hydrated', 10);
  say(lives, 0, 'written', 20);
  assert.equal(lives.rollup(R1, U1, 2).writtenAt, null);
  say(lives, 1, 'hydrated', 5_000_000);
  assert.equal(lives.rollup(R1, U1, 2).writtenAt, 5_000_000);
  assert.equal(lives.rollup(R1, U1, 2).stage, 'written');
});

test('the stage shows a block while it lasts', () => {
  const lives = new Lives();
  for (const stage of ['installed', 'started', 'hydrated', 'write_blocked'] as const) say(lives, 0, stage, 1);
  assert.equal(lives.rollup(R1, U1, 1).stage, 'write_blocked');
  say(lives, 0, 'write_unblocked', 2);
  assert.equal(lives.rollup(R1, U1, 1).stage, 'write_unblocked');
});

test('repeats change nothing and tell nobody; listeners see each event once, in order', () => {
  const lives = new Lives();
  const seen: LifecycleEvent[] = [];
  const stop = lives.subscribe((e) => seen.push(e));
  for (let round = 0; round < 2; round++)
    for (const stage of ['installed', 'started'] as const) say(lives, 0, stage, 10 + round);
  assert.deepEqual(
    seen.map((e) => `${e.stage}@${e.occurredAt}`),
    ['installed@10', 'started@10'],
  );
  assert.deepEqual([...lives.events()], seen);
  stop();
  say(lives, 0, 'hydrated', 30);
  assert.equal(seen.length, 2);
});

test('what was dropped and who was lost is forgotten, and nothing else', () => {
  const lives = new Lives();
  const [r2, u2] = ['r2' as ReplicaId, 'u2' as GlobalId];
  for (const r of [R1, r2]) for (const id of [U1, u2]) say(lives, 0, 'installed', 1, r, id);
  lives.forget(U1);
  assert.deepEqual(
    [...lives.events()].map((e) => `${e.replicaId} ${e.objectId}`),
    ['r1 u2', 'r2 u2'],
  );
  lives.forgetReplica(R1, true);
  assert.deepEqual(
    [...lives.events()].map((e) => `${e.replicaId} ${e.objectId}`),
    ['r2 u2'],
  );
});

test('a replica that comes back repeats what it told; one that was dropped leaves nothing behind', () => {
  const lives = new Lives();
  const repeated: boolean[] = [];
  lives.subscribe((e) => repeated.push(e.repeated));
  lives.begin(R1, 'a');
  say(lives, 0, 'installed', 1);
  lives.forgetReplica(R1, true);
  lives.begin(R1, 'a');
  say(lives, 0, 'installed', 1);
  lives.forgetReplica(R1, false);
  assert.equal(lives.incarnation(R1), undefined);
  lives.begin(R1, 'a');
  say(lives, 0, 'installed', 1);
  assert.deepEqual(repeated, [false, true, false]);
});
