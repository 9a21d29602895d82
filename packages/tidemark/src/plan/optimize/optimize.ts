/**
 * The optimiser: a table of rules. Those that feed each other run in rounds until nothing changes; the rest shape the
 * result once. Every rule keeps the rows; bounds keep a pair of rules that undo each other from running for ever.
 */
import { fingerprint, type Mir } from '../mir.ts';
import { projectEarly } from './demand.ts';
import { foldConstants } from './fold.ts';
import { fuseJoins } from './fuse-joins.ts';
import { joinOnIndexes } from './index-joins.ts';
import { orderJoins } from './join-order.ts';
import { inlineLets, shareEqual } from './lets.ts';
import { pushPredicates } from './pushdown.ts';
import { cancelUnion, redundantReduce } from './redundant.ts';
import type { OptimizeOptions, Rule } from './rule.ts';

export type { OptimizeOptions };

const ROUNDS = 10;

/** In this order, until a round changes nothing. */
const FIXPOINT: readonly Rule[] = [
  inlineLets,
  foldConstants,
  fuseJoins,
  pushPredicates,
  projectEarly,
  cancelUnion,
  redundantReduce,
];
/** Once, after that. */
const FINAL: readonly Rule[] = [orderJoins, pushPredicates, projectEarly, foldConstants];
/** What the cluster's indexes make of it. */
const PHYSICAL: readonly Rule[] = [joinOnIndexes, shareEqual];

export const RULES: readonly Rule[] = [...new Set([...FIXPOINT, ...FINAL, ...PHYSICAL])];

/**
 * What a query promises of its rows (columns that are never NULL, keys) is read off this plan: an index that comes or goes must not
 * change what readers of a stored view rely on.
 */
export function optimizeLogically(mir: Mir, options: OptimizeOptions): Mir {
  let plan = mir;
  for (let round = 0; round < ROUNDS; round++) {
    const before = fingerprint(plan);
    for (const rule of FIXPOINT) plan = rule.apply(plan, options);
    if (fingerprint(plan) === before) break;
  }
  for (const rule of FINAL) plan = rule.apply(plan, options);
  return plan;
}

export const throughIndexes = (plan: Mir, options: OptimizeOptions): Mir =>
  PHYSICAL.reduce((p, rule) => rule.apply(p, options), plan);
