import assert from 'node:assert/strict';
import { test } from 'node:test';
import { hashRows } from '../../repr/hash.ts';
import type { Kind } from '../../repr/types.ts';
import { GroupTable, type HashRows } from './group-table.ts';
import { emptySize } from './state-size.ts';
import { cell, column, forSeeds, keyOf, type Value, type XorShift } from './test-support.ts';

const few: HashRows = (columns, n, out) => {
  for (let i = 0; i < n; i++) out[i] = columns.length === 0 ? 0 : Number(cell(columns[0]!, i) ?? 0) & 3;
  return out;
};

const MAKE: Readonly<Record<Kind, (random: XorShift) => Value>> = {
  bool: (random) => random.below(2) === 0,
  i32: (random) => random.below(60) - 30,
  i64: (random) => BigInt(random.below(40)) << BigInt(random.below(2) * 32),
  f64: (random) => random.pick([0, -0, Number.NaN, 1, 1.5, -1]),
  bytes: (random) => 'x'.repeat(random.below(12)) + random.below(10),
};

test('keys keep their group while it lives, and groups are reused, whatever collides', () => {
  forSeeds(process.env, (random) => {
    const kinds = Array.from({ length: random.below(3) }, () => random.pick(Object.keys(MAKE) as Kind[]));
    const table = new GroupTable(kinds, random.below(2) === 0 ? few : undefined);
    const known = new Map<string, number>();
    const nulls = random.below(2) === 0;
    for (let step = 0; step < 60; step++) {
      if (known.size > 0 && random.below(3) === 0) {
        for (let k = random.below(known.size); k >= 0; k--) {
          const key = random.pick([...known.keys()]);
          table.free(known.get(key)!);
          known.delete(key);
          if (known.size === 0) break;
        }
        continue;
      }
      const n = 1 + random.below(40);
      const rows = Array.from({ length: n }, () =>
        kinds.map((k) => (nulls && random.below(4) === 0 ? null : MAKE[k](random))),
      );
      const columns = kinds.map((k, c) =>
        column(
          k,
          rows.map((r) => r[c]!),
        ),
      );
      const gids = new Int32Array(n);
      table.assign(columns, n, gids);
      rows.forEach((r, i) => {
        const key = keyOf(r);
        const g = known.get(key);
        if (g === undefined) {
          assert.ok(![...known.values()].includes(gids[i]!), 'a new key gets a group of its own');
          known.set(key, gids[i]!);
        } else assert.equal(gids[i], g);
      });
      assert.equal(table.live, known.size);
      const all = Int32Array.from(known.values());
      const stored = table.keys.gather(all, all.length);
      for (const [i, key] of [...known.keys()].entries())
        assert.equal(keyOf(stored.map((c) => cell(c, i))), key);
    }
    assert.ok(table.idBound <= 60 * 41, 'ids are bounded by what lived at one time');
  });
});

test('freed groups and their strings are reused: a table that breathes does not grow', () => {
  const table = new GroupTable(['bytes']);
  const gids = new Int32Array(1000);
  let peak = 0;
  for (let round = 0; round < 50; round++) {
    const keys = Array.from({ length: 1000 }, (_, i) => `a key of round ${round} with number ${i}`);
    table.assign([column('bytes', keys)], 1000, gids);
    const size = emptySize();
    table.addSize(size);
    if (round < 3) peak = Math.max(peak, size.allocated);
    else assert.ok(size.allocated <= 2 * peak, `round ${round}: ${size.allocated} bytes after ${peak}`);
    for (const g of gids) table.free(g);
    assert.equal(table.live, 0);
  }
  assert.equal(table.idBound, 1000);
});

test('segments that split keep every group, and groups are freed from all of them', () => {
  // As hashes are; as they are on one worker of many; and with none of the bits by which segments split.
  const cases: readonly (readonly [n: number, hash?: HashRows])[] = [
    [40_000],
    [40_000, (columns, n, out) => hashRows(columns, n, out).map((h) => (h & 0x0fffffff) | 0x50000000)],
    [17_000, (columns, n, out) => hashRows(columns, n, out).map((h) => h & 0xffff)],
  ];
  for (const [n, hash] of cases) {
    const table = new GroupTable(['i32'], hash);
    const at = (from: number): Int32Array => {
      const keys = Array.from({ length: n }, (_, i) => (from + i) * 7);
      const out = new Int32Array(n);
      table.assign([column('i32', keys)], n, out);
      return out;
    };
    const first = at(0);
    const second = at(n);
    assert.equal(new Set([...first, ...second]).size, 2 * n, 'every key has a group of its own');
    assert.deepEqual(at(0), first);
    for (const g of first) table.free(g);
    assert.equal(table.live, n);
    assert.deepEqual(at(n), second, 'what is freed leaves the others alone');
    assert.deepEqual(new Set(at(2 * n)), new Set(first), 'freed groups are handed out again');
  }
});
