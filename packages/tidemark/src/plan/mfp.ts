/** Runs of Map, Filter and Project as one step, and steps composed. */
import { identityMfp, type Mfp, type ScalarExpr } from '../expr/scalar.ts';
import { arityOf, filter, type Mir, map, project } from './mir.ts';
import { remap } from './scalar-walk.ts';

/** The steps at the top of a plan, and what is below them. */
export function takeMfp(mir: Mir): { readonly mfp: Mfp; readonly input: Mir } {
  switch (mir.op) {
    case 'Project': {
      const { mfp, input } = takeMfp(mir.input);
      return { mfp: { ...mfp, project: mir.outputs.map((c) => mfp.project[c]) }, input };
    }
    case 'Filter': {
      const { mfp, input } = takeMfp(mir.input);
      const filters = mir.predicates.map((p) => remap(p, (c) => mfp.project[c]));
      return { mfp: { ...mfp, filter: [...mfp.filter, ...filters] }, input };
    }
    case 'Map': {
      const { mfp, input } = takeMfp(mir.input);
      const out = [...mfp.project];
      const exprs = [...mfp.map];
      for (const e of mir.exprs) {
        const over = remap(e, (c) => out[c]);
        if (over.kind === 'column') out.push(over.index);
        else out.push(mfp.inputArity + exprs.push(over) - 1);
      }
      return { mfp: { ...mfp, map: exprs, project: out }, input };
    }
    default:
      return { mfp: identityMfp(arityOf(mir)), input: mir };
  }
}

/** The step as nodes over an input. */
export function applyMfp(input: Mir, mfp: Mfp): Mir {
  return project(filter(map(input, mfp.map), mfp.filter), mfp.project);
}

/** The step without map expressions that nothing reads. */
export function pruneMfp(mfp: Mfp): Mfp {
  const used = new Set(mfp.project);
  const visit = (e: ScalarExpr): void => {
    if (e.kind === 'column') {
      if (e.index >= mfp.inputArity && !used.has(e.index)) {
        used.add(e.index);
        visit(mfp.map[e.index - mfp.inputArity]);
      }
    } else if ('args' in e) e.args.forEach(visit);
  };
  for (const c of mfp.project) if (c >= mfp.inputArity) visit(mfp.map[c - mfp.inputArity]);
  mfp.filter.forEach((f) => {
    visit(f);
  });
  const kept = mfp.map.map((_, i) => i).filter((i) => used.has(mfp.inputArity + i));
  if (kept.length === mfp.map.length) return mfp;
  const to = (c: number): number =>
    c < mfp.inputArity ? c : mfp.inputArity + kept.indexOf(c - mfp.inputArity);
  return {
    inputArity: mfp.inputArity,
    map: kept.map((i) => remap(mfp.map[i], to)),
    filter: mfp.filter.map((f) => remap(f, to)),
    project: mfp.project.map(to),
  };
}
