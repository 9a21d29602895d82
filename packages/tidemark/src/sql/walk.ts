/** Generic looks at a tree: its height, and where an expression begins. Neither recurses. */
import type { Expr } from './ast.ts';

/** Whether some path from the root passes more than `limit` nodes. Linear. */
export function exceedsHeight(root: object, limit: number): boolean {
  const pending: { readonly value: object; readonly height: number }[] = [{ value: root, height: 0 }];
  for (let top = pending.pop(); top !== undefined; top = pending.pop()) {
    const height = top.height + ('pos' in top.value ? 1 : 0);
    if (height > limit) return true;
    for (const child of Object.values(top.value)) {
      if (typeof child === 'object' && child !== null) pending.push({ value: child, height });
    }
  }
  return false;
}

/** The first token of an expression: its own position, or that of its leftmost operand. */
export function exprStart(expr: Expr): number {
  let start = expr.pos;
  for (let at: Expr | undefined = expr; at !== undefined; at = leftOperand(at))
    start = Math.min(start, at.pos);
  return start;
}

function leftOperand(expr: Expr): Expr | undefined {
  switch (expr.kind) {
    case 'binary':
    case 'isDistinct':
    case 'quantifiedArray':
    case 'quantifiedQuery':
      return expr.left;
    case 'and':
    case 'or':
      return expr.operands[0];
    case 'isNull':
    case 'isBoolean':
    case 'between':
    case 'like':
    case 'inList':
    case 'inQuery':
    case 'cast':
    case 'collate':
    case 'subscript':
    case 'field':
    case 'fieldStar':
      return expr.expr;
    default:
      return undefined;
  }
}
