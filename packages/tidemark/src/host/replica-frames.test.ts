/** Frames cut out of bytes, and proofs. That a peer survives bad ones is tested with sockets in `test/remote-replica.test.ts`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  dataFrame,
  type Frame,
  FrameReader,
  frame,
  jsonFrame,
  KINDS,
  proofOf,
  readData,
  readJson,
  sameProof,
} from './replica-frames.ts';

const joined = (parts: readonly Uint8Array[]): Uint8Array => new Uint8Array(Buffer.concat(parts));

test('frames come out as they went in, however the bytes are cut', () => {
  const body = fc.uint8Array({ maxLength: 300 });
  fc.assert(
    fc.property(
      fc.array(body, { maxLength: 6 }),
      fc.array(fc.integer({ min: 1, max: 40 })),
      (bodies, cuts) => {
        const bytes = joined(bodies.flatMap((b) => frame('store', b)));
        const reader = new FrameReader();
        const out: Frame[] = [];
        let at = 0;
        for (const n of [...cuts, bytes.length]) {
          out.push(...reader.push(bytes.subarray(at, at + n)));
          at = Math.min(bytes.length, at + n);
        }
        assert.deepEqual(
          out.map((f) => [f.kind, [...f.body]]),
          bodies.map((b) => ['store', [...b]]),
        );
      },
    ),
  );
});

test('typed arrays, big integers and what is missing survive', () => {
  const value = {
    times: Float64Array.of(1, 2.5),
    words: new Int32Array([1, -2]),
    bytes: new Uint8Array([9]).subarray(0, 1),
    big: 2n ** 70n,
    none: undefined,
    empty: Number.POSITIVE_INFINITY,
  };
  const reader = new FrameReader();
  const [f] = [...reader.push(joined(dataFrame('responses', value)))];
  assert.deepEqual(readData(f!), value);
  const [j] = [...reader.push(joined(jsonFrame('login', { a: 1 })))];
  assert.deepEqual(readJson(j!), { a: 1 });
});

test('a frame that is too long, empty or of no kind is refused before its body is waited for', () => {
  const head = (length: number, kind: number): Uint8Array => {
    const b = new Uint8Array(5);
    new DataView(b.buffer).setUint32(0, length, true);
    b[4] = kind;
    return b;
  };
  const refused = (bytes: Uint8Array, reader = new FrameReader()) =>
    assert.throws(() => [...reader.push(bytes)], { code: 'protocol_violation' });
  refused(head(0, KINDS.ping));
  refused(head(4097, KINDS.login));
  refused(head(1, 77));
  refused(new TextEncoder().encode('GET / HTTP/1.1\r\n\r\n'));
  const trusted = new FrameReader();
  trusted.trust();
  assert.deepEqual([...trusted.push(head(4097, KINDS.command))], []);
  refused(
    head(2 ** 31, KINDS.command),
    (() => {
      const r = new FrameReader();
      r.trust();
      return r;
    })(),
  );
});

test('a proof holds for its token, its challenge and its side', () => {
  const proof = proofOf('secret', 'environment', 'abc');
  assert.ok(sameProof(proof, proofOf('secret', 'environment', 'abc')));
  for (const other of [
    proofOf('Secret', 'environment', 'abc'),
    proofOf('secret', 'replica', 'abc'),
    proofOf('secret', 'environment', 'abd'),
  ])
    assert.ok(!sameProof(proof, other));
  assert.ok(!sameProof(undefined, proof));
  assert.ok(!sameProof('', proof));
});
