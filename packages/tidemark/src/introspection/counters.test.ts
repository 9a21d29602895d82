import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { BUCKETS, bucketNs, bucketOf, Counters } from './counters.ts';
import { IdSlots } from './id-slots.ts';

test('a bucket is the least power of two that is at least as long; nothing counts as 1', () => {
  assert.deepEqual(
    [0, 0.5, 1, 1.5, 2, 3, 4, 5, 1024, 1025, 2 ** 31, 2 ** 31 + 1, 2 ** 40].map((ns) =>
      bucketNs(bucketOf(ns)),
    ),
    [1, 1, 1, 2, 2, 4, 4, 8, 1024, 2048, 2 ** 31, 2 ** 32, 2 ** 40],
  );
  fc.assert(
    fc.property(fc.double({ min: 1, max: 2 ** (BUCKETS - 1), noNaN: true }), (ns) => {
      const b = bucketNs(bucketOf(ns));
      assert.ok(b >= ns && b / 2 < Math.ceil(ns));
    }),
  );
});

test('what is told sums up to what was added, in whole numbers, and a slot that is cleared owes nothing', () => {
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          do: fc.constantFrom('add', 'add', 'add', 'flush', 'clear'),
          slot: fc.nat(200),
          index: fc.nat(2),
          n: fc.double({ min: 0, max: 1e9, noNaN: true }),
        }),
        { maxLength: 60 },
      ),
      (steps) => {
        const counters = new Counters(3, 2);
        const added = new Map<string, number>();
        const told = new Map<string, number>();
        const tell = (slot: number, index: number, diff: number): void => {
          assert.ok(Number.isInteger(diff) && diff !== 0);
          const sum = (told.get(`${slot} ${index}`) ?? 0) + diff;
          assert.ok(sum >= 0, 'never less than nothing');
          told.set(`${slot} ${index}`, sum);
        };
        for (const s of steps) {
          counters.reserve(s.slot);
          if (s.do === 'add') {
            counters.add(s.slot, s.index, s.n);
            const key = `${s.slot} ${s.index}`;
            added.set(key, (added.get(key) ?? 0) + s.n);
          } else if (s.do === 'flush') counters.flush(tell);
          else {
            counters.clear(s.slot, tell);
            for (let k = 0; k < 3; k++) {
              assert.equal(told.get(`${s.slot} ${k}`) ?? 0, 0);
              added.delete(`${s.slot} ${k}`);
            }
          }
        }
        counters.flush(tell);
        assert.equal(counters.dirty, 0);
        for (const [key, n] of added) assert.equal(told.get(key) ?? 0, Math.floor(n));
      },
    ),
  );
});

test('ids find their slots, and nothing is kept of pages whose ids are gone', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.nat(5000), fc.nat(50)), { maxLength: 100 }), (steps) => {
      const slots = new IdSlots();
      const model = new Map<number, number>();
      for (const [id, slot] of steps) {
        if (model.has(id)) {
          slots.delete(id);
          model.delete(id);
          assert.throws(() => slots.delete(id), /has a slot/);
        } else {
          slots.set(id, slot);
          model.set(id, slot);
          assert.throws(() => slots.set(id, 0), /once/);
        }
        assert.equal(slots.get(id), model.get(id) ?? -1);
        assert.equal(slots.get(id + 5001), -1);
      }
      for (const [id, slot] of model) assert.equal(slots.get(id), slot);
    }),
  );
});
