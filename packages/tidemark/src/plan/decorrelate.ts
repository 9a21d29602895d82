/**
 * HIR → MIR. `#lower(rel, outer)` yields, for every row of `outer` (a set of rows: the values that `rel` depends on),
 * that row beside each row which `rel` has for it. So a correlated relation is computed for all outer rows at once,
 * wherever it stands: the caller makes the set of distinct values, and joins the answer back to its own rows, NULL
 * matching NULL. What depends on nothing is lowered over the one row without columns and costs no join.
 */
import { assert } from '../base/assert.ts';
import { SqlError } from '../base/error.ts';
import type { ScalarExpr } from '../expr/scalar.ts';
import type { Datum } from '../repr/types.ts';
import { type } from '../repr/types.ts';
import { fullJoin, leftJoin } from './decorrelate-join.ts';
import {
  canonAppended,
  canonColumns,
  conjuncts,
  distinctCanon,
  joinBack,
  keysFor,
  type Laid,
  type LoweringRules,
  orderKeys,
  plain,
  positions,
} from './decorrelate-parts.ts';
import { lowerReduce } from './decorrelate-reduce.ts';
import { filterBySubquery, subqueryColumn } from './decorrelate-subquery.ts';
import {
  type ColumnId,
  freeColumns,
  type HCte,
  type HExpr,
  type HRel,
  hasSubquery,
  relColumns,
} from './hir.ts';
import { column, FALSE, ifThen, TRUE } from './make-scalar.ts';
import {
  constant,
  filter,
  join,
  localGet,
  type Mir,
  map,
  negate,
  project,
  threshold,
  UNIT,
  union,
} from './mir.ts';

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

export class Lowering implements LoweringRules {
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

  #join(rel: Extract<HRel, { kind: 'join' }>, outer: Laid): Laid {
    if (rel.type === 'inner') {
      const left = this.lower(rel.left, outer);
      const both = this.#beside(left, rel.right);
      return rel.on === undefined ? both : this.applyPredicate(both, rel.on);
    }
    if (rel.type === 'left') return leftJoin(this, rel, outer);
    const ids = [...outer.ids, ...relColumns(rel).map((c) => c.id)];
    if (rel.type === 'right') {
      const swapped = leftJoin(this, { ...rel, type: 'left', left: rel.right, right: rel.left }, outer);
      return { mir: project(swapped.mir, positions(swapped, ids)), ids };
    }
    return { mir: fullJoin(this, rel, outer, ids), ids };
  }

  /** Each row of `left` beside the rows that `rel` has for it. */
  #beside(left: Laid, rel: HRel): Laid {
    const free = [...freeColumns(rel)].filter((id) => left.ids.includes(id));
    const ids = [...left.ids, ...relColumns(rel).map((c) => c.id)];
    if (free.length > 0 && isRowByRow(rel)) return this.lower(rel, left);
    if (free.length === 0) {
      const right = this.lower(rel, { mir: UNIT, ids: [] });
      return { mir: join([left.mir, right.mir]), ids };
    }
    const mir = this.share(left.mir, (input) => {
      const laid: Laid = { mir: input, ids: left.ids };
      const right = this.lower(rel, keysFor(laid, free));
      return joinBack(laid, right, free);
    });
    return { mir, ids };
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
        laid = { mir: subqueryColumn(this, laid, e, guards), ids: [...laid.ids, -1] };
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
    for (const part of parts.filter(hasSubquery)) mir = filterBySubquery(this, { mir, ids: input.ids }, part);
    return { mir, ids: input.ids };
  }
}

/**
 * What looks at one outer row at a time, so that it may stand on the outer rows themselves: copies among them do not
 * matter, as they do to what counts or cuts, and no join back is needed.
 */
function isRowByRow(rel: HRel): boolean {
  switch (rel.kind) {
    case 'get':
    case 'cte':
    case 'values':
    case 'tableFunction':
      return true;
    case 'map':
    case 'filter':
    case 'project':
      return isRowByRow(rel.input);
    case 'join':
      return rel.type === 'inner' && isRowByRow(rel.left) && isRowByRow(rel.right);
    default:
      return false;
  }
}
