import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EVENT_KINDS, EVENT_WORDS, EVENTS, EventRing, SideTable } from './events.ts';

test('an event is 48 bytes, and all its fields fit', () => {
  assert.equal(EVENT_WORDS * Float64Array.BYTES_PER_ELEMENT, 48);
  for (const { fields } of Object.values(EVENTS)) assert.ok(2 + fields.length <= EVENT_WORDS);
});

test('the ring grows, keeps the order, and loses nothing, however records and drains alternate', () => {
  fc.assert(
    fc.property(fc.array(fc.integer({ min: 0, max: 2600 }), { maxLength: 8 }), (bursts) => {
      const ring = new EventRing();
      let written = 0;
      let read = 0;
      for (const n of bursts) {
        for (let i = 0; i < n; i++, written++)
          ring.record(
            EVENT_KINDS[written % EVENT_KINDS.length]!,
            written,
            written + 1,
            written + 2,
            written + 3,
            -1,
          );
        assert.equal(ring.pending, n);
        ring.drain((kind, ns, a, b, c, d) => {
          assert.equal(kind, EVENT_KINDS[read % EVENT_KINDS.length]);
          assert.deepEqual([ns, a, b, c, d], [read, read + 1, read + 2, read + 3, -1]);
          read++;
        });
        assert.equal(ring.pending, 0);
      }
      assert.equal(read, written);
    }),
    { numRuns: 30 },
  );
});

test('slots of the side table are used again, and never while they are in use', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(9), { maxLength: 80 }), (ops) => {
      const side = new SideTable();
      const live = new Map<number, string>();
      for (const [i, op] of ops.entries()) {
        const [slot] = [...live.keys()].slice(op, op + 1);
        if (slot === undefined) {
          const added = side.add(`v${i}`);
          assert.ok(!live.has(added));
          live.set(added, `v${i}`);
        } else {
          side.release(slot);
          live.delete(slot);
          assert.throws(() => side.release(slot), /released once/);
          assert.throws(() => side.get(slot), /in use/);
        }
        for (const [s, v] of live) assert.equal(side.get(s), v);
        assert.equal(side.live, live.size);
      }
    }),
  );
});
