import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SqlError } from '../base/error.ts';
import { EMPTY } from '../time/timestamp.ts';
import { FENCE, SCHEMA } from './fixtures.ts';
import type { Part } from './shard-types.ts';
import {
  apply,
  applyEntry,
  type Change,
  encodeChanges,
  encodeNext,
  encodeState,
  initialState,
  type ShardState,
} from './state.ts';

const part = (key: string | null): Part => ({
  key,
  inline: key === null ? new Uint8Array([1, 2, 3]) : null,
  rows: 2,
  retractions: 1,
  bytes: 3,
  minTime: 4,
  maxTime: 5,
});

/** One of each kind, in an order that makes sense. */
const EVERY: readonly Change[] = [
  { op: 'append', lower: 0, upper: 6, parts: [part('u1/a'), part(null)] },
  { op: 'append', lower: 6, upper: 7, parts: [part(null), part('u1/b')] },
  { op: 'upper', upper: 9 },
  { op: 'hold', holdId: 'h', since: 3, expiresAtMs: 17 },
  { op: 'hold', holdId: 'g', since: 4, expiresAtMs: null },
  { op: 'release', holdId: 'h' },
  { op: 'fence', fence: { generation: 2, start: 3 }, takenOverAt: EMPTY },
  { op: 'merge', ids: [1, 2], parts: [part('u1/c'), part('u1/b')], atMs: 20 },
  { op: 'upper', upper: EMPTY },
];
const start = apply(initialState(SCHEMA, 0, 0, FENCE), [], 't0');
const sizes = (s: ShardState): ShardState => ({ ...s, wholeBytes: 0, changeBytes: 0 });

test('changes and whole states survive their encoding', () => {
  const next = apply(start, EVERY, 't1');
  assert.deepEqual([next.upper, next.since, next.nextBatch, [...next.holds.keys()]], [EMPTY, 4, 4, ['g']]);
  assert.deepEqual(
    [...next.garbage],
    [['u1/a', { bytes: 3, atMs: 20 }]],
    'a part that is kept is no garbage',
  );
  const read = applyEntry(start, { seqno: 2, value: encodeChanges(EVERY, 't1') }, 'u1');
  assert.deepEqual(sizes(read), next);
  assert.deepEqual(sizes(applyEntry(null, { seqno: 2, value: encodeState(next, 't1') }, 'u1')), next);
  const collected = apply(next, [{ op: 'collected', keys: ['u1/a'] }], 't2');
  assert.equal(collected.garbage.size, 0);
  assert.deepEqual(
    start,
    apply(initialState(SCHEMA, 0, 0, FENCE), [], 't0'),
    'a state is never changed in place',
  );
});

test('a log stays about as long as its state', () => {
  let state = start;
  let log = 0;
  let most = 0;
  for (let t = 1; t < 2000; t++) {
    const changes: Change[] = [{ op: 'upper', upper: t }];
    const { value, reset, state: next } = encodeNext(apply(state, changes, `t${t}`), changes, `t${t}`);
    log = reset ? value.length : log + value.length;
    most = Math.max(most, log);
    state = next;
  }
  assert.ok(most < 5000, `${most} bytes`);
});

test('a changed, foreign or missing entry is corruption, and named', () => {
  const value = encodeChanges(EVERY, 't1');
  const corrupt = (e: unknown) =>
    e instanceof SqlError && e.code === 'data_corrupted' && /shard u1 .* entry \d/.test(e.message);
  for (let i = 0; i < value.length; i++) {
    const changed = value.slice();
    changed[i]! ^= 4;
    assert.throws(() => applyEntry(start, { seqno: 2, value: changed }, 'u1'), corrupt, `byte ${i}`);
  }
  assert.throws(() => applyEntry(start, { seqno: 2, value: value.slice(0, 4) }, 'u1'), corrupt);
  assert.throws(() => applyEntry(start, { seqno: 3, value }, 'u1'), corrupt);
  assert.throws(() => applyEntry(null, { seqno: 1, value }, 'u1'), corrupt);
});
