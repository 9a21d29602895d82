/**
 * Temporal filters: in a maintained query `mz_now()` may stand as one side of a comparison among the conditions of a
 * filter, against an expression without it; rendering turns that into rows that come and go. Anywhere else it is refused.
 */
import { SqlError } from '../base/error.ts';
import { functionById } from '../expr/registry.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import { childrenOf, type Mir } from './mir.ts';
import { mapScalars } from './optimize/map-scalars.ts';

const COMPARISONS = new Set<string | null>(['=', '<', '<=', '>', '>=']);

const isMzNow = (e: ScalarExpr): boolean => e.kind === 'call' && functionById(e.func).name === 'mz_now';
const readsMzNow = (e: ScalarExpr): boolean => isMzNow(e) || ('args' in e && e.args.some(readsMzNow));

/** Whether a filter's condition is `mz_now() op e` or `e op mz_now()`. */
export function isTemporal(p: ScalarExpr): boolean {
  if (p.kind !== 'call' || p.args.length !== 2 || !COMPARISONS.has(functionById(p.func).name)) return false;
  const [a, b] = p.args;
  return (isMzNow(a) && !readsMzNow(b)) || (isMzNow(b) && !readsMzNow(a));
}

export function checkTemporal(mir: Mir): void {
  mapScalars(mir, (e) => {
    const parts = e.kind === 'and' ? e.args : [e];
    for (const p of parts) if (readsMzNow(p) && !(mir.op === 'Filter' && isTemporal(p))) throw misplaced();
    return e;
  });
  childrenOf(mir).forEach(checkTemporal);
}

const misplaced = (): SqlError =>
  new SqlError('feature_not_supported', 'mz_now() is not supported in this position of a maintained query', {
    detail:
      'It may stand in WHERE or HAVING as one side of a comparison (=, <, <=, >, >=) with an expression of type mz_timestamp, joined to other conditions by AND.',
  });
