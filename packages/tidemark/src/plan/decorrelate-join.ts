import { functionById } from '../expr/registry.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import {
  conjuncts,
  joinBack,
  keysFor,
  type Laid,
  type LoweringRules,
  positions,
  semijoinOn,
} from './decorrelate-parts.ts';
import {
  type ColumnId,
  exprColumns,
  freeColumns,
  type HExpr,
  type HRel,
  hasSubquery,
  relColumns,
} from './hir.ts';
import { canon, column, notNull, nullOf } from './make-scalar.ts';
import {
  arityOf,
  columnRef,
  distinct,
  filter,
  join,
  type Mir,
  map,
  negate,
  project,
  reduce,
  union,
} from './mir.ts';

type OuterJoin = Extract<HRel, { kind: 'join' }>;

export function leftJoin(rules: LoweringRules, rel: OuterJoin, outer: Laid): Laid {
  const left = rules.lower(rel.left, outer);
  const rightColumns = relColumns(rel.right);
  const ids = [...left.ids, ...rightColumns.map((c) => c.id)];
  const nulls = rightColumns.map((c) => nullOf(c.type));
  const mir = rules.share(left.mir, (l) => {
    const laid: Laid = { mir: l, ids: left.ids };
    const free = [...freeColumns(rel.right)].filter((id) => left.ids.includes(id));
    const keys = keysFor(laid, free);
    return rules.share(rules.lower(rel.right, keys).mir, (r) => {
      const right: Laid = { mir: r, ids: [...free, ...rightColumns.map((c) => c.id)] };
      const both: Laid = { mir: joinBack(laid, right, free), ids };
      const inner = rel.on === undefined ? both : rules.applyPredicate(both, rel.on);
      return rules.share(inner.mir, (matched) => {
        const unmatched = withoutMatch(rules, { laid, other: right, free, on: rel.on, matched });
        return union([matched, map(unmatched, nulls)]);
      });
    });
  });
  return { mir, ids };
}

export function fullJoin(rules: LoweringRules, rel: OuterJoin, outer: Laid, ids: readonly ColumnId[]): Mir {
  const leftColumns = relColumns(rel.left);
  const rightColumns = relColumns(rel.right);
  return rules.share(outer.mir, (o) => {
    const shared: Laid = { mir: o, ids: outer.ids };
    return rules.share(rules.lower(rel.left, shared).mir, (l) =>
      rules.share(rules.lower(rel.right, shared).mir, (r) => {
        const left: Laid = { mir: l, ids: [...outer.ids, ...leftColumns.map((c) => c.id)] };
        const right: Laid = { mir: r, ids: [...outer.ids, ...rightColumns.map((c) => c.id)] };
        const both: Laid = { mir: joinBack(left, right, outer.ids), ids };
        const inner = rel.on === undefined ? both : rules.applyPredicate(both, rel.on);
        return rules.share(inner.mir, (matched) => {
          const common = { free: outer.ids, on: rel.on, matched };
          const onlyLeft = withoutMatch(rules, { laid: left, other: right, ...common });
          const onlyRight = withoutMatch(rules, { laid: right, other: left, ...common, matchedIds: ids });
          const padded = map(
            onlyRight,
            leftColumns.map((c) => nullOf(c.type)),
          );
          const paddedIds = [...right.ids, ...leftColumns.map((c) => c.id)];
          return union([
            matched,
            map(
              onlyLeft,
              rightColumns.map((c) => nullOf(c.type)),
            ),
            project(padded, positions({ mir: padded, ids: paddedIds }, ids)),
          ]);
        });
      }),
    );
  });
}

/**
 * The rows of `laid` without a partner. If the condition only compares expressions of the two sides (and tests the
 * other side), the other side's keys say which; else the matched rows themselves do.
 */
function withoutMatch(
  rules: LoweringRules,
  j: {
    readonly laid: Laid;
    readonly other: Laid;
    readonly free: readonly ColumnId[];
    readonly on: HExpr | undefined;
    readonly matched: Mir;
    readonly matchedIds?: readonly ColumnId[];
  },
): Mir {
  const keyed = matchedKeys(rules, j.laid, j.other, j.free, j.on);
  const outputs = j.laid.ids.map((_, i) => i);
  if (keyed !== undefined) {
    const { keys, exprs } = keyed;
    const arity = arityOf(j.laid.mir);
    const tests = exprs.filter((e) => !e.nullSafe).map((e) => notNull(e.expr));
    const some = join(
      [filter(j.laid.mir, tests), keys],
      exprs.map((e, i) => [e.expr, column(arity + i, e.expr.type)]),
    );
    return union([j.laid.mir, negate(project(some, outputs))]);
  }
  const matchedLaid: Laid = { mir: j.matched, ids: j.matchedIds ?? [...j.laid.ids] };
  const rows = distinct(project(j.matched, positions(matchedLaid, j.laid.ids)));
  return union([j.laid.mir, negate(semijoinOn(j.laid.mir, rows, outputs))]);
}

function matchedKeys(
  rules: LoweringRules,
  laid: Laid,
  other: Laid,
  free: readonly ColumnId[],
  on: HExpr | undefined,
) {
  const own = new Set(laid.ids);
  const others = new Set(other.ids.filter((id) => !free.includes(id)));
  const within = (e: HExpr, set: ReadonlySet<ColumnId>): boolean =>
    [...exprColumns(e)].every((id) => set.has(id));
  const exprs: { expr: ScalarExpr; nullSafe: boolean }[] = free.map((id) => ({
    expr: columnRef(laid.mir, laid.ids.indexOf(id)),
    nullSafe: true,
  }));
  const keys: ScalarExpr[] = free.map((id) => columnRef(other.mir, other.ids.indexOf(id)));
  const tests: ScalarExpr[] = [];
  for (const c of conjuncts(on)) {
    if (hasSubquery(c)) return undefined;
    if (within(c, others)) {
      tests.push(rules.scalar(c, other.ids));
      continue;
    }
    if (c.kind !== 'call' || c.args.length !== 2 || functionById(c.func).name !== '=') return undefined;
    const [a, b] = within(c.args[0], own) ? c.args : [c.args[1], c.args[0]];
    if (!within(a, own) || !within(b, others)) return undefined;
    const mine = canon(rules.scalar(a, laid.ids));
    const theirs = canon(rules.scalar(b, other.ids));
    if (mine.type.name !== theirs.type.name) return undefined;
    exprs.push({ expr: mine, nullSafe: false });
    keys.push(theirs);
    tests.push(notNull(theirs));
  }
  return { keys: reduce(filter(other.mir, tests), keys), exprs };
}
