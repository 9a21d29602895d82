import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ClusterId, GlobalId, ReplicaId } from '../../base/ids.ts';
import { type LifeRollup, NO_LIFE } from '../../controller/lives.ts';
import type { ObjectFacts, ReplicaFacts } from './facts.ts';
import { type Blocker, blockerOf, type Judged, replicaVerdict } from './verdicts.ts';

const gid = (id: string): GlobalId => id as GlobalId;
const REPLICA: ReplicaFacts = {
  id: 'u1' as ReplicaId,
  workers: 2,
  connected: true,
  since: 50,
  lostBecause: null,
};

const INSTALLED: LifeRollup = { ...NO_LIFE, stage: 'installed', installedAt: 110, installedOn: 2, asOf: 7 };
const STARTED: LifeRollup = { ...INSTALLED, stage: 'started', startedAt: 120 };
const HYDRATED: LifeRollup = { ...STARTED, stage: 'hydrated', hydratedAt: 130, hydratedOn: 2 };
const BLOCKED: LifeRollup = { ...HYDRATED, stage: 'write_blocked', writeBlockedAt: 140 };
const UNBLOCKED: LifeRollup = { ...BLOCKED, stage: 'write_unblocked', writeUnblockedAt: 150 };
const WRITTEN: LifeRollup = { ...UNBLOCKED, stage: 'written', writtenAt: 160 };

function facts(change: Partial<ObjectFacts>): ObjectFacts {
  const life = change.life ?? NO_LIFE;
  return {
    objectId: gid('u1'),
    clusterId: 'u1' as ClusterId,
    writes: false,
    sealed: false,
    commandedAt: 100,
    replica: REPLICA,
    withoutReplicaSince: 90,
    lastStage: life.stage,
    lateInputs: [],
    queue: null,
    failure: null,
    down: null,
    mayWrite: true,
    replaces: null,
    ...change,
    life,
  };
}

const view = (change: Partial<ObjectFacts>): ObjectFacts => facts({ writes: true, ...change });
const inputs = (...all: readonly [string, number][]): ObjectFacts['lateInputs'] =>
  all.map(([id, frontier]) => ({ id: gid(id), frontier }));

const CASES: readonly [string, ObjectFacts, Partial<Blocker> | null][] = [
  [
    'no replica, since the object is there',
    facts({ replica: null }),
    { reason: 'no_replica', stage: null, since: 100 },
  ],
  [
    'no replica, since the last one went',
    facts({ replica: null, withoutReplicaSince: 200 }),
    { reason: 'no_replica', since: 200 },
  ],
  [
    'a lost replica, at the stage it had reached',
    facts({
      replica: { ...REPLICA, connected: false, since: 300, lostBecause: 'killed' },
      lastStage: 'started',
    }),
    { reason: 'replica_lost', stage: 'started', since: 300, details: { error: 'killed' } },
  ],
  [
    'one worker has not installed it',
    facts({ life: { ...NO_LIFE, installedOn: 1 } }),
    { reason: 'installing', stage: null, since: 100, details: { workers: 2, installed: 1 } },
  ],
  [
    'not installed on a replica that came later',
    facts({ replica: { ...REPLICA, since: 400 } }),
    { reason: 'installing', since: 400 },
  ],
  [
    'inputs: the least frontier',
    facts({ life: INSTALLED, lateInputs: inputs(['u9', 3], ['u10', 2]) }),
    { reason: 'waiting_for_inputs', stage: 'installed', since: 110, blockedBy: gid('u10') },
  ],
  [
    'inputs: of equals the least id, as people count',
    facts({ life: INSTALLED, lateInputs: inputs(['u10', 2], ['u9', 2]) }),
    { reason: 'waiting_for_inputs', blockedBy: gid('u9') },
  ],
  [
    'inputs before the queue',
    facts({
      life: INSTALLED,
      lateInputs: inputs(['u9', 2]),
      queue: { since: 1, limit: 4, longestHolder: null },
    }),
    { reason: 'waiting_for_inputs' },
  ],
  [
    'in the queue, behind whoever holds a slot longest',
    facts({ life: INSTALLED, queue: { since: 115, limit: 4, longestHolder: gid('u3') } }),
    { reason: 'hydration_limit', stage: 'installed', since: 115, blockedBy: gid('u3') },
  ],
  [
    'in the queue with the limit 0: the details name the setting',
    facts({ life: INSTALLED, queue: { since: 115, limit: 0, longestHolder: null } }),
    {
      reason: 'hydration_limit',
      blockedBy: null,
      details: { setting: 'compute_hydration_concurrency', value: 0 },
    },
  ],
  ['scheduled, not everywhere started', facts({ life: INSTALLED }), { reason: 'computing', since: 110 }],
  [
    'computing over an index that hydrates, too',
    facts({ life: { ...STARTED, hydratedOn: 1 }, lateInputs: inputs(['u3', 2]) }),
    {
      reason: 'computing',
      stage: 'started',
      since: 120,
      blockedBy: gid('u3'),
      details: { workers: 2, hydrated: 1 },
    },
  ],
  ['an index is done when it is hydrated', facts({ life: HYDRATED }), null],
  ['a view is not', view({ life: HYDRATED }), { reason: 'writing', stage: 'hydrated', since: 130 }],
  [
    'a view that may not write',
    view({ life: BLOCKED, mayWrite: false, replaces: gid('u2') }),
    { reason: 'read_only', stage: 'write_blocked', since: 140, blockedBy: gid('u2') },
  ],
  ['that was permitted to', view({ life: UNBLOCKED }), { reason: 'writing', since: 150 }],
  ['a view is done when it is written', view({ life: WRITTEN }), null],
  ['a sealed view is done though nothing runs', view({ sealed: true, replica: null }), null],
  [
    'a failed one neither waits nor computes',
    facts({ life: STARTED, failure: { message: 'disk full', since: 500 }, lateInputs: inputs(['u3', 2]) }),
    { reason: 'failed', stage: 'started', since: 500, details: { error: 'disk full' } },
  ],
  [
    'down with an index that it reads: it waits for that',
    facts({ life: HYDRATED, down: { message: 'disk full', since: 500, cause: gid('u3') } }),
    {
      reason: 'waiting_for_inputs',
      stage: 'hydrated',
      since: 500,
      blockedBy: gid('u3'),
      details: { error: 'disk full' },
    },
  ],
];

for (const [name, f, expected] of CASES)
  test(`blocker: ${name}`, () => {
    const found = blockerOf(f);
    if (expected === null) assert.equal(found, null);
    else assert.partialDeepStrictEqual(found, expected);
  });

const judged = (id: string, change: Partial<ObjectFacts>): Judged => {
  const f = facts({ ...change, objectId: gid(id) });
  return { facts: f, blocker: blockerOf(f) };
};

test('one stuck object keeps the replica from being hydrated, and is named: the one installed first', () => {
  const v = replicaVerdict(REPLICA, [
    judged('u1', { life: HYDRATED }),
    judged('u2', { life: { ...STARTED, installedAt: 111 } }),
    judged('u3', { life: STARTED }),
    judged('u4', {}),
  ]);
  assert.deepEqual(v, {
    ...{ hydrated: false, reason: 'computing', objects: 4, hydratedObjects: 1, slowest: 'u3' },
    ...{ startedAt: 120, hydratedAt: null, writtenAt: null },
  });
});

test('hydrated: the greatest instant, and the object with the longest way; clocks that differ make no way negative', () => {
  const v = replicaVerdict(REPLICA, [
    judged('u1', { life: { ...HYDRATED, hydratedAt: 100 } }),
    judged('u2', { life: { ...HYDRATED, installedAt: 10, hydratedAt: 125 } }),
    judged('u3', { writes: true, life: HYDRATED }),
  ]);
  assert.partialDeepStrictEqual(v, { hydrated: true, reason: null, hydratedAt: 130, slowest: 'u2' });
  assert.equal(v.writtenAt, null, 'a view is not written yet');
  const skewed = replicaVerdict(REPLICA, [judged('u1', { life: { ...HYDRATED, hydratedAt: 100 } })]);
  assert.partialDeepStrictEqual(skewed, { hydrated: true, slowest: 'u1' });
});

test('written_at stands once all views are written, beside hydrated_at', () => {
  const all = [judged('u1', { life: HYDRATED }), judged('u2', { writes: true, life: WRITTEN })];
  assert.equal(replicaVerdict(REPLICA, all).writtenAt, 160);
  const late = replicaVerdict(REPLICA, [...all, judged('u3', { life: STARTED })]);
  assert.deepEqual([late.hydratedAt, late.writtenAt], [null, null]);
});

test('a sealed output counts as hydrated, without instants', () => {
  const v = replicaVerdict(REPLICA, [judged('u1', { writes: true, sealed: true })]);
  assert.partialDeepStrictEqual(v, { hydrated: true, objects: 1, hydratedObjects: 1, slowest: null });
  assert.deepEqual([v.startedAt, v.hydratedAt, v.writtenAt], [null, null, null]);
});

test('no replica, a lost one, and one without objects', () => {
  const reason = (r: ReplicaFacts | null): unknown => {
    const v = replicaVerdict(r, []);
    return [v.hydrated, v.reason];
  };
  assert.deepEqual(reason(null), [false, 'no_replica']);
  assert.deepEqual(reason({ ...REPLICA, connected: false }), [false, 'replica_lost']);
  assert.deepEqual(reason(REPLICA), [true, null]);
});
