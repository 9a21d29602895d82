import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { nodeTimers } from './node-clock.ts';

const DAY_MS = 86_400_000;
/** The longest delay that Node knows: rung by it, a mocked clock stands where the timer was due. */
const LONGEST_MS = 2 ** 31 - 1;

test('a timer of sixty days rings after sixty days, one that is to ring never does not, and both can be cancelled', () => {
  mock.timers.enable({ apis: ['setTimeout'] });
  const rang: string[] = [];
  nodeTimers.after(60 * DAY_MS, () => rang.push('sixty days'));
  const cancelNever = nodeTimers.after(Number.POSITIVE_INFINITY, () => rang.push('never'));
  const cancel = nodeTimers.after(50 * DAY_MS, () => rang.push('cancelled'));
  mock.timers.tick(LONGEST_MS);
  cancel();
  mock.timers.tick(LONGEST_MS);
  mock.timers.tick(60 * DAY_MS - 2 * LONGEST_MS - 1);
  assert.deepEqual(rang, []);
  mock.timers.tick(1);
  assert.deepEqual(rang, ['sixty days']);
  for (let i = 0; i < 20; i++) mock.timers.tick(LONGEST_MS);
  cancelNever();
  assert.deepEqual(rang, ['sixty days']);
  mock.timers.reset();
});
