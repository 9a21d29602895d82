/** The columns of a select list by position and name, as GROUP BY and ORDER BY refer to them. */
import { SqlError } from '../../base/error.ts';
import type { Expr } from '../../sql/ast.ts';
import type { HExpr } from '../hir.ts';
import { plainText } from '../plain-text.ts';
import type { Placed } from './coerce.ts';

/** `pos` is the item's. */
export interface PendingItem extends Placed {
  readonly name: string;
}

export const exprKey = (e: HExpr): string => plainText(e);
export const sameExpr = (a: HExpr, b: HExpr): boolean => a === b || exprKey(a) === exprKey(b);

export function outputPosition(e: Expr, items: readonly PendingItem[], clause: string): number | undefined {
  if (e.kind === 'number' && /^-?\d+$/.test(e.text)) {
    const n = Number(e.text);
    if (n < 1 || n > items.length)
      throw new SqlError('invalid_column_reference', `${clause} position ${n} is not in select list`, {
        position: e.pos + 1,
      });
    return n - 1;
  }
  if (e.kind === 'string' || e.kind === 'number' || e.kind === 'null' || e.kind === 'boolean')
    throw new SqlError('syntax_error', `non-integer constant in ${clause}`, { position: e.pos + 1 });
  if (e.kind !== 'column' || e.name.parts.length !== 1) return undefined;
  const [{ name }] = e.name.parts;
  const found = items.flatMap((item, i) => (item.name === name ? [i] : []));
  if (found.length > 1 && found.some((i) => !sameExpr(items[i].expr, items[found[0]].expr)))
    throw new SqlError('ambiguous_column', `${clause} "${name}" is ambiguous`, { position: e.pos + 1 });
  return found[0];
}
