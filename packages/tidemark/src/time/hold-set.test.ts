import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Hold, HoldSet } from './hold-set.ts';
import { EMPTY } from './timestamp.ts';

test('the least held time is that of a naive list, and onChange fires exactly when it moves', () => {
  const op = fc.oneof(
    fc.record({ kind: fc.constant('acquire' as const), t: fc.nat(20) }),
    fc.record({ kind: fc.constant('downgrade' as const), i: fc.nat(10), by: fc.nat(5) }),
    fc.record({ kind: fc.constant('release' as const), i: fc.nat(10) }),
  );
  fc.assert(
    fc.property(fc.array(op, { maxLength: 60 }), (ops) => {
      let fired = 0;
      const set = new HoldSet(() => fired++);
      const held: Hold[] = [];
      for (const o of ops) {
        const before = set.least;
        fired = 0;
        if (o.kind === 'acquire') held.push(set.acquire(o.t));
        else if (held.length > 0) {
          const h = held[o.i % held.length]!;
          if (o.kind === 'release') h.release();
          else if (h.since !== EMPTY) h.downgrade(h.since + o.by);
        }
        assert.equal(set.least, Math.min(...held.map((h) => h.since), EMPTY));
        assert.equal(fired, before === set.least ? 0 : 1);
      }
      for (const h of held) h.release();
      assert.equal(set.size, 0);
    }),
  );
});

test('a hold refuses to go back', () => {
  const hold = new HoldSet().acquire(5);
  assert.throws(() => hold.downgrade(4), /moves forward/);
});
