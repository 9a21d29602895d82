import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Row } from '../repr/types.ts';
import { Ledger } from './ledger.ts';

test('whatever was written, closing leaves nothing, and what is taken back is the very row that was emitted', () => {
  const op = fc.record({ slot: fc.constantFrom('a', 'b', 'c'), put: fc.boolean(), value: fc.nat(3) });
  fc.assert(
    fc.property(fc.array(op, { maxLength: 40 }), (ops) => {
      const rows = new Map<Row, number>();
      const ledger = new Ledger((_, row, diff) => {
        const n = (rows.get(row) ?? 0) + diff;
        assert.ok(n === 0 || n === 1, 'by identity: no row is taken back that was not put');
        if (n === 0) rows.delete(row);
        else rows.set(row, n);
      });
      const model = new Map<string, number>();
      for (const { slot, put, value } of ops) {
        if (put) {
          ledger.put(slot, 'mz_compute_exports_per_worker', [value]);
          model.set(slot, value);
        } else {
          ledger.clear(slot);
          model.delete(slot);
        }
        assert.equal(ledger.has(slot), model.has(slot));
        assert.deepEqual([...rows.keys()].map((r) => r[0]).sort(), [...model.values()].sort());
      }
      ledger.close();
      assert.equal(rows.size, 0);
      assert.throws(() => ledger.put('a', 'mz_compute_exports_per_worker', [1]), /closed/);
    }),
  );
});
