/**
 * Map, filter and project over a batch in one step. Predicates run as soon as their columns exist, on what the
 * earlier ones left; a map expression that can fail runs before the predicates that come after it, one that cannot
 * runs when something reads it. A failing row leaves `oks` and enters `errs` with its time and diff.
 *
 * When no row is filtered out, input columns of the projection are shared, not copied.
 */
import { type Batch, diffAt, gatherBatch, timeAt } from '../repr/batch.ts';
import { ColumnBuilder } from '../repr/column.ts';
import { Compiler } from './compile.ts';
import { encodeEvalError } from './eval-error.ts';
import { columnsOf } from './expr-tree.ts';
import { Frame } from './frame.ts';
import type { EvalContext, RowErrors } from './functions.ts';
import { evaluate, type Node } from './node.ts';
import type { Mfp, RowError, ScalarExpr } from './scalar.ts';
import { isIdentity } from './scalar.ts';
import { spread } from './vec.ts';

export interface MfpResult {
  /** Null when no row remains. */
  readonly oks: Batch | null;
  /** One `bytes` column of encoded errors; null when no row failed. */
  readonly errs: Batch | null;
}

export type MfpEvaluator = (batch: Batch) => MfpResult;

type Step = { readonly kind: 'filter' | 'check'; readonly node: Node };

export function compileMfp(mfp: Mfp, context: EvalContext): MfpEvaluator {
  if (isIdentity(mfp)) return (batch) => ({ oks: batch.length === 0 ? null : batch, errs: null });
  const compiler = new Compiler(context, mfp.inputArity);
  const before = stepsOf(mfp, compiler);
  const project = mfp.project.map((p) => (p < mfp.inputArity ? p : compiler.derived(p)));
  // What is projected is checked as well: a function that fails against its word must not show a NULL.
  const steps = [
    ...before,
    ...project.flatMap((p): Step[] => (typeof p === 'number' ? [] : [{ kind: 'check', node: p }])),
  ];
  return (batch) => run(batch, steps, project);
}

/** Predicates of one level are one conjunction: a row that one of them drops has no error from another. */
function stepsOf(mfp: Mfp, compiler: Compiler): readonly Step[] {
  const { inputArity, map, filter } = mfp;
  const levels: ScalarExpr[][] = Array.from({ length: map.length + 1 }, () => []);
  for (const f of filter) {
    let level = 0;
    for (const c of columnsOf(f)) level = Math.max(level, c - inputArity + 1);
    levels[level]!.push(f);
  }
  const steps: Step[] = [];
  for (let level = 0; level <= map.length; level++) {
    if (level > 0) {
      const node = compiler.define(map[level - 1]!);
      if (node.fallible) steps.push({ kind: 'check', node });
    }
    const predicates = levels[level]!;
    if (predicates.length === 0) continue;
    const all: ScalarExpr =
      predicates.length === 1 ? predicates[0]! : { kind: 'and', args: predicates, type: predicates[0]!.type };
    steps.push({ kind: 'filter', node: compiler.compile(all) });
  }
  return steps;
}

function run(batch: Batch, steps: readonly Step[], project: readonly (number | Node)[]): MfpResult {
  if (batch.length === 0) return { oks: null, errs: null };
  let frame = Frame.of(batch.columns, batch.length);
  /** Rows of the batch that remain; null: all. */
  let rows: Int32Array | null = null;
  const failed: { row: number; error: RowError }[] = [];
  for (const { kind, node } of steps) {
    const v = evaluate(node, frame);
    const { errors } = v;
    if (v.constant && errors === null) {
      if (kind === 'filter' && v.column.values[0] !== 1)
        return { oks: null, errs: errorBatch(batch, failed) };
      continue;
    }
    const all = spread(v, frame.n);
    if (all.errors !== null)
      for (const [i, error] of all.errors) failed.push({ row: rows === null ? i : rows[i]!, error });
    const keep = survivors(kind === 'filter' ? (all.column.values as Uint8Array) : null, all.errors, frame.n);
    if (keep === null) continue;
    if (keep.length === 0) return { oks: null, errs: errorBatch(batch, failed) };
    rows = rows === null ? keep : compose(rows, keep);
    frame = frame.select(keep, keep.length);
  }
  const { n } = frame;
  const columns = project.map((p) =>
    typeof p === 'number' ? frame.input(p).column : spread(evaluate(p, frame), n).column,
  );
  const base = rows === null ? batch : gatherBatch({ ...batch, columns: [] }, rows, n);
  return {
    oks: { length: n, columns, times: base.times, diffs: base.diffs },
    errs: errorBatch(batch, failed),
  };
}

/** Rows that go on (TRUE, or all; without an error), or null when all do. */
function survivors(truth: Uint8Array | null, errors: RowErrors | null, n: number): Int32Array | null {
  if (truth === null) {
    if (errors === null || errors.size === 0) return null;
    const keep = new Int32Array(n - errors.size);
    for (let i = 0, k = 0; i < n; i++) if (!errors.has(i)) keep[k++] = i;
    return keep;
  }
  let count = 0;
  for (let i = 0; i < n; i++) count += truth[i]!;
  if (count === n) return null;
  // A branch-free append: the cell past the end takes the writes of rows that go.
  const keep = new Int32Array(count + 1);
  for (let i = 0, k = 0; i < n; i++) {
    keep[k] = i;
    k += truth[i]!;
  }
  return keep.subarray(0, count);
}

function compose(rows: Int32Array, keep: Int32Array): Int32Array {
  const out = new Int32Array(keep.length);
  for (let i = 0; i < keep.length; i++) out[i] = rows[keep[i]!]!;
  return out;
}

function errorBatch(batch: Batch, failed: readonly { row: number; error: RowError }[]): Batch | null {
  const n = failed.length;
  if (n === 0) return null;
  const cells = new ColumnBuilder('bytes', n);
  const times = new Float64Array(n);
  const diffs = new Float64Array(n);
  failed.forEach(({ row, error }, i) => {
    cells.pushBytes(encodeEvalError(error));
    times[i] = timeAt(batch, row);
    diffs[i] = diffAt(batch, row);
  });
  return { length: n, columns: [cells.finish()], times, diffs };
}
