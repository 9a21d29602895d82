import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { endOf, lastBefore, type RefreshSchedule, roundUp } from './refresh-schedule.ts';
import { EMPTY, MAX_TIME } from './timestamp.ts';

const at = (...times: number[]): RefreshSchedule => ({ every: [], at: times });
const every = (intervalMs: number, alignedTo: number): RefreshSchedule => ({
  every: [{ intervalMs, alignedTo }],
  at: [],
});

test('a time counts as the least refresh at or after it', () => {
  assert.deepEqual(
    [5, 10, 11, 40, 41].map((t) => roundUp(at(10, 40), t)),
    [10, 10, 40, 40, EMPTY],
  );
  assert.deepEqual(
    [8, 37, 38].map((t) => roundUp(every(30, 7), t)),
    [37, 37, 67],
  );
  assert.equal(roundUp(every(30, 100), 8), 10, 'aligned both ways');
  assert.equal(roundUp(every(30, 7), EMPTY), EMPTY);
  assert.equal(roundUp(every(1000, 0), MAX_TIME), EMPTY, 'no time is past the greatest');
});

test('after the last AT nothing is needed', () => {
  assert.equal(endOf(at(10, 40)), 41);
  assert.equal(endOf({ ...every(5, 0), at: [3] }), EMPTY);
});

const schedules = fc
  .record({
    every: fc.array(fc.record({ intervalMs: fc.integer({ min: 1, max: 50 }), alignedTo: fc.nat(200) }), {
      maxLength: 2,
    }),
    at: fc.array(fc.nat(300), { maxLength: 4 }),
  })
  .filter((s) => s.every.length + s.at.length > 0);

test('rounding agrees with a list of the refreshes', () => {
  fc.assert(
    fc.property(schedules, fc.nat(250), (s, t) => {
      const isRefresh = (x: number): boolean =>
        s.at.includes(x) || s.every.some((e) => (x - e.alignedTo) % e.intervalMs === 0);
      const after = Array.from({ length: 400 }, (_, i) => t + i).find(isRefresh) ?? EMPTY;
      const before = Array.from({ length: t }, (_, i) => t - 1 - i).find(isRefresh) ?? null;
      assert.equal(roundUp(s, t), after);
      assert.equal(lastBefore(s, t), before);
      assert.ok(roundUp(s, t) <= roundUp(s, t + 1), 'monotone');
    }),
    { seed: Number(process.env['SEED'] ?? 1), numRuns: Number(process.env['RUNS'] ?? 500) },
  );
});
