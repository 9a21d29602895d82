/** Control messages arrive as they were sent: bytes, the empty frontier, nesting, and which message is whose. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EMPTY } from '../time/timestamp.ts';
import { decodeControl, encodeControl } from './control.ts';

const received = (messages: readonly unknown[]): unknown[] =>
  [...decodeControl<unknown>(encodeControl(messages, 7))].map(({ value, time }) => {
    assert.equal(time, 7);
    return value;
  });

test('control messages arrive as they were sent', () => {
  const messages = [
    { key: null, inline: Uint8Array.of(0, 255, 128), from: 0, to: EMPTY, at: null },
    { parts: [{ inline: new Uint8Array(0) }, { inline: Uint8Array.of(1) }, { inline: Uint8Array.of(2, 3) }] },
    { text: 'é\u0000"', list: [1, -2.5, true, null, []], deep: { deeper: { to: EMPTY } } },
    EMPTY,
    [],
  ];
  assert.deepEqual(received(messages), messages);
});

test('bytes that arrive share no buffer with what was sent or with each other', () => {
  const sent = Uint8Array.of(1, 2, 3);
  const [a, b] = received([{ x: sent, y: sent }, { x: sent }]) as [
    { x: Uint8Array; y: Uint8Array },
    { x: Uint8Array },
  ];
  a.x[0] = 9;
  assert.deepEqual([sent[0], a.y[0], b.x[0]], [1, 1, 1]);
  assert.equal(a.x.byteLength, a.x.buffer.byteLength);
});
