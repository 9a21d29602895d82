import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { EMPTY } from '../time/timestamp.ts';
import { decodeControl, encodeControl } from './control.ts';

test('control messages come out as they went in: bytes and the empty frontier too', () => {
  const message = fc.record({
    lower: fc.maxSafeNat(),
    upper: fc.oneof(fc.maxSafeNat(), fc.constant(EMPTY)),
    parts: fc.array(
      fc.record({ key: fc.string(), inline: fc.uint8Array({ maxLength: 20 }), none: fc.constant(null) }),
    ),
  });
  fc.assert(
    fc.property(fc.array(message, { maxLength: 4 }), fc.nat(), (messages, time) => {
      const out = [...decodeControl(encodeControl(messages, time))];
      assert.deepEqual(
        out.map((o) => o.value),
        structuredClone(messages),
      );
      for (const o of out) assert.equal(o.time, time);
    }),
  );
});
