/**
 * order-joins: inputs in an order in which each is compared with what came before. Greedy: start at what is held to
 * literals or small, then the input that is bound to one row by its key, then one that an index answers, then the one
 * that is compared in the most columns (a worker's id alone is next to a cross join: a view of a thousand operators took 16 s and
 * takes 0.1); a cross join comes last. Ties keep the order as written.
 */

import type { ScalarExpr } from '../../expr/scalar.ts';
import {
  type Column,
  columnsOf,
  keysOf,
  type Mir,
  type MirJoin,
  plainKey,
  project,
  rewrite,
} from '../mir.ts';
import { fixedColumn } from '../scalar-facts.ts';
import { remap } from '../scalar-walk.ts';
import { inputOf, offsetsOf, oneMemberAnInput } from './equivalences.ts';
import type { OptimizeOptions, Rule } from './rule.ts';

export const orderJoins: Rule = {
  name: 'order-joins',
  apply: (mir, options) => rewrite(mir, (node) => (node.op === 'Join' ? reorder(node, options) : node)),
};

function reorder(given: MirJoin, options: OptimizeOptions): Mir {
  const join = oneMemberAnInput(given);
  const offsets = offsetsOf(join.inputs);
  const order = chooseOrder(join, offsets, options);
  if (order.every((i, at) => i === at)) return join;
  const inputs = order.map((i) => join.inputs[i]);
  const next = offsetsOf(inputs);
  const to = (c: number): number => {
    const i = offsets.findLastIndex((o) => o <= c);
    return next[order.indexOf(i)] + c - offsets[i];
  };
  const equivalences = join.equivalences.map((cls) => cls.map((e) => remap(e, to)));
  const columns: readonly Column[] = columnsOf(join);
  return project(
    { ...join, inputs, equivalences },
    columns.map((_, c) => to(c)),
  );
}

function chooseOrder(join: MirJoin, offsets: readonly number[], options: OptimizeOptions): readonly number[] {
  const left = join.inputs.map((_, i) => i);
  const order: number[] = [];
  while (left.length > 0) {
    const scores = left.map((i) => score(join, i, order, offsets, options));
    const best = scores.indexOf(Math.max(...scores));
    order.push(...left.splice(best, 1));
  }
  return order;
}

/** Higher is sooner. */
function score(
  join: MirJoin,
  i: number,
  before: readonly number[],
  offsets: readonly number[],
  options: OptimizeOptions,
): number {
  const input = join.inputs[i];
  const small = selectivity(input);
  if (before.length === 0) return small;
  const bound: ScalarExpr[] = [];
  for (const cls of join.equivalences) {
    const mine = cls.filter((e) => inputOf(e, offsets) === i);
    if (mine.length > 0 && cls.some((e) => before.includes(inputOf(e, offsets) ?? -1))) bound.push(...mine);
  }
  if (bound.length === 0) return small - 100;
  const columns = bound.flatMap((e) => (e.kind === 'column' ? [e.index - offsets[i]] : []));
  const unique = keysOf(input).some((k) => k.every((c) => columns.includes(c)));
  const indexed =
    input.op === 'Get' &&
    options.indexes(input.id).some((x) => plainKey(x.keys)?.every((c) => columns.includes(c)));
  return small + (unique ? 20 : 0) + (indexed ? 10 : 0) + Math.min(bound.length, 9) / 10;
}

/** A constant, then what is at most one row, then filters that hold a column, then any filter. */
function selectivity(input: Mir): number {
  if (input.op === 'Constant') return 8;
  if (keysOf(input).some((k) => k.length === 0)) return 7;
  if (input.op === 'Project' || input.op === 'Map') return selectivity(input.input);
  if (input.op !== 'Filter') return 0;
  return input.predicates.some((p) => fixedColumn(p) !== undefined) ? 4 : 1;
}
