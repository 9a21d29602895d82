/**
 * fold-constants: scalars simplified with what is known of their inputs; filters that hold or never hold, empty inputs
 * and constant inputs taken to their end.
 */
import type { EvalContext } from '../../expr/functions.ts';
import type { ScalarExpr } from '../../expr/scalar.ts';
import type { Row } from '../../repr/types.ts';
import {
  type Column,
  childrenOf,
  columnsOf,
  empty,
  filter,
  isEmptyConstant,
  join,
  type Mir,
  type MirConstant,
  project,
  rewrite,
  union,
} from '../mir.ts';
import { mapScalars } from './map-scalars.ts';
import type { Rule } from './rule.ts';
import { simplify } from './simplify.ts';

/** Constants beyond this many rows are left to run as they are. */
const MAX_ROWS = 1000;

export const foldConstants: Rule = {
  name: 'fold-constants',
  apply: (mir, { context }) => rewrite(mir, (node) => foldNode(simplifyNode(node, context), context)),
};

function simplifyNode(node: Mir, context: EvalContext): Mir {
  if (node.op === 'Map') {
    // Each expression sees the columns before it.
    const columns: Column[] = [...columnsOf(node)];
    return mapScalars(node, (e) => simplify(e, columns, context));
  }
  const columns =
    node.op === 'Join'
      ? childrenOf(node).flatMap(columnsOf)
      : childrenOf(node).length > 0
        ? columnsOf(childrenOf(node)[0])
        : [];
  return mapScalars(node, (e) => simplify(e, columns, context));
}

type Rows = readonly { readonly row: Row; readonly diff: number }[];
export const constantRowsOf = (m: Mir, maxRows: number): Rows | undefined =>
  m.op === 'Constant' && !('error' in m.rows) && m.rows.length <= maxRows ? m.rows : undefined;

/** One node, over inputs that are folded. */
export function foldNode(node: Mir, context: EvalContext, maxRows: number = MAX_ROWS): Mir {
  const rowsOf = (m: Mir): Rows | undefined => constantRowsOf(m, maxRows);
  switch (node.op) {
    case 'Filter':
      return foldFilter(node, context, maxRows);
    case 'Project': {
      const rows = rowsOf(node.input);
      if (rows !== undefined)
        return constantOf(
          node,
          rows.map(({ row, diff }) => ({ row: node.outputs.map((c) => row[c]), diff })),
        );
      return project(node.input, node.outputs);
    }
    case 'Map': {
      const rows = rowsOf(node.input);
      const done = rows === undefined ? undefined : mapRows(rows, node.exprs, context);
      return done === undefined ? node : constantOf(node, done);
    }
    case 'Negate': {
      if (node.input.op === 'Negate') return node.input.input;
      const rows = rowsOf(node.input);
      return rows === undefined
        ? node
        : constantOf(
            node,
            rows.map(({ row, diff }) => ({ row, diff: -diff })),
          );
    }
    case 'Union':
      return foldUnion(node);
    case 'Join':
      return foldJoin(node);
    case 'Threshold':
    case 'TopK':
    case 'FlatMap':
    case 'Reduce':
      return isEmptyConstant(node.input) ? empty(columnsOf(node)) : node;
    default:
      return node;
  }
}

const constantOf = (node: Mir, rows: Rows): MirConstant => ({
  op: 'Constant',
  columns: columnsOf(node),
  rows,
});

function foldFilter(node: Extract<Mir, { op: 'Filter' }>, context: EvalContext, maxRows: number): Mir {
  const predicates: ScalarExpr[] = [];
  for (const p of node.predicates.flatMap((x) => (x.kind === 'and' ? x.args : [x]))) {
    if (p.kind === 'literal') {
      if (p.value === true) continue;
      return empty(columnsOf(node));
    }
    predicates.push(p);
  }
  if (isEmptyConstant(node.input)) return empty(columnsOf(node));
  const rows = constantRowsOf(node.input, maxRows);
  if (rows !== undefined) {
    const kept: { row: Row; diff: number }[] = [];
    for (const r of rows) {
      const verdict = testRow(r.row, predicates, context);
      if (verdict === undefined) return filter(node.input, predicates);
      if (verdict) kept.push(r);
    }
    return constantOf(node, kept);
  }
  return predicates.length === node.predicates.length ? node : filter(node.input, predicates);
}

/** Undefined where evaluation fails or cannot be done now. */
export function testRow(
  row: Row,
  predicates: readonly ScalarExpr[],
  context: EvalContext,
): boolean | undefined {
  for (const p of predicates) {
    const v = simplify(withTypes(p, row), [], context);
    if (v.kind !== 'literal') return undefined;
    if (v.value !== true) return false;
  }
  return true;
}

/** The expression with the row's values in place of its columns. */
function withTypes(e: ScalarExpr, row: Row): ScalarExpr {
  if (e.kind === 'column') return { kind: 'literal', value: row[e.index], type: e.type };
  return 'args' in e ? { ...e, args: e.args.map((a) => withTypes(a, row)) } : e;
}

function mapRows(rows: Rows, exprs: readonly ScalarExpr[], context: EvalContext): Rows | undefined {
  const out: { row: Row; diff: number }[] = [];
  for (const { row, diff } of rows) {
    const all = [...row];
    for (const e of exprs) {
      const v = simplify(withTypes(e, all), [], context);
      if (v.kind !== 'literal') return undefined;
      all.push(v.value);
    }
    out.push({ row: all, diff });
  }
  return out;
}

function foldUnion(node: Extract<Mir, { op: 'Union' }>): Mir {
  const flat = node.inputs.flatMap((i) => (i.op === 'Union' ? i.inputs : [i]));
  const kept = flat.filter((i) => !isEmptyConstant(i));
  if (kept.length === 0) return empty(columnsOf(node));
  return kept.length === node.inputs.length ? node : union(kept);
}

function foldJoin(node: Extract<Mir, { op: 'Join' }>): Mir {
  if (node.inputs.some(isEmptyConstant)) return empty(columnsOf(node));
  // The one row without columns joins to what is there.
  const joined = join(node.inputs, node.equivalences);
  return joined.op === 'Join' && joined.inputs.length === node.inputs.length ? node : joined;
}
