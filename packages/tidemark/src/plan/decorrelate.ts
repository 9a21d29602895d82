/**
 * HIR → MIR. `#lower(rel, outer)` yields, for every row of `outer` (a set of rows: the values that `rel` depends on),
 * that row beside each row which `rel` has for it. So a correlated relation is computed for all outer rows at once,
 * wherever it stands: the caller makes the set of distinct values, and joins the answer back to its own rows, NULL
 * matching NULL. What depends on nothing is lowered over the one row without columns and costs no join.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import { functionById } from '../expr/registry.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import type { Datum } from '../repr/types.ts';
import { type } from '../repr/types.ts';
import { lowerReduce } from './decorrelate-reduce.ts';
import {
  type ColumnId,
  exprColumns,
  freeColumns,
  type HCte,
  type HExpr,
  type HOrder,
  type HRel,
  hasSubquery,
  relColumns,
} from './hir.ts';
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
  arityOf,
  type Column,
  columnRef,
  columnsOf,
  constant,
  distinct,
  filter,
  join,
  keysOf,
  localGet,
  type Mir,
  map,
  negate,
  project,
  reduce,
  threshold,
  UNIT,
  union,
} from './mir.ts';
import { NOT } from './scalar-facts.ts';

/** A plan and which HIR column each of its columns is. */
export interface Laid {
  readonly mir: Mir;
  readonly ids: readonly ColumnId[];
}
type OuterJoin = Extract<HRel, { kind: 'join' }>;
type Subquery = Extract<HExpr, { rel: HRel }>;

export interface DecorrelateOptions {
  /** WITH queries that depend on nothing outside, each after those that it reads. */
  readonly ctes: readonly HCte[];
  readonly parameters: readonly (Datum | undefined)[];
  /** A parameter without a value is NULL: nobody runs the plan. */
  readonly describe?: boolean;
}

/** The plan's columns are those of `rel`, in order. */
export function decorrelate(rel: HRel, options: DecorrelateOptions): Mir {
  const lowering = new Lowering(options);
  return lowering.run(rel);
}

const TOO_MANY_ROWS = {
  code: 'cardinality_violation',
  message: 'more than one row returned by a subquery used as an expression',
} as const;

export class Lowering {
  readonly #options: DecorrelateOptions;
  readonly #ctes = new Map<number, Mir>();
  #nextLocal = 0;

  constructor(options: DecorrelateOptions) {
    this.#options = options;
  }

  run(rel: HRel): Mir {
    const bound: { local: number; value: Mir }[] = [];
    for (const { cte, rel: query } of this.#options.ctes) {
      const value = this.lower(query, { mir: UNIT, ids: [] }).mir;
      const local = this.#nextLocal++;
      this.#ctes.set(cte, localGet(local, value));
      bound.push({ local, value });
    }
    const body = this.lower(rel, { mir: UNIT, ids: [] }).mir;
    return bound.reduceRight<Mir>(
      (inner, { local, value }) => ({ op: 'Let', local, value, body: inner }),
      body,
    );
  }

  /** `body` over a plan that it uses more than once. */
  share(value: Mir, body: (shared: Mir) => Mir): Mir {
    if (value.op === 'LocalGet' || value.op === 'Get' || value.op === 'Constant') return body(value);
    const local = this.#nextLocal++;
    return { op: 'Let', local, value, body: body(localGet(local, value)) };
  }

  lower(rel: HRel, outer: Laid): Laid {
    const beside = (mir: Mir): Laid => ({
      mir: join([outer.mir, mir]),
      ids: [...outer.ids, ...relColumns(rel).map((c) => c.id)],
    });
    switch (rel.kind) {
      case 'values':
        return this.#values(rel, outer);
      case 'get':
        return beside({ op: 'Get', id: rel.id, columns: plain(rel.columns), keys: rel.keys });
      case 'cte': {
        const found = this.#ctes.get(rel.cte);
        assert(found !== undefined, 'a WITH query is lowered before its uses');
        return beside(found);
      }
      case 'map': {
        const input = this.lower(rel.input, outer);
        return this.append(
          input,
          rel.exprs.map((e) => ({ id: e.column.id, expr: e.expr })),
        );
      }
      case 'filter':
        return this.applyPredicate(this.lower(rel.input, outer), rel.predicate);
      case 'project': {
        const input = this.lower(rel.input, outer);
        const ids = [...outer.ids, ...rel.columns.map((c) => c.id)];
        return { mir: project(input.mir, positions(input, ids)), ids };
      }
      case 'join':
        return this.#join(rel, outer);
      case 'tableFunction':
        return this.#tableFunction(rel, outer);
      case 'reduce':
        return lowerReduce(this, rel, outer);
      case 'distinct': {
        const input = this.lower(rel.input, outer);
        return { mir: distinctCanon(input.mir, outer.ids.length), ids: input.ids };
      }
      case 'topK': {
        const input = this.lower(rel.input, outer);
        const groups = canonAppended(input.mir, positions(input, rel.groupKey));
        const groupKey = [...positions(input, outer.ids), ...groups.columns];
        const orderBy = orderKeys(rel.orderBy, input.ids);
        const top: Mir = {
          op: 'TopK',
          input: groups.mir,
          groupKey,
          orderBy,
          limit: rel.limit,
          offset: rel.offset,
        };
        return {
          mir: project(
            top,
            input.ids.map((_, i) => i),
          ),
          ids: input.ids,
        };
      }
      case 'setOp':
        return this.#setOp(rel, outer);
    }
  }

  #values(rel: Extract<HRel, { kind: 'values' }>, outer: Laid): Laid {
    const ids = [...outer.ids, ...rel.columns.map((c) => c.id)];
    const rows = rel.rows.map((row) => row.map((e) => (hasSubquery(e) ? undefined : this.#literal(e))));
    if (rows.every((row) => row.every((e) => e !== undefined))) {
      const data = rows.map((row) => row.map((e) => e!.value));
      return { mir: join([outer.mir, constant(plain(rel.columns), data)]), ids };
    }
    const one = (input: Mir, row: readonly HExpr[]): Mir => {
      const laid = this.append(
        { mir: input, ids: outer.ids },
        row.map((expr, i) => ({ id: rel.columns[i].id, expr })),
      );
      return laid.mir;
    };
    return { mir: this.share(outer.mir, (input) => union(rel.rows.map((row) => one(input, row)))), ids };
  }

  #literal(e: HExpr): { readonly value: Datum } | undefined {
    if (e.kind === 'literal') return e;
    return e.kind === 'parameter' ? { value: this.#parameter(e.index) } : undefined;
  }

  #parameter(index: number): Datum {
    const value = this.#options.parameters[index - 1];
    if (value === undefined && this.#options.describe === true) return null;
    if (value === undefined) throw new SqlError('undefined_parameter', `there is no parameter $${index}`);
    return value;
  }

  #tableFunction(rel: Extract<HRel, { kind: 'tableFunction' }>, outer: Laid): Laid {
    const { laid, exprs } = this.exprs(outer, rel.args);
    const ordinality = rel.ordinality === undefined ? {} : { ordinality: true as const };
    const own = relColumns(rel);
    const mir: Mir = {
      op: 'FlatMap',
      input: laid.mir,
      func: rel.func,
      args: exprs,
      columns: plain(own),
      ...ordinality,
    };
    const extra = laid.ids.length;
    const outputs = [...outer.ids.map((_, i) => i), ...own.map((_, i) => extra + i)];
    return { mir: project(mir, outputs), ids: [...outer.ids, ...own.map((c) => c.id)] };
  }

  #setOp(rel: Extract<HRel, { kind: 'setOp' }>, outer: Laid): Laid {
    const ids = [...outer.ids, ...rel.columns.map((c) => c.id)];
    const mir = this.share(outer.mir, (input) => {
      const shared: Laid = { mir: input, ids: outer.ids };
      const side = (r: HRel): Mir => this.lower(r, shared).mir;
      const [left, right] = [side(rel.left), side(rel.right)];
      if (rel.op === 'union')
        return rel.all ? union([left, right]) : distinctCanon(union([left, right]), outer.ids.length);
      const prepare = (m: Mir): Mir => (rel.all ? canonColumns : distinctCanon)(m, outer.ids.length);
      const minus = (a: Mir, b: Mir): Mir => threshold(union([a, negate(b)]));
      if (rel.op === 'except') return minus(prepare(left), prepare(right));
      return this.share(prepare(left), (a) => union([a, negate(minus(a, prepare(right)))]));
    });
    return { mir, ids };
  }

  // ---- Joins

  #join(rel: OuterJoin, outer: Laid): Laid {
    if (rel.type === 'inner') {
      const left = this.lower(rel.left, outer);
      const both = this.#beside(left, rel.right);
      return rel.on === undefined ? both : this.applyPredicate(both, rel.on);
    }
    if (rel.type === 'left') return this.#leftJoin(rel, outer);
    const ids = [...outer.ids, ...relColumns(rel).map((c) => c.id)];
    if (rel.type === 'right') {
      const swapped = this.#leftJoin({ ...rel, type: 'left', left: rel.right, right: rel.left }, outer);
      return { mir: project(swapped.mir, positions(swapped, ids)), ids };
    }
    return { mir: this.#fullJoin(rel, outer, ids), ids };
  }

  /** Each row of `left` beside the rows that `rel` has for it. */
  #beside(left: Laid, rel: HRel): Laid {
    const free = [...freeColumns(rel)].filter((id) => left.ids.includes(id));
    const ids = [...left.ids, ...relColumns(rel).map((c) => c.id)];
    if (free.length === 0) {
      const right = this.lower(rel, { mir: UNIT, ids: [] });
      return { mir: join([left.mir, right.mir]), ids };
    }
    const mir = this.share(left.mir, (input) => {
      const laid: Laid = { mir: input, ids: left.ids };
      const right = this.lower(rel, this.#keysFor(laid, free));
      return joinBack(laid, right, free);
    });
    return { mir, ids };
  }

  #keysFor(laid: Laid, ids: readonly ColumnId[]): Laid {
    if (ids.length === 0) return { mir: UNIT, ids };
    return { mir: distinct(project(laid.mir, positions(laid, ids))), ids };
  }

  #leftJoin(rel: OuterJoin, outer: Laid): Laid {
    const left = this.lower(rel.left, outer);
    const rightColumns = relColumns(rel.right);
    const ids = [...left.ids, ...rightColumns.map((c) => c.id)];
    const nulls = rightColumns.map((c) => nullOf(c.type));
    const mir = this.share(left.mir, (l) => {
      const laid: Laid = { mir: l, ids: left.ids };
      const free = [...freeColumns(rel.right)].filter((id) => left.ids.includes(id));
      const keys = this.#keysFor(laid, free);
      return this.share(this.lower(rel.right, keys).mir, (r) => {
        const right: Laid = { mir: r, ids: [...free, ...rightColumns.map((c) => c.id)] };
        const both: Laid = { mir: joinBack(laid, right, free), ids };
        const inner = rel.on === undefined ? both : this.applyPredicate(both, rel.on);
        return this.share(inner.mir, (matched) => {
          const unmatched = this.#withoutMatch({ laid, other: right, free, on: rel.on, matched });
          return union([matched, map(unmatched, nulls)]);
        });
      });
    });
    return { mir, ids };
  }

  #fullJoin(rel: OuterJoin, outer: Laid, ids: readonly ColumnId[]): Mir {
    const leftColumns = relColumns(rel.left);
    const rightColumns = relColumns(rel.right);
    return this.share(outer.mir, (o) => {
      const shared: Laid = { mir: o, ids: outer.ids };
      return this.share(this.lower(rel.left, shared).mir, (l) =>
        this.share(this.lower(rel.right, shared).mir, (r) => {
          const left: Laid = { mir: l, ids: [...outer.ids, ...leftColumns.map((c) => c.id)] };
          const right: Laid = { mir: r, ids: [...outer.ids, ...rightColumns.map((c) => c.id)] };
          const both: Laid = { mir: joinBack(left, right, outer.ids), ids };
          const inner = rel.on === undefined ? both : this.applyPredicate(both, rel.on);
          return this.share(inner.mir, (matched) => {
            const common = { free: outer.ids, on: rel.on, matched };
            const onlyLeft = this.#withoutMatch({ laid: left, other: right, ...common });
            const onlyRight = this.#withoutMatch({ laid: right, other: left, ...common, matchedIds: ids });
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
  #withoutMatch(j: {
    readonly laid: Laid;
    readonly other: Laid;
    readonly free: readonly ColumnId[];
    readonly on: HExpr | undefined;
    readonly matched: Mir;
    readonly matchedIds?: readonly ColumnId[];
  }): Mir {
    const keyed = this.#matchedKeys(j.laid, j.other, j.free, j.on);
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

  #matchedKeys(laid: Laid, other: Laid, free: readonly ColumnId[], on: HExpr | undefined) {
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
        tests.push(this.scalar(c, other.ids));
        continue;
      }
      if (c.kind !== 'call' || c.args.length !== 2 || functionById(c.func).name !== '=') return undefined;
      const [a, b] = within(c.args[0], own) ? c.args : [c.args[1], c.args[0]];
      if (!within(a, own) || !within(b, others)) return undefined;
      const mine = canon(this.scalar(a, laid.ids));
      const theirs = canon(this.scalar(b, other.ids));
      if (mine.type.name !== theirs.type.name) return undefined;
      exprs.push({ expr: mine, nullSafe: false });
      keys.push(theirs);
      tests.push(notNull(theirs));
    }
    return { keys: reduce(filter(other.mir, tests), keys), exprs };
  }

  // ---- Expressions

  /** An expression without subqueries over the columns `ids`. */
  scalar(e: HExpr, ids: readonly ColumnId[]): ScalarExpr {
    switch (e.kind) {
      case 'column': {
        const index = ids.indexOf(e.id);
        assert(index >= 0, `column ${e.id} is in scope`);
        return column(index, e.type);
      }
      case 'literal':
      case 'error':
        return e;
      case 'parameter':
        return { kind: 'literal', value: this.#parameter(e.index), type: e.type };
      case 'scalarQuery':
      case 'existsQuery':
      case 'anyQuery':
        assert(false, 'a subquery is lowered by `exprs`');
        return FALSE;
      default:
        return { ...e, args: e.args.map((a) => this.scalar(a, ids)) };
    }
  }

  /** Columns appended. */
  append(input: Laid, list: readonly { readonly id: ColumnId; readonly expr: HExpr }[]): Laid {
    const { laid, exprs } = this.exprs(
      input,
      list.map((l) => l.expr),
    );
    const ids = [...input.ids, ...list.map((l) => l.id)];
    const mir = map(laid.mir, exprs);
    const outputs = [...input.ids.map((_, i) => i), ...list.map((_, i) => laid.ids.length + i)];
    return { mir: project(mir, outputs), ids };
  }

  /** Expressions over the input, or over the input with a column for each subquery. */
  exprs(input: Laid, list: readonly HExpr[]): { readonly laid: Laid; readonly exprs: readonly ScalarExpr[] } {
    let laid = input;
    const walk = (e: HExpr, guards: readonly ScalarExpr[]): ScalarExpr => {
      if ('rel' in e) {
        const index = laid.ids.length;
        laid = { mir: this.#subqueryColumn(laid, e, guards), ids: [...laid.ids, -1] };
        return column(index, e.type);
      }
      if (!('args' in e) || !hasSubquery(e)) return this.scalar(e, laid.ids);
      if (e.kind !== 'if') return { ...e, args: e.args.map((a) => walk(a, guards)) };
      // A branch's subquery is asked only for the rows that take the branch, so that it fails only for them.
      const condition = walk(e.args[0], guards);
      const isTrue = ifThen<ScalarExpr>(condition, TRUE, FALSE, type('bool'));
      const isNotTrue = ifThen<ScalarExpr>(condition, FALSE, TRUE, type('bool'));
      return {
        ...e,
        args: [condition, walk(e.args[1], [...guards, isTrue]), walk(e.args[2], [...guards, isNotTrue])],
      };
    };
    const exprs = list.map((e) => walk(e, []));
    return { laid, exprs };
  }

  /** The rows for which the predicate is TRUE. Parts without a subquery are tested first. */
  applyPredicate(input: Laid, predicate: HExpr): Laid {
    const parts = conjuncts(predicate);
    const plain = parts.filter((p) => !hasSubquery(p)).map((p) => this.scalar(p, input.ids));
    let mir = filter(input.mir, plain);
    for (const part of parts.filter(hasSubquery)) mir = this.#filterBySubquery({ mir, ids: input.ids }, part);
    return { mir, ids: input.ids };
  }

  #filterBySubquery(input: Laid, part: HExpr): Mir {
    const outputs = input.ids.map((_, i) => i);
    const negated = part.kind === 'call' && part.func === NOT;
    const sub = negated ? part.args[0] : part;
    if (sub.kind === 'existsQuery') {
      const rel = sub.rel;
      return this.share(input.mir, (shared) => this.#semijoin({ mir: shared, ids: input.ids }, rel, negated));
    }
    if (sub.kind === 'anyQuery' && !negated) {
      const direct = this.#inUncorrelated(input, sub);
      if (direct !== undefined) return direct;
      const rel: HRel = { kind: 'filter', input: sub.rel, predicate: sub.condition };
      return this.share(input.mir, (shared) => this.#semijoin({ mir: shared, ids: input.ids }, rel, false));
    }
    const { laid, exprs } = this.exprs(input, [part]);
    return project(filter(laid.mir, exprs), outputs);
  }

  /** Rows for which `rel` has rows, or has none. */
  #semijoin(input: Laid, rel: HRel, negated: boolean): Mir {
    const free = [...freeColumns(rel)];
    const found = this.lower(rel, this.#keysFor(input, free));
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
  #inUncorrelated(input: Laid, e: Extract<HExpr, { kind: 'anyQuery' }>): Mir | undefined {
    const c = e.condition;
    const own = relColumns(e.rel).map((x) => x.id);
    if (freeColumns(e.rel).size > 0 || c.kind !== 'call' || functionById(c.func).name !== '=')
      return undefined;
    const [x, y] = c.args;
    if (hasSubquery(x) || [...exprColumns(x)].some((id) => own.includes(id))) return undefined;
    if (hasSubquery(y) || ![...exprColumns(y)].every((id) => own.includes(id))) return undefined;
    const found = this.lower(e.rel, { mir: UNIT, ids: [] });
    const value = canon(this.scalar(y, found.ids));
    const set = reduce(filter(found.mir, [notNull(value)]), [value]);
    const mine = canon(this.scalar(x, input.ids));
    if (mine.type.name !== value.type.name) return undefined;
    const arity = input.ids.length;
    const joined = join([filter(input.mir, [notNull(mine)]), set], [[mine, column(arity, value.type)]]);
    return project(
      joined,
      input.ids.map((_, i) => i),
    );
  }

  /** The input with one more column, the subquery's value. */
  #subqueryColumn(input: Laid, e: Subquery, guards: readonly ScalarExpr[]): Mir {
    const own = new Set(relColumns(e.rel).map((c) => c.id));
    const reads = e.kind === 'anyQuery' ? [...exprColumns(e.condition)].filter((id) => !own.has(id)) : [];
    const free = [...new Set([...freeColumns(e.rel), ...reads])];
    return this.share(input.mir, (shared) => {
      const laid: Laid = { mir: shared, ids: input.ids };
      const keys = this.#keysFor(laid, free).mir;
      return this.share(keys, (all) => {
        const asked =
          guards.length === 0 ? all : distinct(project(filter(shared, guards), positions(laid, free)));
        const answers = this.#answers(e, { mir: asked, ids: free }, all);
        return joinBack(laid, { mir: answers, ids: [...free, -1] }, free);
      });
    });
  }

  /** For each of the keys: the key and the subquery's value, exactly once. */
  #answers(e: Subquery, asked: Laid, all: Mir): Mir {
    const keys = asked.ids.map((_, i) => i);
    const missing = (answered: Mir): Mir => union([all, negate(project(answered, keys))]);
    const found = this.lower(e.rel, asked);
    if (e.kind === 'existsQuery') {
      return this.share(distinct(project(found.mir, keys)), (matched) =>
        union([map(matched, [TRUE]), map(missing(matched), [FALSE])]),
      );
    }
    if (e.kind === 'scalarQuery') {
      const values = project(found.mir, [...keys, keys.length]);
      if (alwaysOneRow(e.rel) && all === asked.mir) return values;
      return this.share(this.#atMostOne(values, keys), (r) => union([r, map(missing(r), [nullOf(e.type)])]));
    }
    const condition = this.scalar(e.condition, found.ids);
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
    return this.share(answered, (r) => union([r, map(missing(r), [FALSE])]));
  }

  /** The rows, and an error if a key has more than one. */
  #atMostOne(values: Mir, keys: readonly number[]): Mir {
    if (keysOf(values).some((k) => k.every((c) => keys.includes(c)))) return values;
    const valueType = columnsOf(values)[keys.length].type;
    return this.share(values, (r) => {
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
}

/** Without names and numbers: equal plans are equal data. */
const plain = (columns: readonly Column[]): readonly Column[] =>
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
function joinBack(left: Laid, right: Laid, key: readonly ColumnId[]): Mir {
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
function semijoinOn(input: Mir, rows: Mir, outputs: readonly number[]): Mir {
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
function canonColumns(input: Mir, from: number): Mir {
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
function canonAppended(
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
function distinctCanon(input: Mir, from: number): Mir {
  return reduce(
    input,
    columnsOf(input).map((_, i) => (i < from ? columnRef(input, i) : canon(columnRef(input, i)))),
  );
}

/** Whether the relation has one row whatever its inputs hold. */
function alwaysOneRow(rel: HRel): boolean {
  if (rel.kind === 'reduce') return rel.global;
  if (rel.kind === 'map' || rel.kind === 'project') return alwaysOneRow(rel.input);
  return rel.kind === 'values' && rel.rows.length === 1;
}
