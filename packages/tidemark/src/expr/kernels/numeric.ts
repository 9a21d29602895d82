/** Kernels over numeric cells, without datums in between. */
import { SqlError } from '../../base/error.ts';
import { ColumnBuilder } from '../../repr/column.ts';
import { decodeNumeric, encodeNumeric, type Numeric } from '../../repr/numeric.ts';
import { evalErrorOf } from '../eval-error.ts';
import type { Kernel } from '../functions.ts';
import { bitAt } from '../vec.ts';

export function numericBinary(f: (a: Numeric, b: Numeric) => Numeric): Kernel {
  return ({ args: [l, r], n, validity, fail }) => {
    const a = l!.column;
    const b = r!.column;
    const p = l!.constant ? 0 : -1;
    const q = r!.constant ? 0 : -1;
    const out = new ColumnBuilder('bytes', n);
    for (let i = 0; i < n; i++) {
      if (!bitAt(validity, i)) {
        out.pushNull();
        continue;
      }
      const j = i & p;
      const k = i & q;
      try {
        encodeNumeric(
          out,
          f(
            decodeNumeric(a.values as Uint8Array, a.offsets[j]!, a.offsets[j + 1]!),
            decodeNumeric(b.values as Uint8Array, b.offsets[k]!, b.offsets[k + 1]!),
          ),
        );
      } catch (e) {
        if (!(e instanceof SqlError)) throw e;
        fail(i, evalErrorOf(e));
        out.pushNull();
      }
    }
    return out.finish();
  };
}
