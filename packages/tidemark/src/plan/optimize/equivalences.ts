/**
 * Classes of equal expressions. A class compares between inputs; what it says about one input alone (two members in
 * it, or a literal) is a filter of that input. Classes that share a member are one.
 */
import { assert } from '../../base/assert.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { type } from '../../repr/types.ts';
import { functionId, isNull, not } from '../make-scalar.ts';
import { arityOf, filter, type Mir, type MirJoin } from '../mir.ts';
import { columnsRead, sameScalar, shift } from '../scalar-walk.ts';

/** Byte equality, NULL equal to NULL. */
export function sameValue(a: ScalarExpr, b: ScalarExpr): ScalarExpr {
  if (a.kind === 'literal' && a.value === null) return isNull<ScalarExpr>(b) as ScalarExpr;
  if (b.kind === 'literal' && b.value === null) return isNull<ScalarExpr>(a) as ScalarExpr;
  const func = functionId('is_distinct', [a.type, b.type]);
  return not<ScalarExpr>({ kind: 'call', func, args: [a, b], type: type('bool') });
}

export function offsetsOf(inputs: readonly Mir[]): readonly number[] {
  const out = [0];
  for (const i of inputs) out.push(out[out.length - 1] + arityOf(i));
  return out;
}

/** The input that an expression reads: -1 for none, undefined for several. */
export function inputOf(e: ScalarExpr, offsets: readonly number[]): number | undefined {
  let found = -1;
  for (const c of columnsRead(e)) {
    const i = offsets.findLastIndex((o) => o <= c);
    if (found >= 0 && i !== found) return undefined;
    found = i;
  }
  return found;
}

export function mergeClasses(
  classes: readonly (readonly ScalarExpr[])[],
): readonly (readonly ScalarExpr[])[] {
  const out: ScalarExpr[][] = [];
  for (const cls of classes) {
    const touching = out.filter((o) => cls.some((e) => o.some((x) => sameScalar(e, x))));
    const merged: ScalarExpr[] = [];
    for (const e of [...touching.flat(), ...cls]) if (!merged.some((x) => sameScalar(x, e))) merged.push(e);
    for (const t of touching) out.splice(out.indexOf(t), 1);
    out.push(merged);
  }
  return out;
}

/** The same join, where each class has at most one member an input and no literal. */
export function oneMemberAnInput(join: MirJoin): MirJoin {
  const offsets = offsetsOf(join.inputs);
  const tests: ScalarExpr[][] = join.inputs.map(() => []);
  const classes: ScalarExpr[][] = [];
  let changed = false;
  for (const cls of mergeClasses(join.equivalences)) {
    const members = cls.map((expr) => ({ expr, input: inputOf(expr, offsets) }));
    assert(
      members.every((m) => m.input !== undefined),
      'a member of a class reads one input',
    );
    const constant = members.find((m) => m.input === -1)?.expr;
    const kept: ScalarExpr[] = [];
    join.inputs.forEach((_, i) => {
      const [first, ...rest] = members.filter((m) => m.input === i).map((m) => shift(m.expr, -offsets[i]));
      if (first === undefined) return;
      for (const r of rest) tests[i].push(sameValue(first, r));
      if (constant !== undefined) tests[i].push(sameValue(first, constant));
      kept.push(shift(first, offsets[i]));
    });
    if (kept.length < cls.length) changed = true;
    // What is equal to a literal on every side needs no comparison between the sides.
    if (kept.length > 1 && constant === undefined) classes.push(kept);
    else changed = true;
  }
  if (!changed && classes.length === join.equivalences.length) return join;
  return { ...join, inputs: join.inputs.map((input, i) => filter(input, tests[i])), equivalences: classes };
}
