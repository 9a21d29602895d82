/**
 * push-predicates: each filter as far down as it stays the same filter. A predicate that may fail moves past what
 * keeps every row, never past a join, a grouping or a table function, so that it meets no row that these would have
 * kept from it. `a = b` over two inputs of a join becomes a class of the join, with the NULLs filtered on both sides.
 */
import { canFail } from '../../expr/expr-tree.ts';
import { functionById } from '../../expr/registry.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import { isNullable } from '../../expr/simplify.ts';
import { canon, notNull } from '../make-scalar.ts';
import { arityOf, columnsOf, filter, type Mir, type MirJoin, map, mapChildren, project } from '../mir.ts';
import { fixedColumn, isEquality, NOT } from '../scalar-facts.ts';
import { columnsRead, inlineMap, remap, sameScalar, shift, substitute } from '../scalar-walk.ts';
import { inputOf, mergeClasses, offsetsOf } from './equivalences.ts';
import type { Rule } from './rule.ts';

export const pushPredicates: Rule = {
  name: 'push-predicates',
  apply: (mir) => push(mir, []),
};

const readsOnly = (p: ScalarExpr, ok: (c: number) => boolean): boolean => [...columnsRead(p)].every(ok);

/** `Filter(node, predicates)`, pushed. */
function push(node: Mir, predicates: readonly ScalarExpr[]): Mir {
  switch (node.op) {
    case 'Filter':
      return push(node.input, merge(node.predicates, predicates));
    case 'Project':
      return project(
        push(
          node.input,
          predicates.map((p) => remap(p, (c) => node.outputs[c])),
        ),
        node.outputs,
      );
    case 'Map':
      return pushMap(node, predicates);
    case 'Union':
      return { ...node, inputs: node.inputs.map((i) => push(i, predicates)) };
    case 'Negate':
    case 'Threshold':
      return { ...node, input: push(node.input, predicates) };
    case 'Let':
      return { ...node, value: push(node.value, []), body: push(node.body, predicates) };
    case 'Reduce': {
      const arity = node.key.length;
      const [down, stay] = split(
        predicates,
        (p) => !canFail(p) && columnsRead(p).size > 0 && readsOnly(p, (c) => c < arity),
      );
      const input = push(
        node.input,
        down.map((p) => substitute(p, (c) => node.key[c])),
      );
      return filter({ ...node, input }, stay);
    }
    case 'TopK': {
      const [down, stay] = split(
        predicates,
        (p) => !canFail(p) && columnsRead(p).size > 0 && readsOnly(p, (c) => node.groupKey.includes(c)),
      );
      return filter({ ...node, input: push(node.input, down) }, stay);
    }
    case 'FlatMap': {
      const arity = arityOf(node.input);
      const [down, stay] = split(predicates, (p) => !canFail(p) && readsOnly(p, (c) => c < arity));
      return filter({ ...node, input: push(node.input, down) }, stay);
    }
    case 'Join':
      return pushJoin(node, predicates);
    default:
      return filter(
        mapChildren(node, (c) => push(c, [])),
        predicates,
      );
  }
}

function merge(a: readonly ScalarExpr[], b: readonly ScalarExpr[]): readonly ScalarExpr[] {
  const out: ScalarExpr[] = [];
  for (const p of [...a, ...b].flatMap((x) => (x.kind === 'and' ? x.args : [x])))
    if (!out.some((x) => sameScalar(x, p))) out.push(p);
  return out;
}
function split<T>(list: readonly T[], test: (x: T) => boolean): [T[], T[]] {
  return [list.filter(test), list.filter((x) => !test(x))];
}

/**
 * Columns that only rename pass a predicate on. What reads a computed value stays above its computation, unless a join below compares
 * by it: without it that join would be a cross join.
 */
function pushMap(node: Extract<Mir, { op: 'Map' }>, predicates: readonly ScalarExpr[]): Mir {
  const arity = arityOf(node.input);
  const simple = (c: number): boolean => {
    if (c < arity) return true;
    const e = inlineMap(node.exprs[c - arity], arity, node.exprs);
    return e.kind === 'column' || e.kind === 'literal';
  };
  const inlined = (p: ScalarExpr): ScalarExpr => inlineMap(p, arity, node.exprs);
  const [down, stay] = split(predicates, (p) => readsOnly(p, simple) || joins(node.input, inlined(p)));
  const input = push(node.input, down.map(inlined));
  return filter(map(input, node.exprs), stay);
}

/** Whether a predicate over `node` is an equality that cannot fail of two inputs of the join that `node` is made of. */
function joins(node: Mir, p: ScalarExpr): boolean {
  switch (node.op) {
    case 'Filter':
      return joins(node.input, p);
    case 'Project':
      return joins(
        node.input,
        remap(p, (c) => node.outputs[c]),
      );
    case 'Map':
      return joins(node.input, inlineMap(p, arityOf(node.input), node.exprs));
    case 'Join':
      return !canFail(p) && joinedPair(p, offsetsOf(node.inputs)) !== undefined;
    default:
      return false;
  }
}

function pushJoin(node: MirJoin, given: readonly ScalarExpr[]): Mir {
  const offsets = offsetsOf(node.inputs);
  const columns = node.inputs.flatMap((i) => columnsOf(i));
  const down: ScalarExpr[][] = node.inputs.map(() => []);
  const classes: (readonly ScalarExpr[])[] = [...node.equivalences];
  const stay: ScalarExpr[] = [];
  const sink = (p: ScalarExpr, input: number): void => {
    down[input].push(shift(p, -offsets[input]));
  };
  for (const p of merge([], given)) {
    const pair = joinedPair(p, offsets);
    if (pair !== undefined) {
      classes.push(pair.members.map((m) => m.expr));
      if (!pair.nullSafe)
        for (const { expr, input } of pair.members) if (isNullable(expr, columns)) sink(notNull(expr), input);
      continue;
    }
    const input = inputOf(p, offsets);
    if (input === undefined || input < 0 || canFail(p)) stay.push(p);
    else sink(p, input);
  }
  const merged = mergeClasses(classes);
  carryOver(merged, down, offsets);
  const inputs = node.inputs.map((input, i) => push(input, merge([], down[i])));
  return filter({ ...node, inputs, equivalences: merged }, stay);
}

/** The sides of an equality, each of another input. */
function joinedPair(
  p: ScalarExpr,
  offsets: readonly number[],
):
  | {
      readonly members: readonly { readonly expr: ScalarExpr; readonly input: number }[];
      readonly nullSafe: boolean;
    }
  | undefined {
  const pair = comparedPair(p);
  if (pair === undefined) return undefined;
  const [a, b] = pair.args.map(canon);
  const [ia, ib] = [inputOf(a, offsets) ?? -1, inputOf(b, offsets) ?? -1];
  if (ia < 0 || ib < 0 || ia === ib || a.type.name !== b.type.name) return undefined;
  const members = [
    { expr: a, input: ia },
    { expr: b, input: ib },
  ];
  return { members, nullSafe: pair.nullSafe };
}

/** The sides of `a = b`, or of `a IS NOT DISTINCT FROM b`. */
function comparedPair(
  p: ScalarExpr,
): { readonly args: readonly ScalarExpr[]; readonly nullSafe: boolean } | undefined {
  if (isEquality(p)) return { args: p.args, nullSafe: false };
  if (p.kind !== 'call' || p.func !== NOT) return undefined;
  const [inner] = p.args;
  if (inner.kind !== 'call' || functionById(inner.func).name !== 'is_distinct') return undefined;
  return { args: inner.args, nullSafe: true };
}

/** A column held to a literal holds every column that the join makes equal to it, so that each side may look it up. */
function carryOver(
  classes: readonly (readonly ScalarExpr[])[],
  down: ScalarExpr[][],
  offsets: readonly number[],
): void {
  const found = down.flatMap((list, i) =>
    list.flatMap((p) => {
      const column = fixedColumn(p);
      return column === undefined ? [] : [{ p, column: column + offsets[i] }];
    }),
  );
  for (const { p, column } of found)
    for (const cls of classes) {
      if (!cls.some((e) => e.kind === 'column' && e.index === column)) continue;
      for (const e of cls) {
        if (e.kind !== 'column' || e.index === column) continue;
        const i = offsets.findLastIndex((o) => o <= e.index);
        down[i].push(remap(p, () => e.index - offsets[i]));
      }
    }
}
