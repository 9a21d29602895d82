/** The scalars of a node, each replaced; columns and shape stay. */
import type { ScalarExpr } from '../../expr/scalar.ts';
import type { Mir } from '../mir.ts';
import { mapAggregate } from '../scalar-walk.ts';

export function mapScalars(node: Mir, f: (e: ScalarExpr) => ScalarExpr): Mir {
  const list = (exprs: readonly ScalarExpr[]): readonly ScalarExpr[] => {
    const out = exprs.map(f);
    return out.every((e, i) => e === exprs[i]) ? exprs : out;
  };
  switch (node.op) {
    case 'Map': {
      const exprs = list(node.exprs);
      return exprs === node.exprs ? node : { ...node, exprs };
    }
    case 'Filter': {
      const predicates = list(node.predicates);
      return predicates === node.predicates ? node : { ...node, predicates };
    }
    case 'FlatMap': {
      const args = list(node.args);
      return args === node.args ? node : { ...node, args };
    }
    case 'Join': {
      const equivalences = node.equivalences.map(list);
      return equivalences.every((c, i) => c === node.equivalences[i]) ? node : { ...node, equivalences };
    }
    case 'Reduce': {
      const key = list(node.key);
      const aggregates = node.aggregates.map((a) => mapAggregate(a, f));
      const same =
        key === node.key &&
        node.aggregates.every(
          (a, i) =>
            a.args.every((x, k) => x === aggregates[i].args[k]) &&
            a.orderBy.every((o, k) => o.expr === aggregates[i].orderBy[k].expr),
        );
      return same ? node : { ...node, key, aggregates };
    }
    default:
      return node;
  }
}
