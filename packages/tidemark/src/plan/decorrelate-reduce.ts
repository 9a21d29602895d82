/**
 * Grouping, from HIR to MIR: composite aggregates are taken apart, FILTER goes into the arguments (or, for aggregates
 * that see NULLs, into a reduction of its own), a grand total gets its row for the empty input.
 */
import { aggregateById } from '../expr/registry.ts';
import type { AggregateExpr, ScalarExpr } from '../expr/scalar.ts';
import { type } from '../repr/types.ts';
import type { Laid, LoweringRules } from './decorrelate-parts.ts';
import type { HAggregate, HExpr, HRel } from './hir.ts';
import { aggregateId, canon, column, ifThen, literal, nullOf } from './make-scalar.ts';
import { columnRef, filter, join, type Mir, map, negate, project, reduce, union } from './mir.ts';
import { substitute } from './scalar-walk.ts';

type HReduce = Extract<HRel, { kind: 'reduce' }>;

/** An aggregate over the reduction's input, FILTER still apart. */
interface Primitive {
  readonly aggregate: AggregateExpr;
  /** For an aggregate to which a NULL argument is a value: the rows that count. */
  readonly only: ScalarExpr | undefined;
}

export function lowerReduce(lowering: LoweringRules, rel: HReduce, outer: Laid): Laid {
  const ids = [...outer.ids, ...rel.key.map((k) => k.column.id), ...rel.aggregates.map((a) => a.id)];
  const mir = lowering.share(outer.mir, (o) => {
    const input = lowering.lower(rel.input, { mir: o, ids: outer.ids });
    const exprs: HExpr[] = [
      ...rel.key.map((k) => k.expr),
      ...rel.aggregates.flatMap((a) => [
        ...a.args,
        ...a.orderBy.map((x) => x.expr),
        ...(a.filter === undefined ? [] : [a.filter]),
      ]),
    ];
    const lowered = lowering.exprs(input, exprs);
    return reduceOver(lowering, rel, { mir: o, ids: outer.ids }, lowered.laid.mir, lowered.exprs);
  });
  return { mir, ids };
}

function reduceOver(
  lowering: LoweringRules,
  rel: HReduce,
  outer: Laid,
  input: Mir,
  exprs: readonly ScalarExpr[],
): Mir {
  const key = [...outer.ids.map((_, i) => columnRef(input, i)), ...exprs.slice(0, rel.key.length).map(canon)];
  const primitives: Primitive[] = [];
  let at = rel.key.length;
  // What each call of the query is, over the results of the primitives.
  const finals = rel.aggregates.map((a) => {
    const args = exprs.slice(at, at + a.args.length);
    const order = exprs.slice(at + a.args.length, at + a.args.length + a.orderBy.length);
    at += a.args.length + a.orderBy.length;
    const test = a.filter === undefined ? undefined : exprs[at++];
    return expand(a, { func: a.func, args, order, test, type: a.type }, primitives, key.length);
  });
  const total = (grouped: Mir): Mir => {
    const outputs = [...key.map((_, i) => i), ...finals.map((_, i) => key.length + primitives.length + i)];
    return project(map(grouped, finals), outputs);
  };
  const grouped = collate(lowering, input, key, primitives);
  if (!rel.global) return total(grouped);
  const defaults = primitives.map((p) =>
    aggregateById(p.aggregate.func).nullable ? nullOf(p.aggregate.type) : literal(0n, p.aggregate.type),
  );
  return lowering.share(grouped, (g) => {
    const missing = union([
      outer.mir,
      negate(
        project(
          g,
          outer.ids.map((_, i) => i),
        ),
      ),
    ]);
    return total(union([g, map(missing, defaults)]));
  });
}

/** An aggregate call over the input's columns. */
interface LoweredCall {
  readonly func: string;
  readonly args: readonly ScalarExpr[];
  readonly order: readonly ScalarExpr[];
  readonly test: ScalarExpr | undefined;
  readonly type: AggregateExpr['type'];
}

/** Adds the primitives of a call and returns the expression over their results that is its value. */
function expand(a: HAggregate, c: LoweredCall, into: Primitive[], offset: number): ScalarExpr {
  const def = aggregateById(c.func);
  if (def.plan.kind === 'composite') {
    const parts = def.plan.lower({ args: c.args, type: c.type });
    const values = parts.aggregates.map((p) =>
      expand(a, { func: p.func, args: p.args, order: c.order, test: c.test, type: p.type }, into, offset),
    );
    return substitute(parts.final, (i) => values[i]);
  }
  into.push(primitive(a, c));
  return column(offset + into.length - 1, c.type);
}

function primitive(a: HAggregate, c: LoweredCall): Primitive {
  const def = aggregateById(c.func);
  const orderBy = def.ordered
    ? a.orderBy.map((o, i) => ({ expr: c.order[i], desc: o.desc, nullsFirst: o.nullsFirst }))
    : [];
  const args = a.distinct ? c.args.map(canon) : c.args;
  const make = (func: string, list: readonly ScalarExpr[]): AggregateExpr => ({
    func,
    args: list,
    distinct: a.distinct,
    orderBy,
    type: c.type,
  });
  if (c.test === undefined) return { aggregate: make(c.func, args), only: undefined };
  if (args.length === 0) {
    const one = ifThen<ScalarExpr>(c.test, literal(true, type('bool')), nullOf(type('bool')), type('bool'));
    return { aggregate: make(aggregateId('count', [type('bool')]), [one]), only: undefined };
  }
  if (!def.skipsNull) return { aggregate: make(c.func, args), only: c.test };
  const [first, ...rest] = args;
  const guarded = ifThen<ScalarExpr>(c.test, first, nullOf(first.type), first.type);
  return { aggregate: make(c.func, [guarded, ...rest]), only: undefined };
}

/** One reduction for all that see every row, one more for each FILTER that must cut rows; joined by the key. */
function collate(
  lowering: LoweringRules,
  input: Mir,
  key: readonly ScalarExpr[],
  primitives: readonly Primitive[],
): Mir {
  const cut = primitives.filter((p) => p.only !== undefined);
  if (cut.length === 0)
    return reduce(
      input,
      key,
      primitives.map((p) => p.aggregate),
    );
  const plain = primitives.filter((p) => p.only === undefined);
  const keyColumns = key.map((_, i) => i);
  return lowering.share(input, (shared) =>
    lowering.share(
      reduce(
        shared,
        key,
        plain.map((p) => p.aggregate),
      ),
      (base) => {
        const parts = cut.map((p) => {
          const some = reduce(filter(shared, [p.only!]), key, [p.aggregate]);
          return lowering.share(some, (s) => {
            const rest = union([project(base, keyColumns), negate(project(s, keyColumns))]);
            return union([s, map(rest, [nullOf(p.aggregate.type)])]);
          });
        });
        const width = key.length + plain.length;
        const offsets = parts.map((_, i) => width + i * (key.length + 1));
        const equal = keyColumns.map((k) => [
          columnRef(base, k),
          ...offsets.map((o) => column(o + k, key[k].type)),
        ]);
        let plainAt = 0;
        let cutAt = 0;
        const outputs = primitives.map((p) =>
          p.only === undefined ? key.length + plainAt++ : offsets[cutAt++] + key.length,
        );
        return project(join([base, ...parts], equal), [...keyColumns, ...outputs]);
      },
    ),
  );
}
