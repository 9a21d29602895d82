/**
 * fuse-joins: a join of joins is one join of all the inputs, whose order is then free. What stands between (maps,
 * filters, projections) goes above.
 */
import type { ScalarExpr } from '../../expr/scalar.ts';
import { takeMfp } from '../mfp.ts';
import { arityOf, columnsOf, filter, type Mir, type MirJoin, map, project, rewrite } from '../mir.ts';
import { inlineMap, shift, substitute } from '../scalar-walk.ts';
import { inputOf, offsetsOf, sameValue } from './equivalences.ts';
import type { Rule } from './rule.ts';

export const fuseJoins: Rule = {
  name: 'fuse-joins',
  apply: (mir) => rewrite(mir, (node) => (node.op === 'Join' ? fuse(node) : node)),
};

function fuse(node: MirJoin): Mir {
  const parts = node.inputs.map((input) => ({ input, ...takeMfpOver(input) }));
  if (!parts.some((p) => p.core.op === 'Join')) return node;
  const inputs: Mir[] = [];
  const classes: (readonly ScalarExpr[])[] = [];
  const filters: ScalarExpr[] = [];
  // What each column of the old join is, over the columns of the new one.
  const columns: ScalarExpr[] = [];
  let offset = 0;
  for (const { input, core, mfp } of parts) {
    const at = offset;
    if (core.op !== 'Join') {
      inputs.push(input);
      columns.push(...columnRefs(input, at));
      offset += arityOf(input);
      continue;
    }
    inputs.push(...core.inputs);
    classes.push(...core.equivalences.map((cls) => cls.map((e) => shift(e, at))));
    const over = (e: ScalarExpr): ScalarExpr => shift(inlineMap(e, mfp.inputArity, mfp.map), at);
    filters.push(...mfp.filter.map(over));
    const types = columnRefs(input, 0);
    columns.push(...mfp.project.map((c, i) => over({ kind: 'column', index: c, type: types[i].type })));
    offset += arityOf(core);
  }
  const offsets = offsetsOf(inputs);
  for (const cls of node.equivalences) {
    const members = cls.map((e) => substitute(e, (c) => columns[c]));
    // A member that was computed over a join reads several inputs now: it is compared after the join.
    const [within, across] = [true, false].map((is) =>
      members.filter((e) => (inputOf(e, offsets) !== undefined) === is),
    );
    const [first] = [...within, ...across];
    filters.push(...across.filter((e) => e !== first).map((e) => sameValue(first, e)));
    if (within.length > 1) classes.push(within);
  }
  const fused: Mir = { op: 'Join', inputs, equivalences: classes };
  const computed: ScalarExpr[] = [];
  const outputs = columns.map((e) => (e.kind === 'column' ? e.index : offset + computed.push(e) - 1));
  return project(map(filter(fused, filters), computed), outputs);
}

function takeMfpOver(input: Mir) {
  const { mfp, input: core } = takeMfp(input);
  return { mfp, core };
}
function columnRefs(input: Mir, offset: number): ScalarExpr[] {
  return Array.from({ length: arityOf(input) }, (_, i) => ({
    kind: 'column' as const,
    index: offset + i,
    type: columnsOf(input)[i].type,
  }));
}
