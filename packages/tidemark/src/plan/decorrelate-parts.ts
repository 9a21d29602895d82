/** Pieces of decorrelation: plans beside the HIR columns that they hold, and the joins and keys made of them. */
import { assert } from '../base/assert.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import type { ColumnId, HExpr, HOrder, HRel } from './hir.ts';
import { canon, column } from './make-scalar.ts';
import {
  arityOf,
  type Column,
  columnRef,
  columnsOf,
  distinct,
  join,
  type Mir,
  map,
  project,
  reduce,
  UNIT,
} from './mir.ts';

/** A plan and which HIR column each of its columns is. */
export interface Laid {
  readonly mir: Mir;
  readonly ids: readonly ColumnId[];
}
/** Without names and numbers: equal plans are equal data. */
export const plain = (columns: readonly Column[]): readonly Column[] =>
  columns.map(({ type: t, nullable }) => ({ type: t, nullable }));

export const positions = (laid: Laid, ids: readonly ColumnId[]): readonly number[] =>
  ids.map((id) => {
    const at = laid.ids.indexOf(id);
    assert(at >= 0, `column ${id} is in scope`);
    return at;
  });

export const orderKeys = (list: readonly HOrder[], ids: readonly ColumnId[]) =>
  list.map((o) => ({ column: ids.indexOf(o.id), desc: o.desc, nullsFirst: o.nullsFirst }));

/** `left` beside those rows of `right` (key columns first) that have its values of the key; without the second key. */
export function joinBack(left: Laid, right: Laid, key: readonly ColumnId[]): Mir {
  const arity = left.ids.length;
  const joined = join(
    [left.mir, right.mir],
    key.map((id) => {
      const mine = columnRef(left.mir, left.ids.indexOf(id));
      return [mine, column(arity + right.ids.indexOf(id), mine.type)];
    }),
  );
  const kept = right.ids.flatMap((id, i) => (key.includes(id) ? [] : [arity + i]));
  return project(joined, [...left.ids.map((_, i) => i), ...kept]);
}

/** The rows of `input` that stand in the set `rows`. */
export function semijoinOn(input: Mir, rows: Mir, outputs: readonly number[]): Mir {
  const arity = outputs.length;
  const equal = outputs.map((c) => [columnRef(input, c), column(arity + c, columnsOf(input)[c].type)]);
  return project(join([input, rows], equal), outputs);
}

export function conjuncts(e: HExpr | undefined): readonly HExpr[] {
  if (e === undefined) return [];
  if (e.kind === 'and') return e.args.flatMap(conjuncts);
  return e.kind === 'literal' && e.value === true ? [] : [e];
}

/** Every column from `from` on in the canonical form of its type; what is before is the outer row, which stays itself. */
export function canonColumns(input: Mir, from: number): Mir {
  const columns = columnsOf(input);
  const exprs = columns.flatMap((_, i) => {
    const c = columnRef(input, i);
    const k = i < from ? c : canon(c);
    return k === c ? [] : [{ at: i, expr: k }];
  });
  if (exprs.length === 0) return input;
  const outputs = columns.map((_, i) => {
    const at = exprs.findIndex((e) => e.at === i);
    return at < 0 ? i : columns.length + at;
  });
  return project(
    map(
      input,
      exprs.map((e) => e.expr),
    ),
    outputs,
  );
}
/** The columns in canonical form, appended where they are not in it already. */
export function canonAppended(
  input: Mir,
  list: readonly number[],
): { readonly mir: Mir; readonly columns: readonly number[] } {
  const exprs: ScalarExpr[] = [];
  const columns = list.map((i) => {
    const c = columnRef(input, i);
    const k = canon(c);
    return k === c ? i : arityOf(input) + exprs.push(k) - 1;
  });
  return { mir: map(input, exprs), columns };
}
export function distinctCanon(input: Mir, from: number): Mir {
  return reduce(
    input,
    columnsOf(input).map((_, i) => (i < from ? columnRef(input, i) : canon(columnRef(input, i)))),
  );
}

/** Whether the relation has one row whatever its inputs hold. */
export function alwaysOneRow(rel: HRel): boolean {
  if (rel.kind === 'reduce') return rel.global;
  if (rel.kind === 'map' || rel.kind === 'project') return alwaysOneRow(rel.input);
  return rel.kind === 'values' && rel.rows.length === 1;
}

export function atMostOneRow(rel: HRel): boolean {
  if (rel.kind === 'topK') return rel.limit !== null && rel.limit <= 1 && rel.groupKey.length === 0;
  if (rel.kind === 'map' || rel.kind === 'project' || rel.kind === 'filter') return atMostOneRow(rel.input);
  return alwaysOneRow(rel);
}

/** What the parts of decorrelation ask of the whole: the recursion, given to them so that no module imports in a circle. */
export interface LoweringRules {
  /** `body` over a plan that it uses more than once. */
  share(value: Mir, body: (shared: Mir) => Mir): Mir;
  lower(rel: HRel, outer: Laid): Laid;
  /** An expression without subqueries over the columns `ids`. */
  scalar(e: HExpr, ids: readonly ColumnId[]): ScalarExpr;
  exprs(input: Laid, list: readonly HExpr[]): { readonly laid: Laid; readonly exprs: readonly ScalarExpr[] };
  applyPredicate(input: Laid, predicate: HExpr): Laid;
}

/** The distinct values of the columns: what a correlated relation is computed for. */
export function keysFor(laid: Laid, ids: readonly ColumnId[]): Laid {
  if (ids.length === 0) return { mir: UNIT, ids };
  return { mir: distinct(project(laid.mir, positions(laid, ids))), ids };
}
