import { functionById } from '../expr/registry.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import { type } from '../repr/types.ts';
import {
  alwaysOneRow,
  atMostOneRow,
  joinBack,
  keysFor,
  type Laid,
  type LoweringRules,
  positions,
} from './decorrelate-parts.ts';
import { exprColumns, freeColumns, type HExpr, type HRel, hasSubquery, relColumns } from './hir.ts';
import {
  aggregateId,
  canon,
  column,
  errorExpr,
  FALSE,
  functionId,
  ifThen,
  isNull,
  notNull,
  nullOf,
  TRUE,
} from './make-scalar.ts';
import {
  columnRef,
  columnsOf,
  distinct,
  filter,
  join,
  keysOf,
  type Mir,
  map,
  negate,
  project,
  reduce,
  UNIT,
  union,
} from './mir.ts';
import { NOT } from './scalar-facts.ts';

type Subquery = Extract<HExpr, { rel: HRel }>;

const TOO_MANY_ROWS = {
  code: 'cardinality_violation',
  message: 'more than one row returned by a subquery used as an expression',
} as const;

export function filterBySubquery(rules: LoweringRules, input: Laid, part: HExpr): Mir {
  const outputs = input.ids.map((_, i) => i);
  const negated = part.kind === 'call' && part.func === NOT;
  const sub = negated ? part.args[0] : part;
  if (sub.kind === 'existsQuery') {
    const rel = sub.rel;
    return rules.share(input.mir, (shared) => semijoin(rules, { mir: shared, ids: input.ids }, rel, negated));
  }
  if (sub.kind === 'anyQuery' && !negated) {
    const direct = inUncorrelated(rules, input, sub);
    if (direct !== undefined) return direct;
    const rel: HRel = { kind: 'filter', input: sub.rel, predicate: sub.condition };
    return rules.share(input.mir, (shared) => semijoin(rules, { mir: shared, ids: input.ids }, rel, false));
  }
  const { laid, exprs } = rules.exprs(input, [part]);
  return project(filter(laid.mir, exprs), outputs);
}

/** Rows for which `rel` has rows, or has none. */
function semijoin(rules: LoweringRules, input: Laid, rel: HRel, negated: boolean): Mir {
  const free = [...freeColumns(rel)];
  const found = rules.lower(rel, keysFor(input, free));
  const matched = distinct(
    project(
      found.mir,
      free.map((_, i) => i),
    ),
  );
  const positionsOfKeys = positions(input, free);
  const outputs = input.ids.map((_, i) => i);
  const some = join(
    [input.mir, matched],
    positionsOfKeys.map((p, i) => [
      columnRef(input.mir, p),
      column(input.ids.length + i, columnsOf(matched)[i].type),
    ]),
  );
  const rows = project(some, outputs);
  return negated ? union([input.mir, negate(rows)]) : rows;
}

/** `x IN (query)` with a query of its own: one distinct set, joined on x. */
function inUncorrelated(
  rules: LoweringRules,
  input: Laid,
  e: Extract<HExpr, { kind: 'anyQuery' }>,
): Mir | undefined {
  const c = e.condition;
  const own = relColumns(e.rel).map((x) => x.id);
  if (freeColumns(e.rel).size > 0 || c.kind !== 'call' || functionById(c.func).name !== '=') return undefined;
  const [x, y] = c.args;
  if (hasSubquery(x) || [...exprColumns(x)].some((id) => own.includes(id))) return undefined;
  if (hasSubquery(y) || ![...exprColumns(y)].every((id) => own.includes(id))) return undefined;
  const found = rules.lower(e.rel, { mir: UNIT, ids: [] });
  const value = canon(rules.scalar(y, found.ids));
  const set = reduce(filter(found.mir, [notNull(value)]), [value]);
  const mine = canon(rules.scalar(x, input.ids));
  if (mine.type.name !== value.type.name) return undefined;
  const arity = input.ids.length;
  const joined = join([filter(input.mir, [notNull(mine)]), set], [[mine, column(arity, value.type)]]);
  return project(
    joined,
    input.ids.map((_, i) => i),
  );
}

/** The input with one more column, the subquery's value. */
export function subqueryColumn(
  rules: LoweringRules,
  input: Laid,
  e: Subquery,
  guards: readonly ScalarExpr[],
): Mir {
  const own = new Set(relColumns(e.rel).map((c) => c.id));
  const reads = e.kind === 'anyQuery' ? [...exprColumns(e.condition)].filter((id) => !own.has(id)) : [];
  const free = [...new Set([...freeColumns(e.rel), ...reads])];
  return rules.share(input.mir, (shared) => {
    const laid: Laid = { mir: shared, ids: input.ids };
    // What may have too many rows is asked only if there is a row that asks.
    const anyone = e.kind === 'scalarQuery' && free.length === 0 && !atMostOneRow(e.rel);
    const keys = anyone ? distinct(project(shared, [])) : keysFor(laid, free).mir;
    return rules.share(keys, (all) => {
      const asked =
        guards.length === 0 ? all : distinct(project(filter(shared, guards), positions(laid, free)));
      const answered = answers(rules, e, { mir: asked, ids: free }, all);
      return joinBack(laid, { mir: answered, ids: [...free, -1] }, free);
    });
  });
}

/** For each of the keys: the key and the subquery's value, exactly once. */
function answers(rules: LoweringRules, e: Subquery, asked: Laid, all: Mir): Mir {
  const keys = asked.ids.map((_, i) => i);
  const missing = (answered: Mir): Mir => union([all, negate(project(answered, keys))]);
  const found = rules.lower(e.rel, asked);
  if (e.kind === 'existsQuery') {
    return rules.share(distinct(project(found.mir, keys)), (matched) =>
      union([map(matched, [TRUE]), map(missing(matched), [FALSE])]),
    );
  }
  if (e.kind === 'scalarQuery') {
    const values = project(found.mir, [...keys, keys.length]);
    if (alwaysOneRow(e.rel) && all === asked.mir) return values;
    return rules.share(atMostOne(rules, values, keys), (r) => union([r, map(missing(r), [nullOf(e.type)])]));
  }
  const condition = rules.scalar(e.condition, found.ids);
  const input = project(map(found.mir, [condition, isNull<ScalarExpr>(condition)]), [
    ...keys,
    found.ids.length,
    found.ids.length + 1,
  ]);
  const boolOr = (c: number) => ({
    func: aggregateId('bool_or', [type('bool')]),
    args: [column(c, type('bool'))],
    distinct: false,
    orderBy: [],
    type: type('bool'),
  });
  const grouped = reduce(
    input,
    keys.map((k) => columnRef(input, k)),
    [boolOr(keys.length), boolOr(keys.length + 1)],
  );
  const value = ifThen<ScalarExpr>(
    column(keys.length, type('bool')),
    TRUE,
    ifThen<ScalarExpr>(column(keys.length + 1, type('bool')), nullOf(type('bool')), FALSE, type('bool')),
    type('bool'),
  );
  const answered = project(map(grouped, [value]), [...keys, keys.length + 2]);
  return rules.share(answered, (r) => union([r, map(missing(r), [FALSE])]));
}

/** The rows, and an error if a key has more than one. */
function atMostOne(rules: LoweringRules, values: Mir, keys: readonly number[]): Mir {
  if (keysOf(values).some((k) => k.every((c) => keys.includes(c)))) return values;
  const valueType = columnsOf(values)[keys.length].type;
  return rules.share(values, (r) => {
    const count = {
      func: aggregateId('count', []),
      args: [],
      distinct: false,
      orderBy: [],
      type: type('int8'),
    };
    const counted = reduce(
      r,
      keys.map((k) => columnRef(r, k)),
      [count],
    );
    const more: ScalarExpr = {
      kind: 'call',
      func: functionId('>', [type('int8'), type('int8')]),
      args: [column(keys.length, type('int8')), { kind: 'literal', value: 1n, type: type('int8') }],
      type: type('bool'),
    };
    const errors = map(filter(counted, [more]), [errorExpr(TOO_MANY_ROWS, valueType)]);
    return union([r, project(errors, [...keys, keys.length + 1])]);
  });
}
