import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Response } from '../compute/protocol.ts';
import { folded, unfolded } from './worker-protocol.ts';

const frontiers = fc
  .record(
    {
      kind: fc.constant('frontiers' as const),
      worker: fc.constantFrom(0, 1),
      id: fc.constantFrom('u1', 'u2', 'u3') as never,
      write: fc.constantFrom(5, 6, Number.POSITIVE_INFINITY),
      input: fc.constantFrom(5, 6),
    },
    { requiredKeys: ['kind', 'worker', 'id'] },
  )
  .map((r) => ({ ...r })) as fc.Arbitrary<Response>;
const status = fc.constant<Response>({ kind: 'status', worker: 0, message: 'm' });

test('responses are unfolded as they were said', () => {
  fc.assert(
    fc.property(
      fc.array(fc.oneof({ weight: 5, arbitrary: frontiers }, { weight: 1, arbitrary: status })),
      (said) => {
        assert.deepEqual([...unfolded(structuredClone(folded(said)))], said);
      },
    ),
  );
});

test('the same frontiers of many exports are one message', () => {
  const said = Array.from(
    { length: 200 },
    (_, i): Response => ({
      kind: 'frontiers',
      worker: 0,
      id: `u${i}` as never,
      write: 7,
      input: 7,
      output: 7,
    }),
  );
  assert.equal(folded(said).length, 1);
});
