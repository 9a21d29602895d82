/**
 * EXPLAIN texts: one node a line, children indented. `Let` reads top down: the values first, then the body that uses
 * them. Stable: no ids but those of the plan.
 */

import type { GlobalId } from '../base/ids.ts';
import { printScalar } from '../expr/expr-tree.ts';
import type { Mfp } from '../expr/scalar.ts';
import { type HExpr, type HRel, relColumns } from './hir.ts';
import type { Lir, RowSetFinishing } from './lir.ts';
import { childrenOf, type ExplainNames, explainNode, type Mir } from './mir.ts';
import { printAggregate, printMfp, printOrder } from './print-scalar.ts';

const INDENT = '  ';
type Line = { readonly depth: number; readonly text: string };
const render = (lines: readonly Line[]): string =>
  lines.map((l) => INDENT.repeat(l.depth) + l.text).join('\n');

export function explainMir(mir: Mir, names: ExplainNames, finishing?: RowSetFinishing): string {
  const lines: Line[] = [];
  const visit = (node: Mir, depth: number): void => {
    if (node.op === 'Let') {
      const bindings: { local: number; value: Mir }[] = [];
      let body: Mir = node;
      while (body.op === 'Let') {
        bindings.push(body);
        body = body.body;
      }
      lines.push({ depth, text: 'With' });
      for (const b of bindings) {
        lines.push({ depth: depth + 1, text: `cte l${b.local} =` });
        visit(b.value, depth + 2);
      }
      lines.push({ depth, text: 'Return' });
      visit(body, depth + 1);
      return;
    }
    lines.push({ depth, text: explainNode(node, names) });
    for (const c of childrenOf(node)) visit(c, depth + 1);
  };
  const finish = explainFinishing(finishing);
  if (finish !== undefined) lines.push({ depth: 0, text: finish });
  visit(mir, finish === undefined ? 0 : 1);
  return render(lines);
}

function explainFinishing(f: RowSetFinishing | undefined): string | undefined {
  if (f === undefined) return undefined;
  const parts = [
    ...(f.orderBy.length > 0 ? [`order_by=[${f.orderBy.map(printOrder).join(', ')}]`] : []),
    ...(f.limit === null ? [] : [`limit=${f.limit}`]),
    ...(f.offset === 0 ? [] : [`offset=${f.offset}`]),
  ];
  return parts.length === 0
    ? undefined
    : `Finish ${parts.join(' ')} output=[${f.project.map((c) => `#${c}`).join(', ')}]`;
}

// ---- LIR

export function explainLir(lir: Lir, names: ExplainNames, finishing?: RowSetFinishing): string {
  const lines: Line[] = [];
  const visit = (node: Lir, depth: number): void => {
    lines.push({ depth, text: `${node.lirId}: ${lirText(node, names.nameOf)}` });
    const details = lirDetails(node);
    for (const text of details) lines.push({ depth: depth + 2, text });
    for (const c of lirChildren(node)) visit(c, depth + 1);
  };
  const finish = explainFinishing(finishing);
  if (finish !== undefined) lines.push({ depth: 0, text: finish });
  visit(lir, finish === undefined ? 0 : 1);
  return render(lines);
}

function lirChildren(node: Lir): readonly Lir[] {
  switch (node.op) {
    case 'Constant':
    case 'Get':
    case 'LocalGet':
      return [];
    case 'Let':
      return [node.value, node.body];
    case 'Join':
    case 'Union':
      return node.inputs;
    default:
      return [node.input];
  }
}

const cols = (list: readonly number[]): string => list.map((c) => `#${c}`).join(', ');

/** One line, also what `mz_lir_mapping` shows as the operator. */
export function lirText(node: Lir, nameOf: (id: GlobalId) => string): string {
  switch (node.op) {
    case 'Constant':
      return 'error' in node.rows
        ? `Error ${JSON.stringify(node.rows.error.message)}`
        : `Constant rows=${node.rows.length}`;
    case 'Get':
      return node.index === undefined
        ? `Get ${nameOf(node.id)}`
        : `Get ${nameOf(node.id)} through ${nameOf(node.index.id)} [${cols(node.index.key)}]`;
    case 'LocalGet':
      return `Get l${node.local}`;
    case 'Let':
      return `Let l${node.local}`;
    case 'Mfp':
      return 'Map/Filter/Project';
    case 'FlatMap':
      return `FlatMap ${node.func}(${node.args.map((a) => printScalar(a)).join(', ')})${node.ordinality ? ' with ordinality' : ''}`;
    case 'Join':
      return `Join stages=${node.stages.length}`;
    case 'Reduce':
      return node.aggregates.length === 0
        ? `Distinct key=[${cols(node.key)}]`
        : `Reduce key=[${cols(node.key)}] aggregates=[${node.aggregates.map(printAggregate).join(', ')}]`;
    case 'TopK':
      return `TopK group_by=[${cols(node.groupKey)}] order_by=[${node.orderBy.map(printOrder).join(', ')}]${
        node.limit === null ? '' : ` limit=${node.limit}`
      }${node.offset === 0 ? '' : ` offset=${node.offset}`}`;
    case 'Negate':
    case 'Threshold':
    case 'Union':
      return node.op;
    case 'ArrangeBy':
      return `ArrangeBy keys=[${node.keys.map((k) => `[${cols(k)}]`).join(', ')}]`;
  }
}

function lirDetails(node: Lir): readonly string[] {
  const steps = (m: Mfp): readonly string[] => printMfp(m);
  if (node.op === 'Mfp') return steps(node.mfp);
  if (node.op !== 'Join') return [];
  return node.stages.flatMap((s, i) => [
    `stage ${i}: [${cols(s.streamKey)}] = [${cols(s.lookupKey)}]`,
    ...steps(s.mfp).map((line) => INDENT + line),
  ]);
}

// ---- HIR

/** The bound query before decorrelation: subqueries stand where they were written. */
export function explainHir(
  rel: HRel,
  ctes: readonly { readonly cte: number; readonly rel: HRel }[],
  names: ExplainNames,
): string {
  const printer = new HirPrinter(names);
  return printer.print(rel, ctes);
}

class HirPrinter {
  readonly #names: ExplainNames;
  readonly #lines: Line[] = [];

  constructor(names: ExplainNames) {
    this.#names = names;
  }

  print(rel: HRel, ctes: readonly { readonly cte: number; readonly rel: HRel }[]): string {
    if (ctes.length > 0) {
      this.#lines.push({ depth: 0, text: 'With' });
      for (const c of ctes) {
        this.#lines.push({ depth: 1, text: `cte l${c.cte} =` });
        this.#visit(c.rel, 2);
      }
      this.#lines.push({ depth: 0, text: 'Return' });
    }
    this.#visit(rel, ctes.length > 0 ? 1 : 0);
    return render(this.#lines);
  }

  #visit(rel: HRel, depth: number): void {
    const queries: HRel[] = [];
    const e = (x: HExpr): string => printHExpr(x, queries);
    this.#lines.push({ depth, text: this.#text(rel, e) });
    for (const q of queries) {
      this.#lines.push({ depth: depth + 1, text: 'Subquery' });
      this.#visit(q, depth + 2);
    }
    if ('input' in rel) this.#visit(rel.input, depth + 1);
    if ('left' in rel) {
      this.#visit(rel.left, depth + 1);
      this.#visit(rel.right, depth + 1);
    }
  }

  #text(rel: HRel, e: (x: HExpr) => string): string {
    const ids = (list: readonly { readonly id: number }[]): string => list.map((c) => `#${c.id}`).join(', ');
    switch (rel.kind) {
      case 'values':
        return `Values (${ids(rel.columns)}) ${rel.rows.map((r) => `(${r.map(e).join(', ')})`).join(', ')}`;
      case 'get':
        return `Get ${this.#names.nameOf(rel.id)} (${ids(rel.columns)})`;
      case 'cte':
        return `Get l${rel.cte} (${ids(rel.columns)})`;
      case 'map':
        return `Map (${rel.exprs.map((x) => `#${x.column.id} = ${e(x.expr)}`).join(', ')})`;
      case 'filter':
        return `Filter ${e(rel.predicate)}`;
      case 'project':
        return `Project (${ids(rel.columns)})`;
      case 'join':
        return `${rel.type[0].toUpperCase()}${rel.type.slice(1)}Join ${rel.on === undefined ? 'true' : e(rel.on)}`;
      case 'tableFunction':
        return `TableFunction ${rel.func}(${rel.args.map(e).join(', ')}) (${ids(relColumns(rel))})`;
      case 'reduce':
        return `Reduce group_by=[${rel.key.map((k) => `#${k.column.id} = ${e(k.expr)}`).join(', ')}] aggregates=[${rel.aggregates
          .map((a) => `#${a.id} = ${a.func}(${a.distinct ? 'distinct ' : ''}${a.args.map(e).join(', ')})`)
          .join(', ')}]`;
      case 'distinct':
        return 'Distinct';
      case 'topK':
        return `TopK group_by=[${rel.groupKey.map((c) => `#${c}`).join(', ')}] order_by=[${rel.orderBy
          .map((o) => printOrder({ column: o.id, desc: o.desc, nullsFirst: o.nullsFirst }))
          .join(
            ', ',
          )}]${rel.limit === null ? '' : ` limit=${rel.limit}`}${rel.offset === 0 ? '' : ` offset=${rel.offset}`}`;
      case 'setOp':
        return `${rel.op[0].toUpperCase()}${rel.op.slice(1)}${rel.all ? 'All' : ''} (${ids(rel.columns)})`;
    }
  }
}

function printHExpr(e: HExpr, queries: HRel[]): string {
  const marked = (x: HExpr): HExpr => {
    if (x.kind === 'column') return x;
    if ('rel' in x) {
      queries.push(x.rel);
      return x;
    }
    return 'args' in x ? { ...x, args: x.args.map(marked) } : x;
  };
  return printBound(marked(e));
}

function printBound(e: HExpr): string {
  switch (e.kind) {
    case 'column':
      return `#${e.id}`;
    case 'parameter':
      return `$${e.index}`;
    case 'scalarQuery':
      return 'subquery';
    case 'existsQuery':
      return 'exists(subquery)';
    case 'anyQuery':
      return `any(subquery, ${printBound(e.condition)})`;
    case 'literal':
    case 'error':
      return printScalar(e);
    default:
      // The names of functions come from the printer of scalars; columns are told apart by their numbers.
      return printScalar({ ...e, args: e.args.map(asScalar) } as Parameters<typeof printScalar>[0]);
  }
}
function asScalar(e: HExpr): Parameters<typeof printScalar>[0] {
  if (e.kind === 'column') return { kind: 'column', index: e.id, type: e.type };
  if (e.kind === 'literal' || e.kind === 'error') return e;
  if ('args' in e) return { ...e, args: e.args.map(asScalar) } as Parameters<typeof printScalar>[0];
  return { kind: 'error', error: { code: 'internal_error', message: printBound(e) }, type: e.type };
}
