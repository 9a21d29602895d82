/** Building and composing map-filter-project steps. */
import { assert } from '../base/assert.ts';
import { canFail, columnsOf, mapColumns } from './expr-tree.ts';
import { identityMfp, type Mfp, type ScalarExpr } from './scalar.ts';

/** Keeps only rows where the predicates hold; they read the output of `m`. */
export function filterMfp(m: Mfp, predicates: readonly ScalarExpr[]): Mfp {
  if (predicates.length === 0) return m;
  return { ...m, filter: [...m.filter, ...predicates.map((p) => mapColumns(p, (i) => m.project[i]!))] };
}

/** Appends columns to the output; each reads the output of `m` and the columns appended before it. */
export function mapMfp(m: Mfp, exprs: readonly ScalarExpr[]): Mfp {
  const map = [...m.map];
  const project = [...m.project];
  for (const e of exprs) {
    const moved = mapColumns(e, (i) => project[i]!);
    if (moved.kind === 'column') project.push(moved.index);
    else {
      project.push(m.inputArity + map.length);
      map.push(moved);
    }
  }
  return { ...m, map, project };
}

/** Picks columns of the output. */
export const projectMfp = (m: Mfp, columns: readonly number[]): Mfp => ({
  ...m,
  project: columns.map((c) => m.project[c]!),
});

/** `second` after `first`, as one. */
export function composeMfp(first: Mfp, second: Mfp): Mfp {
  assert(
    second.inputArity === first.project.length,
    `composed steps fit: ${first.project.length} columns out, ${second.inputArity} in`,
  );
  // Predicates keep their level: those over columns of `first` run before the maps of `second`.
  const mapped = mapMfp(first, second.map);
  const filtered = filterMfp(mapped, second.filter);
  return projectMfp(filtered, second.project);
}

/** From expressions over the input: one output column each. */
export function mfpOfExpressions(inputArity: number, exprs: readonly ScalarExpr[]): Mfp {
  const m = mapMfp(identityMfp(inputArity), exprs);
  return { ...m, project: m.project.slice(inputArity) };
}

/** Without map columns that nothing reads and that cannot fail, and without predicates that are TRUE. */
export function pruneMfp(m: Mfp): Mfp {
  const filter = m.filter.filter((f) => !(f.kind === 'literal' && f.value === true));
  const used = new Set<number>(m.project);
  for (const f of filter) columnsOf(f, used);
  for (let k = m.map.length - 1; k >= 0; k--)
    if (used.has(m.inputArity + k) || canFail(m.map[k]!)) {
      used.add(m.inputArity + k);
      columnsOf(m.map[k]!, used);
    }
  const target = new Map<number, number>();
  for (let i = 0; i < m.inputArity; i++) target.set(i, i);
  const map: ScalarExpr[] = [];
  m.map.forEach((e, k) => {
    if (!used.has(m.inputArity + k)) return;
    target.set(m.inputArity + k, m.inputArity + map.length);
    map.push(mapColumns(e, (i) => target.get(i)!));
  });
  if (map.length === m.map.length && filter.length === m.filter.length) return m;
  const at = (i: number): number => target.get(i)!;
  return {
    inputArity: m.inputArity,
    map,
    filter: filter.map((f) => mapColumns(f, at)),
    project: m.project.map(at),
  };
}

/** Input columns that a step reads, in order. */
export function inputsOf(m: Mfp): readonly number[] {
  const used = new Set<number>(m.project);
  for (const e of [...m.map, ...m.filter]) columnsOf(e, used);
  return [...used].filter((i) => i < m.inputArity).sort((a, b) => a - b);
}

/** The same step over an input of which only the given columns remain, in the given order. */
export function narrowMfp(m: Mfp, columns: readonly number[]): Mfp {
  const target = new Map(columns.map((c, i) => [c, i]));
  const at = (i: number): number => {
    if (i >= m.inputArity) return i - m.inputArity + columns.length;
    const t = target.get(i);
    assert(t !== undefined, `column ${i} remains in the input`);
    return t;
  };
  return {
    inputArity: columns.length,
    map: m.map.map((e) => mapColumns(e, at)),
    filter: m.filter.map((e) => mapColumns(e, at)),
    project: m.project.map(at),
  };
}
