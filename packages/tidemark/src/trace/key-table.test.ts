/** The table of keys while it grows: every row gets the index of its key, whatever is being moved. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { batchOf } from '../operators/test-cluster.ts';
import type { Column } from '../repr/column.ts';
import { hashRows } from '../repr/hash.ts';
import { KeyTable } from './key-table.ts';

for (const [kind, n, portion] of [
  ['i32', 2000, 500],
  ['bytes', 2000, 500],
  ['i32', 120_000, 120_000],
  ['bytes', 120_000, 120_000],
] as const)
  it(`finds ${kind} keys through the growth that moves keys along the way, ${portion} rows at a time`, () => {
    const table = new KeyTable([kind], 16);
    const total = 240_000;
    const keyOf = new Int32Array(n);
    const index = new Map<number, number>();
    let movingSeen = false;
    for (let from = 0; from < total; from += n) {
      // Every second row repeats an older key.
      const keys = Array.from({ length: n }, (_, i) => (i % 2 === 0 ? from + i : Math.floor((from + i) / 3)));
      const column = batchOf(
        [kind],
        keys.map((k) => ({ row: [kind === 'bytes' ? `k${k}` : k], time: 0, diff: 1 })),
      ).columns[0] as Column;
      for (let at = 0; at < n; at += portion) {
        table.assign([column], hashRows([column], n), keyOf, at, at + portion);
        movingSeen ||= table.moving;
      }
      keys.forEach((k, i) => {
        const known = index.get(k);
        if (known === undefined) index.set(k, keyOf[i]!);
        else assert.equal(keyOf[i], known, `key ${k}`);
      });
    }
    assert.ok(movingSeen, 'the table was moved in steps');
    assert.equal(table.count, index.size);
  });
