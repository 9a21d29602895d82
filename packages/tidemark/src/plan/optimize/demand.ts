/**
 * project-early: every node yields the columns that something above reads, and no more. What decides which rows there
 * are (keys, order, distinct rows, thresholds) is read by the node itself.
 */
import type { ScalarExpr } from '../../expr/scalar.ts';
import {
  arityOf,
  filter,
  localGet,
  type Mir,
  type MirJoin,
  map,
  mapChildren,
  project,
  reduce,
} from '../mir.ts';
import { aggregateColumns, collectColumns, mapAggregate, remap } from '../scalar-walk.ts';
import { offsetsOf } from './equivalences.ts';
import type { Rule } from './rule.ts';

export const projectEarly: Rule = {
  name: 'project-early',
  apply: (mir) => new Demand().need(mir, range(arityOf(mir))),
};

const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
const sorted = (set: Iterable<number>): number[] => [...new Set(set)].sort((a, b) => a - b);
/** Where a column stands among those kept. */
const position = (kept: readonly number[]) => {
  const at = new Map(kept.map((c, i) => [c, i]));
  return (c: number): number => at.get(c)!;
};

class Demand {
  /** What the uses of a binding read of it, all together. */
  readonly #used = new Map<number, Set<number>>();

  /** The node with the columns `wanted` (ascending), in that order. */
  need(node: Mir, wanted: readonly number[]): Mir {
    switch (node.op) {
      case 'Project': {
        const inner = sorted(wanted.map((c) => node.outputs[c]));
        const at = position(inner);
        return project(
          this.need(node.input, inner),
          wanted.map((c) => at(node.outputs[c])),
        );
      }
      case 'Map':
        return this.#map(node, wanted);
      case 'Filter': {
        const read = new Set(wanted);
        for (const p of node.predicates) collectColumns(p, read);
        const inner = sorted(read);
        const at = position(inner);
        const input = this.need(node.input, inner);
        return project(
          filter(
            input,
            node.predicates.map((p) => remap(p, at)),
          ),
          wanted.map(at),
        );
      }
      case 'Union':
        return { ...node, inputs: node.inputs.map((i) => this.need(i, wanted)) };
      case 'Negate':
        return { ...node, input: this.need(node.input, wanted) };
      case 'FlatMap':
        return this.#flatMap(node, wanted);
      case 'Join':
        return this.#join(node, wanted);
      case 'Reduce':
        return this.#reduce(node, wanted);
      case 'TopK':
        return this.#topK(node, wanted);
      case 'Let':
        return this.#let(node, wanted);
      case 'LocalGet': {
        const used = this.#used.get(node.local) ?? new Set();
        this.#used.set(node.local, used);
        for (const c of wanted) used.add(c);
        return project(node, wanted);
      }
      case 'Threshold':
        return project({ ...node, input: this.need(node.input, range(arityOf(node))) }, wanted);
      case 'ArrangeBy':
        return project({ ...node, input: this.need(node.input, range(arityOf(node))) }, wanted);
      case 'Constant':
        if ('error' in node.rows) return project(node, wanted);
        return {
          ...node,
          columns: wanted.map((c) => node.columns[c]),
          rows: node.rows.map(({ row, diff }) => ({ row: wanted.map((c) => row[c]), diff })),
        };
      default:
        return project(node, wanted);
    }
  }

  #flatMap(node: Extract<Mir, { op: 'FlatMap' }>, wanted: readonly number[]): Mir {
    const arity = arityOf(node.input);
    const read = new Set(wanted.filter((c) => c < arity));
    for (const a of node.args) collectColumns(a, read);
    const inner = sorted(read);
    const at = position(inner);
    const over: Mir = {
      ...node,
      input: this.need(node.input, inner),
      args: node.args.map((a) => remap(a, at)),
    };
    return project(
      over,
      wanted.map((c) => (c < arity ? at(c) : inner.length + c - arity)),
    );
  }

  #topK(node: Extract<Mir, { op: 'TopK' }>, wanted: readonly number[]): Mir {
    const inner = sorted([...wanted, ...node.groupKey, ...node.orderBy.map((o) => o.column)]);
    const at = position(inner);
    const top: Mir = {
      ...node,
      input: this.need(node.input, inner),
      groupKey: node.groupKey.map(at),
      orderBy: node.orderBy.map((o) => ({ ...o, column: at(o.column) })),
    };
    return project(top, wanted.map(at));
  }

  #map(node: Extract<Mir, { op: 'Map' }>, wanted: readonly number[]): Mir {
    const arity = arityOf(node.input);
    const read = new Set(wanted);
    // Later expressions may read earlier ones.
    for (let i = node.exprs.length - 1; i >= 0; i--)
      if (read.has(arity + i)) collectColumns(node.exprs[i], read);
    const inner = sorted([...read].filter((c) => c < arity));
    const kept = node.exprs.map((_, i) => i).filter((i) => read.has(arity + i));
    const at = (c: number): number => (c < arity ? inner.indexOf(c) : inner.length + kept.indexOf(c - arity));
    const input = this.need(node.input, inner);
    return project(
      map(
        input,
        kept.map((i) => remap(node.exprs[i], at)),
      ),
      wanted.map(at),
    );
  }

  #join(node: MirJoin, wanted: readonly number[]): Mir {
    const offsets = offsetsOf(node.inputs);
    const read = new Set(wanted);
    for (const e of node.equivalences.flat()) collectColumns(e, read);
    const kept = sorted(read);
    const at = position(kept);
    const inputs = node.inputs.map((input, i) =>
      this.need(
        input,
        kept.filter((c) => c >= offsets[i] && c < offsets[i + 1]).map((c) => c - offsets[i]),
      ),
    );
    const equivalences = node.equivalences.map((cls) => cls.map((e) => remap(e, at)));
    return project({ ...node, inputs, equivalences }, wanted.map(at));
  }

  #reduce(node: Extract<Mir, { op: 'Reduce' }>, wanted: readonly number[]): Mir {
    const keys = node.key.length;
    const aggregates = node.aggregates.filter((_, i) => wanted.includes(keys + i));
    const read = new Set<number>();
    for (const e of node.key) collectColumns(e, read);
    for (const a of aggregates) aggregateColumns(a, read);
    const inner = sorted(read);
    const at = position(inner);
    const over = (e: ScalarExpr): ScalarExpr => remap(e, at);
    const reduced = reduce(
      this.need(node.input, inner),
      node.key.map(over),
      aggregates.map((a) => mapAggregate(a, over)),
    );
    const left = node.aggregates.map((_, i) => i).filter((i) => wanted.includes(keys + i));
    return project(
      reduced,
      wanted.map((c) => (c < keys ? c : keys + left.indexOf(c - keys))),
    );
  }

  /** The body first: it says what is read of the value. */
  #let(node: Extract<Mir, { op: 'Let' }>, wanted: readonly number[]): Mir {
    const body = this.need(node.body, wanted);
    const kept = sorted(this.#used.get(node.local) ?? []);
    const value = this.need(node.value, kept);
    if (kept.length === arityOf(node.value)) return { ...node, value, body: retype(body, node.local, value) };
    return { ...node, value, body: narrow(body, node.local, value, position(kept)) };
  }
}

/** Every read of the binding stands under a projection (or reads it whole); both now read the narrower value. */
function narrow(node: Mir, local: number, value: Mir, at: (c: number) => number): Mir {
  const visit = (n: Mir): Mir => {
    if (n.op === 'Project' && n.input.op === 'LocalGet' && n.input.local === local)
      return project(localGet(local, value), n.outputs.map(at));
    if (n.op === 'LocalGet' && n.local === local) return localGet(local, value);
    return mapChildren(n, visit);
  };
  return visit(node);
}
function retype(node: Mir, local: number, value: Mir): Mir {
  const visit = (n: Mir): Mir =>
    n.op === 'LocalGet' && n.local === local ? localGet(local, value) : mapChildren(n, visit);
  return visit(node);
}
