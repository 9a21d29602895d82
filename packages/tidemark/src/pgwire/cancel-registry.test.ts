import assert from 'node:assert/strict';
import { it } from 'node:test';
import { CancelRegistry } from './cancel-registry.ts';

it('cancels for the right pair alone, until it is released', () => {
  let seed = 0;
  const registry = new CancelRegistry({
    next: () => 0,
    bytes: (n) => Uint8Array.from({ length: n }, () => seed++),
  });
  const cancelled: string[] = [];
  const a = registry.register(() => cancelled.push('a'));
  const b = registry.register(() => cancelled.push('b'));
  assert.notEqual(a.pid, b.pid);
  registry.cancel(a.pid, b.secret);
  registry.cancel(a.pid, a.secret.subarray(0, 3));
  registry.cancel(a.pid + 100, a.secret);
  assert.deepEqual(cancelled, []);
  registry.cancel(b.pid, b.secret);
  registry.cancel(a.pid, a.secret);
  assert.deepEqual(cancelled, ['b', 'a']);
  a.release();
  registry.cancel(a.pid, a.secret);
  assert.deepEqual(cancelled, ['b', 'a']);
  assert.equal(registry.size, 1);
});
