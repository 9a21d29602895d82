/**
 * The refusals for which the plan has its place ready: each feature is turned away here and nowhere else. A window
 * function becomes a node between grouping and the select list, as `setReturning` is; a recursive binding a `LetRec`.
 */
import { type SqlError, unsupported } from '../../base/error.ts';

export const refuseWindow = (pos: number): SqlError =>
  unsupported('a window function', { position: pos + 1 });
export const refuseRecursion = (what: string, pos: number): SqlError =>
  unsupported(what, { position: pos + 1 });
