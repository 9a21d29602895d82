/**
 * join-on-indexes: an input that an index arranges by the very columns that the join compares is read whole through it,
 * its projection and NULL tests done after the join: no arrangement is built. A NULL test of a key goes away where
 * another member of its class is never NULL. Inputs with other filters keep them: they are worth an arrangement.
 */
import type { ScalarExpr } from '../../expr/scalar.ts';
import { isNullable } from '../../expr/simplify.ts';
import { takeMfp } from '../mfp.ts';
import { columnsOf, filter, type Mir, type MirJoin, plainKey, project, rewrite } from '../mir.ts';
import { notNullArgument } from '../scalar-facts.ts';
import { remap } from '../scalar-walk.ts';
import { inputOf, offsetsOf } from './equivalences.ts';
import type { OptimizeOptions, Rule } from './rule.ts';

export const joinOnIndexes: Rule = {
  name: 'join-on-indexes',
  apply: (mir, options) => rewrite(mir, (node) => (node.op === 'Join' ? useIndexes(node, options) : node)),
};

function useIndexes(join: MirJoin, options: OptimizeOptions): Mir {
  let plan: Mir = join;
  for (let i = 0; i < join.inputs.length; i++) {
    // Each step puts tests and a projection above the join, which the next one finds below them.
    const { mfp, input } = takeMfp(plan);
    const next = input.op === 'Join' ? useIndex(input, i, options) : undefined;
    if (next !== undefined) plan = project(filter(next, mfp.filter), mfp.project);
  }
  return plan;
}

/** The same columns, the input read whole; undefined where no index fits. */
function useIndex(join: MirJoin, i: number, options: OptimizeOptions): Mir | undefined {
  const { mfp, input: get } = takeMfp(join.inputs[i]);
  if (get.op !== 'Get' || join.inputs[i].op === 'Get' || mfp.map.length > 0) return undefined;
  if (!mfp.filter.every((f) => notNullArgument(f)?.kind === 'column')) return undefined;
  const offsets = offsetsOf(join.inputs);
  const classes = join.equivalences.filter(
    (cls) => cls.some((e) => inputOf(e, offsets) === i) && cls.length > 1,
  );
  const mine = classes.map((cls) => cls.find((e) => inputOf(e, offsets) === i)!);
  const columns = plainKey(mine)?.map((c) => mfp.project[c - offsets[i]]);
  if (columns === undefined || columns.length === 0) return undefined;
  const fits = options.indexes(get.id).some((x) => {
    const key = plainKey(x.keys);
    return key !== undefined && key.length === columns.length && key.every((c) => columns.includes(c));
  });
  if (!fits) return undefined;
  return readWhole(join, i, { get, mfp, offsets, classes, columns });
}

function readWhole(
  join: MirJoin,
  i: number,
  x: {
    readonly get: Mir;
    readonly mfp: ReturnType<typeof takeMfp>['mfp'];
    readonly offsets: readonly number[];
    readonly classes: readonly (readonly ScalarExpr[])[];
    readonly columns: readonly number[];
  },
): Mir {
  const { get, mfp, offsets } = x;
  const inputs = join.inputs.map((input, k) => (k === i ? get : input));
  const next = offsetsOf(inputs);
  const to = (c: number): number => {
    const k = offsets.findLastIndex((o) => o <= c);
    return k === i ? next[i] + mfp.project[c - offsets[i]] : next[k] + c - offsets[k];
  };
  const equivalences = join.equivalences.map((cls) => cls.map((e) => remap(e, to)));
  const all = join.inputs.flatMap((input) => columnsOf(input));
  const kept = mfp.filter.filter((f) => {
    const tested = notNullArgument(f);
    const at = tested?.kind === 'column' ? x.columns.indexOf(tested.index) : -1;
    // NULL meets only NULL, and the other side has none.
    return at < 0 || !x.classes[at].some((e) => inputOf(e, offsets) !== i && !isNullable(e, all));
  });
  const tests = kept.map((f) => remap(f, (c) => next[i] + c));
  const width = all.length;
  return project(
    filter({ ...join, inputs, equivalences }, tests),
    Array.from({ length: width }, (_, c) => to(c)),
  );
}
