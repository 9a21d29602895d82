/** Number literals: int4, int8 or numeric, by size and form. */
import { parseNumeric } from '../../repr/numeric.ts';
import { type } from '../../repr/types.ts';
import type { HExpr } from '../hir.ts';

export function bindNumber(text: string, _pos: number): HExpr {
  if (/^-?\d+$/.test(text)) {
    const value = BigInt(text);
    if (value >= -0x80000000n && value <= 0x7fffffffn)
      return { kind: 'literal', value: Number(value), type: type('int4') };
    if (value >= -(1n << 63n) && value < 1n << 63n) return { kind: 'literal', value, type: type('int8') };
  }
  return { kind: 'literal', value: parseNumeric(text), type: type('numeric') };
}
