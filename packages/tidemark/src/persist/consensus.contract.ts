/** What every consensus must do. Registers its cases with node:test; one call an implementation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { CasOp, Consensus } from './consensus.ts';

const bytes = (s: string) => new TextEncoder().encode(s);
const text = (b: Uint8Array) => new TextDecoder().decode(b);
const op = (key: string, expected: number | null, value: string, reset?: boolean): CasOp => ({
  key,
  expected,
  value: bytes(value),
  ...(reset !== undefined && { reset }),
});

const entries = async (c: Consensus, key: string, after = 0) =>
  (await c.read(key, after)).map((e) => [e.seqno, text(e.value)]);

const CASES: Readonly<Record<string, (c: Consensus) => Promise<void>>> = {
  'a key begins without entries and counts from 1': async (c) => {
    assert.equal(await c.head('k'), null);
    assert.deepEqual(await c.read('k', 0), []);
    assert.deepEqual(await c.compareAndSet([op('k', null, 'a')], 'each'), [{ applied: true, seqno: 1 }]);
    assert.deepEqual(await c.compareAndSet([op('k', 1, 'b')], 'each'), [{ applied: true, seqno: 2 }]);
    const head = (await c.head('k'))!;
    assert.deepEqual([head.seqno, text(head.value)], [2, 'b']);
    assert.deepEqual(await entries(c, 'k'), [
      [1, 'a'],
      [2, 'b'],
    ]);
    assert.deepEqual(await entries(c, 'k', 1), [[2, 'b']]);
    assert.deepEqual(await entries(c, 'k', 2), []);
  },

  'an entry on another number than the last is refused, and told the last': async (c) => {
    await c.compareAndSet([op('k', null, 'a')], 'each');
    for (const expected of [null, 2, 0])
      assert.deepEqual(await c.compareAndSet([op('k', expected, 'x')], 'each'), [
        { applied: false, seqno: 1 },
      ]);
    assert.deepEqual(await c.compareAndSet([op('new', 1, 'x')], 'each'), [{ applied: false, seqno: null }]);
    assert.deepEqual(await entries(c, 'k'), [[1, 'a']]);
    assert.equal(await c.head('new'), null);
  },

  'mode all: one refusal refuses all': async (c) => {
    await c.compareAndSet([op('a', null, '1'), op('b', null, '1')], 'all');
    assert.deepEqual(await c.compareAndSet([op('a', 1, '2'), op('b', 7, '2')], 'all'), [
      { applied: false, seqno: 1 },
      { applied: false, seqno: 1 },
    ]);
    assert.deepEqual(await c.compareAndSet([op('a', 1, '2'), op('b', 1, '2')], 'all'), [
      { applied: true, seqno: 2 },
      { applied: true, seqno: 2 },
    ]);
  },

  'mode each: every operation has its own result': async (c) => {
    await c.compareAndSet([op('a', null, '1')], 'each');
    assert.deepEqual(
      await c.compareAndSet([op('a', null, 'x'), op('b', null, '1'), op('a2', 4, 'x')], 'each'),
      [
        { applied: false, seqno: 1 },
        { applied: true, seqno: 1 },
        { applied: false, seqno: null },
      ],
    );
    assert.deepEqual(await c.list(''), ['a', 'b']);
  },

  'a reset entry stands for those before it, and the count goes on': async (c) => {
    await c.compareAndSet([op('k', null, 'a', true)], 'each');
    await c.compareAndSet([op('k', 1, 'b')], 'each');
    await c.compareAndSet([op('k', 2, 'whole', true)], 'each');
    await c.compareAndSet([op('k', 3, 'd')], 'each');
    assert.deepEqual(await entries(c, 'k'), [
      [3, 'whole'],
      [4, 'd'],
    ]);
    assert.deepEqual(await entries(c, 'k', 1), [
      [3, 'whole'],
      [4, 'd'],
    ]);
    assert.deepEqual(await entries(c, 'k', 3), [[4, 'd']]);
    assert.deepEqual(await c.compareAndSet([op('k', 2, 'late', true)], 'each'), [
      { applied: false, seqno: 4 },
    ]);
  },

  'of racing writers one wins each number': async (c) => {
    await c.compareAndSet([op('k', null, 'start')], 'each');
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, i) => c.compareAndSet([op('k', 1, `w${i}`)], i % 2 ? 'all' : 'each')),
    );
    const winners = results.flatMap(([r], i) => (r!.applied ? [i] : []));
    assert.equal(winners.length, 1);
    assert.deepEqual(await entries(c, 'k', 1), [[2, `w${winners[0]}`]]);
  },

  'racing transactions over overlapping keys apply whole or not at all': async (c) => {
    const keys = ['a', 'b', 'c'];
    await c.compareAndSet(
      keys.map((k) => op(k, null, '0')),
      'all',
    );
    await Promise.all(
      Array.from({ length: 12 }, async (_, w) => {
        for (let done = false; !done; ) {
          const mine = [keys[w % 3]!, keys[(w + 1) % 3]!];
          const heads = await Promise.all(mine.map((k) => c.head(k)));
          const ops = mine.map((k, i) => op(k, heads[i]!.seqno, `${w}`));
          done = (await c.compareAndSet(ops, 'all')).every((r) => r.applied);
        }
      }),
    );
    const logs = await Promise.all(keys.map((k) => entries(c, k, 1)));
    // Each of the 12 wrote two keys once.
    assert.deepEqual(
      logs.map((l) => l.length),
      [8, 8, 8],
    );
    assert.equal(new Set(logs.flat().map(([, w]) => w)).size, 12);
  },

  'keeps bytes as they are, and a copy of them': async (c) => {
    const value = Uint8Array.from({ length: 70_000 }, (_, i) => i * 31);
    const kept = value.slice();
    const done = c.compareAndSet([{ key: 'k', expected: null, value: value.subarray(1) }], 'each');
    await done;
    value.fill(0);
    assert.deepEqual(Buffer.from((await c.head('k'))!.value), Buffer.from(kept.subarray(1)));
    (await c.head('k'))!.value.fill(0);
    assert.deepEqual(Buffer.from((await c.read('k', 0))[0]!.value), Buffer.from(kept.subarray(1)));
  },

  'lists by prefix, in order, and forgets what is removed': async (c) => {
    for (const k of ['shard/u2', 'shard/u1', 'environment', 'shard/u10'])
      await c.compareAndSet([op(k, null, 'x')], 'each');
    assert.deepEqual(await c.list('shard/'), ['shard/u1', 'shard/u10', 'shard/u2']);
    await c.remove('shard/u1');
    await c.remove('none');
    assert.deepEqual(await c.list('shard/'), ['shard/u10', 'shard/u2']);
    assert.equal(await c.head('shard/u1'), null);
    assert.deepEqual(await c.compareAndSet([op('shard/u1', 1, 'x')], 'each'), [
      { applied: false, seqno: null },
    ]);
  },
};

/** `make` gives an empty store and what ends it. */
export function consensusContract(
  name: string,
  make: () => Promise<{ consensus: Consensus; end: () => Promise<void> }>,
): void {
  for (const [what, check] of Object.entries(CASES))
    test(`${name}: ${what}`, async () => {
      const { consensus, end } = await make();
      try {
        await check(consensus);
      } finally {
        await end();
      }
    });
}
