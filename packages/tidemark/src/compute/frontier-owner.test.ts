import assert from 'node:assert/strict';
import { test } from 'node:test';
import { frontierOwner } from './frontier-owner.ts';

test('the owner is one of the workers, the same each time, and sinks spread over all of them', () => {
  for (const workers of [1, 2, 4, 7]) {
    const counts = new Array<number>(workers).fill(0);
    for (let i = 1; i <= 700; i++) {
      const owner = frontierOwner(`u${i}`, workers);
      assert.equal(owner, frontierOwner(`u${i}`, workers));
      counts[owner]!++;
    }
    for (const n of counts) assert.ok(n > 700 / workers / 2, `${workers} workers: ${counts}`);
  }
});

test('consecutive ids, as a script creates them, do not all fall on one worker', () => {
  for (const workers of [2, 4])
    assert.equal(
      new Set(Array.from({ length: 16 }, (_, i) => frontierOwner(`u${i}`, workers))).size,
      workers,
    );
});
