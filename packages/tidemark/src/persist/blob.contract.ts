/** What every blob store must do. Registers its cases with node:test; one call an implementation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Blob } from './blob.ts';

const bytes = (...b: number[]) => Uint8Array.from(b);

const CASES: Readonly<Record<string, (blob: Blob) => Promise<void>>> = {
  'gives back what was put, and nothing for a key that is not there': async (blob) => {
    assert.equal(await blob.get('a/b'), null);
    await blob.put('a/b', bytes(1, 2, 3));
    await blob.put('a/empty', bytes());
    assert.deepEqual([...(await blob.get('a/b'))!], [1, 2, 3]);
    assert.equal((await blob.get('a/empty'))!.length, 0);
    assert.equal(await blob.get('a'), null);
  },

  'takes a view of a larger buffer, and megabytes': async (blob) => {
    const large = new Uint8Array(3 << 20).map((_, i) => i * 7);
    await blob.put('large', large);
    await blob.put('view', large.subarray(5, 9));
    assert.deepEqual(await blob.get('large'), large);
    assert.deepEqual([...(await blob.get('view'))!], [...large.subarray(5, 9)]);
  },

  'keeps a copy: neither writer nor reader changes what is stored': async (blob) => {
    const mine = bytes(1, 2);
    await blob.put('k', mine);
    mine[0] = 9;
    const got = (await blob.get('k'))!;
    assert.deepEqual([...got], [1, 2]);
    got[1] = 9;
    assert.deepEqual([...(await blob.get('k'))!], [1, 2]);
    assert.notEqual((await blob.get('k'))!.buffer, (await blob.get('k'))!.buffer);
  },

  'gives buffers that can be transferred away': async (blob) => {
    await blob.put('k', bytes(4, 5, 6));
    const got = (await blob.get('k'))!;
    structuredClone(got, { transfer: [got.buffer] });
    assert.deepEqual([...(await blob.get('k'))!], [4, 5, 6]);
  },

  overwrites: async (blob) => {
    await blob.put('k', bytes(1));
    await blob.put('k', bytes(2, 2));
    assert.deepEqual([...(await blob.get('k'))!], [2, 2]);
  },

  'deletes, also what is not there': async (blob) => {
    await blob.put('a/k', bytes(1));
    await blob.delete('a/k');
    await blob.delete('a/k');
    await blob.delete('b/k');
    assert.equal(await blob.get('a/k'), null);
    assert.deepEqual(await blob.list(''), []);
  },

  'lists by prefix, in order': async (blob) => {
    for (const k of ['u2/b', 'u1/z', 'u1/a', 'u10/a']) await blob.put(k, bytes(1));
    assert.deepEqual(await blob.list('u1/'), ['u1/a', 'u1/z']);
    assert.deepEqual(await blob.list(''), ['u1/a', 'u1/z', 'u10/a', 'u2/b']);
    assert.deepEqual(await blob.list('u3/'), []);
  },

  'does many things at once': async (blob) => {
    const keys = Array.from({ length: 50 }, (_, i) => `s${i % 5}/k${i}`);
    await Promise.all(keys.map((k, i) => blob.put(k, bytes(i))));
    const got = await Promise.all(keys.map((k) => blob.get(k)));
    assert.deepEqual(
      got.map((g) => g![0]),
      keys.map((_, i) => i),
    );
  },
};

/** `make` gives an empty store and what ends it. */
export function blobContract(
  name: string,
  make: () => Promise<{ blob: Blob; end: () => Promise<void> }>,
): void {
  for (const [what, check] of Object.entries(CASES))
    test(`${name}: ${what}`, async () => {
      const { blob, end } = await make();
      try {
        await check(blob);
      } finally {
        await end();
      }
    });
}
