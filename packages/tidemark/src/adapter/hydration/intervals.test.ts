import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type LifeRollup, NO_LIFE } from '../../controller/lives.ts';
import { intervalsOf } from './intervals.ts';

const of = (life: Partial<LifeRollup>, writes = true) =>
  Object.values(intervalsOf({ ...NO_LIFE, ...life }, { writes, now: 1000 }));

test('each part has one cause, and the one that goes on is counted up to now', () => {
  assert.deepEqual(of({}), [null, null, null, null]);
  assert.deepEqual(of({ installedAt: 100 }), [900, null, null, null]);
  assert.deepEqual(of({ installedAt: 100, startedAt: 250 }), [150, 750, null, null]);
  const hydrated = { installedAt: 100, startedAt: 250, hydratedAt: 450 };
  assert.deepEqual(of(hydrated), [150, 200, null, 550]);
  assert.deepEqual(of(hydrated, false), [150, 200, null, null], 'an index writes nothing');
  assert.deepEqual(of({ ...hydrated, writtenAt: 460 }), [150, 200, null, 10]);
});

test('a block that lasts is told while it lasts, and is no part of the write', () => {
  const blocked = { installedAt: 100, startedAt: 250, hydratedAt: 450, writeBlockedAt: 470 };
  assert.deepEqual(of(blocked), [150, 200, 550, null]);
  assert.deepEqual(of({ ...blocked, writeUnblockedAt: 650, writtenAt: 700 }), [150, 200, 200, 50]);
});

test('clocks of two workers that differ make no interval negative', () => {
  assert.deepEqual(of({ installedAt: 500, startedAt: 400, hydratedAt: 300, writtenAt: 200 }), [
    0,
    0,
    null,
    0,
  ]);
});
